"""Selection plans, as a batch of the product runs them, against a bare scan and against plain Spark
filters; with 512 queries, orders against each other.

5 M drift tuples from Parquet, two cores. Every variant computes the same two values, checked in
the same run: the number of matched tuples and the sum over them of the number of queries.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from backend.cql import parse_query
from backend.hosts.spark.session.session import build_session
from backend.model.conditions import ContinuousQuery
from backend.model.events import PlanKind, SelectionPlan
from backend.operators.selection.operator import SelectionOperator
from backend.systems.asc.constructs import ConstructSet, build_constructs
from backend.systems.asc.cost import expected_visits
from backend.systems.asc.macro import macro_sequence
from backend.systems.asc.matching import Regions, sample_regions
from backend.systems.asc.shipping import shipped_plan
from backend.workloads.drift import DRIFT_SCHEMA, Phase, q1_queries
from backend.workloads.sources import DriftSource
from bench.on_spark import OnSpark, spool
from bench.scale_data import Counts
from bench.scale_spark import counts_of
from bench.timing import table, take_turns

N_TUPLES = 5_000_000
SAMPLE = 4000
ROUNDS = 5
Sample = Mapping[str, Sequence[Any]]


def main() -> None:
    """Print both tables."""
    with TemporaryDirectory() as scratch:
        session = build_session("local[2]", "planwatch bench", Path(scratch))
        try:
            uniform(session, Path(scratch))
            skewed(session, Path(scratch))
        finally:
            session.stop()


def uniform(session: SparkSession, folder: Path) -> None:
    """50 queries on uniform data: scan, our plans, the fifty filters tuned and by default."""
    frame, spooled, sample = _data(session, folder / "uniform", Phase("uniform", N_TUPLES))
    queries, constructs, order = _prepare(q1_queries(seed=7), sample)
    kinds: tuple[PlanKind, ...] = ("early drop", "no early drop")
    plans = {f"ASC, {kind}": SelectionPlan(1, kind, order) for kind in kinds}
    names = list(constructs.attributes)
    texts = _filter_texts(queries)
    variants: dict[str, Callable[[], Counts]] = {
        "bare scan of the same columns": lambda: _scan(frame, names),
        **_ours(session, spooled, constructs, plans),
        "plain Spark filters, tuned": lambda: _plain(session, frame, texts, whole_stage=False),
        "plain Spark filters, default": lambda: _plain(session, frame, texts, whole_stage=True),
    }
    seconds, results = take_turns(variants, ROUNDS, {"plain Spark filters, default": 1})
    _same([results[name] for name in variants if not name.startswith("bare")])
    print(f"\nUniform data, {len(queries)} queries, {len(names)} p-attributes, {N_TUPLES} tuples")
    print(table(seconds, N_TUPLES, "bare scan of the same columns"))
    print(
        "The default plain plan is one generated method above the JIT's 8000-byte limit, so the\n"
        "JVM interprets it; 'tuned' switches whole-stage code generation off."
    )


def skewed(session: SparkSession, folder: Path) -> None:
    """512 queries, one attribute that drops most: good order, bad order, no early drop."""
    phase = Phase("uniform", N_TUPLES, selective=("a1",))
    frame, spooled, sample = _data(session, folder / "skewed", phase)
    _, constructs, good = _prepare(q1_queries(seed=7, k=512, common=("a1",)), sample)
    regions = _regions(constructs, sample)
    bad = _worst_order(constructs, regions)
    names = list(constructs.attributes)
    plans = {
        "good order": SelectionPlan(1, "early drop", good),
        "bad order": SelectionPlan(1, "early drop", bad),
        "no early drop": SelectionPlan(1, "no early drop", good),
    }
    variants: dict[str, Callable[[], Counts]] = {
        "bare scan of the same columns": lambda: _scan(frame, names),
        **_ours(session, spooled, constructs, plans),
    }
    seconds, results = take_turns(variants, ROUNDS)
    _same([results[name] for name in plans])
    print(f"\nSkewed data, 512 queries, {len(names)} p-attributes, {N_TUPLES} tuples")
    print(table(seconds, N_TUPLES, "bare scan of the same columns"))
    for name, order in (("good", good), ("bad", bad)):
        visits = expected_visits(constructs, regions, order, "resolved").value
        print(f"{name} order {' '.join(order)}: {visits:.2f} visits/tuple on {len(regions)} tuples")


def _data(session: SparkSession, folder: Path, phase: Phase) -> tuple[DataFrame, Path, Sample]:
    """The tuples as a frame of Spark's, as the product gets them, and the first of them."""
    source, path = DriftSource(7, (phase,)), folder / "tuples.parquet"
    spooled = spool(source, folder / "spool", N_TUPLES)
    tuples = source.slice(0, N_TUPLES)
    pq.write_table(tuples, path, row_group_size=500_000)
    names = [name for name in tuples.column_names if not name.startswith("_")]
    sample: Sample = {name: tuples.column(name)[:SAMPLE].to_pylist() for name in names}
    return session.read.parquet(str(path)), spooled, sample


