"""The plan log written out: everything is kept, everything is looked at.

Slow twin of `backend/adaptive/planlog/log.py` and what it stands on. An evaluation is
(number, S, plan).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from statistics import mean

Vector = Sequence[float]
SlowEvaluation = tuple[int, tuple[float, ...], str]


def usual_moves(history: Sequence[Vector], clipped_at: float, memory: int) -> list[float]:
    """Per statistic: the running mean of |move|, each at most ``clipped_at`` times what it was."""
    moves = []
    for column in zip(*history, strict=True):
        usual, n, largest = 0.0, 0, abs(column[0])
        for before, after in itertools.pairwise(column):
            largest = max(largest, abs(after))
            least = max(usual, 0.01 * largest, 1e-12)
            move = abs(after - before)
            n = min(n + 1, memory)
            usual += ((move if n == 1 else min(move, clipped_at * least)) - usual) / n
        moves.append(max(usual, 0.01 * largest, 1e-12))
    return moves


def apart(one: Vector, other: Vector, scale: Vector) -> float:
    """The largest difference, in usual moves."""
    return max((abs(a - b) / s for a, b, s in zip(one, other, scale, strict=True)), default=0.0)


class SlowLog:
    """Keeps all evaluations of each region, and picks the sample when asked."""

    def __init__(self, limit: float, per_region: int, hashed: Callable[[int], int]) -> None:
        self.limit, self.per_region, self.hashed = limit, per_region, hashed
        self.history: list[SlowEvaluation] = []
        self.regions: list[tuple[str, list[SlowEvaluation]]] = []

    def scale(self) -> list[float]:
        """As of now."""
        return usual_moves([s for _, s, _ in self.history], 3.0, 200)

    def centre(self, members: list[SlowEvaluation]) -> list[float]:
        """Running mean that forgets after 32."""
        centre = list(members[0][1])
        for n, (_, s, _) in enumerate(members, start=1):
            centre = [c + (x - c) / min(n, 32) for c, x in zip(centre, s, strict=True)]
        return centre

    def evaluated(self, statistics: tuple[float, ...], plan: str) -> None:
        """One more."""
        new = (len(self.history) + 1, statistics, plan)
        self.history.append(new)
        scale = self.scale()
        near = [
            (apart(self.centre(members), statistics, scale), place)
            for place, (own, members) in enumerate(self.regions)
            if own == plan
        ]
        if near and min(near)[0] <= self.limit:
            self.regions[min(near)[1]][1].append(new)
        else:
            self.regions.append((plan, [new]))

    def kept(self, members: list[SlowEvaluation]) -> list[SlowEvaluation]:
        """Those with the lowest hashes."""
        return sorted(members, key=lambda each: self.hashed(each[0]))[: self.per_region]

    def known(self, statistics: Vector, k: int) -> dict[str, tuple[float, int]]:
        """Plan -> least distance and votes, among the k nearest within the limit."""
        scale = self.scale()
        rows = [each for _, members in self.regions for each in self.kept(members)]
        nearest = sorted(rows, key=lambda each: apart(each[1], statistics, scale))[:k]
        votes: dict[str, list[float]] = {}
        for _, s, plan in nearest:
            if apart(s, statistics, scale) <= self.limit:
                votes.setdefault(plan, []).append(apart(s, statistics, scale))
        return {plan: (min(each), len(each)) for plan, each in votes.items()}


def mean_cost(batches: Sequence[tuple[int, float]]) -> float | None:
    """Cost a tuple of (tuples, cost) batches."""
    n = sum(tuples for tuples, _ in batches)
    return mean([sum(cost for _, cost in batches) / n]) if n else None
