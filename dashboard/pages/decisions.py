"""Decisions: every evaluation of the trigger, and one of them with all its numbers."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import parse_qs

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from dashboard import context as contexts
from dashboard import ids
from dashboard.components.drawn import Segments
from dashboard.components.formats import clock, show
from dashboard.components.panels import panel
from dashboard.components.states import empty
from dashboard.context import Context
from dashboard.pages.contract import Page
from dashboard.pages.decision_card import draw_card
from dashboard.pages.keys import clientside, follow
from dashboard.pages.parts import part, part_output, part_tree
from dashboard.pages.rows import DecisionLinks, jump_to
from dashboard.services import Services
from dashboard.views.decision_card import build_card
from dashboard.views.decisions import (
    FILTERS,
    DecisionList,
    DecisionRow,
    build_list,
    count_words,
    pick,
)
from storage.rows import DecisionEntry

FILTER: Final = "pw-decisions-filter"
SHOW: Final = "pw-decisions-show"
LIST: Final = "pw-decisions-list"
CARD: Final = "pw-decisions-card"
KEY: Final = "pw-decisions-key"
NODE: Final = "decision:"
LIMIT: Final = 300
_CARD_CLASS: Final = "pw-panel pw-dcard-panel"
_WORDS: Final = {
    "all": "All",
    "switched": "▲ Switched",
    "kept": "■ Kept",
    "suppressed": "○ Suppressed",
}


def build(
    context: Context, services: Services, chosen_filter: str, wanted: int | None
) -> tuple[DecisionList, DecisionEntry | None]:
    """The list at the moment and the evaluation to show beside it."""
    reader, run = services.reader, context.run_id
    verdicts = FILTERS.get(chosen_filter) or None
    entries = reader.decisions(run, until=context.batch, verdicts=verdicts, limit=LIMIT)
    counts = reader.decision_counts(run, context.batch)
    plan = reader.plan_at(run, context.batch)
    at_plan = plan.decision if plan is not None and context.moment.at is not None else None
    seq = pick(entries, wanted, at_plan)
    view = build_list(entries, counts, chosen_filter)
    return view, reader.decision(run, seq) if seq is not None else None


def wanted_decision(node: str | None, search: str | None) -> int | None:
    """The evaluation the URL names: a pinned node 'decision:7', or '?decision=7'."""
    named = parse_qs((search or "").lstrip("?")).get("decision", [""])[-1]
    text = node.removeprefix(NODE) if node and node.startswith(NODE) else named
    return int(text) if text.isdigit() else None


def has_records(context: Context, services: Services) -> bool:
    """Hidden in the navigation while nothing was evaluated."""
    return context.run is None or services.reader.decision_counts(context.run_id).evaluated > 0


def layout(context: Context, services: Services) -> Component:
    """The page at a context."""
    if context.run is None:
        return empty("No run yet", "Start one with python3 run.py; its decisions appear here.")
    chosen = context.moment.show or "all"
    shown = _render(context, services, chosen, wanted_decision(context.moment.node, None))
    return html.Div(
        [
            dcc.Store(id=KEY),
            dcc.Store(id=SHOW),
            panel(
                "Decisions",
                [_filter(chosen), part(LIST, shown[0])],
                className="pw-decisions-panel",
            ),
            part(CARD, shown[1], _CARD_CLASS),
        ],
        className="pw-page pw-decisions",
    )


def register(app: Dash, services: Services) -> None:
    """Follow the decisions, the filter (which lives in the URL) and the selection."""
    follow(app, "decisionsKey", KEY)
    clientside(
        app,
        "decisionsShow",
        Output(SHOW, "data"),
        Input(FILTER, "value"),
        prevent_initial_call=True,
    )
    moved = (Input(ids.MOMENT, "data"), State(FILTER, "value"))
    clientside(app, "decisionsFilter", Output(FILTER, "value"), *moved)

    @app.callback(
        part_output(LIST),
        part_output(CARD),
        Input(KEY, "data"),
        Input(FILTER, "value"),
        State(ids.MOMENT, "data"),
        State(ids.LOCATION, "search"),
        prevent_initial_call=True,
    )
    def _follow(
        key: Any, chosen: str, moment: dict[str, Any] | None, search: str | None
    ) -> tuple[Any, Any]:
        found = contexts.of(services.reader, moment)
        wanted = wanted_decision(found.moment.node, search)
        listed, card = _render(found, services, chosen, wanted)
        return part_tree(LIST, listed), part_tree(CARD, card, _CARD_CLASS)


PAGE: Final = Page(
    path="/decisions",
    title="Decisions",
    label="Decisions",
    icon="M12 3v6M12 9l-6 6M12 9l6 6M4 19l2-4 2 4zM16 19l2-4 2 4z",
    key="d",
    layout=layout,
    register=register,
    has_records=has_records,
)


def _filter(chosen: str) -> Component:
    choices = ((name, _WORDS[name]) for name in FILTERS)
    return Segments(FILTER, "Show", chosen if chosen in FILTERS else "all", choices)


def _render(
    context: Context, services: Services, chosen: str, wanted: int | None
) -> tuple[Component, Component]:
    view, entry = build(context, services, chosen, wanted)
    seq = entry.decision.seq if entry is not None else None
    if entry is None:
        return _list(view, context, seq), _no_card(view, wanted)
    reader, run = services.reader, context.run_id
    knobs = reader.knobs(run, entry.decision.batch)
    card = build_card(entry, knobs, reader.plans(run, context.batch))
    return _list(view, context, seq), draw_card(card, context)


def _list(view: DecisionList, context: Context, seq: int | None) -> Component:
    words = html.P(count_words(view), className="pw-dim pw-decisions-count", role="status")
    if not view.rows:
        return html.Div([words, _nothing(view)])
    items = [_item(row, context, row.seq == seq) for row in view.rows]
    return html.Div([words, DecisionLinks("Evaluations", items)])


def _nothing(view: DecisionList) -> Component:
    if view.evaluated == 0:
        return empty("Nothing was evaluated yet", "The first check comes after lambda tuples.")
    words = f"None of the stored evaluations is {view.chosen_filter} up to this moment."
    return empty("Nothing to show", words)


def _item(row: DecisionRow, context: Context, here: bool) -> dict[str, Any]:
    saved = ""
    if row.saved.value is not None:
        verb = "saved" if row.saved.value >= 0 else "lost"
        saved = f"{verb} {show(abs(row.saved.value), 'int')} {row.unit} per 1k"
    target = jump_to(context, node=f"{NODE}{row.seq}")
    return {
        "seq": row.seq,
        "node": target["node"],
        "href": target["href"],
        "here": here,
        "verdict": row.verdict,
        "sign": row.sign,
        "word": f"#{row.seq} {row.word}",
        "saved": saved,
        "summary": row.summary,
        "place": f"batch {row.batch} · {clock(row.time)}",
    }


def _no_card(view: DecisionList, wanted: int | None) -> Component:
    if wanted is not None:
        text = f"Evaluation {wanted} is not stored: rejected ones are sampled."
        return empty("No such decision", text)
    return empty("No decision to show", "Pick one at the left, or another filter.")
