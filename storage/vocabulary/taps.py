"""A sample of the elements that an operator gave out in a batch, where somebody looked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

#: The kind of command that asks for them, and the most batches it may ask for at once.
TAP: Final = "tap"
MOST_TAPPED_BATCHES: Final = 600
#: The role of what takes in a stream behind its source, in plans that can be looked into.
TAKES_IN: Final = "input"
#: What stands in a row before the values: timestamp (ticks), sign and how often it came.
LED: Final = 3
_MASK: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class TapSample:
    """Some of the elements that an operator gave out in a batch.

    entity: the operator, or what it takes in. n_passed: elements it gave out in all; None where the
    rows are what is left of those sampled before it. columns: their names. rows: [timestamp in
    ticks, sign, how often it came, value of each column...], by their turns; of tuples without
    timestamps their number in the sample.
    """

    unit_id: str
    entity: str
    n_passed: int | None
    columns: tuple[str, ...]
    rows: Any

    @property
    def n_kept(self) -> int:
        """Elements that the rows are."""
        return sum(row[2] for row in self.rows)

    def has_all_of(self, tau: int) -> bool:
        """Whether all elements of a timestamp are among them: those of earlier turns are."""
        if self.n_passed is None or self.n_kept >= self.n_passed:
            return True
        return bool(self.rows) and turn_of(tau) < turn_of(self.rows[-1][0])


def turn_of(tau: int) -> int:
    """Elements are kept in the order of their timestamps, mixed (the last step of splitmix64): so
    what is kept is spread over the batch, and of the same timestamps at every operator."""
    spread = tau & _MASK
    spread ^= spread >> 30
    spread = spread * 0xBF58476D1CE4E5B9 & _MASK
    spread ^= spread >> 27
    spread = spread * 0x94D049BB133111EB & _MASK
    return spread ^ spread >> 31
