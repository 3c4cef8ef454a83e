"""The join of k-Mon in a plan: a tree of many-one joins, with windows and filters of its inputs.

[B05] chapter 6. Windows and filters are its own, because what it keeps of a window is up to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

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
from backend.operators.network.kinds.expressions import expression_text
from backend.operators.network.kinds.select_project import select


class JoinedInput(NamedTuple):
    """An input. name: of what it reads. window 'range': ticks τ-size .. τ; 'rows': the newest
    ``size`` tuples; 'unbounded'; 'changing': a relation, which takes its tuples away itself.
    filter: over its columns, or None. key: columns that no two tuples have alike, (): none is
    known."""

    name: str
    window: Literal["range", "rows", "unbounded", "changing"] = "unbounded"
    size: int = 0
    filter: Node | None = None
    key: tuple[int, ...] = ()


class JoinEdge(NamedTuple):
    """A join: each tuple of input ``parent`` joins at most one of input ``child``. on: (column of
    the parent, column of the child), at least one. one_one: also the other way round."""

    parent: int
    child: int
    on: tuple[tuple[int, int], ...]
    one_one: bool = False


@dataclass(frozen=True, slots=True)
class KMonOp(OperatorWork):
    """k-mon: the combinations of all inputs along a tree of joins.

    outputs: (input, column) of each column. residual: over the columns, or None; cut: what of the
    text's equal attributes it has because the tree leaves it out, in words.
    """

    inputs: tuple[JoinedInput, ...]
    edges: tuple[JoinEdge, ...]
    outputs: tuple[tuple[int, int], ...]
    residual: Node | None = None
    cut: tuple[str, ...] = ()
    role = "join"
    name = "k-mon"

    @property
    def changes(self) -> bool:
        """Whether tuples are taken away, so that others wait anew for their child (erratum D3)."""
        return any(input.window == "changing" for input in self.inputs)

    @property
    def nodes(self) -> tuple[Node, ...]:
        filters = [input.filter for input in self.inputs if input.filter is not None]
        return (*filters, *([] if self.residual is None else [self.residual]))

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        return " and ".join(self.joins(columns))

    def joins(self, columns: Sequence[Sequence[str]]) -> list[str]:
        """Each join in words: ``B → C: pid = pid``."""
        joins = []
        for edge in self.edges:
            arrow = "↔" if edge.one_one else "→"
            on = ", ".join(
                f"{columns[edge.parent][a]} = {columns[edge.child][b]}" for a, b in edge.on
            )
            names = self.inputs[edge.parent].name, self.inputs[edge.child].name
            joins.append(f"{names[0]} {arrow} {names[1]}: {on}")
        return joins

    def facts(self, columns: Sequence[Sequence[str]]) -> Mapping[str, Any]:
        return {
            "joins": self.joins(columns),
            "n_inputs": len(self.inputs),
            "windows": [window_text(input) for input in self.inputs],
            "filters": [
                "" if input.filter is None else expression_text(input.filter, columns[port])
                for port, input in enumerate(self.inputs)
            ],
            **({"left_out": list(self.cut)} if self.cut else {}),
        }

    def grows(self, inputs: Sequence[bool]) -> bool:
        return all(inputs) and all(input.window == "unbounded" for input in self.inputs)

    def pushed(
        self, tree: OperatorTree, conditions: tuple[Node, ...], joins: JoinTrees
    ) -> OperatorTree:
        return select(tree, conditions)

    def pruned(self, tree: OperatorTree, keep: Sequence[int]) -> tuple[OperatorTree, Places]:
        return tree, kept_places(range(len(tree.fields)))

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        raise OneShard("k-constraints count the arrivals of whole streams")

    def roots(self) -> tuple[int, ...]:
        """Inputs that are nobody's child."""
        children = {edge.child for edge in self.edges}
        return tuple(k for k in range(len(self.inputs)) if k not in children)


def window_text(input: JoinedInput) -> str:
    """``[Range 600 ticks]``; '' of a relation."""
    if input.window == "changing":
        return ""
    if input.window == "unbounded":
        return "[Rows Unbounded]"
    return f"[Rows {input.size}]" if input.window == "rows" else f"[Range {input.size} ticks]"
