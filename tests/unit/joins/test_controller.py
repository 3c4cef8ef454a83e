"""A join and its controller together: caches come where they pay and go where they do not."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from backend.operators.network.kinds.joins import JoinOp
from backend.systems.joins.decide.controller import JoinController
from backend.systems.joins.decide.settings import JoinSettings
from storage.vocabulary.headroom import read
from storage.vocabulary.records import Decision
from tests.oracles.join_executor import CountingJoin, Row
from tests.unit.joins.cases import numbered, on_one_attribute
from tests.unit.joins.running import S, TunedJoin, three_way

SETTINGS = JoinSettings(
    join_order="fixed",
    orders=((1, 2), (0, 2), (1, 0)),
    interval_tuples=400,
    window_observations=3,
    block_probes=80,
    join_costs="counted",
    w=0.1,
    join_profile_prob=1.0,
)


def arrivals(
    rng: np.random.Generator, n: int, rates: tuple[int, int, int], domain: int = 8
) -> list[tuple[int, Row]]:
    """n tuples of R(A), S(A,B), T(B) at these relative rates."""
    prob = np.array(rates) / sum(rates)
    found = []
    for input in rng.choice(3, n, p=prob).tolist():
        width = 2 if input == S else 1
        found.append((input, tuple(rng.integers(0, domain, width).tolist())))
    return found


def run(settings: JoinSettings, *phases: tuple[int, tuple[int, int, int]]) -> TunedJoin:
    """Phases of (batches of 100 tuples, rates)."""
    rng = np.random.default_rng(5)
    join = TunedJoin(settings, (16, 16, 16))
    for n_batches, rates in phases:
        for _ in range(n_batches):
            join.batch(arrivals(rng, 100, rates))
    return join


def decisions(join: TunedJoin) -> list[Decision]:
    return [decision for told in join.told for decision in told.decisions]


def test_a_cache_comes_where_it_pays_and_is_found_cheaper_than_none() -> None:
    join = run(SETTINGS, (20, (1, 1, 12)))
    assert join.used == ["R ⋈ S"]
    totals = join.controller.totals
    assert totals.bare - totals.spent > 0
    assert totals.spent - totals.hindsight >= 0
    first = next(one for one in decisions(join) if one.verdict == "switched")
    assert first.predicted_new is not None
    assert first.predicted_old is not None
    assert first.predicted_new < first.predicted_old
    assert (first.lhs, first.rhs) == (first.predicted_new, first.predicted_old)


def test_decisions_hold_both_sides_of_every_candidate() -> None:
    join = run(SETTINGS, (20, (1, 1, 12)))
    decision = next(one for one in decisions(join) if one.verdict == "switched")
    cache = decision.detail["caches"][0]
    assert cache["name"] == "R ⋈ S"
    assert (cache["state_before"], cache["state"]) == ("profiled", "used")
    assert cache["low"] <= cache["benefit"] - cache["cost"] <= cache["high"]
    (reader,) = cache["readers"]
    assert 0 <= reader["miss_prob"] < 1
    assert reader["n_probes"] == cache["n"] >= 3 * 80
    json.dumps(decision.detail)


def test_what_was_predicted_is_measured() -> None:
    join = run(SETTINGS, (20, (1, 1, 12)))
    decision = next(one for one in decisions(join) if one.verdict == "switched")
    (outcome,) = [one for told in join.told for one in told.outcomes]
    assert outcome.decision == decision.seq
    assert outcome.actual_new == pytest.approx(decision.predicted_new, rel=0.25)
    assert outcome.counterfactual_old == pytest.approx(decision.predicted_old, rel=0.25)
    assert outcome.actual_new is not None
    assert outcome.counterfactual_old is not None
    assert outcome.actual_new < outcome.counterfactual_old


def test_predicted_costs_are_those_of_the_executor() -> None:
    """With nothing cached, the model's cost per element is what the executor counts."""
    settings = replace(SETTINGS, caching="off", window_observations=1000, interval_tuples=100)
    join = run(settings, (10, (1, 1, 4)))
    n_elements = join.controller.totals.n_elements
    cost = join.controller.caches.problem(join.controller.known).cost({})
    assert cost * n_elements == pytest.approx(join.join.n_operations, rel=1e-9)


