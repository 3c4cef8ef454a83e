"""Gaps in a run: from the last sign of life of a killed or ended engine to when the run went on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dashboard.components.formats import duration
from storage.tables.rows import StoredEvent


class Gap(NamedTuple):
    """No engine was at work from ``since`` to ``until`` (Unix s). batch: the first one after it.

    title, detail: of the event that says the run went on, and what was kept.
    """

    since: float
    until: float
    batch: int
    title: str
    detail: str

    @property
    def words(self) -> str:
        """How long, as text."""
        return f"no engine for {duration(self.until - self.since)}"


def parted(
    gaps: Iterable[Gap], times: Sequence[float], *values: Sequence[float | None]
) -> tuple[list[float], list[list[float | None]]]:
    """A line with a point without a value in each gap, so that none is drawn across it. times:
    ascending; values: lists as long, or empty ones, which stay so."""
    xs, columns = list(times), [list(column) for column in values]
    for gap in gaps:
        place = bisect_right(xs, gap.since)
        if 0 < place < len(xs):
            xs.insert(place, gap.since)
            for column in filter(None, columns):
                column.insert(place, None)
    return xs, columns


def gaps_of(events: Iterable[StoredEvent]) -> list[Gap]:
    """The gaps that events tell of, in their order."""
    gaps = []
    for stored in events:
        event, since = stored.event, (stored.event.ref or {}).get("since")
        if isinstance(since, int | float) and since < stored.time:
            gaps.append(Gap(since, stored.time, stored.batch + 1, event.title, event.detail))
    return gaps
