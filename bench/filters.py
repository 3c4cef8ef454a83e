"""Pipelined filters: A-Greedy against fixed orders and against the same filters chained in Spark.

Eight filters in correlation groups of two (alike on 80 % of the tuples), selectivity a half; four
cost ten probes of an index, four a thousand. All variants filter the same batches on two cores,
write what they emit and must emit the same number of tuples. What can be counted is counted apart
(bench.filters_counted); times are of one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import pandas as pd
from pyspark.sql import Column, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from backend.cql import parse_query
from backend.hosts.spark.session.session import build_session
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from backend.systems.agreedy.knobs import AgreedyKnobs
from backend.systems.agreedy.overhead import Overhead
from backend.systems.agreedy.unit import FilterUnit
from backend.systems.contract import BatchRan, UnitJob
from backend.workloads.correlated import CorrelatedSource
from backend.workloads.library import probe
from backend.workloads.loading import built_in
from bench import filters_counted
from bench.adapt_run import BY_THRESHOLDS
from bench.on_spark import STREAM, OnSpark, in_parquet, spool
from bench.timing import table

N: Final = 8
BATCHES, BATCH_TUPLES = 12, 200_000
#: Probes a unit of cost: with fewer, the time of a batch is Spark's, not the filters'.
UNIT: Final = 10
#: Batches at the beginning that are not timed: A-Greedy finds its order, Spark its code.
WARM_UP: Final = 4
#: Tasks of a batch run side by side.
CORES: Final = 2
#: Keys by position of the orders to compare: cheap ones first, one of each group before the
#: second; and the other way round.
BEST: Final = (1, 3, 2, 4, 5, 7, 6, 8)
WORST: Final = (5, 6, 7, 8, 1, 2, 3, 4)


class Variant(NamedTuple):
    """run: a batch of spooled tuples, to the number emitted. unit: of ours."""

    run: Callable[[int, Path], int]
    unit: FilterUnit | None = None


def main() -> None:
    """Print the counted and the timed tables."""
    filters_counted.main()
    with TemporaryDirectory() as scratch:
        session = build_session("local[2]", "planwatch bench", Path(scratch))
        try:
            timed(session, Path(scratch), (1,) * 4 + (filters_counted.DEAR,) * 4)
            timed(session, Path(scratch), (1,) * 8)
        finally:
            session.stop()


def timed(session: SparkSession, folder: Path, costs: Sequence[int]) -> None:
    """The variants over the same batches, in turns."""
    place = folder / "-".join(map(str, costs))
    source = CorrelatedSource(7, (0.5,) * N, 2, 0, BATCHES * BATCH_TUPLES)
    variants = _variants(session, place, source, costs)
    unit = variants["A-Greedy"].unit
    assert unit is not None
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    warm_s = 0.0
    for batch in range(BATCHES):
        warm_s = _adapting_s(unit) if batch == WARM_UP else warm_s
        spooled = spool(source, place / "spool" / str(batch), BATCH_TUPLES, batch * BATCH_TUPLES)
        in_parquet(spooled)
        emitted = set()
        first = batch % len(variants)  # in turns: the first one reads a file nobody has read yet
        for name in [*variants][first:] + [*variants][:first]:
            started = time.perf_counter()
            emitted.add(variants[name].run(batch, spooled))
            if batch >= WARM_UP:
                seconds[name].append(time.perf_counter() - started)
        if len(emitted) != 1:
            raise AssertionError(f"batch {batch}: the variants emitted {sorted(emitted)} tuples")
    print(f"\nSpark, two cores, batches of {BATCH_TUPLES:,} tuples; {UNIT} × {costs} probes")
    print(table(seconds, BATCH_TUPLES, "A-Greedy"))
    _tell(unit, (_adapting_s(unit) - warm_s) / sum(seconds["A-Greedy"]))


def _variants(
    session: SparkSession, folder: Path, source: CorrelatedSource, costs: Sequence[int]
) -> dict[str, Variant]:
    watched = {**BY_THRESHOLDS, "filter_algorithm": "a-greedy", "profile_prob": 0.01}
    fixed = {"filter_algorithm": "static", "profile_prob": 0.0}
    chained = _chain(BEST, costs)
    return {
        "A-Greedy": _ours(session, folder / "greedy", source, _text(WORST, costs), watched),
        "one operator, hand-ordered": _ours(
            session, folder / "best", source, _text(BEST, costs), fixed
        ),
        "one operator, worst order": _ours(
            session, folder / "worst", source, _text(WORST, costs), fixed
        ),
        "chained in Spark, hand-ordered": Variant(
            partial(_spark, session, folder / "chained", source.schema, chained)
        ),
    }


def _text(order: Sequence[int], costs: Sequence[int]) -> str:
    calls = " and ".join(f"probe(k{key}, {UNIT * costs[key - 1]})" for key in order)
    return f"Select * From S Where {calls}"


def _ours(
    session: SparkSession, folder: Path, source: CorrelatedSource, text: str, knobs: dict[str, Any]
) -> Variant:
    """Planwatch's operator with its decision core; both are timed."""
    functions, settings = built_in(), KnobSettings.defaults(AgreedyKnobs.specs(), knobs)
    query = parse_query("q", text, {STREAM: source.schema}, functions)
    job = UnitJob("q", (STREAM,), {STREAM: source.schema}, (query,), functions)
    unit = FilterUnit(job, settings)
    unit.start(None)
    spark = OnSpark(session, source.schema, folder)

    def run(batch: int, spooled: Path) -> int:
        result = spark.run(batch, spooled, {"q": unit.operator(batch)})
        unit.executed(BatchRan(batch, result.units["q"], time.monotonic() * 1e3))
        return result.n_matched

    return Variant(run, unit)


