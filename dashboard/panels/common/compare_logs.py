"""Compare: the looks of two runs, or of two stretches of one, on the same two statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.formats import with_mu
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn, known
from dashboard.components.states import empty
from dashboard.components.static import static
from dashboard.figures.planlog import HEIGHT_PX, draw_pair
from dashboard.panels import records
from dashboard.panels.common.compare import asked_for
from dashboard.panels.common.planlog_parts import MOST_LOOKS, AxisPair, looked, plan_cell
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.views.book import Book
from dashboard.views.compare import ComparedStretch, before_log
from dashboard.views.numbers import form_of
from dashboard.views.planlog import PlanLogEntry, newest_log, plan_log
from dashboard.views.planlog_pair import PairedLogs, cost_lines, pair_logs, pair_words, why_unlike
from dashboard.views.planlog_plans import LoggedPlan, PlanShare, name_plans
from dashboard.views.planlog_space import BETWEEN, subject_shown
from storage.reader import Reader
from storage.reading.plan_log import looks_of, subjects
from storage.vocabulary.planlog import AUTOPILOT, counted

_FOOT: Final = "Shaded: what the nearest look of either chose. Hollow: looks of A; filled: of B."

#: Plans of both whose costs are said.
_MOST_LINES: Final = 3


class LogsShown(NamedTuple):
    """Both logs, or why they are not drawn. name: of the log, names: those of both. before: of the
    address, in front of two statistics and the log."""

    pair: PairedLogs | None
    why_none: str = ""
    name: str = ""
    names: tuple[str, ...] = ()
    before: str = ""


class _SideLog(NamedTuple):
    entries: list[PlanLogEntry]
    plans: dict[str, LoggedPlan]
    schema: Mapping[str, Any]


def build(reader: Reader, context: Context, scope: PanelScope) -> LogsShown | None:
    """The logs of both stretches that the address names; None where neither has any."""
    asked = asked_for(reader, context)
    logs = [_logs(reader, side) for side in (asked.a, asked.b)]
    if not any(logs):
        return None
    both = [name for name in logs[0] if name in logs[1]]
    if not both:
        logged_a, logged_b = (", ".join(own) or "nothing" for own in logs)
        return LogsShown(None, f"A logged {logged_a}; B logged {logged_b}: no log is of both.")
    name = subject_shown(asked.log, both)
    shown = LogsShown(None, "", name, tuple(both), before_log(asked))
    a, b = _read(reader, asked.a, *logs[0][name]), _read(reader, asked.b, *logs[1][name])
    if a is None or b is None:
        side = "A" if a is None else "B"
        return shown._replace(why_none=f"{name}: no look was taken in the batches of {side}.")
    if why := why_unlike(a.schema, b.schema):
        return shown._replace(why_none=f"{name}: {why}")
    pair = pair_logs(a.entries, b.entries, (a.plans, b.plans), asked.log)
    space = pair.space._replace(subject=name, subjects=(name,))
    return shown._replace(pair=pair._replace(space=space))


def _logs(reader: Reader, side: ComparedStretch) -> dict[str, tuple[str, str]]:
    """What people call each log of a run -> its unit and what is decided."""
    return {
        f"{unit.title}: {subject or AUTOPILOT}": (unit.id, subject)
        for unit in reader.units(side.run, side.last)
        for subject in subjects(reader, side.run, unit.id)
    }


def _read(reader: Reader, side: ComparedStretch, unit: str, subject: str) -> _SideLog | None:
    """The newest log of a unit, its looks in the stretch; None where none was taken there."""
    looks = newest_log(looks_of(reader, side.run, side.last, unit, MOST_LOOKS, subject))
    entries = [entry for entry in plan_log(looks) if side.holds(entry.batch)]
    if not entries:
        return None
    book = Book(reader.entities(side.run), unit)
    plans = name_plans(looks, reader.plans(side.run, None, unit), book)
    return _SideLog(entries, plans, looks[-1].record["schema"])


def draw(shown: LogsShown, sheet: Sheet) -> Drawing:
    """The looks of both on two statistics and a sentence; the table twin: a row for each plan."""
    pair, logs = shown.pair, _logs_to_choose(shown, sheet.context)
    if pair is None:
        return Drawing([logs, empty("The logs have no space in common", shown.why_none)])
    lines = cost_lines(pair)
    more = [f"and {len(lines) - _MOST_LINES} more, in the table"] * (len(lines) > _MOST_LINES)
    costs = html.Ul(
        [html.Li(line) for line in (*lines[:_MOST_LINES], *more)], className="pw-log-back"
    )
    words = html.Div([html.P(pair_words(pair), className="pw-log-sentence"), costs])
    return Drawing(
        body=[logs, AxisPair(pair.space, shown.before), static(words)],
        figure=draw_pair(pair, sheet.theme),
        height=HEIGHT_PX,
        table=_table(pair),
        foot=static(html.P(_FOOT, className="pw-dim")),
        note=f"{pair.n_a} looks of A, {len(pair.space.points) - pair.n_a} of B",
    )


def _logs_to_choose(shown: LogsShown, context: Context) -> Component | str:
    if len(shown.names) < 2:
        return ""
    links = [
        jump(
            context,
            name,
            show=f"{shown.before}{BETWEEN * 2}{name}",
            className="pw-chip-link",
            **attrs(aria_current="true" if name == shown.name else None),
        )
        for name in shown.names
    ]
    return static(html.Nav(links, className="pw-chips", **attrs(aria_label="Which log")))


def _table(pair: PairedLogs) -> RowTable:
    unit = pair.space.cost_unit
    form, per, ran = form_of(unit), with_mu(unit), counted(unit).capitalize()
    columns = (
        TableColumn("Plan"),
        *(
            column
            for side in "AB"
            for column in (
                TableColumn(f"In {side}"),
                TableColumn(f"Looks of {side}", "int"),
                TableColumn(f"{ran}s of {side}", "pct"),
                TableColumn(f"Cost in {side}", form, per, "measured between looks"),
            )
        ),
    )
    rows = [
        [plan_cell(row.plan, row.plan.text), *_cells(row.a), *_cells(row.b)] for row in pair.plans
    ]
    return RowTable("Plans of both logs, those of both first", columns, rows)


def _cells(row: PlanShare | None) -> list[CellData]:
    nothing = "nothing ran under it between looks"
    if row is None:
        return [known(None, "not taken there") for _ in range(4)]
    return [row.plan.name, row.n_looks, row.share, known(row.measured, nothing)]


PANEL: Final = Panel(
    name="compare-logs",
    page="/compare",
    title="Plan logs in one space",
    sql=records.LOOKS,
    build=build,
    draw=draw,
    applies=looked,
    news=("run", "plans", "decisions"),
    show=True,
    whole=True,
    chart="Looks of both on two statistics, coloured by plan",
)
