"""How long a selection of caches may stand before candidates are profiled again.

Deviation: the text profiles anew after every interval I. Where that leads to what was there before,
and nothing is seen to change, so much looking is in vain: intervals double, up to ``MOST``. Counts
of all elements, which cost nothing, end the waiting. Caches in use are taken out of it for the sake
of candidates inside them more rarely still: a batch without the right cache is dear.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from backend.operators.network.joins.join_tuning import JoinTuning
from backend.systems.joins.decide.activity import Activity, UsualActivity, enough_elements
from backend.systems.joins.decide.settings import JoinSettings

#: Intervals between two profilings, at most.
MOST: Final = 8
#: Share of an interval, in elements, at the least a batch, behind which caches are filled and
#: counts are those to come; and of which there are enough to compare, whatever chance has.
_SETTLED: Final = 0.5


class Patience:
    """Of the caches of one join."""

    def __init__(self) -> None:
        self.n_intervals = 1
        self._came = UsualActivity(Activity.others_came)
        self._done = UsualActivity(Activity.more_is_done)
        self._tuning: JoinTuning | None = None
        self._n_settling = 0
        self._has_moved, self._n_hidden = False, 0

    def replanned(self) -> None:
        """Other orders or caches are in force: look again soon."""
        self.n_intervals = 1

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

    def look(self, batch: Activity, tuning: JoinTuning | None, settings: JoinSettings) -> bool:
        """A batch ran; whether something moved by more than the share that is set, and more than
        chance has it: intervals are short again.

        tuning: it was executed by; None: it was watched, which is work of its own. What is done is
        compared among batches that were executed in the same way, what comes among all.
        """
        share = settings.change_share
        enough = enough_elements(len(batch.inputs), share)
        least = min(enough, _SETTLED * settings.interval_tuples)
        others = self._came.look(batch, least, share, may_begin=tuning is not None)
        is_settled = self._is_settled(batch, tuning, settings)
        if not (others or (is_settled and self._done.look(batch, least, share))):
            return False
        self.n_intervals, self._has_moved, self._n_settling = 1, True, 0
        self._came.begin()
        self._done.begin()
        return True

    def _is_settled(
        self, batch: Activity, tuning: JoinTuning | None, settings: JoinSettings
    ) -> bool:
        """Whether batches before this one were executed as it was, for long enough."""
        if tuning is None:
            self._n_settling = 0
            self._done.pause()
            return False
        if tuning != self._tuning:
            self._tuning, self._n_settling = tuning, 0
            self._done.begin()
        before = self._n_settling
        self._n_settling += batch.n_elements
        return before >= max(1.0, _SETTLED * settings.interval_tuples)

    def looks_behind(self) -> bool:
        """Candidates are profiled anew: whether also those whose look-ups a cache in use hides, for
        which it is out of use meanwhile: when something has moved, and once in ``MOST``
        intervals."""
        self._n_hidden += self.n_intervals
        is_due = self._has_moved or self._n_hidden >= MOST
        if is_due:
            self._has_moved, self._n_hidden = False, 0
        return is_due

    def state(self) -> dict[str, Any]:
        """As JSON-typed data; what is usual is seen anew."""
        return {
            "n_intervals": self.n_intervals,
            "has_moved": self._has_moved,
            "n_hidden": self._n_hidden,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where ``state`` was taken."""
        self.n_intervals = int(state.get("n_intervals", 1))
        self._n_hidden = int(state.get("n_hidden", 0))
        self._has_moved = bool(state.get("has_moved"))
