"""The papers' period-by-period monitoring: step i of a new order is measured on period i of τ.

[L12] §4.2.2, §5.2. While the n-1 periods last the trigger is not evaluated (erratum 19). Here a
period is τ sampled tuples, as many as the profile window holds.
"""

from __future__ import annotations

import numpy as np

from backend.systems.asc.matching import Regions
from backend.systems.asc.trigger import Reading


class Monitoring:
    """Periods being collected for one rearrangement.

    kind, reading: what called for it (see evidence.Evaluation). n_periods: n-1.
    """

    def __init__(self, kind: str, reading: Reading | None, n_periods: int) -> None:
        self.kind, self.reading, self.n_periods = kind, reading, n_periods
        self._full: list[Regions] = []
        self._open: list[Regions] = []

    def add(self, regions: Regions, tau: int) -> None:
        """Take in a batch's sample, regions intp[T, n], and close periods of ``tau`` tuples."""
        self._open.append(regions)
        while not self.is_complete and sum(map(len, self._open)) >= tau:
            together = np.concatenate(self._open)
            self._full.append(together[:tau])
            self._open = [together[tau:]]

    def n_missing(self, tau: int) -> int:
        """Tuples until the last period is full, with periods of ``tau``."""
        return (self.n_periods - len(self._full)) * tau - sum(map(len, self._open))

    @property
    def is_complete(self) -> bool:
        """Whether every step has its period."""
        return len(self._full) >= self.n_periods

    @property
    def periods(self) -> list[Regions]:
        """The full periods."""
        return list(self._full)
