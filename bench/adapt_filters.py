"""Filters whose selectivities change, counted: thresholds, the autopilot, and the best orders."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.ordering.ranks import PS_PER_US
from backend.adaptive.planlog.autopilot import Autopilot
from backend.model.conditions import TRUE, ContinuousQuery, FunctionPredicate, Reference
from backend.model.filters import WHOLE_EVERY, Probing
from backend.model.knobs import KnobSettings
from backend.systems.agreedy.knobs import AgreedyKnobs
from backend.systems.agreedy.reoptimizer import FiltersReOptimizer
from backend.systems.agreedy.steering import FilterOrders, FilterPilot
from backend.workloads.correlated import BLOCK_TUPLES, CorrelatedSource
from bench.adapt_run import AdaptRun, is_evaluation, phase_at
from bench.counted import order_cost, run_counted
from bench.experiments.filter_running import least_cost
from bench.filters_counted import counted_event

#: As in the demo: probes of an index, selectivities, tuples a batch.
COSTS: Final = (1, 100) * 4
SELECTIVITIES: Final = (0.2, 0.3, 0.4, 0.5, 0.5, 0.6, 0.7, 0.8)
BATCH: Final = 500
PROFILE_PROB: Final = 0.05
SEED: Final = 5
_NAMES: Final = tuple(f"F{place}" for place in range(len(COSTS)))


class _Eager(Autopilot):
    """Looks whenever there is a sample."""

    def is_due(self, t: int, statistics: Sequence[float] | None = None) -> bool:
        """Always."""
        return True


class FilterStream(NamedTuple):
    """drops: bool[T, n], by filter; phases: lengths, in tuples."""

    drops: NDArray[np.bool_]
    phases: tuple[int, ...]

    def bests(self) -> list[float]:
        """Probes of the best order of each phase."""
        ends = np.cumsum((0, *self.phases)).tolist()
        return [least_cost(COSTS, self.drops[a:b]) for a, b in pairwise(ends)]

    def best(self) -> float:
        """Probes of the best order for everything."""
        return least_cost(COSTS, self.drops)


def correlated(period: int, n_phases: int, regimes: int = 0, seed: int = SEED) -> FilterStream:
    """The demo's tuples; regimes: permutations after which the first comes back."""
    n_tuples = period * n_phases
    source = CorrelatedSource(seed, SELECTIVITIES, 2, period, n_tuples, regimes)
    step = 16 * BATCH * 10
    parts = [source.passes(a, min(step, n_tuples - a)) for a in range(0, n_tuples, step)]
    return FilterStream(~np.concatenate(parts), (period,) * n_phases)


class Unsparing(FiltersReOptimizer):
    """Has all filters asked about all profile tuples."""

    @property
    def probing(self) -> Probing:
        """Of the autopilot."""
        return Probing("all")


def followed(
    stream: FilterStream,
    knobs: Mapping[str, Any],
    of: type[FiltersReOptimizer] = FiltersReOptimizer,
) -> AdaptRun:
    """A decision core over the stream, batch by batch."""
    core, rng = _core(knobs, of), np.random.default_rng(SEED)
    price = dict(zip(_NAMES, COSTS, strict=True))
    costs, moved = [], []
    n_looks, deciding_s, watching = 0, 0.0, 0
    for batch in range(len(stream.drops) // BATCH):
        order, draws = core.plan.order, rng.random(BATCH)
        profiled, whole = (draws < core.profile_prob / every for every in (1, WHOLE_EVERY))
        drops = stream.drops[batch * BATCH : (batch + 1) * BATCH]
        done = run_counted(drops, _NAMES, order, core.probing, profiled, whole)
        event = counted_event(core, batch, BATCH, done, price if batch == 0 else {})
        started = time.perf_counter()
        answers = core.handle(event)
        deciding_s += time.perf_counter() - started
        costs.append(sum(price[name] * n for name, n in done.evaluated.items()))
        watching += sum(price[name] * n for name, n in done.probed.items())
        n_looks += sum(map(is_evaluation, answers))
        if core.plan.order != order:
            moved.append((batch * BATCH, order, core.plan.order))
    return AdaptRun(
        n_batch=BATCH,
        costs=np.array(costs, dtype=np.float64),
        switched=[_switched(stream, *move) for move in moved],
        n_looks=n_looks,
        deciding_s=deciding_s,
        watching=watching,
    )


def _core(knobs: Mapping[str, Any], of: type[FiltersReOptimizer]) -> FiltersReOptimizer:
    calls = tuple(FunctionPredicate(name, (Reference("s"),)) for name in _NAMES)
    return of(ContinuousQuery("q", "S", "", TRUE, calls), _settings(knobs))


def _settings(knobs: Mapping[str, Any]) -> KnobSettings:
    return KnobSettings.defaults(AgreedyKnobs.specs(), {"profile_prob": PROFILE_PROB, **knobs})


def looked(n_looks: int, n_sample: int = 100) -> tuple[int, int]:
    """Switches, and those to dearer orders, of as many looks at selectivities that never change,
    each on so many profile tuples."""
    ps = tuple(cost * PS_PER_US for cost in COSTS)
    pilot, order = FilterPilot(_NAMES), list(_NAMES)
    pilot.pilot = _Eager(pilot.pilot.log)
    pilot.settle(AgreedyKnobs.of(_settings({})).settling_tuples)
    source = CorrelatedSource(SEED, SELECTIVITIES, 2, 0, n_looks * n_sample)
    truth = ~source.passes(0, 100_000)
    n_switches = n_false = 0
    for start in range(0, n_looks * n_sample, BLOCK_TUPLES * 10):
        drops = ~source.passes(start, min(BLOCK_TUPLES * 10, n_looks * n_sample - start))
        for sample in np.array_split(drops, len(drops) // n_sample):
            places = [_NAMES.index(name) for name in order]
            orders = FilterOrders(pilot.schema, _NAMES, ps, tuple(places), is_optimal=False)
            pilot.sampled(20 * n_sample, sample)
            look = pilot.look(orders, order, 2, 1.0)
            if look is not None and look.verdict.is_switch:
                n_switches += 1
                after = orders.places(look.plan)
                dearer, before = (order_cost(truth, each, COSTS) for each in (after, places))
                n_false += dearer > before
                order = list(look.plan)
    return n_switches, n_false


def _switched(
    stream: FilterStream, position: int, old: Sequence[str], new: Sequence[str]
) -> tuple[float, float]:
    """Probes a tuple of both orders on the tuples of the phase."""
    drops = stream.drops[phase_at(position, stream.phases)]
    columns = [[_NAMES.index(name) for name in order] for order in (old, new)]
    before, after = (order_cost(drops, order, COSTS) for order in columns)
    return before, after
