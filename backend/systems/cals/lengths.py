"""The condition on valid times of coalesced tuples, as a least and a largest length."""

from __future__ import annotations

from backend.cql.nodes import At, ColumnSpan, Compare, Literal, Node
from backend.cql.types import each_of
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.kinds.select_project import SelectOp
from backend.operators.network.shedding.temporal import EVERY_LENGTH, ValidCondition


def answered_lengths(plan: NetworkPlan, id: str) -> ValidCondition:
    """Of the only consumer of an operator, if that selects by lengths; of any other: all."""
    consumers = [plan.operator(to) for to, _ in plan.consumers()[id]]
    is_answer = any(answer.operator == id for answer in plan.answers.values())
    if is_answer or len(consumers) != 1 or not isinstance(consumers[0].work, SelectOp):
        return EVERY_LENGTH
    least, most = 0, None
    for part in each_of(consumers[0].work.condition):
        bound = _bound(part)
        if bound is None:
            continue
        least = max(least, bound.least)
        if bound.most is not None:
            most = bound.most if most is None else min(most, bound.most)
    return ValidCondition(least, most)


def _bound(node: Node) -> ValidCondition | None:
    """``Valid(S) op number``; None: it is no such condition."""
    if not isinstance(node, Compare) or not isinstance(node.left, ColumnSpan):
        return None
    span, limit = node.left, node.right
    ends = isinstance(span.start, At) and isinstance(span.end, At)
    if not ends or (span.times, span.over) != (1, 1) or not isinstance(limit, Literal):
        return None
    number = limit.value
    if isinstance(number, bool) or not isinstance(number, int):
        return None
    bounds = {
        ">=": ValidCondition(number),
        ">": ValidCondition(number + 1),
        "<=": ValidCondition(0, number),
        "<": ValidCondition(0, number - 1),
        "=": ValidCondition(number, number),
    }
    return bounds.get(node.op)
