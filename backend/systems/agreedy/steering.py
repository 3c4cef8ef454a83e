"""Orders of filters as the autopilot sees them: S, a search, and cost(P, S). [B05] §7"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.ordering.costing import tuple_costs
from backend.adaptive.ordering.findings import Situation
from backend.adaptive.ordering.orders import greedy_order, optimal_order
from backend.adaptive.ordering.ranks import PS_PER_US, Picoseconds
from backend.adaptive.planlog.confidence import order_worst
from backend.adaptive.planlog.logged import Weighed, statistics
from backend.adaptive.planlog.records import LogJson, LogSchema, NamedStatistic
from backend.adaptive.planlog.steered import SteeredLook
from backend.adaptive.planlog.steering import Steering
from backend.model.bits import pack
from backend.model.filters import BatchFiltered
from backend.systems.agreedy.knobs import AgreedyKnobs
from backend.systems.agreedy.profiler import Profiler, Taken
from storage.vocabulary.looks import LookFacts
from storage.vocabulary.records import Decision

#: What thresholds decide, in the plan log.
SUBJECT: Final = "order by thresholds"


def log_schema(names: Sequence[str]) -> LogSchema:
    """S: the drop probability of each filter alone, then what it costs."""
    drops = [NamedStatistic(f"drop {name}", "prob") for name in names]
    costs = [NamedStatistic(f"cost {name}", "us/tuple") for name in names]
    return LogSchema((*drops, *costs), "us/tuple")


@dataclass(frozen=True, slots=True)
class FilterOrders:
    """Orders of some filters; samples are bool[T, n], which filters drop each tuple. costs: by
    filter; incumbent: by place; is_optimal: all orders are searched where that can be done."""

    names: tuple[str, ...]
    n_native: int
    costs: tuple[Picoseconds, ...]
    incumbent: tuple[int, ...]
    is_optimal: bool

    @property
    def schema(self) -> LogSchema:
        """As ``log_schema``."""
        return log_schema(self.names)

    def statistics(self, sample: NDArray[np.bool_]) -> Sequence[float]:
        """float[2n]."""
        return [*sample.mean(axis=0).tolist(), *(ps / PS_PER_US for ps in self.costs)]

    def search(self, sample: NDArray[np.bool_]) -> Sequence[LogJson]:
        """The greedy order, or the best of all."""
        columns, n_native = pack(sample.T), self.n_native
        order = greedy_order(columns, self.costs, self.incumbent, n_native)
        if self.is_optimal:
            best = optimal_order(columns, self.costs, self.incumbent, len(sample), n_native)
            order = best or order
        return [[self.names[place] for place in order]]

    def prices(self, plan: LogJson, sample: NDArray[np.bool_]) -> NDArray[np.float64]:
        """float64[T], microseconds."""
        return tuple_costs(sample, 0, self.places(plan), self.costs).us

    def worst(self, old: LogJson, new: LogJson) -> float:
        """Microseconds."""
        return order_worst(self.places(old), self.places(new), self.costs) / PS_PER_US

    def places(self, plan: LogJson) -> list[int]:
        """An order by place."""
        return [self.names.index(name) for name in plan]


class FilterPilot(Steering):
    """The autopilot of the filters of a query."""

    #: Another order is a list of names: nothing is built for it.
    switch_tuples = 250

    def __init__(self, names: Sequence[str], t: int = 0) -> None:
        super().__init__(log_schema(names), t)

    def taken(self, n_tuples: int, taken: Taken) -> None:
        """Profile tuples came in with a batch; those that not every filter was asked about are of
        no use."""
        passed = np.zeros((taken.n_passed, len(self.schema.statistics) // 2), dtype=np.bool_)
        sample = np.concatenate([taken.drops, passed])
        self.sampled(n_tuples, sample[: None if taken.is_complete else 0])

    def filtered(self, event: BatchFiltered, profiler: Profiler, knobs: AgreedyKnobs) -> None:
        """A batch ran under the order in force."""
        self.ran(event.n_tuples, spent_us(event, profiler, knobs))

    def look_at(self, profiler: Profiler, knobs: AgreedyKnobs) -> SteeredLook | None:
        """A look, when one is due."""
        orders = FilterOrders(
            profiler.names,
            profiler.n_native,
            profiler.prices(knobs),
            tuple(profiler.view.order),
            knobs.filter_algorithm == "optimal",
        )
        return self.look(orders, list(profiler.order), knobs.least_samples, knobs.caution)


def spent_us(event: BatchFiltered, profiler: Profiler, knobs: AgreedyKnobs) -> float:
    """What the filters of a batch cost."""
    costs = zip(profiler.names, profiler.prices(knobs), strict=True)
    return sum(event.evaluated.get(name, 0) * ps for name, ps in costs) / PS_PER_US


def weighed_check(decision: Decision, profiler: Profiler, situation: Situation) -> Weighed:
    """A check of the order as the plan log has it, whatever it came to."""
    order, drops = situation.view.order, situation.view.counts[0].tolist()
    n, names = max(1, situation.n_tuples), profiler.names
    probs = [drops[order.index(place)] / n for place in range(len(names))]
    costs = [ps / PS_PER_US for ps in situation.costs]
    measured = statistics(names, drop=("prob", probs), cost=("us/tuple", costs))
    return Weighed(decision, SUBJECT, "us/tuple", measured)


def look_record(
    look: SteeredLook, seq: int, batch: int, version: int, knobs: AgreedyKnobs
) -> Decision:
    """A look as a decision."""
    return look.decision(LookFacts(knobs.filter_algorithm, seq, batch, version, knobs.version))
