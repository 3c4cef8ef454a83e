"""Selection plans against the definition: matches, visits and drops, by kernels and by NumPy."""

from __future__ import annotations

import pickle
import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.cql import parse_query
from backend.model.conditions import ContinuousQuery
from backend.model.events import MicroArrow, PlanKind, SelectionPlan
from backend.model.schema import Schema
from backend.operators.selection.operator import SelectionOperator
from backend.operators.selection.tickets import ticket_seed
from backend.systems.asc import layouts
from backend.systems.asc.constructs import ConstructSet, build_constructs
from backend.systems.asc.matching import StopRule, sample_regions, trace
from backend.systems.asc.shipping import shipped_plan
from backend.systems.asc.ticket import Lottery, ticket_trace
from backend.systems.asc.walk import walk_plan
from tests.oracles import selection as oracle
from tests.strategies import MIXED_SCHEMA, mixed_queries
from tests.unit.operators.chunks import SCHEMA, chunks_of, random_condition, random_rows, run

KINDS: tuple[PlanKind, ...] = ("early drop", "no early drop", "hybrid", "ticket")


def random_arrows(rng: random.Random, constructs: ConstructSet) -> tuple[MicroArrow, ...]:
    """A micro-arrow on about half of the regions."""
    return tuple(
        MicroArrow(a, region, rng.choice([b for b in constructs.attributes if b != a]), 1, 0.0)
        for a, construct in constructs.constructs.items()
        for region in range(construct.n_regions)
        if rng.random() < 0.5 and len(constructs.attributes) > 1
    )


def defined(
    constructs: ConstructSet, rows: list[dict[str, Any]], plan: SelectionPlan, rule: StopRule
) -> tuple[list[int], list[int]]:
    """Reached and dropped, in the plan's order."""
    values = {a: [row[a] for row in rows] for a in constructs.attributes}
    regions = sample_regions(constructs, values)
    if plan.kind == "no early drop":
        return [len(rows)] * len(plan.order), []
    if plan.kind == "hybrid":
        walked = walk_plan(constructs, regions, plan.order, plan.arrows, rule)
        return walked.reached.tolist(), walked.dropped.tolist()
    if plan.kind == "ticket":
        lottery = Lottery(ticket_seed(plan_version=1, batch_id=0))
        drawn = ticket_trace(constructs, regions, plan.order, rule, lottery)
        return drawn.reached.tolist(), drawn.dropped.tolist()
    done = trace(constructs, regions, plan.order, rule)
    alive = [len(rows) * bool(constructs.initial.any()), *done.alive.tolist()]
    return done.reached.tolist(), [a - b for a, b in pairwise(alive)]


def check(
    queries: list[ContinuousQuery],
    schema: Schema,
    rows: list[dict[str, Any]],
    rng: random.Random,
    rule: StopRule,
) -> None:
    """All kinds of plan."""
    constructs = build_constructs(queries, schema)
    order = tuple(rng.sample(constructs.attributes, len(constructs.attributes)))
    expected = {row["id"]: list(oracle.matches(queries, row, schema)) for row in rows}
    expected = {k: names for k, names in expected.items() if names}
    for kind in KINDS:
        arrows = random_arrows(rng, constructs) if kind == "hybrid" else ()
        plan = SelectionPlan(1, kind, order, arrows)
        shipped = shipped_plan(constructs, plan, rule)
        reached, dropped = defined(constructs, rows, plan, rule)
        operator = pickle.loads(pickle.dumps(SelectionOperator(shipped, 0.5)))
        found, counts = run(operator, chunks_of(schema, rows))
        assert found == expected
        assert list(counts.reached) == list(order)
        assert list(counts.reached.values()) == reached
        assert list(counts.dropped.values()) == dropped
        sampled = repr({a: [row[a] for row in rows[: len(rows) // 2]] for a in order})
        assert repr(counts.sample) == sampled


@pytest.mark.parametrize(
    ("seed", "n_queries", "rule"),
    [(1, 12, "resolved"), (2, 150, "drop"), (3, 90, "resolved"), (4, 70, "drop")],
)
def test_plans_do_what_the_definition_says(
    seed: int, n_queries: int, rule: StopRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layouts, "WHOLE_BYTES", 0 if seed == 2 else 2**26)
    rng = random.Random(seed)
    queries = [ContinuousQuery(f"q{j}", "S", "", random_condition(rng)) for j in range(n_queries)]
    rows = random_rows(rng, 300)
    for row in rows:  # the sample of doubles comes back as doubles
        row["f"] = row["f"] if row["f"] is None else float(row["f"])
    check(queries, SCHEMA, rows, rng, rule)


WITH_ID = Schema.parse(
    "id int, " + ", ".join(f"{a.name} {a.type}" for a in MIXED_SCHEMA.attributes)
)


@settings(max_examples=30)
@given(mixed_queries(), st.integers(0, 99), st.sampled_from(["resolved", "drop"]))
def test_any_queries(queries: list[ContinuousQuery], seed: int, rule: StopRule) -> None:
    rng = random.Random(seed)
    names = {"w": "g"}
    rows = [
        {names.get(a, a): v for a, v in row.items() if a != "f"} for row in random_rows(rng, 20)
    ]
    check(queries, WITH_ID, rows, rng, rule)


def test_a_predicate_free_and_a_contradictory_query() -> None:
    schema = Schema.parse("id int, a int")
    streams = {"S": schema}
    queries = [
        parse_query("all", "Select * From S", streams),
        parse_query("none", "Select * From S Where a > 5 and a < 3", streams),
        parse_query("some", "Select * From S Where a = 1", streams),
    ]
    constructs = build_constructs(queries, schema)
    plan = SelectionPlan(1, "early drop", constructs.attributes)
    operator = SelectionOperator(shipped_plan(constructs, plan, "resolved"), 0.0)
    rows: list[dict[str, Any]] = [{"id": 0, "a": 1}, {"id": 1, "a": None}]
    found, counts = run(operator, chunks_of(schema, rows))
    assert found == {0: ["all", "some"], 1: ["all"]}
    assert counts.sample == {"a": []}


def test_tasks_add_up_and_no_task_is_no_tuple() -> None:
    rng = random.Random(6)
    queries = [ContinuousQuery(f"q{j}", "S", "", random_condition(rng)) for j in range(40)]
    rows = random_rows(rng, 120)
    constructs = build_constructs(queries, SCHEMA)
    plan = SelectionPlan(1, "early drop", constructs.attributes)
    operator = SelectionOperator(shipped_plan(constructs, plan, "drop"), 1.0)
    reports = []
    for partition, chunk in enumerate(chunks_of(SCHEMA, rows)):
        work = operator.open(0, partition)
        work.take(chunk)
        reports.append(work.report())
    counts = operator.merged(reports)
    counted = (list(counts.reached.values()), list(counts.dropped.values()))
    assert counted == defined(constructs, rows, plan, "drop")
    assert repr(counts.sample) == repr({a: [r[a] for r in rows] for a in plan.order})
    nothing = operator.merged([])
    assert nothing.reached == dict.fromkeys(plan.order, 0)
    assert nothing.sample == {a: [] for a in plan.order}
