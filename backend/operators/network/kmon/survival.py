"""How distances are distributed when some pairs have not joined yet, and some never will.

Kaplan-Meier by bins of distances: tuples that wait, and those let go, are at risk up to their age.
Where the curve ends above 0 are those that never join; distances are told given that a pair does.
[Kaplan, Meier 1958; Maller, Zhou 1992]
"""

from __future__ import annotations

import math
from typing import Final

from backend.operators.network.kmon import tuning
from backend.operators.network.kmon.estimates import Estimates
from backend.operators.network.kmon.tuning import BINS_ALONE, BINS_OF_OCTAVE, DISTANCE_BINS
from backend.operators.selection.bits import called, inlined

#: What rounding may leave of events; one has a weight of 1 at the least.
_ROUNDED: Final = 1e-6

bin_end = inlined(tuning.bin_end)


@inlined
def distance_bin(distance: int) -> int:
    """0 to 15 each its own, then 8 to an octave; the last is open."""
    if distance < BINS_ALONE:
        return distance
    shift = 1
    while distance >> shift >= 2 * BINS_OF_OCTAVE:
        shift += 1
    return min(BINS_ALONE + (shift - 2) * BINS_OF_OCTAVE + (distance >> shift), DISTANCE_BINS - 1)


@called
def joining_share(e: Estimates, c: int) -> float:
    """Share of tuples that join; ``bins`` becomes the share of each bin among those that join."""
    at_risk, left = 0.0, 1.0
    for i in range(DISTANCE_BINS):
        at_risk += e.events[c, i] + e.waiting[c, i] + e.gone[c, i]
    for i in range(DISTANCE_BINS):
        events, e.bins[c, i] = e.events[c, i], 0.0
        if events > _ROUNDED:
            e.bins[c, i] = left * events / max(at_risk, events)
            left -= e.bins[c, i]
        at_risk -= events + e.waiting[c, i] + e.gone[c, i]
    for i in range(DISTANCE_BINS):
        e.bins[c, i] /= 1 - left
    return 1 - left


@called
def at_tail(e: Estimates, c: int, share: float) -> int:
    """The least bin that no more than a share of the joining pairs is above."""
    bin, tail = DISTANCE_BINS - 1, 0.0
    while bin > 0 and tail + e.bins[c, bin] <= share * (1 + 1e-9):
        tail += e.bins[c, bin]
        bin -= 1
    return bin


@called
def upper_end(e: Estimates, c: int, n: float, share: float) -> int:
    """Upper end of a 95 % interval of the quantile 1 - share beyond what was observed: the largest
    sqrt(n) of n distances say how an exponential tail falls. -1: not known."""
    if share <= 0:
        return -1
    base = at_tail(e, c, 1 / math.sqrt(n))
    above, excess = 0.0, 0.0
    for bin in range(base + 1, DISTANCE_BINS):
        above += e.bins[c, bin]
        excess += e.bins[c, bin] * (bin_end(bin) - bin_end(base))
    if above <= 0:
        return bin_end(base)
    steps = math.log(max(above / share, 1.0))
    far = steps + 1.96 * math.sqrt((1 + steps * steps) / (above * n))
    return bin_end(base) + math.ceil(excess / above * far)
