"""Runs of one experiment: schemes over the same tuples, and the extreme fixed orders."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.operators.selection.layout import Layout, Words
from backend.operators.selection.matcher import Matcher
from backend.operators.selection.tickets import FIRST_TICKETS
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.cost import PlanShape
from backend.systems.asc.layouts import layout_of
from backend.systems.asc.matching import Regions, StopRule
from backend.systems.asc.orderings import Ordering
from bench.experiments.counting import count_alive, count_walk, extreme_path
from bench.experiments.streams import RegionTable
from bench.simulate import Executed, Scenario, Simulated, Simulation

#: Tuples handed over between two ticks of the progress bar.
PORTION: Final = 50_000


class KernelExecutor:
    """Counts as simulate.ReferenceExecutor does, compiled. For up to 64 slots and GRB = 0."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._plan: tuple[PlanShape, Layout, Words, NDArray[np.intp]] | None = None
        self._lottery: Matcher | None = None

    def __call__(
        self, constructs: ConstructSet, regions: Regions, shape: PlanShape, stop_rule: StopRule
    ) -> Executed:
        """Counts of the tuples. Raises ValueError for more slots or another stop rule."""
        if constructs.n_words != 1 or stop_rule != "drop":
            raise ValueError("experiments run up to 64 slots, under the stop rule GRB = 0")
        if self._plan is None or self._plan[0] != shape:
            layout = layout_of(constructs, shape.order, shape.arrows)
            columns = [constructs.attributes.index(a) for a in shape.order]
            words = layout.pool[layout.row_at]
            self._plan = (shape, layout, words, np.array(columns, dtype=np.intp))
        _, layout, words, columns_ = self._plan
        if shape.kind == "ticket":
            return self._drawn(layout, regions[:, columns_])
        counts = np.zeros(4, dtype=np.int64)
        count_walk(layout, words, columns_, regions, counts)
        visits, n_unmatched, micro, macro = counts.tolist()
        is_hybrid = shape.kind == "hybrid"
        return Executed(visits, n_unmatched, *((micro, macro) if is_hybrid else (0, 0)))

    def _drawn(self, layout: Layout, regions: Regions) -> Executed:
        if self._lottery is None:
            self._lottery = Matcher(layout, "ticket", False, FIRST_TICKETS, self._seed)
        counts = self._lottery.counts
        before = int(counts.reached.sum()), int(counts.dropped.sum())
        self._lottery.match(np.ascontiguousarray(regions.T, dtype=np.int32))
        after = int(counts.reached.sum()), int(counts.dropped.sum())
        return Executed(after[0] - before[0], after[1] - before[1])


class CostExtremes(NamedTuple):
    """Visits per tuple of the best and of the worst fixed order on n tuples, exact (F4)."""

    best: float
    worst: float
    best_order: tuple[str, ...]


class ComparedSchemes(NamedTuple):
    """Schemes over the tuples from ``since`` on. runs: by scheme."""

    runs: dict[str, Simulated]
    extremes: CostExtremes
    since: int
    n_counted: int

    def visits(self, scheme: str) -> float:
        """Visits per tuple; 'best' and 'worst' are the extreme fixed orders."""
        if scheme in ("best", "worst"):
            return self.extremes.best if scheme == "best" else self.extremes.worst
        return self.runs[scheme].visits_per_tuple(self.since) or math.nan

    def relative(self, scheme: str) -> float:
        """The same over the best fixed order's."""
        return self.visits(scheme) / self.extremes.best

    @property
    def unmatched_prob(self) -> float:
        """Share of tuples no query wants."""
        return next(iter(self.runs.values())).dropping_ratio(self.since) or 0.0


def extremes(constructs: ConstructSet, regions: RegionTable) -> CostExtremes:
    """Best and worst fixed order on all tuples, by subset DP. At least one tuple, n <= 20."""
    n = len(constructs.attributes)
    layout = layout_of(constructs, constructs.attributes)
    alive = np.zeros(1 << n, dtype=np.int64)
    room = np.zeros(1 << n, dtype=np.uint64)
    count_alive(layout, layout.pool[layout.row_at], regions, room, alive)
    ends = []
    for sign in (1, -1):
        cost, last = np.zeros_like(alive), np.zeros(1 << n, dtype=np.int8)
        extreme_path(alive, sign, cost, last)
        places, left = [], (1 << n) - 1
        while left:
            places.append(int(last[left]))
            left ^= 1 << places[-1]
        order = tuple(constructs.attributes[place] for place in reversed(places))
        ends.append((sign * int(cost[-1]) / len(regions), order))
    return CostExtremes(ends[0][0], ends[1][0], ends[0][1])


def simulate(
    constructs: ConstructSet,
    regions: RegionTable,
    scenario: Scenario,
    advance: Callable[[int], None],
) -> Simulated:
    """One scheme over all tuples; ``advance`` hears how many more are done."""
    run = Simulation(constructs, scenario, KernelExecutor(scenario.seed))
    for start in range(0, len(regions), PORTION):
        part = regions[start : start + PORTION]
        run.feed(part.astype(np.intp))
        advance(len(part))
    return run.result


def compare(
    constructs: ConstructSet,
    regions: RegionTable,
    schemes: Sequence[Ordering],
    scenario: Scenario,
    advance: Callable[[int], None],
) -> ComparedSchemes:
    """All schemes over the same tuples. The intervals in which the first plan is still being
    monitored for, tau_tuples a construct, are not counted, for any of them."""
    warm_up = scenario.tau_tuples * (len(constructs.attributes) - 1)
    interval = scenario.interval_tuples
    since = min(-(-warm_up // interval), (len(regions) - 1) // interval) * interval
    runs: dict[str, Simulated] = {}
    for scheme in schemes:
        runs[scheme] = simulate(constructs, regions, replace(scenario, strategy=scheme), advance)
    counted = regions[since:]
    return ComparedSchemes(runs, extremes(constructs, counted), since, len(counted))
