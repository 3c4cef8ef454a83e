"""Many-one joins of relations that change, tuple by tuple: the slow twin of k-Mon's re-opening.

[B05] erratum D3. Every list is searched from its beginning. Results are those of the join by its
definition, whatever RIDS says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, NamedTuple

Row = tuple[int | None, ...]


class RelationEdge(NamedTuple):
    """A join of two relations by place: of each tuple of the parent with at most one child. on:
    (place in the parent, place in the child). k: of RIDS on it, None without."""

    parent: int
    child: int
    on: tuple[int, int]
    k: int | None = None


@dataclass(eq=False)
class HeldTuple:
    """A tuple of a relation. since: of each child, its arrivals when the tuple began to wait for
    it; state: as in the text, or aside: RIDS let it go."""

    relation: int
    row: Row
    since: dict[int, int] = field(default_factory=dict)
    state: Literal["yes", "unknown", "aside"] = "unknown"


class ReopeningJoin:
    """passes: filters of the relations."""

    def __init__(
        self, passes: Sequence[Callable[[Row], bool]], edges: Sequence[RelationEdge]
    ) -> None:
        self.passes, self.edges = passes, edges
        self.held: list[HeldTuple] = []
        self.counts = [0] * len(passes)

    def change(self, relation: int, row: Row, sign: int) -> None:
        """A tuple comes, is taken away, or renewed (0); what RIDS says is laid aside."""
        self.counts[relation] += sign >= 0
        held = [t for t in self.held if (t.relation, t.row) == (relation, row)]
        if sign <= 0 and held:
            self._leaves(held[-1])
            self.held.remove(held[-1])
        if self.passes[relation](row) and (sign > 0 or (sign == 0 and held)):
            since = {edge.child: self.counts[edge.child] for edge in self.edges}
            new = HeldTuple(relation, row, since)
            self.held.append(new)
            self._judge(new)
        for waiting in [t for t in self.held if t.state == "unknown"]:
            if waiting.state == "unknown" and self._waits_in_vain(waiting):
                self._lay_aside(waiting)

    def _judge(self, held: HeldTuple) -> None:
        """Where a tuple belongs that does not lie aside."""
        below = [self._children(edge, held) for edge in self._down(held)]
        children = [child for own in below for child in own]
        if any(child.state == "aside" for child in children) or self._waits_in_vain(held):
            self._lay_aside(held)
        elif all(below) and all(child.state == "yes" for child in children):
            held.state = "yes"
            for _, parent in self._above(held):
                if parent.state != "yes":
                    parent.state = "unknown"
                    self._judge(parent)

    def _lay_aside(self, held: HeldTuple) -> None:
        held.state = "aside"
        for _, parent in self._above(held):
            if parent.state == "unknown":
                self._lay_aside(parent)

    def _leaves(self, child: HeldTuple) -> None:
        """Parents of a tuple wait anew, and those of the ones that were in Yes."""
        for edge, parent in self._above(child):
            parent.since[edge.child] = self.counts[edge.child]
            if parent.state == "yes":
                parent.state = "unknown"
                self._leaves(parent)

    def _waits_in_vain(self, held: HeldTuple) -> bool:
        return any(
            edge.k is not None
            and held.since[edge.child] + edge.k <= self.counts[edge.child]
            and not self._children(edge, held)
            for edge in self._down(held)
        )

    def _down(self, held: HeldTuple) -> list[RelationEdge]:
        return [edge for edge in self.edges if edge.parent == held.relation]

    def _above(self, child: HeldTuple) -> list[tuple[RelationEdge, HeldTuple]]:
        return [
            (edge, parent)
            for edge in self.edges
            if edge.child == child.relation
            for parent in self.held
            if self._joins(edge, parent, child)
        ]

    def _joins(self, edge: RelationEdge, parent: HeldTuple, child: HeldTuple) -> bool:
        is_pair = (parent.relation, child.relation) == (edge.parent, edge.child)
        key = parent.row[edge.on[0]]
        return is_pair and key is not None and key == child.row[edge.on[1]]

    def _children(self, edge: RelationEdge, parent: HeldTuple) -> list[HeldTuple]:
        return [held for held in self.held if self._joins(edge, parent, held)]

    def components(self) -> list[tuple[int, int, int]]:
        """Tuples in Yes, in Unknown and aside of each relation."""
        kinds = Counter((held.relation, held.state) for held in self.held)
        return [
            (kinds[k, "yes"], kinds[k, "unknown"], kinds[k, "aside"])
            for k in range(len(self.passes))
        ]


def joined(
    relations: Sequence[Sequence[Row]],
    passes: Sequence[Callable[[Row], bool]],
    on: Mapping[tuple[int, int], tuple[int, int]],
) -> Counter[Row]:
    """By definition: all combinations of tuples that pass and are equal where they are joined."""
    kept = [[row for row in rows if passes[k](row)] for k, rows in enumerate(relations)]
    return Counter(
        tuple(value for row in rows for value in row)
        for rows in product(*kept)
        if all(rows[p][a] is not None and rows[p][a] == rows[c][b] for (p, c), (a, b) in on.items())
    )
