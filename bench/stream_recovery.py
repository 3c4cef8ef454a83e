"""What it takes to have the state of a shard again, where it is and where it was lost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from backend.operators.network.core.job import NetworkJob
from backend.operators.network.shards.shard import NetworkTask, Places, run_shard
from backend.operators.network.shards.shard_reports import ShardReport
from backend.operators.network.shards.timed import Arrived
from bench.stream_data import SCHEMA, TICKS, DifferentResults, aggregate
from bench.stream_lanes import UNIT, network_job


class Recovered(NamedTuple):
    """n_state: tuples in the window; n_beyond: of them those since the newest image. at_hand_s,
    rebuilt_s: of an empty batch on the state as it was left, and on one that is made from the image
    and the segments after it."""

    n_state: int
    n_beyond: int
    at_hand_s: float
    rebuilt_s: float


def recovered(folder: Path, n_state: int, n_tuples: int) -> Recovered:
    """An aggregate by key over a window that holds all. n_tuples: of a batch. Raises
    DifferentResults."""
    n_batches = -(-n_state // n_tuples)
    question = aggregate(n_tuples, window=2 * n_batches * TICKS)
    job, places = network_job(question), Places(str(folder / "log"), str(folder / "arenas"))
    log = places.log_of(UNIT)
    version = log.keep_job(job)
    for batch in range(n_batches):
        table = question.source("A").slice(batch * n_tuples, n_tuples).select(SCHEMA.names)
        _step(job, version, batch, places, [Arrived(table)])
    image = max(log.images(0), default=-1)
    at_hand, at_hand_s = _step(job, version, n_batches, places)
    elsewhere = Places(places.log, str(folder / "elsewhere"))
    rebuilt, rebuilt_s = _step(job, version, n_batches, elsewhere)
    how = [dict(report.network.attached) for report in (at_hand, rebuilt)]
    n_held = [_n_held(report) for report in (at_hand, rebuilt)]
    if how != [{"arena": 1}, {"rebuilt": 1}] or n_held[0] != n_held[1]:
        raise DifferentResults(f"recovery: {how}, with {n_held} tuples held")
    return Recovered(n_batches * n_tuples, (n_batches - 1 - image) * n_tuples, at_hand_s, rebuilt_s)


def _step(
    job: NetworkJob, version: str, batch: int, places: Places, arrived: Sequence[Arrived] = ()
) -> tuple[ShardReport, float]:
    """Run a batch; its seconds."""
    started = time.perf_counter()
    task = NetworkTask(UNIT, batch, job, version, frozenset(), "", "parquet")
    report = run_shard(task, 0, places.shard(UNIT, 0, 1), {"A": arrived}, ())
    return report, time.perf_counter() - started


def _n_held(report: ShardReport) -> int:
    """Tuples in the synopses of all operators."""
    return sum(operator.n_tuples for operator in report.network.operators.values())
