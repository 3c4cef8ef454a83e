"""When the configuration changes: by window, by accumulated advantage; and back. [WRA13] §6

Card A14.11-12: search cost is linear in F, so that after each window the cost of every candidate is
known, not only of the one in force. Selection is then an online problem with a price of switching.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from backend.adaptive.stats import Mean, quantile
from backend.systems.amri.sides import (
    CONFIDENCE,
    Sides,
    asked_more,
    difference,
    estimated,
    pattern_headroom,
    variance_of,
)
from storage.vocabulary.amri_costs import Bits, Candidates, Floats, IndexCosts, SearchLoad, cheapest
from storage.vocabulary.headroom import Headroom
from storage.vocabulary.kinds import Verdict


class PairDifference(NamedTuple):
    """What one request costs more under a configuration than under another. by_pattern: float64,
    maintenance included; mean: over the load, with its interval."""

    by_pattern: Floats
    mean: Mean

    def plus(self, shift: float) -> PairDifference:
        """With what does not depend on the pattern."""
        mean = self.mean
        shifted = Mean(mean.value + shift, mean.low + shift, mean.high + shift, mean.n)
        return PairDifference(self.by_pattern + shift, shifted)


def pair_difference(
    load: SearchLoad,
    model: IndexCosts,
    old: Bits,
    new: Bits,
    n_requests: int,
    slack: float = 0.0,
    confidence: float = CONFIDENCE,
) -> PairDifference:
    """n_requests: that the load was estimated from. slack: Δ of card A6 for each request."""
    pair = np.array([old, new], dtype=np.int64)
    costs = model.request_costs(load, pair)
    upkeep = model.upkeep(load, pair) / max(load.requests, 1e-300)
    of_each = costs[0] - costs[1]
    mean = difference(load.shares, of_each, n_requests, slack, confidence)
    return PairDifference(of_each, mean).plus(float(upkeep[0] - upkeep[1]))


def by_window(
    gain: PairDifference,
    old_cost: float,
    life_requests: float,
    price: float,
    min_gain: float = 0.0,
    names: Sequence[str] = (),
) -> Sides:
    """Selection of a window (the paper's, with min_gain and price 0): what the new configuration
    saves in the requests that are left, at the low end of its interval and less the price, against
    the least share of what the old one costs in them (card A14.1). old_cost: of a request. names:
    of the load's patterns, for headroom. 'thin': only the interval is in the way. With confidence 0
    the interval is a point."""
    least, mean = min_gain * life_requests * old_cost, gain.mean
    value, low, high = (life_requests * x - price for x in (mean.value, mean.low, mean.high))
    left = Mean(value, low, high, mean.n)
    needed = (least + price) / life_requests if life_requests > 0 else math.inf
    near = pattern_headroom(names, gain.by_pattern.tolist(), mean.value, needed) if names else ()
    sides = estimated("gain in the life left, less the price", left, least)
    return sides._replace(headroom=near)


def roll_back(measured: Mean, old_estimate: float) -> Sides:
    """Whether to go back: a request measurably costs more than was estimated of the configuration
    before (card A14.10). Both in one unit."""
    return estimated(
        "measured cost of a request, old configuration's estimate", measured, old_estimate
    )


class SwitchFinding(NamedTuple):
    """A look at the accumulated advantages. place, bits: of the candidate that is furthest; sides:
    its advantage against twice the price of switching to it; price: that once."""

    place: int
    bits: Bits
    sides: Sides
    price: float


class AccumulatedAdvantage:
    """Keeps of each candidate c = max(0, c + cost(incumbent) - cost(candidate)).

    It is switched to when c reaches twice the price D of switching. Between two configurations with
    one price both ways that is the work function algorithm: never dearer than 3 times the best
    sequence in hindsight plus a constant, as far as what a window costs more is small against D.
    It acts on evidence only: the interval of c has to lie beyond the price.
    """

    def __init__(self, candidates: Candidates, incumbent: Bits) -> None:
        is_new = not (candidates == np.array(incumbent)).all(axis=1).any()
        self.candidates = np.vstack([candidates, incumbent]) if is_new else candidates
        self.advantage, self.variance, self.slack = np.zeros((3, len(self.candidates)))
        self.place = self._place_of(incumbent)

    @property
    def incumbent(self) -> Bits:
        """The configuration in force."""
        return tuple(self.candidates[self.place].tolist())

    def account(
        self,
        costs: Floats,
        variance: Floats | None = None,
        slack: float = 0.0,
        least: float = 0.0,
    ) -> None:
        """A window has passed. costs: float64[candidates], what it costs under each; variance: of
        cost(incumbent) - cost(candidate), None: costs are exact; slack: what the advantage may be
        too high by; least: share of the incumbent's cost that does not count."""
        incumbent = (1 - least) * costs[self.place]
        self.advantage = np.maximum(0.0, self.advantage + incumbent - costs)
        self.variance += 0.0 if variance is None else variance
        self.slack += slack
        gone = self.advantage <= 0.0
        self.variance[gone] = self.slack[gone] = 0.0

    def observe(
        self,
        load: SearchLoad,
        model: IndexCosts,
        n_requests: float,
        n_sampled: int,
        slack: float = 0.0,
        least: float = 0.0,
    ) -> None:
        """A window of so many requests, of which F was estimated from some. slack: of a request;
        least: as of ``account``."""
        parts = model.parts(load, self.candidates)
        scale = n_requests / max(load.requests, 1e-300)
        of_each = model.request_costs(load, self.candidates)
        of_each = of_each[[self.place]] - of_each
        variance = variance_of(load.shares, of_each) * n_requests**2 / max(1, n_sampled)
        self.account(scale * parts.total, variance, n_requests * slack, least)

    def look(self, prices: Floats, n: int = 0, confidence: float = CONFIDENCE) -> SwitchFinding:
        """prices: float64[candidates], D of switching from the incumbent to each."""
        lead = self.advantage - 2 * prices
        half = quantile(confidence) * np.sqrt(self.variance)
        low = self.advantage - half - self.slack
        reaches = (lead >= 0) & (self.advantage > 0)
        sure = reaches & (low > prices)
        others = np.arange(len(lead)) != self.place
        ranked = np.flatnonzero(sure if sure.any() else others)
        if not len(ranked):
            return self._finding(self.place, "below_threshold", prices, low, half, n)
        place = int(ranked[cheapest(-lead[ranked], self.candidates[ranked])])
        thin: Verdict = "thin" if reaches[place] else "below_threshold"
        verdict: Verdict = "switched" if sure[place] else thin
        return self._finding(place, verdict, prices, low, half, n)

    def _finding(
        self, place: int, verdict: Verdict, prices: Floats, low: Floats, half: Floats, n: int
    ) -> SwitchFinding:
        c, price = float(self.advantage[place]), float(prices[place])
        ends = float(low[place]), c + float(half[place])
        sides = Sides("accumulated advantage", c, ">=", 2 * price, verdict, ends, n)
        return SwitchFinding(place, tuple(self.candidates[place].tolist()), sides, price)

    def headroom(
        self,
        load: SearchLoad,
        model: IndexCosts,
        prices: Floats,
        least: float,
        names: tuple[Sequence[str], Sequence[str]],
    ) -> tuple[Headroom, ...]:
        """Which pattern the next window of as many requests would have to ask for how much more,
        the others less in proportion, for a first candidate to reach its price; nearest first.
        prices: as of ``look``; least: as of ``account``; names: of attributes, of patterns."""
        costs, upkeep = (
            model.request_costs(load, self.candidates),
            model.upkeep(load, self.candidates),
        )
        gains = (1 - least) * costs[self.place] - costs
        missing = 2 * prices - self.advantage - (1 - least) * upkeep[self.place] + upkeep
        needed = (missing / max(load.requests, 1e-300))[:, None]
        mean = (gains @ load.shares)[:, None]
        can = (mean < needed) & (needed < gains) & (np.arange(len(costs)) != self.place)[:, None]
        shares = np.full(gains.shape, np.inf)
        np.divide(needed - mean, gains - mean, out=shares, where=can)
        nearest = []
        for pattern, (place, name) in enumerate(zip(shares.argmin(axis=0), names[1], strict=True)):
            share = float(shares[place, pattern])
            if share < 1:
                bits = zip(names[0], self.candidates[place].tolist(), strict=True)
                then = ", ".join(f"{attribute} {n}" for attribute, n in bits)
                near = asked_more(name, share)
                nearest.append(near._replace(words=f"{near.words}, then the bits {then} pay"))
        return tuple(sorted(nearest, key=lambda near: -near.near))

    def switch(self, bits: Bits) -> None:
        """Another configuration is in force: advantages over it begin anew."""
        self.place = self._place_of(bits)
        for of in (self.advantage, self.variance, self.slack):
            of[:] = 0.0

    def state(self) -> dict[str, Any]:
        """As JSON-typed data, of candidates with an advantage."""
        kept = np.flatnonzero(self.advantage)
        rows = zip(
            self.candidates[kept].tolist(), self.advantage[kept].tolist(),
            self.variance[kept].tolist(), self.slack[kept].tolist(), strict=True,
        )  # fmt: skip
        return {"incumbent": list(self.incumbent), "candidates": [list(row) for row in rows]}

    @classmethod
    def restored(cls, candidates: Candidates, state: Mapping[str, Any]) -> Self:
        """Go on where ``state`` was taken; candidates that are gone are left out."""
        restored = cls(candidates, tuple(state["incumbent"]))
        places = {
            tuple(bits_of): place for place, bits_of in enumerate(restored.candidates.tolist())
        }
        for bits, *numbers in state["candidates"]:
            place = places.get(tuple(bits))
            if place is not None:
                restored.advantage[place], restored.variance[place], restored.slack[place] = numbers
        return restored

    def _place_of(self, bits: Bits) -> int:
        same = np.flatnonzero((self.candidates == np.array(bits)).all(axis=1))
        if not len(same):
            raise ValueError(f"{bits} is none of the {len(self.candidates)} candidates")
        return int(same[0])
