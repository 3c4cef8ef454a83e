"""Returns, importance, dwell and looks are what their slow twins say."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.planlog.dwell import Dwell, DwellBook, expected_dwell, survival
from backend.adaptive.planlog.looks import LookOutlook
from dashboard.views.planlog_importance import (
    mutual_information,
    nearest_plan,
    permutation_importance,
)
from dashboard.views.planlog_returns import best_pair, best_sequence, look_back
from tests.oracles import planlog_dwell, planlog_importance, planlog_returns

COSTS = st.integers(1, 3).flatmap(
    lambda plans: st.lists(
        st.lists(st.integers(0, 20).map(float), min_size=plans, max_size=plans),
        min_size=1,
        max_size=6,
    )
)
DWELLS = st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=8)


@given(COSTS, st.integers(0, 12))
def test_the_best_sequences_are_those_of_trying_all(costs: list[list[float]], price: int) -> None:
    matrix, plans = np.array(costs), range(len(costs[0]))
    best, pair = best_sequence(matrix, price), best_pair(matrix, price)
    assert best.cost == planlog_returns.least_cost(costs, price, plans)
    assert planlog_returns.sequence_cost(costs, best.sequence, price) == best.cost
    assert pair.cost == planlog_returns.least_pair_cost(costs, price)
    assert planlog_returns.sequence_cost(costs, pair.sequence, price) == pair.cost
    assert len(pair.plans) <= 2


@given(COSTS, st.integers(0, 12), st.data())
def test_shares_of_switches_add_up_to_what_was_saved(
    costs: list[list[float]], price: int, data: st.DataObject
) -> None:
    plan = st.integers(0, len(costs[0]) - 1)
    chosen = data.draw(st.lists(plan, min_size=len(costs), max_size=len(costs)))
    back = look_back(np.array(costs), chosen, price, 3.0)
    assert back.opening + sum(each.saved for each in back.switches) == pytest.approx(back.saved)
    ran = planlog_returns.sequence_cost(costs, chosen, price)
    assert back.running + back.switching == pytest.approx(ran)
    assert back.regret >= 3.0
    assert back.sequence.cost <= back.pair.cost <= back.single.cost
    sentence = back.sentence()
    assert 0 <= sentence.share <= 1 + 1e-9
    assert sentence.n_switches <= len(back.switches)


def test_the_sentence_of_an_interval() -> None:
    costs = np.array([[1, 5], [9, 1], [9, 1], [1, 2], [1, 5]], dtype=np.float64) * 100
    back = look_back(costs, [0, 1, 1, 0, 0], 10, 30)
    assert back.single.plans == (1,)
    assert (back.single.cost, back.running, back.switching) == (1400, 500, 20)
    assert [(each.place, each.saved) for each in back.switches] == [(1, 0), (3, 500)]
    sentence = back.sentence()
    assert sentence.ratio == pytest.approx(900 / 50)
    assert sentence.share == pytest.approx(5 / 9)
    assert sentence.n_switches == 1
    still = look_back(costs, [1] * 5, 10, 0)
    assert (still.sentence().ratio, still.sentence().n_switches) == (None, 0)


@given(DWELLS)
def test_survival_is_that_of_handing_weights_on(dwells: list[tuple[int, bool]]) -> None:
    steps = survival([Dwell(n, ended) for n, ended in dwells])
    for length, share in steps:
        assert share == pytest.approx(planlog_dwell.survival_at(dwells, length))


@given(DWELLS, st.integers(1, 50))
def test_an_unfinished_dwell_only_lengthens_what_is_expected(
    dwells: list[tuple[int, bool]], more: int
) -> None:
    known = [Dwell(n, ended) for n, ended in dwells]
    assert expected_dwell([*known, Dwell(more, False)], 5.0) > expected_dwell(known, 5.0)
    mean = sum(n for n, _ in dwells) / len(dwells)
    many = [Dwell(n, True) for n, _ in dwells] * 2000
    assert expected_dwell(many, 5.0) == pytest.approx(mean, rel=0.01)


def test_short_lived_leads_are_recognised_and_survive_a_kill() -> None:
    book = DwellBook(1000.0)
    for t in range(0, 1000, 100):
        book.saw(t, "a", 1)
        book.saw(t + 5, "b", 2)
    other = DwellBook(1000.0)
    other.restore(json.loads(json.dumps(book.state())))
    for each in (book, other):
        assert each.is_transient(1, 50)
        assert not each.is_transient(2, 50)
        assert not each.is_transient(3, 50)
        assert each.expected(1) < each.expected(2)
        assert each.expected(3) == each.expected(None)
        assert each.elapsed == 0
    assert other.state() == book.state()


def test_a_book_of_dwells_is_bounded() -> None:
    book = DwellBook(10.0, n_regions=3)
    for t in range(400):
        book.saw(t, f"p{t % 5}", t % 5 if t < 200 else 7)
    assert len(book.dwells()) <= 3 * 64 + 1
    assert len(book.dwells(7)) <= 64 + 1


@given(st.integers(1, 5000), st.integers(200, 5000), st.integers(0, 5), st.integers(0, 3))
def test_expected_regret_is_the_sum_over_all_moments_of_a_change(
    n_tuples: int, dwell: int, gain: int, residual: int
) -> None:
    outlook = LookOutlook(dwell, gain, residual)
    slow = planlog_dwell.missed(n_tuples, dwell, gain, residual, 500)
    assert outlook.expected_regret(n_tuples) == pytest.approx(slow, rel=2e-2, abs=1e-6)
    assert outlook.is_due(n_tuples, slow * 0.9) or slow == 0
    assert not outlook.is_due(n_tuples, slow * 1.1 + 1e-6)
    due = outlook.due(slow + 1)
    assert (due is None) == (gain == residual == 0)
    assert due is None or outlook.is_due(due, slow + 1) > outlook.is_due(due - 1, slow + 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("xyz")), min_size=8, max_size=60))
def test_information_is_what_the_counts_say_less_the_correction(
    pairs: list[tuple[int, str]],
) -> None:
    values, plans = np.array([float(v) for v, _ in pairs]), [plan for _, plan in pairs]
    cuts = np.quantile(values, np.arange(1, 8) / 8)
    bins = [int((value >= cuts).sum()) for value in values]
    counted = planlog_importance.information(bins, plans)
    cells = len(set(zip(bins, plans, strict=True))) - len(set(bins)) - len(set(plans)) + 1
    corrected = max(0.0, counted - cells / (2 * len(pairs) * np.log(2)))
    assert mutual_information(values, plans) == pytest.approx(corrected, abs=1e-9)
    assert mutual_information(np.zeros(0), []) == 0


def test_the_statistic_that_drives_the_plan_is_found() -> None:
    rng = np.random.default_rng(2)
    statistics = rng.random((200, 3))
    plans = ["ab" if row[1] > 0.5 else "ba" for row in statistics]
    nearest = nearest_plan(statistics, plans, np.array([1.0, 0.05, 1.0]))
    for predict in (nearest, lambda rows: ["ab" if row[1] > 0.5 else "ba" for row in rows]):
        falls = permutation_importance(statistics, plans, predict, seed=1)
        assert falls.tolist() == permutation_importance(statistics, plans, predict, seed=1).tolist()
        assert falls[1] > 0.3
        assert max(falls[0], falls[2]) < 0.1
    bits = [mutual_information(column, plans) for column in statistics.T]
    assert bits[1] > 0.7
    assert max(bits[0], bits[2]) < 0.1


def test_the_present_dwell_counts_in_its_region_and_the_region_left_longest_is_forgotten() -> None:
    book = DwellBook(10.0, n_regions=2)
    for t, plan, region in ((0, "a", 1), (10, "b", 2), (30, "a", 1), (60, "c", 3), (100, "d", 4)):
        book.saw(t, plan, region)
    book.saw(500, "d", 4)
    assert book.dwells(1) == [Dwell(10, True), Dwell(30, True)]
    assert book.dwells(2) == []
    assert book.dwells(3) == [Dwell(40, True)]
    assert book.dwells(4) == [Dwell(400, False)]
