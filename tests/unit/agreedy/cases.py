"""Shared cases: the filters of Fig. 4.2, random profile windows, packing them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from backend.adaptive.ordering.view import Columns
from backend.model.bits import pack
from tests.oracles.filters import Drops

#: Fig. 4.2 and 4.3: the filters (0 = F1) that drop each value of S; 1 is dropped by none.
DROPPED_BY = {1: "", 2: "3", 4: "234", 7: "1", 5: "124"}
ARRIVALS = (1, 2, 1, 4, 7, 2, 5, 4)
UNIT = (1, 1, 1, 1)


def figure_rows(values: Sequence[int]) -> list[list[bool]]:
    """The tuples of Fig. 4.2 with these values."""
    return [[str(x + 1) in DROPPED_BY[value] for x in range(4)] for value in values]


def order_of(text: str) -> list[int]:
    """``F3,F1,F2,F4`` as filter indices."""
    return [int(name.strip()[1:]) - 1 for name in text.split(",")]


def packed(drops: Drops, n: int) -> Columns:
    """Rows of drops as column bitsets."""
    rows = np.array([list(row) for row in drops], dtype=np.bool_).reshape(len(drops), n)
    return pack(rows.T)


class Case(NamedTuple):
    """Tuples some filter drops, costs by filter, an order of the filters."""

    drops: list[list[bool]]
    costs: list[int]
    order: list[int]

    @property
    def n(self) -> int:
        return len(self.costs)


@st.composite
def cases(draw: st.DrawFn, most: int = 5, tuples: int = 24, free: bool = True) -> Case:
    """Windows of up to ``most`` filters; many ties; with ``free`` some filters cost nothing."""
    n = draw(st.integers(1, most))
    row = st.lists(st.booleans(), min_size=n, max_size=n).filter(any)
    drops = draw(st.lists(row, max_size=tuples))
    prices = st.sampled_from([0, 1, 1, 2, 3, 10] if free else [1, 1, 2, 3, 10])
    costs = draw(st.lists(prices, min_size=n, max_size=n))
    order = draw(st.permutations(range(n)))
    return Case(drops, costs, list(order))
