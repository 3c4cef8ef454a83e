"""One budget of bits over the states of an eddy, exact. Card A5; the sharing ours"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from backend.systems.amri.selection import SelectionSettings, tried_of
from backend.systems.amri.sides import Sides, compared
from storage.vocabulary.amri_costs import (
    EQUAL,
    Bits,
    Candidates,
    Floats,
    IndexCosts,
    SearchLoad,
    cheapest,
)

#: Bits of a state beyond which its curve is not followed.
MOST_SHARED: Final = 24


class CostCurve(NamedTuple):
    """A state with at most 0, 1 … bits. costs: C_D of the best configuration, never rising; bits:
    that configuration."""

    costs: tuple[float, ...]
    bits: tuple[Bits, ...]


def cost_curve(load: SearchLoad, model: IndexCosts, settings: SelectionSettings) -> CostCurve:
    """The best configurations of a state with every number of bits up to the settings' own."""
    tried, _ = tried_of(load, model, settings.caps_of(load.n), settings)
    candidates = np.unique(np.vstack([np.zeros((1, load.n), np.int64), tried]), axis=0)
    totals, costs = candidates.sum(axis=1), model.parts(load, candidates).total
    best = [
        _cheapest_within(candidates, costs, totals <= bits) for bits in range(settings.bits + 1)
    ]
    return CostCurve(
        tuple(float(costs[place]) for place in best),
        tuple(tuple(candidates[place].tolist()) for place in best),
    )


def _cheapest_within(candidates: Candidates, costs: Floats, allowed: Floats) -> int:
    return cheapest(np.where(allowed, costs, np.inf), candidates)


class BitDivision(NamedTuple):
    """A bit budget over states. bits: by state; cost: of all."""

    bits: tuple[int, ...]
    cost: float


def divide_bits(curves: Sequence[Sequence[float]], budget: int) -> BitDivision:
    """The exact division of at most so many bits over states, by dynamic programming; a
    multiple-choice knapsack (card A5). curves: by state its cost with 0, 1 … bits. Of equally cheap
    divisions the one with fewest bits, then the lexicographically largest.
    """
    by_total: dict[int, tuple[float, Bits]] = {0: (0.0, ())}
    for curve in curves:
        longer: dict[int, tuple[float, Bits]] = {}
        for total, (cost, bits) in by_total.items():
            for n_bits, own in enumerate(curve[: budget - total + 1]):
                division = (cost + own, (*bits, n_bits))
                longer[total + n_bits] = _better(division, longer.get(total + n_bits))
        by_total = longer
    best: tuple[float, Bits] = (math.inf, ())
    for _, division in sorted(by_total.items()):
        best = division if division[0] < best[0] - EQUAL * abs(division[0]) else best
    return BitDivision(best[1], best[0])


def bit_margins(
    curves: Sequence[Sequence[float]], bits: Sequence[int]
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """By state what one more bit would save, and what the last one saves."""
    gains = (c[b] - c[b + 1] if b + 1 < len(c) else 0.0 for c, b in zip(curves, bits, strict=True))
    losses = (c[b - 1] - c[b] if b else 0.0 for c, b in zip(curves, bits, strict=True))
    return tuple(gains), tuple(losses)


class DividedBits(NamedTuple):
    """A division of a budget over states. sides: of the change; old, new: bits by state, at most;
    bits: the configuration of each with those; gains, losses: under the old one, what the next bit
    of each state would save, and what its last one saves; curves: costs by state."""

    sides: Sides
    old: tuple[int, ...]
    new: tuple[int, ...]
    bits: tuple[Bits, ...]
    gains: tuple[float, ...]
    losses: tuple[float, ...]
    curves: tuple[tuple[float, ...], ...]


def divided_bits(
    priced: Sequence[tuple[SearchLoad, IndexCosts]],
    current: Sequence[int],
    budget: int,
    min_gain: float,
) -> DividedBits:
    """The best division of a budget: what it saves in a window beside the one in force, against
    the least share of what that costs. priced: of each state its load and the model."""
    settings = SelectionSettings(min(budget, MOST_SHARED))
    curves = [cost_curve(load, model, settings) for load, model in priced]
    costs = [curve.costs for curve in curves]
    best = divide_bits(costs, budget)
    now = [min(bits, settings.bits) for bits in current]
    cost = sum(curve[bits] for curve, bits in zip(costs, now, strict=True))
    sides = compared(
        "saved by the best division of bits, least gain", cost - best.cost, min_gain * cost
    )
    if best.bits == tuple(current):
        sides = sides._replace(verdict="kept")
    taken = tuple(curve.bits[bits] for curve, bits in zip(curves, best.bits, strict=True))
    return DividedBits(
        sides, tuple(current), best.bits, taken, *bit_margins(costs, now), tuple(costs)
    )


def _better(division: tuple[float, Bits], other: tuple[float, Bits] | None) -> tuple[float, Bits]:
    """The cheaper of two divisions of as many bits."""
    if other is None or division[0] < other[0] - EQUAL * abs(other[0]):
        return division
    is_equal = division[0] <= other[0] + EQUAL * abs(division[0])
    return max(division, other, key=lambda x: x[1]) if is_equal else other