def _prepare(
    texts: Mapping[str, str], sample: Sample
) -> tuple[list[ContinuousQuery], ConstructSet, tuple[str, ...]]:
    streams = {"Drift": DRIFT_SCHEMA}
    queries = [parse_query(name, text, streams) for name, text in texts.items()]
    constructs = build_constructs(queries, DRIFT_SCHEMA)
    order = macro_sequence(constructs, _regions(constructs, sample)).order
    return queries, constructs, order


def _regions(constructs: ConstructSet, sample: Sample) -> Regions:
    return sample_regions(constructs, {a: sample[a] for a in constructs.attributes})


def _worst_order(constructs: ConstructSet, regions: Regions) -> tuple[str, ...]:
    """The dearest of 200 random orders on the sample."""
    rng = random.Random(7)
    names = list(constructs.attributes)
    orders = [tuple(rng.sample(names, len(names))) for _ in range(200)]
    return max(orders, key=lambda o: expected_visits(constructs, regions, o, "resolved").value)


def _scan(frame: DataFrame, names: Sequence[str]) -> Counts:
    (row,) = frame.selectExpr("sum(" + " + ".join(names) + ") as total").collect()
    return 0, int(row["total"])


def _ours(
    session: SparkSession,
    spooled: Path,
    constructs: ConstructSet,
    plans: Mapping[str, SelectionPlan],
) -> dict[str, Callable[[], Counts]]:
    """The plans as the product runs them, with counters and the names of the queries; unwritten."""
    spark = OnSpark(session, DRIFT_SCHEMA, None)

    def running(plan: SelectionPlan) -> Callable[[], Counts]:
        shipped = shipped_plan(constructs, plan, "resolved")
        operator = SelectionOperator(shipped, 0.0)
        return lambda: counts_of(spark.run(0, spooled, {"asc": operator}))

    return {name: running(plan) for name, plan in plans.items()}


def _filter_texts(queries: Sequence[ContinuousQuery]) -> list[str]:
    """The Where clauses: CQL's comparisons are Spark's."""
    return [query.text.split(" Where ", 1)[1] for query in queries]


def _plain(
    session: SparkSession, frame: DataFrame, texts: Sequence[str], whole_stage: bool
) -> Counts:
    """Every filter as a column of the same scan."""
    session.conf.set("spark.sql.codegen.wholeStage", str(whole_stage).lower())
    session.conf.set("spark.sql.codegen.hugeMethodLimit", "65535")
    try:
        hits = " + ".join(f"int(coalesce({text}, false))" for text in texts)
        any_hit = " OR ".join(f"coalesce({text}, false)" for text in texts)
        (row,) = frame.selectExpr(f"count_if({any_hit}) as n", f"sum({hits}) as hits").collect()
        return row["n"], row["hits"]
    finally:
        session.conf.unset("spark.sql.codegen.wholeStage")
        session.conf.set("spark.sql.codegen.hugeMethodLimit", "8000")


def _same(results: Sequence[Counts]) -> None:
    if len(set(results)) != 1:
        raise AssertionError(f"the variants disagree: {results}")
