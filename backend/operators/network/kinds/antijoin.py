"""antijoin in a plan: NOT IN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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


@dataclass(frozen=True, slots=True)
class AntiJoinOp(OperatorWork):
    """antijoin: tuples of the left input with no match in the right one. equal: pairs of places.
    null_aware: NOT IN of SQL, where a NULL on the right matches everything and a NULL on the left
    anything there is."""

    equal: tuple[tuple[int, int], ...]
    null_aware: bool = False
    role = "antijoin"

    @property
    def keeps(self) -> str:
        return "its inputs"

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        left, right = columns
        pairs = [(left[a], right[b]) for a, b in self.equal]
        return f"not in: {' and '.join(a if a == b else f'{a} = {b}' for a, b in pairs)}"

    def facts(self, columns: Sequence[Sequence[str]]) -> Mapping[str, Any]:
        return {"null_aware": self.null_aware}

    def grows(self, inputs: Sequence[bool]) -> bool:
        return False

    def pushed(
        self, tree: OperatorTree, conditions: tuple[Node, ...], joins: JoinTrees
    ) -> OperatorTree:
        left, right = tree.inputs
        return tree.over([left.pushed(conditions, joins), right.pushed((), joins)])

    def pruned(self, tree: OperatorTree, keep: Sequence[int]) -> tuple[OperatorTree, Places]:
        left, right = tree.inputs
        kept = sorted({*keep, *(a for a, _ in self.equal)})
        matched = sorted({b for _, b in self.equal})
        to, on = kept_places(kept), kept_places(matched)
        equal = tuple((to[a], on[b]) for a, b in self.equal)
        inputs = exact(left, kept), exact(right, matched)
        return OperatorTree(replace(self, equal=equal), inputs, inputs[0].fields), to

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        everything = [way for way in inputs[1] if way.whole]
        if not everything:
            raise OneShard("NOT IN asks for NULL in all of a relation")
        return [tree.spread([way, everything[0]], way.places) for way in inputs[0]]
