"""How a window that keeps some of its tuples is to be executed, and what it tells of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.key_groups import N_GROUPS
from backend.operators.network.core.regions import Regions
from backend.operators.network.core.tuning import Limit
from backend.operators.network.core.work import OperatorWork
from backend.operators.network.kinds.retention import RetainedOp
from backend.operators.network.kinds.windows import WindowOp


@dataclass(frozen=True, slots=True)
class RetainTuning(Limit):
    """place: of the column with the key; as_float: as KeyGroups has it; n_dropped: key groups whose
    tuples go, the first of N_GROUPS; tells_sizes: how many tuples each group has is told."""

    place: int
    as_float: bool = False
    n_dropped: int = 0
    tells_sizes: bool = False

    def planned(self, work: OperatorWork) -> RetainedOp:
        """The window, as one that may drop tuples. Raises TypeError: it is none."""
        if not isinstance(work, WindowOp):
            raise TypeError(f"{type(work).__name__} is no window")
        return RetainedOp(work.kind, work.size, work.slide, work.by, self.place)


@dataclass(frozen=True, slots=True, eq=False)
class RetainProfile:
    """What a window did in a batch. n_arrived, n_refused: tuples that came, and those of them that
    were not kept; n_taken: tuples that had been kept and went before their time. n_missing: the
    most key groups that were dropped while a tuple of the window was there. sizes:
    int64[N_GROUPS], tuples in the window by key group; empty where that is not told."""

    n_arrived: int = 0
    n_refused: int = 0
    n_taken: int = 0
    n_missing: int = 0
    sizes: Ints = field(default_factory=lambda: np.zeros(0, np.int64))

    def merged(self, others: Sequence[RetainProfile]) -> RetainProfile:
        """With those of other shards."""
        every = [self, *others]
        return RetainProfile(
            sum(profile.n_arrived for profile in every),
            sum(profile.n_refused for profile in every),
            sum(profile.n_taken for profile in every),
            max(profile.n_missing for profile in every),
            sum((profile.sizes for profile in every), np.zeros_like(self.sizes)),
        )


class Retained:
    """Which key groups a window lacks, in its regions. now: that are dropped; most: the most that
    were while a tuple of it was there; since: tuples before this number may have come when more
    were dropped than now."""

    def __init__(self, regions: Regions) -> None:
        self._facts = regions.array("retained", "int64", 3)

    @classmethod
    def of(cls, surroundings: Surroundings, window: str) -> Retained:
        """Those of an operator."""
        return cls(surroundings.regions.scope(window))

    @property
    def now(self) -> int:
        return int(self._facts[0])

    @property
    def most(self) -> int:
        return int(self._facts[1])

    def drop(self, n_dropped: int, hi: int) -> None:
        """Others are dropped, or more or fewer of them. hi: the number of the next tuple."""
        now, most, _ = self._facts.tolist()
        most = max(now, most, n_dropped)
        self._facts[:] = n_dropped, most, 0 if most == n_dropped else hi

    def settle(self, lo: int) -> None:
        """The oldest tuple has this number."""
        now, _, since = self._facts.tolist()
        if since <= lo:
            self._facts[:] = now, now, 0


def share_of(n_dropped: int) -> float:
    """Of all keys, that is kept."""
    return 1 - n_dropped / N_GROUPS
