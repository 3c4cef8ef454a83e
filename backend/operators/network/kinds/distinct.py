"""duplicate-eliminate in a plan (thesis, table 2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backend.operators.network.core.work import OperatorTree, Spread
from backend.operators.network.kinds.comparing import Comparing, in_one_shard


@dataclass(frozen=True, slots=True)
class DistinctOp(Comparing):
    """duplicate-eliminate: every tuple that is there, once."""

    role = "distinct"
    name = "duplicate-eliminate"

    @property
    def keeps(self) -> str:
        return "counts of tuples"

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        return "Distinct"

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        return in_one_shard("Distinct", tree, inputs[0])


def distinct(tree: OperatorTree) -> OperatorTree:
    """Each tuple once."""
    return OperatorTree(DistinctOp(), (tree,), tree.fields)
