"""Coalescing against sets of instants; windows that are refused."""

from __future__ import annotations

import pytest
from hypothesis import given

from backend.operators.network.shedding.slides import WindowExtent, WindowRefused
from backend.operators.network.shedding.temporal import (
    AnswerShape,
    RunSpan,
    TemporalTuple,
    ValidCondition,
    coalesced,
)
from tests.oracles import cals_shedding as slow
from tests.unit.cals.cases import B4, streams


@given(streams())
def test_runs_are_the_stretches_of_instants_a_value_holds_in(stream: list[TemporalTuple]) -> None:
    assert set(coalesced(stream)) == set(slow.runs(stream))


def test_the_worked_example_has_three_coalesced_tuples() -> None:
    assert coalesced(B4) == [((80,), 0, 6), ((90,), 6, 10), ((85,), 10, 12)]


def test_andy_is_in_toys_for_more_than_six_years_only_when_coalesced() -> None:
    jobs = [
        TemporalTuple(1, ("Andy", "Toys"), 2000, 2004),
        TemporalTuple(2, ("Andy", "Toys"), 2004, 2009),
        TemporalTuple(3, ("Andy", "Books"), 2009, 2012),
    ]
    more_than_six = AnswerShape(lengths=ValidCondition(7))
    assert not [one for one in jobs if one.end - one.start > 6]
    assert [run for run in coalesced(jobs) if more_than_six.takes(run)] == [
        RunSpan(("Andy", "Toys"), 2000, 2009)
    ]


def test_humidity_above_75_that_lasts_three_minutes() -> None:
    readings = enumerate([77, 77, 77, 70, 80, 80, 77])
    tuples = [TemporalTuple(k + 1, (value,), k, k + 1) for k, value in readings]
    query = AnswerShape(lambda values: values[0] in range(76, 100), ValidCondition(3))
    assert [run for run in coalesced(tuples) if query.takes(run)] == [RunSpan((77,), 0, 3)]


def test_null_is_equivalent_to_null_only() -> None:
    tuples = [
        TemporalTuple(1, (None, 1), 0, 1),
        TemporalTuple(2, (None, 1), 1, 2),
        TemporalTuple(3, (0, 1), 2, 3),
    ]
    assert coalesced(tuples) == [((None, 1), 0, 2), ((0, 1), 2, 3)]


def test_windows_move_at_their_slides_and_hold_what_came_since() -> None:
    rows = WindowExtent("rows", 4, 2)
    assert [rows.first(n) for n in (4, 5, 6, 7)] == [1, 1, 3, 3]
    by_start = WindowExtent("range", 10, 5)
    assert [by_start.first(t) for t in (9, 10, 14, 15)] == [-5, 0, 0, 5]
    assert WindowExtent("rows", 4).first(9) == 6


def test_windows_without_a_size_are_refused() -> None:
    with pytest.raises(WindowRefused, match="allowed: a size of 1 or more"):
        WindowExtent("rows", 0).check()
    with pytest.raises(WindowRefused, match="a slide of 1 or more"):
        WindowExtent("range", 0, 0).check()
    WindowExtent("range", 0).check()
