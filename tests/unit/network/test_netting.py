"""Net changes and canonical order against their definitions."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.netting import canonical_order, net
from backend.operators.network.regions import MemoryRegions
from backend.operators.network.strings import Strings
from tests.oracles.network_operators import Element, canonical
from tests.unit.network.playing import FIELDS, block_of, elements_of, histories


def netted(history: list[Element]) -> list[Element]:
    """What is left of each tick."""
    found: list[Element] = []
    for tau in sorted({element.tau for element in history}):
        sums: Counter[tuple[object, ...]] = Counter()
        for element in history:
            sums[element.row] += element.sign if element.tau == tau else 0
        for row in canonical(sums):
            found += [Element(row, tau, 1 if sums[row] > 0 else -1)] * abs(sums[row])
    return found


@given(histories(FIELDS, 40))
def test_net_changes(history: list[Element]) -> None:
    strings = Strings(MemoryRegions())
    block = block_of(history, FIELDS, strings)
    assert elements_of(net(block, FIELDS, strings), FIELDS, strings) == netted(history)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), max_size=120))
def test_order_within_ticks(pairs: list[tuple[int, int]]) -> None:
    """Also of ticks with more elements than one run; equal ones stay in order."""
    pairs = sorted(pairs, key=lambda pair: pair[0])
    tau = np.array([tau for tau, _ in pairs], np.int64)
    ranks = np.array([[rank for _, rank in pairs]], np.int64)
    expected = sorted(range(len(pairs)), key=lambda place: (*pairs[place], place))
    assert canonical_order(tau, ranks).tolist() == expected


def test_a_long_tick() -> None:
    """Runs are merged over several levels."""
    values = np.random.default_rng(7).permutation(5000).reshape(1, -1)
    order = canonical_order(np.zeros(5000, np.int64), values)
    assert values[0, order].tolist() == list(range(5000))
