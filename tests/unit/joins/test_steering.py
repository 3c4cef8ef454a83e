"""Orders of pipelines by thresholds and by the autopilot, on streams whose selectivities change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.planlog.begins import LogBegins
from backend.adaptive.planlog.steered import SteeredLook
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.joins.decide.ordering import PipelineOrder
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.steering import JoinPilot
from bench.adapt_joins import (
    COSTS,
    PROFILED,
    SETTINGS,
    SWITCH_ELEMENTS,
    PipelineStream,
    by_thresholds,
    followed,
    piloted,
    pipeline_stream,
    profile,
    star_order,
    star_pilot,
)
from bench.adapt_run import AdaptRun
from storage.vocabulary.planlog import AUTOPILOT, THRESHOLDS
from tests.unit.joins.cases import shape_of
from tests.unit.joins.running import TunedJoin

ARMS = shape_of(5, "12", "23", "14", "45")
INPUTS = (1, 2, 3, 4)


def looked(
    stream: PipelineStream, lost: float = 0.0, profile_prob: float = PROFILED
) -> tuple[AdaptRun, list[SteeredLook]]:
    looks = list[SteeredLook]()
    return followed(stream, piloted(star_pilot(stream.n), looks, lost), profile_prob), looks


@pytest.mark.parametrize("seed", [1, 2])
def test_either_policy_follows_the_best_order_of_each_phase(seed: int) -> None:
    stream = pipeline_stream(seed, 5, 60_000)
    best, (run, _), checked = sum(stream.bests()), looked(stream), followed(stream, by_thresholds)
    assert run.costs.sum() < 1.015 * best
    assert checked.costs.sum() < 1.09 * best
    assert 4 <= len(run.switched) <= 10


@pytest.mark.parametrize("seed", [1, 2])
def test_few_profiled_elements_do_where_conditions_change(seed: int) -> None:
    """A phase has 300 of them; thresholds need more."""
    stream = pipeline_stream(seed, 10, 60_000)
    run, _ = looked(stream, profile_prob=0.005)
    checked = followed(stream, by_thresholds, 0.005)
    assert run.costs.sum() < 1.09 * sum(stream.bests())
    assert run.costs.sum() < checked.costs.sum()


def take(pilot: JoinPilot, n: int, row: int, has_moved: bool = False) -> None:
    """A batch of n profiled elements that are all alike. row: what drops them, by bits."""
    drops = np.array([[row >> bit & 1 for bit in range(4)]] * n, dtype=np.bool_)
    pilot.taken(profile(drops, 10 * n), 1.0 * n, SETTINGS, has_moved)


def test_the_elements_that_show_a_change_are_the_first_of_what_settles() -> None:
    pipeline, pilot = star_order(4), star_pilot(4)
    for _ in range(80):
        take(pilot, 25, 1)
        pilot.look_at(pipeline, COSTS, SETTINGS, lambda _: 0.0)
    assert pilot.least(SETTINGS) == SETTINGS.least_samples
    before = pilot.n_sampled
    take(pilot, 25, 8)
    assert pilot.n_sampled == before + 25
    take(pilot, 25, 8)
    assert pilot.n_sampled == 50 == pilot.least(SETTINGS)
    look = pilot.look_at(pipeline, COSTS, SETTINGS, lambda _: 0.0)
    assert look is not None
    assert look.verdict.is_switch
    assert pilot.filters(look.plan, pipeline)[0] == 4


def test_counts_of_all_elements_say_once_that_conditions_are_others() -> None:
    pilot = star_pilot(4)
    take(pilot, 30, 1)
    take(pilot, 10, 8, has_moved=True)
    assert pilot.n_sampled == 10
    take(pilot, 10, 8, has_moved=True)
    assert pilot.n_sampled == 20
    take(pilot, 10, 8)
    take(pilot, 10, 1, has_moved=True)
    assert pilot.n_sampled == 10


def test_at_rest_few_switches_come_and_none_once_conditions_have_settled() -> None:
    stream = pipeline_stream(4, 1, 300_000)
    run, looks = looked(stream)
    assert run.costs.sum() < 1.02 * stream.best()
    settled = [look for look in looks if not look.record.get("settling")]
    assert len(settled) > 10
    assert not any(look.verdict.is_switch for look in settled)


def test_what_caches_would_lose_is_in_the_price_of_a_switch() -> None:
    stream = pipeline_stream(1, 5, 60_000)
    (free, (own, *_)), (dear, (other, *_)) = looked(stream), looked(stream, lost=1e9)
    assert len(free.switched) > len(dear.switched) == 0
    assert other.verdict.switching == pytest.approx(1e9, rel=0.01)
    assert own.verdict.switching == pytest.approx(SWITCH_ELEMENTS * own.look.cost, rel=1e-4)


@given(st.permutations(INPUTS), st.permutations(INPUTS), st.lists(st.integers(0, 15), min_size=1))
def test_an_order_costs_what_the_pipeline_says_and_at_most_the_worst_more(
    old: list[int], new: list[int], rows: list[int]
) -> None:
    """Whatever order the pipeline began with; ARMS have filters whose paths share a step."""
    drops = np.array([[row >> bit & 1 for bit in range(4)] for row in rows], dtype=np.bool_)
    for shape in (star_order(4).shape, ARMS):
        pipeline = PipelineOrder(shape, 0, old)
        pilot = JoinPilot(pipeline, SETTINGS, LogBegins(), "")
        again = JoinPilot(PipelineOrder(shape, 0, new), SETTINGS, LogBegins(), "")
        assert pilot.schema == again.schema
        orders = pilot.orders(pipeline, COSTS, SETTINGS)
        told = profile(drops, len(drops))
        plans = [["filters", [shape.names[j] for j in order], []] for order in (old, new)]
        before, after = (orders.prices(plan, drops) for plan in plans)
        for order, prices in ((old, before), (new, after)):
            own = pipeline.price(order, pipeline.sample(told, COSTS))
            assert prices == pytest.approx(own)
        assert (after - before).max() <= orders.worst(*plans) + 1e-9
        assert pilot.filters(plans[1], pipeline) == tuple(new)
        for plan in orders.search(drops):
            joined = pilot.filters(plan, pipeline)
            assert joined == shape.operators(0, joined), "each filter joins with its own input only"
        assert orders.form(orders.incumbent)[1] == [shape.names[j] for j in pipeline.operators]


@given(st.permutations(INPUTS), st.lists(st.integers(0, 15), min_size=1, max_size=20))
def test_an_order_costs_each_join_that_an_element_comes_to(
    order: list[int], rows: list[int]
) -> None:
    """The slow way, on ARMS: an input that drops an element has it dropped by all behind it."""
    pipeline = PipelineOrder(ARMS, 0, order)
    orders = JoinPilot(pipeline, SETTINGS, LogBegins(), "").orders(pipeline, COSTS, SETTINGS)
    for row in rows:
        dropped = {j for j in INPUTS if any(row >> (k - 1) & 1 for k in ARMS.path(0, j))}
        cost = 0.0
        for j in ARMS.operators(0, order):
            cost += COSTS[j]
            if j in dropped:
                break
        drops = np.array([[j in dropped for j in sorted(INPUTS)]])
        plan = ["filters", [ARMS.names[j] for j in order], []]
        assert orders.prices(plan, drops) == pytest.approx(cost, rel=1e-3)


@pytest.mark.parametrize("stop", [0, 1, 7, 30])
def test_looks_on_record_are_taken_again_as_they_were(stop: int) -> None:
    """A run that was killed after some look knows what one that forgot its samples knows."""
    looks = looked(pipeline_stream(1, 3, 60_000))[1][: stop + 1]
    form = looks[0].record["schema"]
    pilot = star_pilot(4)
    records = [{**look.record, "schema": form} for look in looks]
    assert pilot.resume(records, looks[-1].look.t) == []
    assert pilot.t == looks[-1].look.t
    assert pilot.pilot.log.n_evaluations == stop + 1
    assert pilot.pilot.due() == looks[-1].record["due"]


@pytest.mark.parametrize("policy", [AUTOPILOT, THRESHOLDS])
def test_a_join_is_ordered_by_who_decides(policy: str) -> None:
    """R's tuples find no S hardly ever, no T often, then the other way round."""
    settings = replace(
        SETTINGS, policy=policy, order_samples=30, profile_tuples=200, join_profile_prob=1.0,
        interval_tuples=400, window_observations=3,
    )  # fmt: skip
    join = TunedJoin(settings, (20, 20, 20), JoinOp((((0, 0), (1, 0), (2, 0)),)))
    join.controller.call("a and b and c")
    rng, orders = np.random.default_rng(8), []
    for batch in range(40):
        highs = (4, 4, 60) if batch < 20 else (4, 60, 4)
        inputs = rng.choice(3, 100).tolist()
        join.batch([(input, (int(rng.integers(0, highs[input])),)) for input in inputs])
        orders.append(join.controller.orders[0])
    assert (orders[15], orders[39]) == ((2, 1), (1, 2))
    told = [d for each in join.told for d in each.decisions if d.verdict == "switched"]
    assert {d.kind for d in told} == {"look" if policy == AUTOPILOT else "probe order"}
    outcomes = {outcome.decision for each in join.told for outcome in each.outcomes}
    assert outcomes & {d.seq for d in told}
    if policy == AUTOPILOT:
        assert told[0].detail["subject"].startswith("a and b and c: order of ")
        assert told[0].explanation.startswith("a and b and c: order of ")


