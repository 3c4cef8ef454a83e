"""Tuples in order of time, whatever the batches; when time goes on; what is late."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.model.schema import Schema
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.core.plan import NetworkPlan, ShardGroup
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.shards.clocks import ClockSpan
from backend.operators.network.shards.input_manager import (
    Advance,
    InputState,
    advance,
)
from backend.operators.network.shards.timed import Arrived
from backend.workloads.ticks import ANY_LEAP
from tests.oracles.input_manager import in_time

SCHEMA = Schema.parse("n bigint, at bigint")


def reading(*clocks: str) -> NetworkPlan:
    """Queries that read these streams, each a letter."""
    inputs = [
        PlannedOperator(f"{name} of {clock}", StreamInput(name, (0,)), (), ())
        for clock in clocks
        for name in clock
    ]
    groups = [
        ShardGroup(tuple(f"{name} of {clock}" for name in clock), {}, "one shard")
        for clock in clocks
    ]
    return NetworkPlan(tuple(inputs), {}, tuple(groups))


def job(*clocks: str, schema: Schema = SCHEMA, **streams: StreamTime) -> NetworkJob:
    """Queries that read these streams; without any one that reads all."""
    plan = reading(*(clocks or ("".join(streams),)))
    return NetworkJob(plan, dict.fromkeys(streams, schema), streams)


def span_of(one: Advance) -> ClockSpan:
    """Of the only clock."""
    (span,) = one.released.spans.values()
    return span


def slowest_of(one: Advance) -> frozenset[str]:
    """The streams that the only clock waits for."""
    (clock,) = one.clocks.values()
    return clock.slowest


def beat_of(state: InputState) -> int:
    """Of the only clock."""
    (clock,) = state.clocks.values()
    return clock.heartbeat


def rows(ticks: Sequence[int], first: int = 0, numbered: bool = True) -> Arrived:
    numbers = np.arange(first, first + len(ticks))
    table = pa.table({"n": numbers, "at": pa.array(ticks, pa.int64())})
    return Arrived(table, numbers if numbered else None)


def taken(advances: Sequence[Advance], stream: str) -> list[tuple[int, int]]:
    """(τ, arrival) of what was released; checks that it is numbered, and the tuples are right."""
    found: list[tuple[int, int]] = []
    for one in advances:
        timed = one.released.rows[stream]
        assert span_of(one).first[stream] == len(found)
        assert timed.tuples.column("n").to_pylist() == timed.arrivals.tolist()
        for tau in timed.tau.tolist():
            assert span_of(one).begin <= tau < span_of(one).heartbeat
        found += zip(timed.tau.tolist(), timed.arrivals.tolist(), strict=True)
    return found


def streams(rng: random.Random) -> tuple[dict[str, StreamTime], dict[str, list[int]]]:
    """One to three, some of which begin anew; with the timestamps of their tuples."""
    times, ticks = {}, {}
    for name in ["S", "T", "U"][: rng.randint(1, 3)]:
        n_source, n_turns = rng.randint(1, 12), rng.randint(1, 3)
        steps = [rng.randint(-2, 30), *(rng.randint(-3, 4) for _ in range(n_source - 1))]
        wild = rng.choice([0, 0, 0, 40, 90, 2**61 - 20, 2**62])
        disorder = rng.randint(0, 4)
        times[name] = StreamTime(
            rng.choice(["at", "at", None]),
            disorder=disorder,
            n_tuples=rng.choice([None, n_source]) if n_turns == 1 else n_source,
            max_leap=rng.choice([disorder + 1, disorder + 3, 35, ANY_LEAP]),
        )
        own = np.cumsum(steps).tolist()
        for place in rng.sample(range(n_source), min(n_source, rng.randint(1, 3))):
            own[place] += wild
        ticks[name] = own * n_turns
    return times, ticks


@settings(max_examples=300)
@given(st.integers(0, 1 << 32))
def test_as_by_definition_whatever_the_batches(seed: int) -> None:
    rng = random.Random(seed)
    times, ticks = streams(rng)
    whole, state, advances = job(schema=SCHEMA, **times), InputState(), []
    beat, position, ended = 0, dict.fromkeys(times, 0), set[str]()
    while len(ended) < len(times):
        arrived: dict[str, list[Arrived]] = {}
        for name, own in ticks.items():
            for _ in range(rng.randint(0, 2)):
                at, count = position[name], rng.randint(0, 9)
                arrived.setdefault(name, []).append(rows(own[at : at + count], at))
                position[name] = min(len(own), at + count)
            if position[name] == len(own):
                ended.add(name)
        advances.append(advance(whole, state, arrived, ended))
        span, state = span_of(advances[-1]), advances[-1].state
        assert span.begin == beat <= span.heartbeat
        beat = span.heartbeat
    highest = 0
    for name, time in times.items():
        expected, late = in_time(ticks[name], time)
        assert taken(advances, name) == expected
        found = [tau for one in advances if name in one.late for tau in one.late[name].tau.tolist()]
        assert found == [tau for tau, _ in late]
        highest = max([highest, *(tau + 1 for tau, _ in expected)])
        assert len(state.pending[name]) == 0
    assert beat == highest


def stepped(
    whole: NetworkJob, *batches: Mapping[str, Arrived], ended: Sequence[str] = ()
) -> list[Advance]:
    state, found = InputState(), []
    for batch in batches:
        found.append(advance(whole, state, {n: [a] for n, a in batch.items()}, ended))
        state = found[-1].state
    return found


def test_one_tuple_of_a_far_year_costs_itself_alone() -> None:
    (found,) = stepped(job(S=StreamTime("at", max_leap=100)), {"S": rows([7, 10**9, 107, 208, 9])})
    assert (found.state.streams["S"].high, found.released.heartbeat) == (107, 107)
    assert [one.error for one in found.late["S"].kept_aside()] == [
        "its time is tick 1000000000, and tick 107 at most by max_leap of its stream",
        "its time is tick 208, and tick 207 at most by max_leap of its stream",
        "late: its time is tick 9, and tick 107 was awaited",
    ]


def test_time_waits_for_the_slowest_stream() -> None:
    first, second, third = stepped(
        job(S=StreamTime("at"), T=StreamTime("at", disorder=2)),
        {"S": rows([1, 2, 9])},
        {"T": rows([5])},
        {"T": rows([12], 1)},
    )
    assert (first.released.heartbeat, slowest_of(first)) == (0, frozenset("T"))
    assert (second.released.heartbeat, slowest_of(second)) == (3, frozenset("T"))
    assert second.released.rows["S"].tau.tolist() == [1, 2]
    assert len(second.state.pending["T"]) == 1
    assert (third.released.heartbeat, slowest_of(third)) == (9, frozenset("S"))
    assert third.released.rows["T"].tau.tolist() == [5]


def test_a_stream_that_ended_holds_nothing_up() -> None:
    whole = job(S=StreamTime("at"), T=StreamTime("at"))
    state = advance(whole, InputState(), {"S": [rows([3])], "T": [rows([1, 8])]}, ["S"]).state
    assert beat_of(state) == 8
    last = advance(whole, state, {}, ["S", "T"])
    assert (last.released.heartbeat, slowest_of(last)) == (9, frozenset())
    assert last.released.rows["T"].tau.tolist() == [8]


def test_late_tuples_are_told_with_what_was_awaited() -> None:
    (found,) = stepped(job(S=StreamTime("at", disorder=1)), {"S": rows([5, 4, 3, -2, 7, 6])})
    kept = found.late["S"].kept_aside()
    assert [(one.raw, one.error) for one in kept] == [
        ('{"n": 2, "at": 3}', "late: its time is tick 3, and tick 4 was awaited"),
        ('{"n": 3, "at": -2}', "its time is tick -2, and windows begin at tick 0"),
    ]


@pytest.mark.parametrize("n_tuples", [None, 3])
def test_times_without_end_are_kept_aside(n_tuples: int | None) -> None:
    """One tuple with a wild time does not make all others late."""
    whole = job(S=StreamTime("at", disorder=1, n_tuples=n_tuples))
    first, second = stepped(
        whole, {"S": rows([5, 2**63 - 1, 6])}, {"S": rows([7, 2**61, -(2**63)], 3)}
    )
    assert first.released.heartbeat == 5
    assert [one.error for one in first.late["S"].kept_aside()] == [
        f"its time is tick {2**63 - 1}, and ticks end before {2**61}"
    ]
    assert len(second.late["S"]) == 2
    assert len(second.state.pending["S"]) + len(second.released.rows["S"]) == 3 - len(
        first.released.rows["S"]
    )


def test_a_stream_that_begins_anew_after_it_had_ended_goes_on_with_time() -> None:
    whole = job(S=StreamTime("at", n_tuples=2), T=StreamTime("at"))
    state = advance(whole, InputState(), {"S": [rows([0, 4])], "T": [rows([50])]}, ["S"]).state
    assert beat_of(state) == 50
    again = advance(whole, state, {"S": [rows([0, 4], 2)]}, [])
    assert not again.late
    assert again.state.pending["S"].tau.tolist() == [50, 54]


def test_a_stream_first_read_in_a_later_turn_begins_now() -> None:
    state = advance(job(T=StreamTime("at")), InputState(), {"T": [rows([70])]}, []).state
    whole = job(T=StreamTime("at"), S=StreamTime("at", n_tuples=10))
    found = advance(whole, state, {"S": [rows([1, 2], 31)]}, [])
    assert found.state.pending["S"].tau.tolist() == [70, 71]


def test_tuples_without_numbers_are_numbered() -> None:
    whole = job(S=StreamTime(None))
    first = advance(whole, InputState(), {"S": [rows([9, 9], numbered=False)]}, [])
    second = advance(whole, first.state, {"S": [rows([9], numbered=False)] * 2}, [])
    assert second.released.rows["S"].tau.tolist() == [2, 3]
    assert span_of(second).first["S"] == 2


@pytest.mark.parametrize(
    ("type_name", "values", "tick_us", "ticks"),
    [
        ("timestamp", [datetime(2013, 1, 1, 0, 0, 3, 999_999, UTC)], 1_000_000, [1_356_998_403]),
        ("timestamp", [datetime(1970, 1, 1, 0, 0, 0, 7, UTC)], 5, [1]),
        ("date", [date(1970, 1, 3)], 3_600_000_000, [48]),
        ("int", [17], 1_000_000, [17]),
    ],
)
def test_timestamps_in_ticks(
    type_name: str, values: list[object], tick_us: int, ticks: list[int]
) -> None:
    schema = Schema.parse(f"n bigint, at {type_name}")
    kinds = {"timestamp": pa.timestamp("us", tz="UTC"), "date": pa.date32(), "int": pa.int32()}
    table = pa.table({"n": [0], "at": pa.array(values, kinds[type_name])})
    whole = job(schema=schema, S=StreamTime("at", tick_us))
    found = advance(whole, InputState(), {"S": [Arrived(table)]}, ["S"])
    assert found.released.rows["S"].tau.tolist() == ticks
    begin = ticks[0] if type_name in ("timestamp", "date") else 0
    assert (span_of(found).begin, found.released.heartbeat) == (begin, ticks[0] + 1)


def test_times_begin_with_the_first_tick_that_is_seen() -> None:
    schema = Schema.parse("n bigint, at date")
    whole = job(
        schema=schema, S=StreamTime("at", 86_400_000_000), T=StreamTime("at", 86_400_000_000)
    )

    def days(*numbers: int) -> Arrived:
        table = pa.table({"n": list(numbers), "at": pa.array(numbers, pa.int32()).cast("date32")})
        return Arrived(table)

    first, second, third = stepped(whole, {"S": days(100, 101)}, {"T": days(90)}, {"T": days(102)})
    assert not span_of(first).has_begun
    assert not span_of(second).has_begun
    assert span_of(third).has_begun
    assert (span_of(third).begin, third.released.heartbeat) == (90, 101)


@settings(max_examples=200)
@given(st.integers(0, 1 << 32))
def test_each_clock_takes_what_it_would_if_it_were_alone(seed: int) -> None:
    rng = random.Random(seed)
    times, ticks = streams(rng)
    names = "".join(times)
    clocks = [names, *{"".join(sorted(rng.sample(names, rng.randint(1, len(names)))))} - {names}]
    whole, state = job(*clocks, schema=SCHEMA, **times), InputState()
    alone = {c: job(c, schema=SCHEMA, **{n: times[n] for n in c}) for c in clocks}
    states = dict.fromkeys(clocks, state)
    position, ended = dict.fromkeys(times, 0), set[str]()
    while len(ended) < len(times):
        arrived: dict[str, list[Arrived]] = {}
        for name in rng.sample(names, rng.randint(1, len(names))):
            at, count = position[name], rng.randint(0, 9)
            arrived[name] = [rows(ticks[name][at : at + count], at)]
            position[name] = min(len(ticks[name]), at + count)
            ended |= {name} if position[name] == len(ticks[name]) else set()
        step = advance(whole, state, arrived, ended)
        state = step.state
        n_late: dict[str, list[int]] = {name: [] for name in names}
        for clock, own in alone.items():
            found = advance(own, states[clock], {n: arrived.get(n, []) for n in clock}, ended)
            states[clock] = found.state
            assert step.released.spans[frozenset(clock)] == span_of(found)
            taken_of = step.released.taken(frozenset(clock))
            for name, timed in found.released.rows.items():
                assert taken_of[name].arrivals.tolist() == timed.arrivals.tolist()
                assert taken_of[name].tau.tolist() == timed.tau.tolist()
                n_late[name].append(len(found.late.get(name, ())))
        for name, own_late in n_late.items():
            n_aside, n_missed = (len(some.get(name, ())) for some in (step.late, step.missed))
            assert (min(own_late), max(own_late)) == (n_aside, n_aside + n_missed)
    assert not any(len(timed) for timed in state.pending.values())
