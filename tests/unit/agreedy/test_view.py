"""V, violations and their correction against the definitions."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.ordering.ranks import best, fraction, ranks_below
from backend.adaptive.ordering.view import MatrixView, row_of, view_of
from backend.model.bits import pack
from tests.oracles import filters as oracle
from tests.unit.agreedy.cases import Case, cases, packed

ALPHAS = st.sampled_from([Fraction(1), Fraction(9, 10), Fraction(1, 2), Fraction(0)])


@given(cases())
def test_the_view_is_the_definition(case: Case) -> None:
    columns = packed(case.drops, case.n)
    assert view_of(columns, case.order).tolist() == oracle.view(case.drops, case.order)
    for row in range(case.n):
        expected = oracle.view(case.drops, case.order)[row]
        assert row_of(columns, case.order, row).tolist() == expected


@given(cases(), st.data())
def test_steps_of_the_window_add_up_to_the_view_from_scratch(
    case: Case, data: st.DataObject
) -> None:
    view = MatrixView(case.order)
    window: list[list[bool]] = []
    rest = list(case.drops)
    while rest:
        arrive = data.draw(st.integers(1, len(rest)))
        inserted, rest = rest[:arrive], rest[arrive:]
        leave = data.draw(st.integers(0, len(window) + len(inserted)))
        window += inserted
        expired, window = window[:leave], window[leave:]
        view.update(packed(inserted, case.n), packed(expired, case.n))
        assert view.counts.tolist() == oracle.view(window, case.order)


@given(cases(), ALPHAS)
def test_violations_are_found_exactly(case: Case, alpha: Fraction) -> None:
    view = MatrixView(case.order)
    view.rebuild(packed(case.drops, case.n))
    found = view.violations(case.costs, alpha, np.ones((case.n, case.n), dtype=np.bool_))
    assert [tuple(pair) for pair in found] == (
        oracle.violations(case.drops, case.order, case.costs, alpha) if alpha else []
    )


@given(cases())
def test_one_correction_is_that_of_figure_4_7(case: Case) -> None:
    found = oracle.violations(case.drops, case.order, case.costs)
    if not found:
        return
    columns = packed(case.drops, case.n)
    for mode in ("swap", "shift"):
        view = MatrixView(case.order)
        view.rebuild(columns)
        view.correct(found[0][0], columns, case.costs, mode)
        expected = oracle.correct(case.drops, case.order, case.costs, found[0][0], mode)
        assert view.order == expected
        assert view.counts.tolist() == oracle.view(case.drops, expected)


@given(cases(), ALPHAS, st.sampled_from(["swap", "shift"]))
def test_the_invariant_holds_after_every_correction(
    case: Case, alpha: Fraction, mode: Literal["swap", "shift"]
) -> None:
    columns = packed(case.drops, case.n)
    view = MatrixView(case.order)
    view.rebuild(columns)
    corrected = view.correct_all(columns, case.costs, alpha, mode)
    if alpha:
        assert not oracle.violations(case.drops, view.order, case.costs, alpha)
    if alpha == 1:
        assert oracle.satisfies_invariant(case.drops, view.order, case.costs)
    assert corrected == sorted(corrected)
    assert sorted(view.order) == list(range(case.n))
    assert view.counts.tolist() == oracle.view(case.drops, view.order)


@given(cases())
def test_an_order_that_holds_is_left_alone(case: Case) -> None:
    order = oracle.greedy(case.drops, case.n, case.costs)
    view = MatrixView(order)
    view.rebuild(packed(case.drops, case.n))
    assert view.correct_all(packed(case.drops, case.n), case.costs) == []
    assert view.order == order


@given(cases(), st.data())
def test_native_filters_keep_the_front(case: Case, data: st.DataObject) -> None:
    n_native = data.draw(st.integers(0, case.n))
    columns = packed(case.drops, case.n)
    view = MatrixView(case.order, n_native)
    view.rebuild(columns)
    view.correct_all(columns, case.costs)
    assert set(view.order[:n_native]) == set(case.order[:n_native])
    broken = oracle.violations(case.drops, view.order, case.costs)
    assert all(i < n_native <= j for i, j in broken)


@given(cases(most=8))
def test_an_update_touches_no_more_entries_than_the_card_says(case: Case) -> None:
    limit = (case.n + 1) ** 2 // 4
    for row in case.drops:
        assert np.count_nonzero(view_of(packed([row], case.n), case.order)) <= limit


@pytest.mark.parametrize(
    ("own", "other", "below"),
    [
        ((0, 5), (0, 0), False),  # 0/0 is 0
        ((0, 0), (1, 9), True),
        ((3, 0), (5, 0), False),  # both infinite
        ((3, 1), (1, 0), True),
        ((1, 0), (9, 1), False),
        ((1, 3), (2, 6), False),  # a tie
        ((10**9, 3 * 10**12), (10**9 + 1, 3 * 10**12), True),
    ],
)
def test_ranks_are_compared_exactly(
    own: tuple[int, int], other: tuple[int, int], below: bool
) -> None:
    assert ranks_below(*own, *other) is below


def test_ties_stay_with_the_incumbent_and_alpha_is_decimal() -> None:
    assert best([2, 4, 1], [1, 2, 1]) == 0
    assert fraction(0.9) == Fraction(9, 10)
    assert not ranks_below(9, 1, 10, 1, fraction(0.9))
    assert ranks_below(899, 1, 1000, 1, fraction(0.9))


def test_a_pair_knows_what_both_drop() -> None:
    drops = [[True, True, False], [False, True, True], [True, False, True]]
    columns = packed(drops, 3)
    view = MatrixView([2, 0, 1])
    view.rebuild(columns)
    assert view.both(0, 2, 0, columns) == 1
    assert view.both(1, 0, 1, columns) == 1
    assert view.alive(5) == [5, 3, 2, 2]


def test_no_filters_and_no_tuples() -> None:
    assert view_of(pack(np.zeros((0, 0), dtype=np.bool_)), []).shape == (0, 0)
    view = MatrixView([0, 1])
    view.rebuild(pack(np.zeros((2, 0), dtype=np.bool_)))
    assert view.correct_all(pack(np.zeros((2, 0), dtype=np.bool_)), [1, 1]) == []
