"""Shards killed inside their steps at random instants: answers as if they had been left alone.

A process runs batch after batch as a driver would: the shards' steps, each with an arena in one of
two folders, as if it had come to one of two machines; then it publishes, then it commits. It gets
kill -9 again and again; the next one goes on behind the last commit, sometimes with the arenas.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pytest

from backend.hosts.publish import FolderSink
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.expressions.arrow import answer_schema
from backend.operators.network.shards import homes
from backend.operators.network.shards.answers import answer_fields
from backend.operators.network.shards.homes import MemoryShard, ShardHome
from backend.operators.network.shards.shard import (
    NetworkTask,
    Places,
    run_shard,
)
from backend.operators.network.shards.shard_reports import ShardReport
from backend.operators.network.shards.timed import Arrived
from storage.vocabulary.names import answer_folder
from tests.network_toys import make, sums_job

N_BATCHES = 40
STREAMS = {"S": 60, "T": 25}
HomeOf: TypeAlias = Callable[[int], ShardHome]


def arrived(batch: int) -> dict[str, list[Arrived]]:
    found = {}
    for stream, n in STREAMS.items():
        rng = np.random.default_rng([batch, n])
        first = batch * n
        at = np.arange(first, first + n) * 100 // n + rng.integers(-1, 2, n)
        keys = [f"k{k}" if k else None for k in rng.integers(0, 3 + 2 * batch, n)]
        table = pa.table({"at": np.maximum(at, 0), "key": keys, "value": rng.integers(0, 9, n)})
        found[stream] = [Arrived(table, np.arange(first, first + n))]
    return found


def job_of(batch: int, n_shards: int) -> NetworkJob:
    """A query comes at batch 12, one goes at batch 25."""
    queries = [("S", True), ("T", False)]
    queries += [("T", True)] if batch >= 12 else []
    return sums_job(*queries[1 if batch >= 25 else 0 :], ("S", False), n_shards=n_shards)


def run_batch(batch: int, n_shards: int, places: Places, sink: Path, home_of: HomeOf) -> None:
    """As a host does."""
    job = job_of(batch, n_shards)
    version = places.log_of("u").keep_job(job)
    ended = frozenset(STREAMS if batch == N_BATCHES - 1 else ())
    task = NetworkTask("u", batch, job, version, frozenset(), str(sink), "parquet", make)
    reports: list[ShardReport] = []
    for shard in range(n_shards):
        reports.append(run_shard(task, shard, home_of(shard), arrived(batch), ended))
    for query in job.plan.answers:
        schema = answer_schema(answer_fields(job.plan, query))
        parts = [name for one in reports for name in one.parts.get(query, ())]
        FolderSink(f"{sink}/{answer_folder(query, 0)}", "parquet", schema).publish(batch, parts)
    attached = [how for one in reports for how in one.network.attached]
    with (sink / "_how").open("a") as log:
        log.write("".join(f"{how}\n" for how in attached))


def drive(folder: Path, n_shards: int, incarnation: int, wandering: bool) -> None:
    """Run what is left of the batches."""
    rng, state = random.Random(), str(folder / "state")

    def home(shard: int) -> ShardHome:
        machine = rng.randrange(2) if wandering else 0
        places = Places(state, str(folder / f"local-{incarnation}-{machine}"))
        return places.shard("u", shard, n_shards)

    while (batch := int((folder / "commit").read_text()) + 1) < N_BATCHES:
        run_batch(batch, n_shards, Places(state, ""), folder, home)
        hidden = folder / "_commit"
        hidden.write_text(str(batch))
        hidden.replace(folder / "commit")


def answers(folder: Path) -> Counter[tuple[object, ...]]:
    found: Counter[tuple[object, ...]] = Counter()
    for query in sorted(folder.glob("query=*")):
        for file in sorted(query.glob("batch-*.parquet")):
            table = pa.parquet.read_table(file)
            batch = int(file.name.split("-")[1])
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            found.update((query.name, batch, *row) for row in rows)
            assert table.column("tau").to_pylist() == sorted(table.column("tau").to_pylist())
    return found


def expected(folder: Path) -> Counter[tuple[object, ...]]:
    """One shard in memory, never killed."""
    (folder / "state").mkdir(parents=True)
    places = Places(str(folder / "state"), "")
    home = MemoryShard(lambda version: places.log_of("u").job(version))
    for batch in range(N_BATCHES):
        run_batch(batch, 1, places, folder, lambda shard: home)
    return answers(folder)


def kill_and_compare(folder: Path, seed: int, n_shards: int, wandering: bool, kills: int) -> None:
    wanted = expected(folder / "alone")
    assert len(wanted) > 1500
    rng, own = random.Random(seed), folder / "killed"
    own.mkdir()
    (own / "commit").write_text("-1")
    incarnation = n_killed = 0
    while True:
        child = os.fork()
        if child == 0:
            try:
                drive(own, n_shards, incarnation, wandering)
            except BaseException as error:
                print("child:", repr(error), flush=True)
                os._exit(1)
            os._exit(0)
        if n_killed < kills:
            started = (own / "commit").read_text()
            while (own / "commit").read_text() == started and _lives(child):
                time.sleep(0.0005)
            time.sleep(rng.random() * 0.03)
            os.kill(child, signal.SIGKILL)
            incarnation += rng.random() < 0.4
        _, status = os.waitpid(child, 0)
        n_killed += os.WIFSIGNALED(status)
        if not os.WIFSIGNALED(status):
            assert status == 0
            break
    assert answers(own) == wanted
    hows = Counter((own / "_how").read_text().split("\n"))
    assert hows["rebuilt"] >= n_killed // 2
    assert hows["arena"] >= 5
    assert not wandering or hows["caught up"] >= 3
    assert n_killed >= kills // 2


def _lives(child: int) -> bool:
    """Whether it has not ended; it is waited for later."""
    found = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return found is None


@pytest.mark.parametrize(("n_shards", "wandering"), [(1, False), (2, False), (2, True)])
def test_kills_inside_steps_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_shards: int, wandering: bool
) -> None:
    monkeypatch.setattr(homes, "IMAGE_EVERY", 5)
    kill_and_compare(tmp_path, 7, n_shards, wandering, 15)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(("n_shards", "wandering"), [(1, False), (2, False), (2, True)])
def test_more_kills_inside_steps_cost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, n_shards: int, wandering: bool
) -> None:
    monkeypatch.setattr(homes, "IMAGE_EVERY", 5)
    kill_and_compare(tmp_path, seed, n_shards, wandering, 30)
