"""Net changes and canonical order against their definitions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.relational.netting import canonical_order, net
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


#: Few values, near each other or as far as integers are.
RANKS = st.integers(0, 5) | st.sampled_from([-(2**63), -1, 2**63 - 1])


@given(st.lists(st.tuples(st.integers(0, 2), RANKS, RANKS), max_size=120))
def test_order_within_ticks(elements: list[tuple[int, int, int]]) -> None:
    """Also of ticks with more elements than one run; equal ones stay in order."""
    elements = sorted(elements, key=lambda element: element[0])
    columns = np.array(elements, np.int64).reshape(-1, 3).T.copy()
    expected = sorted(range(len(elements)), key=lambda place: (*elements[place], place))
    assert canonical_order(columns[0], columns[1:]).tolist() == expected


@pytest.mark.parametrize("apart", [1, 2**50], ids=["as words", "by comparison"])
def test_a_long_tick(apart: int) -> None:
    """Runs are merged over several levels where ranks are too far apart for a word."""
    values = np.random.default_rng(7).permutation(5000).reshape(1, -1) * apart
    order = canonical_order(np.zeros(5000, np.int64), values)
    assert values[0, order].tolist() == list(range(0, 5000 * apart, apart))


@given(histories(FIELDS, 40), st.sampled_from([1, -1]))
def test_net_changes_of_one_sign(history: list[Element], sign: int) -> None:
    strings = Strings(MemoryRegions())
    found = elements_of(
        net(block_of(history, FIELDS, strings), FIELDS, strings, sign), FIELDS, strings
    )
    assert found == [element for element in netted(history) if element.sign == sign]
