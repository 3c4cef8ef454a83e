"""Simulated runs: what they count, when they rearrange, and the papers' claims in small."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.lattice import extreme_order
from backend.systems.asc.macro import macro_sequence_by_period
from backend.systems.asc.matching import Regions, sample_regions, trace
from backend.systems.asc.orderings import Ordering
from backend.systems.asc.ticket import Lottery, ticket_trace
from backend.systems.asc.walk import walk_plan
from bench.simulate import Scenario, Simulated, Simulation
from tests.unit.asc.stream import QUERIES, SCHEMA, a_filters, b_filters

CONSTRUCTS = build_constructs(QUERIES, SCHEMA)
SCHEMA_ORDER = CONSTRUCTS.attributes
A = sample_regions(CONSTRUCTS, a_filters(4000))
B = sample_regions(CONSTRUCTS, b_filters(4000))
SMALL = Scenario("macro", tau_tuples=100, lambda_tuples=500, interval_tuples=250)


def simulated(scenario: Scenario, regions: Regions) -> Simulated:
    """A whole run."""
    return Simulation(CONSTRUCTS, scenario).feed(regions).result


def test_a_fixed_order_is_its_trace() -> None:
    order = ("c", "b", "a", "d")
    found = simulated(replace(SMALL, strategy=None, first=order), A[:1100])
    plain = trace(CONSTRUCTS, A[:1100], order, "drop")
    assert [i.n_tuples for i in found.intervals] == [250, 250, 250, 250, 100]
    assert [i.visits for i in found.intervals] == [
        int(plain.visits[t : t + 250].sum()) for t in range(0, 1100, 250)
    ]
    assert found.visits_per_tuple() == pytest.approx(plain.visits.mean())
    assert found.visits_per_tuple(since=500) == pytest.approx(plain.visits[500:].mean())
    assert found.dropping_ratio() == pytest.approx(plain.n_unmatched / 1100)
    assert (found.monitor_visits_per_tuple(), len(found.plans)) == (0, 1)
    assert found.visits_per_tuple(since=5000) is found.micro_ratio() is None


def test_periods_build_the_plan_and_the_trigger_waits_meanwhile() -> None:
    """Three periods of 100, then λ = 500 from the installation on: at 300, 1100, 1900."""
    found = simulated(SMALL, A[:2000])
    assert [p.at for p in found.plans] == [0, 300, 1100, 1900]
    periods = [A[:100], A[100:200], A[200:300]]
    assert found.plans[1].shape.order == macro_sequence_by_period(CONSTRUCTS, periods).order
    first = trace(CONSTRUCTS, A[:300], found.plans[0].shape.order, "drop").visits.sum()
    second = trace(CONSTRUCTS, A[300:1100], found.plans[1].shape.order, "drop").visits.sum()
    visits = sum(i.visits for i in found.intervals if i.begin < 1000)
    tail = trace(CONSTRUCTS, A[1000:1100], found.plans[1].shape.order, "drop").visits.sum()
    assert visits == first + second - tail
    assert sum(i.monitor_visits for i in found.intervals) == 4 * 900
    assert sum(i.n_rearranged for i in found.intervals) == 3


def test_one_sample_installs_at_once() -> None:
    found = simulated(replace(SMALL, by_period=False, tau_tuples=200), A[:2000])
    assert [p.at for p in found.plans] == [0, 200, 700, 1200, 1700]
    assert sum(i.monitor_visits for i in found.intervals) == 4 * 200 * 4
    late = simulated(replace(SMALL, by_period=False, measure_first=False), A[:2000])
    assert [p.at for p in late.plans] == [0, 500, 1000, 1500, 2000]


def test_never_is_an_infinite_threshold() -> None:
    found = simulated(replace(SMALL, mu=math.inf), A)
    assert [p.at for p in found.plans] == [0, 300]


@pytest.mark.parametrize("strategy", ["macro", "hybrid", "ticket", "best"])
@pytest.mark.parametrize("by_period", [True, False])
def test_portions_do_not_matter(strategy: Ordering, by_period: bool) -> None:
    scenario = replace(SMALL, strategy=strategy, mu=0.1, by_period=by_period)
    regions = np.concatenate([A[:1500], B[:1500]])
    whole = simulated(scenario, regions)
    piecewise = Simulation(CONSTRUCTS, scenario)
    for start in range(0, len(regions), 77):
        piecewise.feed(regions[start : start + 77].astype(np.int16))
    found = piecewise.result
    assert found.plans == whole.plans
    assert [i.n_tuples for i in found.intervals] == [i.n_tuples for i in whole.intervals]
    assert found.intervals == whole.intervals


def test_a_lottery_goes_on_over_the_whole_run() -> None:
    found = simulated(replace(SMALL, strategy="ticket", seed=9), A)
    drawn = ticket_trace(CONSTRUCTS, A, found.plans[0].shape.order, "drop", Lottery(9))
    assert sum(i.visits for i in found.intervals) == drawn.visits.sum()
    assert len(found.plans) == 1


def test_hybrid_counts_its_arrows() -> None:
    found = simulated(replace(SMALL, strategy="hybrid", mu=math.inf), A)
    assert found.plans[-1].shape.kind == "hybrid"
    order, arrows = found.plans[-1].shape.order, found.plans[-1].shape.arrows
    walked = walk_plan(CONSTRUCTS, A[500:], order, arrows, "drop")
    assert found.micro_ratio(since=500) == pytest.approx(walked.micro_ratio)
    assert found.visits_per_tuple(since=500) == pytest.approx(walked.visits.mean())


def test_claims_in_small() -> None:
    """[L12] Fig. 6 in small: macro and hybrid near the best order, ticket routing behind."""
    regions = np.concatenate([A, A, A])
    since = 2000
    best = extreme_order(CONSTRUCTS, regions[since:], "drop").cost
    cost = {}
    for strategy in ("macro", "hybrid", "sas", "macssas", "best", "ticket", "worst"):
        scenario = Scenario(strategy, 400, 2000, interval_tuples=500)
        cost[strategy] = simulated(scenario, regions).visits_per_tuple(since) or 0.0
    for strategy in ("macro", "hybrid", "sas", "macssas", "best"):
        assert best * 0.999 <= cost[strategy] < 1.05 * best
    assert cost["macro"] < cost["ticket"] < cost["worst"]


def test_eq_5_is_blind_where_visits_see() -> None:
    """§7: the filter moves from a to b, as many tuples match."""
    regions = np.concatenate([A, B])
    scenario = Scenario("macro", 100, 1000, mu=0.1)
    blind = simulated(replace(scenario, trigger="dropping ratio"), regions)
    seeing = simulated(scenario, regions)
    assert len(blind.plans) == 2
    assert len(seeing.plans) > 2
    costs = [run.visits_per_tuple(since=0) or 0.0 for run in (seeing, blind)]
    assert costs[0] < costs[1]


def test_without_constructs_nothing_is_built() -> None:
    nothing = build_constructs([], SCHEMA)
    found = Simulation(nothing, SMALL).feed(np.zeros((1200, 0), dtype=np.intp)).result
    assert found.visits_per_tuple() == 0
