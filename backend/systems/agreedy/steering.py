"""Orders of filters as the autopilot sees them: S, a search, and cost(P, S). [B05] §7"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.ordering.findings import Situation
from backend.adaptive.ordering.ranks import PS_PER_US
from backend.adaptive.ordering.steered import DropOrders, log_schema
from backend.adaptive.planlog.logged import Weighed, statistics
from backend.adaptive.planlog.records import LogJson
from backend.adaptive.planlog.steered import SteeredLook
from backend.adaptive.planlog.steering import Steering
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


@dataclass(frozen=True, slots=True)
class FilterOrders(DropOrders):
    """Orders of the filters of a query. spared: filters, for what dropped the tuple."""

    native: int = 0
    spared: frozenset[tuple[str, str]] = frozenset()

    @property
    def n_native(self) -> int:
        return self.native

    def shares(self, sample: KnownSample) -> list[float]:
        return list(drop_shares(sample))

    def searched(self, sample: KnownSample) -> Sequence[NDArray[np.bool_]]:
        """Of late, and of all where filters were spared."""
        return searched(sample)

    def prices(self, plan: LogJson, sample: KnownSample) -> NDArray[np.float64]:
        return sample_prices(sample, self.places(plan), self.costs)

    def worst(self, old: LogJson, new: LogJson) -> float:
        """Of an order that is none of late a whole tuple stands for others."""
        if any((name, by) in self.spared for name, by in combinations(new, 2)):
            return sum(self.costs) * WHOLE_EVERY / PS_PER_US
        return DropOrders.worst(self, old, new)


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
            schema=self.schema,
            names=profiler.names,
            costs=profiler.prices(knobs),
            incumbent=tuple(profiler.view.order),
            is_optimal=knobs.filter_algorithm == "optimal",
            native=profiler.n_native,
            spared=self.spared,
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
