"""The cost model and its statistics: numbers worked by hand, and what always holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.operators.network.joins.join_tuning import CacheCounts, PipelineProfile, Segment
from backend.systems.joins.decide.candidates import CacheCandidate, prefix_candidates
from backend.systems.joins.decide.costs import (
    PipelineFlow,
    UnitCosts,
    maintenance_cost,
    reader_costs,
)
from backend.systems.joins.decide.memory import keys_behind
from backend.systems.joins.decide.regret import CachingRegret
from backend.systems.joins.decide.selection import CacheSelection, PricedCache
from backend.systems.joins.decide.statistics import (
    MEASURED_W,
    MissWindow,
    OperationCosts,
    PipelineStatistics,
)
from tests.oracles.cache_choices import all_choices
from tests.unit.joins.cases import laminar_orders, numbered, on_one_attribute, priced

UNITS = UnitCosts(lookup=0.5, forward=1.0, update=2.0)


def test_benefit_and_proc_of_a_cache_by_hand() -> None:
    """Three steps: 2, 6, 3 tuples enter them, 9 leave; the segment is the first two."""
    flow = PipelineFlow(0.5, 0.2, (2.0, 6.0, 3.0, 9.0), (4.0, 1.0, 5.0), n=10)
    costs = reader_costs(flow, Segment(0, 0, 1), UNITS, miss_prob=0.25, n_probes=100)
    assert costs.segment == 2 * 4 + 6 * 1
    assert costs.probe_cost == 0.5 + 1.0 * 3 / 2
    assert costs.proc == 2 * 2.0 + 0.25 * (14 + 3 * 2.0)
    assert costs.benefit == 14 - 9.0
    counted = reader_costs(flow, Segment(0, 0, 1), UNITS, 0.25, 100, n_counted=2)
    assert counted.proc == 2 * 2.0 + 0.25 * (14 + 3 * (2.0 + 2 * 2 * 1.0))
    empty = PipelineFlow(0.5, 0.2, (2.0, 0.5, 0.5, 0.5), (4.0, 1.0, 5.0), n=10)
    found = reader_costs(empty, Segment(0, 0, 1), UNITS, 1.0, 100)
    assert found.proc == 2 * (0.5 + 0.5 / 2) + 8.5 + 2 * 2.0, "what is not there is noted, too"
    last = reader_costs(flow, Segment(0, 1, 2), UNITS, 0.0, 1)
    assert (last.lookups, last.leaving, last.segment) == (6.0, 9.0, 21.0)


def test_upkeep_of_plain_counted_and_keyed_caches_by_hand() -> None:
    flows = [
        PipelineFlow(0.3, 0.1, (1.0, 2.0, 3.0), (1.0, 1.0), 5),
        PipelineFlow(0.3, 0.1, (1.0, 5.0, 7.0), (1.0, 1.0), 5),
        PipelineFlow(0.4, 0.2, (1.0, 11.0, 13.0), (1.0, 1.0), 5),
    ]
    segment = (Segment(2, 0, 1),)
    assert maintenance_cost(CacheCandidate((0, 1), (0,), segment), flows, UNITS) == 2 * (2 + 5)
    counted = CacheCandidate((0, 1), (0,), segment, witnesses=(2,))
    assert maintenance_cost(counted, flows, UNITS) == 2 * (3 + 7 + 13)
    keyed = CacheCandidate((0, 1), (0,), segment, witnesses=(2,), keyed=True)
    assert maintenance_cost(keyed, flows, UNITS) == pytest.approx(2 * (3 + 7) + 0.2)


def profile(entering: list[list[int]]) -> PipelineProfile:
    rows = np.array(entering, np.int64)
    k, n = rows.shape
    zeros = np.zeros((k, n - 1), np.int64)
    busy = 10 * rows[:, :-1]
    tau, dropped = np.zeros(k, np.int64), np.zeros(k, np.uint64)
    return PipelineProfile(k, 0, 0, 0, 0, tau, rows, busy, zeros, dropped)


def test_statistics_are_means_of_the_last_observations() -> None:
    known = PipelineStatistics(3, keep=2, counted=False)
    known.add(profile([[1, 9, 9], [1, 2, 4], [1, 0, 0]]))
    flow = known.flow(0.5, 0.0)
    assert known.n == 2
    assert flow.entering == (0.5, 0.5, 1.0)
    assert flow.step_costs == (10.0, 10.0)
    known.add(profile([[1, 0, 0], [1, 0, 0]]))
    assert known.flow(0.5, 0.0).entering == (0.5, 0.0, 0.0)
    assert known.flow(0.5, 0.0).step_costs == (10.0, 10.0), "undefined keeps the previous value"
    known.reordered()
    assert known.n == 0


def test_counted_costs_are_probes_and_built_tuples() -> None:
    known = PipelineStatistics(3, keep=5, counted=True)
    known.add(profile([[1, 3, 6]]))
    assert known.flow(1.0, 0.0).step_costs == (1.0 + 3.0, (3.0 + 6.0) / 3.0)


def test_a_miss_probability_is_that_of_the_last_blocks() -> None:
    window = MissWindow(keep=2)
    assert (window.prob, window.is_full) == (None, False)
    window.add(100, 90, 1)
    window.add(100, 30, 1)
    assert (window.prob, window.is_full) == (0.6, True)
    window.add(100, 10, 1)
    assert window.prob == pytest.approx(0.2)
    window.add(100, 140, 1)
    assert window.prob == pytest.approx(0.75)


def test_costs_of_operations_begin_as_assumed_and_follow_measurement() -> None:
    costs = OperationCosts(keep=3, counted=False, w=0.25)
    w = MEASURED_W
    assert costs.units(100.0) == UnitCosts(100 * w, 100.0, 100 * w)
    timed = CacheCounts(n_lookups_timed=10, lookup_ns=4000, n_updates_timed=4, update_ns=240)
    costs.add(timed, expected_lookup=200.0)  # twice as much as was expected
    assert costs.units(100.0) == UnitCosts(200 * w, 200.0, 60.0)
    counted = OperationCosts(keep=3, counted=True, w=0.25)
    counted.add(timed, 200.0)
    assert counted.units(1.0) == UnitCosts(0.25, 1.0, 0.25)


@given(st.integers(5, 3000))
def test_keys_behind_blocks_of_look_ups(n_keys: int) -> None:
    """All keys equally frequent: the estimate inverts the expected number of different ones."""
    block = 1000
    different = n_keys * (1 - (1 - 1 / n_keys) ** block)
    assert keys_behind(different / block, block) == pytest.approx(n_keys, rel=0.02)
    seen = [n_keys * (1 - (1 - 1 / n_keys) ** n) for n in (2 * block, 5 * block)]
    new = (seen[1] - seen[0]) / (3 * block)
    if new > 1e-6:
        assert keys_behind(new, 3 * block, 2 * block) == pytest.approx(n_keys, rel=0.02)


@settings(max_examples=30)
@given(st.data())
def test_no_fixed_set_of_caches_is_better_than_the_best_in_hindsight(data: st.DataObject) -> None:
    shape, orders = on_one_attribute(4), data.draw(laminar_orders(4))
    batches = data.draw(st.lists(st.tuples(priced(shape, orders), st.integers(1, 9)), max_size=4))
    if not batches:
        return
    regret = CachingRegret()
    for problem, n in batches:
        regret.account(problem, {}, n)
        assert regret.totals.spent - regret.totals.hindsight == pytest.approx(
            0
        )  # nobody looked back so far
    regret.look_back()
    totals = regret.totals
    assert totals.bare - totals.spent == 0
    assert totals.spent == pytest.approx(totals.bare)
    assert totals.n_elements == sum(n for _, n in batches)
    costs = []
    for chosen, _ in all_choices(batches[0][0]):
        choice: dict[str, tuple[Segment, ...]] = {}
        for one, reader in chosen:
            choice[one.id] = (*choice.get(one.id, ()), reader)
        costs.append(sum(n * problem.cost(choice) for problem, n in batches))
    assert totals.hindsight == pytest.approx(min(costs))


def test_hindsight_is_settled_when_the_candidates_change() -> None:
    shape, regret, best = on_one_attribute(3), CachingRegret(), 0.0
    for orders in (numbered("23", "13", "12"), numbered("32", "31", "12")):
        (one,) = prefix_candidates(shape, orders)
        cache = PricedCache(one, cost=1.0, procs=(2.0,))
        problem = CacheSelection(((3.0, 3.0),) * 3, (cache,))
        regret.account(problem, {}, 10)
        best += 10 * (18 - (6 - 2 - 1))
    regret.look_back()
    assert regret.totals.hindsight == best
    assert regret.totals.spent - regret.totals.hindsight == 2 * 10 * 18 - best
