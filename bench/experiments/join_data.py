"""Streams of the join experiments. [B05] §5.8

Rounds: "join attributes take the same values in the same order" is one value a round, which never
comes back; multiplicities say how many tuples of each stream have it. Table 5.2 gives rates and
pairwise selectivities, not the generator behind them; here values are of a block all streams share
and of one for each pair, so that any two streams agree as often as the table says.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.kinds.joins import JoinOp
from bench.experiments.join_running import Arrivals

#: R(A) ⋈ S(A, B) ⋈ T(B).
R, S, T = range(3)
THREE_WAY: Final = JoinOp((((R, 0), (S, 0)), ((S, 1), (T, 0))))
#: T's pipeline joins with S first; the cache of R ⋈ S is read there.
THREE_WAY_ORDERS: Final = ((S, T), (R, T), (S, R))


def on_one_attribute(n: int) -> JoinOp:
    """R1 ⋈ ... ⋈ Rn on one attribute."""
    return JoinOp((tuple((i, 0) for i in range(n)),))


def rounds(
    n_rounds: int,
    window_rounds: int,
    repeats: Sequence[float],
    rng: np.random.Generator,
    apart: bool = False,
) -> Arrivals:
    """In round k stream i brings ``repeats[i]`` tuples with the value k, in any order; where that
    is no whole number, 5 tuples in so many fewer rounds. Windows hold ``window_rounds`` rounds.
    apart: the first stream has other values, so that nothing joins with it."""
    streams, values = [], []
    for input, many in enumerate(repeats):
        per_round = np.full(n_rounds, int(many))
        if many != int(many):
            per_round[:] = 0
            per_round[:: round(5 / many)] = 5
        which = np.repeat(np.arange(n_rounds), per_round)
        streams.append(np.full(len(which), input))
        values.append(np.stack([which + rng.random(len(which)), which], axis=1))
    stream, drawn = np.concatenate(streams), np.concatenate(values)
    order = np.argsort(drawn[:, 0])
    keys = drawn[order, 1].astype(np.int64)
    if apart:
        keys[stream[order] == 0] += n_rounds
    sizes = tuple(max(1, round(window_rounds * many)) for many in repeats)
    both = np.stack([keys, keys], axis=1)
    return Arrivals(stream[order], both, sizes, tuple(2 for _ in repeats))


class DataPoint(NamedTuple):
    """A row of Table 5.2: rates of R, S, T, U; selectivities RS, RT, RU, ST, SU, TU."""

    rates: tuple[float, ...]
    selectivities: tuple[float, ...]


POINTS: Final = {
    "D1": DataPoint((10, 1, 1, 1), (0.004, 0.005, 0.005, 0.007, 0.0045, 0.005)),
    "D2": DataPoint((8, 1, 1, 8), (0.004, 0.005, 0.005, 0.007, 0.0045, 0.005)),
    "D3": DataPoint((10, 15, 1, 5), (0.003, 0.005, 0.007, 0.0045, 0.006, 0.008)),
    "D4": DataPoint((1, 1, 1, 1), (0.003, 0.004, 0.0067, 0.002, 0.0023, 0.0027)),
    "D5": DataPoint((4, 1, 1, 4), (0.005, 0.007, 0.005, 0.006, 0.005, 0.002)),
    "D6": DataPoint((1, 1, 1, 1), (0.005, 0.0033, 0.0025, 0.0067, 0.005, 0.0075)),
    "D7": DataPoint((1, 1, 1, 1), (0.0,) * 6),
    "D8": DataPoint((1, 1, 1, 1), (0.001,) * 6),
}
#: Share of tuples with values of the common block.
_COMMON: Final = 0.7
#: Share of the least selectivity that the common block makes.
_BASE: Final = 0.8


def four_way(point: DataPoint, n: int, window: int, rng: np.random.Generator) -> Arrivals:
    """n tuples of four streams on one attribute; every window holds ``window`` tuples."""
    prob = np.array(point.rates) / sum(point.rates)
    streams = rng.choice(4, n, p=prob)
    keys = np.empty(n, np.int64)
    for input in range(4):
        own = np.flatnonzero(streams == input)
        keys[own] = _values(point, input, len(own), rng)
    return Arrivals(streams, keys[:, None], (window,) * 4, (1,) * 4)


def _values(point: DataPoint, input: int, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The attribute of n tuples of a stream."""
    if not any(point.selectivities):
        return rng.integers(0, 1000, n) + 1000 * input
    base = _BASE * min(point.selectivities)
    share = (1 - _COMMON) / 3
    weights, sizes, starts = [_COMMON], [round(_COMMON**2 / base)], [0]
    for k, pair in enumerate(combinations(range(4), 2)):
        if input in pair:
            weights.append(share)
            sizes.append(max(1, round(share**2 / (point.selectivities[k] - base))))
            starts.append(10_000 * (k + 1))
    block = rng.choice(len(weights), n, p=weights)
    return np.array(starts)[block] + rng.integers(0, np.array(sizes)[block])


def burst(n: int, at: int, times: int, rng: np.random.Generator) -> Arrivals:
    """Fig. 5.22: R(A), S(A, B), T(B) with rates 1, 1, 5; from tuple ``at`` on R comes ``times`` as
    often. Values 0..99."""
    before = rng.choice(3, at, p=np.array([1, 1, 5]) / 7)
    after = rng.choice(3, n - at, p=np.array([times, 1, 5]) / (times + 6))
    values = rng.integers(0, 100, (n, 2))
    streams = np.concatenate([before, after])
    values[streams == T, 0] = values[streams == T, 1]
    return Arrivals(streams, values, (100, 100, 100), (1, 2, 1))
