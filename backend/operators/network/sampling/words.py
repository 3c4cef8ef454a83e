"""How a sample lies in arrays: what kernels and operators call their words."""

from __future__ import annotations

from typing import Final, NamedTuple

from backend.operators.network.core.blocks import Ints, Values

#: Of a kept tuple: its rank in [0, 1) by a hash of its number and the probability with which it was
#: kept, as bits of float64; its tick, or its number; then the packed tuple.
RANK, PROB, POSITION, TUPLE = range(4)
#: The oldest kept tuple, the first that the window does not show yet, the first free row. LEVEL: of
#: the probability. N_BELOW: kept with less than certainty; REACHED: how far the window has moved;
#: LAST: the tick of the last arrival, + 1; EVENT: of what was told last; DROPPED: position of the
#: last tuple that was shed, if HAS_DROPPED. NUMBERED: arrivals of a stream without numbers.
LO, SHOWN, HI, LEVEL, N_BELOW, REACHED, LAST, EVENT, HAS_DROPPED, DROPPED, NUMBERED = range(11)
N_FACTS: Final = 11
#: What is told: tick, sign, the probability's bits, then the packed tuple.
TOLD_TAU, TOLD_SIGN, TOLD_PROB, TOLD_TUPLE = range(4)
#: What a kernel has done: changes told, arrivals taken, ticks passed, tuples shed, whether it is
#: over, whether it needs more rows.
N_TOLD, TAKEN, TICKED, N_SHED, IS_OVER, IS_FULL = range(6)
N_DONE: Final = 6


class SampleRules(NamedTuple):
    """size, slide: of the window; most: the probability where there is no limit; limit: tuples that
    may be kept, 0 = all, and target, how many are left once there are more."""

    by_rows: bool
    size: int
    slide: int
    most: float
    limit: int
    target: int


class SampleArrivals(NamedTuple):
    """n arrivals in nondecreasing tick. numbers: from 1 on; ranks: in [0, 1); tuples: int64[n,
    words], packed. ticks, positions: of windows of rows, the ticks at which tuples of the stream
    arrive, in any shard, and the number of the last of each."""

    taus: Ints
    numbers: Ints
    ranks: Values
    tuples: Ints
    ticks: Ints
    positions: Ints


class KeptSample(NamedTuple):
    """rows: int64[capacity, TUPLE + words]; weight: float64[1], how many tuples the kept ones stand
    for."""

    rows: Ints
    facts: Ints
    weight: Values
