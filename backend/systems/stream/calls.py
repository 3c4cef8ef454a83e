"""The functions that expressions of a network call: what of a workload's travels with its job."""

from __future__ import annotations

from collections.abc import Iterator

from backend.cql.nodes import Call, Node, Table
from backend.cql.types import expressions_in
from backend.model.functions import Functions
from backend.operators.network.core.plan import (
    JoinOp,
    NetworkPlan,
    OperatorWork,
    ProjectOp,
    SelectOp,
)


def called_functions(plan: NetworkPlan, known: Functions) -> Functions:
    """Those of ``known`` that the plan calls, and the tables it names."""
    inside = [
        node
        for one in plan.operators
        for expression in _expressions(one.work)
        for node in expressions_in(expression)
    ]
    calls = {node.name.lower() for node in inside if isinstance(node, Call)}
    tables = {node.name for node in inside if isinstance(node, Table)}
    return Functions(
        {name: one for name, one in known.functions.items() if name.lower() in calls},
        {name: one for name, one in known.tables.items() if name in tables},
    )


def _expressions(work: OperatorWork) -> Iterator[Node]:
    if isinstance(work, SelectOp):
        yield work.condition
    elif isinstance(work, ProjectOp):
        yield from work.expressions
    elif isinstance(work, JoinOp) and work.residual is not None:
        yield work.residual
