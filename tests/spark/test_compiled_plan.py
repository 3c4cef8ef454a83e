"""The compiled plan against the definition: same matches, visits, reached and dropped counts."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from backend.cql import parse_query
from backend.model.conditions import And, Comparison, Condition, ContinuousQuery, NullTest, Op, Or
from backend.model.schema import Schema
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.matching import sample_regions, trace
from tests.oracles import selection as oracle
from tests.spark.plans import execute, frame_of, query_ids_by_row

SCHEMA = Schema.parse(
    "id int, i int, w bigint, x double, f float, s string, b boolean, d date, t timestamp"
)
OPS: tuple[Op, ...] = ("=", "<>", "<", "<=", ">", ">=")
DAY, NOON = date(2013, 1, 1), datetime(2013, 1, 1, 12)
CONSTANTS: dict[str, list[Any]] = {
    "i": [-3, 0, 2, 2.5, 7],
    "w": [0, 2**53, 2**53 + 1, 2.0**53, -(2**63), 2**63 - 1, 7.5, 1e30],
    "x": [0.0, -0.0, 1, 2.5, 2**53 + 1, 1e300],
    "f": [0.5, 1, 3.25],
    "s": ["", "A", "it's", "back\\slash", "Ä", "\U0001f600", "\uffff"],
    "b": [True, False],
    "d": [DAY + timedelta(days=n) for n in range(3)],
    "t": [NOON + timedelta(hours=n, microseconds=n) for n in range(3)],
}
VALUES: dict[str, list[Any]] = {
    "i": [-4, -3, 0, 1, 2, 3, 7, 2**31 - 1, -(2**31)],
    "w": [0, 1, 7, 8, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)],
    "x": [0.0, -0.0, 1.0, 2.5, 3.0, float("nan"), float("inf"), 2.0**53, 2.0**53 + 2, 1e300],
    "f": [0.5, 0.0, 1.0, 3.25, float("nan")],
    "s": ["", "A", "B", "it's", "back\\slash", "Ä", "\U0001f600", "\uffff", "zz"],
    "b": [True, False],
    "d": [DAY + timedelta(days=n) for n in range(-1, 4)],
    "t": [NOON + timedelta(hours=n, microseconds=m) for n in range(3) for m in range(3)],
}


def random_condition(rng: random.Random, depth: int = 2) -> Condition:
    """Conjunctions and disjunctions of comparisons and null tests, some on one attribute."""
    if depth == 0 or rng.random() < 0.4:
        attribute = rng.choice(list(CONSTANTS))
        if rng.random() < 0.1:
            return NullTest(attribute, rng.random() < 0.5)
        return Comparison(attribute, rng.choice(OPS), rng.choice(CONSTANTS[attribute]))
    parts = tuple(random_condition(rng, depth - 1) for _ in range(rng.randint(1, 3)))
    return And(parts) if rng.random() < 0.75 else Or(parts)


def random_rows(rng: random.Random, n: int) -> list[dict[str, Any]]:
    return [
        {"id": k} | {a: None if rng.random() < 0.1 else rng.choice(v) for a, v in VALUES.items()}
        for k in range(n)
    ]


@pytest.mark.parametrize(
    ("seed", "n_queries", "kind", "stop_rule"),
    [
        (1, 12, "early drop", "resolved"),
        (2, 150, "early drop", "drop"),
        (3, 90, "no early drop", "resolved"),
        (4, 70, "early drop", "resolved"),
    ],
)
def test_the_compiled_plan_does_what_the_definition_says(
    spark: SparkSession, tmp_path: Path, seed: int, n_queries: int, kind: Any, stop_rule: Any
) -> None:
    rng = random.Random(seed)
    queries = [
        ContinuousQuery(f"q{j:03d}", "S", "", random_condition(rng)) for j in range(n_queries)
    ]
    rows = random_rows(rng, 400)
    constructs = build_constructs(queries, SCHEMA)
    order = rng.sample(list(constructs.attributes), len(constructs.attributes))
    frame = frame_of(spark, SCHEMA, rows)
    result = execute(spark, tmp_path, SCHEMA, frame, constructs, order, kind, stop_rule)

    expected = {row["id"]: list(oracle.matches(queries, row, SCHEMA)) for row in rows}
    matched = {k: names for k, names in expected.items() if names}
    assert query_ids_by_row(spark, tmp_path, "id") == matched
    assert (result.n_tuples, result.n_matched) == (len(rows), len(matched))
    per_query = {q.name: sum(q.name in names for names in matched.values()) for q in queries}
    assert result.matched_by_query == {name: n for name, n in per_query.items() if n}

    sample = {name: [row[name] for row in rows] for name in SCHEMA.names}
    if kind == "no early drop":
        assert result.visits == len(rows) * len(order)
    else:
        done = trace(constructs, sample_regions(constructs, sample), order, stop_rule)
        assert list(result.reached.values()) == done.reached.tolist()
        assert result.visits == int(done.visits.sum())
        dropped = list(result.dropped.values())
        assert [len(rows) - sum(dropped[: i + 1]) for i in range(len(order))] == (
            done.alive.tolist()
        )


def test_the_profile_sample_is_seeded_and_near_its_probability(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema = Schema.parse("id int, a int")
    queries = [parse_query("q", "Select * From S Where a < 50 and id >= 0", {"S": schema})]
    constructs = build_constructs(queries, schema)
    frame = frame_of(spark, schema, [{"id": k, "a": k % 100} for k in range(4000)])
    order = constructs.attributes
    first, second = (
        execute(spark, tmp_path, schema, frame, constructs, order, profile_prob=0.25)
        for _ in range(2)
    )
    assert first.sample == second.sample
    assert 850 < len(first.sample["a"]) < 1150
    assert 0 < len(first.recent) <= first.n_matched == 2000


def test_a_predicate_free_and_a_contradictory_query(spark: SparkSession, tmp_path: Path) -> None:
    schema = Schema.parse("id int, a int")
    streams = {"S": schema}
    queries = [
        parse_query("all", "Select * From S", streams),
        parse_query("none", "Select * From S Where a > 5 and a < 3", streams),
        parse_query("some", "Select * From S Where a = 1", streams),
    ]
    constructs = build_constructs(queries, schema)
    frame = frame_of(spark, schema, [{"id": 0, "a": 1}, {"id": 1, "a": None}])
    execute(spark, tmp_path, schema, frame, constructs, constructs.attributes)
    assert query_ids_by_row(spark, tmp_path, "id") == {0: ["all", "some"], 1: ["all"]}


def test_a_repeated_batch_replaces_what_it_wrote(spark: SparkSession, tmp_path: Path) -> None:
    schema = Schema.parse("id int, a int")
    queries = [parse_query("q", "Select * From S Where a = 1", {"S": schema})]
    constructs = build_constructs(queries, schema)
    for n in (5, 3):
        frame = frame_of(spark, schema, [{"id": k, "a": 1} for k in range(n)])
        execute(spark, tmp_path, schema, frame, constructs, constructs.attributes)
    assert sorted(query_ids_by_row(spark, tmp_path, "id")) == [0, 1, 2]
