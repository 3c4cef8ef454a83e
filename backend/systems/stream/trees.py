"""Operator trees: what a query comes to before its operators are shared with others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lark import Token

from backend.cql.nodes import At, Logic, Node
from backend.cql.types import expressions_in, rebuilt
from backend.model.schema import Attribute
from backend.operators.network.core.plan import (
    AggregateOp,
    AntiJoinOp,
    DistinctOp,
    JoinOp,
    OperatorWork,
    ProjectOp,
    RelationInput,
    SelectOp,
    SetOp,
    StreamInput,
    ToStreamOp,
    WindowOp,
)

EVERYWHERE: Final = -1
#: Expressions are put together up to so many parts.
_LARGEST: Final = 32


@dataclass(frozen=True, slots=True, eq=False)
class OperatorTree:
    """An operator over its inputs. key: of a stream or stored relation that is read, the place of
    the column that says the shard; EVERYWHERE: every shard reads all of it; None: the tree runs in
    one shard."""

    work: OperatorWork
    inputs: tuple[OperatorTree, ...]
    fields: tuple[Attribute, ...]
    key: int | None = None

    @property
    def input(self) -> OperatorTree:
        """The only input."""
        (found,) = self.inputs
        return found

    @property
    def grows(self) -> bool:
        """Whether nothing is ever taken away: all elements have sign +."""
        work = self.work
        if isinstance(work, StreamInput | RelationInput | ToStreamOp):
            return True
        if isinstance(work, WindowOp | AggregateOp | AntiJoinOp):
            return False
        if isinstance(work, SetOp) and work.word == "except":
            return False
        return all(one.grows for one in self.inputs)

    @property
    def fifo(self) -> bool:
        """Whether elements are taken away in the order they came, if at all."""
        if isinstance(self.work, WindowOp):
            return self.work.kind != "partition"
        if isinstance(self.work, SelectOp | ProjectOp):
            return self.input.fifo
        return self.grows


def walk_trees(tree: OperatorTree) -> Iterator[OperatorTree]:
    """All operators, each behind its inputs, as often as they stand there."""
    for one in tree.inputs:
        yield from walk_trees(one)
    yield tree


# ---------------------------------------------------------------------- making trees


def select(tree: OperatorTree, conditions: Sequence[Node]) -> OperatorTree:
    """The tuples for which all conditions hold."""
    if not conditions:
        return tree
    return OperatorTree(SelectOp(all_hold(conditions)), (tree,), tree.fields)


def project(
    tree: OperatorTree, expressions: Sequence[Node], fields: Sequence[Attribute]
) -> OperatorTree:
    """A column for each expression."""
    return OperatorTree(ProjectOp(tuple(expressions)), (tree,), tuple(fields))


def distinct(tree: OperatorTree) -> OperatorTree:
    """Each tuple once."""
    return OperatorTree(DistinctOp(), (tree,), tree.fields)


def join(
    inputs: Sequence[OperatorTree],
    equal: tuple[tuple[tuple[int, int], ...], ...] = (),
    residual: Node | None = None,
) -> OperatorTree:
    """The combinations of some inputs."""
    fields = tuple(field for one in inputs for field in one.fields)
    return OperatorTree(JoinOp(equal, residual), tuple(inputs), fields)


# ---------------------------------------------------------------------- expressions


def at(tree: OperatorTree, place: int, token: Token) -> At:
    """A column of a tree. token: where it stands in the text."""
    return At(token, place, tree.fields[place].type)


def all_hold(conditions: Sequence[Node]) -> Node:
    """One condition in place of several."""
    first = conditions[0]
    return first if len(conditions) == 1 else Logic(first.at, "and", tuple(conditions))


def each_of(condition: Node) -> tuple[Node, ...]:
    """The conditions that ``all_hold`` put together."""
    return (
        condition.parts
        if isinstance(condition, Logic) and condition.word == "and"
        else (condition,)
    )


def places_in(node: Node) -> frozenset[int]:
    """The places of the columns that an expression names."""
    return frozenset(part.index for part in expressions_in(node) if isinstance(part, At))


def composed(outer: Node, inner: Sequence[Node]) -> Node | None:
    """An expression over a projection's columns, over those of its input; None where that would
    repeat too much of the projection's work."""
    if isinstance(outer, At):
        return inner[outer.index]
    columns = [inner[part.index] for part in expressions_in(outer) if isinstance(part, At)]
    worked = [one for one in columns if not isinstance(one, At)]
    n_nodes = sum(1 for one in worked for _ in expressions_in(one))
    if worked and n_nodes + sum(1 for _ in expressions_in(outer)) > _LARGEST:
        return None
    return rebuilt(outer, lambda part: inner[part.index] if isinstance(part, At) else None)


def moved(node: Node, to: Mapping[int, int]) -> Node:
    """An expression whose columns are at other places."""
    return rebuilt(
        node,
        lambda part: At(part.at, to[part.index], part.type) if isinstance(part, At) else None,
    )
