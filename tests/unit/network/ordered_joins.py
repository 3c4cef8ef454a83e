"""Joins whose inputs are compared by order, too, and elements that come to them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

from backend.cql.nodes import NOWHERE, At, Compare, Node, Widened
from backend.cql.types import all_hold
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.joins import Classes, JoinOp
from tests.oracles.network_windows import Row, Signed
from tests.unit.network.elements import Fields, fields, stream

#: Of values that may be NULL.
HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def by_order(plan: NetworkPlan, rng: random.Random) -> list[Compare]:
    """Conditions by order between any columns of one type or of two kinds of numbers."""
    flat = plan.operators[-1].fields
    pairs = [
        (a, b)
        for a, b in permutations(range(len(flat)), 2)
        if (flat[a].type == "string") == (flat[b].type == "string")
    ]
    return [
        Compare(NOWHERE, rng.choice([*HOLDS]), _widened(a, flat, b), _widened(b, flat, a))
        for a, b in rng.sample(pairs, min(len(pairs), rng.randint(1, 3)))
        if flat[a].type != "string"
    ]


def _widened(place: int, flat: Fields, other: int) -> Node:
    at = At(NOWHERE, place, flat[place].type)
    wider = flat[other].type == "double" != flat[place].type
    return Widened(NOWHERE, at, "double") if wider else at


def holds(conditions: Sequence[Compare], row: tuple[Any, ...]) -> bool:
    for condition in conditions:
        sides = [
            side.operand if isinstance(side, Widened) else side
            for side in (condition.left, condition.right)
        ]
        left, right = (row[side.index] for side in sides if isinstance(side, At))
        if left is None or right is None or not HOLDS[condition.op](left, right):
            return False
    return True


def with_residual(plan: NetworkPlan, conditions: Sequence[Compare]) -> NetworkPlan:
    """Its join with these conditions, too."""
    last = plan.operators[-1]
    work = replace(last.doing(JoinOp), residual=all_hold(conditions) if conditions else None)
    return replace(plan, operators=(*plan.operators[:-1], replace(last, work=work)))


#: A key, integers that rise with time, any integers, floating-point numbers.
COLUMNS = fields("bigint", "timestamp", "int", "double")
WIDTH = len(COLUMNS)


def compared(op: str, left: int, right: int) -> Compare:
    """A condition between columns of all streams, counted through."""
    types = [COLUMNS[place % WIDTH].type for place in (left, right)]
    return Compare(NOWHERE, op, At(NOWHERE, left, types[0]), At(NOWHERE, right, types[1]))


def star(
    kind: type[JoinOp], n: int, conditions: Sequence[Compare], more: Classes = ()
) -> NetworkPlan:
    """Streams joined on their keys and on more classes, under some conditions."""
    return joined(kind, n, conditions, (tuple((k, 0) for k in range(n)), *more))


def joined(
    kind: type[JoinOp], n: int, conditions: Sequence[Compare], equal: Classes = ()
) -> NetworkPlan:
    """Streams joined on some classes, under some conditions."""
    sources = [stream(f"s{k}", COLUMNS) for k in range(n)]
    work = kind(equal)
    ids = tuple(source.id for source in sources)
    plan = NetworkPlan((*sources, PlannedOperator("j", work, ids, COLUMNS * n)))
    return with_residual(plan, conditions)


def numbers(rng: random.Random, n: int, window: int) -> list[Signed]:
    """A tuple at each tick; the oldest leaves when there are more than the window holds."""
    elements: list[Signed] = []
    rows: list[Row] = []
    for tick in range(n):
        late = tick - rng.choice([0, 0, 1, 5, 60])
        value = rng.choice([-1, 1]) * 2.0 ** rng.randint(-4, 4) * rng.randint(0, 5)
        row: Row = (
            rng.choice([None, *range(6)]),
            late if rng.random() < 0.95 else None,
            rng.randint(-30, 30) if rng.random() < 0.95 else None,
            rng.choice([value + 0.0, float("inf"), float("-inf")] + [value + 0.0] * 8),
        )
        rows.append(row)
        elements.append((row, tick, 1))
        if len(rows) > window:
            elements.append((rows.pop(0), tick, -1))
    return elements
