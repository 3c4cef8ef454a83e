"""Eddies at work: memory, pins, assessments, the ledger, shards; one text under two systems."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from backend.model.knobs import KnobSettings
from backend.operators.network.eddy.bit_index import bit_index_bytes
from backend.operators.network.eddy.tuning import EddyProfile, PartitionReport, StateReport
from backend.systems.amri.bit_choices import ChosenBits
from backend.systems.amri.migration import MeasuredMoves
from backend.systems.amri.states import StateIndex
from backend.systems.registry import AMRI as SYSTEM
from backend.systems.registry import STREAM
from backend.workloads.queries import read_query
from storage.vocabulary.amri_costs import IndexCosts
from storage.vocabulary.amri_patterns import JoinAttribute, pattern_of
from storage.vocabulary.memory import PAGE_BYTES, Grant
from tests.systems.running import FUNCTIONS, TEXTS, Bench, tuples
from tests.systems.running import SCHEMA as RUN_SCHEMA
from tests.unit.amri.running_eddies import (
    SOON,
    core_of,
    eddy_of,
    knobs_of,
    regret_of,
    resumed,
    run_of,
)


@pytest.mark.parametrize("access", ["bitmap", "hash", "portfolio"])
@pytest.mark.parametrize("pool", [4096, 16_384, 65_536])
@pytest.mark.parametrize("size", [16, 1024])
def test_what_indexes_really_take_is_within_the_pool_after_every_batch(
    access: str, pool: int, size: int
) -> None:
    """As the arrays are, in the first batch and after a resume, too."""
    own = {"access": access, "index_pool_bytes": pool, **SOON, "partition_tuples": size}
    bench = Bench(SYSTEM, own)
    bench.unit.start(None)
    for seed in range(6):
        core = core_of(bench.unit)
        if seed == 3:
            again = bench.made(bench.queries)
            again.start(None)
            for old, new in zip(core.values(), core_of(again).values(), strict=True):
                new.restore(json.loads(json.dumps(old.state())))
            bench.unit, core = again, core_of(again)
        core.grant({id: Grant(None, 1.0) for id in core.bids()})
        bench.run(tuples(250, seed))
        for eddy in core.values():
            assert eddy.memory_use.used_bytes <= pool
            assert eddy.memory_use.used_bytes <= (eddy.pool.n_pages or 0) * PAGE_BYTES


def test_a_state_whose_memory_holds_no_index_is_scanned_and_says_so() -> None:
    bench = Bench(SYSTEM, {"index_pool_bytes": 4096, **SOON, "partition_tuples": 1024})
    bench.keep(bench.unit.start(None))
    for seed in range(4):
        bench.keep(bench.run(tuples(250, seed)))
    eddy = eddy_of(bench)
    assert [state.tuning.bits for state in eddy.states] == [None] * eddy.view.n
    assert eddy.memory_use.used_bytes == 0
    words = [d.explanation for d in bench.recorded.decisions if d.kind == "index bits"]
    assert words
    assert all("; scanned: its smallest index takes " in text for text in words)


def test_indexes_never_take_more_than_their_memory_and_answers_stay() -> None:
    """A smaller pool is obeyed by the next batch."""
    answers = []
    for pool in (0, 4096):
        bench = Bench(SYSTEM, {"access": "portfolio", "index_pool_bytes": pool, **SOON})
        bench.unit.start(None)
        for seed in range(4):
            core = core_of(bench.unit)
            bids = core.bids()
            core.grant({id: Grant(None, 1.0) for id in bids})
            bench.run(tuples(200, seed))
        answers.append([(e.result.report.answers, e.result.report.net) for e in bench.events])
        for eddy in core_of(bench.unit).values():
            if pool:
                assert sum(eddy.pool.bytes_by_state.values()) <= pool
                assert eddy.memory_use.granted_bytes == pool
    assert answers[0] == answers[1]


def test_states_share_their_bits_where_one_gains_more_than_another_loses() -> None:
    bench = Bench(SYSTEM, {"bit_division": "shared", "min_gain": 0.0, "index_bits": 3, **SOON})
    bench.keep(bench.unit.start(None))
    for seed in range(6):
        bench.run(tuples(300, seed))
    divisions = [d for d in bench.recorded.decisions if d.kind == "bit division"]
    assert divisions
    for d in divisions:
        assert sum(d.new["bits"]) <= sum(d.old["bits"])
    eddy = eddy_of(bench)
    assert sum(state.budget for state in eddy.states) <= 3 * len(eddy.states)
    assert all(sum(state.bits) <= state.budget for state in eddy.states)
    bench.turn("bit_division", "by state")
    assert [state.budget for state in eddy_of(bench).states] == [3] * eddy.view.n


def test_pinned_bits_stay_beside_hash_indexes_too() -> None:
    _, free = run_of({})
    name, n = free.view.names[0], len(free.view.attributes[0])
    pinned = (1,) + (0,) * (n - 1)
    pins = f"{name}: {' '.join(map(str, pinned))}"
    _, eddy = run_of({"access": "portfolio", "min_gain": 0.0, "pinned_bits": pins}, 6)
    assert eddy.states[0].chosen is not None
    assert eddy.states[0].bits == pinned
    assert eddy.states[0].tuning.bits == pinned


def test_a_pinned_route_stays_whatever_is_cheaper_and_is_told() -> None:
    bench, free = run_of({"route_hysteresis": 0.0, "exploration": 0.3}, 8)
    turned = [d for d in bench.recorded.decisions if d.kind == "route" and d.verdict == "switched"]
    assert turned
    view, port = free.view, free.view.names.index(turned[0].detail["origin"])
    kept = free.view.graph.orders(port)[0]
    pin = view.route((port, *kept))
    bench, eddy = run_of({"pinned_routes": pin, "route_hysteresis": 0.0, "exploration": 0.3}, 8)
    assert eddy.orders[port] == kept
    assert eddy.tuning.routes[port][0] == kept
    told = [d for d in bench.recorded.decisions if d.verdict == "pinned"]
    assert told
    assert all(d.explanation.endswith("; its route is pinned") for d in told)
    assert all(d.old["order"][0] == view.names[port] for d in told)
    other = view.graph.orders(port)[1]
    bench.turn("pinned_routes", view.route((port, *other)))
    assert eddy_of(bench).orders[port] == other
    again = resumed(eddy, eddy.knobs, eddy.state() | {"orders": [*map(list, free.orders)]})
    assert again.orders == free.orders
    again.turn(eddy.knobs, {}, {port: other})
    assert again.orders[port] == other


def test_hash_indexes_that_do_not_adapt_are_those_of_the_first_assessment() -> None:
    report, attributes = StateReport(40, 0, (), 0, 0, (40,), 40, 64), ["a", "b", "c"]
    first, later = {6: (9, 0, 0, 0), 1: (5, 0, 0, 0)}, {3: (90, 0, 0, 0), 7: (80, 0, 0, 0)}
    for adapts, expected in ((True, (3, 7)), (False, (6, 1))):
        state = StateIndex(attributes)
        knobs = knobs_of(access="hash", hash_indexes=2, hash_adapts=adapts)
        state.turn(knobs, None)
        assert state.access.modules == (1, 2)
        for counts in (first, later):
            state.observe(10, counts, report)
            state.begin()
            state.select()
        assert state.access.modules == expected
        known = json.loads(json.dumps(state.state()))
        again = StateIndex(attributes)
        again.turn(knobs, None)
        again.restore(known)
        again.observe(10, {5: (1, 0, 0, 0), 4: (1, 0, 0, 0)}, report)
        again.begin()
        again.select()
        assert again.access.modules == ((5, 4) if adapts else expected)
        other = StateIndex(attributes)
        other.turn(knobs, None)
        other.restore(known)
        other.turn(replace(knobs, hash_indexes=1), None)
        other.observe(10, later, report)
        other.begin()
        other.select()
        assert other.access.modules == (3,)


def test_what_moving_a_tuple_costs_is_counted_or_measured() -> None:
    """A batch of 1 000 units in 50 µs, 20 tuples moved in 40 µs more: 2 µs each, 40 units."""
    moves, report = MeasuredMoves(), StateReport(20, 0, (), 20, 40_000)
    assert moves.priced(IndexCosts()) == IndexCosts()
    moves.observe(50_000, 1_000, report)
    assert moves.priced(IndexCosts()).costs.move == pytest.approx(40.0)
    again = MeasuredMoves()
    again.restore(json.loads(json.dumps(moves.state())))
    assert again.priced(IndexCosts()) == moves.priced(IndexCosts())


def test_bits_of_an_attribute_by_order_are_priced_by_its_range() -> None:
    """By order they halve what a request compares at best, so the other attribute has them all."""
    none, other = frozenset[int](), frozenset([1])
    attributes = [JoinAttribute(0, other, none), JoinAttribute(1, none, other)]
    for own, bits in ((attributes, (4, 0)), (attributes[::-1], (0, 4))):
        state = StateIndex(["a", "b"], own)
        state.turn(knobs_of(index_bits=4, prior=0.0, selection="window", min_gain=0.0), None)
        state.observe(
            10, {3: (900, 900, 22_500, 900)}, StateReport(400, 0, (), 0, 0, (400,), 400, 512)
        )
        state.begin()
        chosen = state.select()
        assert isinstance(chosen, ChosenBits)
        assert chosen.selection.bits == bits
        assert chosen.basis["ordered"] == state.ordered
        assert state.sizes.by_bits == bit_index_bytes(400, 1024, 2, 1)


@pytest.mark.parametrize(("costs", "move"), [("counted", None), ("measured", 40.0)])
def test_measured_costs_of_moving_are_what_selections_price_by(
    costs: str, move: float | None
) -> None:
    state = StateIndex(["a", "b"])
    state.turn(knobs_of(index_costs=costs), None)
    report = StateReport(40, 0, (), 20, 40_000, (40,), 40, 64)
    state.moves.observe(50_000, 1_000, report)
    state.observe(10, {2: (90, 0, 0, 0), 1: (50, 0, 0, 0)}, report)
    state.begin()
    chosen = state.select()
    assert isinstance(chosen, ChosenBits)
    assert chosen.basis["move"] == (None if move is None else pytest.approx(move))


def test_time_is_measured_where_costs_are_measured_alone() -> None:
    """Else what is kept of a run depends on nothing but its tuples."""
    for costs in ("counted", "measured"):
        _, eddy = run_of({"index_costs": costs}, 2)
        work_ns, work = eddy.states[0].moves.state()[:2]
        assert (work_ns > 0, work > 0) == (costs == "measured",) * 2


def test_a_knob_that_is_turned_leaves_a_choice_of_no_bits() -> None:
    bench, eddy = run_of({}, 1)
    eddy.states[0]._adopt((0,) * eddy.states[0].n)
    bench.turn("min_gain", 0.2)
    assert not any(eddy.states[0].bits)
    bench.turn("access", "scan")
    bench.turn("access", "bitmap")
    assert any(eddy.states[0].bits)


def test_assessments_end_with_their_schedule_and_outlive_other_knobs() -> None:
    bench, eddy = run_of({"tuning_schedule": "continuous", "period_requests": 1_000_000})
    counted = [state.assessor.total if state.assessor else 0 for state in eddy.states]
    assert all(counted)
    bench.turn("min_gain", 0.2)
    now = [state.assessor.total if state.assessor else 0 for state in eddy.states]
    assert now == counted
    bench.turn("tuning_schedule", "off")
    assert [state.assessor for state in eddy.states] == [None] * eddy.view.n


@pytest.mark.parametrize("assessment", ["csria", "cdia"])
def test_an_assessment_that_reports_nothing_is_a_thin_decision(assessment: str) -> None:
    knobs = {"assessment": assessment, "epsilon": 0.01, "theta": 1.0}
    bench, _ = run_of({**knobs, "exploration": 0.5}, 6)
    thin = [d for d in bench.recorded.decisions if "no access pattern reached" in d.explanation]
    assert thin
    for d in thin:
        assert (d.kind, d.verdict, d.old) == ("index bits", "thin", d.new)
        assert d.rhs == pytest.approx(0.99 if assessment == "csria" else 1.0)
        assert (d.lhs or 0.0) < (d.rhs or 0.0)


@pytest.mark.parametrize("schedule", ["continuous", "hybrid"])
def test_what_was_spent_is_what_was_measured_in_all_batches(schedule: str) -> None:
    """Until the last assessment: comparisons, buckets, hashing and tuples moved; each batch once,
    those that no assessment counted, too."""
    bench = Bench(SYSTEM, {**SOON, "tuning_schedule": schedule})
    bench.unit.start(None)
    eddy = eddy_of(bench)
    sums = [[0.0, 0.0] for _ in eddy.states]
    for seed in range(8):
        before = [(state.bits, regret_of(state).n_windows) for state in eddy.states]
        bench.run(tuples(300, seed))
        for state, own, (bits, n_windows) in zip(eddy.states, sums, before, strict=True):
            indexed = pattern_of([k for k, b in enumerate(bits) if b], state.n)
            rows = state.last.by_pattern.items()
            own[1] += state.last.cost + state.last.arrivals * indexed.bit_count()
            own[1] += sum(row[0] * (p & indexed).bit_count() for p, row in rows)
            own[1] += state.report.migrated * (2 * indexed.bit_count() + 2)
            totals = regret_of(state)
            if totals.n_windows > n_windows:
                own[0], own[1] = own[0] + own[1], 0.0
            assert totals.spent == pytest.approx(own[0])
    assert sum(regret_of(state).n_windows for state in eddy.states) > 3
    for state in eddy.states:
        totals = regret_of(state)
        assert totals.sequence <= totals.fixed


def test_of_two_shards_partitions_come_once_and_live_as_long_as_their_own_window() -> None:
    def report(n: int) -> StateReport:
        rows = tuple(PartitionReport(k, 50, (4, 0)) for k in range(n // 50))
        return StateReport(n, 4096, rows, 0, 0, (n,), n, 256)

    def told(n_shards: int) -> StateIndex:
        state = StateIndex(["a", "b"])
        state.turn(knobs_of(partition_tuples=50, index_bits=4, prior=0.0), (0, 4))
        counts = {1: (500 * n_shards, 0, 50_000 * n_shards, 0)}
        nothing = np.zeros((1, 2), np.int64)
        profiles = [
            EddyProfile(nothing, nothing, nothing, (report(100),), 0) for _ in range(n_shards)
        ]
        merged = profiles[0].merged(profiles[1:]).states[0] if n_shards > 1 else report(100)
        state.begin()
        state.observe(500 * n_shards, counts, merged)
        return state

    one, two = told(1), told(2)
    of_one, of_two = one.select(), two.select()
    assert isinstance(of_one, ChosenBits)
    assert isinstance(of_two, ChosenBits)
    assert [slice.partition.number for slice in of_two.moved] == [0, 1]
    for single, double in zip(of_one.moved, of_two.moved, strict=True):
        assert double.requests == pytest.approx(2 * single.requests)
        assert double.sides.lhs == pytest.approx(2 * single.sides.lhs)
        assert double.sides.rhs == pytest.approx(2 * single.sides.rhs)
        assert double.break_even == pytest.approx(2 * (single.break_even or 0), abs=2)
    assert of_two.costs == pytest.approx(of_one.costs)
    assert of_two.basis["segments"] == of_one.basis["segments"] == 2


@pytest.mark.parametrize("assessment", ["csria", "cdia"])
def test_what_assessment_removed_widens_the_interval(assessment: str) -> None:
    """Card A14.12: the low end of the advantage is lower by the bound of what was removed."""
    lows: dict[float, float] = {}
    for theta in (0.011, 0.3):
        _, eddy = run_of(
            {
                "assessment": assessment,
                "theta": theta,
                "selection": "window",
                "exploration": 0.5,
                "period_requests": 4000,
            },
            6,
        )
        chosen = [s.chosen for s in eddy.states if isinstance(s.chosen, ChosenBits)]
        for of in chosen:
            low, high = of.sides.interval or (0.0, 0.0)
            removed = of.report.dropped + of.report.moved
            below, above = of.sides.lhs - low, high - of.sides.lhs
            assert below == pytest.approx(above + of.selection.cost_bound, rel=1e-6, abs=1e-6)
            lows[theta] = max(lows.get(theta, 0.0), removed)
    assert lows[0.3] > 0


@pytest.mark.parametrize("more", ["", " and One.b < Three.d and Two.d >= One.a"])
def test_the_same_text_has_the_same_answers_by_stream_and_by_amri(more: str) -> None:
    """Batch by batch, elements that go among them."""
    text = TEXTS["routed"] + more
    told = {}
    for system in (STREAM, SYSTEM):
        read = read_query("q", text, {"S": RUN_SCHEMA}, FUNCTIONS, {}, {})
        bench = Bench(SYSTEM, SOON)
        if system is STREAM:
            bench.system, bench.settings = STREAM, KnobSettings.defaults(STREAM.knobs, {})
        bench.queries = (replace(read, system="amri" if system is SYSTEM else ""),)
        bench.unit = bench.made(bench.queries)
        bench.unit.start(None)
        for seed in range(5):
            bench.run(tuples(200, seed))
        reports = [event.result.report for event in bench.events]
        told[system.name] = [(report.answers, report.net) for report in reports]
    assert told[STREAM.name] == told[SYSTEM.name]
    assert any(net["q"] < answers["q"] for answers, net in told[SYSTEM.name])
