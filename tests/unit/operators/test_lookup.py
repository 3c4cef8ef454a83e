"""Region look-ups of the kernels against ``region_of``, exact at the edges of every type."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.conditions import Comparison, ContinuousQuery, Or
from backend.model.schema import Schema
from backend.operators.selection.layout import ByTable, ByThresholds
from backend.operators.selection.lookup import BLOCK, hit_regions
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.layouts import search_of
from tests.strategies import constants

EPOCH = datetime(1970, 1, 1)
NUMBERS: dict[str, tuple[Any, ...]] = {
    "int": (np.int32, st.one_of(st.integers(-5, 10), st.sampled_from([-(2**31), 2**31 - 1]))),
    "bigint": (
        np.int64,
        st.sampled_from([0, 7, 8, 2**53 - 1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]),
    ),
    "double": (
        np.float64,
        st.sampled_from(
            [0.0, -0.0, 1.0, 2.5, 2.0**53, 2.0**53 + 2, 1e300, 1e308, -np.inf, np.inf, np.nan]
        ),
    ),
}


def construct(type_name: str, found: list[Any]) -> Any:
    """The construct of one query that compares ``x`` with every constant."""
    condition = Or(tuple(Comparison("x", "=", c) for c in found))
    queries = [ContinuousQuery("q", "S", "", condition)]
    return build_constructs(queries, Schema.parse(f"x {type_name}")).constructs.get("x")


def looked_up(asc: Any, values: np.ndarray[Any, Any], is_null: Any = None) -> list[int]:
    """The regions the kernels find."""
    out = np.empty(len(values), dtype=np.int32)
    search = search_of(asc)
    assert isinstance(search, ByTable | ByThresholds)
    hit_regions(search, values, is_null, out)
    return out.tolist()


@given(st.data(), st.sampled_from(list(NUMBERS)))
def test_numbers(data: st.DataObject, type_name: str) -> None:
    beyond = st.sampled_from([2**70, -(2**70), 10**400, 1e30, -1e30, float("inf"), float("-inf")])
    found = data.draw(st.lists(st.one_of(constants(type_name), beyond), min_size=1, max_size=6))
    asc = construct(type_name, found)
    if asc is None:
        return
    dtype, values = NUMBERS[type_name]
    array = np.array(data.draw(st.lists(values, max_size=20)), dtype=dtype)
    assert looked_up(asc, array) == [asc.region_of(v) for v in array.tolist()]


def test_days_moments_and_truth() -> None:
    days = [date(2013, 1, 1) + timedelta(days=n) for n in range(5)]
    asc = construct("date", days[1:4:2])
    array = np.array([(d - EPOCH.date()).days for d in days], dtype=np.int32)
    assert looked_up(asc, array) == [asc.region_of(d) for d in days] == [1, 2, 3, 4, 5]
    noon = datetime(1969, 12, 31, 12)
    moments = [noon + timedelta(hours=h, microseconds=u) for h in (0, 15) for u in (0, 1)]
    asc = construct("timestamp", moments[::2])
    array = np.array([(m - EPOCH) // timedelta(microseconds=1) for m in moments])
    assert looked_up(asc, array) == [asc.region_of(m) for m in moments] == [2, 3, 4, 5]
    asc = construct("boolean", [True])
    assert looked_up(asc, np.array([0, 1], dtype=np.uint8)) == [1, 2]


def test_null_and_more_values_than_a_block() -> None:
    asc = construct("int", [3, 100_000])
    values = np.arange(2 * BLOCK + 7, dtype=np.int32)
    is_null = values % 5 == 0
    expected = [0 if n else asc.region_of(int(v)) for v, n in zip(values, is_null, strict=True)]
    assert looked_up(asc, values, is_null) == expected


@pytest.mark.parametrize(
    ("type_name", "found", "kind"),
    [
        ("int", [0, 99], ByTable),
        ("int", [0, 2**30], ByThresholds),
        ("bigint", [-(2**63)], ByThresholds),
        ("double", [0.5, 1.5], ByThresholds),
        ("boolean", [True], ByTable),
    ],
)
def test_narrow_domains_have_a_table(type_name: str, found: list[Any], kind: type) -> None:
    assert isinstance(search_of(construct(type_name, found)), kind)
