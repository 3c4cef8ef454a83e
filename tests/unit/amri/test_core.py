"""Eddies as a core of a network: plans, knobs, restarts, decisions that follow what is asked."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from backend.adaptive.core import Evaluations
from backend.adaptive.memory import Grant
from backend.cql import parse_query
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.kinds.eddy import EddyOp
from backend.systems.amri.core import AMRI, AmriCore, check_pins, pins_of
from backend.systems.amri.counts import StateCounts
from backend.systems.amri.eddy import AdaptedEddy, side_by_side
from backend.systems.amri.knobs import AmriKnobs
from backend.systems.amri.mixing import SIZES
from backend.systems.amri.view import EddyView
from backend.systems.contract import Refusal, Refused, SystemUnit
from backend.systems.registry import AMRI as SYSTEM
from backend.systems.stream.compiling import compile_queries
from backend.systems.stream.unit import NetworkUnit
from tests.systems.running import Bench, tuples

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
            given = eddy.pool.bytes_by_state
            for name, state in zip(eddy.view.names, eddy.states, strict=True):
                bits, modules = state.tuning.bits, state.tuning.modules
                n_bytes = SIZES.of(bits or (0,), len(modules), state.report.n_tuples)
                assert n_bytes <= given.get(name, math.inf)
            if pool:
                assert sum(given.values()) <= pool
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
