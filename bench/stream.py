"""Windowed queries on Spark beside Spark's own stateful operators, in one run and in turns.

An aggregate by key over a sliding window and joins of two and of three streams, about one result a
tuple. The product runs a batch as a run does: one job, its shards' state in arenas, the redo log,
the sink; Spark has a stream-stream join with a bound on time, and applyInPandasWithState, whose
results it only counts. All state is in one shard, or one partition, where not said otherwise. What
each has found in the end is compared with what counting alone finds.
"""

from __future__ import annotations

import os
import shutil
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from pyspark.sql import SparkSession

from backend.hosts.spark.session import build_session
from bench.fastpath_lanes import OnStream, Took
from bench.on_spark import spool
from bench.stream_data import Answered, DifferentResults, Question, aggregate, join
from bench.stream_lanes import Product, SparksOwn
from bench.stream_recovery import Recovered, recovered

#: Tuples a batch -> timed batches.
SIZES: Final[Mapping[int, int]] = {15_000: 5, 100_000: 4}
#: Batches of the smallest kind, of which all time is fixed cost.
FIXED_TUPLES: Final = 1_000
FIXED_BATCHES: Final = 10
#: The state that is rebuilt.
STATE_TUPLES: Final = 1_000_000
#: Windows are full after one batch.
WARM_UP: Final = 2
PRODUCT, PRODUCT_2 = "the product", "the product, two shards"
PEER, PEER_2 = "Spark's own", "Spark's own, two partitions"
STATEFUL, STATELESS = "an aggregate", "a selection, without state"

Lanes = Mapping[str, OnStream]


def main() -> None:
    """Print a table per query and size, fixed costs and what a recovery takes."""
    with TemporaryDirectory() as name:
        session = build_session("local[2]", "planwatch bench", Path(name))
        try:
            for n_tuples, n_batches in SIZES.items():
                for question in (aggregate(n_tuples), join(2, n_tuples), join(3, n_tuples)):
                    place = Path(name) / f"{question.n_streams}-{n_tuples}"
                    beside_spark(session, place, question, n_batches)
            fixed_cost(session, Path(name) / "fixed")
        finally:
            session.stop()
        told_recovery(recovered(Path(name) / "recovery", STATE_TUPLES, max(SIZES)))


def beside_spark(session: SparkSession, folder: Path, question: Question, n_batches: int) -> None:
    """One query: the product and Spark; of larger batches also each with its state in two parts."""
    ours = {PRODUCT: Product(session, question, folder / "ours")}
    own = {PEER: SparksOwn(session, question, folder / "own")}
    if question.n_tuples == max(SIZES):
        ours[PRODUCT_2] = Product(session, question, folder / "ours-2", n_shards=2)
        own[PEER_2] = SparksOwn(session, question, folder / "own-2", n_partitions=2)
    took = turns(folder, question, {**ours, **own}, n_batches)
    n_all = WARM_UP + n_batches
    for name, lane in ours.items():
        check(f"{question.name}, {name}", lane.answered(), question.expected(n_all, lane.heartbeat))
    for name, peer in own.items():
        check(f"{question.name}, {name}", peer.answered(), question.expected(n_all))
    print(f"\n{question.name}, {question.n_tuples:,} tuples a batch, {_load()}")
    tell(took, question.n_tuples, PRODUCT)


def fixed_cost(session: SparkSession, folder: Path) -> None:
    """A batch of few tuples with state beside one without."""
    question = aggregate(FIXED_TUPLES)
    lanes = {
        STATEFUL: Product(session, question, folder / "stateful"),
        STATELESS: Product(session, question, folder / "stateless", n_shards=0),
    }
    took = turns(folder, question, lanes, FIXED_BATCHES)
    print(f"\nfixed cost: the product, {FIXED_TUPLES:,} tuples a batch, {_load()}")
    tell(took, FIXED_TUPLES, STATELESS)


def turns(folder: Path, question: Question, lanes: Lanes, n_batches: int) -> dict[str, list[Took]]:
    """What the batches of each lane took, without those that warmed up. Stops the lanes."""
    took: dict[str, list[Took]] = {name: [] for name in lanes}
    try:
        for turn in range(WARM_UP + n_batches):
            for stream in question.streams:
                first = turn * question.n_each
                spool(question.source(stream), folder / "tuples", question.n_each, first, stream)
            shift = turn % len(lanes)
            for name in [*lanes][shift:] + [*lanes][:shift]:
                took[name].append(lanes[name].step(folder / "tuples"))
            shutil.rmtree(folder / "tuples")
    finally:
        for lane in lanes.values():
            lane.close()
    return {name: found[WARM_UP:] for name, found in took.items()}


def check(what: str, found: Answered, expected: Answered) -> None:
    """Raises DifferentResults."""
    if found != expected:
        raise DifferentResults(f"{what}: found {found}, there are {expected}")


def tell(took: Mapping[str, Sequence[Took]], n_tuples: int, base: str) -> None:
    """Medians of the batches; ratios are medians over the turns."""
    n = len(took[base])
    head = f"  {f'medians of {n}':30}{'wall ms':>10}{'CPU ms':>10}{'k tuples/s':>12}"
    print(f"{head}{'wall, x ' + base:>32}{'CPU':>8}")
    for name, found in took.items():
        wall_s, cpu_s = (statistics.median(part) for part in zip(*found, strict=True))
        pairs = list(zip(found, took[base], strict=True))
        walls = statistics.median(one.wall_s / other.wall_s for one, other in pairs)
        cpus = statistics.median(one.cpu_s / max(other.cpu_s, 1e-9) for one, other in pairs)
        speed = n_tuples / wall_s / 1e3
        print(f"  {name:30}{1e3 * wall_s:10.0f}{1e3 * cpu_s:10.0f}{speed:12.1f}", end="")
        print(f"{walls:32.2f}{cpus:8.2f}", flush=True)


def told_recovery(found: Recovered) -> None:
    """Print what attaching a state takes."""
    print(f"\nrecovery of {found.n_state:,} tuples, {found.n_beyond:,} since the image, {_load()}")
    print(f"  an empty batch, state at hand {1e3 * found.at_hand_s:10.1f} ms")
    print(f"  an empty batch, state rebuilt {1e3 * found.rebuilt_s:10.1f} ms")


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"
