"""Of which values a window lacks most, and what is left of their runs."""

from __future__ import annotations

import numpy as np

from backend.model.schema import Schema
from backend.operators.network.core.blocks import Column64
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.relational.packing import pack
from backend.operators.network.temporal import shed_groups as groups_module
from backend.operators.network.temporal.shed_groups import (
    MOST_PIECES,
    ShedGroup,
    bounded,
    read_values,
)


def test_most_is_told_of_what_was_shed_most_and_room_is_shared() -> None:
    pieces = tuple((n, n + 1, n, n + 1) for n in range(3 * MOST_PIECES))
    made = [ShedGroup((n,), 100 - n, 0.1, pieces[: 1 if n else None], 1) for n in range(60)]
    told = bounded(made)
    assert [group.n_shed for group in told] == list(range(100, 100 - groups_module.MOST_GROUPS, -1))
    assert sum(len(group.pieces) for group in told) == MOST_PIECES
    assert told[0].pieces == pieces[-(MOST_PIECES - len(told) + 1) :]


def test_values_are_read_as_people_write_them() -> None:
    schema = Schema.parse("a int, b string, c double, d date, e timestamp, f boolean")
    strings = Strings(MemoryRegions())
    code = strings.code("x")
    given = [
        np.array([5, 0]), np.array([code, code]), np.array([0.5, 2.0]),
        np.array([1, 1]), np.array([1_500_000, 0]), np.array([1, 0]),
    ]  # fmt: skip
    valid = np.array([True, False])
    columns = [Column64(column, valid if not place else None) for place, column in enumerate(given)]
    packed = [tuple(row) for row in pack(columns, 2).tolist()]
    assert read_values(packed, schema.attributes, strings) == [
        ("5", "x", "0.5", "1970-01-02", "1970-01-01 00:00:01.500000", "true"),
        ("NULL", "x", "2", "1970-01-02", "1970-01-01 00:00:00", "false"),
    ]
    assert read_values([], schema.attributes, strings) == []
