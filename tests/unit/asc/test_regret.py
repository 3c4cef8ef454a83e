"""The regret ledger: every entry recomputed from the tuples it was made of."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from backend.model.schema import Schema
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.cost import CostModel, PlanShape, route, tuple_costs
from backend.systems.asc.hybrid import Rules
from backend.systems.asc.lattice import extreme_order
from backend.systems.asc.matching import sample_regions, trace
from backend.systems.asc.regret import Regret, RegretLedger
from tests.unit.asc.papers import C, hybrid_sequence, query
from tests.unit.asc.stream import QUERIES, SCHEMA, Stream, a_filters, b_filters, settings

CONSTRUCTS = build_constructs(QUERIES, SCHEMA)
MODEL = CostModel("drop", 1.0)
FIRST = PlanShape("early drop", ("a", "b", "c", "d"))
OTHER = PlanShape("early drop", ("b", "a", "c", "d"))
REGIONS = sample_regions(CONSTRUCTS, b_filters(400))


def visits(shape: PlanShape) -> float:
    """Visits per tuple on REGIONS."""
    return float(route(CONSTRUCTS, REGIONS, shape, "drop").visits.mean())


def test_an_entry_compares_four_plans_on_the_same_tuples() -> None:
    ledger = RegretLedger(FIRST)
    ledger.add(4000, REGIONS[:150])
    ledger.switched(FIRST)
    ledger.add(1000, REGIONS[150:])
    found = ledger.settle(CONSTRUCTS, OTHER, MODEL)
    assert found.running == pytest.approx(visits(OTHER))
    assert found.first == found.previous == pytest.approx(visits(FIRST))
    best = extreme_order(CONSTRUCTS, REGIONS, "drop").cost
    assert found.best is not None
    assert best <= found.best <= visits(OTHER)
    assert found.best == pytest.approx(best, rel=0.02)  # looked for on a part of the tuples
    assert (found.n_sample, found.micro_ratio, found.relative_cost) == (400, None, None)
    each = (
        trace(CONSTRUCTS, REGIONS, FIRST.order, "drop").visits
        - trace(CONSTRUCTS, REGIONS, OTHER.order, "drop").visits
    )
    assert found.saved_total == pytest.approx(5000 * each.mean())
    error = 5000 * each.std(ddof=1) / math.sqrt(400) * math.sqrt(1 - 400 / 5000)
    assert found.saved_se == pytest.approx(error)


def test_stretches_add_up_and_their_variances_do() -> None:
    ledger = RegretLedger(FIRST)
    entries = []
    for part in (REGIONS[:200], REGIONS[200:]):
        ledger.add(2000, part)
        entries.append(ledger.settle(CONSTRUCTS, OTHER, MODEL))
    one, both = entries
    alone = RegretLedger(FIRST)
    alone.add(2000, REGIONS[200:])
    second = alone.settle(CONSTRUCTS, OTHER, MODEL)
    assert both.saved_total == pytest.approx(one.saved_total + second.saved_total)
    assert both.saved_se**2 == pytest.approx(one.saved_se**2 + second.saved_se**2)


def test_a_ledger_goes_on_where_one_before_it_was_cut_off() -> None:
    whole, before = RegretLedger(FIRST), RegretLedger(FIRST)
    for ledger in (whole, before):
        ledger.add(2000, REGIONS[:200])
    saved = before.settle(CONSTRUCTS, OTHER, MODEL)
    whole.settle(CONSTRUCTS, OTHER, MODEL)
    again = RegretLedger(FIRST, saved.saved_total, saved.saved_se)
    told = again.entry.samples()
    assert told["regret_saved_total"] == (saved.saved_total, "visits")
    assert told["regret_running"] == (None, "visits/tuple")
    for ledger in (whole, again):
        ledger.add(3000, REGIONS[200:])
        ledger.settle(CONSTRUCTS, OTHER, MODEL)
    assert again.entry.saved_total == pytest.approx(whole.entry.saved_total)
    assert again.entry.saved_se == pytest.approx(whole.entry.saved_se)


def test_the_first_order_saves_nothing_against_itself() -> None:
    ledger = RegretLedger(FIRST)
    ledger.add(1000, REGIONS)
    found = ledger.settle(CONSTRUCTS, FIRST, MODEL)
    assert (found.saved_total, found.saved_se, found.previous) == (0.0, 0.0, None)


def test_when_every_tuple_is_sampled_nothing_is_uncertain() -> None:
    ledger = RegretLedger(FIRST)
    ledger.add(400, REGIONS)
    assert ledger.settle(CONSTRUCTS, OTHER, MODEL).saved_se == 0.0


def test_a_stretch_without_samples_stays_open() -> None:
    ledger = RegretLedger(FIRST)
    ledger.add(1000, REGIONS[:0])
    assert ledger.settle(CONSTRUCTS, OTHER, MODEL) == Regret()
    ledger.add(1000, REGIONS[:1])
    assert ledger.settle(CONSTRUCTS, OTHER, MODEL) == Regret()
    ledger.add(1000, REGIONS[1:2])
    each = [trace(CONSTRUCTS, REGIONS[:2], s.order, "drop").visits.mean() for s in (FIRST, OTHER)]
    found = ledger.settle(CONSTRUCTS, OTHER, MODEL)
    assert found.saved_total == pytest.approx(3000 * (each[0] - each[1]))
    assert found.best is None  # too few to look for it


def test_the_band_covers_what_was_saved() -> None:
    """Sampled at a tenth, the truth lies within two standard errors in most of 200 runs."""
    columns = b_filters(5000, seed=8)
    regions = sample_regions(CONSTRUCTS, columns)
    costs = [tuple_costs(route(CONSTRUCTS, regions, s, "drop"), s, MODEL) for s in (FIRST, OTHER)]
    truth = float((costs[0] - costs[1]).sum())
    rng = random.Random(1)
    covered = 0
    for _ in range(200):
        ledger = RegretLedger(FIRST)
        chosen = np.array([t for t in range(5000) if rng.random() < 0.1])
        ledger.add(5000, regions[chosen])
        found = ledger.settle(CONSTRUCTS, OTHER, MODEL)
        covered += abs(found.saved_total - truth) <= 2 * found.saved_se
    assert covered >= 180


def test_micro_ratio_and_relative_cost_of_a_hybrid_plan() -> None:
    hybrid = hybrid_sequence(CONSTRUCTS, REGIONS, FIRST.order, Rules("drop"))
    shape = PlanShape("hybrid", FIRST.order, hybrid.arrows)
    ledger = RegretLedger(FIRST)
    ledger.add(1000, REGIONS)
    found = ledger.settle(CONSTRUCTS, shape, MODEL)
    assert found.micro_ratio is not None
    assert 0 < found.micro_ratio <= 1
    assert found.relative_cost == pytest.approx(visits(shape) / visits(FIRST))


def test_thinning_a_large_sample_keeps_the_total_in_proportion() -> None:
    schema = Schema.parse("x int, y int")
    many = [query(f"q{j}", C("x", "=", j), C("y", "=", j)) for j in range(2000)]
    constructs = build_constructs(many, schema)
    rng = random.Random(4)
    values = {"x": [rng.randrange(4000) for _ in range(6000)], "y": [-1] * 6000}
    regions = sample_regions(constructs, values)
    ledger = RegretLedger(PlanShape("early drop", ("x", "y")))
    ledger.add(10_000, regions)
    running = PlanShape("early drop", ("y", "x"))
    found = ledger.settle(constructs, running, MODEL)
    assert found.n_sample < 6000
    truth = 10_000 * trace(constructs, regions, ("x", "y"), "drop").visits.mean() - 10_000
    assert abs(found.saved_total - truth) < 4 * found.saved_se


def test_the_core_keeps_the_ledger() -> None:
    stream = Stream(settings(), profile_prob=1.0)
    assert stream.core.monitor.regret == Regret()
    stream.run(a_filters(2000))
    first = stream.core.monitor.regret
    assert first.running == first.first
    assert first.saved_total == 0
    stream.run(b_filters(1000))
    assert stream.core.plan.order[0] == "b"
    after = b_filters(2000, seed=9)
    stream.run(after)
    found = stream.core.monitor.regret
    assert found.previous == found.first
    assert found.running is not None
    assert found.first is not None
    assert found.best is not None
    assert found.best <= found.running < found.first
    constructs = stream.core.constructs
    regions = sample_regions(constructs, after)
    first_plan = PlanShape("early drop", ("a", "b", "c", "d"))
    saved = (
        route(constructs, regions, first_plan, "resolved").visits.sum()
        - route(constructs, regions, PlanShape.of(stream.core.plan), "resolved").visits.sum()
    )
    assert found.saved_total == pytest.approx(float(saved))
    stream.register(QUERIES[:2], "queries q3, q4 removed")
    stream.run(b_filters(2000, seed=10))
    assert stream.core.monitor.regret.saved_total > found.saved_total
