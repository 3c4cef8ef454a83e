"""The condition on valid times of coalesced tuples, as the lengths it holds for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Final, TypeAlias

from backend.cql.nodes import (
    At,
    Between,
    ColumnSpan,
    Compare,
    Literal,
    Logic,
    Member,
    Node,
    Not,
)
from backend.cql.types import each_of
from backend.model.conditions import FLIPPED
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.kinds.select_project import SelectOp
from backend.operators.network.shedding.temporal import EVERY_LENGTH, ValidCondition

#: Whole numbers from 0 on: ranges in order, with numbers between any two. The last one may have no
#: end.
Ranges: TypeAlias = tuple[tuple[int, int | None], ...]
Number: TypeAlias = int | float
#: Whole numbers v with v op number.
_COMPARED: Final[Mapping[str, Callable[[Number], Ranges]]] = {
    ">=": lambda number: _from(math.ceil(number)),
    ">": lambda number: _from(math.floor(number) + 1),
    "<=": lambda number: _complement(_from(math.floor(number) + 1)),
    "<": lambda number: _complement(_from(math.ceil(number))),
    "=": lambda number: _equal(number),
    "<>": lambda number: _complement(_equal(number)),
}


def answered_lengths(plan: NetworkPlan, id: str) -> ValidCondition:
    """Of the only consumer of an operator, if that selects by lengths; of any other: all."""
    consumers = [plan.operator(to) for to, _ in plan.consumers()[id]]
    is_answer = any(answer.operator == id for answer in plan.answers.values())
    if is_answer or len(consumers) != 1 or not isinstance(consumers[0].work, SelectOp):
        return EVERY_LENGTH
    parts = map(_lengths, each_of(consumers[0].work.condition))
    return _condition(_all_of(part for part in parts if part is not None))


def _condition(lengths: Ranges) -> ValidCondition:
    if not lengths:
        return ValidCondition(1, 0)
    gaps = (
        (before[1] + 1, after[0] - 1)
        for before, after in pairwise(lengths)
        if before[1] is not None
    )
    return ValidCondition(lengths[0][0], lengths[-1][1], tuple(gaps))


def _lengths(node: Node) -> Ranges | None:
    """Those for which a condition holds; None: it is of something else, too."""
    if isinstance(node, Not):
        part = _lengths(node.part)
        return None if part is None else _complement(part)
    if isinstance(node, Logic):
        parts = [part for part in map(_lengths, node.parts) if part is not None]
        if len(parts) < len(node.parts):
            return None
        return _all_of(parts) if node.word == "and" else _any_of(parts)
    if isinstance(node, Between):
        limits = [_compared(">=", node.subject, node.low), _compared("<=", node.subject, node.high)]
        known = [part for part in limits if part is not None]
        within = _all_of(known) if len(known) == len(limits) else None
        return _unless(node.negated, within)
    if isinstance(node, Member):
        equal = [_compared("=", node.subject, item) for item in node.items]
        known = [part for part in equal if part is not None]
        return _unless(node.negated, _any_of(known) if len(known) == len(equal) else None)
    if isinstance(node, Compare):
        if isinstance(node.right, ColumnSpan):
            return _compared(FLIPPED[node.op], node.right, node.left)
        return _compared(node.op, node.left, node.right)
    return None


def _compared(op: str, span: Node, limit: Node) -> Ranges | None:
    """``Valid(S) op number``, or in another unit, rounded down; None: it is no such condition."""
    if not isinstance(span, ColumnSpan) or not isinstance(limit, Literal):
        return None
    number = limit.value
    if not isinstance(number, int | float) or isinstance(number, bool):
        return None
    if not isinstance(span.start, At) or not isinstance(span.end, At):
        return None
    times, over = span.times, span.over
    return tuple(
        (-(-low * over // times), None if high is None else -(-(high + 1) * over // times) - 1)
        for low, high in _COMPARED[op](number)
    )


def _unless(is_negated: bool, lengths: Ranges | None) -> Ranges | None:
    return _complement(lengths) if is_negated and lengths is not None else lengths


def _from(first: int) -> Ranges:
    return ((max(0, first), None),)


def _equal(number: Number) -> Ranges:
    whole = math.floor(number)
    return ((whole, whole),) if whole == number and whole >= 0 else ()


def _complement(lengths: Ranges) -> Ranges:
    rest: list[tuple[int, int | None]] = []
    first: int | None = 0
    for low, high in lengths:
        if first is not None and first < low:
            rest.append((first, low - 1))
        first = None if high is None else high + 1
    return tuple(rest if first is None else [*rest, (first, None)])


def _any_of(parts: Iterable[Ranges]) -> Ranges:
    joined: list[tuple[int, int | None]] = []
    for low, high in sorted((each for part in parts for each in part), key=lambda each: each[0]):
        last = joined[-1][1] if joined else -2
        if last is None or low <= last + 1:
            ends = None if last is None or high is None else max(last, high)
            joined[-1] = joined[-1][0], ends
        else:
            joined.append((low, high))
    return tuple(joined)


def _all_of(parts: Iterable[Ranges]) -> Ranges:
    return _complement(_any_of(map(_complement, parts)))
