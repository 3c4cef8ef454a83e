"""The rearrangement trigger: relative change against μ. [L12] eq. 5, errata 17 and 18.

Eq. 5 on the tuple dropping ratio d cannot see a change of *which* attribute filters, because d of
a complete order is the same for all orders (F5); hence the same test on mean visits per tuple.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from storage.vocabulary.asc_rule import decisive, relative_change

VISITS: Final = "visits per tuple"
DROPPING: Final = "tuple dropping ratio"


class Baseline(NamedTuple):
    """d_init and visits_init: measured on the sample that produced the order (erratum 18)."""

    d_init: float
    visits_init: float


@dataclass(frozen=True, slots=True)
class Watched:
    """One watched quantity: now (over the window) against init (at the last arrangement)."""

    metric: str
    now: float
    init: float

    @property
    def change(self) -> float:
        """The relative change, >= 0, +inf from zero."""
        return relative_change(self.now, self.init)

    @property
    def lhs(self) -> float | None:
        """The change as recorded: None when it is unbounded, which JSON cannot say."""
        return None if math.isinf(self.change) else self.change

    def detail(self) -> dict[str, Any]:
        """The numbers, for the decision record."""
        unbounded = math.isinf(self.change)
        return {"now": self.now, "init": self.init, "change": self.lhs, "unbounded": unbounded}


@dataclass(frozen=True, slots=True)
class Reading:
    """Both quantities over the window of n_tuples, each None while unknown."""

    n_tuples: int
    visits: Watched | None
    dropping: Watched | None

    def decisive(self, trigger: str) -> Watched | None:
        """The quantity the ``trigger`` knob makes decide; None when it is unknown."""
        return decisive(trigger, self.visits, self.dropping, lambda w: w.change)

    def detail(self) -> dict[str, Any]:
        """Both inequalities' numbers, for the decision record."""
        return {
            "visits": self.visits.detail() if self.visits else None,
            "dropping_ratio": self.dropping.detail() if self.dropping else None,
        }
