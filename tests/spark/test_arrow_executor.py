"""Plans run by the kernels in Spark's workers: the definition, and the same as expressions."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from backend.engine.execution import BatchResult, PlanSnapshot
from backend.hosts.spark.executor import SparkExecutor
from backend.hosts.spark.sinks import FileSink
from pyspark.sql import SparkSession

from backend.hosts.spark import compiler
from backend.hosts.spark.warming import warm_workers
from backend.model.conditions import ContinuousQuery
from backend.model.events import MicroArrow, PlanKind, SelectionPlan
from backend.operators.selection.tickets import ticket_seed
from backend.systems.asc.constructs import ConstructSet, build_constructs
from backend.systems.asc.matching import StopRule, sample_regions, trace
from backend.systems.asc.ticket import Lottery, ticket_trace
from backend.systems.asc.walk import walk_plan
from backend.workloads.contract import CORRUPT
from tests.oracles import selection as oracle
from tests.spark.plans import execute, frame_of, query_ids_by_row
from tests.spark.test_compiled_plan import SCHEMA, random_condition, random_rows

N_ROWS = 400


def random_arrows(rng: random.Random, constructs: ConstructSet) -> list[MicroArrow]:
    """A micro-arrow on about half of the regions."""
    return [
        MicroArrow(a, region, rng.choice([b for b in constructs.attributes if b != a]), 1, 0.0)
        for a, construct in constructs.constructs.items()
        for region in range(construct.n_regions)
        if rng.random() < 0.5
    ]


def counted(result: BatchResult) -> str:
    """The result as text (NaN is not equal to itself), without what differs from run to run."""
    matched = dict(sorted(result.matched_by_query.items()))
    return repr(
        replace(result, duration_ms=0.0, timings_ms={}, recent=(), matched_by_query=matched)
    )


def regions_of(constructs: ConstructSet, rows: list[dict[str, Any]]) -> Any:
    """intp[T, n]: where the rows lie."""
    return sample_regions(constructs, {a: [row[a] for row in rows] for a in SCHEMA.names})


@pytest.mark.parametrize(
    ("seed", "n_queries", "kind", "stop_rule"),
    [
        (1, 12, "early drop", "resolved"),
        (2, 150, "early drop", "drop"),
        (3, 90, "no early drop", "resolved"),
    ],
)
def test_expressions_and_kernels_give_the_same(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    n_queries: int,
    kind: PlanKind,
    stop_rule: str,
) -> None:
    rng = random.Random(seed)
    queries = [ContinuousQuery(f"q{j}", "S", "", random_condition(rng)) for j in range(n_queries)]
    rows = random_rows(rng, N_ROWS)
    constructs = build_constructs(queries, SCHEMA)
    order = rng.sample(constructs.attributes, len(constructs.attributes))
    frame = frame_of(spark, SCHEMA, rows)
    results, written = [], []
    for runs_in in ("expressions", "kernels"):
        monkeypatch.setattr(compiler, "EXPRESSION_LIMIT", 160)
        folder = tmp_path / runs_in
        result = execute(
            spark,
            folder,
            SCHEMA,
            frame,
            constructs,
            order,
            kind,
            stop_rule,
            0.5,
            runs_in=runs_in,
        )
        assert {tuple(m.query_ids) for m in result.recent} <= {
            tuple(ids) for ids in query_ids_by_row(spark, folder, "id").values()
        }
        results.append(counted(result))
        written.append(query_ids_by_row(spark, folder, "id"))
    assert results[0] == results[1]
    assert written[0] == written[1]


@pytest.mark.parametrize(("seed", "stop_rule"), [(4, "resolved"), (5, "drop")])
def test_hybrid_and_ticket_plans(
    spark: SparkSession, tmp_path: Path, seed: int, stop_rule: StopRule
) -> None:
    rng = random.Random(seed)
    queries = [ContinuousQuery(f"q{j}", "S", "", random_condition(rng)) for j in range(80)]
    rows = random_rows(rng, N_ROWS)
    constructs = build_constructs(queries, SCHEMA)
    order = rng.sample(constructs.attributes, len(constructs.attributes))
    frame, regions = frame_of(spark, SCHEMA, rows), regions_of(constructs, rows)
    expected = {row["id"]: list(oracle.matches(queries, row, SCHEMA)) for row in rows}
    expected = {k: names for k, names in expected.items() if names}
    arrows = random_arrows(rng, constructs)
    walked = walk_plan(constructs, regions, order, arrows, stop_rule)
    lottery = Lottery(ticket_seed(plan_version=1, batch_id=0))
    drawn = ticket_trace(constructs, regions, order, stop_rule, lottery)
    kinds: list[tuple[PlanKind, Any, list[MicroArrow]]] = [
        ("hybrid", walked, arrows),
        ("ticket", drawn, []),
    ]
    for kind, done, own in kinds:
        found = execute(
            spark, tmp_path, SCHEMA, frame, constructs, order, kind, stop_rule, arrows=own
        )
        assert query_ids_by_row(spark, tmp_path, "id") == expected
        assert list(found.reached.values()) == done.reached.tolist()
        assert list(found.dropped.values()) == done.dropped.tolist()
        assert found.visits == int(done.visits.sum())
        assert (found.n_tuples, found.n_matched) == (len(rows), len(expected))
        per_query = {q.name: sum(q.name in n for n in expected.values()) for q in queries}
        assert found.matched_by_query == {name: n for name, n in per_query.items() if n}


def test_misfits_take_no_part_and_partitions_add_up(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(6)
    queries = [ContinuousQuery(f"q{j}", "S", "", random_condition(rng)) for j in range(300)]
    rows = random_rows(rng, 200)
    constructs = build_constructs(queries, SCHEMA)
    order = constructs.attributes
    frame = frame_of(spark, SCHEMA, rows)
    bad = frame.limit(1).drop(CORRUPT).selectExpr("*", f"'torn' as {CORRUPT}")
    found = execute(
        spark, tmp_path, SCHEMA, frame.union(bad).repartition(3), constructs, order, "hybrid"
    )
    done = trace(constructs, regions_of(constructs, rows), order, "resolved")
    assert (found.n_tuples, found.n_misfits) == (200, 1)
    assert [m.raw for m in found.misfits] == ["torn"]
    assert list(found.reached.values()) == done.reached.tolist()
    assert found.n_matched == 200 - done.n_unmatched
    assert len(found.sample[order[0]]) == 200


def test_an_empty_batch(spark: SparkSession, tmp_path: Path) -> None:
    queries = [ContinuousQuery("q", "S", "", random_condition(random.Random(1)))]
    constructs = build_constructs(queries, SCHEMA)
    frame = frame_of(spark, SCHEMA, random_rows(random.Random(1), 1)).filter("id < 0")
    found = execute(spark, tmp_path, SCHEMA, frame, constructs, constructs.attributes, "ticket")
    assert (found.n_tuples, found.n_matched, found.visits) == (0, 0, 0)
    assert found.sample == {a: [] for a in constructs.attributes}


def test_workers_are_warmed_by_a_match(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="backend.hosts.spark.warming"):
        thread = warm_workers(spark)
        thread.join(timeout=60)
    assert not thread.is_alive()
    assert caplog.messages == []


def test_the_executor_is_turned_between_batches(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(8)
    queries = [ContinuousQuery(f"q{j}", "S", "", random_condition(rng)) for j in range(12)]
    constructs = build_constructs(queries, SCHEMA)
    frame = frame_of(spark, SCHEMA, random_rows(rng, 50))
    plan = SelectionPlan(1, "early drop", constructs.attributes)
    sink = FileSink(spark, str(tmp_path), "parquet")
    turned, found = SparkExecutor(SCHEMA, None, sink, seed=3), []
    for runs_in in ("kernels", "expressions", "kernels"):
        snapshot = PlanSnapshot(0, constructs, plan, "resolved", 1.0, runs_in)
        found.append(counted(turned.execute(frame, snapshot)))
    assert found[0] == found[1] == found[2]
