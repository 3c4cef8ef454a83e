"""Eq. 1 and its refinement against exact sums, and the worked numbers of the paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.vocabulary.amri_costs import (
    IndexCosts,
    SearchLoad,
    WorkCosts,
    capped_reach,
    corrections,
)
from tests.oracles import amri_selection as twin
from tests.unit.amri.cases import SHARES_2, as_load, as_model, exact_loads

EXAMPLE = SearchLoad(3, SHARES_2, arrivals=100, requests=50, window=10)


@given(exact_loads(), st.data(), st.booleans())
def test_costs_are_those_of_the_terms_one_by_one(
    case: tuple[int, twin.Load], data: st.DataObject, literal: bool
) -> None:
    n, exact = case
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 6)] * n), min_size=1, max_size=4))
    found = as_model(exact, 6, literal).parts(as_load(n, exact), np.array(rows)).total
    assert found.tolist() == pytest.approx([float(twin.cost(exact, row, literal)) for row in rows])


@given(exact_loads(), st.data())
def test_costs_of_requests_and_of_upkeep_are_the_whole(
    case: tuple[int, twin.Load], data: st.DataObject
) -> None:
    n, exact = case
    load, model = as_load(n, exact), as_model(exact, 6)
    rows = np.array([data.draw(st.tuples(*[st.integers(0, 6)] * n))])
    of_each = model.request_costs(load, rows)
    parts = model.parts(load, rows)
    whole = parts.hash_insert + load.requests * (of_each @ load.shares)
    assert whole.tolist() == pytest.approx(parts.total.tolist())


def test_the_worked_costs_of_the_paper() -> None:
    """Card A11.5, 6."""
    rows = np.array([[1, 1, 2], [0, 2, 2], [0, 1, 3]])
    parts = IndexCosts().parts(EXAMPLE, rows)
    per_unit = parts.search / (50 * 100 * 10)
    assert per_unit.tolist() == pytest.approx([0.16625, 0.175, 0.1775])
    assert [float(of[0]) for of in parts] == pytest.approx([300, 111, 8312.5, 0])
    literal = IndexCosts(literal=True).parts(EXAMPLE, rows)
    assert literal.hash_request[0] == pytest.approx(600)


def test_64_bits_leave_nothing_to_choose() -> None:
    """Erratum of card A5: below .005 comparisons a request at 10 000 tuples, whatever is asked."""
    of_any = SearchLoad(3, dict.fromkeys(range(1, 8), 1 / 7), window=10_000)
    assert IndexCosts().compared(of_any, np.array([[22, 21, 21]])).max() < 0.005


def test_an_even_split_scans_a_root_of_the_window() -> None:
    """Card A12: W^(1 - s/N) tuples; about 250 comparisons with 60, 25 and 15 % of the requests
    of 1, 2 and 3 attributes at W = 10 000 and B = 14."""
    shares = {4: 0.2, 2: 0.2, 1: 0.2, 6: 0.25 / 3, 5: 0.25 / 3, 3: 0.25 / 3, 7: 0.15}
    load = SearchLoad(3, shares, window=10_000)
    compared = IndexCosts().compared(load, np.array([[5, 5, 4]]))[0]
    assert float(compared @ load.shares) == pytest.approx(250, rel=0.3)
    cube = SearchLoad(3, dict.fromkeys(range(1, 8), 1.0), window=4096)
    left = IndexCosts().compared(cube, np.array([[4, 4, 4]]))[0]
    assert left.tolist() == pytest.approx([256, 256, 16, 256, 16, 16, 1])


def test_a_code_tells_no_more_values_apart_than_there_are() -> None:
    model = as_model(twin.Load({}, distinct=[4]), 6)
    load = SearchLoad(1, {1: 1.0}, window=1000)
    found = model.compared(load, np.array([[0], [1], [2], [3], [6], [9]]))[:, 0]
    assert found.tolist() == [1000, 500, 250, 250, 250, 250]


def test_a_request_by_order_compares_its_range_and_the_code_it_ends_in() -> None:
    """Of a known range of a quarter, and of an unknown one, taken for a half; beyond 8 bits there
    are no more codes."""
    reach = capped_reach([math.inf, 4.0, math.inf], 10, 0b110)
    assert reach[0, :3].tolist() == [1, 0.75, 0.625]
    assert reach[1, :3].tolist() == [1, 0.625, 0.4375]
    assert reach[2, :3].tolist() == [1, 0.5, 0.25]
    assert reach[:, 8:10].tolist() == [
        [0.5 + 2**-9] * 2,
        [0.25 + 0.75 * 2**-8] * 2,
        [2**-8, 2**-9],
    ]


def test_a_request_by_order_visits_the_codes_of_its_range() -> None:
    load = SearchLoad(2, {2: 1.0, 1: 1.0, 3: 1.0}, window=10_000, ordered=0b10)
    costs = WorkCosts(0, 0, bucket=1)
    model = IndexCosts(costs, reach=capped_reach([math.inf] * 2, 10, 0b10), visits=True)
    visited = model.visited(load, np.array([[2, 3]]))[0]
    assert visited.tolist() == pytest.approx([2.5 * 8, 4, 2.5])


def test_what_was_compared_corrects_the_model_for_every_configuration() -> None:
    measured = {4: (10, 10 * 1000), 2: (2, 999)}
    found = corrections(EXAMPLE, IndexCosts(), (2, 0, 0), measured, least=5)
    assert found == {4: 4.0}
    model = IndexCosts(corrections=found)
    again = corrections(EXAMPLE, model, (2, 0, 0), measured, least=5)
    assert again == pytest.approx(found)
    plain, mended = (m.compared(EXAMPLE, np.array([[3, 1, 0]]))[0] for m in (IndexCosts(), model))
    assert (mended / plain).tolist() == [4.0 if p == 4 else 1.0 for p in EXAMPLE.patterns]


def test_several_indexes_are_searched_one_after_the_other() -> None:
    """Card A3: one search for each segment; wild cards visit no more buckets than are filled."""
    load = SearchLoad(2, {2: 1.0}, window=64)
    costs = WorkCosts(0, 0, bucket=1)
    one, four = (IndexCosts(costs, visits=True, segments=s) for s in (1, 4))
    rows = np.array([[2, 3], [0, 9], [0, 0]])
    assert one.visited(load, rows)[:, 0].tolist() == [8, 64, 1]
    assert four.visited(load, rows)[:, 0].tolist() == [32, 64, 4]
