"""sample and estimate in a plan: a window of which a probability sample is kept, and aggregates of
it with intervals. Card B8"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.work import (
    OperatorTree,
    Spread,
)
from backend.operators.network.kinds.select_project import WholeInput
from backend.operators.network.kinds.windows import WindowOp

_NOW: Final = WindowOp("range")


@dataclass(frozen=True, slots=True)
class SampleOp(WholeInput):
    """sample: the tuples of a window, range or rows, of a stream's tuples; under a limit some of
    them. The last column is the probability with which each was kept. counted: as of ShedOp."""

    window: WindowOp = _NOW
    counted: str = ""
    role = "shed"
    name = "sample"

    @property
    def keeps(self) -> str:
        return "a sample of the window"

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        return f"{self.window.text(columns)}, a sample"

    def facts(self, columns: Sequence[Sequence[str]]) -> Mapping[str, Any]:
        return self.window.facts(columns)

    def grows(self, inputs: Sequence[bool]) -> bool:
        return False

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        self.window.check_counts(self.counted)
        return [tree.spread([way], way.places) for way in inputs[0]]


@dataclass(frozen=True, slots=True)
class EstimateCall:
    """An aggregate from those of equal probability. By place: ``exact``, the aggregate itself, of
    use where nothing was shed; ``n``, how many values, ``total``, their sum, ``squares``, that of
    their squares; of count all four are the same."""

    function: Literal["count", "sum", "avg"]
    exact: int
    n: int
    total: int
    squares: int


@dataclass(frozen=True, slots=True)
class EstimateOp(WholeInput):
    """estimate: of the aggregates of a sample by group and probability, those of the whole window,
    one tuple a group; then the ends of a 95 % interval of each. n_groups: columns of the group, the
    first ones, before the probability; without any there is one tuple always."""

    n_groups: int
    calls: tuple[EstimateCall, ...]
    role = "aggregate"
    name = "estimate"

    @property
    def keeps(self) -> str:
        return "groups by probability"

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        (names,) = columns
        by = f" by {', '.join(names[: self.n_groups])}" if self.n_groups else ""
        return f"{', '.join(names[call.exact] for call in self.calls)}{by}, with 95 % intervals"

    def grows(self, inputs: Sequence[bool]) -> bool:
        return False

    def is_net(self, inputs: Sequence[bool], n_columns: Sequence[int]) -> bool:
        """It tells a tick once."""
        return True

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        why = "an estimate has tuples of all shards in a group"
        return tree.spread_by(inputs[0], range(self.n_groups), why)


def with_intervals(plan: NetworkPlan, id: str) -> list[str]:
    """The columns of an operator that are estimates, each with the ends of its interval behind
    it."""
    below, names = [plan.operator(id)], [field.name for field in plan.operator(id).fields]
    for operator in below:
        below += [plan.operator(input) for input in operator.inputs]
    if not any(isinstance(operator.work, EstimateOp) for operator in below):
        return []
    triples = zip(names, names[1:], names[2:], strict=False)
    return [name for name, *ends in triples if ends == [f"{name}_low", f"{name}_high"]]
