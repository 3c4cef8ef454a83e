"""What a core does: whole batches of our Spark path on one core and on two, by number of queries.

The same tuples, queries and counts as in bench.scale, in turns. ``python -m bench sizing``.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from backend.workloads.drift import DRIFT_SCHEMA
from backend.workloads.sources import ArrowTableSource
from bench.on_spark import spool
from bench.scale_data import drift_tuples, workload
from bench.scale_peers import timed
from bench.scale_spark import spark_path_counts

#: Queries, and the tuples they are given.
SIZES: Final = ((50, 2_000_000), (500, 2_000_000), (5_000, 1_000_000), (50_000, 100_000))
TURNS: Final = 2
#: A turn may take so long.
LIMIT_S: Final = 300.0


def main() -> None:
    """Print a line for each number of queries."""
    tuples = drift_tuples(max(n for _, n in SIZES))
    print(f"{'k':>6} {'MiB of bitmaps':>15} {'tuples/s, 1 core':>17} {'2 cores':>12} {'growth':>7}")
    for k, n in SIZES:
        work = workload(k, tuples)
        with TemporaryDirectory() as folder:
            source = ArrowTableSource(tuples.slice(0, n), DRIFT_SCHEMA)
            seconds = _turns(spool(source, Path(folder) / "in", n), k, work.order)
        one, two = (n / statistics.median(seconds[cores]) for cores in (1, 2))
        mib = work.constructs.bitmap_bytes / 2**20
        print(f"{k:>6} {mib:>15.2f} {one:>17,.0f} {two:>12,.0f} {two / one:>6.2f}x", flush=True)


def _turns(spooled: Path, k: int, order: tuple[str, ...]) -> dict[int, list[float]]:
    """Seconds of a batch, by number of cores. Raises AssertionError when counts differ."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    counted = set()
    for _ in range(TURNS):
        for cores, found in seconds.items():
            _, told = timed(spark_path_counts, spooled, k, order, cores, limit_s=LIMIT_S)
            if isinstance(told, str):
                raise AssertionError(f"k = {k} on {cores} cores: {told}")
            found.append(told[0])
            counted.add(tuple(told[1]))
    if len(counted) != 1:
        raise AssertionError(f"k = {k}: counts differ, {counted}")
    return seconds
