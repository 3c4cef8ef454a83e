"""coalesce and readings in a plan: tuples with valid times (Al-Kateb & Lee; card B1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from backend.cql.nodes import Node
from backend.operators.network.core.work import (
    JoinTrees,
    OperatorTree,
    Places,
    Spread,
    kept_places,
)
from backend.operators.network.kinds.expressions import places_in
from backend.operators.network.kinds.select_project import WholeInput, exact, select


@dataclass(frozen=True, slots=True)
class CoalesceOp(WholeInput):
    """coalesce: a tuple for each maximal interval in which equal values hold without a gap. The
    last two columns are its valid time, the others its values. closed: what is added to ends of its
    input, in the unit of times; 0 where they are half-open already."""

    closed: int = 0
    role = "coalesce"
    name = "coalesce"

    @property
    def keeps(self) -> str:
        return "intervals and runs"

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        return f"coalesce on {', '.join(columns[0][:-2])}"

    def grows(self, inputs: Sequence[bool]) -> bool:
        return False

    def pushed(
        self, tree: OperatorTree, conditions: tuple[Node, ...], joins: JoinTrees
    ) -> OperatorTree:
        """Conditions on values hold of all tuples of a run."""
        n_values = len(tree.fields) - 2
        low = [node for node in conditions if _is_below(node, n_values)]
        high = [node for node in conditions if node not in low]
        return select(tree.over([tree.input.pushed(low, joins)]), high)

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        why = "tuples of equal values, which are coalesced, could be in other shards"
        return tree.spread_by(inputs[0], range(len(tree.fields) - 2), why)


def _is_below(node: Node, n_values: int) -> bool:
    places = places_in(node)
    return bool(places) and max(places) < n_values


@dataclass(frozen=True, slots=True)
class ReadingsOp(WholeInput):
    """readings: each tuple of a window with the time it is valid: from ``start`` on, the place of
    the column with its time, until the next one of equal ``key``, or the end of the current tick.
    Every reading of a key ends the one before, whatever its values.
    times, over: a tick is times / over in the unit of times; every: ticks between two looks.

    lasts: 0, or of a stream instead of a window: that many ticks a reading without a next one goes
    on. There an element with + tells how long its reading is valid so far, by the number that it
    has in the stream; the last, with -, where it ended.
    """

    key: int
    start: int
    times: int
    over: int
    every: int = 1
    lasts: int = 0
    role = "readings"
    name = "readings"

    @property
    def keeps(self) -> str:
        return "the last reading of each key" if self.lasts else "readings of each key"

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        return f"valid until the next {columns[0][self.key]}"

    def grows(self, inputs: Sequence[bool]) -> bool:
        return False

    def pruned(self, tree: OperatorTree, keep: Sequence[int]) -> tuple[OperatorTree, Places]:
        """The time readings begin at is the first of its two last columns."""
        n_below = len(tree.fields) - 1
        below = {place for place in keep if place < n_below} | {self.key, self.start}
        kept = sorted(below)
        to = kept_places(kept)
        work = replace(self, key=to[self.key], start=to[self.start])
        input = exact(tree.input, kept)
        fields = (*input.fields, tree.fields[-1])
        return OperatorTree(work, (input,), fields), {**to, n_below: len(kept)}

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        why = "readings of a key could be in other shards"
        return tree.spread_by(inputs[0], [self.key], why, first=self.key)
