"""What ranges leave, from what requests met: against counts worked out from the shares."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.eddy.tuning import StateReport
from backend.systems.amri.bit_choices import ChosenBits
from backend.systems.amri.selection import with_prior
from backend.systems.amri.states import StateIndex
from storage.vocabulary.amri_costs import SearchLoad
from storage.vocabulary.amri_counts import PatternCounts, StateCounts
from storage.vocabulary.amri_patterns import JoinAttribute
from storage.vocabulary.amri_ranges import LEAST_MEASURED, range_shares
from storage.vocabulary.amri_windows import distinct_values
from tests.oracles.amri_records import request_cost
from tests.unit.amri.running_eddies import knobs_of

#: Tuples of the state.
STORED: Final = 1000
#: <k, x, y>, of which the last two are asked for by order alone.
K, X, Y = 4, 2, 1
SHARE: Final = st.sampled_from([0.01, 0.04, 0.2, 0.5, 0.9])
BITS: Final = st.integers(0, 10)


def row(
    n: int, of_key: float, shares: tuple[float, float], bits: tuple[int, ...], pattern: int
) -> PatternCounts:
    """Of n requests to a state whose codes of b bits leave the tuples in range and, of the rest,
    the code that the range ends in."""
    left, asked = 1.0, [pattern & X > 0, pattern & Y > 0]
    for share, b, is_asked in zip(shares, bits[1:], asked, strict=True):
        left *= share + (1 - share) / 2 ** min(b, 8) if is_asked else 1.0
    met = n * STORED * (of_key if pattern & K else 1.0) * left
    in_range = [
        met * share / (share + (1 - share) / 2 ** min(b, 8)) if is_asked else 0.0
        for share, b, is_asked in zip(shares, bits[1:], asked, strict=True)
    ]
    matched = met * math.prod(
        part / met for part, is_asked in zip(in_range, asked, strict=True) if is_asked
    )
    return (n, round(matched), round(met), 0, 0, round(met), 0, *map(round, in_range))


@given(SHARE, SHARE, st.tuples(BITS, BITS, BITS), st.booleans(), st.sampled_from([3, 7]))
def test_shares_are_those_that_the_counts_are_of(
    of_x: float, of_y: float, bits: tuple[int, ...], is_module: bool, pattern: int
) -> None:
    """Under any bits, of both ranges at once; a hash module reads no codes."""
    load = SearchLoad(3, {}, window=STORED, ordered=X | Y)
    seen = (0, 0, 0) if is_module else bits
    counts = StateCounts(1, {pattern: row(400_000, 0.01, (of_x, of_y), seen, pattern)})
    found = range_shares(load, counts, bits, [pattern] if is_module else [])
    assert found == pytest.approx({1: of_x, 2: of_y}, rel=0.02)
    distinct = distinct_values(load, counts, bits, [pattern] if is_module else [])
    expected = [100.0 if pattern & K else math.inf, 1 / of_x, 1 / of_y]
    assert distinct == pytest.approx(expected, rel=0.05)


def test_of_several_patterns_each_weighs_as_much_as_it_compared() -> None:
    load = SearchLoad(3, {}, window=STORED, ordered=X)
    wide = (1000, 5000, 10_000, 0, 0, 9_998, 0, 4_999, 0)
    narrow = (1000, 300, 30_000, 0, 0, 29_998, 0, 299, 0)
    for counts, share in (
        ({6: wide}, 0.5),
        ({7: narrow}, 0.01),
        ({6: wide, 7: narrow}, (0.5 + 3 * 0.01) / 4),
        ({6: wide, 2: (1000, 20_000, 1_000_000, 0, 0, 0, 0, 0, 0)}, (0.5 + 100 * 0.02) / 101),
    ):
        found = range_shares(load, StateCounts(1, counts), (3, 0, 0))
        assert found == {1: pytest.approx(share)}


def test_of_few_requests_and_of_older_records_nothing_is_known() -> None:
    load = SearchLoad(3, {}, window=STORED, ordered=X)
    few = (LEAST_MEASURED - 1, 5000, 10_000, 0, 0, 9_998, 0, 4_999, 0)
    older, empty = (1000, 5000, 10_000, 0, 0), (1000, 0, 10_000, 0, 0, 0, 0, 0, 0)
    for counts in ({6: few}, {6: older}, {6: empty}, {4: older}):
        assert range_shares(load, StateCounts(1, counts), (3, 0, 0)) == {}
        assert distinct_values(load, StateCounts(1, counts), (3, 0, 0))[1] == math.inf
    assert range_shares(load, StateCounts(1, {2: older}), (3, 0, 0)) == {1: 0.005}


def test_the_prior_asks_for_no_range_that_nothing_asks_for() -> None:
    load = with_prior(SearchLoad(3, {K | X: 1.0}, ordered=X), 0.3)
    own = {K | X: 0.7 + 0.075, K: 0.075, K | Y: 0.075, Y: 0.075}
    assert load.frequencies == pytest.approx(own)
    every = with_prior(SearchLoad(2, {1: 1.0}), 0.3)
    assert every.frequencies == pytest.approx({1: 0.8, 2: 0.1, 3: 0.1})


@pytest.mark.parametrize("selection", ["accumulated", "window"])
@pytest.mark.parametrize(
    ("pattern", "shares", "bits"),
    [
        (K | X, (0.01, 1.0), (5, 3, 0)),
        (K | X, (0.5, 1.0), (5, 3, 0)),
        (K | X, (0.98, 1.0), (8, 0, 0)),
        (X | Y, (0.05, 0.98), (3, 5, 0)),
        (X | Y, (0.98, 0.05), (3, 0, 5)),
    ],
)
def test_bits_go_to_ranges_as_far_as_these_are_narrow(
    pattern: int, shares: tuple[float, float], bits: tuple[int, ...], selection: str
) -> None:
    """Keys of 20 values tell no more apart by the bits beyond, and were never asked for alone."""
    none, other = frozenset[int](), frozenset([1])
    attributes = [JoinAttribute(0, other, none), *(JoinAttribute(k, none, other) for k in (1, 2))]
    state = StateIndex(["k", "x", "y"], attributes)
    state.turn(knobs_of(index_bits=8, selection=selection), None)
    assert state.bits == (8, 0, 0)
    report = StateReport(STORED, 0, (), 0, 0, (STORED,), STORED, 1024)
    state.observe(1000, {pattern: row(4000, 0.05, shares, state.bits, pattern)}, report)
    state.begin()
    chosen = state.select()
    assert isinstance(chosen, ChosenBits)
    assert chosen.selection.bits == bits
    assert state.priced is not None
    load, model = state.priced
    for some in (bits, (8, 0, 0), (0, 8, 0), (2, 3, 3)):
        cost = float(model.request_costs(load, np.array([some]))[0] @ load.shares)
        assert request_cost(chosen.basis, some) == pytest.approx(cost)