def test_the_caches_follow_a_burst() -> None:
    """Fig. 5.22 in small: R's rate rises, so R ⋈ S in T's pipeline costs more than it saves; then
    (S ⋈ T) ⋉ R pays in R's pipeline."""
    join = run(SETTINGS, (20, (1, 1, 12)))
    assert join.used == ["R ⋈ S"]
    rng = np.random.default_rng(6)
    for _ in range(20):
        join.batch(arrivals(rng, 100, (40, 1, 1)))
    assert "R ⋈ S" not in join.used
    assert "(S ⋈ T) ⋉ R" in join.used


def test_a_cache_that_does_not_pay_any_more_goes_at_once() -> None:
    join = run(replace(SETTINGS, w=0.4), (20, (1, 1, 12)))
    assert join.used == ["R ⋈ S"]
    join.turn(replace(SETTINGS, w=0.4, interval_tuples=10**9))
    rng = np.random.default_rng(6)
    for _ in range(10):
        join.batch(arrivals(rng, 100, (40, 1, 1)))
    assert join.used == []
    (dropped,) = [one for one in decisions(join) if one.kind == "cache monitor"]
    assert dropped.lhs is not None
    assert dropped.rhs is not None
    assert dropped.lhs < dropped.rhs
    assert dropped.detail["transitions"] == [
        {"cache": "0,1|1", "before": "used", "cause": "benefit below cost", "after": "unused"}
    ]


def test_states_move_only_as_drawn_and_are_told() -> None:
    join = run(SETTINGS, (15, (1, 1, 12)), (15, (30, 1, 1)), (15, (1, 1, 12)))
    seen = {
        (step["before"], step["cause"], step["after"])
        for decision in decisions(join)
        for step in decision.detail.get("transitions", ())
    }
    assert ("profiled", "selected", "used") in seen
    assert ("profiled", "not selected", "unused") in seen


def test_nothing_is_selected_where_nothing_moved() -> None:
    settings = replace(SETTINGS, change_share=1e9)
    join = run(settings, (40, (1, 1, 12)))
    found = [one for one in decisions(join) if one.kind == "cache selection"]
    assert found[0].verdict == "switched"
    assert {one.verdict for one in found[1:]} == {"below_threshold"}
    told = read(found[-1].detail)
    (waits,) = [one for one in told if not one.entity]
    assert waits.words.startswith("a benefit or cost has to move by")
    assert waits.near < 1
    assert join.used == ["R ⋈ S"]


def test_caches_say_what_would_make_them_go_or_pay() -> None:
    """By the rule of §5.5: as far as its benefit is above its cost, or has to rise to it."""
    join = run(SETTINGS, (15, (1, 1, 12)), (15, (30, 1, 1)), (15, (1, 1, 12)))
    told = set()
    for decision in decisions(join):
        if not decision.kind.startswith("cache"):
            continue
        caches = {one["name"]: one for one in decision.detail["caches"]}
        for line in (one for one in read(decision.detail) if one.entity):
            cache = caches[line.entity]
            benefit, cost = cache["benefit"], cache["cost"]
            assert line.missing == pytest.approx(abs(benefit - cost))
            used = cache["state"] == "used"
            told.add(" goes if its benefit falls by" if used else " pays if its benefit rises by")
            assert any(words in line.words for words in told)
            low, high = sorted((benefit, cost))
            assert line.near == pytest.approx(max(0.0, low / high) if high > 0 else 1.0)
            assert used == (benefit > cost)
    assert len(told) == 2
    pinned = replace(SETTINGS, pinned=frozenset({"0,1|1"}))
    found = [read(one.detail) for one in decisions(run(pinned, (20, (1, 1, 12))))]
    assert "R ⋈ S" not in {line.entity for lines in found for line in lines}


def test_pinned_caches_come_at_once_and_forbidden_ones_go() -> None:
    join = run(SETTINGS, (2, (1, 1, 1)))
    join.turn(replace(SETTINGS, pinned=frozenset({"0,1|1"})))
    rng = np.random.default_rng(7)
    join.batch(arrivals(rng, 100, (1, 1, 1)))
    assert join.used == ["R ⋈ S"]
    for _ in range(20):  # at these rates it would not be taken
        join.batch(arrivals(rng, 100, (40, 40, 1)))
    assert "R ⋈ S" in join.used
    join.turn(replace(SETTINGS, forbidden=frozenset({"0,1|1"})))
    assert "R ⋈ S" not in join.used
    assert "0,1|1" not in {spec.id for spec in join.controller.tuning.shadows}
    join.turn(replace(SETTINGS, caching="off"))
    assert join.controller.tuning.caches == join.controller.tuning.shadows == ()


