"""thin: every k-th tuple of a stream is dropped, in the order they come; k is a limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backend.cql.nodes import Node
from backend.operators.network.core.blocks import Block
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.frame import OperatorFrame
from backend.operators.network.core.tuning import Limit
from backend.operators.network.core.work import (
    JoinTrees,
    OneShard,
    OperatorTree,
    OperatorWork,
    Places,
    PlannedOperator,
    Spread,
)
from backend.operators.network.kinds.select_project import select


@dataclass(frozen=True, slots=True)
class ThinOp(OperatorWork):
    """thin: the tuples of a stream but for those that a limit drops."""

    role = "thinned"
    name = "thin"

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        return "thinned"

    def pushed(
        self, tree: OperatorTree, conditions: tuple[Node, ...], joins: JoinTrees
    ) -> OperatorTree:
        return select(tree.over([tree.input.pushed((), joins)]), conditions)

    def pruned(self, tree: OperatorTree, keep: Sequence[int]) -> tuple[OperatorTree, Places]:
        below, to = tree.input.pruned(keep)
        return OperatorTree(self, (below,), below.fields), to

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        raise OneShard("every k-th tuple is counted over all of them")


@dataclass(frozen=True, slots=True)
class ThinLimit(Limit):
    """every: the tuples with numbers it divides are dropped; 0: none."""

    every: int = 0

    def planned(self, work: OperatorWork) -> ThinOp:
        """The work as it is. Raises TypeError: the operator drops nothing."""
        if not isinstance(work, ThinOp):
            raise TypeError(f"{type(work).__name__} is not thinned")
        return work


@dataclass(frozen=True, slots=True)
class ThinProfile:
    """n_dropped: tuples, in a batch."""

    n_dropped: int

    def merged(self, others: Sequence[ThinProfile]) -> ThinProfile:
        """With those of other shards."""
        return ThinProfile(self.n_dropped + sum(other.n_dropped for other in others))


class ThinOperator(OperatorFrame):
    """Drops tuples at work; how many came is its state."""

    def __init__(self, planned: PlannedOperator, surroundings: Surroundings) -> None:
        super().__init__(planned, surroundings)
        planned.doing(ThinOp)
        self._every = (surroundings.tuning(planned, ThinLimit) or ThinLimit()).every
        self._came, self._n_dropped = self._regions.array("came", "int64", 1), 0

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        block = inputs[0]
        numbers = self._came[0] + np.arange(1, len(block) + 1)
        self._came[0] += len(block)
        if not self._every:
            return block
        stays = numbers % self._every != 0
        self._n_dropped += int((~stays).sum())
        return block.take(stays)

    def profile(self) -> ThinProfile:
        """What it dropped since it was made."""
        return ThinProfile(self._n_dropped)
