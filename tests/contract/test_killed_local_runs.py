"""Whole runs in one process killed at random instants: results as if they had been left alone.

The engine with its store, its decisions, the sink, selections, filters and networks, on the host of
this process; it gets kill -9 again and again, while it starts, in a batch, between two. The same
workload is killed on Spark in tests/spark/test_killed_runs.py, whose definitions these are; here
there is a join besides, under k-constraints and as an eddy, and a window that is coalesced, whole
and under a limit.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import time
from collections import Counter
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds
import pytest
from numpy.typing import NDArray

from backend.engine.job import InputJob, RunJob
from backend.engine.loop import Loop
from backend.engine.resume import QUERIES, goes_on
from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.hosts.rehearsal import rehearse
from backend.operators.network.shedding.shedding import SheddingWindow
from backend.operators.network.shedding.slides import WindowExtent
from backend.operators.network.shedding.temporal import TemporalTuple, coalesced
from backend.systems.cals.knobs import CalsKnobs
from backend.workloads.adhering import S1, S2, adhering_trace, arriving
from backend.workloads.sources import open_source
from backend.workloads.spec import SinkSpec, Workload, load_workload
from storage.errors import StoreError
from storage.reading.resume import last_state
from storage.store import open_reader
from storage.vocabulary.records import Input, Run
from storage.writer import open_engine_writer
from tests.spark import test_killed_runs as on_spark
from tests.spark.test_killed_runs import check_answers, check_sink, until

RUN_ID = "killed-run"
#: Parents and children of a join under k-constraints, five to one; some children are filtered out.
KEPT = {"P": 20_000, "C": 4_000}
#: Tuples that are valid for some time, seconds apart; a window of so many is coalesced.
N_VALID, VALID_EVERY, VALID_ROWS = 4_000, 7, 50
N = on_spark.N | KEPT | {"V": N_VALID}
TRACE = {"trace": "referring", "k": "20", "seed": 3, "n_tuples": 28_000, "per_second": 1}
ROWS = {"P": 400, "C": 80}
#: Queries that join them, by system; all have the same text.
JOINED = {"kept": "kmon", "routed": "amri"}
#: Bits of eddies change and partitions migrate again and again.
TUNED_OFTEN = """period_requests = 2000
trigger_requests = 3000
partition_share = 0.1
selection = "window"
min_gain = 0.0
migration = "all"
migration_us = 200
memory_tuples = 20
state_form = "tuples"
"""
#: Of the trace: seconds since 1970.
FIRST_TICK = 1_357_016_400
#: Tuples of each stream in a batch.
BATCH = 400
#: Between two looks at how far it is: batches take a few times as long.
_PAUSE_S = 0.002


def workload(folder: Path) -> Path:
    """That of Spark, with two streams more and a join of them by k-Mon and by AMRI."""
    path = on_spark.workload(folder)
    options = ", ".join(f"{name} = {json.dumps(value)}" for name, value in TRACE.items())
    text = path.read_text().replace("[knobs]\n", f"[knobs]\n{TUNED_OFTEN}")
    for name, stream, key in (("P", "S1", ""), ("C", "S2", 'key = "a"\n')):
        text += f'[streams.{name}]\ntimestamp = "t"\n{key}'
        text += f'source = {{ format = "adhering", stream = "{stream}", {options} }}\n'
    windows = f"P [Rows {ROWS['P']}], C [Rows {ROWS['C']}]"
    for name, system in JOINED.items():
        text += f'[queries.{name}]\nsystem = "{system}"\n'
        text += f'text = "Select P.a, P.b From {windows} Where P.a = C.a and C.mark < 500"\n'
    text += '[streams.V]\nschema = "at bigint, v int, since bigint, until bigint"\n'
    text += 'timestamp = "at"\nvalid = ["since", "until"]\n'
    text += f'source = {{ format = "memory", rows = {json.dumps(valid_rows())} }}\n'
    spells = f"Select v, Valid(V) From V (v) [Rows {VALID_ROWS}] Where Valid(V) > 3"
    text += f'[queries.spells]\ntext = "{spells}"\n'
    text += f'[queries.shed]\nsystem = "cals"\ntext = "{spells}"\n'
    path.write_text(text)
    return path


def valid_rows() -> list[list[int]]:
    """Tuples in order of time: when they come, a value, and from when until when it holds."""
    rng = random.Random(1)
    rows = []
    for n in range(N_VALID):
        since = n + rng.randrange(-6, 6)
        rows.append([VALID_EVERY * n, rng.randrange(3), since, since + rng.choice([1, 1, 2, 5])])
    return rows


def execute(folder: Path, path: Path) -> None:
    """Begin the run, or go on with it, to its end."""
    asked = load_workload(path)
    streams = {one.name: one for one in asked.streams}
    inputs = {
        n: InputJob(n, one.schema, one.timestamp or "", {}, 0.0) for n, one in streams.items()
    }
    job = RunJob(inputs, asked.queries, {}, asked.knobs, functions=asked.functions)
    writer = open_engine_writer(str(folder / "s.db"))
    last = last_state(writer, asked.name)
    now = None if last is None else goes_on(last, job)
    loop = Loop(record(asked), job, writer, last, None if now is None else now.registry)
    loop.start(None if now is None else now.kept)
    n_done = 0 if last is None or last.last_batch is None else last.last_batch + 1
    sources = [
        InputSource(one, open_source(one, folder / "cache"), min(n_done * BATCH, N[one.name]))
        for one in asked.streams
    ]
    sink = SinkSpec(str(folder / "out" / f"run={RUN_ID}"))
    state = folder / "state"
    LocalHost(loop, sources, sink, BATCH, once=True, first_batch=n_done, folder=state).run()
    loop.finish({})
    writer.set_state(RUN_ID, "ended", "", time.time())


def record(asked: Workload) -> Run:
    streams = tuple(
        Input(one.name, [[a.name, a.type] for a in one.schema.attributes]) for one in asked.streams
    )
    settings = {QUERIES: [one.name for one in asked.queries]}
    place = (os.getpid(), socket.gethostname(), "0")
    return Run(RUN_ID, asked.name, "starting", time.time(), settings, *place, inputs=streams)


def forked(folder: Path, path: Path) -> int:
    """A process that executes the run; kernels are loaded in it already."""
    child = os.fork()
    if child == 0:
        try:
            execute(folder, path)
        except BaseException as error:
            print("child:", repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    return child


def last_batch(folder: Path) -> int:
    """The newest batch on record, -1 before the first."""
    with suppress(StoreError), open_reader(str(folder / "s.db")) as reader:
        found = reader.last_batch(RUN_ID)
        return -1 if found is None else found
    return -1


def has_gone_on(folder: Path, before: int, child: int) -> bool:
    """Whether another batch is on record, or the process has ended, which is waited for later."""
    ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return ended is not None or last_batch(folder) > before


class Pace:
    """What the run took at least to start, and for a batch: seconds. Kills come within that, so
    that a fast run is not over before them."""

    def __init__(self) -> None:
        self.start_s, self.batch_s = 0.5, 0.15

    def follow(self, folder: Path, before: int, child: int, target: int) -> None:
        """Wait for the first batch of a process that was just forked, and for the one that is the
        target, if that is a later one. before: the last batch on record until then."""
        since_s = time.monotonic()
        until(partial(has_gone_on, folder, before, child), _PAUSE_S)
        first_s, first = time.monotonic(), last_batch(folder)
        until(partial(has_gone_on, folder, target - 1, child), _PAUSE_S)
        n_batches = last_batch(folder) - first
        self.start_s = min(self.start_s, first_s - since_s)
        if n_batches:
            self.batch_s = min(self.batch_s, (time.monotonic() - first_s) / n_batches)


def kill_and_compare(folder: Path, seed: int, kills: int) -> None:
    """Kills come while it starts, or at batches that are spread over most of the run."""
    rehearse()
    rng, path, pace = random.Random(seed), workload(folder), Pace()
    n_batches = max(N.values()) // BATCH
    targets = [4, *sorted(int(rng.uniform(0, 0.7) * n_batches) for _ in range(kills - 1))]
    for n_killed, target in enumerate(targets):
        before, child = last_batch(folder), forked(folder, path)
        if n_killed and rng.random() < 0.3:
            time.sleep(rng.uniform(0.0, pace.start_s))
        else:
            pace.follow(folder, before, child, target)
            time.sleep(rng.uniform(0.0, pace.batch_s))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"it ended before kill {n_killed + 1}, with {status}"
    n_before = last_batch(folder)
    _, status = os.waitpid(forked(folder, path), 0)
    assert status == 0
    assert 0 < n_before < last_batch(folder)
    check_sink(folder / "out")
    check_answers(folder / "out")
    for name in JOINED:
        check_joined(folder, name)
    for name, limit in (("spells", 0), ("shed", 20)):
        assert answered(folder, name, ("v", "valid_from", "valid_to")) == spells(limit), name
    check_store(folder)


def check_joined(folder: Path, name: str) -> None:
    """What a join answered, change by change."""
    assert answered(folder, name, ("a", "b")) == joined(), name


def answered(folder: Path, name: str, columns: tuple[str, ...]) -> Counter[tuple[int, ...]]:
    """The elements of an answer: some columns, when, and the sign."""
    elements: Counter[tuple[int, ...]] = Counter()
    for file in folder.glob(f"out/run={RUN_ID}/query={name}/batch*.parquet"):
        table = ds.dataset(file).to_table().to_pylist()
        elements.update(tuple(row[name] for name in (*columns, "tau", "sign")) for row in table)
    return elements


@cache
def spells(limit: int) -> Counter[tuple[int, ...]]:
    """The coalesced tuples of the window after each arrival; of those that are kept in one that was
    never killed. limit: of tuples, 0: none."""
    options = CalsKnobs(memory_tuples=limit, state_form="tuples").options
    window = SheddingWindow(options, WindowExtent("rows", VALID_ROWS))
    elements: Counter[tuple[int, ...]] = Counter()
    before = Counter[tuple[int, ...]]()
    for number, (at, v, since, until_) in enumerate(valid_rows(), 1):
        window.arrive(TemporalTuple(number, (v,), since, until_))
        spans = [run.span for run in window.memory.runs()] if limit else coalesced(window.memory)
        shown = ((int(str(*s.values)), s.start, s.end) for s in spans if s.length > 3)
        now = Counter[tuple[int, ...]](shown)
        elements.update((*row, at, 1) for row in (now - before).elements())
        elements.update((*row, at, -1) for row in (before - now).elements())
        before = now
    return elements


@cache
def joined() -> Counter[tuple[int, ...]]:
    """The join by its definition; every tuple has a tick of its own."""
    trace = arriving(adhering_trace(3, {name: str(value) for name, value in TRACE.items()}))
    parents, children = (np.flatnonzero(trace.streams == one) for one in (S1, S2))
    found: Counter[tuple[int, ...]] = Counter()
    by_key = {int(trace.values[at, 0]): n for n, at in enumerate(children)}
    for n, at in enumerate(parents):
        a, b, _ = trace.values[at].tolist()
        child = by_key.get(a)
        if child is None or trace.values[children[child], 2] >= 500:
            continue
        came = max(at, children[child])
        gone = min(_pushed_out(parents, n, "P"), _pushed_out(children, child, "C"))
        if came < gone:
            found[a, b, FIRST_TICK + int(came), 1] += 1
            if gone < len(trace.streams):
                found[a, b, FIRST_TICK + int(gone), -1] += 1
    return found


def _pushed_out(places: NDArray[np.int64], n: int, stream: str) -> int:
    """When the n-th tuple of a stream leaves its window; beyond all, if it does not."""
    later = n + ROWS[stream]
    return int(places[later]) if later < len(places) else 1 << 40


def check_store(folder: Path) -> None:
    """Every batch is on record, once."""
    with open_reader(str(folder / "s.db")) as reader:
        (found,) = reader.runs()
        batches = reader.batches(found.id, None, 100_000)
        assert [batch.id for batch in batches] == list(range(len(batches)))
        assert sum(batch.n_tuples for batch in batches) == sum(N.values())
        assert reader.values(found.id)["system"]["tuples_total"] == sum(N.values())
        titles = [event.event.title for event in reader.events(found.id)]
        assert any(title.startswith("resumed at batch") for title in titles)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2])
def test_kills_cost_nothing(tmp_path: Path, seed: int) -> None:
    kill_and_compare(tmp_path, seed, 15)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(10, 22))
def test_more_kills_cost_nothing(tmp_path: Path, seed: int) -> None:
    kill_and_compare(tmp_path, seed, 25)