def test_memory_stays_within_the_pool() -> None:
    join = run(replace(SETTINGS, pool_bytes=0), (20, (1, 1, 12)))
    assert join.controller.caches.choice
    assert not join.controller.tuning.caches
    join.turn(replace(SETTINGS, pool_bytes=1 << 20))
    (spec,) = join.controller.tuning.caches
    assert 0 < spec.n_bytes <= 1 << 20
    assert spec.n_bytes % 4096 == 0


def test_a_permuted_prefix_keeps_a_cache_another_prefix_set_ends_it() -> None:
    """Erratum 4: {R1, R2, R3} is a prefix set, and its cache is read in R4's pipeline alone."""
    shape = on_one_attribute(4)
    at_first = numbered("234", "134", "124", "123")
    settings = replace(SETTINGS, orders=at_first, pinned=frozenset({"0,1,2|0"}), candidates=0)
    controller = JoinController(shape, settings)
    join = CountingJoin(shape, [[(i, 0) for i in range(4)]])
    join.tune(controller.tuning)
    join.element(0, (1,), +1)
    controller.observe(0, 1, join.profile())
    assert [spec.id for spec in controller.tuning.caches] == ["0,1,2|0"]
    permuted = numbered("324", "134", "214", "123")
    controller.turn(replace(settings, orders=permuted, pinned=frozenset()))
    assert [spec.id for spec in controller.tuning.caches] == ["0,1,2|0"]
    other = numbered("324", "143", "214", "123")
    controller.turn(replace(settings, orders=other, pinned=frozenset()))
    assert controller.tuning.caches == ()
    assert "0,1,2|0" not in controller.caches.states


def test_the_same_profiles_give_the_same_decisions() -> None:
    phases = ((15, (1, 1, 12)), (15, (30, 1, 1)))
    first, second = run(SETTINGS, *phases), run(SETTINGS, *phases)
    assert first.told == second.told


def test_a_run_goes_on_with_its_orders_caches_and_states() -> None:
    join = run(SETTINGS, (20, (1, 1, 12)))
    state = json.loads(json.dumps(join.controller.state()))
    again = JoinController(three_way(), SETTINGS)
    again.restore(state, join.controller.totals)
    assert again.orders == join.controller.orders
    assert again.tuning.caches == join.controller.tuning.caches
    assert again.caches.states.all() == join.controller.caches.states.all()
    assert again.totals == join.controller.totals
    assert again.state() == state


@pytest.mark.parametrize(
    "algorithm", ["a-greedy", "sweep", "independent", "local swaps", "optimal"]
)
def test_orders_follow_the_filters_that_drop_most(algorithm: str) -> None:
    """R's tuples find no S hardly ever, no T often along S; T's tuples the other way round."""
    settings = replace(SETTINGS, join_order=algorithm, orders=(), caching="off", order_samples=30)
    rng = np.random.default_rng(8)
    shape_work = (((0, 0), (1, 0), (2, 0)),)

    join = TunedJoin(settings, (20, 20, 20), JoinOp(shape_work))
    for _ in range(10):
        rows = []
        for input in rng.choice(3, 100).tolist():
            high = (4, 4, 60)[input]  # S's values are 0..3, few of T's are
            rows.append((input, (int(rng.integers(0, high)),)))
        join.batch(rows)
    assert join.controller.orders[0] == (2, 1)
    switched = [one for one in decisions(join) if one.verdict == "switched"]
    assert {(one.kind, one.algorithm) for one in switched} == {("probe order", algorithm)}
    outcome = next(one for told in join.told for one in told.outcomes)
    assert outcome.sample_new is not None
    assert outcome.counterfactual_old is not None
    assert outcome.sample_new < outcome.counterfactual_old


def test_orders_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="not those of a join of 3"):
        JoinController(three_way(), replace(SETTINGS, orders=((1, 2), (0, 0), (1, 0))))
