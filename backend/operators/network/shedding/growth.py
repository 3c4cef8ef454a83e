"""What drops cost once their run has grown into the answer. Card B3

A tuple that is dropped while its exact run is too short for a condition on lengths costs nothing
yet, and part of that run once it has grown. Were only drops charged, a query for long runs would be
expected to be right where it lost all of them.
"""

from __future__ import annotations

from typing import NamedTuple

from backend.operators.network.shedding.receipts import ChargeSums
from backend.operators.network.shedding.runs import RunIndex, ShedRun
from backend.operators.network.shedding.temporal import AnswerShape, TemporalTuple


class AnsweredRuns(NamedTuple):
    """What is answered of some exact runs: how many of them, how many of their pieces in memory,
    and what of them is missing."""

    n_exact: int = 0
    n_pieces: int = 0
    missing: ChargeSums = ChargeSums()

    def plus(self, more: AnsweredRuns) -> AnsweredRuns:
        """Both together."""
        n_exact, n_pieces = self.n_exact + more.n_exact, self.n_pieces + more.n_pieces
        return AnsweredRuns(n_exact, n_pieces, self.missing.plus(more.missing))


def answered_near(
    new: TemporalTuple, exact: RunIndex, memory: RunIndex, answer: AnswerShape
) -> AnsweredRuns:
    """Of the exact runs that a tuple lies in or touches."""
    total = AnsweredRuns()
    for run in exact.within(new.values, new.start, new.end):
        total = total.plus(_answered_of(run, memory, answer))
    return total


def _answered_of(run: ShedRun, memory: RunIndex, answer: AnswerShape) -> AnsweredRuns:
    if not answer.takes(run.span):
        return AnsweredRuns()
    near = memory.within(run.values, run.start, run.end)
    lengths = [piece.length for piece in near if answer.takes(piece.span)]
    n = len(lengths)
    missing = 1 - sum(lengths) / run.length
    return AnsweredRuns(1, n, ChargeSums(0, missing, max(1, n) - 1, int(not n)))
