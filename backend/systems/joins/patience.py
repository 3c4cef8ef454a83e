"""How long a selection of caches may stand before candidates are profiled again.

Deviation: the text profiles anew after every interval I. Where that leads to what was there before,
and nothing is seen to change, so much looking is in vain: intervals double, up to ``MOST``. Counts
of all elements, which cost nothing, end the waiting.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.systems.joins.settings import JoinSettings

#: Intervals between two profilings, at most.
MOST: Final = 8
#: Batches after a selection, behind which caches are filled and counts are those to come.
_SETTLED: Final = 2
#: Changes are shares of no less than this: an operation of an element in a hundred.
_FEW: Final = 0.01


class Patience:
    """Of the caches of one join."""

    def __init__(self) -> None:
        self.n_intervals = 1
        self._n_batches = 0
        self._usual: NDArray[np.float64] | None = None

    def selected(self, has_changed: bool) -> None:
        """Caches were selected, or one was dropped. has_changed: others are in use now."""
        if has_changed:
            self.n_intervals, self._n_batches, self._usual = 1, 0, None
        else:
            self.n_intervals = min(MOST, 2 * self.n_intervals)

    def is_due(
        self, waited_tuples: int, activity: NDArray[np.float64], settings: JoinSettings
    ) -> bool:
        """Whether to profile anew, so many tuples after the last selection or profiling: after an
        interval, or several. activity: as for ``look``, which this is."""
        has_moved = self.look(activity, settings.change_share)
        n_intervals = 1 if has_moved else self.n_intervals
        return waited_tuples >= n_intervals * settings.interval_tuples

    def look(self, activity: NDArray[np.float64], change_share: float) -> bool:
        """A batch ran without profiling; whether something moved by more than change_share since
        the caches settled, so that intervals are short again. activity: what is counted of it."""
        self._n_batches += 1
        if self._usual is None:
            self._usual = activity if self._n_batches >= _SETTLED else None
            return False
        moved = np.abs(activity - self._usual) > change_share * np.maximum(self._usual, _FEW)
        if moved.any():
            self.n_intervals, self._usual = 1, None
        return bool(moved.any())
