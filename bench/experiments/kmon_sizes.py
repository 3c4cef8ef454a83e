"""How large the experiments on k-constraints are, and means over their seeds. [B05] §6.5"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from backend.operators.network.kmon.tuning import (
    ConstraintId,
    ConstraintTuning,
    KMonTuning,
    Loss,
)
from backend.workloads.adhering import ArrivingTuples, Floats
from bench.experiments.kmon_running import BenchQuery, StretchOutcome, kmon_run

#: Tuples of a window, and of a run, in the text.
WINDOW: Final = 50_000
RUN: Final = 600_000
#: Stretches of a run: points of a curve.
POINTS: Final = 120
#: k of Fig. 6.10 to 6.16.
ADHERENCES: Final = (0, 5_000, 10_000, 20_000)

Traced = Callable[[np.random.Generator], ArrivingTuples]
#: Of a trace: constraint -> the k that holds.
Declared = Callable[[ArrivingTuples], Mapping[ConstraintId, int]]


class KMonSizes(NamedTuple):
    """How much is run. scale: share of the text's windows, tuples and k; repeats: seeds from
    ``seed`` on."""

    scale: float = 1.0
    seed: int = 1
    repeats: int = 3

    def tuples(self, full: float) -> int:
        """So many of the text are so many here."""
        return max(1, round(self.scale * full))

    @property
    def window(self) -> int:
        """Tuples."""
        return self.tuples(WINDOW)

    @property
    def run(self) -> int:
        """Tuples of all streams."""
        return self.tuples(RUN)

    @property
    def adherences(self) -> tuple[int, ...]:
        """k."""
        return tuple(round(self.scale * k) for k in ADHERENCES)

    def generators(self) -> list[np.random.Generator]:
        """One for each seed."""
        return [np.random.default_rng(self.seed + k) for k in range(self.repeats)]

    def setup(self, *more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
        """Conditions all figures have."""
        return (
            ("windows", f"{self.window:,} tuples, {self.scale:g} of the text's"),
            ("seeds", f"{self.repeats} from {self.seed} on; numbers are means"),
            *more,
        )


class MemoryCurve(NamedTuple):
    """Means over the seeds, at the end of each stretch. arrivals: tuples that had come; held:
    tuples in memory, plain: in the windows of SWJ; n_bytes, plain_bytes: of both, a tuple of SWJ
    taking as much as one here. results: in all, of each seed."""

    arrivals: Floats
    held: Floats
    plain: Floats
    n_bytes: Floats
    plain_bytes: Floats
    results: tuple[int, ...]

    def level(self, of: Floats) -> float:
        """Of the last third."""
        return float(np.mean(of[-len(of) // 3 :]))

    @property
    def held_level(self) -> float:
        """Tuples in memory in the last third."""
        return self.level(self.held)

    @property
    def ratio(self) -> float:
        """Tuples in memory over those of SWJ, in the last third."""
        return self.held_level / self.level(self.plain)


def declared(constraints: Mapping[ConstraintId, int], loss: Loss = "budget") -> KMonTuning:
    """k is known; what is not needed is gone."""
    known = tuple(ConstraintTuning(id, declared=k) for id, k in constraints.items())
    return KMonTuning(constraints=known, loss=loss)


def memory(
    sizes: KMonSizes, query: BenchQuery, traced: Traced, constraints: Declared | None
) -> MemoryCurve:
    """Memory over time under constraints whose k is known; None: without any."""
    runs = []
    for rng in sizes.generators():
        trace = traced(rng)
        tuning = KMonTuning() if constraints is None else declared(constraints(trace))
        runs.append(kmon_run(query, trace, tuning, max(1, len(trace.streams) // POINTS)))
    return curve(runs)


def curve(runs: Sequence[Sequence[StretchOutcome]]) -> MemoryCurve:
    """The mean of runs of equal length."""
    n = min(map(len, runs))
    arrivals, held, plain, n_bytes, plain_bytes = (
        np.mean([[read(stretch) for stretch in run[:n]] for run in runs], axis=0) for read in _READ
    )
    results = tuple(sum(stretch.profile.n_results for stretch in run) for run in runs)
    return MemoryCurve(arrivals, held, plain, n_bytes, plain_bytes, results)


_READ: Final[tuple[Callable[[StretchOutcome], float], ...]] = (
    lambda stretch: stretch.n_arrivals,
    lambda stretch: stretch.held,
    lambda stretch: stretch.plain,
    lambda stretch: stretch.n_bytes,
    lambda stretch: stretch.plain_bytes,
)


def at(arrivals: Floats, values: Floats, moment: float) -> float:
    """A curve at a moment."""
    return float(np.interp(moment, arrivals, values))


def numbers(values: Iterable[float]) -> str:
    """Whole numbers with commas between."""
    return "; ".join(f"{value:,.0f}" for value in values)
