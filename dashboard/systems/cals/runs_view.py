"""Runs of the values of which windows lack most, and what is left of them; records to lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final, Literal, NamedTuple, TypeAlias

from dashboard.systems.cals.receipts_view import ReceiptLine
from dashboard.views.book import Book
from dashboard.views.numbers import known
from storage.tables.rows import StoredMatrix

#: 'memory': a piece whose run is not known.
Fate: TypeAlias = Literal["unchanged", "shortened", "split", "lost", "memory"]
FATES: Final[tuple[Fate, ...]] = ("unchanged", "shortened", "split", "lost", "memory")

Span: TypeAlias = tuple[float, float]


class CoalescedRun(NamedTuple):
    """A run. start, end: as it would be without a limit, of a piece whose run is not known its own;
    pieces: what is left of it. chosen: the receipt that is looked at is of it."""

    start: float
    end: float
    pieces: tuple[Span, ...]
    fate: Fate
    chosen: bool = False

    @property
    def left(self) -> float:
        """Length that is left of it."""
        return sum(end - start for start, end in self.pieces)


class RunLane(NamedTuple):
    """The runs of a value in a window, by start. shed: tuples that are lacking; loss: of accuracy
    that these are charged with; n_runs: with pieces there was no room for in the record."""

    value: str
    shed: float
    loss: float
    n_pieces: float
    runs: tuple[CoalescedRun, ...]

    @property
    def is_cut(self) -> bool:
        """Not all of its runs are on record."""
        return self.n_pieces > sum(max(1, len(run.pieces)) for run in self.runs)


class WindowRuns(NamedTuple):
    """A window as of a batch: its lanes, those that lack most tuples first, from start to end, in
    ``unit``."""

    window: str
    title: str
    batch: int
    unit: str
    start: float
    end: float
    lanes: tuple[RunLane, ...]


class ShedRunsView(NamedTuple):
    """windows: that lack tuples; chosen: the receipt that is looked at, None without one. zoom: a
    part of each window is drawn, one of so many."""

    windows: tuple[WindowRuns, ...]
    chosen: ReceiptLine | None
    zoom: int = 1

    @property
    def is_drawn(self) -> bool:
        """Whether the run of the receipt is among those on record."""
        lanes = [lane for window in self.windows for lane in window.lanes]
        return any(run.chosen for lane in lanes for run in lane.runs)


def build_runs(
    book: Book,
    groups: Mapping[str, StoredMatrix],
    runs: Mapping[str, StoredMatrix],
    chosen: ReceiptLine | None,
    zoom: int = 1,
) -> ShedRunsView | None:
    """None where nothing is on record of any window. zoom: of each window the newest part is drawn,
    one of so many, or the one around the receipt that is looked at."""
    windows = [
        _window(book, id, groups[id], stored, chosen, zoom)
        for id, stored in runs.items()
        if id in groups and stored.matrix.rows
    ]
    windows.sort(key=lambda window: window.title)
    return ShedRunsView(tuple(windows), chosen, zoom) if windows else None


def _window(
    book: Book,
    id: str,
    groups: StoredMatrix,
    runs: StoredMatrix,
    chosen: ReceiptLine | None,
    zoom: int,
) -> WindowRuns:
    own = chosen if chosen is not None and chosen.window == id else None
    pieces = zip(runs.matrix.row_stats["value"], runs.matrix.values, strict=True)
    by_value = {
        value: tuple(_runs([row for _, row in rows], own if own and own.value == value else None))
        for value, rows in groupby(pieces, key=lambda pair: pair[0])
    }
    lost = _of_receipt(own) if own else None
    if own and lost and not any(run.chosen for run in by_value.get(own.value, ())):
        by_value[own.value] = (lost, *by_value.get(own.value, ()))
    lanes = [
        RunLane(value, shed, loss, n_pieces, by_value.get(value, ()))
        for value, (shed, loss, n_pieces) in zip(
            groups.matrix.rows, groups.matrix.values, strict=True
        )
    ]
    every = [run for lane in lanes for run in lane.runs]
    first, last = _drawn(every, zoom)
    unit = runs.matrix.unit
    return WindowRuns(id, book.title(id), runs.batch, unit, first, last, tuple(lanes))


def _drawn(runs: Sequence[CoalescedRun], zoom: int) -> Span:
    """From where to where runs are drawn."""
    first, last = min(run.start for run in runs), max(run.end for run in runs)
    width = (last - first) / zoom
    looked_at = next((run for run in runs if run.chosen), None)
    start = last - width
    if looked_at is not None:
        start = min(start, max(first, (looked_at.start + looked_at.end - width) / 2))
    return start, start + width


def _runs(rows: Sequence[Sequence[float | None]], chosen: ReceiptLine | None) -> list[CoalescedRun]:
    lines = []
    for ends, same in groupby(rows, key=lambda row: (row[0], row[1])):
        pieces = [
            (start, end) for _, _, start, end in same if start is not None and end is not None
        ]
        start, end = ends
        if start is not None and end is not None:
            lines.append(_run(start, end, tuple(pieces), chosen))
        else:
            lines += [
                CoalescedRun(*piece, (piece,), "memory", _has(piece, chosen)) for piece in pieces
            ]
    return lines


def _run(
    start: float, end: float, pieces: tuple[Span, ...], chosen: ReceiptLine | None
) -> CoalescedRun:
    fate: Fate = "lost" if not pieces else "split" if len(pieces) > 1 else "shortened"
    if pieces == ((start, end),):
        fate = "unchanged"
    return CoalescedRun(start, end, pieces, fate, _has((start, end), chosen))


def _of_receipt(line: ReceiptLine) -> CoalescedRun | None:
    """The run as the receipt tells of it, where it does: what is left of one that overlaps others
    is not told."""
    if None in (line.start, line.end, line.run_start, line.run_end, line.left):
        return None
    start, end, first, last = (
        value or 0.0 for value in (line.start, line.end, line.run_start, line.run_end)
    )
    pieces = tuple(piece for piece in ((first, start), (end, last)) if piece[0] < piece[1])
    run = _run(first, last, pieces, line)
    return run if run.left == line.left else None


def _has(span: Span, receipt: ReceiptLine | None) -> bool:
    """Whether the tuple of the receipt, or of an unknown run what is left of it, lies in it."""
    if receipt is None or receipt.start is None or receipt.end is None:
        return False
    start, end = span
    if start <= receipt.start and receipt.end <= end:
        return True
    first, last = receipt.run_start, receipt.run_end
    return known(first) and known(last) and (first or 0) <= start and end <= (last or 0)
