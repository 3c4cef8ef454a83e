"""What the operators of a network did lately; older batches fade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Self

from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import OperatorCounts

#: What a batch keeps of its weight when another one is over.
FADING: Final = 0.5
#: Of an operator that took less than this in all batches together, faded, nothing is known: what
#: has faded for a thousand batches is too small to divide by.
LEAST_ELEMENTS: Final = 1e-100
#: Operators that were never seen busy cost this, us per element.
LEAST_US: Final = 1e-3


@dataclass
class OperatorProfile:
    """Faded sums of an operator. n_in, n_out: elements; busy_us: processing time."""

    n_in: float = 0.0
    n_out: float = 0.0
    busy_us: float = 0.0

    def add(self, counts: OperatorCounts) -> None:
        """Another batch; those before it fade. What it took to find that nothing had come is no
        cost of elements."""
        self.n_in = self.n_in * FADING + counts.n_in
        self.n_out = self.n_out * FADING + counts.n_out
        self.busy_us = self.busy_us * FADING + (counts.busy_ns / 1e3 if counts.n_in else 0.0)
        if self.n_in < LEAST_ELEMENTS:
            self.n_in = self.n_out = self.busy_us = 0.0


@dataclass
class NetworkProfile:
    """Of all operators, by id."""

    operators: dict[str, OperatorProfile] = field(default_factory=dict)

    def ran(self, counts: Mapping[str, OperatorCounts]) -> None:
        """A batch is over."""
        for id, count in counts.items():
            self.operators.setdefault(id, OperatorProfile()).add(count)

    def state(self) -> dict[str, list[float]]:
        """As JSON-typed data."""
        return {id: [seen.n_in, seen.n_out, seen.busy_us] for id, seen in self.operators.items()}

    @classmethod
    def restored(cls, state: Mapping[str, Sequence[float]]) -> Self:
        """As ``state`` has it."""
        return cls({id: OperatorProfile(*seen) for id, seen in state.items()})

    def only(self, plan: NetworkPlan) -> None:
        """Forget operators that are not in the plan."""
        known = {operator.id for operator in plan.operators}
        self.operators = {id: operator for id, operator in self.operators.items() if id in known}

    @property
    def selectivities(self) -> dict[str, float]:
        """Operator -> elements out for each taken in; of those that took some."""
        return {
            id: operator.n_out / operator.n_in
            for id, operator in self.operators.items()
            if operator.n_in > 0
        }

    @property
    def costs(self) -> dict[str, float]:
        """Operator -> processing time for each element it took, us; of those that took some."""
        return {
            id: max(operator.busy_us / operator.n_in, LEAST_US)
            for id, operator in self.operators.items()
            if operator.n_in > 0
        }

    @property
    def n_in(self) -> dict[str, float]:
        """Operator -> elements it took."""
        return {id: operator.n_in for id, operator in self.operators.items()}

    def work_us(self, plan: NetworkPlan) -> float:
        """Processing time of all operators for each element that came in; 0: unknown."""
        inputs = {operator.id for operator in plan.operators if not operator.inputs}
        n = sum(operator.n_in for id, operator in self.operators.items() if id in inputs)
        costs, taken = self.costs, self.n_in
        return sum(costs[id] * taken[id] for id in costs if id not in inputs) / n if n else 0.0
