"""Cost of a filter: per tuple and per call, from timings of calls of all sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from backend.model.filters import CostSample
from backend.systems.agreedy.costs import (
    LEAST_SHARE,
    UNKNOWN_US,
    CallCost,
    CostWindow,
    call_cost,
    evidence,
    is_other,
)
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
    costs.add({"f": [CostSample(n, 300.0) for n in (5, 50, 500) * 20]})
    assert costs.cost("f").fixed == pytest.approx(300)
    assert costs.us("f") == pytest.approx(LEAST_SHARE * 6)


def test_few_timings_of_a_slow_filter_are_its_tuples() -> None:
    """Calls of about as many tuples say little of what a call takes by itself."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        sizes = rng.integers(95, 105, 5)
        rows = [CostSample(int(n), 20 * n * float(rng.lognormal(0, 0.2))) for n in sizes]
        assert call_cost(rows).per_tuple > 10


class _Calls:
    """Timings that waits make longer, some of them by half: 0.3 us a tuple, 0.03 us; a call takes
    300 us, 40 us."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def take(self, per_tuple: float, fixed: float) -> CostSample:
        n = int(self._rng.lognormal(4, 1)) + 1
        waits = 1 + abs(self._rng.normal(0, 0.05)) + 0.5 * (self._rng.random() < 0.2)
        return CostSample(n, (fixed + per_tuple * n) * float(waits))

    def batch(self, costs: CostWindow, slow: Sequence[str], quick: Sequence[str]) -> None:
        slow_calls = {name: [self.take(0.3, 300) for _ in range(2)] for name in slow}
        costs.add(slow_calls | {name: [self.take(0.03, 40) for _ in range(2)] for name in quick})


@pytest.mark.parametrize("seed", range(3))
def test_costs_keep_still_and_filters_alike_cost_the_same(seed: int) -> None:
    """Of eight filters, half slow and half quick, as in ``recurring``."""
    calls, costs = _Calls(seed), CostWindow()
    slow, quick = ("a", "b", "c", "d"), ("e", "f", "g", "h")
    before: list[float] = []
    n_changes = 0
    for batch in range(500):
        calls.batch(costs, slow, quick)
        now = [costs.us(name) for name in (*slow, *quick)]
        if batch >= 100:
            n_changes += now != before
            assert 0.15 < min(now[:4]) <= max(now[:4]) < 0.6
            assert max(now[4:]) < min(now[:4]) / 3
        before = now
    assert n_changes <= 8
    assert len(set(before)) <= 4


def test_a_filter_that_becomes_slower_is_noticed_at_once() -> None:
    calls, costs = _Calls(1), CostWindow()
    for _ in range(300):
        calls.batch(costs, (), ("f",))
        costs.us("f")
    for _ in range(60):
        costs.add({"f": [calls.take(1.0, 40)]})
        costs.us("f")
    costs.add({"f": [calls.take(1.0, 40) for _ in range(64)]})
    assert costs.us("f") == pytest.approx(1.0, rel=0.25)


#: 64 timings of `probe(k, 100)` in a row, on a busy machine: tuples asked, then microseconds.
_ASKED = (
    *(1, 1, 2, 2, 3, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 7, 7, 8, 8, 8, 9, 9, 9, 9, 9, 9),
    *(10, 11, 11, 11, 13, 13, 13, 18, 19, 19, 21, 22, 23, 23, 24, 25, 25, 26, 27, 29, 30, 33, 38),
    *(40, 41, 43, 43, 43, 45, 46, 47, 48, 50, 57),
)
_TOOK = (
    *(305, 351, 345, 346, 305, 311, 312, 313, 328, 308, 309, 312, 360, 308, 312, 344, 359, 309),
    *(313, 315, 373, 315, 347, 374, 311, 314, 314, 322, 334, 462, 325, 310, 313, 348, 306, 312),
    *(597, 333, 309, 373, 341, 315, 311, 339, 323, 315, 371, 363, 363, 315, 372, 311, 313, 327),
    *(314, 313, 315, 321, 317, 310, 313, 365, 315, 313),
)


def test_few_tuples_a_call_do_not_make_a_filter_another_one() -> None:
    """They took a tenth of the time at most."""
    timings = [CostSample(n, float(us)) for n, us in zip(_ASKED, _TOOK, strict=True)]
    cost = CallCost(308.99, 0.2457)
    assert not is_other(timings, cost)
    slower = [CostSample(x.n_tuples, x.us + 15 * x.n_tuples) for x in timings]
    assert is_other(slower, cost)


@given(st.lists(st.tuples(st.integers(1, 500), st.floats(10, 1e3)), min_size=3, max_size=40))
@settings(deadline=None)
def test_evidence_is_that_of_the_slow_twin(rows: list[tuple[int, float]]) -> None:
    assume(len({n for n, _ in rows}) > 1)
    n, us = np.array(rows).T
    line = CallCost(float(np.quantile(us, 0.2)), 0.1)
    assert evidence(n, us, line) == pytest.approx(oracle.evidence(line, rows), rel=1e-3, abs=1e-6)


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
