"""i-stream, d-stream, r-stream in a plan (thesis, table 2.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from backend.cql.nodes import Node
from backend.operators.network.core.work import JoinTrees, OperatorTree, Spread
from backend.operators.network.kinds.comparing import Comparing, in_one_shard


@dataclass(frozen=True, slots=True)
class ToStreamOp(Comparing):
    """i-stream, d-stream, r-stream: what comes, goes, is there at each tick; all with sign +."""

    word: Literal["istream", "dstream", "rstream"]
    role = "relation to stream"

    def named(self, n_inputs: int) -> str:
        return f"{self.word[0]}-stream"

    @property
    def keeps(self) -> str:
        return "the relation" if self.word == "rstream" else ""

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        return self.word.capitalize()

    def grows(self, inputs: Sequence[bool]) -> bool:
        return True

    def pushed(
        self, tree: OperatorTree, conditions: tuple[Node, ...], joins: JoinTrees
    ) -> OperatorTree:
        """What comes to a relation that only grows is what it is given."""
        below = tree.input.pushed(conditions, joins)
        return below if self.word == "istream" and below.grows else tree.over([below])

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        if self.word == "rstream":
            return [tree.spread([way], way.places) for way in inputs[0]]
        return in_one_shard(self.word.capitalize(), tree, inputs[0])
