"""Of which values a window lacks most, and what is left of their runs."""

from __future__ import annotations

import numpy as np
import pytest

from backend.model.schema import Schema
from backend.operators.network.core.blocks import Column64
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.relational.packing import pack
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.shedding import SheddingWindow
from backend.operators.network.shedding.slides import WindowExtent
from backend.operators.network.shedding.temporal import TemporalTuple
from backend.operators.network.temporal import shed_groups as groups_module
from backend.operators.network.temporal.shed_groups import (
    MOST_PIECES,
    ShedGroup,
    bounded,
    read_values,
    shed_groups,
)

#: Two runs of 7 with a gap between, one of 9.
STREAM = [
    TemporalTuple(number, (value,), start, end)
    for number, (value, start, end) in enumerate(
        [(7, 0, 4), (7, 4, 6), (9, 6, 9), (7, 9, 10), (7, 10, 15), (9, 20, 21)]
    )
]


def window_of(options: ShedOptions) -> SheddingWindow:
    window = SheddingWindow(options, WindowExtent("rows", 100, 1))
    for new in STREAM:
        window.arrive(new)
    return window


def test_runs_stand_beside_what_is_left_of_them() -> None:
    window = window_of(ShedOptions("cals", 3, audit="exact"))
    told = {group.values: group for group in shed_groups(window)}
    kept = {each.number for each in window.memory}
    assert sum(group.n_shed for group in told.values()) == len(STREAM) - 3
    losses = sum(group.loss for group in told.values())
    assert losses == pytest.approx(1 - window.expected_accuracy)
    for values, group in told.items():
        exact = [(run.start, run.end) for run in window.beside.of(values)]
        assert list(dict.fromkeys(piece[:2] for piece in group.pieces)) == exact
        spans = [piece[2:] for piece in group.pieces if piece[2] is not None]
        assert spans == [(run.start, run.end) for run in window.memory.of(values)]
        assert group.n_shed == sum(
            each.values == values and each.number not in kept for each in STREAM
        )


def test_a_run_is_not_known_where_nothing_is_kept_beside() -> None:
    window = window_of(ShedOptions("cals", 3, rho_basis="memory", audit="off"))
    pieces = [piece for group in shed_groups(window) for piece in group.pieces]
    assert pieces
    assert all(piece[:2] == (None, None) and piece[2] is not None for piece in pieces)


def test_nothing_is_told_of_a_window_that_lacks_nothing() -> None:
    assert shed_groups(window_of(ShedOptions("cals", 0))) == ()


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
