"""Branch from here: the rest of the record with another knob, beside the record.

Where the rule behind the knob can be decided again from the record, what it comes to is estimated
at once; every knob of a unit can be tried by a replay of the recorded tuples in a run of its own.
"""

from __future__ import annotations

import json
from collections.abc import Set
from typing import Any, Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.base.face import faces
from dashboard.components.drawn import NAMESPACE, Drawn, knob_row
from dashboard.components.links import jump
from dashboard.components.names import words_of
from dashboard.panels import records
from dashboard.panels.common.compare import asked_for
from dashboard.panels.contract import Drawing, Ghost, Panel, PanelScope, Sheet
from dashboard.serving.errors import ApiError
from dashboard.serving.knob_check import check_value
from dashboard.views.branches import SETTING, branch_line, branch_pair, branches_of, taker
from dashboard.views.compare import address
from dashboard.views.knobs import ranked, value_words
from storage.reader import Reader
from storage.vocabulary.branches import BranchOf
from storage.vocabulary.records import Knob, Run

#: Branches of a run that the panel links, newest first.
MOST_LINKED: Final = 8


class BranchView(NamedTuple):
    """Two futures of the batch ``at``. knobs: of the unit; knob, value: tried.

    estimated: names of knobs whose rule can be decided again from the record. ghost: what does
    that; decided: what it made of the evaluations from there on, None before something was tried.
    made: branches of the run that were computed. line: what computes one from a terminal;
    has_engine: one that is at work can be asked.
    """

    at: int
    knobs: list[Knob]
    estimated: frozenset[str]
    knob: Knob
    value: Any
    pair: str
    ghost: Ghost | None
    decided: Any
    made: list[tuple[Run, BranchOf]]
    line: str
    has_engine: bool


class BranchForm(Drawn):
    """The choice of knob and value (modules/page_compare.js)."""

    _namespace = NAMESPACE
    _type = "BranchForm"
    _names = ("knobs", "estimated", "knob", "value", "pair", "at", "run", "line", "setting", "asks")

    def __init__(self, view: BranchView, run: str, asks: bool) -> None:
        """asks: an engine is asked to run the branch; else the line to type is shown."""
        super().__init__(
            knobs=[knob_row(knob) for knob in view.knobs],
            estimated=sorted(view.estimated),
            knob=view.knob.name,
            value=view.value,
            pair=view.pair,
            at=view.at,
            run=run,
            line=view.line,
            setting=SETTING,
            asks=asks,
        )


def build(reader: Reader, context: Context, scope: PanelScope) -> BranchView | None:
    """The record from the moment on, and what the rule makes of it with the knob tried."""
    run, at = context.run_id, context.batch or 0
    knobs = ranked(knob for knob in reader.knobs(run, context.batch) if knob.scope == scope.unit)
    if not knobs or not scope.unit:
        return None
    ghost, estimated = _ghost(reader, run, scope.unit, {knob.name for knob in knobs})
    asked = asked_for(reader, context)
    name, _, text = asked.branch.partition("=")
    knob = next((knob for knob in knobs if knob.name == name), knobs[0])
    value = _value(knob, text)
    pair = address(asked._replace(branch="", log=""))
    tries = ghost is not None and knob.name in estimated and value is not None
    decided = ghost.decided(reader, knob, value, run, at) if ghost is not None and tries else None
    value, runs = knob.value if value is None else value, reader.runs()
    line = branch_line(run, at, knob.scope, reader.where)
    made, has_engine = branches_of(runs, run), taker(runs, run) is not None
    return BranchView(
        at, knobs, estimated, knob, value, pair, ghost, decided, made, line, has_engine
    )


def _ghost(
    reader: Reader, run: str, unit: str, names: Set[str]
) -> tuple[Ghost | None, frozenset[str]]:
    """Whose rule can be decided again from the record of a unit, and for which of the knobs."""
    ghosts: list[Ghost] = [face.ghost for face in faces() if face.ghost is not None]
    pairs = ((ghost, ghost.knobs(reader, run, unit) & names) for ghost in ghosts)
    return next((pair for pair in pairs if pair[1]), (None, frozenset()))


def _value(knob: Knob, text: str) -> Any:
    """The value of an address in the knob's own type; None for what it cannot have."""
    try:
        return check_value(knob, text if knob.kind in ("choice", "text") else json.loads(text))
    except (ValueError, ApiError):
        return None


def draw(view: BranchView, sheet: Sheet) -> Drawing:
    """The form, and both futures."""
    asks = view.has_engine and not sheet.read_only
    form = html.Div([BranchForm(view, sheet.context.run_id, asks), *_made(view, sheet.context)])
    if view.ghost is None or view.decided is None:
        return Drawing([form, html.P(_why_none(view), className="pw-dim")])
    tried = f"{words_of(view.knob.name)} = {value_words(view.value, view.knob.unit)}"
    drawn = view.ghost.drawn(view.decided, tried, sheet)
    return drawn._replace(body=[form, *drawn.body])


def _why_none(view: BranchView) -> str:
    """Why nothing is estimated, and what to do."""
    if view.knob.name in view.estimated and view.value != view.knob.value:
        return f"Nothing was evaluated from batch {view.at} on: go back to an earlier moment."
    if view.estimated:
        return (
            "Go to a moment, take a knob and a value. The first knobs in the list are estimated "
            "at once from the recorded evaluations. For any knob, a branch replays the recorded "
            "tuples."
        )
    return (
        "Go to a moment, take a knob and a value: the recorded tuples are replayed with it from "
        "there on, in a run of its own, and both futures are shown side by side."
    )


def _made(view: BranchView, context: Context) -> list[Component]:
    """Links to the branches there are, each beside the record."""
    if not view.made:
        return []
    links: list[Component | str] = ["Branches of this run: "]
    for run, branch in view.made[:MOST_LINKED]:
        words = f"batch {branch.batch}, {words_of(branch.knob)} = {value_words(branch.value)}"
        words += "" if run.state == "ended" else f" ({run.state})"
        show = address(branch_pair(run.id, branch))
        links += [jump(context, words, "/compare", show=show, className="pw-chip-link"), " "]
    return [html.P(links, className="pw-branches")]


PANEL: Final = Panel(
    name="branch",
    page="/compare",
    title="Branch from here",
    sql=records.DECISIONS,
    build=build,
    draw=draw,
    news=("run", "knobs", "decisions"),
    unit=True,
    show=True,
    chart="Visits per tuple as recorded and in the branch, and rearrangements of both",
)
