"""The ledger against every sequence of configurations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.systems.amri.migration import moving_cost
from storage.vocabulary.amri_costs import WorkCosts
from storage.vocabulary.amri_windows import IndexRegret
from tests.oracles.amri_time import best_sequence

CANDIDATES = [(0, 0), (2, 0), (1, 1)]
COSTS = st.lists(st.tuples(*[st.integers(0, 40)] * 3), min_size=1, max_size=6)


@given(COSTS, st.integers(0, 4), st.booleans())
@settings(max_examples=80)
def test_the_best_in_hindsight_is_that_of_all_sequences(
    windows: list[tuple[int, ...]], n_stored: int, is_measured: bool
) -> None:
    costs = WorkCosts(2, 1, 1, 3, move=5.0 if is_measured else None)
    ledger = IndexRegret(np.array(CANDIDATES), costs)
    for window in windows:
        ledger.account(np.array(window, dtype=float), 50.0, n_stored)
        other = IndexRegret(np.array(CANDIDATES), costs)
        other.restore(ledger.state())
        ledger = other
    prices = [[moving_cost(costs, n_stored, a, b) for b in CANDIDATES] for a in CANDIDATES]
    found = ledger.totals
    floats = [list(map(float, window)) for window in windows]
    assert found.sequence == pytest.approx(best_sequence(floats, prices))
    sums = [sum(window[k] for window in windows) for k in range(3)]
    assert found.fixed == min(sums)
    assert found.fixed_bits == CANDIDATES[sums.index(min(sums))]
    assert found.sequence <= found.fixed
    assert (found.spent, found.n_windows) == (50.0 * len(windows), len(windows))


def test_other_candidates_begin_anew() -> None:
    ledger = IndexRegret(np.array(CANDIDATES), WorkCosts())
    ledger.account(np.ones(3), 1.0, 0)
    other = IndexRegret(np.array(CANDIDATES[:2]), WorkCosts())
    other.restore(ledger.state())
    assert other.totals.n_windows == 0
