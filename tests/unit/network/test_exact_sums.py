"""Sums of floats whose limbs widen and carry."""

from __future__ import annotations

import math

import numpy as np
import pytest

from backend.operators.network.core.blocks import Column64
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.relational.episodes import BeforeAfter, EpisodeFinder, Episodes
from backend.operators.network.relational.exact_sums import FloatSums
from backend.operators.network.relational.keys import KeyTable


class Summed:
    """Sums by group; what is added goes to regions alone."""

    def __init__(self) -> None:
        self.regions = MemoryRegions()

    def add(self, groups: list[int], values: list[float], delta: int = 1) -> list[float]:
        """One tick; the sums of the groups after it, in order of their first values."""
        table = KeyTable(self.regions.scope("groups"), [np.dtype(np.int64)])
        sums = FloatSums(self.regions.scope("sums"), table)
        slots = table.slots([Column64(np.array(groups))])
        episodes: Episodes = EpisodeFinder().find(slots, np.zeros_like(slots), table.capacity)
        sums.add(episodes, np.array(values), np.full(len(values), delta))
        counts = BeforeAfter(*np.ones((2, len(episodes)), np.int64))
        return [float(value) for value in sums.sums(counts)[1].values]


@pytest.mark.parametrize(
    "magnitudes", [[1.0, 1e-300, 1e300, 5e-324], [1e300, 1.0], [5e-324, 1e-3, 1e9]]
)
def test_later_values_are_smaller_or_larger(magnitudes: list[float]) -> None:
    """Sums that are there keep their value when limbs are added on either side."""
    summed = Summed()
    so_far: list[list[float]] = [[], []]
    for magnitude in magnitudes:
        new = [magnitude * 1.1, -magnitude * 0.7]
        found = summed.add([0, 1], new)
        so_far = [[*past, value] for past, value in zip(so_far, new, strict=True)]
        assert found == [math.fsum(values) for values in so_far]
    for magnitude in magnitudes:
        found = summed.add([0, 1], [magnitude * 1.1, -magnitude * 0.7], delta=-1)
    assert found == [0.0, 0.0]


def test_groups_that_are_new_have_the_limbs_of_the_others() -> None:
    summed = Summed()
    summed.add([0], [1e100])
    many = list(range(500))
    assert summed.add(many, [0.1] * 500) == [1e100, *[0.1] * 499]


@pytest.mark.parametrize("exponent", range(32))
@pytest.mark.parametrize("sign", [1, -1])
def test_many_large_values_in_one_tick(exponent: int, sign: int) -> None:
    """The last limb carries as well, wherever the values begin in theirs."""
    value = sign * (2 - 2.0**-52) * 2.0**exponent
    assert Summed().add([0] * 20_000, [value] * 20_000) == [math.fsum([value] * 20_000)]
