"""Decisions: every evaluation of the trigger, and one of them with all its numbers."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from dashboard.base import ids
from dashboard.base.context import Context
from dashboard.components.drawn import Segments
from dashboard.components.formats import clock, show
from dashboard.components.keys import clientside
from dashboard.components.links import jump
from dashboard.components.rows import DecisionLinks, jump_to
from dashboard.components.states import empty
from dashboard.panels import records
from dashboard.panels.common.decision_card import draw_card
from dashboard.panels.contract import Drawing, News, Panel, PanelScope, RunFacts, Sheet
from dashboard.panels.facts import knobs_of
from dashboard.serving.services import Services
from dashboard.views.decision_card import build_card
from dashboard.views.decisions import (
    FILTERS,
    LEVELS,
    DecisionCard,
    DecisionLine,
    DecisionList,
    build_list,
    count_words,
    pick,
)
from storage.reader import Reader

FILTER: Final = "pw-decisions-filter"
SHOW: Final = "pw-decisions-show"
LIMIT: Final = 300
_WORDS: Final = {
    "all": "All",
    "switched": "▲ Switched",
    "kept": "■ Kept",
    "not acted on": "○ Not acted on",
}


class DecisionsShown(NamedTuple):
    """The list at a moment, the one shown beside it, and the one the URL asks for."""

    decisions: DecisionList
    seq: int | None
    wanted: int | None


class ShownCard(NamedTuple):
    """The evaluation shown, None without one."""

    shown: DecisionsShown
    card: DecisionCard | None


def build_shown(reader: Reader, context: Context, scope: PanelScope) -> DecisionsShown:
    """The list at the moment; the filter is in the URL: ``show=switched``."""
    run, chosen = context.run_id, context.moment.show or "all"
    verdicts = FILTERS.get(chosen) or None
    entries = reader.decisions(
        run, until=context.batch, verdicts=verdicts, limit=LIMIT, unit=scope.only, brief=True
    )
    counts = reader.decision_counts(run, context.batch, scope.only)
    plan = reader.plan_at(run, context.batch, scope.only)
    at_plan = plan.decision if plan is not None and context.moment.at is not None else None
    wanted = wanted_decision(context.moment.node)
    seq = pick(entries, wanted, at_plan)
    return DecisionsShown(build_list(entries, counts, chosen), seq, wanted)


def build_shown_card(reader: Reader, context: Context, scope: PanelScope) -> ShownCard:
    """The evaluation beside the list, with the knobs in force at its batch."""
    shown, run = build_shown(reader, context, scope), context.run_id
    entry = reader.decision(run, shown.seq, scope.only) if shown.seq is not None else None
    if entry is None:
        return ShownCard(shown, None)
    knobs = knobs_of(reader, run, entry.decision.batch, scope)
    plans = reader.plans(run, context.batch, scope.only)
    return ShownCard(shown, build_card(entry, list(knobs.values()), plans))


def wanted_decision(node: str | None) -> int | None:
    """The evaluation the URL names: its number as the pinned node."""
    return int(node) if node and node.isdigit() else None


def draw_shown(shown: DecisionsShown, sheet: Sheet) -> Drawing:
    """How many there are, and a link for each."""
    return Drawing(_list(shown, sheet.context))


def draw_shown_card(card: ShownCard, sheet: Sheet) -> Drawing:
    """The card of the one shown."""
    body = _no_card(card.shown) if card.card is None else draw_card(card.card, sheet.context)
    return Drawing(html.Section(body, className="pw-panel pw-dcard-panel"))


def _decided(facts: RunFacts) -> bool:
    return facts.decided


def _controls(context: Context, services: Services) -> list[Component]:
    return [dcc.Store(id=SHOW), _filter(context.moment.show or "all")]


def _register(app: Dash, services: Services) -> None:
    value = Input(FILTER, "value")
    clientside(app, "decisionsShow", Output(SHOW, "data"), value, prevent_initial_call=True)
    moved = (Input(ids.MOMENT, "data"), State(FILTER, "value"))
    clientside(app, "decisionsFilter", Output(FILTER, "value"), *moved)


_NEWS: Final[tuple[News, ...]] = ("decisions", "plans", "run")
LIST: Final = Panel(
    name="decisions",
    page="/decisions",
    title="Decisions",
    sql=records.DECISIONS,
    twin=False,
    className="pw-decisions-panel",
    build=build_shown,
    draw=draw_shown,
    applies=_decided,
    news=_NEWS,
    show=True,
    unit=True,
    controls=_controls,
    register=_register,
)
CARD: Final = Panel(
    name="decision",
    page="/decisions",
    side=True,
    build=build_shown_card,
    draw=draw_shown_card,
    applies=_decided,
    news=_NEWS,
    show=True,
    unit=True,
)
PANELS: Final = (LIST, CARD)


def _filter(chosen: str) -> Component:
    choices = ((name, _WORDS[name]) for name in FILTERS)
    return Segments(FILTER, "Show", chosen if chosen in FILTERS else "all", choices)


def _list(shown: DecisionsShown, context: Context) -> Component:
    view = shown.decisions
    counted: list[Component | str] = [count_words(view)]
    if view.rows and view.shown < view.by_filter[view.chosen_filter]:
        oldest = view.rows[-1].batch
        older = f"those up to batch {show(oldest, 'int')}"
        counted += [" · ", jump(context, "older", at=oldest, title=f"Go back to {older}")]
    words = html.P(counted, className="pw-dim pw-decisions-count", role="status")
    if not view.rows:
        return html.Div([words, _nothing(view)])
    items = [_item(row, context, row.seq == shown.seq) for row in view.rows]
    return html.Div([words, DecisionLinks("Evaluations", items)])


def _nothing(view: DecisionList) -> Component:
    if view.evaluated == 0:
        return empty("Nothing was evaluated yet", "The first check comes after lambda tuples.")
    words = f"None of the stored evaluations is {view.chosen_filter} up to this moment."
    return empty("Nothing to show", words)


def _item(row: DecisionLine, context: Context, here: bool) -> dict[str, Any]:
    saved = ""
    if row.saved.value is not None:
        verb = "saved" if row.saved.value >= 0 else "lost"
        amount = f"{show(abs(row.saved.value), 'int')} {row.unit} per 1k"
        amount = show(abs(row.saved.value), "bytes") if row.unit in LEVELS else amount
        saved = f"{verb} {amount}"
    target = jump_to(context, node=str(row.seq))
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


def _no_card(shown: DecisionsShown) -> Component:
    if shown.wanted is not None:
        text = f"Evaluation {shown.wanted} is not stored: rejected ones are sampled."
        return empty("No such decision", text)
    return empty("No decision to show", "Pick one at the left, or another filter.")
