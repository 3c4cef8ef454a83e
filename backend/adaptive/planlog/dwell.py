"""How long a plan stays the best one: by region, with what is still going on, and a prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from backend.adaptive.planlog.records import LogJson, PlanLogRefused, whole_number

#: Dwells that are remembered of a region.
REMEMBERED: Final = 64
#: A region is known to be transient after so many dwells that ended.
_ENOUGH: Final = 3


@dataclass(frozen=True, slots=True)
class Dwell:
    """A stretch in which one plan was the best. n_tuples: its length; is_ended: another one became
    the best; else it was longer than this (censored)."""

    n_tuples: int
    is_ended: bool


def survival(dwells: Sequence[Dwell]) -> list[tuple[int, float]]:
    """Length, and the share of dwells that are longer, at each length at which one ended.

    The product limit of E. L. Kaplan and P. Meier, 1958; censored dwells count while they lasted.
    """
    steps, share = [], 1.0
    for length in sorted({dwell.n_tuples for dwell in dwells if dwell.is_ended}):
        at_risk = sum(dwell.n_tuples >= length for dwell in dwells)
        ended = sum(dwell.n_tuples == length and dwell.is_ended for dwell in dwells)
        share *= 1 - ended / at_risk
        steps.append((length, share))
    return steps


def expected_dwell(dwells: Sequence[Dwell], prior: float) -> float:
    """Mean dwell in tuples, the prior being worth one dwell that ended.

    (prior + Σ lengths) / (1 + ended ones): the posterior mean under exponential dwells whose rate
    is Gamma(2, prior); those that are censored lengthen it.
    """
    ended = sum(dwell.is_ended for dwell in dwells)
    return (prior + sum(dwell.n_tuples for dwell in dwells)) / (1 + ended)


class DwellBook:
    """Follows which plan is the best, and remembers dwells by region.

    prior: expected dwell, in tuples, before anything is known; regions with few dwells go by those
    of all. A region is any number; None: not known.
    """

    def __init__(self, prior: float, n_regions: int = 64) -> None:
        self._prior, self._n_regions = prior, n_regions
        self._dwells: dict[int, list[Dwell]] = {}
        self._plan: str | None = None
        self._region: int | None = None
        self._since = self._now = 0

    @property
    def elapsed(self) -> int:
        """Tuples since the present best plan became it."""
        return self._now - self._since

    def saw(self, t: int, plan: str, region: int | None) -> None:
        """At t this plan is the best; region: where it is, if it has just become it."""
        self._now = t
        if plan == self._plan:
            return
        if self._plan is not None:
            self._remember(Dwell(t - self._since, True))
        self._plan, self._region, self._since = plan, region, t

    def dwells(self, region: int | None = None) -> list[Dwell]:
        """Of a region, with the present one as censored; of all when None."""
        places = self._dwells if region is None else [region]
        dwells = [dwell for place in places for dwell in self._dwells.get(place, ())]
        if self._plan is not None and region in (None, self._region):
            dwells.append(Dwell(self.elapsed, False))
        return dwells

    def expected(self, region: int | None) -> float:
        """Mean dwell in tuples of a plan that has become the best there."""
        overall = expected_dwell(self.dwells(), self._prior)
        return overall if region is None else expected_dwell(self.dwells(region), overall)

    def is_transient(self, region: int, payback: float) -> bool:
        """Whether most dwells there end before a switch pays, after ``payback`` tuples; False while
        fewer than three have ended."""
        dwells = self.dwells(region)
        if sum(dwell.is_ended for dwell in dwells) < _ENOUGH:
            return False
        return min((s for n, s in survival(dwells) if n <= payback), default=1.0) < 0.5

    def state(self) -> LogJson:
        """As JSON."""
        return {
            "dwells": [
                [region, [[dwell.n_tuples, int(dwell.is_ended)] for dwell in dwells]]
                for region, dwells in self._dwells.items()
            ],
            "now": [self._plan, self._region, self._since, self._now],
        }

    def restore(self, state: LogJson) -> None:
        """Take up ``state()``. Raises PlanLogRefused for lengths and times that are none."""
        self._dwells = {
            region: [Dwell(whole_number(n, "a dwell"), bool(ended)) for n, ended in dwells]
            for region, dwells in state["dwells"]
        }
        self._plan, self._region, since, now = state["now"]
        self._since = whole_number(since, "the begin of a dwell")
        self._now = whole_number(now, "the time of a dwell")
        if self._since > self._now:
            raise PlanLogRefused(f"a dwell begins at {since}, after the last look at {now}")

    def _remember(self, dwell: Dwell) -> None:
        place = -1 if self._region is None else self._region
        dwells = self._dwells.pop(place, [])
        self._dwells[place] = [*dwells[1 - REMEMBERED :], dwell]
        if len(self._dwells) > self._n_regions:
            del self._dwells[next(iter(self._dwells))]
