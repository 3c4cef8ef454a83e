"""Windowed queries on Spark beside Spark's own stateful operators, in one run and in turns.

An aggregate by key over a sliding window and joins of two and of three streams, about one result a
tuple. The product runs a batch as a run does: one job, its shards' state in arenas, the redo log,
the sink; Spark has a stream-stream join with a bound on time, and applyInPandasWithState, whose
results it only counts. Beside Spark batches are small and windows ten of them long; larger batches
are the product's alone, with windows of joins that processors' caches hold. All state is in one
shard, or one partition, where not said otherwise. What each has found in the end is compared with
what counting alone finds.
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

from backend.hosts.spark.session.session import build_session
from bench.fastpath_lanes import OnStream, Took
from bench.on_spark import spool
from bench.stream_data import WINDOW, Answered, DifferentResults, Question, aggregate, join
from bench.stream_lanes import Product, SparksOwn
from bench.stream_recovery import Recovered, recovered

#: Tuples of a batch beside Spark, the ticks that it is long, and timed batches.
SMALL: Final = 15_000
SMALL_TICKS: Final = WINDOW // 10
SMALL_BATCHES: Final = 5
#: Tuples of a batch of the product alone, the ticks that it is long where streams are joined, and
#: timed batches.
LARGE: Final = 400_000
LARGE_TICKS: Final = 10 * WINDOW
LARGE_BATCHES: Final = 4
#: Timed batches of Spark as it comes; they take long.
RARE_BATCHES: Final = 1
#: Partitions of state that Spark makes unless told otherwise.
SPARKS_PARTITIONS: Final = 200
#: Batches of the smallest kind, of which all time is fixed cost.
FIXED_TUPLES: Final = 1_000
FIXED_BATCHES: Final = 10
#: The state that is rebuilt.
STATE_TUPLES: Final = 1_000_000
RECOVERY_TUPLES: Final = 100_000
#: Turns before those that are timed; the first fills the windows.
WARM_UP: Final = 2
PRODUCT, PRODUCT_2 = "the product", "the product, two shards"
PEER, PEER_AS_IT_COMES = "Spark's own, one partition", "Spark's own, 200 partitions"
STATEFUL, STATELESS = "an aggregate", "a selection, without state"

Lanes = Mapping[str, OnStream]


def main() -> None:
    """Print a table per query and size, fixed costs and what a recovery takes."""
    with TemporaryDirectory() as name:
        session = build_session("local[2]", "planwatch bench", Path(name))
        try:
            fixed_cost(session, Path(name) / "fixed")
            long = {"n_tuples": LARGE, "ticks": LARGE_TICKS}
            for question in (aggregate(LARGE), join(2, **long), join(3, **long)):
                in_shards(session, Path(name) / f"large-{question.n_streams}", question)
            small = {"n_tuples": SMALL, "ticks": SMALL_TICKS}
            for question in (aggregate(**small), join(2, **small), join(3, **small)):
                place = Path(name) / f"small-{question.n_streams}"
                beside_spark(session, place, question, PEER, 1, SMALL_BATCHES)
            place, partitions = Path(name) / "as-it-comes", SPARKS_PARTITIONS
            question = join(2, **small)
            beside_spark(session, place, question, PEER_AS_IT_COMES, partitions, RARE_BATCHES)
        finally:
            session.stop()
        told_recovery(recovered(Path(name) / "recovery", STATE_TUPLES, RECOVERY_TUPLES))


def beside_spark(
    session: SparkSession,
    folder: Path,
    question: Question,
    peer: str,
    n_partitions: int,
    n_batches: int,
) -> None:
    """One query: the product and Spark. peer: what it is called; n_partitions: of its state."""
    ours = Product(session, question, folder / "ours")
    own = SparksOwn(session, question, folder / "own", n_partitions)
    took = turns(folder, question, {PRODUCT: ours, peer: own}, n_batches)
    n_all = question.n_filling + WARM_UP - 1 + n_batches
    check(f"{question.name}, {PRODUCT}", ours.answered(), question.expected(n_all, ours.heartbeat))
    check(f"{question.name}, {peer}", own.answered(), question.expected(n_all))
    tell(question, took, PRODUCT)


def in_shards(session: SparkSession, folder: Path, question: Question) -> None:
    """One query: the product with its state in one shard and in two."""
    lanes = {
        PRODUCT: Product(session, question, folder / "one"),
        PRODUCT_2: Product(session, question, folder / "two", n_shards=2),
    }
    took = turns(folder, question, lanes, LARGE_BATCHES)
    n_all = question.n_filling + WARM_UP - 1 + LARGE_BATCHES
    for name, lane in lanes.items():
        check(f"{question.name}, {name}", lane.answered(), question.expected(n_all, lane.heartbeat))
    tell(question, took, PRODUCT)


def fixed_cost(session: SparkSession, folder: Path) -> None:
    """A batch of few tuples with state beside one without."""
    question = aggregate(FIXED_TUPLES)
    lanes = {
        STATEFUL: Product(session, question, folder / "stateful"),
        STATELESS: Product(session, question, folder / "stateless", n_shards=0),
    }
    took = turns(folder, question, lanes, FIXED_BATCHES)
    print("\nfixed cost of the product", end="")
    tell(question, took, STATELESS)


def turns(folder: Path, question: Question, lanes: Lanes, n_batches: int) -> dict[str, list[Took]]:
    """What the batches of each lane took, without those that warmed up. Stops the lanes."""
    took: dict[str, list[Took]] = {name: [] for name in lanes}
    try:
        first = 0
        for turn in range(WARM_UP + n_batches):
            n = question.n_each * (1 if turn else question.n_filling)
            for stream in question.streams:
                spool(question.source(stream), folder / "tuples", n, first, stream)
            first += n
            shift = turn % len(lanes)
            for name in [*lanes][shift:] + [*lanes][:shift]:
                took[name].append(lanes[name].step(folder / "tuples"))
            shutil.rmtree(folder / "tuples")
    finally:
        for lane in lanes.values():
            lane.close()
    return {name: times[WARM_UP:] for name, times in took.items()}


def check(what: str, answer: Answered, expected: Answered) -> None:
    """Raises DifferentResults."""
    if answer != expected:
        raise DifferentResults(f"{what}: found {answer}, there are {expected}")


def tell(question: Question, took: Mapping[str, Sequence[Took]], base: str) -> None:
    """Medians of the batches; ratios are medians over the turns."""
    n, n_tuples = len(took[base]), question.n_tuples
    windows = f"{question.n_each * WINDOW // question.ticks:,} tuples in a window"
    print(f"\n{question.name}, {n_tuples:,} tuples a batch, {windows}, {_load()}")
    head = f"  {f'medians of {n}':30}{'wall ms':>10}{'CPU ms':>10}{'k tuples/s':>12}"
    print(f"{head}{'wall, x ' + base:>32}{'CPU':>8}")
    for name, times in took.items():
        wall_s, cpu_s = (statistics.median(part) for part in zip(*times, strict=True))
        pairs = list(zip(times, took[base], strict=True))
        walls = statistics.median(ours.wall_s / other.wall_s for ours, other in pairs)
        cpus = statistics.median(ours.cpu_s / max(other.cpu_s, 1e-9) for ours, other in pairs)
        speed = n_tuples / wall_s / 1e3
        print(f"  {name:30}{1e3 * wall_s:10.0f}{1e3 * cpu_s:10.0f}{speed:12.1f}", end="")
        print(f"{walls:32.2f}{cpus:8.2f}", flush=True)


def told_recovery(costs: Recovered) -> None:
    """Print what attaching a state takes."""
    print(f"\nrecovery of {costs.n_state:,} tuples, {costs.n_beyond:,} since the image, {_load()}")
    print(f"  an empty batch, state at hand {1e3 * costs.at_hand_s:10.1f} ms")
    print(f"  an empty batch, state rebuilt {1e3 * costs.rebuilt_s:10.1f} ms")


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"
