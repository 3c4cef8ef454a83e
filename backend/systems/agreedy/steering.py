"""Orders of filters as the autopilot sees them: S, a search, and cost(P, S). [B05] §7"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.ordering.findings import Situation
from backend.adaptive.ordering.orders import greedy_order, optimal_order
from backend.adaptive.ordering.ranks import PS_PER_US, Picoseconds
from backend.adaptive.planlog.confidence import order_worst
from backend.adaptive.planlog.logged import Weighed, statistics
from backend.adaptive.planlog.records import LogJson, LogSchema, NamedStatistic
from backend.adaptive.planlog.steered import SteeredLook
from backend.adaptive.planlog.steering import Steering
from backend.model.bits import pack
from backend.model.filters import UNKNOWN, WHOLE_EVERY, BatchFiltered
from backend.systems.agreedy.knobs import AgreedyKnobs
from backend.systems.agreedy.profiler import Profiler, Taken
from backend.systems.agreedy.sparing import (
    KnownSample,
    drop_shares,
    sample_prices,
    searched,
    spared_of,
)
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
    """Orders of some filters. costs: by filter; incumbent: by place; is_optimal: all orders are
    searched where that can be done; spared: filters, for what dropped the tuple."""

    names: tuple[str, ...]
    n_native: int
    costs: tuple[Picoseconds, ...]
    incumbent: tuple[int, ...]
    is_optimal: bool
    spared: frozenset[tuple[str, str]] = frozenset()

    @property
    def schema(self) -> LogSchema:
        """As ``log_schema``."""
        return log_schema(self.names)

    def statistics(self, sample: KnownSample) -> Sequence[float]:
        """float[2n]."""
        return [*drop_shares(sample), *(ps / PS_PER_US for ps in self.costs)]

    def search(self, sample: KnownSample) -> Sequence[LogJson]:
        """The greedy order, or the best of all; of late, and of all where filters were spared."""
        return [[self.names[x] for x in self._best(drops)] for drops in searched(sample)]

    def _best(self, drops: NDArray[np.bool_]) -> Sequence[int]:
        columns, n_native = pack(drops.T), self.n_native
        if self.is_optimal:
            best = optimal_order(columns, self.costs, self.incumbent, len(drops), n_native)
            if best:
                return best
        return greedy_order(columns, self.costs, self.incumbent, n_native)

    def prices(self, plan: LogJson, sample: KnownSample) -> NDArray[np.float64]:
        """float64[T], microseconds."""
        return sample_prices(sample, self.places(plan), self.costs)

    def worst(self, old: LogJson, new: LogJson) -> float:
        """Microseconds; of an order that is none of late a whole tuple stands for others."""
        if any((name, by) in self.spared for name, by in combinations(new, 2)):
            return sum(self.costs) * WHOLE_EVERY / PS_PER_US
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
        self._names = tuple(names)
        self._n_asked, self._n_profiled = np.zeros(len(names), dtype=np.int64), 0
        self._spared: tuple[frozenset[str], frozenset[tuple[str, str]]] | None = None
        self.shares: dict[str, float] = {}

    @property
    def spared(self) -> frozenset[tuple[str, str]]:
        """(filter, the one that dropped) of which no order of late has need, nor one that the log
        chose where conditions were others."""
        late, log = self.pilot.late.plans, self.pilot.log
        if late is None:
            return frozenset()
        kept = late | log.chosen()
        if self._spared is None or self._spared[0] != kept:
            orders = [log.plans[digest] for digest in kept if digest in log.plans]
            self._spared = kept, spared_of(self._names, orders)
        return self._spared[1]

    def taken(self, n_tuples: int, taken: Taken) -> None:
        """Profile tuples came in with a batch; those that not every filter was to be asked about
        are of no use."""
        sample = taken.priceable
        self._n_asked += (sample != UNKNOWN).sum(axis=0)
        self._n_profiled += len(sample)
        self.sampled(n_tuples, sample)

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
            self.spared,
        )
        look = self.look(orders, list(profiler.order), knobs.least_samples, knobs.caution)
        if look is not None and self._n_profiled:
            shares = (self._n_asked / self._n_profiled).tolist()
            drops = self.schema.statistics[: len(shares)]
            self.shares = {drop.name: share for drop, share in zip(drops, shares, strict=True)}
            self._n_asked[:], self._n_profiled = 0, 0
        return look


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
