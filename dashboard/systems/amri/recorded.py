"""What states were asked for, window by window, as it is on record up to a moment."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from dashboard.base.context import Context
from dashboard.panels.contract import PanelScope
from dashboard.panels.facts import newest_matrices
from dashboard.systems.amri.bits_view import PATTERNS
from storage.reader import Reader
from storage.tables.rows import StoredMatrix
from storage.vocabulary.amri_windows import PassedWindow, StateSeen

SEEN: Final = "seen"
#: Windows up to the moment that are looked at where no stretch is asked for, and at most.
LAST_WINDOWS: Final = 60
MOST_WINDOWS: Final = 400


class RecordedWindow(NamedTuple):
    """Between two records of a state, in batches first to last."""

    first: int
    last: int
    time: float
    window: PassedWindow


def windows_by_state(
    reader: Reader,
    context: Context,
    scope: PanelScope,
    stretch: tuple[int | None, int | None] = (None, None),
) -> dict[str, list[RecordedWindow]]:
    """By state that was asked for anything within a stretch of batches, oldest first. None: its
    last windows up to the moment; states recorded without what that takes are left out."""
    run, at = context.run_id, context.batch
    first, last = stretch
    until = at if last is None else last if at is None else min(last, at)
    by_state = {}
    for newest in newest_matrices(reader, run, PATTERNS, until, scope):
        if newest.matrix.row_stats.get(SEEN):
            windows = _windows(reader, run, newest, first)
            if windows:
                by_state[str(newest.matrix.row_stats["state"][0])] = windows
    return by_state


def _windows(
    reader: Reader, run: str, newest: StoredMatrix, first: int | None
) -> list[RecordedWindow]:
    """Those that end with a record, from the newest one back."""
    most = LAST_WINDOWS if first is None else MOST_WINDOWS
    name, unit = newest.matrix.name, newest.matrix.unit_id
    records = [newest]
    while len(records) <= most and records[-1].batch > 0:
        before = _stored(reader.base, run, name, records[-1].batch - 1, unit)
        if before is None or not before.matrix.row_stats.get(SEEN):
            break
        records.append(before)
        if first is not None and before.batch < first:
            break
    seen = [(stored, _seen(stored.matrix.row_stats)) for stored in reversed(records)]
    return [
        RecordedWindow(start.batch + 1, end.batch, end.time, window)
        for (start, before), (end, after) in pairwise(seen)
        for window in [before.until(after)]
        if window.counts.requests
    ]


@lru_cache(maxsize=4096)
def _stored(reader: Reader, run: str, name: str, at: int, unit: str) -> StoredMatrix | None:
    """As of a batch that is followed by another one, so that nothing more comes to it."""
    return reader.matrix(run, name, at, unit)


def _seen(facts: Mapping[str, object]) -> StateSeen:
    return StateSeen.read(facts[SEEN])  # type: ignore[arg-type]  # as StateSeen.json has it
