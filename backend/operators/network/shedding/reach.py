"""reach: shedding that knows the condition on valid time. Card B7; ours

A run that can no longer meet the condition is worth nothing and goes first. Of the others goes what
loses least for each tuple: an end, as long as the rest meets the condition; else all of the run,
since the rest is worth nothing then. So runs just above the threshold are kept whole or not at all.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.runs import RunChange, RunIndex, ShedRun
from backend.operators.network.shedding.scored import Scored, ScoredCandidates
from backend.operators.network.shedding.temporal import TemporalTuple, ValidCondition

#: Score of candidates in runs that are worth nothing.
_WORTHLESS: Final = -1.0


class ReachCandidates(ScoredCandidates):
    """Scores are what is lost of the answer for each tuple that goes. exact: runs of the whole
    window; None: runs are measured against themselves."""

    def __init__(
        self,
        options: ShedOptions,
        condition: ValidCondition,
        memory: RunIndex,
        exact: RunIndex | None,
    ) -> None:
        super().__init__(options, memory, memory)
        self._condition, self._exact = condition, exact
        self._newest: int | None = None
        self._held: set[int] = set()
        #: Runs that may grow, by their ends; the end each was last seen with.
        self._open: list[tuple[int, int, ShedRun]] = []
        self._end_of: dict[ShedRun, int] = {}
        self._n_opened = 0

    def came(self, new: TemporalTuple) -> None:
        self._held.add(new.number)

    def reached(self, start: int) -> None:
        self._newest = start
        while self._open and self._open[0][0] < self._newest:
            end, _, run = heappop(self._open)
            if self._end_of.get(run) == end:
                del self._end_of[run]
                self.mark([run])

    def freed(self, number: int) -> None:
        self._held.discard(number)
        super().freed(number)

    def went(self, number: int) -> None:
        self._held.discard(number)
        super().went(number)

    def changed(self, memory: RunChange | None, exact: RunChange | None) -> None:
        super().changed(memory, exact)
        for run in exact.runs if exact is not None else []:
            self.mark(self.memory.within(run.values, run.start, run.end))

    def best(self, run: ShedRun) -> Scored | None:
        tops = self.tops(run)
        if not tops:
            return None
        number, loss = min(tops, key=lambda top: (top[1].delta, top[1].length, top[0]))
        exact = self._exact_length(run)
        if self._is_worthless(run, exact):
            return _WORTHLESS, number
        missing = max(0, self._condition.least - run.length)
        whole = run.length / ((exact + missing) * len(run.members))
        if loss.delta or not self._condition.holds(run.length - loss.length):
            return whole, number
        return min(loss.length / exact, whole), number

    def _is_worthless(self, run: ShedRun, exact: int) -> bool:
        """Whether it is not in the answer and cannot come into it, or is but should not."""
        most, newest = self._condition.most, self._newest
        if most is not None and exact > most:
            return True
        if newest is None or run.end >= newest:
            self._watch(run)
            return False
        is_growing = any(self.base.run_of(number) is run for number in self._held)
        return run.length < self._condition.least and not is_growing

    def _watch(self, run: ShedRun) -> None:
        """Look at it again once no tuple can lengthen it any more."""
        if self._end_of.get(run) != run.end:
            self._n_opened += 1
            self._end_of[run] = run.end
            heappush(self._open, (run.end, self._n_opened, run))

    def _exact_length(self, run: ShedRun) -> int:
        exact = None if self._exact is None else self._exact.run_of(run.members[0].number)
        return run.length if exact is None else exact.length
