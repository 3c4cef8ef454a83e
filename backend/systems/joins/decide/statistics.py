"""Online statistics of a join: each the mean of its last W observations. [B05] §5.5.2, card 10.2

Deviation: one element says little of a pipeline that fans out, so an observation of a pipeline is
the mean of ``ELEMENTS`` profiled elements; W of them are looked at, as of everything else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.joins.join_tuning import (
    CacheCounts,
    JoinProfile,
    PipelineProfile,
    Segment,
)
from backend.systems.joins.decide.costs import PipelineFlow, UnitCosts

#: Profiled elements that are one observation of a pipeline.
ELEMENTS: Final = 10
#: Cost of a cache operation in index probes, where time counts and it was not measured yet.
MEASURED_W: Final = 1.0
#: What looking at a stored tuple costs, in index probes, where costs are counted (card 16).
SCAN: Final = 0.2


class PipelineStatistics:
    """The last profiled elements of one pipeline, under its present order.

    keep: how many. n_new: those since somebody set it to 0. counted: costs are operations (a probe
    and a built tuple each 1, a tuple looked at 0.2), not nanoseconds.
    """

    def __init__(self, n_inputs: int, keep: int, counted: bool) -> None:
        self._n, self._keep, self._counted = n_inputs, keep, counted
        self.reordered()

    def reordered(self) -> None:
        """Steps mean other inputs now: what was observed is of no use."""
        #: float64[k, 2n-1] by element: entering, then spent.
        self._observed = np.zeros((0, 2 * self._n - 1))
        self._sums = [0.0] * (2 * self._n - 1)
        self._mean, self._mean_costs = [0.0] * self._n, [0.0] * (self._n - 1)
        self.n_new = 0

    @property
    def n(self) -> int:
        """Observed elements."""
        return len(self._observed)

    def add(self, profile: PipelineProfile) -> None:
        """Take in the elements of a batch. c_ij stays as it was where no tuple came to the step."""
        if not len(profile.entering):
            return
        self.n_new += len(profile.entering)
        new = np.concatenate([profile.entering, self.spent(profile)], axis=1)
        self._observed = np.concatenate([self._observed, new])[-self._keep :]
        self._sums = self._observed.sum(axis=0).tolist()
        self._mean = [total / self.n for total in self._sums[: self._n]]
        steps = zip(self._sums, self._sums[self._n :], self._mean_costs, strict=False)
        self._mean_costs = [spent / came if came else old for came, spent, old in steps]

    def spent(self, profile: PipelineProfile) -> NDArray[np.float64]:
        """float64[k, n-1]: what each profiled element of a batch cost at each step."""
        if not self._counted:
            return profile.busy_ns.astype(np.float64)
        entering = profile.entering.astype(np.float64)
        costs: NDArray[np.float64] = entering[:, :-1] + entering[:, 1:] + SCAN * profile.scanned
        return costs

    def flow(self, share: float, minus_share: float, factor: float = 1.0) -> PipelineFlow:
        """share: elements of the input per element of the join. factor: of all costs."""
        entering = tuple(share * mean for mean in self._mean)
        costs = tuple(factor * cost for cost in self._mean_costs)
        return PipelineFlow(share, minus_share, entering, costs, self.n)

    def segment_costs(self, reader: Segment) -> NDArray[np.float64]:
        """float64[n]: what the steps of a segment cost for each observed element."""
        spent = self._observed[:, self._n :]
        costs: NDArray[np.float64] = spent[:, reader.first : reader.last + 1].sum(axis=1)
        return costs

    def state(self) -> dict[str, Any]:
        """As JSON-typed data: of how many elements, and their means."""
        return {"n": self.n, "entering": self._mean, "step_costs": self._mean_costs}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on as if all observed elements had been like their mean."""
        n = min(int(state["n"]), self._keep)
        self._mean, self._mean_costs = list(state["entering"]), list(state["step_costs"])
        spent = [d * c for d, c in zip(self._mean, self._mean_costs, strict=False)]
        self._observed = np.tile([*self._mean, *spent], (n, 1))
        self._sums = [n * mean for mean in (*self._mean, *spent)]

    @property
    def operations(self) -> tuple[float, float]:
        """Cost of all steps, and the index probes and built tuples behind it."""
        entering, spent = self._sums[: self._n], self._sums[self._n :]
        return sum(spent), sum(entering[:-1]) + sum(entering[1:])


class _Misses(NamedTuple):
    n_probes: int
    misses: float
    n_blocks: float


