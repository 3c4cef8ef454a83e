"""Operators that compare whole tuples: all columns are kept, equal tuples are in one shard."""

from __future__ import annotations

from collections.abc import Sequence

from backend.cql.nodes import Node
from backend.operators.network.core.work import (
    JoinTrees,
    OneShard,
    OperatorTree,
    OperatorWork,
    Places,
    Spread,
    kept_places,
)
from backend.operators.network.kinds.select_project import exact


class Comparing(OperatorWork):
    """One of them. Conditions hold for what goes in as for what comes out."""

    __slots__ = ()

    def pushed(
        self, tree: OperatorTree, conditions: tuple[Node, ...], joins: JoinTrees
    ) -> OperatorTree:
        return tree.over([input.pushed(conditions, joins) for input in tree.inputs])

    def pruned(self, tree: OperatorTree, keep: Sequence[int]) -> tuple[OperatorTree, Places]:
        every = range(len(tree.fields))
        return tree.over([exact(input, every) for input in tree.inputs]), kept_places(every)


def in_one_shard(what: str, tree: OperatorTree, inputs: Sequence[Spread]) -> list[Spread]:
    """The ways to spread its input that bring equal tuples to one shard. Raises OneShard."""
    ways = [tree.spread([way], way.places) for way in inputs if way.places or way.whole]
    if not ways:
        raise OneShard(f"{what} compares tuples that could be in different shards")
    return ways
