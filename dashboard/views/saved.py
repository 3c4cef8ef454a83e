"""What a cost in force saved of another one, over a stretch of batches: one number for all pages.

Whoever tells what caches or orders save asks here, and names the stretch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from dashboard.components.formats import Format, show
from dashboard.views.numbers import Z_95

#: Batches that "now" is a mean of: estimates of single batches jump.
RECENT: Final = 10
#: The stretch of totals.
WHOLE: Final = "since the run began"
#: What reads 0.0 % is nothing: such a share is rounding noise.
NOISE: Final = 0.0005
Effect: TypeAlias = Literal["saved", "nothing", "cost"]


class SavedShare(NamedTuple):
    """share: of the other cost, below 0 where more was spent. low, high: its 95 % interval over n
    batches, None where the stretch is one number. stretch: 'last 10 batches'."""

    share: float
    low: float | None
    high: float | None
    n: int
    stretch: str

    @property
    def effect(self) -> Effect:
        """What may be said: nothing is claimed that reads 0.0 %, or whose interval has zero."""
        unsure = self.low is not None and self.high is not None and self.low <= 0 <= self.high
        if unsure or abs(self.share) < NOISE:
            return "nothing"
        return "saved" if self.share > 0 else "cost"

    @property
    def interval(self) -> str:
        """', 95 % interval 31.0 % to 44.2 %', or ''."""
        if self.low is None or self.high is None:
            return ""
        words = f", 95\u2009% interval {show(self.low, 'pct')} to {show(self.high, 'pct')}"
        return words.replace("-", "−")


def saved(costs: Sequence[float], others: Sequence[float], stretch: str) -> SavedShare | None:
    """Costs in force against others, of the same batches, or the totals of a stretch.

    Both are added before they are compared; the interval is that of a ratio of sums. None where
    the other cost is not known or nothing.
    """
    pairs = [
        (cost, other)
        for cost, other in zip(costs, others, strict=False)
        if math.isfinite(cost) and math.isfinite(other)
    ]
    spent, whole = (sum(pair[side] for pair in pairs) for side in (0, 1))
    if whole <= 0:
        return None
    share, n = 1 - spent / whole, len(pairs)
    if n < 2:
        return SavedShare(share, None, None, n, stretch)
    errors = np.array([cost - (1 - share) * other for cost, other in pairs])
    half = Z_95 * math.sqrt(n * float(errors @ errors) / (n - 1)) / whole
    return SavedShare(share, share - half, share + half, n, stretch)


def last_batches(n: int) -> str:
    """The stretch of the newest batches in words: 'this batch', 'last 10 batches'."""
    return "this batch" if n == 1 else f"last {n} batches"


def changed(old: float, new: float, form: Format = "f2") -> tuple[Effect, str, str]:
    """What a change did to a cost, and the cost before and after as it is written.

    Costs that read the same are the same: ('nothing', '4.22', '4.22'). Small ones have digits
    enough to differ.
    """
    texts = show(old, form), show(new, form)
    if texts[0] == texts[1] and form == "f2" and max(abs(old), abs(new)) < 1:
        texts = f"{old:.3g}", f"{new:.3g}"
    if texts[0] == texts[1]:
        return "nothing", *texts
    return "saved" if new < old else "cost", *texts