class MissWindow:
    """The miss probability of a cache: mean over its last W blocks of look-ups."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._parts: deque[_Misses] = deque()

    def add(self, n_probes: int, misses: float, n_blocks: float) -> None:
        """Look-ups of a batch; blocks they make."""
        if n_probes:
            self._parts.append(_Misses(n_probes, misses, n_blocks))
        while self._parts and self.n_blocks - self._parts[0].n_blocks >= self._keep:
            self._parts.popleft()

    @property
    def n_blocks(self) -> float:
        return sum(part.n_blocks for part in self._parts)

    @property
    def n_probes(self) -> int:
        """Look-ups behind it."""
        return sum(part.n_probes for part in self._parts)

    @property
    def is_full(self) -> bool:
        """W blocks were seen."""
        return self.n_blocks >= self._keep

    def state(self) -> list[float]:
        """All of it as one part, to ``add``."""
        return [self.n_probes, sum(part.misses for part in self._parts), self.n_blocks]

    @property
    def prob(self) -> float | None:
        """None: nothing was looked up."""
        n = self.n_probes
        return min(1.0, sum(part.misses for part in self._parts) / n) if n else None


class Rates:
    """How many insertions and deletions come to each input, over the last batches that hold
    ``keep`` elements. shares: by input, elements and deletions per element of the join."""

    def __init__(self, n_inputs: int, keep: int) -> None:
        self._keep = keep
        self._batches: deque[list[tuple[int, int]]] = deque()
        self._came, self._left = [0] * n_inputs, [0] * n_inputs
        self.shares: tuple[tuple[float, float], ...] = ((0.0, 0.0),) * n_inputs

    def add(self, profile: JoinProfile) -> int:
        """Take in a batch; elements of all inputs in it. An empty one says nothing of shares."""
        batch = [
            (pipeline.n_plus + pipeline.n_minus, pipeline.n_minus) for pipeline in profile.pipelines
        ]
        n_elements = _n_elements(batch)
        if n_elements:
            self._batches.append(batch)
            self._count(batch, 1)
        while self._batches and sum(self._came) - _n_elements(self._batches[0]) >= self._keep:
            self._count(self._batches.popleft(), -1)
        n = max(1, sum(self._came))
        pairs = zip(self._came, self._left, strict=True)
        self.shares = tuple((came / n, left / n) for came, left in pairs)
        return n_elements

    def _count(self, batch: Sequence[tuple[int, int]], sign: int) -> None:
        for input, (came, left) in enumerate(batch):
            self._came[input] += sign * came
            self._left[input] += sign * left


def _n_elements(batch: Sequence[tuple[int, int]]) -> int:
    return sum(came for came, _ in batch)


class OperationCosts:
    """What operations of caches cost. Counted: w index probes, and a built tuple for each tuple
    that a hit forwards. Measured: ``MEASURED_W`` instead of w at first, then look-ups scaled to
    what they took over the last W timings, and updates as they took."""

    def __init__(self, keep: int, counted: bool, w: float) -> None:
        self._counted, self._w = counted, w if counted else MEASURED_W
        self._lookups: deque[tuple[float, float]] = deque(maxlen=keep)
        self._updates: deque[tuple[float, float]] = deque(maxlen=keep)

    def add(self, counts: CacheCounts, expected_lookup: float) -> None:
        """Take in what was timed of a cache in a batch. expected_lookup: what one of its look-ups
        costs by ``prior``."""
        if counts.n_lookups_timed and expected_lookup:
            expected = expected_lookup * counts.n_lookups_timed
            self._lookups.append((float(counts.lookup_ns), expected))
        if counts.n_updates_timed:
            self._updates.append((float(counts.update_ns), float(counts.n_updates_timed)))

    def state(self) -> list[list[list[float]]]:
        """What was timed, as JSON-typed data: look-ups, updates."""
        return [[list(part) for part in parts] for parts in (self._lookups, self._updates)]

    def restore(self, state: Sequence[Sequence[tuple[float, float]]]) -> None:
        """Go on with what was timed."""
        for parts, timed in zip((self._lookups, self._updates), state, strict=True):
            parts.extend((taken, expected) for taken, expected in timed)

    def prior(self, probe_cost: float) -> UnitCosts:
        """What is assumed. probe_cost: of an index probe, or of building a tuple."""
        return UnitCosts(self._w * probe_cost, probe_cost, self._w * probe_cost)

    def units(self, probe_cost: float) -> UnitCosts:
        """What is known by now."""
        prior = self.prior(probe_cost)
        if self._counted:
            return prior
        if self._lookups:
            scale = _ratio(self._lookups)
            prior = UnitCosts(scale * prior.lookup, scale * prior.forward, prior.update)
        return prior._replace(update=_ratio(self._updates)) if self._updates else prior


def probe_cost(pipelines: Sequence[PipelineStatistics], counted: bool) -> float:
    """Of an index probe, or of building a tuple: their mean over all pipelines."""
    if counted:
        return 1.0
    spent, n_operations = (
        sum(part) for part in zip(*(p.operations for p in pipelines), strict=True)
    )
    return spent / n_operations if n_operations else 0.0


def _ratio(parts: Sequence[tuple[float, float]] | deque[tuple[float, float]]) -> float:
    return sum(above for above, _ in parts) / sum(below for _, below in parts)
