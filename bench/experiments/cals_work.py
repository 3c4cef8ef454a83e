"""s8: what an arrival costs and what is kept, counted. Card B3, B5"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from backend.operators.network.shedding.scored import ScoredCandidates
from bench.experiments.cals_data import repeating
from bench.experiments.cals_figures import MIDDLE_RATIO, MIDDLE_REPEAT, SLIDING
from bench.experiments.cals_running import (
    CALS,
    CALS_I,
    CALS_MEMORY,
    ShedCell,
    ShedSizes,
    ShedVariant,
    accuracy,
    shed_window,
)
from bench.experiments.results import FigureResult, PaperClaim, Plot, Series, verdict

#: Windows, of the size of the other figures.
_FACTORS: Final = (0.25, 0.5, 1.0, 2.0, 4.0)
#: Expected and measured accuracy are no further apart, on average.
_CLOSE: Final = 0.02


class ShedWork(NamedTuple):
    """entries: put on heaps and taken from them for each arrival; kept: on heaps at the end, for
    each tuple in memory (base exact: in the window)."""

    memory: int
    entries: float
    kept: float


def work(variant: ShedVariant, size: int, seed: int) -> ShedWork:
    """Of two windows that slide with every arrival."""
    rng = np.random.default_rng(seed)
    window = shed_window(size, variant, ShedCell(MIDDLE_REPEAT, MIDDLE_RATIO))
    for new in repeating(2 * size, MIDDLE_REPEAT, rng):
        window.arrive(new)
    candidates = window.candidates
    assert isinstance(candidates, ScoredCandidates)
    n = len(window.memory)
    base = size if variant.basis == "exact" else n
    return ShedWork(n, candidates.n_looked / (2 * size), candidates.n_entries / base)


def s8(sizes: ShedSizes) -> FigureResult:
    """Work and space by memory; and how near expected losses are to measured ones."""
    by_variant = {
        variant: [work(variant, round(factor * sizes.window), sizes.seed) for factor in _FACTORS]
        for variant in (CALS, CALS_MEMORY, CALS_I)
    }
    ends = [(points[0], points[-1]) for points in by_variant.values()]
    powers = [
        math.log(last.entries / first.entries) / math.log(last.memory / first.memory)
        for first, last in ends
    ]
    kept = [point.kept for points in by_variant.values() for point in points]
    gaps = [accuracy(sizes, CALS, cell).gap for cell in SLIDING]
    claims = (
        PaperClaim(
            "Work for an arrival is at most quadratic in |M|",
            verdict([power <= 2 for power in powers]),
            "; ".join(_told(variant, points) for variant, points in by_variant.items())
            + f"; it grows with |M| to the power of {max(powers):.2f} at most",
        ),
        PaperClaim(
            "Space is linear in |M| (base exact: in the window)",
            verdict([most <= 4 for most in kept]),
            f"entries on heaps for each tuple: {min(kept):.2f} to {max(kept):.2f}",
        ),
        PaperClaim(
            f"Ours: expected and measured accuracy differ by {_CLOSE:g} at most on average",
            verdict([gap <= _CLOSE for gap in gaps]),
            f"sliding windows, means by cell: {min(gaps):.3f} to {max(gaps):.3f}",
        ),
    )
    lines = tuple(
        Series(v.name, tuple(float(p.memory) for p in points), tuple(p.entries for p in points))
        for v, points in by_variant.items()
    )
    plot = Plot("Heap entries for each arrival", "|M|", "entries", "lines", lines, log_x=True)
    return FigureResult("s8", "s8: work and space", sizes.setup(), (plot,), claims)


def _told(variant: ShedVariant, points: list[ShedWork]) -> str:
    numbers = " ".join(f"{point.entries:.1f}" for point in points)
    return f"{variant.name} {numbers} entries at |M| = {', '.join(str(p.memory) for p in points)}"
