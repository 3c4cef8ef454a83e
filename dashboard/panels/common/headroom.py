"""What would make a plan change next, beside the plan; and why it did not, beside decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.formats import clock, show
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.components.states import empty
from dashboard.components.static import static
from dashboard.panels import records
from dashboard.panels.contract import Drawing, News, Panel, PanelScope, RunFacts, Sheet
from dashboard.views.headroom import (
    RECENT,
    HeadroomLine,
    WhyNotLine,
    build_headroom,
    build_why_not,
)
from storage.reader import Reader
from storage.tables.rows import DecisionEntry
from storage.vocabulary.planlog import LOOK, SUBJECT
from storage.vocabulary.records import Unit

#: Evaluations that kept a plan, looked through for the nearest; and those that are listed.
LOOKED: Final = 300
LISTED: Final = 12
_KEPT: Final = ("below_threshold", "kept", "cooldown", "thin", "pinned")
_NEWS: Final[tuple[News, ...]] = ("decisions", "plans", "run")


def _decided(facts: RunFacts) -> bool:
    return facts.decided


def build(reader: Reader, context: Context, scope: PanelScope) -> list[HeadroomLine] | None:
    """None before the first evaluation."""
    return read_headroom(reader, context, scope.units) or None


def read_headroom(reader: Reader, context: Context, units: Sequence[Unit]) -> list[HeadroomLine]:
    """Of all units, or of the one the address names, as of the moment."""
    wanted = context.moment.unit
    shown = [unit for unit in units if not wanted or unit.id == wanted] or list(units)
    entries = [
        entry
        for unit in shown
        for entry in reader.decisions(
            context.run_id, until=context.batch, limit=RECENT, unit=unit.id, brief=True
        )
    ]
    titles = {unit.id: unit.title for unit in shown} if len(units) > 1 else {}
    return build_headroom(entries, titles, context.batch)


def build_looks(reader: Reader, context: Context, scope: PanelScope) -> list[HeadroomLine] | None:
    """Of a unit what its autopilots have to see, and when they look; None before the first look."""
    entries = reader.decisions(
        context.run_id, until=context.batch, limit=LOOKED, unit=scope.only, brief=True
    )
    looks = dict[str, list[DecisionEntry]]()
    for entry in entries:
        if entry.decision.kind == LOOK:
            looks.setdefault(entry.decision.detail.get(SUBJECT, ""), []).append(entry)
    lines = [build_headroom(own, {}, context.batch) for _, own in sorted(looks.items())]
    return [line for own in lines for line in own] or None


def looks_panel(
    name: str, page: str, applies: Callable[[RunFacts], bool]
) -> Panel[list[HeadroomLine]]:
    """What autopilots look for next, on a page of a system. applies: to runs that it is in."""
    return Panel(
        name=name,
        page=page,
        title="What the autopilot looks for next",
        sql=records.LOOKS,
        build=build_looks,
        draw=draw,
        applies=lambda facts: facts.looked and applies(facts),
        news=_NEWS,
        unit=True,
    )


def draw(lines: list[HeadroomLine], sheet: Sheet) -> Drawing:
    """A line each, the longer its bar, the nearer."""
    context = sheet.context
    parts: list[Component] = []
    for (of, about), own in groupby(lines, lambda line: (line.of, line.about)):
        if of or about:
            parts.append(html.H3(" · ".join(filter(None, (of, about)))))
        parts.append(html.Ul([draw_line(line, context) for line in own], className="pw-next"))
    return Drawing(static(html.Div(parts)), table=_table(lines, context), note=_NOTE)


_NOTE: Final = "as the last evaluation says; the longer the bar, the nearer the change"


def draw_line(line: HeadroomLine, context: Context) -> Component:
    """The sentence, how near it is, and the evaluation that says so."""
    at, node = max(0, line.batch), str(line.seq)
    there = jump(context, f"#{line.seq}", "/decisions", at=at, node=node, unit=line.unit)
    near = 0.0 if line.near is None else line.near
    bar = html.Div(html.I(style={"width": f"{100 * near:.0f}%"}), className="pw-bar")
    shown = html.Span(show(line.near, "pct"), className="pw-next-near")
    label = attrs(aria_hidden=True)
    row = [html.Span(line.words, className="pw-next-words"), html.Div(bar, **label), shown]
    return html.Li([*row, there] if line.seq else row)


_COLUMNS: Final = (
    TableColumn("Near", "pct", "", "what there is as a share of what it takes"),
    TableColumn("What has to happen"),
    TableColumn("Missing"),
)
_SAID: Final = TableColumn("Evaluation")


def _table(lines: list[HeadroomLine], context: Context) -> Component:
    return RowTable("What would change the plan next", (*_COLUMNS, _SAID), _rows(lines, context))


def _rows(lines: list[HeadroomLine], context: Context) -> list[list[CellData]]:
    return [
        [
            {"text": line.near, "bar": line.near or 0.0},
            f"{line.of}: {line.words}" if line.of else line.words,
            line.missing or None,
            _evaluation(line, context),
        ]
        for line in lines
    ]


def _evaluation(line: HeadroomLine, context: Context) -> CellData:
    if not line.seq:
        return ""
    at = max(0, line.batch)
    there = jump_to(context, at=at, node=str(line.seq), unit=line.unit, path="/decisions")
    return {"text": f"#{line.seq}", "sort": line.seq, "jump": there}


def build_kept(reader: Reader, context: Context, scope: PanelScope) -> list[WhyNotLine]:
    """The evaluations of a unit that kept its plan."""
    entries = reader.decisions(
        context.run_id,
        until=context.batch,
        verdicts=_KEPT,
        limit=LOOKED,
        unit=scope.only,
        brief=True,
    )
    return build_why_not(entries, {})


def draw_kept(rows: list[WhyNotLine], sheet: Sheet) -> Drawing:
    """The nearest of them, with what was missing."""
    if not rows:
        return Drawing(empty("No evaluation kept the plan so far", "All of them changed it."))
    nearest = rows[:LISTED]
    columns = (*_COLUMNS, TableColumn("Came to"), _SAID, TableColumn("When"))
    lines = _rows([row.line for row in nearest], sheet.context)
    cells = [
        [*own[:3], f"{row.sign} {row.word}", own[3], f"batch {row.line.batch} · {clock(row.time)}"]
        for row, own in zip(nearest, lines, strict=True)
    ]
    shown = RowTable(_kept_words(len(rows)), columns, cells, className="pw-why-not")
    return Drawing(shown, note="near violations first, with the number that was missing")


def _kept_words(n: int) -> str:
    least = f"nearest {LISTED} of the {n}" if n > LISTED else f"{n}"
    return f"The {least} newest stored evaluations that kept the plan"


PANEL: Final = Panel(
    name="headroom",
    page="/plan",
    title="What would change it next",
    sql=records.DECISIONS,
    build=build,
    draw=draw,
    applies=_decided,
    news=_NEWS,
)
KEPT: Final = Panel(
    name="why-not",
    page="/decisions",
    title="Rejected changes",
    sql=records.DECISIONS,
    twin=False,
    side=True,
    build=build_kept,
    draw=draw_kept,
    applies=_decided,
    news=_NEWS,
    unit=True,
)
