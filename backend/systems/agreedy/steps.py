"""What each batch gave to decide on, so that the run can be decided again from its record.

With every step go the profile tuples that came in, bit by bit, the costs of the filters and the
knobs in force: what a check compared can be counted again from them. Algorithms that ask only some
of the filters leave gaps, and no steps. Ours, not the papers'.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.ordering.ranks import Picoseconds
from backend.model.filters import BatchFiltered
from backend.systems.agreedy.knobs import AgreedyKnobs
from backend.systems.agreedy.profiler import Profiler, Taken
from storage.vocabulary.kinds import Verdict

#: Knobs that a check decides by.
_DECIDED_BY: Final = (
    "filter_algorithm",
    "alpha",
    "violation_rule",
    "confidence",
    "window_by",
    "window_tuples",
    "window_s",
    "stage_tuples",
    "min_samples",
    "cooldown_tuples",
)
#: Steps kept until a check that is stored takes them along, and between two that hold the window.
_MOST_OPEN: Final = 64
_WINDOW_EVERY: Final = 100
#: Profile tuples of a step.
_MOST_TUPLES: Final = 4096

Json: TypeAlias = Any


class Steps:
    """Makes the steps of a run, and keeps them until a stored decision takes them along."""

    def __init__(self) -> None:
        self._open: list[Json] = []
        self._is_fresh = True
        self._since_window = 0
        self._knobs: dict[str, Json] = {}

    def restart(self) -> None:
        """What is known is of other filters, or has gaps: begin anew."""
        self._is_fresh = True

    def add(
        self,
        event: BatchFiltered,
        n_ran: int,
        taken: Taken,
        profiler: Profiler,
        costs: Sequence[Picoseconds],
        knobs: AgreedyKnobs,
        waited: int | None,
        flushed: bool,
    ) -> None:
        """Note a batch whose profile tuples every filter was asked about, before it is decided on.
        n_ran: its tuples that ran under the plan in force. costs: by filter; waited: tuples since
        the last switch."""
        is_cut = len(taken.outcomes) > _MOST_TUPLES or len(self._open) >= _MOST_OPEN
        is_fresh = self._is_fresh or is_cut
        if is_cut:
            self._open.clear()
        self._since_window = 0 if is_fresh else (self._since_window + 1) % _WINDOW_EVERY
        given = {name: getattr(knobs, name) for name in _DECIDED_BY}
        begins = not self._since_window
        more: dict[str, Json] = {"knobs": given} if begins or given != self._knobs else {}
        more |= {"window": _held(profiler)} if begins else {}
        self._knobs = given
        drops = taken.drops[-_MOST_TUPLES:]
        self._open.append(
            {
                "batch": event.batch_id,
                "time": event.time_s,
                "n_ran": n_ran,
                "fresh": is_fresh,
                "n_filters": len(profiler.names),
                "n_native": profiler.n_native,
                "order": list(profiler.view.order),
                "waited": waited,
                "flushed": flushed,
                "ps": list(costs),
                **_bits(drops, taken.n_passed),
                **more,
            }
        )
        self._is_fresh = False

    def decided(self, batch_id: int, verdict: Verdict) -> None:
        """What the check of a batch came to."""
        if self._open and self._open[-1]["batch"] == batch_id:
            self._open[-1]["verdict"] = verdict

    def taken(self) -> dict[str, Json]:
        """The steps since the last call, oldest first, as a part of a decision's detail; they are
        forgotten here."""
        steps, self._open = self._open, []
        return {"profile": steps} if steps else {}


def _held(profiler: Profiler) -> list[Json]:
    """The profile window, batch by batch."""
    return [
        {"time": time, "n_dropped": n_dropped, **_bits(drops, n_passed)}
        for time, n_dropped, n_passed, drops in profiler.window.stretches()
    ]


def _bits(drops: NDArray[np.bool_], n_passed: int) -> dict[str, Json]:
    """Profile tuples: how many were dropped, by which filters, and how many passed."""
    packed = np.packbits(drops.ravel()).tobytes()
    return {
        "k": len(drops),
        "drops": base64.b64encode(packed).decode("ascii"),
        "passed": n_passed,
    }
