"""Whole runs in one process killed at random instants: results as if they had been left alone.

The engine with its store, its decisions, the sink, selections, filters and networks, on the host of
this process; it gets kill -9 again and again, while it starts, in a batch, between two. The same
workload is killed on Spark in tests/spark/test_killed_runs.py, whose definitions these are.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from backend.engine.job import InputJob, RunJob
from backend.engine.loop import Loop
from backend.engine.resume import QUERIES, goes_on
from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.hosts.rehearsal import rehearse
from backend.workloads.sources import open_source
from backend.workloads.spec import SinkSpec, Workload, load_workload
from storage.errors import StoreError
from storage.reading.resume import last_state
from storage.store import open_reader
from storage.vocabulary.records import Input, Run
from storage.writer import open_engine_writer
from tests.spark.test_killed_runs import N, check_answers, check_sink, until, workload

RUN_ID = "killed-run"
#: Tuples of each stream in a batch.
BATCH = 400
#: Between two looks at how far it is: batches take a few times as long.
_PAUSE_S = 0.002


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
    check_store(folder)


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
