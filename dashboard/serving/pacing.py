"""How often a live page is told: at most once a second, and then of the newest batch.

Pure: time comes as an argument (monotonic s).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from storage.tables.rows import Cursor

#: Between two deltas. A page drawn at each of five batches a second takes half a core of its own,
#: and numbers that change more often than this are not read.
PACE_S: Final = 1.0
#: So long what is due waits for a newer batch, whose numbers are then on the page at once.
WAIT_S: Final = 0.25


@dataclass(slots=True)
class Cadence:
    """Tells when what is new in the store is to be handed out."""

    _seen: Cursor | None = None
    _told_at: float = float("-inf")

    def is_due(self, newest: Cursor, now: float, hurried: bool) -> bool:
        """Whether to tell up to ``newest``; if so that counts as told. hurried: this process has
        written, or somebody has just begun to look. What follows silence, and a command, is told at
        once."""
        is_new, is_commanded = newest != self._seen, self._is_commanded(newest)
        self._seen = newest
        silence = now - self._told_at
        due = (is_new and silence >= PACE_S) or silence >= PACE_S + WAIT_S
        if due or hurried or is_commanded:
            self._told_at = now
            return True
        return False

    def _is_commanded(self, newest: Cursor) -> bool:
        return self._seen is not None and newest.command != self._seen.command
