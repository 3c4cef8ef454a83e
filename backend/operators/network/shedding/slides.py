"""Which tuples a window still needs: by arrivals or by start, moved at its slides. Card B1

A tuple leaves whole: intervals are not cut at the window's edge.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class WindowRefused(ValueError):
    """A window without a size; the message says what is allowed."""


class WindowExtent(NamedTuple):
    """kind 'rows': the newest ``size`` arrivals, moved every ``slide`` arrivals; 'range': tuples
    whose start is at most ``size`` before, as windows of CQL do, moved every ``slide`` units.

    Between two slides a window holds what it showed at the last one, and what came since.
    """

    kind: Literal["rows", "range"]
    size: int
    slide: int = 1

    def check(self) -> None:
        """Raises WindowRefused."""
        least = 1 if self.kind == "rows" else 0
        if self.size < least or self.slide < 1:
            raise WindowRefused(
                f"a window of {self.size} sliding by {self.slide} was refused; allowed: a size of "
                f"{least} or more, a slide of 1 or more"
            )

    def position(self, number: int, start: int) -> int:
        """By which a tuple belongs to the window: its arrival, from 1 on, or its start."""
        return number if self.kind == "rows" else start

    def first(self, position: int) -> int:
        """The first position that is still needed once this one has been reached."""
        moved = position // self.slide * self.slide
        return moved - self.size + (self.kind == "rows")

    def passed(self, position: int) -> int:
        """The first position with which this one is no longer needed."""
        behind = position + self.size + (self.kind == "range")
        return -(-behind // self.slide) * self.slide
