"""Filters that are spared: prices stay fair, whole tuples stay whole, a sleeper is noticed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.ordering.ranks import PS_PER_US
from backend.adaptive.planlog.late import GENERATION, PlansOfLate
from backend.adaptive.planlog.records import PlanLogRefused
from backend.model.filters import DROPPED, UNKNOWN, WHOLE_EVERY, Probing
from backend.systems.agreedy.reoptimizer import FiltersReOptimizer
from backend.systems.agreedy.sparing import (
    drop_shares,
    marked,
    sample_prices,
    searched,
    spared_of,
    unmarked,
)
from bench.counted import run_counted
from tests.oracles.spared_filters import Pairs, price, true_price
from tests.unit.agreedy.cases import Case, cases
from tests.unit.agreedy.stream import Stream, independent_drops, query_of, settings


def pairs_of(n: int) -> st.SearchStrategy[Pairs]:
    """Any filters spared for any."""
    every = [(x, by) for x in range(n) for by in range(n) if x != by]
    return st.frozensets(st.sampled_from(every)) if every else st.just(frozenset())


def known(case: Case, spared: Pairs, is_whole: bool) -> np.ndarray:
    """What the tuples of a case are known by, columns by filter."""
    names = [f"F{x}" for x in range(case.n)]
    order = [names[x] for x in case.order]
    probing = Probing("all", spared=frozenset((names[x], names[by]) for x, by in spared))
    drops = np.array(case.drops, dtype=np.bool_).reshape(len(case.drops), case.n)
    every = np.ones(len(drops), dtype=np.bool_)
    done = run_counted(drops, names, order, probing, every, every & is_whole)
    assert (done.whole is not None) == bool(spared)
    return marked(done.outcomes, order, probing)[:, np.argsort(case.order)]


@given(cases(), st.data())
def test_an_order_is_priced_fairly_whatever_is_spared(case: Case, data: st.DataObject) -> None:
    spared = data.draw(pairs_of(case.n))
    order = data.draw(st.permutations(range(case.n)))
    costs = [cost * PS_PER_US for cost in case.costs]
    prices = {}
    for is_whole in (True, False):
        prices[is_whole] = sample_prices(known(case, spared, is_whole), order, costs)
        slow = [price(r, case.order, order, case.costs, spared, is_whole) for r in case.drops]
        assert prices[is_whole].tolist() == pytest.approx([float(each) for each in slow])
    fair = prices[True] / WHOLE_EVERY + prices[False] * (1 - 1 / WHOLE_EVERY)
    true = [float(true_price(row, order, case.costs)) for row in case.drops]
    assert fair.tolist() == pytest.approx(true)


@given(cases(), st.data())
def test_whole_tuples_are_known_whole(case: Case, data: st.DataObject) -> None:
    spared = data.draw(pairs_of(case.n))
    whole, cut = (known(case, spared, is_whole) for is_whole in (True, False))
    assert (unmarked(whole) == DROPPED).tolist() == case.drops
    assert not (whole == UNKNOWN).any()
    assert ((cut == UNKNOWN) | (cut == unmarked(whole))).all()


@given(cases(), st.data())
def test_orders_of_late_are_priced_without_whole_tuples(case: Case, data: st.DataObject) -> None:
    names = [f"F{x}" for x in range(case.n)]
    late = data.draw(st.lists(st.permutations(range(case.n)), min_size=1, max_size=3))
    by_name = spared_of(names, [[names[x] for x in order] for order in late])
    spared = frozenset((names.index(name), names.index(by)) for name, by in by_name)
    costs = [cost * PS_PER_US for cost in case.costs]
    cut = known(case, spared, is_whole=False)
    for order in late:
        true = [float(true_price(row, order, case.costs)) for row in case.drops]
        assert sample_prices(cut, order, costs).tolist() == pytest.approx(true)


def test_shares_and_searches_are_those_of_all_tuples() -> None:
    rng = np.random.default_rng(3)
    drops = independent_drops(rng, 60_000, (0.5, 0.4, 0.2))
    names, probing = ["F0", "F1", "F2"], Probing("all", spared=frozenset({("F1", "F0")}))
    draws = rng.random(len(drops))
    done = run_counted(drops, names, names, probing, draws < 2, draws < 1 / WHOLE_EVERY)
    sample = marked(done.outcomes, names, probing)
    is_dropped = drops[drops.any(axis=1)]
    assert drop_shares(sample) == pytest.approx(is_dropped.mean(axis=0).tolist(), abs=0.01)
    late, fair = searched(sample)
    assert late[:, 1].mean() < 0.9 * is_dropped[:, 1].mean()
    assert fair.mean(axis=0).tolist() == pytest.approx(is_dropped.mean(axis=0).tolist(), abs=0.01)
    assert done.whole is not None
    assert done.whole.rows.mean() == pytest.approx(1 / WHOLE_EVERY, abs=0.01)


def sleeper(rng: np.random.Generator, n: int, is_awake: bool) -> np.ndarray:
    """F1 drops half, F2 four fifths of the others; of those that F1 drops none, or, awake, all. So
    no count of regular execution says that it woke."""
    drops = independent_drops(rng, n, (0.5, 0.8, 0.05))
    drops[drops[:, 0], 1] = is_awake
    return drops


@pytest.mark.parametrize("seed", range(3))
def test_a_sleeper_is_noticed(seed: int) -> None:
    knobs = settings(policy="autopilot", profile_prob=0.2, min_samples=100)
    costs = {"F1": 1.0, "F2": 1.3, "F3": 1.0}
    stream, rng = Stream(knobs, query_of(3), costs, seed), np.random.default_rng(seed)
    stream.run(sleeper(rng, 20_000, is_awake=False))
    while ("F2", "F1") not in stream.core.probing.spared:
        stream.run(sleeper(rng, 1_000, is_awake=False))
        assert stream.batch_id < 2_000
    assert stream.order == "F1 F2 F3"
    stream.run(sleeper(rng, 60_000, is_awake=True))
    assert stream.order.startswith("F2")
    assert ("F2", "F1") not in stream.core.probing.spared


def test_what_is_spared_is_known_again_after_a_kill() -> None:
    knobs = settings(policy="autopilot", profile_prob=1.0, min_samples=100)
    stream = Stream(knobs, query_of(4), {"F1": 100.0})
    rng = np.random.default_rng(4)
    shares = (0.5, 0.3, 0.5, 0.7)
    for turn in range(40):
        stream.run(independent_drops(rng, 1_000, shares if turn % 20 < 10 else shares[::-1]))
        looks = [decision.detail["plan_log"] for decision in stream.decisions()]
        again = FiltersReOptimizer(query_of(4), knobs)
        again.resume(stream.order.split(), 9, len(looks), 700, json.loads(json.dumps(looks)))
        assert again.probing == stream.core.probing
        assert again.pilot.pilot.late.state() == stream.core.pilot.pilot.late.state()
    assert stream.core.probing.spared


@given(st.lists(st.lists(st.sampled_from("abcdef"), min_size=1), max_size=5 * GENERATION))
def test_plans_are_of_late_for_one_to_two_generations(looks: list[list[str]]) -> None:
    late = PlansOfLate()
    for look in looks:
        late.saw(look)
        again = PlansOfLate()
        again.restore(json.loads(json.dumps(late.state())))
        assert again.plans == late.plans
    n_newer = len(looks) % GENERATION
    expected = {plan for look in looks[-GENERATION - n_newer :] for plan in look}
    assert late.plans == (expected if len(looks) >= GENERATION else None)


@pytest.mark.parametrize("state", [[None, [3], 1], [["a"], ["b"], GENERATION], [[None], [], 0]])
def test_plans_that_are_none_are_refused(state: object) -> None:
    with pytest.raises(PlanLogRefused):
        PlansOfLate().restore(state)
