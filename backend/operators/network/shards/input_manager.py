"""The input manager: puts the tuples of all streams in order of time, and tells when time goes on.

Thesis, section 2.2.5, and card A7. A stream's watermark is its largest timestamp less its bound on
disorder; the heartbeat is the smallest watermark of the streams that have not ended, and the tick
after the last one of all when every stream has ended. Tuples from it on wait. Which tuples are
late or too far ahead, and what time each tuple has, depends on the streams alone, not on how they
are cut into batches; that decides only when the heartbeat goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from backend.model.schema import Schema, ValidTimes
from backend.operators.contract import KeptAside
from backend.operators.network.core.blocks import FOREVER, NEVER, Bools, Ints
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.expressions.arithmetic import DAY_US
from backend.operators.network.shards.valid_intervals import what_is_invalid, without_instant
from backend.operators.values import json_lines
from backend.workloads.text_values import ARROW_TYPES

#: Types of timestamps that are times: their first tick is the first one seen, not tick 0.
TIMES: Final = ("date", "timestamp")
#: Tuples with a time from this tick on are kept aside: windows add their sizes to times.
TICKS_END: Final = FOREVER >> 1


@dataclass(frozen=True, slots=True)
class Arrived:
    """Tuples of a stream in order of arrival. tuples: its attributes; timestamps are not NULL.
    arrivals: int64[n], their numbers in the input; None where it does not number them."""

    tuples: pa.Table
    arrivals: Ints | None = None


@dataclass(frozen=True, slots=True)
class Timed:
    """Tuples in order of (τ, arrival). tau, arrivals: int64[n]."""

    tuples: pa.Table
    tau: Ints
    arrivals: Ints

    def __len__(self) -> int:
        return len(self.tau)

    def take(self, rows: Any) -> Timed:
        """Some of them: an index array or a slice."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            tuples = self.tuples.slice(start, max(0, stop - start))
        else:
            tuples = self.tuples.take(pa.array(rows))
        return Timed(tuples, self.tau[rows], self.arrivals[rows])


@dataclass(frozen=True, slots=True)
class StreamState:
    """Where a stream is. n_arrived: the number of its next tuple; n_released: tuples that went into
    the network; high: largest τ; turn: how often the stream began anew, NEVER before its first
    tuple; offset: what its timestamps have grown by since."""

    n_arrived: int = 0
    n_released: int = 0
    high: int = NEVER
    turn: int = NEVER
    offset: int = 0


@dataclass(frozen=True, slots=True)
class InputState:
    """What the input manager knows between batches. has_begun: there is a first tick."""

    heartbeat: int = 0
    has_begun: bool = False
    streams: Mapping[str, StreamState] = field(default_factory=dict)
    pending: Mapping[str, Timed] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Released:
    """What goes into the network: by stream the tuples with begin <= τ < heartbeat, and the number
    of the first of them in its stream. has_begun: without it there is nothing to do."""

    begin: int
    heartbeat: int
    has_begun: bool
    first: Mapping[str, int]
    rows: Mapping[str, Timed]


@dataclass(frozen=True, slots=True)
class Late:
    """Tuples that came too late, have a time out of range, or are valid at no instant. tau:
    int64[n]; awaited: int64[n], the tick that their stream, or time itself, was at, or the last
    that could be ahead of it; invalid: bool[n], those that are valid at no instant, valid: what
    says when they are. of_calendar: ticks are times."""

    tuples: pa.Table
    tau: Ints
    awaited: Ints
    invalid: Bools | None = None
    valid: ValidTimes | None = None
    of_calendar: bool = False

    def __len__(self) -> int:
        return len(self.tau)

    def kept_aside(self) -> list[KeptAside]:
        """With what is wrong."""
        pairs = zip(self.tau.tolist(), self.awaited.tolist(), strict=True)
        errors = [_what_is_wrong(tau, awaited, self.of_calendar) for tau, awaited in pairs]
        if self.invalid is not None and self.valid is not None:
            for place in np.flatnonzero(self.invalid):
                errors[place] = what_is_invalid(self.tuples.slice(place, 1), self.valid)
        return [KeptAside(*pair) for pair in zip(json_lines(self.tuples), errors, strict=True)]


def _what_is_wrong(tau: int, awaited: int, of_calendar: bool) -> str:
    if tau < 0 and of_calendar:
        return "its time is before 1970, where the time of windows begins"
    if tau < 0:
        return f"its time is tick {tau}, and windows begin at tick 0"
    if tau >= TICKS_END:
        return f"its time is tick {tau}, and ticks end before {TICKS_END}"
    if tau > awaited:
        return f"its time is tick {tau}, and tick {awaited} at most by max_leap of its stream"
    return f"late: its time is tick {tau}, and tick {awaited} was awaited"


