"""How a tuple of a store lies in memory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RowFormat:
    """How a tuple lies in a store, in words of 8 bytes: its columns, a bit for each column that
    says whether it is NULL, and words of the store's own. types: 'int64' or 'float64'."""

    types: tuple[str, ...]
    n_own: int = 0

    @property
    def nulls(self) -> int:
        """The first word of NULL bits."""
        return len(self.types)

    @property
    def own(self) -> int:
        """The first word of the store's own."""
        return len(self.types) + len(self.types) // 32 + 1

    @property
    def width(self) -> int:
        """Words of a tuple."""
        return self.own + self.n_own
