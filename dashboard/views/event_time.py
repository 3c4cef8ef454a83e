"""How far the streams of a run are apart in event time, and which query waits for which stream."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from dashboard.components.formats import duration, show
from storage.tables.rows import StoredInputBatch
from storage.vocabulary.records import Entity


class StreamLag(NamedTuple):
    """A stream: its time batch by batch (None before it has one), and by how much it was behind the
    farthest stream."""

    name: str
    batches: list[int]
    lags: list[float | None]
    newest: str


class WaitingQuery(NamedTuple):
    """A query that waits. since: batch, None = unknown."""

    entity: str
    name: str
    streams: tuple[str, ...]
    since: int | None


class EventTimeView(NamedTuple):
    """is_clock: times are of the day, lags in seconds; else both are plain numbers."""

    lags: list[StreamLag]
    waiting: list[WaitingQuery]
    is_clock: bool

    @property
    def watermark(self) -> str:
        """'watermark 18:52:43, of South; it is 1 min 35 s behind West', '' of one stream."""
        known = [(lag.lags[-1], lag) for lag in self.lags if lag.lags and lag.lags[-1] is not None]
        if len(known) < 2:
            return ""
        behind, slowest = max(known, key=lambda pair: pair[0] or 0.0)
        _, farthest = min(known, key=lambda pair: pair[0] or 0.0)
        if not behind:
            return "all streams are at the same time"
        words = duration(behind) if self.is_clock else show(behind, "si")
        at = slowest.newest.partition(".")[0]
        return f"watermark {at}, of {slowest.name}: {words} behind {farthest.name}"


def build_event_time(
    stored: Iterable[StoredInputBatch], entities: Iterable[Entity]
) -> EventTimeView | None:
    """stored: of all inputs, oldest first. None where no two streams have times, nobody waits."""
    by_batch: dict[int, dict[str, str]] = {}
    names: dict[str, None] = {}
    for row in stored:
        by_batch.setdefault(row.batch, {})[row.counts.input] = row.counts.stream_time
        if row.counts.stream_time:
            names[row.counts.input] = None
    waiting = waiting_queries(entities)
    if len(names) < 2 and not waiting:
        return None
    texts = [text for own in by_batch.values() for text in own.values() if text]
    is_clock = any(_clock(text) is not None for text in texts)
    return EventTimeView(_lags(by_batch, list(names), is_clock), waiting, is_clock)


def _lags(
    by_batch: dict[int, dict[str, str]], names: Sequence[str], is_clock: bool
) -> list[StreamLag]:
    read = _clock if is_clock else _number
    newest: dict[str, tuple[float, str]] = {}
    lags: dict[str, list[float | None]] = {name: [] for name in names}
    for own in by_batch.values():
        for name, text in own.items():
            time = read(text)
            if time is not None and time >= newest.get(name, (time, ""))[0]:
                newest[name] = (time, text)
        farthest = max((time for time, _ in newest.values()), default=0.0)
        for name in names:
            lags[name].append(farthest - newest[name][0] if name in newest else None)
    batches = list(by_batch)
    return [StreamLag(n, batches, lags[n], newest.get(n, (0.0, ""))[1]) for n in names]


def waiting_queries(entities: Iterable[Entity]) -> list[WaitingQuery]:
    """Queries that wait for a stream, by name."""
    waiting = []
    for entity in entities:
        facts: dict[str, Any] = entity.properties or {}
        streams = tuple(map(str, facts.get("waits_for") or ()))
        if entity.role == "query" and streams:
            since = facts.get("waits_since")
            since = since if isinstance(since, int) else None
            waiting.append(WaitingQuery(entity.id, entity.name, streams, since))
    return sorted(waiting, key=lambda query: query.name)


def _clock(text: str) -> float | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    if text.isdecimal():  # a number that reads as a date
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
