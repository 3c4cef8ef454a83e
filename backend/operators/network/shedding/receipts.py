"""What every drop is expected to cost, and whom it is charged to. Card B3, issue §3

Dropping s from an intact window of n exact coalesced tuples gives A = (n - ρ⁻) / (n + δ⁺). Sums go
on from there: 1 - A = (Σ ρ + Σ e) / (n + Σ e), e being extraneous pieces, so that each drop has a
share (ρ + e) / (n + Σ e) of the loss, and shares add up to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from backend.operators.network.shedding.slides import WindowExtent
from backend.operators.network.shedding.temporal import RunSpan, TemporalTuple, Values

#: 'limit': more came than there is room for; 'turned': the limit was lowered.
ShedReason: TypeAlias = Literal["limit", "turned"]
#: Parts of a window in which what left it is told apart.
_PARTS: Final = 256


class ChargeSums(NamedTuple):
    """n: drops; rho: Σ of the shares of exact tuples lost; extra: extraneous pieces made, less
    those that went; lost: exact tuples of which nothing is left."""

    n: int = 0
    rho: float = 0.0
    extra: int = 0
    lost: int = 0

    def plus(self, other: ChargeSums, sign: int = 1) -> ChargeSums:
        """Both together; sign -1: what is left of this without the other."""
        pairs = zip(self, other, strict=True)
        n, rho, extra, lost = (own + sign * more for own, more in pairs)
        return ChargeSums(int(n), rho, int(extra), int(lost))


class ShedReceipt(NamedTuple):
    """A drop. before, after: the run in memory it was in, and what is left of it; delta, rho: δ⁺
    and ρ⁻ under the basis in force; charge: what the answer loses by it; predicted_loss: of
    accuracy (R1), as expected when it was dropped."""

    dropped: TemporalTuple
    before: RunSpan
    after: tuple[RunSpan, ...]
    delta: int
    rho: float
    charge: ChargeSums
    predicted_loss: float
    reason: ShedReason


class ChargeKey(NamedTuple):
    """Who is charged: a value group, and why it was dropped."""

    values: Values
    reason: ShedReason


class LossLedger:
    """Charges of dropped tuples that would still be in the window.

    They leave with the part of the window they are in, at most 1/256 of it late.
    """

    def __init__(self, window: WindowExtent) -> None:
        self._width = self.width(window)
        self._parts: dict[int, dict[ChargeKey, ChargeSums]] = {}
        self._oldest = 0
        self.sums = ChargeSums()

    @staticmethod
    def width(window: WindowExtent) -> int:
        """Of a part."""
        return max(window.slide, window.size // _PARTS)

    def book(self, position: int, key: ChargeKey, charge: ChargeSums) -> None:
        """A drop of a tuple that belongs to the window by ``position``."""
        number = position // self._width
        self._oldest = min(self._oldest, number)
        part = self._parts.setdefault(number, defaultdict(ChargeSums))
        part[key] = part[key].plus(charge)
        self.sums = self.sums.plus(charge)

    def release(self, first: int) -> None:
        """The window needs nothing before ``first`` any more."""
        first_part = first // self._width
        if self._oldest >= first_part:
            return
        for part in [part for part in self._parts if part < first_part]:
            for charge in self._parts.pop(part).values():
                self.sums = self.sums.plus(charge, -1)
        if not self._parts:
            self.sums = ChargeSums()
        self._oldest = min(self._parts, default=first_part)

    def loss(self, n_exact: int) -> float:
        """1 - A as expected, of a window of so many exact coalesced tuples; in [0, 1]."""
        below = n_exact + self.sums.extra
        if not n_exact or below <= 0:
            return 0.0
        return max(0.0, min(1.0, (self.sums.rho + self.sums.extra) / below))

    def shares(self, n_exact: int) -> Mapping[ChargeKey, tuple[ChargeSums, float]]:
        """By whom: the sums, and the share of the loss; shares add up to ``loss``, unless that is
        cut at 1."""
        sums: dict[ChargeKey, ChargeSums] = defaultdict(ChargeSums)
        for part in self._parts.values():
            for key, charge in part.items():
                sums[key] = sums[key].plus(charge)
        below = n_exact + self.sums.extra
        scale = 1 / below if n_exact and below > 0 else 0.0
        return {key: (total, (total.rho + total.extra) * scale) for key, total in sums.items()}
