"""What a core does: whole batches of our Spark path on one core and on two, by number of queries.

The same tuples, queries and counts as in bench.scale, in turns. ``python -m bench sizing``.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyarrow as pa

from backend.workloads.drift import DRIFT_SCHEMA
from backend.workloads.sources import ArrowTableSource
from bench.fastpath_lanes import Took
from bench.on_spark import spool
from bench.scale_data import Counts, drift_tuples, workload
from bench.scale_peers import timed
from bench.scale_spark import spark_paths

#: Queries, and the tuples they are given.
SIZES: Final = ((50, 2_000_000), (500, 2_000_000), (5_000, 1_000_000), (50_000, 100_000))
#: Sessions with one core and with two, in turns.
TURNS: Final = 2
#: A session may take so long.
LIMIT_S: Final = 900.0


def main() -> None:
    """Print a line for each number of queries."""
    tuples = drift_tuples(max(n for _, n in SIZES))
    works = [workload(k, tuples) for k, _ in SIZES]
    with TemporaryDirectory() as folder:
        given = [
            (_spooled(tuples.slice(0, n), Path(folder) / str(k)), k, work.order)
            for work, (k, n) in zip(works, SIZES, strict=True)
        ]
        turns = _turns(given)
    print(f"{'k':>6} {'MiB of bitmaps':>15}  tuples/s on 1 core, on 2; of a second of their time")
    for place, (work, (k, n)) in enumerate(zip(works, SIZES, strict=True)):
        one, two = (_speeds(n, [turn[place] for turn in turns[cores]]) for cores in (1, 2))
        mib = work.constructs.bitmap_bytes / 2**20
        wall = f"{one.wall_s:,.0f}, {two.wall_s:,.0f} ({two.wall_s / one.wall_s:.2f} x)"
        spent = f"{one.cpu_s:,.0f}, {two.cpu_s:,.0f} ({2 * two.cpu_s / one.cpu_s:.2f} x if free)"
        print(f"{k:>6} {mib:>15.2f}  {wall}; {spent}", flush=True)


def _spooled(tuples: pa.Table, folder: Path) -> Path:
    return spool(ArrowTableSource(tuples, DRIFT_SCHEMA), folder, len(tuples))


def _speeds(n: int, found: Sequence[Took]) -> Took:
    """Tuples a second of batches of n, by the clock and of processor time."""
    return Took(*(n / statistics.median(values) for values in zip(*found, strict=True)))


def _turns(given: Sequence[tuple[Path, int, Sequence[str]]]) -> dict[int, list[list[Took]]]:
    """What the batches of each session took, by number of cores. Raises AssertionError when counts
    differ."""
    turns: dict[int, list[list[Took]]] = {1: [], 2: []}
    counted: list[list[Counts]] = []
    for _ in range(TURNS):
        for cores, found in turns.items():
            _, told = timed(spark_paths, cores, given, limit_s=LIMIT_S)
            if isinstance(told, str):
                raise AssertionError(f"on {cores} cores: {told}")
            found.append([took for took, _ in told])
            counted.append([counts for _, counts in told])
    if any(counts != counted[0] for counts in counted):
        raise AssertionError(f"counts differ: {counted}")
    return turns
