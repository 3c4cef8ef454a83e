"""Runs of shedding over streams in which values repeat: accuracy by algorithm and condition.

Card B5. Everything is a mean over data sets, and kept as long as the process lives, since figures
are cuts through the same sweep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

import numpy as np

from backend.operators.network.shedding.accuracy import (
    AccuracyMetric,
    AccuracyParts,
    accuracy_parts,
)
from backend.operators.network.shedding.options import RhoBasis, ShedAlgorithm, ShedOptions
from backend.operators.network.shedding.shedding import SheddingWindow
from backend.operators.network.shedding.slides import WindowExtent
from backend.operators.network.shedding.temporal import (
    AnswerShape,
    TemporalTuple,
    ValidCondition,
    coalesced,
)
from bench.experiments.cals_data import mean_run, repeating

WINDOW: Final = 1000
DATA_SETS: Final = 10
REPEATS: Final = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95)
RATIOS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
#: Of the mean run.
THRESHOLDS: Final = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
METRICS: Final[tuple[AccuracyMetric, ...]] = ("R1", "R2", "R3")
#: Windows of a sliding run, and its slides in each.
_WINDOWS, _SLIDES = 3, 10


class ShedVariant(NamedTuple):
    """An algorithm under a basis of ρ⁻, which only some ask for."""

    algorithm: ShedAlgorithm
    basis: RhoBasis = "exact"

    @property
    def name(self) -> str:
        """As legends have it."""
        return f"{self.algorithm} (memory)" if self.basis == "memory" else self.algorithm


CALS: Final = ShedVariant("cals")
CALS_MEMORY: Final = ShedVariant("cals", "memory")
CALS_V: Final = ShedVariant("cals-v")
CALS_I: Final = ShedVariant("cals-i")
CALS_I_MEMORY: Final = ShedVariant("cals-i", "memory")
RAND: Final = ShedVariant("rand")
OLDEST: Final = ShedVariant("oldest")
REACH: Final = ShedVariant("reach")
VARIANTS: Final = (CALS, CALS_MEMORY, CALS_V, CALS_I, CALS_I_MEMORY, RAND, OLDEST, REACH)


class ShedCell(NamedTuple):
    """One point of a sweep. threshold: least length in the answer, in mean runs; is_sliding: the
    mean over a window that slides, else once at the end of one window."""

    repeat_prob: float
    ratio: float
    threshold: float = 0.0
    is_sliding: bool = False

    @property
    def condition(self) -> ValidCondition:
        """On the lengths in the answer."""
        return ValidCondition(round(self.threshold * mean_run(self.repeat_prob)))


class ShedSizes(NamedTuple):
    """How much is run. scale: share of the window; repeats: data sets, seeds from ``seed`` on."""

    scale: float = 1.0
    seed: int = 1
    repeats: int = DATA_SETS

    @property
    def window(self) -> int:
        """Tuples."""
        return max(10, round(self.scale * WINDOW))

    def setup(self, *more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
        """Conditions all figures have."""
        return (
            ("window", f"{self.window:,} tuples"),
            ("data sets", f"{self.repeats}, seeds from {self.seed} on; numbers are means"),
            ("valid times", "contiguous, lengths of 1 to 10, ten values"),
            *more,
        )


class CellAccuracy(NamedTuple):
    """Mean accuracy under each metric; gap: |expected - measured| (R1), mean over measurements."""

    R1: float
    R2: float
    R3: float
    gap: float

    def of(self, metric: AccuracyMetric) -> float:
        """Under one metric."""
        return {"R1": self.R1, "R2": self.R2, "R3": self.R3}[metric]


@cache
def accuracy(sizes: ShedSizes, variant: ShedVariant, cell: ShedCell) -> CellAccuracy:
    """The mean over the data sets."""
    rows = []
    for k in range(sizes.repeats):
        rng = np.random.default_rng([sizes.seed + k, round(100 * cell.repeat_prob)])
        length = sizes.window * (_WINDOWS if cell.is_sliding else 1)
        stream = repeating(length, cell.repeat_prob, rng)
        measured = list(_measured(sizes.window, variant, cell, stream))
        rows.append([*np.mean([_numbers(parts, expected) for parts, expected in measured], axis=0)])
    return CellAccuracy(*map(float, np.mean(rows, axis=0)))


def _numbers(parts: AccuracyParts, expected: float) -> list[float]:
    values = [parts.accuracy(metric) for metric in METRICS]
    return [*values, abs(expected - values[0])]


def _measured(
    size: int, variant: ShedVariant, cell: ShedCell, stream: Sequence[TemporalTuple]
) -> Iterator[tuple[AccuracyParts, float]]:
    window = shed_window(size, variant, cell)
    every = max(1, size // _SLIDES) if cell.is_sliding else size
    for new in stream:
        window.arrive(new)
        if new.number >= size and new.number % every == 0:
            exact = coalesced(stream[new.number - size : new.number])
            kept = [run.span for run in window.memory.runs()]
            yield accuracy_parts(exact, kept, cell.condition), window.expected_accuracy


def shed_window(size: int, variant: ShedVariant, cell: ShedCell) -> SheddingWindow:
    """As it is before the first tuple."""
    options = ShedOptions(
        variant.algorithm, max(1, round(cell.ratio * size)), variant.basis, audit="exact"
    )
    answer = AnswerShape(lengths=cell.condition)
    return SheddingWindow(options, WindowExtent("rows", size), answer)
