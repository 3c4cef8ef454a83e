"""The autopilot with all it has seen at hand, working everything out again at every look.

Slow twin of `backend/adaptive/planlog/autopilot.py` for statistics that never change, so that a
plan that was chosen has one region, and for offers without a search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tests.oracles.planlog_confidence import sizes_of_stretches
from tests.oracles.planlog_dwell import survival_at

#: Savings on the sample and the probability of an error -> what is surely saved.
LowerBound = Callable[[Sequence[float], float], float]
#: Length, whether it ended, and the region.
SlowDwell = tuple[int, bool, str | None]


@dataclass
class SlowPilot:
    """caution, prior: as the options. All moments a best plan was noted are in ``led``: t, plan,
    region of it then."""

    lower: LowerBound
    caution: float
    prior: float
    led: list[tuple[int, str, str | None]] = field(default_factory=list)
    chosen: set[str] = field(default_factory=set)
    looks: list[tuple[int, Mapping[str, Sequence[float]]]] = field(default_factory=list)
    last: int | None = None

    def dwells(self) -> list[SlowDwell]:
        """Stretches with one leader; the last one goes on."""
        if not self.led:
            return []
        places = range(len(self.led))
        starts = [p for p in places if p == 0 or self.led[p][1] != self.led[p - 1][1]]
        ended = [(start, end, True) for start, end in pairwise(starts)]
        return [
            (self.led[end][0] - self.led[start][0], is_ended, self.led[start][2])
            for start, end, is_ended in [*ended, (starts[-1], len(self.led) - 1, False)]
        ]

    def expected(self, region: str | None) -> float:
        """Mean dwell there, with all dwells as the prior."""
        dwells = self.dwells()
        overall = _mean_dwell(dwells, self.prior)
        own = [dwell for dwell in dwells if dwell[2] == region]
        return overall if region is None else _mean_dwell(own, overall)

    def look(
        self,
        t: int,
        plan: str,
        offers: Mapping[str, Sequence[float]],
        prices: Mapping[str, float],
        deciding: float,
        is_settling: bool = False,
    ) -> tuple[str, float, float]:
        """The plan to run, and what the best rival surely saves for how long; while conditions
        settle, what it likely does. prices: of switching to each."""
        self.looks.append((0 if self.last is None else t - self.last, offers))
        if is_settling:
            self.looks = []
        self.last = t
        known = {each for _, seen in self.looks for each in seen} | self.chosen
        level = self.caution / 1000 / max(1, len(known))
        judged = [
            (*self._judge(rival, offers[rival], level, prices[rival] + deciding), rival)
            for rival in offers
        ]
        passed, half = [each for each in judged if each[0]], self.expected(None) / 2
        # Of what each saves, once its price was paid in half of a dwell.
        left = {r: sum(of) / len(of) - prices[r] / half for r, of in offers.items()}
        is_switch, saving, dwell, rival = (
            max(passed, key=lambda each: left[each[3]])
            if passed
            else max(judged, key=lambda each: each[1] * each[2])
        )
        ahead = {rival for rival in offers if sum(offers[rival]) > 0}
        leader = self.led[-1][1] if self.led else None
        if is_switch or (leader not in ahead and saving > 0 and not is_settling):
            leader = rival
        elif leader not in ahead:
            leader = plan
        assert leader is not None
        self.chosen.add(rival if is_switch else plan)
        self.led.append((t, leader, leader if leader in self.chosen else None))
        if is_switch:
            self.looks = []
        return rival if is_switch else plan, saving, dwell

    def _judge(
        self, rival: str, sample: Sequence[float], level: float, price: float
    ) -> tuple[bool, float, float]:
        region = rival if rival in self.chosen else None
        seen = [(n, offers[rival]) for n, offers in self.looks]
        best, so_far = (-math.inf, 0.0), 0
        if not seen:
            best = sum(sample) / len(sample), self.expected(region) / 2
        for size in sizes_of_stretches(len(seen)):
            so_far += size
            tail = seen[len(seen) - so_far :]
            saving = self.lower([x for _, values in tail for x in values], level)
            dwell = max(self.expected(region), sum(n for n, _ in tail)) / 2
            if best[1] == 0 or saving * dwell > best[0] * best[1]:
                best = saving, dwell
        is_worth = best[0] * best[1] > price
        if is_worth and region is not None and self._passes(rival, price / best[0]):
            is_worth = False
        return is_worth and sum(sample) > 0, *best

    def _passes(self, rival: str, payback: float) -> bool:
        own = [(n, ended) for n, ended, region in self.dwells() if region == rival]
        lasted = self.dwells()[-1][0] if self.led and self.led[-1][1] == rival else 0
        if lasted >= payback or sum(ended for _, ended in own) < 3:
            return False
        return survival_at(own, int(payback)) < 0.5


def _mean_dwell(dwells: Sequence[SlowDwell], prior: float) -> float:
    return (prior + sum(n for n, _, _ in dwells)) / (1 + sum(ended for _, ended, _ in dwells))
