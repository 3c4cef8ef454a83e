"""Cost of a filter: per tuple and per call, from timings of calls of all sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.model.filters import CostSample
from backend.systems.agreedy.costs import LEAST_SHARE, UNKNOWN_US, CostWindow, call_cost
from tests.oracles import call_costs as oracle


def test_a_call_that_waited_does_not_move_the_cost() -> None:
    costs = CostWindow()
    assert costs.us("f") == UNKNOWN_US
    costs.add({"f": [CostSample(100, 200.0), CostSample(100, 210.0), CostSample(100, 90_000.0)]})
    assert costs.us("f") == pytest.approx(2.1, abs=0.11)
    costs.add({"f": [CostSample(3, 300.0), CostSample(0, 5.0)]})
    assert costs.us("f") == pytest.approx(2.1, abs=0.11)


@pytest.mark.parametrize("sizes", [(4000, 200), (50, 200), (50, 3), (4000, 4100)])
def test_the_cost_of_a_tuple_does_not_hang_on_how_many_are_asked_about(
    sizes: tuple[int, int],
) -> None:
    """A call takes 300 us and 0.5 us a tuple. Where all calls are alike and large, none says what
    they take for no tuple, and it is little of what they take."""
    rng, costs = np.random.default_rng(5), CostWindow()
    for n_tuples in (2000, 20, 400, 100, *sizes * 30):
        for _ in range(2):
            us = (300 + 0.5 * n_tuples) * float(rng.lognormal(0, 0.02))
            costs.add({"f": [CostSample(n_tuples, us)]})
    assert costs.us("f") == pytest.approx(0.5, rel=0.3)
    if min(sizes) < 1000:
        assert costs.cost("f").fixed == pytest.approx(300, rel=0.1)


def test_a_filter_is_never_free() -> None:
    costs = CostWindow()
    costs.add({"f": [CostSample(n, 300.0) for n in (5, 50, 500)]})
    assert costs.cost("f").fixed == pytest.approx(300)
    assert costs.us("f") == pytest.approx(LEAST_SHARE * 6)


timings = st.tuples(st.integers(1, 5000), st.floats(0.5, 1e5))


@given(st.lists(timings, min_size=1, max_size=12), st.floats(0, 1e4))
@settings(deadline=None)
def test_no_line_through_two_timings_fits_better(
    rows: list[tuple[int, float]], before: float
) -> None:
    """The exact least sum is at such a line, as at a corner of a linear program."""
    fitted = call_cost([CostSample(*row) for row in rows], before)
    least = min(oracle.off(line, rows, before) for line in oracle.lines(rows, before))
    per_tuple = fitted.per_tuple
    if per_tuple > LEAST_SHARE * float(np.median([us / n for n, us in rows])) * 1.001:
        assert oracle.off((fitted.fixed, per_tuple), rows, before) <= 1.05 * least + 0.05
