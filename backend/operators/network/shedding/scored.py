"""cals, cals-v and cals-i: the lowest score of what a tuple's loss does. Card B3"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, TypeAlias

from backend.operators.network.shedding.candidates import ByRun
from backend.operators.network.shedding.losses import TupleLoss
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.runs import RunIndex, ShedRun

#: Score, and the number of the tuple, the lower (older) of equal scores first.
Scored: TypeAlias = tuple[float, int]
_SLACK: Final = 64


def score(options: ShedOptions, loss: TupleLoss, base: int) -> float:
    """What is minimised: w δ⁺ + ρ⁻ (cals), δ⁺ (cals-v), ρ⁻ (cals-i).

    base: length that ρ⁻ is a share of. One division of whole numbers, so that equal scores of cals
    are equal as floats whatever the lengths.
    """
    if options.shed_algorithm == "cals-v":
        return float(loss.delta)
    weight = options.delta_weight if options.shed_algorithm == "cals" else 0.0
    delta = loss.delta * (int(weight) if weight.is_integer() else weight)
    return (delta * base + loss.length) / base


class ScoredCandidates(ByRun):
    """The best candidate of each run, as published last, on one heap."""

    def __init__(self, options: ShedOptions, memory: RunIndex, base: RunIndex) -> None:
        super().__init__(memory, base)
        self._options = options
        self._published: dict[ShedRun, Scored] = {}
        self._heap: list[tuple[float, int, int, ShedRun]] = []
        self._n_pushed = 0

    @property
    def n_entries(self) -> int:
        return super().n_entries + len(self._heap)

    def key(self, loss: TupleLoss) -> int:
        return 0 if self._options.shed_algorithm == "cals-v" else loss.length

    def best(self, run: ShedRun) -> Scored | None:
        """The candidate of a run, unless it has none."""
        scored = (
            (score(self._options, loss, run.length), number) for number, loss in self.tops(run)
        )
        return min(scored, default=None)

    def choose(self) -> int | None:
        for run in self.dirty():
            self._publish(run)
        while self._heap:
            value, number, _, run = self._heap[0]
            if self._published.get(run) == (value, number):
                return number
            heappop(self._heap)
            self.n_looked += 1
        return None

    def _publish(self, run: ShedRun) -> None:
        best = self.best(run)
        if best is None:
            self._published.pop(run, None)
            return
        if best == self._published.get(run):
            return
        self._published[run] = best
        self._push_run(run)
        if len(self._heap) > 2 * len(self._published) + _SLACK:
            self._heap = []
            for each in self._published:
                self._push_run(each)

    def _push_run(self, run: ShedRun) -> None:
        self._n_pushed += 1
        self.n_looked += 1
        heappush(self._heap, (*self._published[run], self._n_pushed, run))
