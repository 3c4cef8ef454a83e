"""The k ledger: k in use beside its estimate and the distances seen, and what it brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.drawn import PanelDrawing, knob_row
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to, known
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.panels.facts import knobs_of, newest_matrices
from dashboard.systems.kmon.history import CONSTRAINT, LEDGER, SEEN, recent
from dashboard.systems.kmon.ledger_view import (
    FORBID_KNOB,
    PIN_KNOB,
    TOTALLED,
    ConstraintLine,
    LedgerView,
    build_ledger,
    total_of,
    used_keys,
)
from dashboard.views.book import Book
from dashboard.views.knobs import NAMES_SEPARATOR
from storage.reader import Reader
from storage.tables.rows import StoredMatrix

PAGE: Final = "/constraints"
DRAWING: Final = "pw-k-ledger-drawing"
NOTE: Final = "k: how many arrivals a tuple waits for its partner at most before it is let go"
NOT_USED: Final = "∞: nothing is let go by it"


class KLedger(PanelDrawing):
    """Constraints with their k on one logarithmic axis (k_ledger.js); drawing: as written below."""

    _type = "KLedger"


def build(reader: Reader, context: Context, scope: PanelScope) -> LedgerView | None:
    """The ledger of the unit as of the moment."""
    seen = recent(reader, context.run_id, SEEN, context.batch, scope.unit)
    return read_ledger(reader, context, scope, seen)


def read_ledger(
    reader: Reader, context: Context, scope: PanelScope, seen: Sequence[StoredMatrix]
) -> LedgerView | None:
    """The ledger with these distances of the last batches."""
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at), scope.unit)
    since = seen[0].batch if seen else at
    used = reader.many_series(run, used_keys(book), since_batch=since, until_batch=at)
    lost = reader.many_series(run, book.keys_of(CONSTRAINT, TOTALLED), until_batch=at)
    return build_ledger(
        book,
        reader.values(run, at),
        newest_matrices(reader, run, LEDGER, at, scope),
        seen,
        {data.entity: data for data in used.values()},
        {key: total_of(data) for key, data in lost.items()},
        knobs_of(reader, run, at, scope),
    )


def draw(view: LedgerView, sheet: Sheet) -> Drawing:
    """A row for each constraint; the table twin: all of their numbers."""
    return Drawing(
        table=_table(view, sheet.context),
        note=NOTE,
        sets=(sheet.context.run_id, _sent(view), sheet.locked),
    )


def _sent(view: LedgerView) -> dict[str, Any]:
    roles = {"pin": PIN_KNOB, "forbid": FORBID_KNOB}
    return {
        "joins": [join._asdict() for join in view.joins],
        "lines": [sent_line(line) for line in view.lines],
        "knobs": {
            role: knob_row(view.knobs[name]) for role, name in roles.items() if name in view.knobs
        },
        "separator": NAMES_SEPARATOR,
    }


def sent_line(line: ConstraintLine) -> dict[str, Any]:
    """A constraint as the scripts read it; dots as [distance, 1 = above the k in use then]."""
    dots = [[dot.distance, int(dot.above)] for dot in line.dots]
    return line._asdict() | {"dots": dots}


_COLUMNS: Final = (
    TableColumn("Constraint"),
    TableColumn("State"),
    TableColumn("k in use", "int", "tuples"),
    TableColumn("Declared", "int", "tuples"),
    TableColumn("Estimate", "int", "tuples", "of the last distances"),
    TableColumn("95 % from", "int", "tuples"),
    TableColumn("95 % to", "int", "tuples"),
    TableColumn("Noticed up to", "int", "tuples", "the largest distance that is surely noticed"),
    TableColumn("Safe k", "int", "tuples", "none of the distances on record is larger"),
    TableColumn("Distances", "int", "", "that the estimate is of"),
    TableColumn("Above k", "int", "", "distances of the batch that are larger than k in use"),
    TableColumn("Saved", "bytes", "", "that would be in memory without it"),
    TableColumn("Saved tuples", "int"),
    TableColumn("Lost", "int", "results", "since the run began, at most"),
    TableColumn("Returned", "int", "tuples", "that lay aside, since the run began"),
    TableColumn("Watching", "int", "ns", "in the batch"),
)


def _table(view: LedgerView, context: Context) -> Component:
    rows = [_row(line, context) for line in view.lines]
    return RowTable("Constraints, those that save most first", _COLUMNS, rows)


def _row(line: ConstraintLine, context: Context) -> list[CellData]:
    state = f"{line.state}, {line.choice}" if line.choice else line.state
    return [
        {"text": line.name, "sub": line.words, "jump": jump_to(context, "/plan", node=line.id)},
        state,
        endless(line.used),
        line.declared,
        known(line.estimate, "too few distances say anything yet"),
        line.low,
        line.high,
        line.kept,
        line.safe,
        line.n,
        line.violations,
        line.saved_bytes,
        line.saved_tuples,
        line.lost,
        line.returned,
        line.cost,
    ]


def endless(k: float | None) -> CellData:
    """A k in use; the largest there is while nothing is let go by it."""
    return {"text": "∞", "sort": 1e300, "title": NOT_USED} if k is None else k


PANEL: Final = Panel(
    name="k-ledger",
    page=PAGE,
    title="k ledger",
    sql=records.samples(CONSTRAINT),
    build=build,
    draw=draw,
    applies=has_role(CONSTRAINT),
    values=True,
    news=("run", "plans", "decisions", "knobs"),
    beats=True,
    unit=True,
    controls=lambda context, services: [KLedger(DRAWING)],
    sets=KLedger.filled(DRAWING),
)
