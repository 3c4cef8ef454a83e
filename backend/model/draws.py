"""Seeded random numbers by place: the same place always draws the same number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_MASK = (1 << 64) - 1


def seed_of(*numbers: int) -> int:
    """One 64-bit seed made of several numbers."""
    seed = 0
    for number in numbers:
        seed = int(_mixed(np.array([(seed + number * _STEP + _STEP) & _MASK], dtype=np.uint64))[0])
    return seed


def seeds_of(seed: int, numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """uint64[n]: ``seed_of(seed, number)`` of each."""
    first = np.uint64((seed_of(seed) + _STEP) & _MASK)
    return _mixed(numbers.astype(np.uint64) * np.uint64(_STEP) + first)


def draws(seed: int, places: NDArray[Any]) -> NDArray[np.uint32]:
    """uint32, uniform, by place. SplitMix64, the upper half."""
    steps = places.astype(np.uint64) * np.uint64(_STEP) + np.uint64(seed & _MASK)
    return (_mixed(steps) >> np.uint64(32)).astype(np.uint32)


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_SECOND)
    return z ^ (z >> np.uint64(31))
