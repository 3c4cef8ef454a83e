"""The operators of a network by their definitions, on whole relations, tick by tick.

A relation is a Counter of tuples of Python values (None is NULL, NaN always ``math.nan``); each
twin makes the relation at a tick from those of its inputs at that tick.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from backend.operators.network.kinds.aggregate import AggregateCall, AggregateOp
from backend.operators.network.kinds.antijoin import AntiJoinOp

Row: TypeAlias = tuple[Any, ...]
Relation: TypeAlias = Counter[Row]


class Element(NamedTuple):
    """A tuple, when, and whether it comes (1) or goes (-1)."""

    row: Row
    tau: int
    sign: int


def relations(elements: Iterable[Element], end: int) -> list[Relation]:
    """The relation at each tick from 0 to ``end`` - 1, after all elements of the tick."""
    changes: list[list[Element]] = [[] for _ in range(end)]
    for element in elements:
        changes[element.tau].append(element)
    now: Relation = Counter()
    found = []
    for tick in changes:
        for element in tick:
            now[element.row] += element.sign
        assert min(now.values(), default=0) >= 0
        now = +now
        found.append(now.copy())
    return found


def union(left: Relation, right: Relation) -> Relation:
    """Each tuple as often as in both together."""
    return left + right


def difference(left: Relation, right: Relation) -> Relation:
    """EXCEPT."""
    return left - right


def intersection(left: Relation, right: Relation) -> Relation:
    """INTERSECT."""
    return left & right


def distinct(relation: Relation) -> Relation:
    """Each tuple once."""
    return Counter(set(relation))


def antijoin(work: AntiJoinOp, left: Relation, right: Relation) -> Relation:
    """Left tuples that match no right one."""

    def matches(one: Row, other: Row) -> bool:
        pairs = [(one[i], other[j]) for i, j in work.equal]
        if any(a is None or a != a for pair in pairs for a in pair):  # NULL, NaN
            return work.null_aware
        return all(a == b for a, b in pairs)

    return Counter(
        {row: n for row, n in left.items() if not any(matches(row, other) for other in right)}
    )


def aggregate(work: AggregateOp, relation: Relation) -> Relation:
    """One tuple for each group."""
    groups: dict[Row, list[Row]] = {} if work.groups else {(): []}
    for row in relation.elements():
        groups.setdefault(tuple(row[place] for place in work.groups), []).append(row)
    return Counter(
        [(*key, *(_called(call, rows) for call in work.calls)) for key, rows in groups.items()]
    )


def _called(call: AggregateCall, rows: list[Row]) -> Any:
    if call.column is None:
        return len(rows)
    values = [row[call.column] for row in rows if row[call.column] is not None]
    values = list(dict.fromkeys(values)) if call.distinct else values
    if call.function == "count":
        return len(values)
    if not values:
        return None
    return _FUNCTIONS[call.function](values)


def _sum(values: list[Any]) -> Any:
    if isinstance(values[0], int):
        total = sum(values)
        return total if -(2**63) <= total < 2**63 else None
    if any(map(math.isnan, values)) or {math.inf, -math.inf} <= set(values):
        return math.nan
    return math.fsum(values)


def _avg(values: list[Any]) -> Any:
    return sum(values) / len(values) if isinstance(values[0], int) else _sum(values) / len(values)


def _rank(value: Any) -> Any:
    return (math.isnan(value), value) if isinstance(value, float) else value


_FUNCTIONS: dict[str, Callable[[list[Any]], Any]] = {
    "sum": _sum,
    "avg": lambda values: math.nan if math.isnan(mean := _avg(values)) else mean,
    "min": lambda values: min(values, key=_rank),
    "max": lambda values: max(values, key=_rank),
}


def istream(now: Relation, before: Relation) -> Relation:
    """What came."""
    return now - before


def dstream(now: Relation, before: Relation) -> Relation:
    """What went."""
    return before - now


def canonical(rows: Iterable[Row]) -> list[Row]:
    """The tuples in order: NULL first, NaN last."""
    return sorted(rows, key=lambda row: [(v is not None, v is not None and _rank(v)) for v in row])


def streamed(found: Sequence[Relation], begin: int = 0) -> list[Element]:
    """The elements of a stream, of which ``found`` has the tuples of each tick."""
    return [
        Element(row, begin + tau, 1)
        for tau, relation in enumerate(found)
        for row in canonical(relation.elements())
    ]
