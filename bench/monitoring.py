"""What watching and rearranging cost a run: the same batches under the same plans without it.

Drift tuples whose selective attribute changes half-way, fifty queries, thresholds at their
defaults; batches of a live pace and large ones. The two take turns in one session: one draws its
sample in the job and has the decision core behind it, the other runs the plan that leads to, and
draws nothing.
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

from pyspark.sql import SparkSession

from backend.cql import parse_query
from backend.hosts.spark.session.session import build_session
from backend.model.knobs import KnobSettings
from backend.systems.asc.knobs import AscKnobs
from backend.systems.asc.unit import SelectionUnit
from backend.systems.contract import BatchRan, UnitJob
from backend.workloads.drift import DRIFT_SCHEMA, Phase, q1_queries
from backend.workloads.sources import DriftSource
from bench.adapt_run import BY_THRESHOLDS
from bench.on_spark import STREAM, OnSpark, spool
from bench.streams import called_by_stream

SEED: Final = 7
#: Tuples a batch -> timed batches.
SIZES: Final = {1_000: 60, 100_000: 24}
WARM_UP: Final = 10


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
    spark = {name: OnSpark(session, DRIFT_SCHEMA, folder / name) for name in seconds}
    for batch in range(WARM_UP + n_batches):
        spooled = _spooled(folder, batch, n_tuples, n_batches)
        drawing = unit.operator(batch)
        operators = {"watched": drawing, "not watched": replace(drawing, profile_prob=0.0)}
        for name in sorted(seconds, reverse=bool(batch % 2)):
            started = time.perf_counter()
            result = spark[name].run(batch, spooled, {"asc": operators[name]})
            executed = time.perf_counter()
            if name == "watched":
                unit.executed(BatchRan(batch, result.units["asc"], 1e3 * executed))
                core_s.append(time.perf_counter() - executed)
            seconds[name].append(time.perf_counter() - started)
    _tell(n_tuples, {name: times[WARM_UP:] for name, times in seconds.items()}, core_s[WARM_UP:])
    print(f"  plans: {unit.plan_version}")


def _tell(n_tuples: int, seconds: Mapping[str, list[float]], core_s: list[float]) -> None:
    middle = {name: statistics.median(times) for name, times in seconds.items()}
    ratios = [a / b for a, b in zip(*seconds.values(), strict=True)]
    print(f"\nbatches of {n_tuples:,} tuples, {len(core_s)} pairs")
    for name, middle_s in middle.items():
        print(f"  {name:12} median {1e3 * middle_s:8.1f} ms")
    print(f"  watched / not watched, median of the pairs: {statistics.median(ratios):.3f}")
    share = 100 * sum(core_s) / sum(seconds["watched"])
    print(f"  of it the decision core, all rearranging included: {share:.2f} % of the time")


def _unit() -> SelectionUnit:
    texts = q1_queries(seed=SEED, stream=STREAM)
    queries = tuple(parse_query(n, text, {STREAM: DRIFT_SCHEMA}) for n, text in texts.items())
    settings = KnobSettings.defaults(AscKnobs.specs(), BY_THRESHOLDS)
    unit = SelectionUnit(UnitJob("asc", (STREAM,), {STREAM: DRIFT_SCHEMA}, queries), settings)
    unit.start(None)
    return unit


def _spooled(folder: Path, batch: int, n_tuples: int, n_batches: int) -> Path:
    """A batch of tuples; the second half of the batches has another selective attribute."""
    half = (WARM_UP + n_batches) // 2 * n_tuples
    phases = (Phase("uniform", half, selective=("a1",)), Phase("uniform", half, selective=("a9",)))
    place = folder / "spool" / str(batch)
    return spool(DriftSource(SEED, phases), place, n_tuples, batch * n_tuples)
