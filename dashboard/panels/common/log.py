"""The engine's log, line by line with the batch each was in, and what a kill now would cost."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from dashboard.base.context import Context
from dashboard.components.formats import clock, show
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.report.ending import checkpoint_of
from dashboard.views.ends import Checkpoint
from storage.reader import Reader
from storage.tables.rows import StoredLine

#: Lines shown.
MOST_LINES: Final = 200
TONES: Final = {"WARNING": "warning", "ERROR": "error", "CRITICAL": "error"}


class LogView(NamedTuple):
    """The lines up to the moment, newest first."""

    lines: list[StoredLine]
    checkpoint: Checkpoint


def build(reader: Reader, context: Context, scope: PanelScope) -> LogView | None:
    """The lines up to the moment; None of a run that kept none."""
    is_newest = context.batch == context.now
    lines = reader.log_lines(context.run_id, MOST_LINES, None if is_newest else context.batch)
    if not lines or context.run is None:
        return None
    return LogView([*lines[::-1]], checkpoint_of(reader, context.run, context.batch))


def draw(view: LogView, sheet: Sheet) -> Drawing:
    """A row a line."""
    columns = (
        TableColumn("Time", "text", "UTC"),
        TableColumn("Batch", "int"),
        TableColumn("Level"),
        TableColumn("Line"),
    )
    rows = [_cells(stored, sheet.context) for stored in view.lines]
    return Drawing(
        RowTable("The engine's log, newest first", columns, rows, className="pw-log"),
        note=f"After a kill now: {_lower(view)}" if sheet.context.running else "",
    )


def _lower(view: LogView) -> str:
    words = " ".join(view.checkpoint.words)
    return words[:1].lower() + words[1:]


def _cells(stored: StoredLine, context: Context) -> list[CellData]:
    """The cells of a line: time, batch, level, text."""
    line, batch = stored.line, stored.batch
    is_recorded = context.now is not None and batch <= context.now
    more: dict[str, Any] = {"title": "under way, not on record"}
    if is_recorded:
        more = {"jump": jump_to(context, "/timeline", at=batch)}
    where: CellData = {"text": show(batch, "int"), "sort": batch, **more}
    level = {"badges": [[line.level.lower(), TONES.get(line.level, "quiet")]], "sort": line.level}
    return [{"text": clock(line.time), "sort": line.time}, where, level, line.text]


PANEL: Final = Panel(
    name="log",
    page="/monitor",
    title="The engine's log",
    sql=records.LOG,
    twin=False,
    build=build,
    draw=draw,
    news=("run",),
    beats=True,
)
