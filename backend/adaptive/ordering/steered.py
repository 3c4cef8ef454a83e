"""Orders of what drops tuples as the autopilot sees them: S, a search, cost(P, S). [B05] §7"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.ordering.costing import tuple_costs
from backend.adaptive.ordering.orders import greedy_order, optimal_order
from backend.adaptive.ordering.ranks import PS_PER_US, Picoseconds
from backend.adaptive.planlog.confidence import order_worst
from backend.adaptive.planlog.records import LogJson, LogSchema, NamedStatistic
from backend.model.bits import pack


def log_schema(names: Sequence[str], unit: str = "us/tuple", subject: str = "") -> LogSchema:
    """S: the drop probability of each filter alone, then what it costs."""
    drops = [NamedStatistic(f"drop {name}", "prob") for name in names]
    costs = [NamedStatistic(f"cost {name}", unit) for name in names]
    return LogSchema((*drops, *costs), unit, subject)


@dataclass(frozen=True, slots=True)
class DropOrders:
    """Orders of some filters; a sample is bool[T, filters], what each of them drops. costs: by
    filter; incumbent: by place; is_optimal: all orders are searched where that can be done."""

    schema: LogSchema
    names: tuple[str, ...]
    costs: tuple[Picoseconds, ...]
    incumbent: tuple[int, ...]
    is_optimal: bool

    @property
    def ps(self) -> float:
        """Of the unit of costs."""
        return PS_PER_US

    @property
    def n_native(self) -> int:
        """Filters that stay in front."""
        return 0

    def statistics(self, sample: NDArray[Any]) -> Sequence[float]:
        """float64[2n]."""
        return [*self.shares(sample), *(ps / self.ps for ps in self.costs)]

    def shares(self, sample: NDArray[Any]) -> list[float]:
        """Drop probability of each filter."""
        shares: list[float] = sample.mean(axis=0).tolist()
        return shares

    def search(self, sample: NDArray[Any]) -> Sequence[LogJson]:
        """The greedy order, or the best of all."""
        return [self.form(self._best(drops)) for drops in self.searched(sample)]

    def searched(self, sample: NDArray[Any]) -> Sequence[NDArray[np.bool_]]:
        """Drops to search the best order on."""
        return [sample]

    @property
    def searched_costs(self) -> tuple[Picoseconds, ...]:
        """By filter, to search the best order with."""
        return self.costs

    def _best(self, drops: NDArray[np.bool_]) -> Sequence[int]:
        columns, costs, n_native = pack(drops.T), self.searched_costs, self.n_native
        if self.is_optimal:
            best = optimal_order(columns, costs, self.incumbent, len(drops), n_native)
            if best:
                return best
        return greedy_order(columns, costs, self.incumbent, n_native)

    def prices(self, plan: LogJson, sample: NDArray[Any]) -> NDArray[np.float64]:
        """float64[T], in the unit of costs."""
        us = tuple_costs(sample, 0, self.places(plan), self.costs).us
        return us * (PS_PER_US / self.ps)

    def worst(self, old: LogJson, new: LogJson) -> float:
        """As of ``order_worst``."""
        return order_worst(self.places(old), self.places(new), self.costs) / self.ps

    def form(self, order: Sequence[int]) -> LogJson:
        """A plan of an order by place."""
        return [self.names[place] for place in order]

    def places(self, plan: LogJson) -> list[int]:
        """An order by place."""
        return [self.names.index(name) for name in plan]
