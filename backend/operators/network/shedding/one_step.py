"""cals-m: the drop after which the accuracy of all coalesced tuples is highest. Card B3

The condition on valid time is not looked at, as the objectives of cals do not: reach does. Looks at
the best candidates of all runs for each drop. Accuracies are compared as fractions, so that equal
ones are equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from backend.operators.network.shedding.accuracy import AccuracyMetric
from backend.operators.network.shedding.candidates import ByRun
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.runs import RunIndex, ShedRun


class DropStep(NamedTuple):
    """A drop from an exact coalesced tuple of length ``base``, of which k pieces are kept and
    k_left are then. length: that is lost; kept: before it."""

    number: int
    base: int
    kept: int
    length: int
    k: int
    k_left: int

    @property
    def kind(self) -> tuple[int, int]:
        """How Σ min(1, k) and Σ max(1, k) change."""
        return min(1, self.k_left) - min(1, self.k), max(1, self.k_left) - max(1, self.k)

    @property
    def cost(self) -> tuple[float, int]:
        """Of drops of one kind the lowest is best: ρ⁻, ties to the oldest."""
        return self.length / self.base, self.number

    @property
    def divided_cost(self) -> tuple[float, int]:
        """What R3 loses, times the exact tuples; ties to the oldest."""
        now, then = max(1, self.k), max(1, self.k_left)
        lost = self.kept * then - (self.kept - self.length) * now
        return lost / (self.base * now * then), self.number


class OneStepBest(ByRun):
    """Under the metric in force."""

    def __init__(self, options: ShedOptions, memory: RunIndex, exact: RunIndex) -> None:
        super().__init__(memory, exact)
        self._metric = options.accuracy_metric

    def choose(self) -> int | None:
        self.dirty()
        kept, pieces = self._kept()
        steps = [
            DropStep(number, run.length, kept[run], loss.length, k, k + loss.pieces - 1)
            for run, k in pieces.items()
            for number, loss in self.tops(run)
        ]
        of_runs = [(run.length, kept[run], k) for run, k in pieces.items()]
        return best_step(steps, of_runs, self.base.n_runs, self._metric)

    def _kept(self) -> tuple[Counter[ShedRun], Counter[ShedRun]]:
        """By exact run: the length that is kept of it, and in how many pieces."""
        kept: Counter[ShedRun] = Counter()
        pieces: Counter[ShedRun] = Counter()
        for piece in self.memory.runs():
            run = self.base.run_of(piece.members[0].number)
            assert run is not None, "what is in memory is in the window"
            kept[run] += piece.length
            pieces[run] += 1
        return kept, pieces


def best_step(
    steps: Sequence[DropStep],
    runs: Sequence[tuple[int, int, int]],
    n_exact: int,
    metric: AccuracyMetric,
) -> int | None:
    """The number of the tuple to drop; None: there are no steps. runs: of exact runs of which
    something is kept the length, how much of it, and in how many pieces; n_exact: of all."""
    if not steps:
        return None
    if metric == "R3":
        return min(steps, key=lambda step: step.divided_cost).number
    best: dict[tuple[int, int], DropStep] = {}
    for step in sorted(steps, key=lambda step: step.cost):
        best.setdefault(step.kind, step)
    if len(best) == 1:
        return next(iter(best.values())).number
    by_base: Counter[int] = Counter()
    for length, kept, _ in runs:
        by_base[length] += kept
    reduction = sum((Fraction(kept, length) for length, kept in by_base.items()), Fraction())
    n_pieces = sum(k for _, _, k in runs) + n_exact - len(runs)

    def accuracy(step: DropStep) -> tuple[Fraction, int]:
        surviving, n_more = step.kind
        value = reduction - Fraction(step.length, step.base)
        value /= n_pieces + n_more
        if metric == "R2":
            value *= len(runs) + surviving
        return value, -step.number

    return max(best.values(), key=accuracy).number
