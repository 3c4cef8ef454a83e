"""Filters whose drop probabilities change on schedule, and who chooses their order.

A tuple visits filters until one drops it; the cost of an order is visits. A phase is the drop
probability of each filter and, perhaps, a pair of which the second mostly drops what the first
does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import permutations
from typing import Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.planlog.autopilot import Autopilot, PilotLook, PilotOffer, PilotOptions
from backend.adaptive.planlog.confidence import paired_sample
from backend.adaptive.planlog.log import PlanLog
from backend.adaptive.planlog.records import LogSchema, NamedStatistic

Order = tuple[int, ...]
Drops = NDArray[np.bool_]
N_FILTERS: Final = 6
BATCH: Final = 2_000
SAMPLED: Final = 500
SWITCHING: Final = 2_000.0
DECIDING: Final = 400.0
SCHEMA: Final = LogSchema(
    tuple(NamedStatistic(f"drop {i}", "prob") for i in range(N_FILTERS)), "visits/tuple"
)


class DriftPhase(NamedTuple):
    """probs: drop probability of each filter; alike: a pair that agrees in 7 of 10 tuples."""

    probs: tuple[float, ...]
    alike: tuple[int, int] | None = None

    def draw(self, rng: np.random.Generator, n: int) -> Drops:
        """bool[n, N_FILTERS], True = would drop."""
        drops = rng.random((n, N_FILTERS)) < np.array(self.probs)
        if self.alike is not None:
            first, second = self.alike
            drops[:, second] = np.where(rng.random(n) < 0.7, drops[:, first], drops[:, second])
        return drops


PHASES: Final = (
    DriftPhase((0.6, 0.1, 0.1, 0.1, 0.1, 0.1)),
    DriftPhase((0.1, 0.6, 0.1, 0.3, 0.1, 0.1)),
    DriftPhase((0.1, 0.1, 0.6, 0.1, 0.4, 0.1), (2, 4)),
    DriftPhase((0.2, 0.2, 0.2, 0.2, 0.2, 0.22)),
    DriftPhase((0.1, 0.1, 0.1, 0.7, 0.5, 0.5), (3, 4)),
    DriftPhase((0.5, 0.1, 0.1, 0.1, 0.1, 0.6)),
)


def visits(order: Sequence[int], drops: Drops) -> NDArray[np.float64]:
    """float64[n]: filters each tuple visits."""
    passed = ~np.maximum.accumulate(drops[:, list(order)], axis=1)
    n_visits: NDArray[np.float64] = 1.0 + passed[:, :-1].sum(axis=1, dtype=np.float64)
    return n_visits


def greedy(drops: Drops) -> Order:
    """The filter that drops most of what is left, then the next."""
    left, order, alive = list(range(N_FILTERS)), [], np.ones(len(drops), dtype=np.bool_)
    while left:
        order.append(max(left, key=lambda place: int(drops[alive, place].sum())))
        left.remove(order[-1])
        alive &= ~drops[:, order[-1]]
    return tuple(order)


@cache
def best_order(phase: DriftPhase) -> Order:
    """Of the best of all orders on 2 000 tuples, and greedy's on 200 000, by the latter; on
    independent filters greedy's is the best."""
    many = phase.draw(np.random.default_rng(99), 200_000)
    few = many[:2_000]
    tried = min(permutations(range(N_FILTERS)), key=lambda order: visits(order, few).sum())
    return min((greedy(many), tried), key=lambda order: visits(order, many).sum())


class Chooser(Protocol):
    """Who is told of batches and says which order is next. n_looks: searches so far."""

    n_looks: int

    def ran(self, t: int, order: Order, sample: Drops, n_tuples: int, cost: float) -> Order:
        """A batch ran and cost so many visits; ``sample`` is of it."""


@dataclass
class Threshold:
    """Eq. 5 of [L12]: search when the cost of the running order changed by more than μ."""

    mu: float
    n_looks: int = 0
    _reference: float | None = None
    _window: list[Drops] = field(default_factory=list)

    def ran(self, t: int, order: Order, sample: Drops, n_tuples: int, cost: float) -> Order:
        self._window = [*self._window[-1:], sample]
        now, reference = cost / n_tuples, self._reference
        if reference is not None and abs(now - reference) <= self.mu * reference:
            return order
        self.n_looks += 1
        window = np.vstack(self._window)
        best = min((order, greedy(window)), key=lambda each: visits(each, window).sum())
        self._reference = float(visits(best, window).mean())
        return best


class Piloted:
    """The autopilot as a unit has it: half of a sample is searched, the other half judges what was
    found."""

    def __init__(self, options: PilotOptions | None = None) -> None:
        self.pilot = Autopilot(PlanLog(SCHEMA), options)
        self.n_looks = 0

    def ran(self, t: int, order: Order, sample: Drops, n_tuples: int, cost: float) -> Order:
        pilot, log = self.pilot, self.pilot.log
        pilot.ran(n_tuples, cost)
        statistics = tuple(sample.mean(axis=0).tolist())
        if not pilot.is_due(t, statistics):
            return order
        self.n_looks += 1
        searched, present = self.searched(sample), log.learn(list(order))
        samples = {digest: sample for digest in pilot.candidates(statistics, present)}
        samples.setdefault(searched, sample[1::2])
        samples.pop(present, None)
        now = visits(order, sample).mean()
        offers = []
        for digest, tuples in samples.items():
            saving = paired_sample(visits(order, tuples), visits(log.plans[digest], tuples))
            offers.append(PilotOffer(digest, float(now) - saving.mean, saving))
        look = PilotLook(
            t, statistics, present, float(now), tuple(offers), SWITCHING, DECIDING
        )  # fmt: skip
        return tuple(log.plans[pilot.look(look).plan])

    def searched(self, sample: Drops) -> str:
        """What a search finds, by its digest."""
        return self.pilot.log.learn(list(greedy(sample[::2])))


class PhaseCost(NamedTuple):
    """Visits of a phase as run, and under its best order; switches and looks in it."""

    spent: float
    best: float
    n_switches: int
    n_looks: int


def drift(chooser: Chooser, schedule: Sequence[int], n_tuples: int, seed: int) -> list[PhaseCost]:
    """A run through the schedule, so many tuples a phase."""
    rng = np.random.default_rng(seed)
    order: Order = tuple(range(N_FILTERS))
    orders = {phase: best_order(PHASES[phase]) for phase in set(schedule)}
    t, costs = 0, []
    for phase in schedule:
        spent = best = 0.0
        n_switches, n_looks = 0, chooser.n_looks
        for _ in range(n_tuples // BATCH):
            drops = PHASES[phase].draw(rng, BATCH)
            cost = float(visits(order, drops).sum())
            spent, best = spent + cost, best + float(visits(orders[phase], drops).sum())
            t += BATCH
            following = chooser.ran(t, order, drops[:SAMPLED], BATCH, cost)
            n_switches += following != order
            order = following
        costs.append(PhaseCost(spent, best, n_switches, chooser.n_looks - n_looks))
    return costs
