"""aggregate in a plan: groups and their calls (thesis, table 2.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from lark import Token

from backend.cql.nodes import NOWHERE, Node
from backend.operators.network.core.work import (
    JoinTrees,
    OperatorTree,
    OperatorWork,
    Places,
    Spread,
    kept_places,
)
from backend.operators.network.kinds.expressions import moved, places_in
from backend.operators.network.kinds.select_project import select


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate: of the column at a place, None for count(*). type: of its result; at: where it
    stands in the text."""

    function: Literal["count", "sum", "avg", "min", "max"]
    column: int | None
    distinct: bool
    type: str
    at: Token = field(default=NOWHERE, compare=False, repr=False)

    def text(self, names: Sequence[str]) -> str:
        """``sum(Distinct a)``. names: of the input's columns."""
        if self.column is None:
            return f"{self.function}(*)"
        return f"{self.function}({'Distinct ' if self.distinct else ''}{names[self.column]})"


@dataclass(frozen=True, slots=True)
class AggregateOp(OperatorWork):
    """aggregate: one tuple for each group of equal values in ``groups`` (NULL is a value), then its
    calls; without groups one tuple always (thesis' silence, SQL's reading)."""

    groups: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    role = "aggregate"

    @property
    def keeps(self) -> str:
        return "groups"

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        (names,) = columns
        groups = [names[place] for place in self.groups]
        by = f" by {', '.join(groups)}" if groups else ""
        return f"{', '.join(call.text(names) for call in self.calls) or 'groups'}{by}"

    def facts(self, columns: Sequence[Sequence[str]]) -> Mapping[str, Any]:
        return {"groups": [columns[0][place] for place in self.groups]}

    def grows(self, inputs: Sequence[bool]) -> bool:
        return False

    def is_net(self, inputs: Sequence[bool], n_columns: Sequence[int]) -> bool:
        """It tells a tick once."""
        return True

    def pushed(
        self, tree: OperatorTree, conditions: tuple[Node, ...], joins: JoinTrees
    ) -> OperatorTree:
        """Conditions on groups hold for all their tuples."""
        groups = dict(enumerate(self.groups))
        low = [node for node in conditions if places_in(node) and places_in(node) <= groups.keys()]
        high = [node for node in conditions if node not in low]
        below = tree.input.pushed([moved(node, groups) for node in low], joins)
        return select(tree.over([below]), high)

    def pruned(self, tree: OperatorTree, keep: Sequence[int]) -> tuple[OperatorTree, Places]:
        n_groups = len(self.groups)
        calls = [place - n_groups for place in keep if place >= n_groups]
        if not n_groups and not calls:
            calls = [0]
        kept = [*range(n_groups), *(n_groups + k for k in calls)]
        chosen = [self.calls[k] for k in calls]
        columns = {*self.groups, *(call.column for call in chosen if call.column is not None)}
        below, to = tree.input.pruned(columns)
        work = AggregateOp(
            tuple(to[place] for place in self.groups),
            tuple(
                call if call.column is None else replace(call, column=to[call.column])
                for call in chosen
            ),
        )
        fields = tuple(tree.fields[place] for place in kept)
        return OperatorTree(work, (below,), fields), kept_places(kept)

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        why = "an aggregate has tuples of all shards in a group"
        why = why if self.groups else "an aggregate of all tuples is one group"
        ways = tree.spread_by(inputs[0], self.groups, why)
        return sorted(ways, key=lambda way: min(way.places, default=len(self.groups)))
