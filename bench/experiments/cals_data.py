"""Streams of temporal tuples in which values repeat with a probability. Card B5"""

from __future__ import annotations

from typing import Final

import numpy as np

from backend.operators.network.shedding.temporal import TemporalTuple

#: Lengths of valid times, and how many values there are.
LENGTHS: Final = (1, 10)
N_VALUES: Final = 10
MEAN_LENGTH: Final = sum(LENGTHS) / 2


def repeating(n: int, repeat_prob: float, rng: np.random.Generator) -> list[TemporalTuple]:
    """n tuples, each beginning where the one before ends: with ``repeat_prob`` of the same value,
    else of another. Arrivals are numbered from 1 on."""
    lengths = rng.integers(LENGTHS[0], LENGTHS[1], size=n, endpoint=True)
    steps = np.where(rng.random(n) < repeat_prob, 0, rng.integers(1, N_VALUES, size=n))
    values = np.cumsum(steps) % N_VALUES
    ends = np.cumsum(lengths)
    rows = zip(values.tolist(), (ends - lengths).tolist(), ends.tolist(), strict=True)
    return [TemporalTuple(k, (value,), begin, end) for k, (value, begin, end) in enumerate(rows, 1)]


def mean_run(repeat_prob: float) -> float:
    """Expected length of a run."""
    return MEAN_LENGTH / (1 - repeat_prob)
