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
from bench.fastpath_lanes import Took
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
    print(f"{'k':>6} {'MiB of bitmaps':>15}  tuples/s on 1 core, on 2; of a second of their time")
    for k, n in SIZES:
        work = workload(k, tuples)
        with TemporaryDirectory() as folder:
            source = ArrowTableSource(tuples.slice(0, n), DRIFT_SCHEMA)
            turns = _turns(spool(source, Path(folder) / "in", n), k, work.order)
        one, two = (
            [n / statistics.median(values) for values in zip(*turns[cores], strict=True)]
            for cores in (1, 2)
        )
        mib = work.constructs.bitmap_bytes / 2**20
        wall = f"{one[0]:,.0f}, {two[0]:,.0f} ({two[0] / one[0]:.2f} x)"
        spent = f"{one[1]:,.0f}, {two[1]:,.0f} ({2 * two[1] / one[1]:.2f} x on two free cores)"
        print(f"{k:>6} {mib:>15.2f}  {wall}; {spent}", flush=True)


def _turns(spooled: Path, k: int, order: tuple[str, ...]) -> dict[int, list[Took]]:
    """What batches took, by number of cores. Raises AssertionError when counts differ."""
    turns: dict[int, list[Took]] = {1: [], 2: []}
    counted = set()
    for _ in range(TURNS):
        for cores, found in turns.items():
            _, told = timed(spark_path_counts, spooled, k, order, cores, limit_s=LIMIT_S)
            if isinstance(told, str):
                raise AssertionError(f"k = {k} on {cores} cores: {told}")
            found.append(told[0])
            counted.add(tuple(told[1]))
    if len(counted) != 1:
        raise AssertionError(f"k = {k}: counts differ, {counted}")
    return turns
