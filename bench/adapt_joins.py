"""Orders of a join's pipeline on elements whose drop probabilities change, counted: thresholds, the
autopilot, and the best orders. [B05] §5.3

A star: each of the other inputs joins with the first one only, so that any order is a pipeline.
Caches are off, and what an order costs is looking elements up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.planlog.begins import LogBegins
from backend.adaptive.planlog.steered import SteeredLook
from backend.operators.network.joins.join_tuning import PipelineProfile
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.joins.decide.ordering import PipelineOrder
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.shape import JoinShape
from backend.systems.joins.decide.steering import JoinPilot
from bench.adapt_run import AdaptRun, phase_at
from bench.counted import order_cost
from bench.experiments.filter_running import least_cost
from storage.vocabulary.planlog import AUTOPILOT

#: By input, of looking an element up in it; elements are of the first one.
COSTS: Final = (0, 1, 3, 2, 1, 2, 3)
#: Least and highest drop probability, and the share of the elements that are alike to all inputs.
LEAST, HIGHEST, ALIKE = 0.1, 0.7, 0.3
BATCH, PROFILED, SEED = 500, 0.05, 3
#: Elements that the autopilot takes a switch to cost as much as.
SWITCH_ELEMENTS: Final = 250
SETTINGS: Final = JoinSettings(policy=AUTOPILOT, caching="off", join_costs="counted")
Drops = NDArray[np.bool_]
#: After a batch: the order, what was profiled, and its cost. Whether it was evaluated.
OrderChooser = Callable[[PipelineOrder, PipelineProfile, float], bool]


class PipelineStream(NamedTuple):
    """drops: bool[T, n], by input behind the first; phases: lengths, in elements."""

    drops: Drops
    phases: tuple[int, ...]

    @property
    def n(self) -> int:
        """Inputs behind the first."""
        return int(self.drops.shape[1])

    @property
    def batches(self) -> Iterator[Drops]:
        """Of each what is dropped."""
        yield from np.split(self.drops, range(BATCH, len(self.drops), BATCH))

    def bests(self) -> list[float]:
        """Cost of the best order of each phase."""
        parts = np.split(self.drops, np.cumsum(self.phases)[:-1])
        return [least_cost(COSTS[1 : self.n + 1], part) for part in parts]

    def best(self) -> float:
        """Cost of the best order for everything."""
        return least_cost(COSTS[1 : self.n + 1], self.drops)

    def cost(self, filters: Sequence[int], rows: Drops) -> float:
        """Of an element in an order of inputs, on average; 0 of none."""
        order = [j - 1 for j in filters]
        return order_cost(rows, order, COSTS[1:]) if len(rows) else 0.0


def pipeline_stream(
    seed: int, n_phases: int, n_elements: int, n: int = 4, regimes: int = 0
) -> PipelineStream:
    """In each phase other inputs drop most. regimes: phases after which the first comes back."""
    rng, drawn, shares = np.random.default_rng(seed), list[Drops](), list[NDArray[np.float64]]()
    for phase in range(n_phases):
        is_back = 0 < regimes <= phase
        permuted = rng.permutation(np.linspace(LEAST, HIGHEST, n))
        shares.append(shares[phase - regimes] if is_back else permuted)
        common, own = rng.random((n_elements, 1)) < ALIKE, rng.random((n_elements, n))
        drawn.append(np.where(common, own[:, :1], own) < shares[phase])
    return PipelineStream(np.concatenate(drawn), (n_elements,) * n_phases)


def profile(drops: Drops, n_elements: int) -> PipelineProfile:
    """Of so many elements. drops: of those that were profiled."""
    k, n = drops.shape
    inputs = np.arange(1, n + 1, dtype=np.uint64)
    words = (drops.astype(np.uint64) << inputs).sum(axis=1, dtype=np.uint64)
    entering, steps = np.zeros((k, n + 1), np.int64), np.zeros((k, n), np.int64)
    return PipelineProfile(n_elements, 0, 0, 0, 0, np.arange(k), entering, steps, steps, words)


def star_order(n: int) -> PipelineOrder:
    """As it begins, with so many inputs behind the first."""
    star = JoinOp(tuple(((0, j - 1), (j, 0)) for j in range(1, n + 1)))
    return PipelineOrder(JoinShape.of(star, n + 1), 0, range(1, n + 1))


def star_pilot(n: int) -> JoinPilot:
    """Of the same pipeline."""
    return JoinPilot(star_order(n), SETTINGS, LogBegins(), "")


def piloted(pilot: JoinPilot, looks: list[SteeredLook], lost: float = 0.0) -> OrderChooser:
    """By the autopilot. lost: what caches would lose with a switch."""

    def batch(pipeline: PipelineOrder, counts: PipelineProfile, spent: float) -> bool:
        pilot.taken(counts, spent, SETTINGS)
        look = pilot.look_at(pipeline, COSTS, SETTINGS, lambda _: lost)
        if look is None:
            return False
        looks.append(look)
        if look.verdict.is_switch:
            pipeline.adopt(pilot.filters(look.plan, pipeline))
        return True

    return batch


def by_thresholds(pipeline: PipelineOrder, counts: PipelineProfile, spent: float) -> bool:
    """By checks of the invariant."""
    check = pipeline.check(COSTS, SETTINGS) if pipeline.is_due(SETTINGS) else None
    if check is None:
        return False
    if check.verdict == "switched":
        pipeline.adopt(check.filters)
    return True


def followed(
    stream: PipelineStream, chooser: OrderChooser, profile_prob: float = PROFILED
) -> AdaptRun:
    """The order over the stream, batch by batch."""
    pipeline, rng = star_order(stream.n), np.random.default_rng(SEED)
    costs, switched, n_looks, deciding_s, watching = list[float](), [], 0, 0.0, 0.0
    for batch, drops in enumerate(stream.batches):
        before = pipeline.filters
        costs.append(stream.cost(before, drops) * len(drops))
        seen = drops[rng.random(len(drops)) < profile_prob]
        counts, spent = profile(seen, len(drops)), stream.cost(before, seen) * len(seen)
        watching += len(seen) * sum(COSTS[: stream.n + 1]) - spent
        started = time.perf_counter()
        pipeline.take(counts, SETTINGS)
        n_looks += chooser(pipeline, counts, spent)
        deciding_s += time.perf_counter() - started
        if pipeline.filters != before:
            phase = stream.drops[phase_at(batch * BATCH, stream.phases)]
            old, new = (stream.cost(order, phase) for order in (before, pipeline.filters))
            switched.append((old, new))
    return AdaptRun(
        n_batch=BATCH,
        costs=np.array(costs),
        switched=switched,
        n_looks=n_looks,
        deciding_s=deciding_s,
        watching=watching,
        switch_tuples=SWITCH_ELEMENTS,
    )
