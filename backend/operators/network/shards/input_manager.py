"""The input manager: puts the tuples of all streams in order of time, and tells when time goes on.

Thesis, section 2.2.5, and card A7. A stream's watermark is its largest timestamp less its bound on
disorder; heartbeats follow from those (see ``clocks``). Tuples from a heartbeat on wait. Which
tuples are late or too far ahead, and what time each tuple has, depends on the streams alone, not on
how they are cut into batches; that decides only when a heartbeat goes on.
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
from backend.operators.network.core.plan import Streams
from backend.operators.network.core.reports import ClockReport
from backend.operators.network.expressions.arithmetic import DAY_US
from backend.operators.network.shards.clocks import (
    TIMES,
    ClockState,
    Released,
    is_calendar,
    moved,
    read_by,
    released,
    taken_up,
)
from backend.operators.network.shards.timed import Arrived, StreamState, Timed, merged
from backend.operators.network.shards.valid_intervals import what_is_invalid, without_instant
from backend.operators.values import json_lines
from backend.workloads.text_values import ARROW_TYPES

#: Tuples with a time from this tick on are kept aside: windows add their sizes to times.
TICKS_END: Final = FOREVER >> 1


@dataclass(frozen=True, slots=True)
class InputState:
    """What the input manager knows between batches. pending: by stream the tuples that some clock
    has still to take."""

    clocks: Mapping[Streams, ClockState] = field(default_factory=dict)
    streams: Mapping[str, StreamState] = field(default_factory=dict)
    pending: Mapping[str, Timed] = field(default_factory=dict)


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
    """What a batch comes to. late: by stream those that no clock takes, where any; missed: those
    that only some take."""

    state: InputState
    released: Released
    late: Mapping[str, Late]
    missed: Mapping[str, Late]
    clocks: Mapping[Streams, ClockReport]


class Beats(NamedTuple):
    """How far the clocks are that read a stream: the slowest and the fastest of them."""

    least: int
    most: int

    @classmethod
    def of(cls, clocks: Mapping[Streams, ClockState], job: NetworkJob, stream: str) -> Beats | None:
        """None: no clock reads it."""
        own = [c.heartbeat for clock, c in clocks.items() if stream in read_by(job, clock)]
        return cls(min(own), max(own)) if own else None


def advance(
    job: NetworkJob,
    state: InputState,
    arrived: Mapping[str, Sequence[Arrived]],
    ended: Collection[str],
) -> Advance:
    """Take the tuples of a batch, and let time go on as far as they allow. ended: streams that give
    no more tuples."""
    clocks = taken_up(job, state.clocks, state.streams)
    streams, late, missed = {}, {}, {}
    waiting: dict[str, Timed] = {}
    for name, time in job.streams.items():
        before = state.streams.get(name, StreamState())
        fresh = _numbered(arrived.get(name, ()), before, job.schemas[name])
        beats = Beats.of(clocks, job, name) or Beats(0, 0)
        stamped = _stamped(fresh, job.schemas[name], time, before, beats)
        streams[name] = stamped.after
        if len(stamped.late):
            late[name] = stamped.late
        if len(stamped.missed):
            missed[name] = stamped.missed
        waiting[name] = merged(state.pending.get(name), stamped.timed)
    steps = {
        clock: moved(job, own, {n: streams[n] for n in read_by(job, clock)}, waiting, ended)
        for clock, own in clocks.items()
    }
    after = {clock: step.after for clock, step in steps.items()}
    return Advance(
        InputState(after, streams, _pending(job, after, waiting)),
        released({clock: step.span for clock, step in steps.items()}, waiting),
        late,
        missed,
        {clock: step.report for clock, step in steps.items()},
    )


def _pending(
    job: NetworkJob, clocks: Mapping[Streams, ClockState], waiting: Mapping[str, Timed]
) -> dict[str, Timed]:
    """Of the tuples that waited those that some clock has still to take."""
    pending = {}
    for name, timed in waiting.items():
        beats = Beats.of(clocks, job, name)
        begin = TICKS_END if beats is None else beats.least
        pending[name] = timed.take(timed.places(begin, TICKS_END))
    return pending


def no_tuples(schema: Schema) -> pa.Table:
    """None, with the columns of a schema."""
    fields = [pa.field(a.name, ARROW_TYPES[a.type]) for a in schema.attributes]
    return pa.schema(fields).empty_table()


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
    missed: Late
    after: StreamState


def _stamped(
    fresh: Arrived,
    schema: Schema,
    time: StreamTime,
    before: StreamState,
    beats: Beats,
) -> _Stamped:
    """The tuples in order of time; apart those that are late, or out of range, and among both those
    that some clocks have left behind."""
    arrivals = fresh.arrivals
    assert arrivals is not None
    if not len(arrivals):
        nothing = Late(fresh.tuples, arrivals, arrivals)
        return _Stamped(Timed(fresh.tuples, arrivals, arrivals), nothing, nothing, before)
    if time.timestamp is None:
        tau, after, least = arrivals, before, 0
    else:
        raw = _ticks(fresh.tuples.column(time.timestamp), schema, time)
        tau, after = _turned(raw, arrivals, time, before, beats)
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
    if is_ordered and tau[0] >= max(least, beats.most, 0):
        none = Late(fresh.tuples.slice(0, 0), tau[:0], tau[:0])
        return _Stamped(timed, none, none, after)
    awaited, aside = _aside(tau, counted, before, time, beats)
    order = np.lexsort((arrivals, tau))
    of_calendar = is_calendar(schema, time)
    late = replace(_late(timed, aside, awaited, invalid), valid=schema.valid)
    late = replace(late, of_calendar=of_calendar)
    behind = ~aside & (tau < beats.most)
    missed = _late(timed, behind, np.full(len(tau), beats.most), None)
    missed = replace(missed, of_calendar=of_calendar)
    return _Stamped(timed.take(order[~aside[order]]), late, missed, after)


def _aside(
    tau: Ints, counted: Ints, before: StreamState, time: StreamTime, beats: Beats
) -> tuple[Ints, Bools]:
    """int64[n]: the tick that was awaited at each tuple, at most where it leapt; and which tuples
    no clock takes."""
    awaited = np.full(len(tau), max(beats.least, 0))
    aside: Bools = counted != tau
    if time.timestamp is not None:
        reached = _reached(counted, before.high)
        awaited = np.maximum(awaited, reached - time.disorder)
        awaited[aside] = (reached + time.max_leap)[aside]
    return awaited, aside | (tau < awaited)


def _late(timed: Timed, which: Bools, awaited: Ints, invalid: Bools | None) -> Late:
    places = np.flatnonzero(which)
    wrong = None if invalid is None else invalid[places]
    return Late(timed.tuples.take(pa.array(places)), timed.tau[places], awaited[places], wrong)


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
    beats: Beats,
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
            offset = _offset(first, turn, replace(after, high=high), beats)
            after = replace(after, turn=turn, offset=offset)
        tau[own] = raw[own] + after.offset
        high = max(high, int(_counted(tau[own], high, time).max()))
    return tau, after


def _offset(first: int, turn: int, stream: StreamState, beats: Beats) -> int:
    """What the ticks of a new turn grow by. Time is ahead of the turn before only where the stream
    had ended with it."""
    if stream.turn != NEVER:
        return max(stream.high + 1, beats.most) - first
    is_behind = turn > 0 and first < beats.most
    return beats.most - first if is_behind else 0
