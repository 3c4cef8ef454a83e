"""The inputs of a network: what reads a stream or a stored relation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from backend.cql.nodes import Node
from backend.model.schema import FLOAT_TYPES
from backend.operators.network.core.work import (
    EVERYWHERE,
    JoinTrees,
    OperatorTree,
    OperatorWork,
    Places,
    Spread,
    kept_places,
)
from backend.operators.network.kinds.select_project import select


class _Input(OperatorWork):
    __slots__ = ()
    role = ""
    columns: tuple[int, ...]

    @abstractmethod
    def reading(self, columns: tuple[int, ...]) -> Self:
        """The same with other columns."""

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        return self.reads

    def pushed(
        self, tree: OperatorTree, conditions: tuple[Node, ...], joins: JoinTrees
    ) -> OperatorTree:
        return select(tree, conditions)

    def pruned(self, tree: OperatorTree, keep: Sequence[int]) -> tuple[OperatorTree, Places]:
        work = self.reading(tuple(self.columns[place] for place in keep))
        fields = tuple(tree.fields[place] for place in keep)
        return OperatorTree(work, (), fields), kept_places(keep)

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        """By any column; floating-point numbers and booleans last."""

        def rank(place: int) -> tuple[bool, bool]:
            kind = tree.fields[place].type
            return kind == "boolean", kind in FLOAT_TYPES

        places = sorted(range(len(tree.fields)), key=rank)
        return [Spread(frozenset([place]), replace(tree, key=place)) for place in places]


@dataclass(frozen=True, slots=True)
class StreamInput(_Input):
    """Reads a stream: its tuples, with sign +. columns: which of its attributes, by place. key: of
    all its attributes those that no two tuples have alike, by name; (): none is known."""

    stream: str
    columns: tuple[int, ...]
    key: tuple[str, ...] = field(default=(), compare=False, repr=False)
    name = "stream"

    @property
    def reads(self) -> str:
        return self.stream

    def reading(self, columns: tuple[int, ...]) -> Self:
        return replace(self, columns=columns)

    def stream_of(self, inputs: Sequence[str]) -> str:
        return self.stream


@dataclass(frozen=True, slots=True)
class RelationInput(_Input):
    """Reads a stored relation: all its tuples at the beginning of time. columns: by place; key: as
    of a stream."""

    relation: str
    columns: tuple[int, ...]
    key: tuple[str, ...] = field(default=(), compare=False, repr=False)
    name = "relation"

    @property
    def reads(self) -> str:
        return self.relation

    @property
    def is_stored(self) -> bool:
        return True

    def reading(self, columns: tuple[int, ...]) -> Self:
        return replace(self, columns=columns)

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        """As a stream, or whole in every shard."""
        everywhere = Spread(frozenset(), replace(tree, key=EVERYWHERE), True)
        return [*super(RelationInput, self).ways(tree, inputs), everywhere]
