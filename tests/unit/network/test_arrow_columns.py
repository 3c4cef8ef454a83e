"""Arrow columns become values of blocks and come back; equal values are in one shard."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import Block, dtype_of
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.expressions.arrow import (
    answer_batch,
    answer_schema,
    arrow_column,
    column64,
    columns64,
)
from backend.operators.network.shards.keyed import shards_of
from backend.workloads.text_values import ARROW_TYPES

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "tinyint": st.integers(-128, 127),
    "smallint": st.integers(-(1 << 15), (1 << 15) - 1),
    "int": st.integers(-(1 << 31), (1 << 31) - 1),
    "bigint": st.integers(-(1 << 63), (1 << 63) - 1),
    "float": st.floats(width=32),
    "double": st.floats(),
    "string": st.text(max_size=4),
    "boolean": st.booleans(),
    "date": st.dates(),
    "timestamp": st.datetimes(timezones=st.just(UTC)),
}


def same(one: Any, other: Any) -> bool:
    both_nan = isinstance(one, float) and isinstance(other, float) and one != one and other != other
    return both_nan or one == other


@pytest.mark.parametrize("type_name", VALUES)
@given(st.data())
def test_there_and_back(type_name: str, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | VALUES[type_name], max_size=8))
    strings = Strings(MemoryRegions())
    column = pa.array(values, ARROW_TYPES[type_name])
    held = column64(pa.chunked_array([column[:3], column[3:]]), type_name, strings)
    assert held.values.dtype == dtype_of(type_name)
    assert held.is_valid.tolist() == [value is not None for value in values]
    assert not held.values[~held.is_valid].any()
    back = arrow_column(held, type_name, strings)
    assert back.type == ARROW_TYPES[type_name]
    assert all(map(same, back.to_pylist(), column.to_pylist()))


def test_zeros_and_nans_are_one_each() -> None:
    odd = np.array([np.float64("nan"), -np.float64("nan"), -0.0, 0.0])
    held = column64(pa.array(odd), "double", Strings(MemoryRegions()))
    bits = held.values.view(np.int64)
    assert bits[0] == bits[1]
    assert bits[2] == bits[3] == 0
    assert math.copysign(1, odd[2]) == -1


def test_answers_carry_time_and_sign() -> None:
    fields = (Attribute("s", "string"), Attribute("d", "date"))
    table = pa.table({"s": ["x", None], "d": [date(2013, 1, 1), None]})
    strings = Strings(MemoryRegions())
    columns = columns64(table, fields, strings)
    block = Block(np.array([3, 4]), np.array([1, -1], np.int8), columns)
    found = answer_batch(block, fields, strings)
    assert found.schema == answer_schema(fields)
    assert found.to_pylist() == [
        {"s": "x", "d": date(2013, 1, 1), "tau": 3, "sign": 1},
        {"s": None, "d": None, "tau": 4, "sign": -1},
    ]


@given(st.lists(st.none() | st.integers(-(1 << 31), (1 << 31) - 1), max_size=9), st.integers(1, 5))
def test_equal_numbers_are_in_one_shard(values: list[int | None], n_shards: int) -> None:
    kinds = [pa.int32(), pa.int64(), pa.float64()]
    found = [shards_of(pa.array(values, kind), n_shards).tolist() for kind in kinds]
    assert found[0] == found[1] == found[2]
    assert all(0 <= shard < n_shards for shard in found[0])
    assert all(s == 0 for s, v in zip(found[0], values, strict=True) if v is None)


def test_shards_are_even_and_the_same_in_every_process() -> None:
    sizes = np.bincount(shards_of(pa.array(np.arange(10_000)), 4))
    assert sizes.min() > 2300
    keys = pa.array(["a", "b", None, "Straße", "", "zz"])
    assert shards_of(keys, 7).tolist() == [2, 3, 0, 1, 0, 4]
    assert shards_of(pa.chunked_array([keys[:3], keys[3:]]), 7).tolist() == [2, 3, 0, 1, 0, 4]
    odd = pa.array([math.nan, 0.5, -0.0, 0.0, 1e300, math.inf])
    shards = shards_of(odd, 5).tolist()
    assert shards[2] == shards[3]
    moments = pa.array([datetime(2013, 1, 1, tzinfo=UTC), None], pa.timestamp("us", tz="UTC"))
    assert shards_of(moments, 9)[1] == 0
    assert shards_of(pa.array([True, False]), 2).tolist() == shards_of(pa.array([1, 0]), 2).tolist()