class Advance(NamedTuple):
    """What a batch comes to. slowest: streams that time waits for; late: by stream, where any."""

    state: InputState
    released: Released
    late: Mapping[str, Late]
    slowest: frozenset[str]


def advance(
    job: NetworkJob,
    state: InputState,
    arrived: Mapping[str, Sequence[Arrived]],
    ended: Collection[str],
) -> Advance:
    """Take the tuples of a batch, and let time go on as far as they allow. ended: streams that give
    no more tuples."""
    streams, late = {}, {}
    waiting: dict[str, Timed] = {}
    for name, time in job.streams.items():
        before = state.streams.get(name, StreamState())
        fresh = _numbered(arrived.get(name, ()), before, job.schemas[name])
        stamped = _stamped(fresh, job.schemas[name], time, before, state)
        streams[name] = stamped.after
        if len(stamped.late):
            late[name] = stamped.late
        waiting[name] = _merged(state.pending.get(name), stamped.timed)
    heartbeat, slowest = _heartbeat(job, state, streams, ended)
    first_tick = min((int(w.tau[0]) for w in waiting.values() if len(w)), default=FOREVER)
    has_begun = state.has_begun or not _reads_times(job) or first_tick < heartbeat
    if not has_begun:
        heartbeat = state.heartbeat
    begin = state.heartbeat
    if has_begun and not state.has_begun and _reads_times(job):
        begin = first_tick
    cuts = {name: int(np.searchsorted(w.tau, heartbeat)) for name, w in waiting.items()}
    released = Released(
        begin,
        heartbeat,
        has_begun,
        {name: streams[name].n_released for name in waiting},
        {name: w.take(slice(cuts[name])) for name, w in waiting.items()},
    )
    after = InputState(
        heartbeat,
        has_begun,
        {n: replace(s, n_released=s.n_released + cuts[n]) for n, s in streams.items()},
        {name: w.take(slice(cuts[name], None)) for name, w in waiting.items()},
    )
    return Advance(after, released, late, slowest)


def no_tuples(schema: Schema) -> pa.Table:
    """None, with the columns of a schema."""
    fields = [pa.field(a.name, ARROW_TYPES[a.type]) for a in schema.attributes]
    return pa.schema(fields).empty_table()


def _reads_times(job: NetworkJob) -> bool:
    """Whether ticks are times of a calendar, so that tick 0 is long ago."""
    return any(_is_calendar(job.schemas[name], time) for name, time in job.streams.items())


def _is_calendar(schema: Schema, time: StreamTime) -> bool:
    attribute = schema.find(time.timestamp) if time.timestamp else None
    return attribute is not None and attribute.type in TIMES


