"""How a window that keeps some of its tuples is to be executed, and what it tells of that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from backend.operators.network.core.blocks import FOREVER, Ints
from backend.operators.network.core.contract import Surroundings
from backend.operators.network.core.key_groups import N_GROUPS
from backend.operators.network.core.regions import Regions
from backend.operators.network.core.tuning import Limit
from backend.operators.network.core.work import OperatorWork
from backend.operators.network.kinds.retention import RetainedOp
from backend.operators.network.kinds.windows import WindowOp


@dataclass(frozen=True, slots=True)
class RetainTuning(Limit):
    """place: of the column with the key; as_float: as KeyGroups has it; n_dropped: groups whose
    tuples go, the first of N_GROUPS; by_number: these are of the tuples' numbers, not of their
    keys. cuts: int64[N_GROUPS] in bytes, of each key group the first tuple that is kept, by its
    tick or, of rows, its number; b'': all. counts: tuples by group are counted and told."""

    place: int
    as_float: bool = False
    n_dropped: int = 0
    by_number: bool = False
    cuts: bytes = b""
    counts: bool = False

    def planned(self, work: OperatorWork) -> RetainedOp:
        """The window, as one that may drop tuples. Raises TypeError: it is none."""
        if not isinstance(work, WindowOp):
            raise TypeError(f"{type(work).__name__} is no window")
        return RetainedOp(work.kind, work.size, work.slide, work.by, work.tick_us, self.place)


def _nothing() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class RetainProfile:
    """What a window did in a batch. n_arrived, n_refused: tuples that came, and those of them that
    were not kept; n_taken: tuples that had been kept and went before their time. n_missing: the
    most groups that were dropped while a tuple of the window was there; lacks: others were not kept
    of that time, too. last: the tick it is at, or of rows the number. Where they are told, empty
    elsewhere, int64[N_GROUPS]: sizes, tuples in the window by group; whole, those it would hold if
    it kept all, by key group."""

    n_arrived: int = 0
    n_refused: int = 0
    n_taken: int = 0
    n_missing: int = 0
    lacks: bool = False
    last: int = 0
    sizes: Ints = field(default_factory=_nothing)
    whole: Ints = field(default_factory=_nothing)

    @property
    def accuracy(self) -> float | None:
        """Known where it lacks nothing: how much of a join goes with tuples, the join says."""
        return None if self.n_missing or self.lacks else 1.0

    def merged(self, others: Sequence[RetainProfile]) -> RetainProfile:
        """With those of other shards."""
        every = [self, *others]
        return RetainProfile(
            n_arrived=sum(profile.n_arrived for profile in every),
            n_refused=sum(profile.n_refused for profile in every),
            n_taken=sum(profile.n_taken for profile in every),
            n_missing=max(profile.n_missing for profile in every),
            lacks=any(profile.lacks for profile in every),
            last=max(profile.last for profile in every),
            sizes=sum((profile.sizes for profile in every), np.zeros_like(self.sizes)),
            whole=sum((profile.whole for profile in every), np.zeros_like(self.whole)),
        )


class Retained:
    """What a window lacks, in its regions. now: groups that are dropped; most: the most that were
    while a tuple of it was there. cuts: as RetainTuning has them."""

    # Facts 2 and 3: tuples before these numbers may have come when more groups were dropped than
    # now, and when others were not kept. 4: groups are of numbers.
    def __init__(self, regions: Regions) -> None:
        self._facts = regions.array("retained", "int64", 5)
        self.cuts: Ints = regions.array("cuts", "int64", N_GROUPS)

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

    @property
    def lacks(self) -> bool:
        """Whether others were not kept than those of groups that count as dropped."""
        return bool(self._facts[3])

    @property
    def by_number(self) -> bool:
        """Whether its groups are of the tuples' numbers."""
        return bool(self._facts[4])

    def is_sample(self, tuning: RetainTuning) -> bool:
        """Whether what it lacks under a tuning is what groups say, of numbers those of now."""
        is_other = tuning.by_number != self.by_number and self.most > 0
        is_older = tuning.by_number and self.most > tuning.n_dropped
        return not (tuning.cuts or self.lacks or is_other or is_older)

    def turn(self, n_dropped: int, by_number: bool, cuts: Ints, hi: int) -> None:
        """Others are dropped, or more or fewer of them. hi: the number of the next tuple."""
        if by_number != self.by_number:
            if self.most:
                self._facts[3] = hi
            self._facts[:3], self._facts[4] = 0, by_number
        most = max(self.now, self.most, n_dropped)
        self._facts[:3] = n_dropped, most, 0 if most == n_dropped else hi
        if (cuts > self.cuts).any():
            self._facts[3] = hi
        self.cuts[:] = cuts

    def settle(self, lo: int, hi: int) -> None:
        """The oldest tuple has the number ``lo``."""
        now, _, since, lacking, _ = self._facts.tolist()
        if since <= lo:
            self._facts[:3] = now, now, 0
        if self.cuts.max() == FOREVER:
            self._facts[3] = max(1, hi)
        elif lacking <= lo:
            self._facts[3] = 0


def share_of(n_dropped: int) -> float:
    """Of all keys, that is kept."""
    return 1 - n_dropped / N_GROUPS
