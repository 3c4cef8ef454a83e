"""Clocks: time goes on by itself for each set of streams that some query reads.

The heartbeat of a clock is the smallest watermark of its streams that have not ended, and the tick
after the last one of all when every one has ended. A query waits for the streams that it reads, and
for no other. A stream's tuples have one time for all clocks; each clock takes them when it is
there, and those that a slower one has still to take wait for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from backend.model.schema import Schema
from backend.operators.network.core.blocks import NEVER
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.core.plan import Streams
from backend.operators.network.core.reports import ClockReport
from backend.operators.network.shards.timed import StreamState, Timed, in_a_row

#: Types of timestamps that are times: their first tick is the first one seen, not tick 0.
TIMES: Final = ("date", "timestamp")


@dataclass(frozen=True, slots=True)
class ClockState:
    """Where a clock is. heartbeat: the first tick that is not over; has_begun: there is a first
    tick; n_released: by stream, tuples that it let into the network."""

    heartbeat: int = 0
    has_begun: bool = False
    n_released: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClockSpan:
    """What a batch is to a clock: the ticks begin .. heartbeat - 1. has_begun: without it there is
    nothing to do; first: by stream, the number of its first tuple among those of the clock; over:
    streams that give it no more tuples, in this batch either, sorted."""

    begin: int
    heartbeat: int
    has_begun: bool
    first: Mapping[str, int]
    over: Sequence[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Released:
    """What goes into the network. rows: by stream the tuples that any clock takes."""

    spans: Mapping[Streams, ClockSpan]
    rows: Mapping[str, Timed]

    @property
    def heartbeat(self) -> int:
        """Of the slowest clock."""
        return min((span.heartbeat for span in self.spans.values()), default=0)

    def taken(self, clock: Streams) -> dict[str, Timed]:
        """By stream the tuples that a clock takes."""
        span = self.spans[clock]
        return {
            name: self.rows[name].take(self.rows[name].places(span.begin, span.heartbeat))
            for name in span.first
        }


class Moved(NamedTuple):
    """A clock in a batch, after it, and in words of the report."""

    after: ClockState
    span: ClockSpan
    report: ClockReport


def read_by(job: NetworkJob, clock: Streams) -> Collection[str]:
    """The streams whose time a clock follows: all of them, where its queries read none."""
    return clock or job.streams


def taken_up(
    job: NetworkJob, before: Mapping[Streams, ClockState], streams: Mapping[str, StreamState]
) -> dict[Streams, ClockState]:
    """The clocks of a job before a batch. One that is new begins where the slowest of its streams
    is that were read before."""
    states = {}
    for clock in job.plan.clocks:
        known = [name for name in read_by(job, clock) if name in streams]
        marks = [_watermark(job.streams[name], streams[name]) for name in known]
        now = max(0, min(marks, default=0))
        states[clock] = before.get(clock, ClockState(now, now > 0))
    return states


def moved(
    job: NetworkJob,
    state: ClockState,
    streams: Mapping[str, StreamState],
    waiting: Mapping[str, Timed],
    ended: Collection[str],
) -> Moved:
    """Let a clock go on as far as its streams allow. streams, waiting: those it follows, and by
    stream all tuples that some clock has still to take."""
    heartbeat, slowest = _heartbeat(job, state, streams, ended)
    taken = {name: waiting[name].places(state.heartbeat, heartbeat) for name in streams}
    first = {name: state.n_released.get(name, 0) for name in streams}
    n_released = {name: first[name] + part.stop - part.start for name, part in taken.items()}
    begin, has_begun = state.heartbeat, state.has_begun
    if not has_begun:
        begin, has_begun = _beginning(job, state, waiting, taken)
    heartbeat = heartbeat if has_begun else state.heartbeat
    after = ClockState(heartbeat, has_begun, n_released)
    newest = max((stream.high for stream in streams.values()), default=NEVER)
    report = ClockReport(heartbeat, newest, slowest, has_begun)
    over = [n for n in sorted(streams) if n in ended and _is_done(waiting[n], state.heartbeat)]
    return Moved(after, ClockSpan(begin, heartbeat, has_begun, first, over), report)


def _is_done(waiting: Timed, heartbeat: int) -> bool:
    """Whether a clock has taken all tuples that wait when it is at a heartbeat."""
    return not len(waiting) or int(waiting.tau.max()) < heartbeat


def released(spans: Mapping[Streams, ClockSpan], waiting: Mapping[str, Timed]) -> Released:
    """What all clocks take of the tuples that wait."""
    rows = {}
    for name, timed in waiting.items():
        own = [span for span in spans.values() if name in span.first]
        parts = _apart(timed.places(span.begin, span.heartbeat) for span in own)
        rows[name] = in_a_row([timed.take(part) for part in parts] or [timed.take(slice(0))])
    return Released(spans, rows)


def _apart(slices: Iterable[slice]) -> list[slice]:
    """The same places, each in one slice alone, in their order."""
    apart: list[slice] = []
    for part in sorted(slices, key=lambda part: (part.start, part.stop)):
        if apart and part.start <= apart[-1].stop:
            apart[-1] = slice(apart[-1].start, max(apart[-1].stop, part.stop))
        else:
            apart.append(part)
    return apart


def _beginning(
    job: NetworkJob,
    state: ClockState,
    waiting: Mapping[str, Timed],
    taken: Mapping[str, slice],
) -> tuple[int, bool]:
    """The first tick of a clock that has not begun, and whether it begins now."""
    if not _reads_times(job, taken):
        return state.heartbeat, True
    firsts = [waiting[n].tau[part.start] for n, part in taken.items() if part.start < part.stop]
    return (int(min(firsts)), True) if firsts else (state.heartbeat, False)


def _reads_times(job: NetworkJob, streams: Iterable[str]) -> bool:
    """Whether ticks are times of a calendar, so that tick 0 is long ago."""
    return any(is_calendar(job.schemas[name], job.streams[name]) for name in streams)


def is_calendar(schema: Schema, time: StreamTime) -> bool:
    """Whether the ticks of a stream are times of a calendar."""
    attribute = schema.find(time.timestamp) if time.timestamp else None
    return attribute is not None and attribute.type in TIMES


def _heartbeat(
    job: NetworkJob,
    state: ClockState,
    streams: Mapping[str, StreamState],
    ended: Collection[str],
) -> tuple[int, frozenset[str]]:
    """The new heartbeat, and the streams it waits for."""
    marks = {n: _watermark(job.streams[n], s) for n, s in streams.items() if n not in ended}
    if marks:
        least = min(marks.values())
        slowest = frozenset(name for name, mark in marks.items() if mark == least)
        return max(state.heartbeat, least), slowest
    return max([state.heartbeat, *(stream.high + 1 for stream in streams.values())]), frozenset()


def _watermark(time: StreamTime, state: StreamState) -> int:
    """No later tuple of the stream has a smaller timestamp."""
    if state.high == NEVER:
        return NEVER
    return state.high + 1 if time.timestamp is None else state.high - time.disorder
