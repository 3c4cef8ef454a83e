"""Rewrites of operator trees that keep what they mean: conditions go down, columns are left out.

A condition goes below whatever takes tuples one by one: windows of time, but not [Rows n] and
[Partition By … Rows n], whose tuples it would change (thesis, section 2.2.1; card A5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from backend.cql.nodes import Node
from backend.operators.network.core.plan import (
    AggregateOp,
    AntiJoinOp,
    DistinctOp,
    JoinOp,
    ProjectOp,
    SelectOp,
    SetOp,
    ToStreamOp,
    WindowOp,
)
from backend.systems.stream.joining import joined
from backend.systems.stream.trees import (
    OperatorTree,
    composed,
    each_of,
    moved,
    places_in,
    select,
)

#: How more than two inputs are joined: by one operator, or by one for each further input.
JoinTrees: TypeAlias = Literal["mjoin", "binary"]
_ONE_BY_ONE = (SetOp, DistinctOp)


def pushed(
    tree: OperatorTree, conditions: Sequence[Node] = (), joins: JoinTrees = "mjoin"
) -> OperatorTree:
    """The tuples of a tree that fulfil all conditions, each condition as low as it can go; with
    equal attributes known to joins."""
    return _Pushing(joins).down(tree, tuple(conditions))


class _Pushing:
    def __init__(self, joins: JoinTrees) -> None:
        self._joins = joins

    def down(self, tree: OperatorTree, conditions: tuple[Node, ...]) -> OperatorTree:
        work = tree.work
        if isinstance(work, SelectOp):
            return self.down(tree.input, (*each_of(work.condition), *conditions))
        if isinstance(work, JoinOp):
            inputs, within = _flat(tree)
            return joined(inputs, (*within, *conditions), self.down, self._joins)
        if isinstance(work, ProjectOp):
            return self._project(tree, work, conditions)
        if isinstance(work, ToStreamOp):
            return self._stream(tree, conditions)
        if isinstance(work, _ONE_BY_ONE) or (isinstance(work, WindowOp) and work.kind == "range"):
            return self._with(tree, [self.down(one, conditions) for one in tree.inputs])
        if isinstance(work, AntiJoinOp):
            left, right = tree.inputs
            return self._with(tree, [self.down(left, conditions), self.down(right, ())])
        if isinstance(work, AggregateOp):
            return self._aggregate(tree, work, conditions)
        if isinstance(work, WindowOp):
            return select(self._with(tree, [self._ordered(tree.input)]), conditions)
        return select(tree, conditions)

    def _with(self, tree: OperatorTree, inputs: Sequence[OperatorTree]) -> OperatorTree:
        return OperatorTree(tree.work, tuple(inputs), tree.fields)

    def _stream(self, tree: OperatorTree, conditions: tuple[Node, ...]) -> OperatorTree:
        """What comes to a relation that only grows is what it is given."""
        below = self.down(tree.input, conditions)
        is_all = tree.work == ToStreamOp("istream") and below.grows
        return below if is_all else self._with(tree, [below])

    def _ordered(self, tree: OperatorTree) -> OperatorTree:
        """A stream whose order within a tick matters: as it is read, or as i-stream puts it."""
        if not isinstance(tree.work, ToStreamOp):
            return self.down(tree, ())
        return self._with(tree, [self.down(tree.input, ())])

    def _project(
        self, tree: OperatorTree, work: ProjectOp, conditions: tuple[Node, ...]
    ) -> OperatorTree:
        """Conditions on columns hold for what these are computed from."""
        pairs = [(one, composed(one, work.expressions)) for one in conditions]
        below = self.down(tree.input, tuple(low for _, low in pairs if low is not None))
        return select(self._with(tree, [below]), [one for one, low in pairs if low is None])

    def _aggregate(
        self, tree: OperatorTree, work: AggregateOp, conditions: tuple[Node, ...]
    ) -> OperatorTree:
        """Conditions on groups hold for all their tuples."""
        groups = dict(enumerate(work.groups))
        low = [one for one in conditions if places_in(one) and places_in(one) <= groups.keys()]
        high = [one for one in conditions if one not in low]
        below = self.down(tree.input, tuple(moved(one, groups) for one in low))
        return select(self._with(tree, [below]), high)


def _flat(tree: OperatorTree) -> tuple[list[OperatorTree], list[Node]]:
    """The inputs of joins directly within each other, and the conditions between these."""
    if isinstance(tree.work, SelectOp):
        inputs, conditions = _flat(tree.input)
        if len(inputs) > 1:
            return inputs, [*conditions, *each_of(tree.work.condition)]
    if not isinstance(tree.work, JoinOp):
        return [tree], []
    found: list[OperatorTree] = []
    within: list[Node] = []
    offset = 0
    for one in tree.inputs:
        inputs, conditions = _flat(one)
        shift = {place: place + offset for place in range(len(one.fields))}
        within += [moved(condition, shift) for condition in conditions]
        found += inputs
        offset += len(one.fields)
    return found, within
