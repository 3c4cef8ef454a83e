"""Accuracy over memory on the Shedding page: a point to drag, what would go, and to apply it."""

from __future__ import annotations

from typing import Any, Final

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.drawn import PanelDrawing, knob_row
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.panels.facts import knobs_of
from dashboard.systems.cals.curve_view import LIMIT_KNOB, MemoryCurves, build_curves
from dashboard.systems.cals.history import CURVE, PAGE, matrices_of
from dashboard.systems.cals.shed import windows_of
from dashboard.views.book import Book
from storage.reader import Reader

DRAWING: Final = "pw-shed-curve-drawing"
NOTE: Final = "what answers would be with fewer tuples, by the algorithm in force; drag the line"


class ShedCurve(PanelDrawing):
    """Accuracy over memory with a limit to drag (shed_curve.js); drawing: as written below."""

    _type = "ShedCurve"


def build(reader: Reader, context: Context, scope: PanelScope) -> MemoryCurves | None:
    """The newest curve of each window of the unit up to the moment."""
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at), scope.unit)
    curves = matrices_of(reader, context, scope, book, CURVE)
    knob = knobs_of(reader, run, at, scope).get(LIMIT_KNOB)
    return build_curves(windows_of(reader, context, scope), curves, knob)


def draw(view: MemoryCurves, sheet: Sheet) -> Drawing:
    """A curve for each window; the table twin: their points."""
    return Drawing(
        table=_table(view), note=NOTE, sets=(sheet.context.run_id, _sent(view), sheet.locked)
    )


def _sent(view: MemoryCurves) -> dict[str, Any]:
    windows = [
        {**window._asdict(), "points": [point._asdict() for point in window.points]}
        for window in view.windows
    ]
    return {"windows": windows, "knob": None if view.knob is None else knob_row(view.knob)}


_COLUMNS: Final = (
    TableColumn("Query"),
    TableColumn("Limit", "int", "tuples", "in a shard"),
    TableColumn("Memory", "bytes"),
    TableColumn("Accuracy", "f3", "", "once the window holds no others"),
    TableColumn("At once", "f3", "", "of what is in memory now"),
    TableColumn("Would go at once", None, "", "tuples by value, those of most first"),
)


def _table(view: MemoryCurves) -> Component:
    rows: list[list[CellData]] = [
        [
            window.title,
            round(point.limit),
            point.bytes,
            point.accuracy,
            point.at_once,
            ", ".join(f"{value}: {n}" for value, n in point.going),
        ]
        for window in view.windows
        for point in window.points
    ]
    return RowTable("Accuracy of answers by memory", _COLUMNS, rows)


PANEL: Final = Panel(
    name="shed-curve",
    page=PAGE,
    title="Accuracy over memory",
    sql=records.matrices(CURVE),
    build=build,
    draw=draw,
    applies=has_matrix(CURVE),
    values=True,
    draws=True,
    news=("run", "plans", "matrices", "knobs"),
    beats=True,
    unit=True,
    controls=lambda context, services: [ShedCurve(DRAWING)],
    sets=ShedCurve.filled(DRAWING),
)
