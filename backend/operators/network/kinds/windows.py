"""seq-window in a plan: the newest tuples of its input (thesis, 2.1.1; cards A2, A5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from backend.cql.nodes import Node
from backend.cql.printer import format_seconds
from backend.operators.network.core.layouts import OWN_INDEX, StorePlan, StubPlan
from backend.operators.network.core.work import (
    JoinTrees,
    OneShard,
    Operators,
    OperatorTree,
    OperatorWork,
    Places,
    PlannedOperator,
    Spread,
    kept_places,
)
from backend.operators.network.kinds.select_project import exact, select
from backend.operators.network.kinds.to_stream import ToStreamOp


@dataclass(frozen=True, slots=True)
class WindowOp(OperatorWork):
    """seq-window. kind 'range': ticks τ-size .. τ (closed; Now is size 0), moved every ``slide``
    ticks (1: with time); 'rows': the newest ``size`` tuples; 'partition': the same of each group of
    equal values in ``by`` (places); 'unbounded': all. tick_us: microseconds of a tick, for who
    reads of it; 0: unknown."""

    kind: Literal["range", "rows", "partition", "unbounded"]
    size: int = 0
    slide: int = 1
    by: tuple[int, ...] = ()
    tick_us: int = field(default=0, compare=False, repr=False)  # no part of an operator's id
    role = "window"
    name = "seq-window"

    @property
    def keeps(self) -> str:
        return "" if self.kind == "unbounded" else "the window"

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        """``[Range 3 Hours Slide 10 Minutes]``; in ticks where their length is no known number of
        seconds."""
        if self.kind == "unbounded":
            return "[Rows Unbounded]"
        if self.kind == "range":
            slide = f" Slide {self._length(self.slide)}" if self.slide != 1 else ""
            return f"[Range {self._length(self.size)}{slide}]" if self.size or slide else "[Now]"
        names = [columns[0][place] for place in self.by]
        by = f"Partition By {', '.join(names)} " if names else ""
        return f"[{by}Rows {self.size}]"

    def _length(self, ticks: int) -> str:
        seconds, rest = divmod(ticks * self.tick_us, 1_000_000)
        return f"{ticks} ticks" if rest or not self.tick_us else format_seconds(seconds, "Seconds")

    def facts(self, columns: Sequence[Sequence[str]]) -> Mapping[str, Any]:
        return {"window": self.text(columns)}

    def grows(self, inputs: Sequence[bool]) -> bool:
        return False

    def fifo(self, inputs: Sequence[bool], grows: bool) -> bool:
        return self.kind != "partition"

    def pushed(
        self, tree: OperatorTree, conditions: tuple[Node, ...], joins: JoinTrees
    ) -> OperatorTree:
        """Through windows of time; those of rows count their tuples in the order they come."""
        if self.kind == "range":
            return tree.over([tree.input.pushed(conditions, joins)])
        below = tree.input
        if isinstance(below.work, ToStreamOp):  # which says the order within a tick
            below = below.over([below.input.pushed((), joins)])
        else:
            below = below.pushed((), joins)
        return select(tree.over([below]), conditions)

    def pruned(self, tree: OperatorTree, keep: Sequence[int]) -> tuple[OperatorTree, Places]:
        kept = sorted({*keep, *self.by})
        to, below = kept_places(kept), exact(tree.input, kept)
        by = tuple(to[place] for place in self.by)
        return OperatorTree(replace(self, by=by), (below,), below.fields), to

    def any_column(self, tree: OperatorTree) -> int:
        return min(self.by) if self.by else tree.input.work.any_column(tree.input)

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        self.check_counts(tree.input.stream)
        ways = list(inputs[0])
        if self.kind == "partition":
            ways = [way for way in ways if way.places & set(self.by)]
            if not ways:
                raise OneShard("a window is partitioned by other attributes than its input is")
        return [tree.spread([way], way.places) for way in ways]

    def check_counts(self, stream: str) -> None:
        """Raises OneShard for rows counted by no stream's numbers, but by what comes in."""
        if self.kind == "rows" and not stream:
            raise OneShard(f"{self.text([])} over a stream of other tuples counts all of them")

    def synopses(
        self, planned: PlannedOperator, operators: Operators, sharing: bool
    ) -> Iterator[tuple[str, StorePlan]]:
        if self.kind == "unbounded":
            return
        is_partition = self.kind == "partition"
        types = planned.column_types
        indexes = (OWN_INDEX,) if is_partition else ()
        stub = StubPlan(planned.id, 0, tuple(range(len(types))), planned.inputs[0], indexes)
        store = StorePlan("partition" if is_partition else "window", types, (stub,))
        yield self.group(planned) if sharing else planned.id, store

    def window_of(
        self, planned: PlannedOperator, operators: Operators
    ) -> tuple[PlannedOperator, tuple[int, ...]] | None:
        places = tuple(range(len(planned.fields)))
        return (planned, places) if self.kind in ("range", "rows") else None

    def group(self, planned: PlannedOperator) -> str:
        """What shares a store with it: all windows of its input that keep every tuple."""
        keeps_all = self.kind == "range" and self.size >= self.slide - 1
        if self.kind == "rows" or keeps_all:
            return f"windows of {planned.inputs[0]}"
        return planned.id
