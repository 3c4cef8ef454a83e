"""Every query answers as it would in a network of its own, whatever the batches, others and kills.

Streams speak by turns or are silent; what a query waits for is what it reads, and nothing else.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.model.functions import Functions
from backend.model.schema import Schema
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.shards.shard import NetworkTask, Places, run_shard
from backend.operators.network.shards.shard_reports import RECENT_ELEMENTS
from backend.operators.network.shards.timed import Arrived
from backend.systems.stream.compiling import compile_queries
from backend.workloads.queries import read_query

SCHEMA = Schema.parse("ts int, v int")
SCHEMAS = dict.fromkeys("ABC", SCHEMA)
TEXTS = {
    "sel": "Select Istream(*) From A [Now] Where v > 1",
    "alone": "Select count(*) As n From A [Range 5]",
    "both": "Select v From A [Range 5] Union Select v From B [Range 5]",
    "join": "Select A.v From A [Range 5], B [Range 5] Where A.v = B.v",
    "rows": "Select v From B [Rows 2]",
    "newest": "Select A.v From A [Rows 2], C [Range 3] Where A.v = C.v",
    "told": "Select Istream(v) From C [Range 2]",
    "all": "Select v From A [Range 2] Union Select v From B [Rows 1] Union Select v From C [Now]",
}
#: In a batch: the elements of each query's answer.
Told: TypeAlias = dict[str, list[tuple[Any, ...]]]


class Batch(NamedTuple):
    """What comes in a batch. machine: whose arena is there, others bring the state back."""

    arrived: Mapping[str, Arrived]
    ended: frozenset[str]
    machine: int


def job(names: Sequence[str], times: Mapping[str, StreamTime]) -> NetworkJob:
    queries = [read_query(n, TEXTS[n], SCHEMAS, Functions(), {}, {}) for n in names]
    plan = compile_queries(queries, since=dict.fromkeys(names, 0), tick_us=1_000_000)
    read = sorted(frozenset().union(*plan.clocks))
    return NetworkJob(plan, {n: SCHEMA for n in read}, {n: times[n] for n in read})


def rows(tuples: Sequence[tuple[int, int]], first: int = 0) -> Arrived:
    """Tuples (ts, v)."""
    ts, v = (pa.array([one[k] for one in tuples], pa.int32()) for k in (0, 1))
    return Arrived(pa.table({"ts": ts, "v": v}), np.arange(first, first + len(tuples)))


def played(job: NetworkJob, batches: Sequence[Batch]) -> list[Told]:
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number, batch in enumerate(batches):
            places = Places(str(Path(folder) / "state"), str(Path(folder) / str(batch.machine)))
            task = NetworkTask(
                "u", number, job, places.log_of("u").keep_job(job), frozenset(), "", "parquet"
            )
            arrived = {n: [batch.arrived[n]] for n in job.streams if n in batch.arrived}
            home = places.shard("u", 0, 1)
            report = run_shard(task, 0, home, arrived, batch.ended & job.streams.keys()).network
            assert all(n <= RECENT_ELEMENTS for n in report.answers.values())
            found.append({query: elements(report.recent[query]) for query in report.recent})
    return found


def elements(answer: Any) -> list[tuple[Any, ...]]:
    return sorted((one.tau, one.sign, *one.values.values()) for one in answer)


def streams(rng: random.Random) -> tuple[dict[str, StreamTime], list[Batch]]:
    """Streams that are not at one time, some of them silent for long, in batches."""
    times, tuples = {}, {}
    for name in SCHEMAS:
        start, disorder = rng.choice([0, 0, 0, 7, 60]), rng.randint(0, 2)
        times[name] = StreamTime("ts", disorder=disorder)
        steps = [rng.choice([-1, 0, 1, 1, 2, 5]) for _ in range(rng.randint(0, 9))]
        ticks = (start + np.cumsum(steps, dtype=int)).tolist()
        tuples[name] = [(max(0, tick), rng.randint(0, 3)) for tick in ticks]
    position, batches = dict.fromkeys(SCHEMAS, 0), list[Batch]()
    for number in range(rng.randint(2, 9)):
        arrived = {}
        for name in SCHEMAS:
            at, count = position[name], rng.choice([0, 0, 1, 3])
            arrived[name] = rows(tuples[name][at : at + count], at)
            position[name] = at + count
        ended = {n for n in SCHEMAS if position[n] >= len(tuples[n]) and rng.random() < 0.3}
        before = batches[-1].ended if batches else frozenset()
        batches.append(Batch(arrived, before | ended, number * rng.randint(0, 1)))
    return times, batches


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 32))
def test_a_query_answers_as_in_a_network_of_its_own(seed: int) -> None:
    rng = random.Random(seed)
    times, batches = streams(rng)
    names = rng.sample(list(TEXTS), 4)
    together = played(job(names, times), batches)
    for name in names:
        alone = played(job([name], times), [batch._replace(machine=0) for batch in batches])
        for number, told in enumerate(alone):
            found = together[number].get(name, [])
            assert found == told.get(name, []), (name, number, [TEXTS[n] for n in names])


def test_a_query_does_not_wait_for_a_stream_that_it_does_not_read() -> None:
    """The case of a user: B is silent, and a query over A alone goes on."""
    times = {name: StreamTime("ts") for name in "AB"}
    first = rows([(0, 1), (1, 2), (2, 3), (3, 4)])
    later = rows([(10, 5), (11, 6), (20, 7)], 4)
    late = rows([(12, 6), (30, 1)])
    batches = [
        Batch({"A": first}, frozenset(), 0),
        Batch({"A": later}, frozenset(), 0),
        Batch({"B": late}, frozenset(), 0),
    ]
    one, two, three = played(job(["sel", "alone", "both", "join"], times), batches)
    assert one["alone"][:3] == [(0, 1, 1), (1, -1, 1), (1, 1, 2)]
    assert two["sel"][-2:] == [(10, 1, 10, 5), (11, 1, 11, 6)]
    assert max(tau for tau, *_ in two["alone"]) == 17
    assert not {"both", "join"} & {
        name for told in (one, two) for name, rows in told.items() if rows
    }
    assert three["join"] == [(12, 1, 6), (17, -1, 6)]
