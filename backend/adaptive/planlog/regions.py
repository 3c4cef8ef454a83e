"""Regions of statistics space in which a plan was chosen, each with a sample of its evaluations."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.planlog.records import LogJson, PlanEvaluation

#: The centre of a region follows its last so many evaluations.
_FOLLOWED: Final = 32
_MASK: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class KnownPlan:
    """A plan that was chosen near some statistics. digest: of it; plan: as it was logged. distance:
    of the nearest such evaluation, in usual moves; votes: how many of the nearest chose it."""

    digest: str
    plan: LogJson
    distance: float
    votes: int


class PlanRegion:
    """A plan and a place in statistics space where it was chosen.

    n: evaluations so far; last: number of the latest. The kept ones are a uniform sample: those
    with the lowest hashes of their numbers.
    """

    def __init__(self, id: int, plan: str, centre: Sequence[float]) -> None:
        self.id, self.plan = id, plan
        self.centre = np.array(centre, dtype=np.float64)
        self.n = self.last = 0
        self._kept: list[tuple[int, PlanEvaluation]] = []
        self._rows: NDArray[np.float64] | None = None

    @property
    def kept(self) -> list[PlanEvaluation]:
        """The sample, in no order of time."""
        return [evaluation for _, evaluation in self._kept]

    @property
    def rows(self) -> NDArray[np.float64]:
        """float64[kept, n]: statistics of the sample."""
        if self._rows is None:
            self._rows = np.array([each.statistics for _, each in self._kept], dtype=np.float64)
        return self._rows

    def add(self, evaluation: PlanEvaluation, size: int, seed: int) -> None:
        """One more; of more than ``size`` those with the highest hashes go."""
        self.n += 1
        self.last = evaluation.number
        self.centre += (np.array(evaluation.statistics) - self.centre) / min(self.n, _FOLLOWED)
        self.keep([evaluation], size, seed)

    def keep(self, evaluations: Iterable[PlanEvaluation], size: int, seed: int) -> None:
        """Put into the sample, without counting."""
        for evaluation in evaluations:
            priority = hash_of_number(evaluation.number, seed)
            insort(self._kept, (priority, evaluation), key=lambda pair: pair[0])
        del self._kept[size:]
        self._rows = None

    def complete(self, evaluation: PlanEvaluation) -> None:
        """An evaluation has run its course: its measured cost is known now."""
        for place, (priority, kept) in enumerate(self._kept):
            if kept.number == evaluation.number:
                self._kept[place] = (priority, evaluation)


def hash_of_number(number: int, seed: int) -> int:
    """64 bits that look random, of the number of an evaluation. Splitmix64 (Steele, Lea, Flood,
    OOPSLA 2014)."""
    mixed = (number + seed * 0x632BE59BD9B4E019) * 0x9E3779B97F4A7C15 & _MASK
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _MASK
    return mixed ^ mixed >> 31


def nearest_plans(
    distance: NDArray[np.float64], digests: Sequence[str], limit: float, k: int
) -> list[tuple[str, float, int]]:
    """Digest, least distance and votes of the plans of the k nearest evaluations within ``limit``.

    distance: float64[R], of each evaluation; digests: its plan. Most votes first, then the nearer;
    ties keep the order of the evaluations. Nothing beyond the limit is known.
    """
    order = np.argsort(distance, kind="stable")[:k]
    plans: dict[str, tuple[float, int]] = {}
    for place in order:
        if distance[place] > limit:
            break
        least, votes = plans.get(digests[place], (float(distance[place]), 0))
        plans[digests[place]] = least, votes + 1
    ranked = sorted(plans.items(), key=lambda item: (-item[1][1], item[1][0]))
    return [(digest, least, votes) for digest, (least, votes) in ranked]
