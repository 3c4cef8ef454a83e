"""Sizes of batches while there is a backlog: they grow until the time per tuple no longer falls."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NamedTuple

from backend.adaptive.words import count
from backend.model.schema import Schema
from storage.vocabulary.records import Event

#: A batch grows by this factor; the larger one has to save this share of the time per tuple.
FACTOR: Final = 4
GAIN: Final = 0.05
#: Batches of a size before it is given up: a passing disturbance may have slowed one of them down.
TRIES: Final = 2
#: One that takes longer does not grow: queries and knobs wait for its end.
LONGEST_MS: Final = 1000.0
#: After so many batches of the size that was chosen the next larger one is tried again.
SETTLED: Final = 50
#: Tuples of an input in a batch at most, and their bytes.
MOST_TUPLES: Final = 4_000_000
MOST_BYTES: Final = 512 << 20


def most_tuples(schemas: list[Schema]) -> int:
    """Tuples of each input that a batch holds at most, eight bytes a value."""
    widest = max((len(schema.attributes) for schema in schemas), default=1)
    return min(MOST_TUPLES, MOST_BYTES // (8 * widest))


class Resized(NamedTuple):
    """A change of size. why: its sides, in words."""

    before: int
    after: int
    why: str

    @property
    def event(self) -> Event:
        """Said in the run's story."""
        verb = "grow" if self.after > self.before else "shrink"
        return Event("run", f"batches {verb} to {count(self.after)} tuples", self.why)


class GrowingBatches:
    """Tuples of each input that the next batch takes at most. least: while nothing waits; most:
    bounded by memory; clock: seconds. Batches that follow each other are timed from end to end."""

    def __init__(
        self, least: int, most: int, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.size = self._least = least
        self._most = max(least, most)
        self._us: dict[int, float] = {}  # least time per tuple by size
        self._n_without_gain = self._n_settled = 0
        self._clock = clock
        self._ended: float | None = None  # the batch before, if it left a backlog

    @property
    def has_grown(self) -> bool:
        """A backlog is being worked off in larger batches."""
        return self.size > self._least

    def after(self, n_tuples: int, is_behind: bool) -> Resized | None:
        """A batch has taken so many tuples of all inputs, and is on record. is_behind: it was full,
        and more wait. How the size changes, or None."""
        now, before = self._clock(), self._ended
        self._ended = now if is_behind else None
        if not is_behind or before is None or not n_tuples:
            return self._caught_up() if self.has_grown and not is_behind else None
        ms = (now - before) * 1e3
        us = self._us[self.size] = min(ms * 1e3 / n_tuples, self._us.get(self.size, float("inf")))
        if self._n_settled:
            self._n_settled = (self._n_settled + 1) % SETTLED
            return None
        smaller = max((size for size in self._us if size < self.size), default=None)
        if smaller is not None and us > (1 - GAIN) * self._us[smaller]:
            return self._without_gain(smaller)
        self._n_without_gain = 0
        larger = min(self.size * FACTOR, self._most)
        if larger == self.size or ms > LONGEST_MS:
            return None
        return self._resized(
            larger, f"tuples wait; {us:.2f} µs a tuple with {count(self.size)} each"
        )

    def _caught_up(self) -> Resized:
        self._us, self._n_settled, self._n_without_gain = {}, 0, 0
        return self._resized(self._least, "no tuples wait")

    def _without_gain(self, smaller: int) -> Resized | None:
        self._n_without_gain += 1
        if self._n_without_gain < TRIES:
            return None
        tried, self._n_without_gain, self._n_settled = self.size, 0, 1
        us, before = self._us.pop(tried), self._us[smaller]
        least = (1 - GAIN) * before
        sides = f"{us:.2f} µs a tuple with {count(tried)} each > {least:.2f}, {1 - GAIN:.0%} of"
        return self._resized(smaller, f"{sides} {before:.2f} with {count(smaller)}")

    def _resized(self, size: int, why: str) -> Resized:
        before, self.size = self.size, size
        return Resized(before, size, why)
