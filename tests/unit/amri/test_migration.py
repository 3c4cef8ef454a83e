"""Eq. 3 slice by slice."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.systems.amri.migration import (
    Partition,
    SliceChoice,
    moving_cost,
    requests_left,
    slice_choice,
    slice_costs,
    slices_to_move,
    switching_prices,
)
from storage.vocabulary.amri_costs import COUNTED, IndexCosts, SearchLoad, WorkCosts
from tests.oracles import amri_selection as twin
from tests.unit.amri.cases import SHARES_2, as_load, as_model, exact_loads

TABLE = SearchLoad(3, SHARES_2)


def slice_of(n: int, bits: tuple[int, ...], number: int = 0, is_open: bool = False) -> Partition:
    return Partition(number, number * n, number * n + n, bits, is_open)


def choice(
    n: int, old: tuple[int, ...], new: tuple[int, ...], requests: float, number: int = 0
) -> SliceChoice:
    return slice_choice(TABLE, IndexCosts(), slice_of(n, old, number), new, requests)


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
    found = slice_choice(as_load(n, exact), model, slice_of(n_tuples, old), new, requests)
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
