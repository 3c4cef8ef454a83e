"""How long a selection of caches may stand before candidates are profiled again.

Deviation: the text profiles anew after every interval I. Where that leads to what was there before,
and nothing is seen to change, so much looking is in vain: intervals double, up to ``MOST``. Counts
of all elements, which cost nothing, end the waiting. Caches in use are taken out of it for the sake
of candidates inside them more rarely still: a batch without the right cache is dear.
"""

from __future__ import annotations

from typing import Final

from backend.systems.joins.activity import Activity

#: Intervals between two profilings, at most.
MOST: Final = 8
#: Batches after a selection, behind which caches are filled and counts are those to come.
_SETTLED: Final = 2


class Patience:
    """Of the caches of one join."""

    def __init__(self) -> None:
        self.n_intervals = 1
        self._n_batches = 0
        self._usual: Activity | None = None
        self._has_moved, self._n_hidden = False, 0

    def replanned(self) -> None:
        """Other orders or caches are in force: look again soon."""
        self.n_intervals = 1
        self.settle()

    def settle(self) -> None:
        """The join is executed in another way: what is counted has to be seen anew."""
        self._n_batches, self._usual = 0, None

    def selected(self, has_changed: bool) -> None:
        """Caches were selected, or one was dropped. has_changed: others are in use now."""
        if has_changed:
            self.replanned()
        else:
            self.n_intervals = min(MOST, 2 * self.n_intervals)

    def is_due(self, waited_tuples: int, interval_tuples: int) -> bool:
        """Whether to profile anew, so many tuples after the last selection or profiling: after an
        interval, or several."""
        return waited_tuples >= self.n_intervals * interval_tuples

    def look(self, activity: Activity, change_share: float) -> bool:
        """A batch ran; whether something moved by more than change_share, and more than chance has
        it, since the caches settled: intervals are short again."""
        self._n_batches += 1
        if self._usual is None:
            self._usual = activity if self._n_batches >= _SETTLED else None
            return False
        moved = activity.has_moved(self._usual, change_share)
        if moved:
            self.n_intervals, self._usual, self._has_moved = 1, None, True
        return moved

    def looks_behind(self) -> bool:
        """Candidates are profiled anew: whether also those whose look-ups a cache in use hides, for
        which it is out of use meanwhile: when something has moved, and once in ``MOST``
        intervals."""
        self._n_hidden += self.n_intervals
        found = self._has_moved or self._n_hidden >= MOST
        if found:
            self._has_moved, self._n_hidden = False, 0
        return found
