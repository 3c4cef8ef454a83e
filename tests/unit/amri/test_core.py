"""Eddies as a core of a network: plans, knobs, restarts, decisions that follow what is asked."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from backend.adaptive.core import Evaluations
from backend.adaptive.memory import PAGE_BYTES, Grant
from backend.cql import parse_query
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.eddy.tuning import EddyProfile, PartitionReport, StateReport
from backend.operators.network.kinds.eddy import EddyOp
from backend.systems.amri.bit_choices import ChosenBits
from backend.systems.amri.core import AMRI, AmriCore, check_pins, pins_of
from backend.systems.amri.counts import StateCounts
from backend.systems.amri.eddy import AdaptedEddy, side_by_side
from backend.systems.amri.knobs import AmriKnobs
from backend.systems.amri.patterns import pattern_of
from backend.systems.amri.regret import RegretTotals
from backend.systems.amri.states import StateIndex
from backend.systems.amri.view import EddyView
from backend.systems.contract import Refusal, Refused, SystemUnit
from backend.systems.registry import AMRI as SYSTEM
from backend.systems.registry import STREAM
from backend.systems.stream.compiling import compile_queries
from backend.systems.stream.unit import NetworkUnit
from backend.workloads.queries import read_query
from tests.systems.running import FUNCTIONS, TEXTS, Bench, tuples
from tests.systems.running import SCHEMA as RUN_SCHEMA

SCHEMA = Schema.parse("a int, b int, c int")
STREAMS = dict.fromkeys("STU", SCHEMA)
THREE = (
    "Select S.a From S [Rows 5], T [Rows 5], U [Rows 5] Where S.a = T.a and T.b = U.b and S.c = U.c"
)


def claim(text: str) -> Any:
    return SYSTEM.claim(parse_query("q", text, STREAMS))


def view_of(text: str) -> EddyView:
    plan = compile_queries(
        [parse_query("q", text, STREAMS)], since={"q": 0}, tick_us=1, kinds=[AMRI]
    )
    ((eddy, _),) = plan.working(EddyOp)
    return EddyView.of(plan, eddy.id, {one.id: one.work.named(0) for one in plan.operators})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Select a From S [Rows 5]", "it joins nothing, so no route and no index"),
        (
            "Select S.a From S [Rows 5], T [Rows 5], U [Rows 5] Where S.a = T.a",
            "has no attribute equal to another input's",
        ),
        ("Select S.a From S [Rows 5], T [Rows 5] Where S.a < T.a", "allowed are joins with an equ"),
        (
            "Select S.a From S [Rows 5], T [Rows 5], U [Rows 5], S [Rows 5] As S2 "
            "Where S.a = T.a and S2.b = U.b",
            "no equality joins input 3 of its join (",
        ),
        (
            "Select S0.a From "
            + ", ".join(f"S [Rows 5] As S{k}" for k in range(8))
            + " Where "
            + " and ".join(f"S0.a = S{k}.a" for k in range(1, 8)),
            "has 8 inputs, too many to compare their routes; allowed are 7 at most",
        ),
        (
            "Select S.a From S [Rows 5], T [Rows Unbounded] Where S.a = T.a",
            "has an unbounded window, so its state never ends",
        ),
    ],
)
def test_what_no_eddy_can_run_is_refused_with_the_reason(text: str, reason: str) -> None:
    refusal = claim(text)
    assert isinstance(refusal, Refusal)
    assert reason in refusal.reason


def test_states_are_searched_by_the_attributes_that_others_specify() -> None:
    view = view_of(THREE)
    assert view.attributes == (("a", "c"), ("a", "b"), ("b", "c"))
    assert view.graph.orders(0) == ((1, 2), (2, 1))
    asked = [[view.graph.pattern(others, 0) for others in ([1], [2], [1, 2])]]
    assert asked == [[2, 1, 3]]
    assert view.pattern(0, 2) == "<a,*>"


def knobs_of(**values: Any) -> AmriKnobs:
    return AmriKnobs.of(KnobSettings.defaults(AMRI.knobs, values))


def test_pins_are_read_by_state_or_refused_with_what_is_allowed() -> None:
    view = replace(view_of(THREE), names=("S", "T", "U"))
    pinned = knobs_of(pinned_bits="S: 4 2; U: 0, 12")
    assert pins_of(pinned, view) == {"S": (4, 2), "U": (0, 12)}
    check_pins(pinned, [view])
    for text, allowed in (
        ("V: 1 2", "S: bits of a, c; T: bits of a, b"),
        ("S: 1 2 3", "S: bits of a, c"),
        ("S", "S: bits of a, c"),
        ("S: 9 9", "at most index_bits = 12"),
    ):
        with pytest.raises(Refused, match=allowed):
            check_pins(knobs_of(pinned_bits=text), [view])


def test_of_several_eddies_each_has_the_pins_of_its_states() -> None:
    one, other = (
        replace(view_of(THREE), names=names) for names in (("S", "T", "U"), ("V", "W", "X"))
    )
    check_pins(knobs_of(pinned_bits="S: 4 2; W: 1 1"), [one, other])


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"epsilon": 0.5}, "epsilon = 0.5 and theta = 0.02 refused: allowed is an epsilon below"),
        ({"pinned_bits": "Nobody: 1"}, "pinned_bits = Nobody: 1 refused: allowed "),
    ],
)
def test_knobs_that_do_not_go_together_are_refused_and_nothing_changes(
    values: dict[str, object], reason: str
) -> None:
    with pytest.raises(Refused, match=reason):
        Bench(SYSTEM, values)
    bench = Bench(SYSTEM, SOON)
    bench.unit.start(None)
    bench.run(tuples(300, 1))
    before = core_of(bench.unit).state()
    ((name, value),) = values.items()
    with pytest.raises(Refused, match=reason):
        bench.turn(name, value)
    assert core_of(bench.unit).state() == before


def test_requests_of_a_batch_come_to_all_states_side_by_side() -> None:
    requests = [1000, 3, 0]
    portions = list(side_by_side(requests))
    for port, n in enumerate(requests):
        assert sum(part for of, part in portions if of == port) == n
    first = [part for of, part in portions if of == 0]
    assert max(first) - min(first) <= 1


SOON: dict[str, object] = {"period_requests": 400, "trigger_requests": 700, "partition_tuples": 16}


@pytest.mark.parametrize(
    ("access", "router"),
    [
        ("bitmap", "cheapest"),
        ("hash", "greedy"),
        ("bitmap", "lottery"),
        ("scan", "round_robin"),
        ("hash", "random"),
        ("portfolio", "cheapest"),
    ],
)
def test_answers_are_the_same_whatever_is_chosen(access: str, router: str) -> None:
    found = []
    for knobs in ({"access": access, "router": router, **SOON}, {"access": "scan"}):
        bench = Bench(SYSTEM, knobs)
        bench.unit.start(None)
        for seed in range(3):
            bench.run(tuples(200, seed))
        reports = [event.result.report for event in bench.events]
        assert all(isinstance(report, NetworkReport) for report in reports)
        found.append([(report.answers, report.net) for report in reports])
    assert found[0] == found[1]


def core_of(unit: SystemUnit) -> AmriCore:
    assert isinstance(unit, NetworkUnit)
    (core,) = (one for one in unit.cores if isinstance(one, AmriCore))
    return core


def test_a_run_that_goes_on_has_the_same_bits_routes_and_counts() -> None:
    bench = Bench(SYSTEM, SOON)
    bench.keep(bench.unit.start(None))
    for seed in range(4):
        bench.run(tuples(300, seed))
    core = core_of(bench.unit)
    state = json.loads(json.dumps(core.state()))
    again = bench.made(bench.queries)
    again.start(None)
    other = core_of(again)
    for eddy, known in zip(other.values(), state["amri"].values(), strict=True):
        eddy.restore(known)
    resumed = json.loads(json.dumps(other.state()))
    assert [*resumed["amri"].values()] == [*state["amri"].values()]


def resumed(eddy: AdaptedEddy, knobs: AmriKnobs, state: Any) -> AdaptedEddy:
    """The same eddy in a run that goes on, with knobs that were turned meanwhile."""
    again = AdaptedEddy(eddy.view, Evaluations())
    again.turn(knobs, {})
    again.restore(json.loads(json.dumps(state)))
    return again


@pytest.mark.parametrize("before", ["exact", "csria", "dia", "cdia"])
@pytest.mark.parametrize("after", ["exact", "csria", "dia", "cdia"])
def test_an_assessment_goes_on_by_its_method_and_begins_anew_by_another(
    before: str, after: str
) -> None:
    bench = Bench(SYSTEM, {**SOON, "assessment": before})
    bench.unit.start(None)
    for seed in range(3):
        bench.run(tuples(300, seed))
    eddy = eddy_of(bench)
    again = resumed(eddy, replace(eddy.knobs, assessment=after), eddy.state())
    goes_on = before == after or {before, after} == {"exact", "dia"}
    assert any(state.assessor is not None for state in eddy.states)
    for old, new in zip(eddy.states, again.states, strict=True):
        assert (old.assessor is None) == (new.assessor is None)
        assert new.bits == old.bits
        if old.assessor is not None and new.assessor is not None:
            assert new.assessor.total == (old.assessor.total if goes_on else 0)
            assert new.counts == (old.counts if goes_on else StateCounts())


@pytest.mark.parametrize(
    "changed",
    [
        {"form": 1},
        {"form": None},
        {"orders": [[1, 2]]},
        {"orders": [[1, 2], [0, 2], [1, 2]]},
    ],
)
def test_a_state_of_an_older_form_or_of_another_eddy_begins_anew(changed: dict[str, Any]) -> None:
    bench = Bench(SYSTEM, SOON)
    bench.unit.start(None)
    for seed in range(3):
        bench.run(tuples(300, seed))
    eddy = eddy_of(bench)
    new = AdaptedEddy(eddy.view, Evaluations())
    new.turn(eddy.knobs, {})
    assert resumed(eddy, eddy.knobs, eddy.state() | changed).state() == new.state()
    assert resumed(eddy, eddy.knobs, {"form": 1}).state() == new.state()


def eddy_of(bench: Bench) -> AdaptedEddy:
    return max(core_of(bench.unit).values(), key=lambda eddy: eddy.view.n)


def test_a_mix_has_hash_indexes_where_they_pay_and_goes_on_after_a_restart() -> None:
    bench = Bench(SYSTEM, {"access": "portfolio", "min_gain": 0.0, **SOON})
    bench.keep(bench.unit.start(None))
    for seed in range(6):
        bench.run(tuples(300, seed))
    eddy = eddy_of(bench)
    tunings = [state.tuning for state in eddy.states]
    assert any(tuning.modules for tuning in tunings)
    mixes = [
        d
        for d in bench.recorded.decisions
        if d.kind == "access methods" and d.verdict == "switched"
    ]
    assert mixes
    assert all(d.new["modules"] or any(d.new["bits"]) for d in mixes)
    state = json.loads(json.dumps(eddy.state()))
    again = AdaptedEddy(eddy.view, Evaluations())
    again.turn(eddy.knobs, {})
    again.restore(state)
    assert [of.access for of in again.states] == [of.access for of in eddy.states]
    assert json.loads(json.dumps(again.state())) == state


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
                assert eddy.memory_use.is_short
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


def run_of(knobs: dict[str, object], n: int = 4) -> tuple[Bench, AdaptedEddy]:
    bench = Bench(SYSTEM, {**SOON, **knobs})
    bench.keep(bench.unit.start(None))
    for seed in range(n):
        bench.run(tuples(300, seed))
    return bench, eddy_of(bench)


def test_pinned_bits_stay_beside_hash_indexes_too() -> None:
    _, free = run_of({})
    name, n = free.view.names[0], len(free.view.attributes[0])
    pinned = (1,) + (0,) * (n - 1)
    pins = f"{name}: {' '.join(map(str, pinned))}"
    _, eddy = run_of({"access": "portfolio", "min_gain": 0.0, "pinned_bits": pins}, 6)
    assert eddy.states[0].chosen is not None
    assert eddy.states[0].bits == pinned
    assert eddy.states[0].tuning.bits == pinned


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


def regret_of(state: StateIndex) -> RegretTotals:
    assert state.ledger is not None
    return state.ledger.totals


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


def test_the_same_text_has_the_same_answers_by_stream_and_by_amri() -> None:
    """Batch by batch, elements that go among them."""
    text = TEXTS["routed"]
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