def _heartbeat(
    job: NetworkJob,
    state: InputState,
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


def _numbered(chunks: Sequence[Arrived], state: StreamState, schema: Schema) -> Arrived:
    """The chunks as one, with numbers."""
    next_number, numbers = state.n_arrived, []
    for chunk in chunks:
        own = chunk.arrivals
        if own is None:
            own = np.arange(next_number, next_number + chunk.tuples.num_rows, dtype=np.int64)
        numbers.append(own)
        next_number = int(own[-1]) + 1 if len(own) else next_number
    tables = [no_tuples(schema), *(chunk.tuples for chunk in chunks)]
    together = np.concatenate([np.zeros(0, np.int64), *numbers])
    return Arrived(pa.concat_tables(tables), together)


class _Stamped(NamedTuple):
    timed: Timed
    late: Late
    after: StreamState


def _stamped(
    fresh: Arrived,
    schema: Schema,
    time: StreamTime,
    before: StreamState,
    state: InputState,
) -> _Stamped:
    """The tuples in order of time, those that are late, or out of range, apart."""
    arrivals = fresh.arrivals
    assert arrivals is not None
    if not len(arrivals):
        nothing = Late(fresh.tuples, arrivals, arrivals)
        return _Stamped(Timed(fresh.tuples, arrivals, arrivals), nothing, before)
    if time.timestamp is None:
        tau, after, least = arrivals, before, 0
    else:
        raw = _ticks(fresh.tuples.column(time.timestamp), schema, time)
        tau, after = _turned(raw, arrivals, time, before, state)
        least = before.high - time.disorder
    timed = Timed(fresh.tuples, tau, arrivals)
    counted = _counted(tau, before.high, time)
    invalid = without_instant(fresh.tuples, schema.valid)
    if invalid is not None:
        counted[invalid] = NEVER
    after = replace(
        after, n_arrived=int(arrivals[-1]) + 1, high=max(before.high, int(counted.max()))
    )
    is_ordered = bool((tau[1:] >= tau[:-1]).all()) and bool((counted == tau).all())
    is_ordered &= invalid is None
    if is_ordered and tau[0] >= max(least, state.heartbeat, 0):
        return _Stamped(timed, Late(fresh.tuples.slice(0, 0), tau[:0], tau[:0]), after)
    awaited = np.full(len(tau), max(state.heartbeat, 0))
    aside: Bools = counted != tau
    if time.timestamp is not None:
        reached = _reached(counted, before.high)
        awaited = np.maximum(awaited, reached - time.disorder)
        awaited[aside] = (reached + time.max_leap)[aside]
    aside |= tau < awaited
    order = np.lexsort((arrivals, tau))
    late = _late(timed, aside, awaited, invalid, schema, time)
    return _Stamped(timed.take(order[~aside[order]]), late, after)


def _late(
    timed: Timed,
    aside: Bools,
    awaited: Ints,
    invalid: Bools | None,
    schema: Schema,
    time: StreamTime,
) -> Late:
    """The tuples that are kept aside."""
    places = np.flatnonzero(aside)
    wrong = None if invalid is None else invalid[places]
    tuples = timed.tuples.take(pa.array(places))
    of_calendar = _is_calendar(schema, time)
    return Late(tuples, timed.tau[places], awaited[places], wrong, schema.valid, of_calendar)


def _reached(counted: Ints, high: int) -> Ints:
    """How far a stream was before each tuple. high: before the first."""
    return np.maximum.accumulate(np.concatenate([[high], counted[:-1]]))


def _counted(tau: Ints, high: int, time: StreamTime) -> Ints:
    """Times, NEVER in place of those that are not to be: out of range, or too far ahead of all
    before them. high: how far the stream was, NEVER before its first tuple."""
    counted = np.where(tau < TICKS_END, tau, NEVER)
    if time.timestamp is None or time.max_leap >= TICKS_END:
        return counted
    before = _reached(counted, high)
    if not ((counted > before + time.max_leap) & (before != NEVER)).any():
        return counted
    for place, tick in enumerate(counted.tolist()):
        if high != NEVER and tick > high + time.max_leap:
            counted[place] = NEVER
        else:
            high = max(high, tick)
    return counted


def _ticks(column: Any, schema: Schema, time: StreamTime) -> Ints:
    """A timestamp attribute in ticks."""
    assert time.timestamp is not None
    attribute = schema.find(time.timestamp)
    assert attribute is not None
    if attribute.type in TIMES:
        stored = pa.int32() if attribute.type == "date" else pa.int64()
        numbers = pc.cast(column, stored).to_numpy().astype(np.int64)
        micros = numbers * DAY_US if attribute.type == "date" else numbers
        return np.asarray(micros // time.tick_us, np.int64)
    return np.asarray(column.to_numpy().astype(np.int64))


def _turned(
    raw: Ints,
    arrivals: Ints,
    time: StreamTime,
    before: StreamState,
    state: InputState,
) -> tuple[Ints, StreamState]:
    """Ticks of a stream that may have begun anew, which go on after those of the turn before.

    Those out of range stay as they are. A turn's first tick is taken to be its first tuple's less
    the disorder, so that nothing of it falls into the turn before.
    """
    turns = arrivals // (time.n_tuples or FOREVER)
    if turns[0] == turns[-1] == before.turn and not before.offset:
        return raw, before
    tau, after, high = raw.copy(), before, before.high
    is_in = (raw >= 0) & (raw < TICKS_END)
    for turn in range(int(turns[0]), int(turns[-1]) + 1):
        own = np.flatnonzero((turns == turn) & is_in)
        if not len(own):
            continue
        if turn != after.turn:
            first = int(raw[own[0]]) - time.disorder
            offset = _offset(first, turn, replace(after, high=high), state)
            after = replace(after, turn=turn, offset=offset)
        tau[own] = raw[own] + after.offset
        high = max(high, int(_counted(tau[own], high, time).max()))
    return tau, after


def _offset(first: int, turn: int, stream: StreamState, state: InputState) -> int:
    """What the ticks of a new turn grow by. Time is ahead of the turn before only where the stream
    had ended with it."""
    if stream.turn != NEVER:
        return max(stream.high + 1, state.heartbeat) - first
    is_behind = turn > 0 and first < state.heartbeat
    return state.heartbeat - first if is_behind else 0


def _merged(pending: Timed | None, timed: Timed) -> Timed:
    """Both, in order of (τ, arrival)."""
    if pending is None or not len(pending):
        return timed
    if not len(timed):
        return pending
    together = Timed(
        pa.concat_tables([pending.tuples, timed.tuples]),
        np.concatenate([pending.tau, timed.tau]),
        np.concatenate([pending.arrivals, timed.arrivals]),
    )
    if pending.tau[-1] <= timed.tau[0]:
        return together
    return together.take(np.lexsort((together.arrivals, together.tau)))
