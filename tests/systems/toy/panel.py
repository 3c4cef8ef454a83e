"""The shares of the last batches."""

from __future__ import annotations

from typing import Final

from dashboard.base.context import Context
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from storage.reader import Reader
from storage.vocabulary.records import Matrix

COLUMNS: Final = (TableColumn("batch"), TableColumn("share", "f3"))


def build(reader: Reader, context: Context, scope: PanelScope) -> Matrix | None:
    """The matrix at the moment."""
    found = reader.matrix(context.run_id, "shares", context.batch, scope.only)
    return None if found is None else found.matrix


def draw(shares: Matrix, sheet: Sheet) -> Drawing:
    """A table."""
    rows: list[list[CellData]] = [
        [batch, *cells] for batch, cells in zip(shares.rows, shares.values, strict=True)
    ]
    return Drawing(RowTable("Shares that passed, batch by batch", COLUMNS, rows))


PANEL: Final = Panel(
    name="shares",
    page="/matrix",
    title="Shares that pass",
    build=build,
    draw=draw,
    applies=has_matrix("shares"),
    news=("run", "plans", "matrices"),
    unit=True,
    twin=False,
    knobs=("share",),
    knobs_title="Turn the share",
)