def _chain(order: Sequence[int], costs: Sequence[int]) -> list[Column]:
    """The filters as pandas functions of Spark's, in this order."""

    def asked(probes: int) -> Any:
        def inside(keys: pd.Series) -> pd.Series:
            return pd.Series(probe(keys.to_numpy(), probes))

        made: Any = pandas_udf  # its overloads take no annotations that are text
        return made(inside, "boolean")

    return [asked(UNIT * costs[key - 1])(F.col(f"k{key}")) for key in order]


def _spark(
    session: SparkSession,
    folder: Path,
    schema: Schema,
    chained: Sequence[Column],
    batch: int,
    spooled: Path,
) -> int:
    read = session.read.parquet(f"{spooled}-parquet")  # as in_parquet wrote it
    emitted, frame = Observation(), read.select(*schema.names)
    for condition in chained:
        frame = frame.filter(condition)
    counted = frame.observe(emitted, F.count(F.lit(1)).alias("n"))
    counted.write.mode("overwrite").parquet(str(folder / str(batch)))
    return int(emitted.get["n"])


def _parquet(spooled: Path) -> Path:
    """Where the tuples are as Parquet."""
    return spooled.with_name(f"{spooled.name}-parquet")


def _adapting_s(unit: FilterUnit) -> float:
    """What adapting added to the batches so far, in seconds: the tasks of a batch make profile
    tuples side by side, the rest happens between batches."""
    spent = unit.core.monitor.overhead
    if spent is None:
        return 0.0
    between = spent.window + spent.view + spent.violations
    return (spent.profile / CORES + between) * spent.total_us / 1e6


def _tell(unit: FilterUnit, share: float) -> None:
    """A-Greedy's order and Table 4.2 of this run. share: of the timed batches, for adapting."""
    plan, overhead = unit.core.plan, unit.core.monitor.overhead
    assert overhead is not None
    print(f"A-Greedy's order after {plan.version - 1} switches: {', '.join(plan.order)}")
    for name, part in _shares(overhead).items():
        print(f"  {name:28}{100 * part:7.2f} % of the work on filters")
    print(f"  profiling and re-optimizing: {100 * share:.2f} % of the batches' time")


def _shares(overhead: Overhead) -> dict[str, float]:
    return {
        "tuple processing": overhead.tuples,
        "profile-tuple creation": overhead.profile,
        "profile-window upkeep": overhead.window,
        "view update": overhead.view,
        "violations": overhead.violations,
    }
