"""Windows below a join that keep some of their tuples: which they may be, and by which key. Card B8

All tuples of a value of the key have the same fate, so that what is left is joined as it would be:
a universe sample. Inputs that are no windows of a stream are kept whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from backend.cql.nodes import At
from backend.model.schema import FLOAT_TYPES
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.select_project import ProjectOp, SelectOp
from backend.operators.network.kinds.windows import WindowOp


class Keyed(NamedTuple):
    """A window, by operator, and the place of its column that has the key. as_float: the key is
    compared with floating-point numbers, or is one."""

    window: str
    place: int
    as_float: bool = False


@dataclass(frozen=True, slots=True)
class RetainedOp(WindowOp):
    """A window, range or rows of a stream, that keeps some of its tuples, by the key in column
    ``place``. It shares its store with joins alone: its tuples have numbers of their own."""

    place: int = 0

    @property
    def span(self) -> int:
        """How far it reaches back: ticks, or rows."""
        return self.size + (self.kind == "range")

    def group(self, planned: PlannedOperator) -> str:
        return planned.id


@dataclass(frozen=True, slots=True)
class RetainedKey:
    """A class of equal attributes of a join, by the column of the join that has its value, and the
    windows below it that have it, too: as_float is the same of all."""

    column: int
    windows: tuple[Keyed, ...]


def retained_key(plan: NetworkPlan, id: str) -> RetainedKey | None:
    """Of a join the class that most windows below it have; None: no window has any."""
    joined = plan.operator(id)
    keys = list(_keys(plan, joined, joined.doing(JoinOp)))
    return max(keys, key=lambda key: len(key.windows), default=None)


def _keys(plan: NetworkPlan, joined: PlannedOperator, work: JoinOp) -> Iterator[RetainedKey]:
    for members in work.equal:
        below = [
            (plan.operator(id), column)
            for input, place in members
            for id, column in _columns_below(plan, joined.inputs[input], place)
        ]
        as_float = any(planned.fields[column].type in FLOAT_TYPES for planned, column in below)
        windows = dict.fromkeys(
            Keyed(planned.id, column, as_float)
            for planned, column in below
            if _can_drop(plan, planned)
        )
        input, place = members[0]
        first = sum(len(plan.operator(id).fields) for id in joined.inputs[:input])
        if windows:
            yield RetainedKey(first + place, tuple(windows))


def _columns_below(plan: NetworkPlan, id: str, place: int) -> Iterator[tuple[str, int]]:
    """A column of an operator and those that it is equal to, of operators down to windows."""
    planned = plan.operator(id)
    work = planned.work
    yield id, place
    if isinstance(work, SelectOp):
        yield from _columns_below(plan, planned.inputs[0], place)
    elif isinstance(work, ProjectOp):
        node = work.expressions[place]
        if isinstance(node, At):
            yield from _columns_below(plan, planned.inputs[0], node.index)
    elif isinstance(work, JoinOp):
        for input, own in _equals(plan, planned, work, place):
            yield from _columns_below(plan, planned.inputs[input], own)


def _can_drop(plan: NetworkPlan, planned: PlannedOperator) -> bool:
    """Whether it is a window of which a tuple less changes nothing for the others: rows are counted
    by the stream."""
    work = planned.work
    if not isinstance(work, WindowOp):
        return False
    is_counted = work.kind == "rows" and bool(plan.stream_of(planned.inputs[0]))
    return work.kind == "range" or is_counted


def _equals(
    plan: NetworkPlan, planned: PlannedOperator, work: JoinOp, place: int
) -> tuple[tuple[int, int], ...]:
    """The columns of a join's inputs that are equal to a column of it."""
    for input, id in enumerate(planned.inputs):
        size = len(plan.operator(id).fields)
        if place < size:
            own = (input, place)
            return next((members for members in work.equal if own in members), (own,))
        place -= size
    raise IndexError(place)
