"""Regions of the plan log on the Timeline: which conditions there were, and the plans for them."""

from __future__ import annotations

from typing import Final

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.rows import WHEN, CellData, RowTable, TableColumn, when
from dashboard.figures.regions import draw_regions, regions_height
from dashboard.panels import records
from dashboard.panels.common.planlog_parts import looked, plan_cell, read_plans
from dashboard.panels.contract import HISTORY, Drawing, Panel, PanelScope, Sheet
from dashboard.views.planlog import newest_log, plan_log
from dashboard.views.planlog_regions import RegionLanes, build_lanes
from dashboard.views.planlog_space import subject_shown
from storage.reader import Reader
from storage.reading.plan_log import looks_of, subjects

MOST_LOOKS: Final = 1000
_NOTE: Final = "conditions that came back are in the lane they had; click a mark to go there"
_COLUMNS: Final = (
    *WHEN,
    TableColumn("Region", "int"),
    TableColumn("Plan"),
    TableColumn("Until batch", "int"),
    TableColumn("Looks", "int"),
    TableColumn("Times before", "int"),
)


def build(reader: Reader, context: Context, scope: PanelScope) -> RegionLanes | None:
    """The whole recorded history of the first log of the unit, an autopilot's before others; while
    frozen, up to there."""
    subject = subject_shown(None, subjects(reader, context.run_id, scope.only))
    until = context.whole_until
    looks = newest_log(looks_of(reader, context.run_id, until, scope.only, MOST_LOOKS, subject))
    return build_lanes(plan_log(looks), read_plans(reader, context, scope, looks))


def draw(lanes: RegionLanes, sheet: Sheet) -> Drawing:
    """A lane for each region; the table twin: a row for each stay, newest first."""
    n, drawn = lanes.n_regions, len(lanes.regions)
    note = _NOTE if n == drawn else f"{drawn} of {n} regions, those that lasted longest; {_NOTE}"
    return Drawing(
        figure=draw_regions(lanes, sheet.theme),
        height=regions_height(lanes),
        table=_table(lanes, sheet.context),
        note=note,
    )


def _table(lanes: RegionLanes, context: Context) -> Component:
    rows: list[list[CellData]] = [
        [
            *when(context, stay.batch, stay.since),
            stay.region,
            plan_cell(stay.plan),
            stay.last,
            stay.n_looks,
            stay.n_back,
        ]
        for stay in reversed(lanes.stays)
    ]
    return RowTable("Stays in regions, newest first", _COLUMNS, rows)


PANEL: Final = Panel(
    name="plan-regions",
    page="/timeline",
    title="Regions of the plan log",
    sql=records.LOOKS,
    build=build,
    draw=draw,
    applies=looked,
    news=HISTORY,
    whole=True,
    unit=True,
    chart="Which region of the plan log the statistics were in over time, with the plans chosen",
)
