"""Thousands of queries: the product beside DuckDB and Polars (``python -m bench scale``).

In full, ``--full``, more tuples; then our kernel and our Spark path beside plain Spark over the
same drift tuples, what they count compared in the same run, visits per tuple of every ordering, and
one thread of the kernel against C and against memory.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from backend.adaptive.stats import mean_of
from backend.operators.selection.lookup import hit_regions
from backend.operators.selection.matcher import Matcher
from backend.systems.asc.cost import CostModel, route
from backend.systems.asc.hybrid import Rules
from backend.systems.asc.orderings import NAMES, ORDERINGS, propose
from bench import scale_c
from bench.scale_data import (
    N_THREADS,
    Counts,
    Kernel,
    ScaleData,
    columns_of,
    drift_tuples,
    workload,
)
from bench.scale_peers import spark_counts, timed, write_tuples
from bench.scale_spark import spark_path, without_spark
from bench.scale_turns import compare
from bench.timing import take_turns


class Size(NamedTuple):
    """Queries, tuples for plain Spark, tuples for us (its are their first)."""

    k: int
    n_peers: int
    n_ours: int


#: Queries and tuples of the product and its peers.
QUICK: Final = ((50, 500_000), (500, 500_000), (2_000, 500_000))
FULL: Final = ((50, 10_000_000), (500, 5_000_000), (2_000, 2_000_000), (5_000, 1_000_000))
SIZES: Final = (
    Size(50, 1_000_000, 4_000_000),
    Size(500, 200_000, 4_000_000),
    Size(5_000, 20_000, 1_000_000),
    Size(50_000, 2_000, 400_000),
)
ROUNDS: Final = 5
#: Of one thread alone: rounds of milliseconds, which a passing disturbance can cover whole.
SHORT_ROUNDS: Final = 25
#: A peer may take so long, start and compilation included.
LIMIT_S: Final = 180.0
KINDS: Final = ("early drop", "no early drop")


def main(full: bool = False) -> None:
    """Print the tables."""
    for k, n_tuples in FULL if full else QUICK:
        compare(k, n_tuples, 3 if full else 1)
    if full:
        _kernels()


def _kernels() -> None:
    tuples = drift_tuples(max(size.n_ours for size in SIZES))
    works = []
    for size in SIZES:
        works.append(workload(size.k, tuples))
        _throughput(works[-1], size, tuples)
    _visits(works)
    _against_c(works, tuples)


def _throughput(work: ScaleData, size: Size, tuples: pa.Table) -> None:
    ours = tuples.slice(0, size.n_ours)
    print(f"\nk = {work.k}: {len(work.order)} constructs, {_mib(work):.1f} MiB of bitmaps")
    columns = columns_of(ours, work.order)
    few = [column[: size.n_peers] for column in columns]
    kernels = {kind: Kernel.of(work, kind) for kind in KINDS}
    expected, expected_ours = kernels["early drop"].run(few), kernels["early drop"].run(columns)
    variants = {kind: _runner(kernel, columns) for kind, kernel in kernels.items()}
    seconds, results = take_turns(variants, ROUNDS)
    for kind, kernel in kernels.items():
        took = statistics.median(seconds[kind])
        _line(f"our kernel, {kind}", size.n_ours, took, results[kind], expected_ours)
        before = time.process_time()
        kernel.run(columns)
        speed = size.n_ours / (time.process_time() - before)
        print(f"  {'':32} {speed:,.0f} tuples a second of a core's time", flush=True)
    with TemporaryDirectory() as folder:
        path = write_tuples(ours, Path(folder) / "ours.parquet")
        _paths(work, size.n_ours, path, expected_ours)
        path = write_tuples(tuples.slice(0, size.n_peers), Path(folder) / "peers.parquet")
        for name, peer, more in _PEERS:
            took, counts = timed(peer, path, work.texts, *more, limit_s=LIMIT_S)
            _line(name, size.n_peers, took, counts, expected)


def _paths(work: ScaleData, n_ours: int, path: Path, expected: Counts) -> None:
    """From the Parquet file to the sink: on Spark, with one core and with two, and without it."""
    alone, counts = without_spark(path, work.k, work.order, N_THREADS)
    _line("the same without Spark", n_ours, alone, counts, expected)
    took: dict[int, float] = {}
    for n_cores in (1, N_THREADS):
        _, outcome = timed(spark_path, path, work.k, work.order, n_cores, limit_s=3 * LIMIT_S)
        name = f"our Spark path, {n_cores} of the cores"
        if isinstance(outcome, str):
            _line(name, n_ours, 0.0, outcome, expected)
            continue
        took[n_cores] = outcome.batch_s
        _line(name, n_ours, outcome.batch_s, outcome.counts, expected)
        print(f"  {'':32} first batch {outcome.first_s:.1f} s; {outcome.memory}", flush=True)
    if len(took) == 2:
        more, times = took[1] / took[N_THREADS], took[N_THREADS] / alone
        print(f"  {'':32} a second core {more:.2f} x; {times:.2f} x the time without Spark")


_PEERS: Final[tuple[tuple[str, Callable[..., Counts], tuple[Any, ...]], ...]] = (
    ("plain Spark, tuned", spark_counts, (False,)),
    ("plain Spark, default", spark_counts, (True,)),
)


def _runner(kernel: Kernel, columns: Sequence[Any]) -> Callable[[], Counts]:
    return lambda: kernel.run(columns)


def _mib(work: ScaleData) -> float:
    return work.constructs.bitmap_bytes / 2**20


def _line(name: str, n: int, seconds: float, counts: Any, expected: Counts) -> None:
    """One line of the table. Raises AssertionError when the counts differ from ours."""
    if isinstance(counts, str):
        print(f"  {name:32} {n:>9} tuples: {counts}", flush=True)
        return
    if tuple(counts) != expected:
        raise AssertionError(f"{name} counts {counts}, our kernel {expected}")
    print(f"  {name:32} {n:>9} tuples {seconds:8.2f} s {n / seconds:13,.0f} tuples/s", flush=True)


def _visits(works: Sequence[ScaleData]) -> None:
    """Visits per tuple of every ordering on the sample (stop rule: resolved)."""
    model, rules = CostModel("resolved", 1.0), Rules("resolved", "local", 10)
    print("\nVisits per tuple on the sample")
    print(f"  {'':28}" + "".join(f"{work.k:>10}" for work in works))
    for ordering in ORDERINGS:
        cells = []
        for work in works:
            proposed = propose(ordering, work.constructs, [work.sample], model, rules)
            routed = route(work.constructs, work.sample, proposed.shape, "resolved")
            cells.append(mean_of(routed.visits).value)
        print(f"  {NAMES[ordering]:28}" + "".join(f"{cell:10.2f}" for cell in cells), flush=True)


def _against_c(works: Sequence[ScaleData], tuples: pa.Table) -> None:
    """One thread, regions looked up before: numba, C, and the bytes of bitmaps read a second."""
    in_c = scale_c.compiled()
    memory = scale_c.bandwidth()
    print(f"\nOne thread, matching alone; memory gives {memory / 1e9:.1f} GB/s")
    if in_c is None:
        print("  there is no C compiler here: numba alone")
    for work in works:
        n = min(len(tuples), max(2000, 20_000_000 // max(50, work.k)))
        for kind in KINDS:
            kernel = Kernel.of(work, kind)
            if len(kernel.layout.tile_starts) == 2:
                _one_thread(work, kernel, tuples.slice(0, n), in_c, memory)


def _one_thread(
    work: ScaleData, kernel: Kernel, tuples: pa.Table, in_c: Any, memory: float
) -> None:
    regions = np.empty((len(work.order), len(tuples)), dtype=np.int32)
    for place, column in enumerate(columns_of(tuples, work.order)):
        hit_regions(kernel.searches[place], column, None, regions[place])
    matcher = Matcher(kernel.layout, kernel.kind, True)
    room = len(matcher.match(regions).slots)
    visits = int(matcher.counts.reached.sum())
    variants: dict[str, Callable[[], int]] = {"numba": lambda: len(matcher.match(regions).slots)}
    if in_c is not None:
        variants["C"] = lambda: in_c[kernel.kind](kernel.layout, regions, room)
    seconds, results = take_turns(variants, SHORT_ROUNDS)
    if len(set(results.values())) != 1:
        raise AssertionError(f"numba and C find different numbers of matches: {results}")
    best = {name: min(times) for name, times in seconds.items()}
    read = visits * work.constructs.n_words * 8 / best["numba"]
    ratio = f"{best['numba'] / best['C']:.2f} x the time of C, " if in_c is not None else ""
    speed = len(tuples) / best["numba"] / 1e6
    print(
        f"  k = {work.k:<6} {kernel.kind:14} {speed:8.2f} M tuples/s, {ratio}"
        f"{read / 1e9:.1f} GB/s of bitmaps ({read / memory:.1f} of memory)",
        flush=True,
    )
