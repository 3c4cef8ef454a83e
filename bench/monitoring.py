"""What watching and rearranging cost a run: the same batches under the same plans without it.

Drift tuples whose selective attribute changes half-way, fifty queries, default knobs; batches of
a live pace and large ones. The two take turns in one session: one draws its sample in the job and
has the decision core behind it, the other runs the plan that leads to, and draws nothing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from backend.cql import parse_query
from backend.hosts.spark.session import build_session
from backend.model.knobs import KnobSettings
from backend.operators.contract import Operator
from backend.systems.asc.knobs import AscKnobs
from backend.systems.asc.unit import SelectionUnit
from backend.systems.contract import BatchRan, UnitJob
from backend.workloads.contract import CORRUPT
from backend.workloads.drift import DRIFT_SCHEMA, Phase, drift_table, q1_queries
from bench.running import SparkBatches
from bench.streams import called_by_stream

SEED: Final = 7
#: Tuples a batch -> timed batches.
SIZES: Final = {1_000: 60, 100_000: 24}
WARM_UP: Final = 10
_UNIT: Final = "asc.Drift"


def main() -> None:
    """Print a table per size of batches."""
    with TemporaryDirectory() as scratch:
        session = build_session("local[2]", "planwatch bench", Path(scratch))
        try:
            for n_tuples, n_batches in SIZES.items():
                folder = Path(scratch) / str(n_tuples)
                called_by_stream(session, partial(watched, session, folder, n_tuples, n_batches))
        finally:
            session.stop()


def watched(session: SparkSession, folder: Path, n_tuples: int, n_batches: int) -> None:
    """Batches of one size: time with the watching, without, and that of the decision core alone."""
    seconds: dict[str, list[float]] = {"watched": [], "not watched": []}
    core_s: list[float] = []
    unit = _unit()
    batches = {
        name: SparkBatches(session, "Drift", DRIFT_SCHEMA, folder / name) for name in seconds
    }
    for batch in range(WARM_UP + n_batches):
        frame = _batch(session, folder, batch, n_tuples, n_batches)
        operator = unit.operator(batch)
        unwatched = replace(operator, profile_prob=0.0)
        for name in sorted(seconds, reverse=bool(batch % 2)):
            is_watched = name == "watched"
            started = time.perf_counter()
            runs: Operator = operator if is_watched else unwatched
            result = batches[name].run(batch, frame, {_UNIT: runs})
            executed = time.perf_counter()
            if is_watched:
                unit.executed(BatchRan(batch, result.units[_UNIT], 1e3 * executed))
                core_s.append(time.perf_counter() - executed)
            seconds[name].append(time.perf_counter() - started)
    _tell(n_tuples, {name: found[WARM_UP:] for name, found in seconds.items()}, core_s[WARM_UP:])
    print(f"  plans: {unit.plan_version}")


def _tell(n_tuples: int, seconds: Mapping[str, list[float]], core_s: list[float]) -> None:
    middle = {name: statistics.median(found) for name, found in seconds.items()}
    ratios = [a / b for a, b in zip(*seconds.values(), strict=True)]
    print(f"\nbatches of {n_tuples:,} tuples, {len(core_s)} pairs")
    for name, found in middle.items():
        print(f"  {name:12} median {1e3 * found:8.1f} ms")
    print(f"  watched / not watched, median of the pairs: {statistics.median(ratios):.3f}")
    share = 100 * sum(core_s) / sum(seconds["watched"])
    print(f"  of it the decision core, all rearranging included: {share:.2f} % of the time")


def _unit() -> SelectionUnit:
    streams = {"Drift": DRIFT_SCHEMA}
    texts = q1_queries(seed=SEED)
    queries = tuple(parse_query(name, text, streams) for name, text in texts.items())
    settings = KnobSettings.defaults(AscKnobs.specs(), {})
    unit = SelectionUnit(UnitJob(_UNIT, "Drift", DRIFT_SCHEMA, queries), settings)
    unit.start(None)
    return unit


def _batch(
    session: SparkSession, folder: Path, batch: int, n_tuples: int, n_batches: int
) -> DataFrame:
    """A file of tuples; the second half of the batches has another selective attribute."""
    folder.mkdir(parents=True, exist_ok=True)
    half = (WARM_UP + n_batches) // 2 * n_tuples
    phases = (Phase("uniform", half, selective=("a1",)), Phase("uniform", half, selective=("a9",)))
    path = folder / f"{batch}.parquet"
    table = drift_table(SEED, phases, batch * n_tuples % (2 * half), n_tuples)
    pq.write_table(table, path)
    names = [name for name in table.column_names if not name.startswith("_")]
    frame = session.read.parquet(str(path)).select(*names)
    return frame.withColumn(CORRUPT, F.lit(None).cast("string"))