def test_fixed_orders_are_left_alone_and_the_pilot_waits() -> None:
    settings = replace(SETTINGS, join_order="fixed", join_profile_prob=1.0, order_samples=30)
    join = TunedJoin(settings, (20, 20, 20), JoinOp((((0, 0), (1, 0), (2, 0)),)))
    rng, before = np.random.default_rng(8), join.controller.orders
    for _ in range(20):
        rows = [(i, (int(rng.integers(0, (4, 4, 60)[i])),)) for i in rng.choice(3, 100).tolist()]
        join.batch(rows)
    assert join.controller.orders == before
    assert not any(d.kind == "look" for told in join.told for d in told.decisions)
    assert all(pilot.t > 0 for pilot in join.controller.pilots)


def test_an_order_loses_the_caches_that_go_when_it_is_adopted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The slow way: a copy of the controller adopts it."""
    settings = replace(
        SETTINGS, caching="exact", candidates=0, order_samples=20, profile_tuples=100,
        join_profile_prob=0.3, interval_tuples=400, window_observations=2, block_probes=50,
    )  # fmt: skip
    join = TunedJoin(settings, (20, 20, 20), JoinOp((((0, 0), (1, 0), (2, 0)),)))
    controller, lost_of, kept = join.controller, list[float](), list[float]()
    look_at = JoinPilot.look_at

    def checked(
        pilot: JoinPilot,
        pipeline: PipelineOrder,
        costs: Sequence[float],
        settings: JoinSettings,
        lost: Callable[[Sequence[int]], float],
    ) -> SteeredLook | None:
        before, problem = controller.caches.in_force, controller.caches.problem(controller.known)
        for filters in permutations(pipeline.filters):
            other = deepcopy(controller)
            other.pipelines[pipeline.input].adopt(filters)
            other.caches.reordered(other.orders)
            more = problem.cost(other.caches.in_force) - problem.cost(before)
            expected = max(0.0, more) * settings.interval_tuples / 2
            assert lost(filters) == pytest.approx(expected)
            if before and filters != pipeline.filters:
                (lost_of if other.caches.in_force != before else kept).append(expected)
        return look_at(pilot, pipeline, costs, settings, lost)

    monkeypatch.setattr(JoinPilot, "look_at", checked)
    rng = np.random.default_rng(5)
    for _ in range(30):
        inputs = rng.choice(3, 100, p=(0.1, 0.1, 0.8)).tolist()
        join.batch([(input, (int(rng.integers(0, 8)),)) for input in inputs])
    assert max(lost_of) > 0
    assert kept
    assert not any(kept)
