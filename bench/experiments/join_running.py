"""Runs of joins: the executor itself, without network or host, and what it counts. [B05] §5.8

Cost is in index probes: probes, tuples built (those that caches forward included), 0.2 for each
tuple looked at, and w for each operation of a cache, or of a subresult that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.model.schema import Attribute
from backend.operators.network.core.blocks import Block, Column64
from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.tuning import as_tuned
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.joins import join_kernel
from backend.operators.network.joins.cache_rules import update_step, update_windows
from backend.operators.network.joins.join_tuning import JoinProfile, JoinTuning
from backend.operators.network.joins.joins import WindowJoin
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.windows import WindowOp
from backend.systems.joins.decide.statistics import SCAN

#: Of a cache operation, in index probes, for which results are told beside the measured one.
WEIGHTS: Final = (0.1, 0.25, 1.0)
#: Share of the tuples of a run that are not counted: windows and caches fill.
WARM: Final = 0.3
#: The id of the join.
JOIN: Final = "join"


class Arrivals(NamedTuple):
    """Tuples of several streams in the order they come. streams: int64[n]; values: int64[n, most
    attributes]; sizes: of the row window of each stream; widths: attributes of each stream."""

    streams: NDArray[np.int64]
    values: NDArray[np.int64]
    sizes: tuple[int, ...]
    widths: tuple[int, ...]


class SignedElements(NamedTuple):
    """Elements of one input of a join. places: of the arrivals that brought them."""

    places: NDArray[np.int64]
    signs: NDArray[np.int8]
    values: NDArray[np.int64]


@dataclass(frozen=True)
class Operations:
    """What a run did. n_arrivals: tuples that came. pairs: by (input, step) the pairs of tuples
    that a step without an index compares; scanned: those that were compared."""

    n_arrivals: int = 0
    probes: int = 0
    built: int = 0
    scans: int = 0
    kept: int = 0
    lookups: int = 0
    hits: int = 0
    results: int = 0
    steps: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0, 4), np.int64))

    def cost(self, w: float) -> float:
        """Per tuple that came. w: of a cache operation, in index probes."""
        total = self.probes + self.built + SCAN * self.scans + w * (self.kept + self.lookups)
        return total / self.n_arrivals

    @property
    def hit_prob(self) -> float:
        return self.hits / self.lookups if self.lookups else 0.0

    def without_index(self, input: int, step: int) -> Operations:
        """The same if that step had no index and looked at all tuples of its window."""
        _, _, scanned, pairs = self.steps[input, step].tolist()
        return Operations(**{**self.__dict__, "scans": self.scans - scanned + pairs})


def elements(arrivals: Arrivals) -> list[SignedElements]:
    """By input: each tuple with +, then with - the oldest where the window is full."""
    by_input = []
    for input, (size, width) in enumerate(zip(arrivals.sizes, arrivals.widths, strict=True)):
        places = np.flatnonzero(arrivals.streams == input)
        values, n = arrivals.values[places, :width], len(places)
        n_out = max(0, n - size)
        order = np.argsort(np.concatenate([2 * np.arange(n), 2 * np.arange(size, n) + 1]))
        come = np.concatenate([places, places[size:]])[order]
        signs = np.concatenate([np.ones(n, np.int8), -np.ones(n_out, np.int8)])[order]
        which = np.concatenate([np.arange(n), np.arange(n_out)])[order]
        by_input.append(SignedElements(come, signs, values[which]))
    return by_input


def windowed(work: JoinOp, widths: Sequence[int], bags: Sequence[int] = ()) -> NetworkPlan:
    """A join of row windows by itself. bags: inputs whose tuples leave in any order (results of
    other joins)."""
    inputs = []
    for input, width in enumerate(widths):
        fields = tuple(Attribute(f"a{k}", "bigint") for k in range(width))
        stream = StreamInput(f"S{input}", tuple(range(width)))
        inputs.append(PlannedOperator(f"s{input}", stream, (), fields, fifo=True))
        kind: WindowOp = WindowOp("partition" if input in bags else "rows", 1 << 40)
        inputs.append(PlannedOperator(f"w{input}", kind, (f"s{input}",), fields, input not in bags))
    windows = tuple(f"w{input}" for input in range(len(widths)))
    fields = tuple(field for window in inputs[1::2] for field in window.fields)
    join = PlannedOperator(JOIN, work, windows, fields)
    return NetworkPlan((*inputs, join), sharing=False)


def blocks_of(inputs: Sequence[SignedElements]) -> tuple[list[Block], int]:
    """What a join is given, and the place of the last arrival."""
    blocks = [
        Block(
            input.places,
            input.signs,
            tuple(Column64(np.ascontiguousarray(column)) for column in input.values.T),
        )
        for input in inputs
    ]
    return blocks, max((int(input.places[-1]) for input in inputs if len(input.places)), default=0)


class BenchJoin:
    """A join of row windows at work. bags: see ``windowed``."""

    def __init__(self, work: JoinOp, widths: Sequence[int], bags: Sequence[int] = ()) -> None:
        self.plan = windowed(work, widths, bags)
        self._regions = MemoryRegions()
        self.tune(JoinTuning())

    def tune(self, tuning: JoinTuning) -> None:
        """Executed in another way from now on; counts begin anew."""
        self.tuning, joins = tuning, {JOIN: tuning}
        plan = as_tuned(self.plan, joins)
        strings = Strings(self._regions.scope("strings"))
        around = Surroundings(plan, self._regions, strings, Clock(), tunings=joins)
        self.join = WindowJoin(plan.operator(JOIN), around)
        self.n_results = 0

    def run(self, inputs: Sequence[SignedElements]) -> Block:
        """Join some elements; the results."""
        results = self.join.run(*blocks_of(inputs))
        self.n_results += len(results)
        return results

    def profile(self) -> JoinProfile:
        """Since it was tuned last."""
        profile = self.join.profile()
        assert profile is not None
        return profile

    def operations(self, n_arrivals: int) -> Operations:
        """Since it was tuned last, over so many tuples."""
        profile = self.profile()
        caches = profile.caches.values()
        return Operations(
            n_arrivals,
            sum(pipeline.n_probes for pipeline in profile.pipelines),
            sum(pipeline.n_built for pipeline in profile.pipelines),
            sum(pipeline.n_scanned for pipeline in profile.pipelines),
            sum(cache.creates for cache in caches) + self._told_caches(),
            sum(cache.probes for cache in caches),
            sum(cache.hits for cache in caches),
            self.n_results,
            self.join.counts.copy(),
        )

    def _told_caches(self) -> int:
        """Deltas that passed the update of a cache, those it has no entry for included."""
        return sum(
            int(self.join.counts[input, update_step(spec), join_kernel.MATCHES])
            for spec in self.tuning.caches
            for input in update_windows(spec)
        )


def between(inputs: Sequence[SignedElements], begin: int, end: int) -> list[SignedElements]:
    """The elements that arrivals begin..end-1 bring."""
    parts = []
    for input in inputs:
        a, b = np.searchsorted(input.places, [begin, end])
        parts.append(SignedElements(input.places[a:b], input.signs[a:b], input.values[a:b]))
    return parts


def stretches(
    work: JoinOp, arrivals: Arrivals, tuning: JoinTuning, length: int
) -> list[Operations]:
    """A run under one tuning, stretch by stretch."""
    join, inputs, operations = BenchJoin(work, arrivals.widths), elements(arrivals), []
    for begin in range(0, len(arrivals.streams), length):
        join.tune(tuning)
        join.run(between(inputs, begin, begin + length))
        operations.append(join.operations(length))
    return operations


def forced(work: JoinOp, arrivals: Arrivals, tuning: JoinTuning) -> Operations:
    """A run under one tuning; what was done after ``WARM`` of the tuples."""
    join, inputs, n = BenchJoin(work, arrivals.widths), elements(arrivals), len(arrivals.streams)
    warm = int(WARM * n)
    join.tune(tuning)
    join.run(between(inputs, 0, warm))
    join.tune(tuning)
    join.run(between(inputs, warm, n))
    return join.operations(n - warm)
