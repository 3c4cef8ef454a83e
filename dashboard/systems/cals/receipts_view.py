"""Receipts of tuples that were shed, some of a batch; records to lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from dashboard.views.book import Book
from dashboard.views.numbers import known
from storage.tables.rows import StoredMatrix
from storage.vocabulary.cals import RECEIPT_COLUMNS

_SEPARATOR: Final = " "


class ReceiptLine(NamedTuple):
    """A tuple that was shed. window: its entity; title: its queries; batch: in which it was shed;
    number: of its arrival; value: that it was coalesced on; start, end: its valid time, in
    ``unit``; run_start, run_end: the run in memory it was in; left: length that was left of that,
    in so many pieces; delta, rho: δ⁺ and ρ⁻; loss: of accuracy, as predicted."""

    window: str
    title: str
    batch: int
    unit: str
    number: str
    value: str
    reason: str
    start: float | None
    end: float | None
    run_start: float | None
    run_end: float | None
    left: float | None
    pieces: float | None
    delta: float | None
    rho: float | None
    loss: float | None

    @property
    def address(self) -> str:
        """How the page's address names it."""
        return f"{self.number}{_SEPARATOR}{self.window}"


class ReceiptsView(NamedTuple):
    """lines: receipts that pass the filter, those first that cost most; n: of all; n_shed: tuples
    that were shed in their batches; chosen: address of the one the page's address names."""

    lines: tuple[ReceiptLine, ...]
    n: int
    n_shed: float
    chosen: str


def receipts_of(book: Book, stored: Mapping[str, StoredMatrix]) -> list[ReceiptLine]:
    """Of all windows, those that cost most first."""
    lines = [line for window, matrix in stored.items() for line in _lines(book, window, matrix)]
    return sorted(lines, key=lambda line: (-(line.loss or 0.0), line.window, int(line.number)))


def _lines(book: Book, window: str, stored: StoredMatrix) -> Iterator[ReceiptLine]:
    matrix = stored.matrix
    unknown = [""] * len(matrix.rows)
    reasons, values = (matrix.row_stats.get(name, unknown) for name in ("reason", "value"))
    for number, row, value, reason in zip(matrix.rows, matrix.values, values, reasons, strict=True):
        own = dict(zip(matrix.columns, row, strict=True))
        numbers = (own[name] if known(own.get(name)) else None for name in RECEIPT_COLUMNS)
        place = window, book.title(window), stored.batch, matrix.unit
        yield ReceiptLine(*place, number, value, reason, *numbers)


def build_receipts(
    lines: list[ReceiptLine], n_shed: float, text: str, reason: str, chosen: str
) -> ReceiptsView:
    """text: that the value or the query has in it, whatever the case; reason: '' = every."""
    wanted = text.strip().casefold()
    passing = [
        line
        for line in lines
        if (not reason or line.reason == reason)
        and (wanted in line.value.casefold() or wanted in line.title.casefold())
    ]
    return ReceiptsView(tuple(passing), len(lines), n_shed, chosen)
