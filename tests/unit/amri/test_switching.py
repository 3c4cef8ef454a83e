"""Selection with a price of switching: against its twin, an adversary, and the evidence it asks."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from backend.adaptive.stats import Z95, Mean
from backend.systems.amri.sides import difference, variance_of
from backend.systems.amri.switching import (
    AccumulatedAdvantage,
    by_window,
    pair_difference,
    roll_back,
)
from storage.vocabulary.amri_costs import IndexCosts, SearchLoad
from tests.oracles import amri_selection as selection_twin
from tests.oracles import amri_time as twin
from tests.oracles.amri_selection import Load
from tests.unit.amri.cases import as_load, as_model, exact_loads, long_lists

PAIR = np.array([[1, 0], [0, 1]])


def run(costs: list[list[float]], price: float) -> tuple[float, list[int]]:
    """What selection by accumulated advantage spends, and where each window ends."""
    k = len(costs[0])
    one = AccumulatedAdvantage(np.eye(k, dtype=np.int64), tuple(np.eye(k, dtype=int)[0].tolist()))
    spent, trace = 0.0, []
    for window in costs:
        spent += window[one.place]
        one.account(np.array(window, dtype=float))
        found = one.look(np.full(k, price))
        assert found.sides.holds == (found.sides.verdict == "switched")
        if found.sides.holds:
            spent += price
            one.switch(found.bits)
        trace.append(one.place)
    return spent, trace


@given(
    st.integers(1, 4).flatmap(
        lambda k: long_lists(st.lists(st.integers(0, 6), min_size=k, max_size=k))
    ),
    st.integers(0, 8),
)
def test_it_switches_when_and_where_the_twin_does(costs: list[list[float]], price: int) -> None:
    if costs:
        assert run(costs, price) == twin.advantage_run(costs, price)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=12), st.integers(1, 3))
@settings(max_examples=60)
def test_between_two_it_is_never_dearer_than_3_times_the_best_sequence(
    windows: list[tuple[int, int]], price: int
) -> None:
    """Card A14.11; the constant is what the first two switches may cost."""
    costs = [list(map(float, one)) for one in windows]
    if costs:
        spent, _ = run(costs, price)
        best = twin.best_sequence(costs, [[0, price], [price, 0]])
        assert spent <= 3 * best + 3 * price


def dynamic(costs: list[list[float]], price: float) -> float:
    """The best sequence of two, for long ones."""
    a, b = 0.0, 0.0
    for x, y in costs:
        a, b = min(a, b + price) + x, min(b, a + price) + y
    return min(a, b)


@given(long_lists(st.tuples(st.floats(0, 1), st.floats(0, 1))), st.integers(1, 8))
def test_long_sequences_stay_within_the_bound_by_what_a_window_overshoots(
    windows: list[tuple[float, float]], price: int
) -> None:
    costs = [list(one) for one in windows]
    if costs:
        spent, trace = run(costs, price)
        n_switches = sum(a != b for a, b in itertools.pairwise([0, *trace]))
        assert spent <= 3 * dynamic(costs, price) + 3 * price + n_switches


def test_an_adversary_reaches_3() -> None:
    """It asks for what is not in force, always."""
    price, costs, one = 5, list[list[float]](), AccumulatedAdvantage(PAIR, (1, 0))
    spent = 0.0
    for _ in range(6000):
        costs.append([1.0, 0.0] if one.place == 0 else [0.0, 1.0])
        spent += costs[-1][one.place]
        one.account(np.array(costs[-1]))
        found = one.look(np.full(2, price))
        if found.sides.holds:
            spent += price
            one.switch(found.bits)
    assert spent / dynamic(costs, price) == pytest.approx(3.0, abs=0.01)


def test_the_interval_has_to_lie_beyond_the_price() -> None:
    """Card A14.12: the same advantage, more or less sure."""
    for variance, slack, verdict in [
        (0.0, 0.0, "switched"),
        (16.0, 0.0, "thin"),
        (0.0, 5.0, "thin"),
    ]:
        one = AccumulatedAdvantage(PAIR, (1, 0))
        one.account(np.array([10.0, 0.0]), np.array([0.0, variance]), slack)
        found = one.look(np.array([0.0, 5.0]))
        assert found.sides.verdict == verdict
        assert (found.sides.lhs, found.sides.rhs, found.price) == (10.0, 10.0, 5.0)
    one.account(np.array([0.0, 99.0]))
    assert not one.variance.any()
    assert not one.slack.any()
    assert one.look(np.array([0.0, 5.0])).sides.verdict == "below_threshold"


def test_nothing_is_switched_to_without_an_advantage() -> None:
    one = AccumulatedAdvantage(PAIR, (1, 0))
    one.account(np.array([1.0, 1.0]))
    assert one.look(np.zeros(2)).sides.verdict == "below_threshold"
    alone = AccumulatedAdvantage(PAIR[:1], (1, 0))
    assert alone.look(np.zeros(1)).bits == (1, 0)


def test_the_configuration_in_force_is_a_candidate_whatever_the_others_are() -> None:
    one = AccumulatedAdvantage(PAIR, (5, 5))
    assert one.incumbent == (5, 5)
    assert one.candidates.tolist() == [[1, 0], [0, 1], [5, 5]]
    with pytest.raises(ValueError, match="none of the 3 candidates"):
        one.switch((7, 7))


def test_it_goes_on_where_it_was_taken() -> None:
    one = AccumulatedAdvantage(PAIR, (1, 0))
    one.account(np.array([3.0, 1.0]), np.array([0.0, 2.0]), 0.5)
    other = AccumulatedAdvantage.restored(np.array([[0, 1], [2, 0], [1, 0]]), one.state())
    assert other.incumbent == (1, 0)
    assert other.advantage.tolist() == [2, 0, 0]
    assert other.variance.tolist() == [2, 0, 0]
    assert other.slack.tolist() == [0.5, 0, 0]


def test_windows_of_requests_add_up_in_the_costs_of_the_model() -> None:
    load = SearchLoad(2, {2: 0.75, 1: 0.25}, arrivals=4, requests=8, window=16)
    one = AccumulatedAdvantage(np.array([[0, 2], [2, 0]]), (0, 2))
    one.observe(load, IndexCosts(), n_requests=400, n_sampled=100, slack=0.1)
    d = pair_difference(load, IndexCosts(), (0, 2), (2, 0), 100)
    assert one.advantage[1] == pytest.approx(400 * d.mean.value)
    half = d.mean.high - d.mean.value
    assert Z95 * one.variance[1] ** 0.5 == pytest.approx(400 * half)
    assert one.slack.tolist() == [0.0, 40.0]


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(-9, 9)), min_size=1, max_size=5),
    st.integers(1, 50),
)
def test_the_variance_of_a_difference_is_that_of_the_requests(
    parts: list[tuple[int, int]], n: int
) -> None:
    each = np.array([d for times, d in parts for _ in range(times)], dtype=float)
    shares = np.array([times for times, _ in parts]) / len(each)
    differences = np.array([d for _, d in parts], dtype=float)
    assert variance_of(shares, differences) == pytest.approx(each.var())
    half = np.append(shares / 2, 0), np.append(differences, 99.0)
    rest = np.append(each, np.zeros(len(each)))
    assert variance_of(*half) == pytest.approx(rest.var())
    found = difference(shares, differences, n, slack=1.5)
    assert found.value == pytest.approx(each.mean())
    assert found.high - found.value == pytest.approx(Z95 * (each.var() / n) ** 0.5, abs=1e-7)
    assert found.value - found.low == pytest.approx(found.high - found.value + 1.5)


def test_selection_by_window_weighs_gain_price_and_evidence() -> None:
    load = SearchLoad(2, {2: 0.9, 1: 0.1}, requests=10, window=64)
    old = float(IndexCosts().request_costs(load, np.array([[0, 2]]))[0] @ load.shares)
    sure = pair_difference(load, IndexCosts(), (0, 2), (2, 0), 10_000)
    gain = 0.8 * 48 + 0.8 * -1
    assert sure.mean.value == pytest.approx(gain)
    found = by_window(sure, old, 100, price=500)
    assert found.lhs == pytest.approx(100 * gain - 500)
    assert (found.rhs, found.verdict) == (0, "switched")
    assert by_window(sure, old, 100, price=500, min_gain=0.9).verdict == "below_threshold"
    assert by_window(sure, old, 10, price=500).verdict == "below_threshold"
    few = pair_difference(load, IndexCosts(), (0, 2), (2, 0), 2)
    assert by_window(few, old, 100, price=2000).verdict == "thin"
    taken = pair_difference(load, IndexCosts(), (0, 2), (2, 0), 2, confidence=0)
    assert by_window(taken, old, 100, price=2000).verdict == "switched"


def test_headroom_says_which_pattern_has_to_move_how_far() -> None:
    load = SearchLoad(2, {2: 0.5, 1: 0.5}, requests=10, window=64)
    names = ("<A1,*>", "<*,A2>")
    even = pair_difference(load, IndexCosts(), (0, 2), (2, 0), 1000)
    found = by_window(even, 40.0, 100, price=470, names=names)
    assert [near.entity for near in found.headroom] == ["<A1,*>"]
    share = found.headroom[0].missing or 0.0
    assert share == pytest.approx(4.7 / 47)
    assert found.headroom[0].near == pytest.approx(1 - 4.7 / 47)
    moved = SearchLoad(2, {2: 0.5 + share / 2, 1: 0.5 - share / 2}, requests=10, window=64)
    again = pair_difference(moved, IndexCosts(), (0, 2), (2, 0), 1000)
    assert 100 * again.mean.value == pytest.approx(470)


@given(exact_loads(most=3), st.data())
def test_the_next_change_of_bits_takes_what_the_twin_says_of_each_pattern(
    drawn: tuple[int, Load], data: st.DataObject
) -> None:
    n, load = drawn
    every = list(selection_twin.vectors(n, 4, at_most=True))
    candidates = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=4, unique=True))
    incumbent = candidates[0]
    least = data.draw(st.sampled_from([Fraction(0), Fraction(1, 10)]))
    number = st.integers(0, 3000)
    ahead = {bits: (data.draw(number), data.draw(number)) for bits in candidates[1:]}
    spent = (1 - least) * selection_twin.cost(load, incumbent)
    for bits, (c, price) in ahead.items():
        assume(abs(c + spent - selection_twin.cost(load, bits) - 2 * price) > Fraction(1, 10**6))
    advantage = AccumulatedAdvantage(np.array(candidates), incumbent)
    advantage.advantage[:] = [0, *(c for c, _ in ahead.values())]
    prices = np.array([0.0, *(price for _, price in ahead.values())])
    names = [f"A{k}" for k in range(n)]
    asked, model = as_load(n, load), as_model(load, 4)
    near = advantage.headroom(asked, model, prices, float(least), (names, [*load.frequencies]))
    missing = {row.entity: row.missing for row in near}
    for word in load.frequencies:
        share = selection_twin.first_reach(load, word, incumbent, ahead, least)
        if share is not None and share < 1 - 1e-9:
            assert missing.pop(word) == pytest.approx(float(share), abs=1e-9)
        else:
            assert missing.pop(word, 1.0) == pytest.approx(1.0 if share is None else float(share))
    assert missing == {}
    assert [row.near for row in near] == sorted((row.near for row in near), reverse=True)


def test_the_next_change_of_bits_is_said_with_the_bits_it_leads_to() -> None:
    load = SearchLoad(2, {2: 0.5, 1: 0.5}, requests=100, window=64)
    ahead = AccumulatedAdvantage(np.array([[0, 2], [2, 0]]), (0, 2))
    ahead.account(np.array([30.0, 0.0]))
    names = ("a", "b"), ("<a,*>", "<*,b>")
    (near,) = ahead.headroom(load, IndexCosts(), np.array([0.0, 250.0]), 0.0, names)
    assert near.words.startswith("<a,*> would have to be asked for by 10.0 % more of the requests")
    assert near.words.endswith(", then the bits a 2, b 0 pay")
    load = SearchLoad(2, {2: 0.55, 1: 0.45}, requests=100, window=64)
    ahead.observe(load, IndexCosts(), load.requests, 1000)
    assert ahead.advantage[1] == pytest.approx(2 * 250.0)


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (Mean(12, 11, 13, 50), "switched"),
        (Mean(12, 9, 15, 5), "thin"),
        (Mean(9, 8, 9.5, 50), "below_threshold"),
    ],
)
def test_worse_than_the_estimate_of_the_old_one_goes_back(measured: Mean, verdict: str) -> None:
    found = roll_back(measured, 10.0)
    assert found.verdict == verdict
    assert (found.lhs, found.rhs, found.interval) == (
        measured.value, 10.0, (measured.low, measured.high),
    )  # fmt: skip


def test_what_saves_less_than_the_least_share_gains_no_advantage() -> None:
    candidates = np.array([[2, 0], [1, 1], [0, 2]])
    advantage = AccumulatedAdvantage(candidates, (2, 0))
    for _ in range(5):
        advantage.account(np.array([100.0, 91.0, 80.0]), least=0.1)
    assert advantage.advantage.tolist() == [0.0, 0.0, 50.0]
