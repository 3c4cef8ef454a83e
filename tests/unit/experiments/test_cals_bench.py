"""The bench of windows that shed: its ways find the same, and it runs."""

from __future__ import annotations

import numpy as np
import pytest

from backend.operators.network.shedding.options import ShedOptions
from bench import cals
from bench.stream_data import DifferentResults

RUNS = "Select v, Valid(R) From R (v) [Rows 40]"


def lanes() -> dict[str, cals.TemporalLane]:
    return {
        cals.APART: cals.TemporalLane(RUNS),
        cals.WHOLE: cals.TemporalLane(RUNS, ShedOptions()),
        "half": cals.TemporalLane(RUNS, ShedOptions("cals", 20)),
    }


def test_ways_are_compared() -> None:
    taken = lanes()
    cals.turns(taken, cals.stream(300, 0.7, 1), 60)
    cals.check(taken, ["half"])
    assert {len(lane.ns) for lane in taken.values()} == {5}
    assert taken["half"].relation().shape[1] < taken[cals.WHOLE].relation().shape[1]


def test_a_way_that_finds_something_else_stops_the_bench() -> None:
    taken = lanes()
    cals.turns(taken, cals.stream(120, 0.7, 1), 60)
    other = {cals.WHOLE: cals.TemporalLane(RUNS, ShedOptions())}
    cals.turns(other, cals.stream(120, 0.7, 2), 60)
    with pytest.raises(DifferentResults, match="no limit is not"):
        cals.check({**taken, **other}, [])
    exact = np.array([[1, 2], [0, 4], [3, 9]])
    assert cals._lies_in(np.array([[2], [5], [9]]), exact)
    assert not cals._lies_in(np.array([[2], [5], [10]]), exact)
    assert not cals._lies_in(np.array([[2], [3], [5]]), exact)


def test_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    cals.small()
    told = capsys.readouterr().out
    assert all(words in told for words in ("cals, half", "largest M", "|expected - measured|"))
