"""What if α had been another? The recorded checks of filter orders, each decided again by itself.

A check keeps the decisive pair: own rank < α · the challenger's is a violation ([B05] §4.3).
Without a violation it is the pair nearest to one, and any α is answered for; of several violated
pairs it is the first, and another one may outlast it under a smaller α. What another order would
have shown the store does not tell, so that visits are not predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from dashboard.components.formats import show
from storage.tables.rows import DecisionEntry

RECHECKED: Final = ("alpha",)
_METRIC: Final = "drops per us"


class RecordedCheck(NamedTuple):
    """own, challenger: ranks of the decisive pair, drops per microsecond. alpha: in force. power:
    of α that it was tested with; an order taken for its caches is left at α² only."""

    own: float
    challenger: float
    alpha: float
    power: int = 1

    def is_violated(self, alpha: float | None = None) -> bool:
        """Whether the pair is out of order, with the α recorded or another."""
        return self.own < (self.alpha if alpha is None else alpha) ** self.power * self.challenger


class CheckEffect(NamedTuple):
    """violations: with the α of the record and with the other, of n checks. at_least: there may be
    more with the other."""

    violations: tuple[int, int]
    n: int
    at_least: bool
    share: None = None
    tone: str = "quiet"
    counted: bool = True

    @property
    def words(self) -> str:
        """``violations 14 → 9 of 40 recorded checks, each by itself``."""
        before, after = self.violations
        least = "at least " if self.at_least else ""
        n = show(self.n, "int")
        return f"violations {before} → {least}{after} of {n} recorded checks, each by itself"


def read_checks(entries: Iterable[DecisionEntry]) -> list[RecordedCheck]:
    """The checks decided by α that compared two ranks for a violation (an exchange for caches is
    recorded with what it held by, ``>=``)."""
    found = []
    for entry in entries:
        one, detail = entry.decision, entry.decision.detail
        alpha = detail.get("alpha") if isinstance(detail, Mapping) else None
        known = (
            one.metric == _METRIC
            and one.relation == "<"
            and one.lhs is not None
            and one.rhs is not None
        )
        if known and alpha and one.verdict != "thin":
            power = int(detail.get("alpha_power", 1))
            ranks = (one.lhs or 0.0), (one.rhs or 0.0) / alpha**power
            found.append(RecordedCheck(*ranks, alpha, power))
    return found


def recheck(checks: Iterable[RecordedCheck], alpha: float) -> CheckEffect:
    """The violations there would have been with another α."""
    asked = list(checks)
    before = [one for one in asked if one.is_violated()]
    after = sum(one.is_violated(alpha) for one in asked)
    at_least = any(alpha < one.alpha and not one.is_violated(alpha) for one in before)
    return CheckEffect((len(before), after), len(asked), at_least)
