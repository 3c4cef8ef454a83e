"""What windows that shed recorded up to a moment: matrices, and when they began or ended to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboard.base.context import Context
from dashboard.panels.contract import PanelScope
from dashboard.views.book import Book
from storage.reader import Reader
from storage.tables.rows import DecisionEntry, StoredMatrix

#: The role of a window that may shed, and the kinds of its matrices.
WINDOW: Final = "shed"
RECEIPTS: Final = "shed receipts"
GROUPS: Final = "shed groups"
RUNS: Final = "shed runs"
CURVE: Final = "accuracy by memory"
RACE: Final = "race of the algorithms"
PAGE: Final = "/shed"
#: Evaluations that are looked through for those that began or ended shedding.
MOST_READ: Final = 500


def matrices_of(
    reader: Reader, context: Context, scope: PanelScope, book: Book, kind: str
) -> Mapping[str, StoredMatrix]:
    """Window -> its newest matrix of a kind up to the moment."""
    run, at = context.run_id, context.batch
    names = {key.name for key in reader.matrix_keys(run, scope.only) if key.kind == kind}
    of_windows = {entity.id: f"{kind} of {entity.id}" for entity in book.of(WINDOW)}
    newest = {
        id: reader.matrix(run, name, at, scope.only)
        for id, name in of_windows.items()
        if name in names
    }
    return {id: matrix for id, matrix in newest.items() if matrix is not None}


def turns_of(reader: Reader, run: str, until: int | None, scope: PanelScope) -> list[DecisionEntry]:
    """The decisions by which shedding began or ended, oldest first."""
    entries = reader.decisions(
        run, until=until, verdicts=("acted",), limit=MOST_READ, unit=scope.only, brief=True
    )
    return [entry for entry in entries[::-1] if entry.decision.kind == "shedding"]
