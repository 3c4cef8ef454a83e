"""Views of the shell, the plan, the inspector and the knobs: records in, plain facts out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.knobs import KnobSettings, KnobSpec
from backend.systems.agreedy.knobs import AgreedyKnobs
from backend.systems.asc.knobs import AscKnobs
from dashboard.components.formats import show
from dashboard.views import plan as plans
from dashboard.views.book import Book
from dashboard.views.decision_card import order_names
from dashboard.views.inspector import build_inspector, reasons
from dashboard.views.knobs import audit, group_knobs, pending
from dashboard.views.numbers import form_of, known, shown_unit
from dashboard.views.presets import Preset, beside, presets_of
from dashboard.views.shell import MOST_EVENTS, MOST_QUIET, build_snapshot, period, pick_events
from storage.tables.rows import StoredEvent, StoredInput
from storage.vocabulary.agreedy import AS_IN_THE_THESIS
from storage.vocabulary.asc import AS_IN_THE_PAPERS
from storage.vocabulary.kinds import EntityKind
from storage.vocabulary.records import Command, Entity, Event, Input, Json, Knob
from tests.oracles import plan_graphs as oracle
from tests.unit.dashboard_shell.samples import context, decision, event, plan, run, series

VALUES: dict[str, dict[str, float | None]] = {
    "system": {"tuples_per_s": 400.0, "n_tuples": 200, "n_matched": 20, "backlog_tuples": 3},
    "asc:delay": {"reached_tuples": 200, "survival_prob": 0.4, "drop_prob": 0.6},
    "asc:origin": {"reached_tuples": 80, "survival_prob": 0.1, "drop_prob": 0.75},
    "queue:source": {"size_tuples": 3},
    "queue:origin": {"flow_tuples": 80},
    "query:q1": {"matched_total": 9},
}
FACTS = {"n_regions": 7, "bitmap_bytes": 56}
ENTITIES = Book(
    [
        Entity("asc:delay", "operator", "delay", FACTS, role="selection"),
        Entity("asc:idle", "operator", "idle", role="selection"),
        Entity("op:source", "operator", "Flights", role="source"),
        Entity("op:output", "operator", "Output", role="output"),
        Entity("system", "system", "Engine", role="system"),
        *(Entity(name, "operator", name, role="selection") for name in ("a", "b", "c")),
    ]
)


_KINDS: dict[str, EntityKind] = {
    "system": "system",
    "queue:source": "queue",
    "queue:origin": "queue",
    "asc:delay": "operator",
    "asc:origin": "operator",
    "query:q1": "query",
}
KINDS = {name: Entity(name, kind, name) for name, kind in _KINDS.items()}


def test_the_snapshot_is_json_and_has_no_unknown_numbers() -> None:
    cost = series([3.0, np.nan, 2.0])
    events = [event(1, -1, "run"), event(2, 1, "held back")]
    shot = build_snapshot(context(now=2), [run()], [plan()], events, cost, ["/plan"])
    assert shot.history == {"batch": [0, 1, 1], "ms": [100_000, 500, 500], "value": [3, None, 2]}
    assert (shot.first, shot.now, shot.time, shot.period_s) == (0, 2, 101.0, 0.5)
    assert shot.events[0] == {"b": 0, "kind": "run", "title": "run 1"}
    assert shot.plans[0]["order"] == ["delay", "origin"]
    assert shot.runs == [{"id": "r1", "label": "flights · r1", "state": "running"}]
    json.dumps(asdict(shot), allow_nan=False)


def test_the_snapshot_tells_of_gaps_without_an_engine() -> None:
    resumed = Event("run", "resumed at batch 2", ref={"since": 100.5})
    shot = build_snapshot(
        context(now=2), [run()], [], [StoredEvent(1, 1, 190.5, resumed)], None, []
    )
    assert shot.gaps == [(2, "no engine for 1 min 30 s")]


def test_the_snapshot_tells_when_nothing_more_is_read() -> None:
    inputs = [StoredInput(Input(name, []), "ended", "") for name in ("A", "B")]
    shot = build_snapshot(context(now=2), [run()], [], [], None, [], inputs)
    assert shot.run is not None
    assert (shot.run["stream"], shot.run["over"]) == ("A (ended), B (ended)", True)
    inputs[1] = replace(inputs[1], state="open")
    shot = build_snapshot(context(now=2), [run()], [], [], None, [], inputs)
    assert shot.run is not None
    assert (shot.run["stream"], shot.run["over"]) == ("A (ended), B", False)


def test_the_snapshot_without_a_run_still_lists_the_runs() -> None:
    nothing = replace(context(), run=None)
    shot = build_snapshot(nothing, [run("a"), run("flights-b", started_at=200)], [], [], None, [])
    assert shot.run is None
    assert [choice["label"] for choice in shot.runs] == ["flights-b", "flights · a"]


def test_loud_events_go_before_quiet_ones() -> None:
    events = [event(i, i, "held back" if i % 3 else "rearrangement") for i in range(3000)]
    picked = pick_events(events)
    quiet = [found for found in picked if found.event.kind == "held back"]
    assert len(picked) == MOST_EVENTS
    assert len(quiet) == min(MOST_QUIET, MOST_EVENTS - (len(picked) - len(quiet)))
    assert [found.id for found in picked] == sorted(found.id for found in picked)
    assert len(pick_events(events[:30])) == 30


def test_the_period_is_the_median_of_the_newest_batches() -> None:
    assert period([(0, 10.0), (1, 11.0), (2, 11.5), (4, 12.5)]) == 0.5
    assert period([(3, 1.0)]) == 1.0
    assert period([(3, 1.0), (3, 2.0)]) == 1.0


def test_the_graph_shows_bare_names_in_the_order_of_the_flow() -> None:
    found = plan(order=("origin", "delay"))
    graph = plans.graph_plan("r1", found, plans.plan_nodes(found))
    assert [node["name"] for node in graph["nodes"]] == ["Flights", "origin", "delay", "Output"]
    step = {"id": "asc:origin", "kind": "selection", "name": "origin", "position": 1}
    assert graph["nodes"][1] == step
    assert graph["kinds"]["selection"] == {
        "role": "step", "sign": "σ", "word": "construct", "spark": "drop_prob",
    }  # fmt: skip
    assert [node["entity"] for node in graph["nodes"][::3]] == ["system", "system"]
    assert graph["hash"] == "h1"
    assert plans.graph_plan("r1", None, [])["nodes"] == []


def test_nodes_of_any_graph_come_in_an_order_of_its_flow() -> None:
    edges = [("b", "join"), ("join", "out"), ("a", "join"), ("store", "join"), ("join", "out2")]
    assert plans.flow_order(["out", "out2", "join", "a", "b", "store"], edges) == [
        *("a", "b", "store", "join", "out", "out2"),
    ]
    assert plans.flow_order(["x", "y", "z"], [("y", "z"), ("z", "y")]) == ["x", "y", "z"]


NAMES = st.integers(0, 7).map(str)


@given(st.lists(NAMES, unique=True), st.lists(st.tuples(NAMES, NAMES), max_size=16))
def test_the_order_of_a_flow_is_what_the_oracle_finds(
    nodes: list[str], edges: list[tuple[str, str]]
) -> None:
    assert plans.flow_order(nodes, edges) == oracle.flow_order(nodes, edges)


def test_several_sources_show_their_own_numbers() -> None:
    one = plan()
    second = {"id": "op:more", "role": "source", "name": "More"}
    facts = {"note": "Rows 100"}
    store = {"id": "store:w", "role": "store", "name": "Window", "properties": facts}
    nodes = [second, *one.graph["nodes"], store]
    nodes_drawn = plans.plan_nodes(replace(one, graph={**one.graph, "nodes": nodes}))
    drawn = {node.id: node for node in nodes_drawn}
    assert (drawn["op:more"].entity, drawn["op:more"].spark) == ("op:more", "reached_tuples")
    assert (drawn["op:output"].entity, drawn["op:output"].spark) == ("system", "n_matched")
    assert (drawn["store:w"].role, drawn["store:w"].note) == ("store", "Rows 100")


def test_graph_values_have_the_shape_of_the_live_delta() -> None:
    shaped = plans.graph_values(VALUES, KINDS)
    assert shaped["queue:origin"] == 80
    assert shaped["asc:delay"]["drop_prob"] == 0.6
    assert "query:q1" not in shaped


def test_steps_share_out_drops_and_visits() -> None:
    first, second = plans.steps(plan(), plans.plan_nodes(plan()), VALUES, ENTITIES)
    assert (first.position, first.dropped, first.queue, first.n_regions) == (1, 0.6, 3, 7)
    assert second.dropped == pytest.approx(0.3)
    assert first.visits is not None
    assert second.visits is not None
    assert first.visits + second.visits == pytest.approx(1.0)
    assert second.n_regions is None


def test_steps_of_a_construct_nothing_reached_are_unknown_not_zero() -> None:
    nothing: dict[str, float | None] = {"reached_tuples": None, "drop_prob": None}
    values = {**VALUES, "asc:origin": nothing}
    second = plans.steps(plan(), plans.plan_nodes(plan()), values, ENTITIES)[1]
    assert (second.reached, second.drop, second.dropped, second.visits) == (None,) * 4


def test_series_become_points_and_sparks() -> None:
    found = series([1.0, np.nan, 3.0])
    assert plans.points(found) == [(0, 1.0), (1, None), (2, 3.0)]
    assert plans.spark(found) == [1.0, 3.0]
    assert len(plans.spark(series(list(range(100))))) == plans.SPARK_POINTS
    assert plans.points(None) == []
    assert plans.spark(None) == []


def test_the_headline_names_what_is_unusual() -> None:
    assert plans.headline(None).startswith("No plan yet")
    assert plans.headline(plan()) == "Plan 1, from the start"
    assert plans.headline(plan(4, 150, kind="no early drop")) == (
        "Plan 4, no early drop, since batch 150"
    )


def test_the_inspector_of_a_construct() -> None:
    moved = [decision(3, 20, ["origin", "delay"], ["delay", "origin"])]
    rows = plans.steps(plan(), plans.plan_nodes(plan()), VALUES, ENTITIES)
    view = build_inspector("asc:delay", ENTITIES, VALUES, rows)
    assert "".join(map(str, view.summary)).startswith("Construct 1 of 2: drops 60.0")
    assert view.history == ("drop_prob", "pct", "")
    by_name = {item.name: item for item in view.properties}
    assert by_name["drop_prob"].live == "asc:delay|drop_prob"
    assert by_name["bitmap_bytes"].unit == "bytes"
    (reason,) = reasons("asc:delay", ENTITIES, moved)
    assert reason.text == "place 2 → 1"


def test_the_inspector_of_a_step_that_drops_nothing_says_what_reaches_it() -> None:
    values = VALUES | {"asc:delay": {"reached_tuples": 46.0}}
    rows = plans.steps(plan(), plans.plan_nodes(plan()), values, ENTITIES)
    view = build_inspector("asc:delay", ENTITIES, values, rows)
    assert "".join(map(str, view.summary)) == "Construct 1 of 2: 46 tuples reach it."


@pytest.mark.parametrize(
    ("entity", "words"),
    [
        ("op:source", "400 tuples/s are filtered"),
        ("op:output", "of the batch's"),
        ("system", "The engine as a whole"),
        ("asc:idle", "not part of the plan"),
        ("nonsense", "has nothing called nonsense"),
    ],
)
def test_every_entity_has_a_summary(entity: str, words: str) -> None:
    view = build_inspector(entity, ENTITIES, VALUES, [])
    assert words in "".join(map(str, view.summary))


@pytest.mark.parametrize(("n_groups", "words"), [(100.0, " 38 of 100 row groups"), (0.0, "")])
def test_a_source_says_what_it_did_not_read(n_groups: float, words: str) -> None:
    values = VALUES | {"op:source": {"refuted_groups": 38.0, "row_groups": n_groups}}
    summary = build_inspector("op:source", ENTITIES, values, []).summary
    ending = f"{words} refuted by their statistics, not read." if words else ""
    assert "".join(map(str, summary)) == f"400 tuples/s are filtered.{ending}"


def test_the_system_lists_what_operators_ask_first() -> None:
    view = build_inspector("system", ENTITIES, VALUES, [])
    assert [item.name for item in view.properties][:2] == ["tuples_per_s", "backlog_tuples"]


def test_reasons_are_the_newest_that_moved_the_entity() -> None:
    entries = [decision(i, i, ["a", "b", "c"], ["b", "a", "c"]) for i in range(9)]
    assert [reason.seq for reason in reasons("a", ENTITIES, entries)] == [8, 7, 6, 5]
    assert reasons("c", ENTITIES, entries) == []
    added = [decision(1, 1, {"order": ["a"]}, {"order": ["a", "b"]})]
    assert reasons("b", ENTITIES, added)[0].text == "moved enough"
    assert order_names(None) == []


KNOBS = (
    Knob("rate", "float", 5.0, 0.0, "tuples/s", "", entity="op:source", version=2),
    Knob("mu", "float", 0.3, 0.1, "", "", version=3),
)


def command(number: int, state: Any = "applied", **changes: Any) -> Command:
    """A knob request."""
    return replace(
        Command(
            number, "r1", "knob", {"knob": "mu", "value": 0.3}, "page", "why", 10.0 * number,
            state=state, applied_batch=7 if state == "applied" else None, old_value=0.1,
        ),
        **changes,
    )  # fmt: skip


def test_knobs_are_grouped_with_the_system_first() -> None:
    groups = group_knobs(KNOBS, {"system": Entity("system", "system", "Engine")}, {})
    assert [(group.title, [knob.name for knob in group.knobs]) for group in groups] == [
        ("Engine", ["mu"]),
        ("op:source", ["rate"]),
    ]
    others = [replace(KNOBS[0], name=name) for name in ("tau", "lambda", "rate", "mu")]
    (group,) = group_knobs(others, {}, {})
    assert [knob.name for knob in group.knobs] == ["mu", "rate", "lambda", "tau"]


def test_the_audit_log_is_newest_first_and_offers_reverts() -> None:
    asked = command(3, "requested", old_value=None)
    refused = command(2, "refused", answer="allowed 0..1", old_value=None)
    rows = audit("r1", [command(1), refused, asked], KNOBS)
    assert [row.id for row in rows] == [3, 2, 1]
    assert rows[0].outcome == "waiting for a batch boundary"
    assert rows[1].outcome == "refused: allowed 0..1"
    assert rows[2].outcome == "applied at batch 7"
    assert (rows[2].old, rows[2].new) == ("0.1", "0.3")
    assert rows[2].revert == {
        "run": "r1", "knob": "mu", "scope": "", "value": 0.1, "version": 3, "command": 1
    }  # fmt: skip
    assert rows[0].revert is rows[1].revert is None


def test_the_audit_log_gives_back_what_a_turn_set_beside_its_knob() -> None:
    policy = Knob("policy", "choice", "thresholds", "autopilot", "", "", scope="u", version=3)
    also = {1: {"knob": "policy", "scope": "u", "old": "autopilot"}}
    (row,) = audit("r1", [command(1)], [*KNOBS, policy], also=also)
    to = {"knob": "policy", "scope": "u", "value": "autopilot"}
    assert row.also == {"run": "r1", **to, "version": 3, "command": 1}
    given_back = replace(policy, value="autopilot")
    (row,) = audit("r1", [command(1)], [*KNOBS, given_back], also=also)
    assert row.also is None


def test_the_audit_log_and_presets_write_bytes_as_pages_do() -> None:
    pool = Knob("pool", "int", 233_472, 65_536, "bytes", "")
    asked = {"knob": "pool", "value": 233_472}
    (row,) = audit("r1", [command(1, payload=asked, old_value=65_536)], (pool,))
    assert (row.old, row.new) == (show(65_536, "bytes"), show(233_472, "bytes"))
    assert row.revert is not None
    assert row.revert["value"] == 65_536
    (saved,) = beside("r1", [Preset("small", {("", "pool"): 65_536})], (pool,))
    assert saved.differences == [f"Pool {show(233_472, 'bytes')} → {show(65_536, 'bytes')}"]
    texts = [show(n, "bytes").replace("\u2009", " ") for n in (999, 1000, 1024, 1023 * 1024)]
    assert texts == ["999 B", "0.98 KiB", "1 KiB", "1 MiB"]


def test_a_preset_of_a_system_is_of_each_scope_that_has_all_its_knobs() -> None:
    """In its own order; knobs of its names elsewhere are others."""
    knobs = [
        Knob(name, "int", 1, 1, "", "", scope=scope)
        for scope, names in {"u": "ab", "v": "abc", "": "a"}.items()
        for name in names
    ]
    shipped = {"small": {"b": 2, "a": 1}, "no such": {"a": 1, "x": 1}}
    began, *presets = presets_of((), knobs, (), shipped)
    assert began.name == "As the run began"
    assert [preset.name for preset in presets] == ["small"]
    assert [*presets[0].values] == [("u", "b"), ("u", "a"), ("v", "b"), ("v", "a")]
    (row,) = beside("r1", presets, knobs)
    assert [(turn["scope"], turn["knob"], turn["value"]) for turn in row.turns] == [
        ("u", "b", 2),
        ("v", "b", 2),
    ]


def test_back_to_the_autopilot_is_turned_last_and_to_thresholds_first() -> None:
    """A threshold that is turned takes over."""
    now = [
        Knob("policy", "choice", "thresholds", "autopilot", "", "", scope="u"),
        Knob("mu", "float", 0.1, 0.1, "", "", scope="u"),
    ]
    back = Preset("back", {("u", "policy"): "autopilot", ("u", "mu"): 0.3})
    (row,) = beside("r1", [back], now)
    assert [turn["knob"] for turn in row.turns] == ["mu", "policy"]
    piloted = [replace(now[0], value="autopilot"), now[1]]
    away = Preset("away", {("u", "policy"): "thresholds", ("u", "mu"): 0.3})
    (row,) = beside("r1", [away], piloted)
    assert [turn["knob"] for turn in row.turns] == ["policy", "mu"]


@pytest.mark.parametrize(
    ("specs", "values"),
    [(AscKnobs.specs(), AS_IN_THE_PAPERS), (AgreedyKnobs.specs(), AS_IN_THE_THESIS)],
)
def test_the_papers_presets_are_allowed_and_leave_nothing_to_the_autopilot(
    specs: tuple[KnobSpec, ...], values: Mapping[str, Json]
) -> None:
    settings = KnobSettings.defaults(specs, values)
    assert {name: settings.values[name] for name in values} == values
    assert next(iter(values.items())) == ("policy", "thresholds")


def test_the_audit_log_of_the_past_knows_no_later_requests() -> None:
    rows = audit("r1", [command(1), command(2)], KNOBS, until=15.0)
    assert [row.id for row in rows] == [1]


def test_reverting_to_the_value_in_force_is_not_offered() -> None:
    assert audit("r1", [command(1, old_value=0.3)], KNOBS)[0].revert is None


def test_query_requests_are_audited_too() -> None:
    payload = {"name": "q9", "text": "Select * From Flights"}
    row = audit("r1", [command(1, kind="query_add", payload=payload)], KNOBS)[0]
    assert (row.what, row.new, row.revert) == ("add query q9", "Select * From Flights", None)


def test_the_newest_unanswered_request_of_a_knob_is_pending() -> None:
    waiting = pending([command(1, "requested"), command(2, "requested"), command(3)], KNOBS)
    assert {name: found.id for name, found in waiting.items()} == {("", "mu"): 2}


def test_numbers() -> None:
    assert (known(None), known(float("nan")), known(0.0)) == (False, False, True)
    assert (form_of("prob"), form_of("parsecs")) == ("pct", "f2")
    assert (shown_unit("prob"), shown_unit("tuples")) == ("", "tuples")
