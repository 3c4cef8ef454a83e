"""Eddies as a core of a network: plans, knobs, restarts, decisions that follow what is asked."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from backend.adaptive.core import Evaluations
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.eddy.tuning import StateTuning
from backend.systems.amri.core import (
    check_pins,
    check_routes,
    pinned_routes_of,
    pins_of,
)
from backend.systems.amri.eddy import AdaptedEddy
from backend.systems.contract import Claim, Refusal, Refused
from backend.systems.registry import AMRI as SYSTEM
from storage.vocabulary.amri_counts import StateCounts
from tests.systems.running import Bench, tuples
from tests.unit.amri.running_eddies import (
    SOON,
    THREE,
    claim,
    core_of,
    eddy_of,
    knobs_of,
    resumed,
    view_of,
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Select a From S [Rows 5]", "it joins nothing, so no route and no index"),
        (
            "Select S.a From S [Rows 5], T [Rows 5], U [Rows 5] Where S.a = T.a",
            "neither = nor < <= > >= joins input 3 of its join (a) with input 1, directly or by",
        ),
        (
            "Select S.a From S [Rows 5], T [Rows 5] Where S.a <> T.a",
            "allowed are joins whose inputs hang together by attributes that are equal or, but for "
            "strings, compared by order",
        ),
        (
            "Select S.a From S [Rows 5], T [Rows 5], U [Rows 5], S [Rows 5] As S2 "
            "Where S.a = T.a and S2.b = U.b",
            "joins input 3 of its join (",
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


def test_inputs_that_orders_alone_hold_together_have_bits_and_no_hash_index() -> None:
    text = "Select S.a From S [Rows 5], T [Rows 5], U [Rows 5] Where S.a < T.a and T.b >= U.c"
    assert isinstance(claim(text), Claim)
    view = view_of(text)
    assert view.attributes == (("a",), ("a", "b"), ("c",))
    assert [view.graph.orders(port) for port in range(3)] == [
        ((1, 2),),
        ((0, 2), (2, 0)),
        ((1, 0),),
    ]
    eddy = AdaptedEddy(view, Evaluations())
    assert [state.ordered for state in eddy.states] == [0b1, 0b11, 0b1]
    eddy.turn(knobs_of(index_bits=4), {})
    assert [state.bits for state in eddy.states] == [(4,), (2, 2), (4,)]
    for access in ("hash", "scan"):
        eddy.turn(knobs_of(access=access), {})
        assert [state.tuning for state in eddy.states] == [StateTuning(None)] * 3


def test_attributes_that_are_compared_by_order_are_searched_by_too() -> None:
    """T.c is above S.b, U.b at most S.a, which is equal to T.a."""
    view = view_of(
        "Select S.a From S [Rows 5], T [Rows 5], U [Rows 5] "
        "Where S.a = T.a and T.b = U.c and S.b < T.c and U.b <= S.a"
    )
    assert view.attributes == (("a", "b"), ("a", "b", "c"), ("b", "c"))
    asked = [view.pattern(1, view.graph.pattern(others, 1)) for others in ([0], [2], [0, 2])]
    assert asked == ["<a,*,c>", "<a,b,*>", "<a,b,c>"]
    assert view.graph.orders(2) == ((1, 0),)
    eddy = AdaptedEddy(view, Evaluations())
    assert [state.ordered for state in eddy.states] == [0b01, 0b001, 0b10]
    eddy.turn(knobs_of(index_bits=4), {})
    assert [state.bits for state in eddy.states] == [(4, 0), (2, 2, 0), (0, 4)]
    eddy.turn(knobs_of(access="hash"), {})
    assert [state.tuning.modules for state in eddy.states] == [(2,), (2, 4), (1,)]


def test_states_are_searched_by_the_attributes_that_others_specify() -> None:
    view = view_of(THREE)
    assert view.attributes == (("a", "c"), ("a", "b"), ("b", "c"))
    assert view.graph.orders(0) == ((1, 2), (2, 1))
    asked = [[view.graph.pattern(others, 0) for others in ([1], [2], [1, 2])]]
    assert asked == [[2, 1, 3]]
    assert view.pattern(0, 2) == "<a,*>"


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


def test_pinned_routes_are_read_by_name_or_refused_with_what_is_allowed() -> None:
    view = replace(view_of(THREE), names=("S", "T", "U"))
    pinned = knobs_of(pinned_routes="S > U > T; T → S → U")
    assert pinned_routes_of(pinned, view) == {0: (2, 1), 1: (0, 2)}
    check_routes(pinned, [view])
    other = replace(view, names=("S", "V", "W"))
    check_routes(knobs_of(pinned_routes="S > U > T; S > W > V"), [view, other])
    for text, allowed in (
        ("S > U", "each joined to one before it, such as S → T → U"),
        ("S > U > V", "such as S → T → U"),
        ("S > T > T", "such as S → T → U"),
        ("S > U > T; S > T > U", "allowed is one route from S"),
    ):
        with pytest.raises(Refused, match=allowed):
            check_routes(knobs_of(pinned_routes=text), [view])


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"epsilon": 0.5}, "epsilon = 0.5 and theta = 0.02 refused: allowed is an epsilon below"),
        ({"pinned_bits": "Nobody: 1"}, "pinned_bits = Nobody: 1 refused: allowed "),
        ({"pinned_routes": "S > S"}, "pinned_routes = S > S refused: allowed are all inputs"),
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
