"""Which plans are small enough for Spark expressions; the kernels run the others (ADR 7)."""

from __future__ import annotations

import pytest
from backend.hosts.spark.compiler import fits_expressions

from backend.model.conditions import Comparison, ContinuousQuery
from backend.model.events import PlanKind, SelectionPlan
from backend.model.schema import Schema
from backend.systems.asc.constructs import build_constructs


@pytest.mark.parametrize(
    ("n_queries", "n_attributes", "kind", "fits"),
    [
        (64, 10, "early drop", True),
        (64, 10, "no early drop", True),
        (64, 16, "early drop", True),
        (64, 17, "early drop", False),
        (65, 16, "early drop", False),
        (130, 10, "early drop", False),
        (130, 10, "no early drop", False),
        (2, 2, "hybrid", False),
        (2, 2, "ticket", False),
    ],
)
def test_small_plans_of_one_order_are_expressions(
    n_queries: int, n_attributes: int, kind: PlanKind, fits: bool
) -> None:
    names = [f"a{i}" for i in range(n_attributes)]
    schema = Schema.parse(", ".join(f"{name} int" for name in names))
    queries = [
        ContinuousQuery(f"q{j}", "S", "", Comparison(names[j % n_attributes], "<", j))
        for j in range(n_queries)
    ]
    constructs = build_constructs(queries, schema)
    plan = SelectionPlan(1, kind, tuple(constructs.attributes))
    assert len(plan.order) == n_attributes
    assert fits_expressions(constructs, plan) is fits
