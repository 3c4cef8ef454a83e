"""Eq. 3 slice by slice; what codes and moves are measured to cost."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.eddy.tuning import PartitionReport, StateReport
from backend.systems.amri.migration import (
    MeasuredCosts,
    Partition,
    SliceChoice,
    SliceCosts,
    moving_cost,
    requests_left,
    slice_choice,
    slice_costs,
    slices_to_move,
    switching_prices,
)
from backend.systems.amri.mixing import AccessMethods
from backend.systems.amri.states import StateIndex
from storage.vocabulary.amri_costs import COUNTED, REFINED, IndexCosts, SearchLoad, WorkCosts
from tests.oracles import amri_selection as twin
from tests.unit.amri.cases import SHARES_2, as_load, as_model, exact_loads
from tests.unit.amri.running_eddies import knobs_of

TABLE = SearchLoad(3, SHARES_2)


def slice_of(n: int, bits: tuple[int, ...], number: int = 0, is_open: bool = False) -> Partition:
    return Partition(number, number * n, number * n + n, bits, is_open)


def choice(
    n: int, old: tuple[int, ...], new: tuple[int, ...], requests: float, number: int = 0
) -> SliceChoice:
    costs = SliceCosts(TABLE, IndexCosts(), [(n, old), (n, new)])
    return slice_choice(costs, slice_of(n, old, number), new, requests)


def test_the_worked_migration_of_the_card() -> None:
    """Card A11.7: (0,1,3) → (1,1,2), 2 500 tuples, pays from 639 requests on."""
    old, new = (0, 1, 3), (1, 1, 2)
    assert slice_costs(TABLE, IndexCosts(), 2500, old) == pytest.approx(445.27)
    assert slice_costs(TABLE, IndexCosts(), 2500, new) == pytest.approx(417.845)
    assert moving_cost(COUNTED, 2500, old, new) == 17_500
    for requests, verdict in [(638, "below_threshold"), (639, "switched")]:
        found = choice(2500, old, new, requests)
        assert found.sides.verdict == verdict
        assert found.sides.lhs == pytest.approx(requests * 27.425)
        assert found.sides.rhs == 17_500
        assert found.break_even == 639
    assert choice(2500, new, old, 10**9).break_even is None


@given(exact_loads(priced=False), st.integers(1, 50), st.data())
def test_a_slice_moves_if_its_life_saves_more_than_moving_costs(
    case: tuple[int, twin.Load], n_tuples: int, data: st.DataObject
) -> None:
    n, exact = case
    vectors = st.tuples(*[st.integers(0, 4)] * n)
    old, new, requests = data.draw(vectors), data.draw(vectors), data.draw(st.integers(0, 200))
    model = as_model(exact, 4)
    costs = SliceCosts(as_load(n, exact), model, [(n_tuples, old), (n_tuples, new)])
    found = slice_choice(costs, slice_of(n_tuples, old), new, requests)
    of_slice = replace(exact, arrivals=n_tuples, window=1, requests=1, windows={})

    def searched(bits: tuple[int, ...]) -> Fraction:
        upkeep = n_tuples * exact.hash * sum(b > 0 for b in bits)
        return requests * (twin.cost(of_slice, bits) - upkeep)

    indexed = sum(b > 0 for b in (*old, *new))
    moving = 0 if old == new else n_tuples * (indexed * exact.hash + 2)
    benefit = searched(old) - (searched(new) + moving)
    assert found.sides.lhs - found.sides.rhs == pytest.approx(float(benefit), abs=1e-6)
    if abs(benefit) > 1e-6:
        assert found.sides.holds == (benefit > 0 and old != new)
    assert bool(slices_to_move("partial", [found])) == found.sides.holds
    assert bool(slices_to_move("all", [found])) == (old != new)
    assert slices_to_move("nothing", [found]) == []


def test_a_slice_is_not_moved_to_what_it_has() -> None:
    same = choice(10, (1, 1, 2), (1, 1, 2), 10**6)
    assert same.sides.verdict == "kept"
    assert same.break_even is None
    assert slices_to_move("all", [same]) == []


def test_slices_go_by_what_they_are_worth_and_the_newest_first() -> None:
    slices = [choice(2500, (0, 1, 3), (1, 1, 2), r, k) for k, r in enumerate([700, 900, 700, 10])]
    assert [one.partition.number for one in slices_to_move("partial", slices)] == [1, 2, 0]
    assert [one.partition.number for one in slices_to_move("all", slices)] == [1, 2, 0, 3]


def test_a_measured_move_costs_what_was_measured() -> None:
    assert moving_cost(WorkCosts(move=2.5), 10, (1, 0), (0, 1)) == 25
    assert moving_cost(WorkCosts(move=2.5), 10, (1, 0), (1, 0)) == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5), st.booleans())
def test_the_price_of_switching_is_that_of_moving_every_slice(
    bits: list[tuple[int, int]], is_measured: bool
) -> None:
    live = [slice_of(7 + k, one, k) for k, one in enumerate(bits)]
    costs = WorkCosts(2, 1, 3, 5, move=4.0 if is_measured else None)
    candidates = [(a, b) for a in range(4) for b in range(4)]
    found = switching_prices(live, costs, np.array(candidates))
    assert found.tolist() == [
        sum(moving_cost(costs, one.n_tuples, one.bits, target) for one in live)
        for target in candidates
    ]


def test_requests_are_expected_as_long_as_a_slice_is_in_the_window() -> None:
    part = Partition(2, 50, 75, (), False)
    assert requests_left(part, 75, 100, 3) == 300
    assert requests_left(part, 100, 100, 3) == 225
    assert requests_left(part, 400, 100, 3) == 0


def test_what_moving_a_tuple_costs_is_counted_or_measured() -> None:
    """A batch of 1 000 units in 50 µs, 20 tuples moved in 40 µs more: 2 µs each, 40 units."""
    took, report = MeasuredCosts(), StateReport(20, 0, (), 20, 40_000)
    assert took.priced(IndexCosts()) == IndexCosts()
    took.observe(50_000, 1_000, 0, report)
    assert took.priced(IndexCosts()).costs.move == pytest.approx(40.0)
    again = MeasuredCosts()
    again.restore(json.loads(json.dumps(took.state())))
    assert again.priced(IndexCosts()) == took.priced(IndexCosts())


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 99)), min_size=2), st.floats(0.05, 0.9))
def test_what_a_code_costs_is_measured_where_batches_tell_it_apart(
    batches: list[tuple[int, int]], code: float
) -> None:
    """Of batches in which a unit took 30 ns; where codes come with all else in proportion, or not
    at all, they cost as much as is counted."""
    took, model = MeasuredCosts(), IndexCosts(REFINED, visits=True)
    for work, codes in batches:
        done = 1000 * work, 1000 * codes
        took.observe(round(30 * (done[0] + code * done[1])), *done, StateReport(0, 0, (), 0, 0))
    found = took.priced(model).costs
    apart = len({codes / work for work, codes in batches}) > 1
    if not any(codes for _, codes in batches) or not apart:
        assert found.code == REFINED.code
    elif np.ptp([codes / work for work, codes in batches]) > 1:
        assert found.code == pytest.approx(code, rel=0.01)
    assert found.bucket == pytest.approx(4 * found.code)
    assert took.priced(IndexCosts()).costs.code == 0


@pytest.mark.parametrize("serves", [{1: 1}, {}])
def test_partitions_are_priced_by_what_hash_indexes_leave_to_the_bits(
    serves: dict[int, int],
) -> None:
    """Nine of ten requests are for b alone, which the old bits are good for, the others for a."""
    rows = tuple(PartitionReport(k, 500, (0, 4)) for k in range(2))
    report, state = StateReport(1000, 4096, rows, 0, 0, (1000,), 1000, 1024), StateIndex("ab")
    state.turn(knobs_of(access="portfolio", partition_share=0.5, index_bits=4, prior=0.0), None)
    state.observe(0, {}, report)
    state.begin()
    asked = {1: (900, 900, 900 * 60, 900, 0), 2: (100, 100, 100_000, 200, 0)}
    state.observe(100, asked, report)
    assert state.assessor is not None
    state.access = AccessMethods((4, 0), tuple(serves), serves)
    state._slices(state.window_of(state.assessor.report()))
    assert set(state.migrating) == ({0, 1} if serves else set())
