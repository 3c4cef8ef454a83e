"""Bits of the states' indexes on the Timeline."""

from __future__ import annotations

from typing import Final

from dashboard.base.context import Context
from dashboard.components.rows import WHEN, CellData, RowTable, TableColumn, when
from dashboard.panels import records
from dashboard.panels.contract import HISTORY, Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.systems.amri.bits_view import STATE
from dashboard.systems.amri.lanes_figure import draw_lanes, lanes_height
from dashboard.systems.amri.lanes_view import BitsLane, build_lanes
from storage.reader import Reader

NOTE: Final = "bits in force for new partitions, stacked by attribute"
#: The newest changes of plan that are looked through for bits that moved.
MOST_READ: Final = 2000


def build(reader: Reader, context: Context, scope: PanelScope) -> list[BitsLane] | None:
    """The whole recorded history; while frozen, only what was known at the frozen moment."""
    run, until = context.run_id, context.whole_until
    ends = reader.batches(run, 0, 0), reader.batches(run, until=until, limit=1)
    if not all(ends):
        return None
    first, last = ((batches[-1].id or 0, batches[-1].time) for batches in ends)
    switched = reader.decisions(
        run, until=until, verdicts=("switched",), limit=MOST_READ, unit=scope.only, brief=True
    )
    return build_lanes(switched, first, last) or None


def draw(lanes: list[BitsLane], sheet: Sheet) -> Drawing:
    """The lanes; the table twin: one row where bits moved, newest first."""
    figure, height = draw_lanes(lanes, sheet.theme), lanes_height(lanes)
    return Drawing(figure=figure, height=height, table=_table(lanes, sheet.context), note=NOTE)


_COLUMNS: Final = (
    *WHEN,
    TableColumn("State"),
    TableColumn("Why"),
)


def _table(lanes: list[BitsLane], context: Context) -> RowTable:
    moved = [(lane, point) for lane in lanes for point in lane.points if point.seq is not None]
    moved.sort(key=lambda pair: -(pair[1].seq or 0))
    rows: list[list[CellData]] = [
        [
            *when(context, point.batch, point.time),
            lane.state,
            point.why,
        ]
        for lane, point in moved
    ]
    return RowTable("Where bits moved, newest first", _COLUMNS, rows)


PANEL: Final = Panel(
    name="bit-lanes",
    page="/timeline",
    title="Bits of indexes",
    sql=records.DECISIONS,
    build=build,
    draw=draw,
    applies=has_role(STATE),
    news=HISTORY,
    whole=True,
    unit=True,
    chart="Bits of each state's index by attribute over time",
)
