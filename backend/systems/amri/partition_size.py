"""How many tuples a partition of a state has: a share of its window, |P| = W/4, say. Card A3, A10

A window of time holds as many tuples as were measured in it. Partitions of another size are all
filled anew, so theirs changes seldom: once a window grows no more, and where it is twice or half as
large as it ought to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

#: Tuples of a partition.
LEAST, MOST, FIRST = 16, 1_000_000, 1024
#: So many times too large or too small a size may be.
_AWAY: Final = 2.0


class PartitionSize:
    """Of a state. n: in force; share: of its window, in the shard where that is largest."""

    def __init__(self, share: float) -> None:
        self.share, self.n = share, FIRST
        self._n_held, self._is_full = 0, False

    def turn(self, share: float) -> None:
        """Another share."""
        if share != self.share:
            self.share = share
            self._take()

    def observe(self, n_held: int) -> None:
        """So many tuples are in the window."""
        grows = n_held > self._n_held
        self._n_held = n_held
        target = self._target
        is_away = not target / _AWAY <= self.n <= target * _AWAY
        if n_held and (is_away or not (grows or self._is_full)):
            self._take()
            self._is_full = not grows

    @property
    def _target(self) -> int:
        return min(MOST, max(LEAST, round(self.share * self._n_held)))

    def _take(self) -> None:
        if self._n_held:
            self.n = self._target

    def state(self) -> list[Any]:
        """As JSON-typed data."""
        return [self.share, self.n, self._n_held, self._is_full]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on where ``state`` was taken; with another share if that was turned since."""
        now = self.share
        self.share, self.n, self._n_held, self._is_full = state
        self.turn(now)
