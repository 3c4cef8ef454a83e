"""Bytes of a state in both forms. Card B7"""

from __future__ import annotations

from hypothesis import given

from backend.operators.network.shedding.forms import form_bytes, listed_bytes
from backend.operators.network.shedding.runs import RunIndex
from backend.operators.network.shedding.temporal import TemporalTuple
from tests.unit.cals.cases import streams


def index_of(tuples: list[TemporalTuple]) -> RunIndex:
    index = RunIndex()
    for one in tuples:
        index.add(one)
    return index


def test_differences_take_as_few_bytes_as_hold_them() -> None:
    assert listed_bytes([5]) == 0
    assert listed_bytes([5, 9]) == 0, "kept in the interval of the run"
    assert listed_bytes([5, 9, 13, 17]) == 8, "even distances: the distance once"
    assert listed_bytes([0, 1, 3, 130]) == 3
    assert listed_bytes([0, 1, 3, 131]) == 6
    assert listed_bytes([0, 1, 40_000]) == 8
    assert listed_bytes([0, 1, 1 << 40]) == 16


def test_a_run_is_its_values_its_interval_and_differences() -> None:
    chain = index_of([TemporalTuple(k, (1,), k * k, (k + 1) ** 2) for k in range(1, 101)])
    as_tuples, as_runs = form_bytes(chain.runs(), 40, 8, by_rows=False)
    assert as_tuples == 4000
    assert as_runs == 8 + 16 + 2 * 99
    assert form_bytes(chain.runs(), 40, 8, by_rows=True).runs == as_runs + 8 + 8
    many = index_of([TemporalTuple(k, (k,), k, k + 1) for k in range(10)])
    assert form_bytes(many.runs(), 24, 8, by_rows=False) == (240, 240)


def test_where_tuples_overlap_their_lengths_are_kept_too() -> None:
    index = index_of([TemporalTuple(k, (1,), 3 * k, 3 * k + 4 + k % 2) for k in range(11)])
    assert form_bytes(index.runs(), 24, 8, by_rows=False).runs == 8 + 16 + 8 + 11


@given(streams())
def test_runs_take_less_where_they_have_many_tuples(stream: list[TemporalTuple]) -> None:
    index = index_of(stream)
    as_tuples, as_runs = form_bytes(index.runs(), 24, 8, by_rows=False)
    assert as_tuples == 24 * len(stream)
    assert as_runs >= 24 * index.n_runs
