"""Selection against the search over all configurations in exact numbers, and its bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from backend.systems.amri.assessment import ASSESSORS, AssessmentSettings, Combine
from backend.systems.amri.selection import (
    SelectionSettings,
    margins,
    select,
    with_prior,
)
from storage.vocabulary.amri_configurations import (
    cheapest,
    configurations,
    even_split,
    n_configurations,
)
from storage.vocabulary.amri_costs import IndexCosts, SearchLoad, WorkCosts
from tests.oracles import amri_assessment, amri_time
from tests.oracles import amri_selection as twin
from tests.unit.amri.cases import (
    SEARCH_ALONE,
    SHARES_2,
    TABLE_2,
    as_load,
    as_model,
    exact_loads,
    request_runs,
)

BITS = st.integers(0, 6)


@given(exact_loads(), BITS, st.booleans(), st.booleans(), st.data())
def test_the_chosen_configuration_is_the_best_by_the_tie_rule(
    case: tuple[int, twin.Load], bits: int, at_most: bool, literal: bool, data: st.DataObject
) -> None:
    n, exact = case
    caps = data.draw(st.one_of(st.just(()), st.tuples(*[st.integers(0, 5)] * n)))
    settings = SelectionSettings(bits, at_most, caps, prunes=False)
    found = select(as_load(n, exact), as_model(exact, bits, literal), settings)
    assert found.bits == twin.best(exact, n, bits, at_most, caps, literal)
    assert found.cost == pytest.approx(float(twin.cost(exact, found.bits, literal)))
    assert sum(found.parts.values()) == pytest.approx(found.cost)
    assert not found.is_greedy


@given(exact_loads(), BITS)
def test_eprune_loses_no_optimum(case: tuple[int, twin.Load], bits: int) -> None:
    n, exact = case
    found = select(as_load(n, exact), as_model(exact, bits), SelectionSettings(bits))
    assert found.bits == twin.best(exact, n, bits, True)
    benefits = [twin.most_benefit(exact, a, bits) for a in range(n)]
    assert found.margins == pytest.approx([float(one) for one in benefits])
    sure = {a for a in range(n) if benefits[a] > 1e-9} - set(found.kept)
    assert not sure
    assert not {a for a in found.kept if benefits[a] < -1e-9}


def test_eprune_drops_what_is_hardly_asked_for_and_says_so() -> None:
    load = SearchLoad(2, {2: 0.9, 1: 0.0001}, arrivals=10, requests=10, window=10)
    found = select(load, IndexCosts(), SelectionSettings(3))
    assert found.kept == (0,)
    assert found.bits == (3, 0)
    assert found.margins[1] < 0 < found.margins[0]
    nothing = SearchLoad(2, {}, arrivals=10)
    assert select(nothing, IndexCosts(), SelectionSettings(3, at_most=False)).bits == (0, 0)


@given(exact_loads(), BITS)
def test_the_greedy_search_is_worse_than_the_best_at_most(
    case: tuple[int, twin.Load], bits: int
) -> None:
    n, exact = case
    load, model = as_load(n, exact), as_model(exact, bits)
    fast = select(load, model, SelectionSettings(bits, most_terms=0))
    best = select(load, model, SelectionSettings(bits))
    assert fast.is_greedy
    assert sum(fast.bits) <= bits
    assert fast.cost >= best.cost - 1e-9
    assert fast.cost <= float(twin.cost(exact, (0,) * n)) + 1e-9
    whole = select(load, model, SelectionSettings(bits, False, prunes=False, most_terms=0))
    assert sum(whole.bits) == bits


def test_the_greedy_search_gives_each_bit_to_who_gains_most() -> None:
    load = SearchLoad(3, SHARES_2, window=100)
    found = select(load, SEARCH_ALONE, SelectionSettings(4, False, most_terms=0))
    assert found.bits == (1, 1, 2)
    assert found.n_candidates == 1


@given(st.data())
def test_equally_cheap_ones_are_chosen_by_the_tie_rule(data: st.DataObject) -> None:
    """Card A5: then fewer indexed attributes, then the lexicographically larger vector."""
    rows = st.tuples(*[st.integers(0, 3)] * 3)
    vectors = data.draw(st.lists(rows, min_size=1, max_size=12, unique=True))
    of_each = st.lists(st.integers(0, 2), min_size=len(vectors), max_size=len(vectors))
    costs = data.draw(of_each)
    place = cheapest(np.array(costs, np.float64), np.array(vectors))
    ties = [bits for bits, cost in zip(vectors, costs, strict=True) if cost == min(costs)]
    assert vectors[place] == max(ties, key=lambda bits: (-np.count_nonzero(bits), bits))


@pytest.mark.parametrize(("n", "bits", "count"), [(3, 4, 15), (3, 64, 2145), (1, 9, 1), (4, 0, 1)])
def test_the_number_of_configurations(n: int, bits: int, count: int) -> None:
    """Card A5; Lemma 1 counts them as a sum over the attributes that have bits."""
    caps = (bits,) * n
    assert n_configurations(caps, bits) == count == len(configurations(caps, bits))
    by_attributes = sum(
        math.comb(n, k) * math.comb(bits - 1, k - 1) for k in range(1, min(n, bits) + 1)
    )
    assert count == (by_attributes if bits else 1)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.integers(0, 8), st.booleans())
def test_configurations_are_all_that_the_caps_allow(
    caps: list[int], bits: int, at_most: bool
) -> None:
    found = [tuple(row) for row in configurations(tuple(caps), bits, at_most).tolist()]
    assert found == sorted(twin.vectors(len(caps), bits, at_most, caps))
    assert n_configurations(tuple(caps), bits, at_most) == len(found)


def test_each_removed_statistic_saves_as_many_terms_as_there_are_configurations() -> None:
    """Lemma 1 (d2), with 64 bits and 7 patterns 15 015 terms (card A12)."""
    settings = SelectionSettings(64, False, prunes=False)
    load = SearchLoad(3, SHARES_2, window=100)
    found = select(load, IndexCosts(), settings)
    assert found.n_terms == 15_015
    fewer = SearchLoad(3, {p: f for p, f in SHARES_2.items() if p != 4}, window=100)
    assert found.n_terms - select(fewer, IndexCosts(), settings).n_terms == 2145


@pytest.mark.parametrize(
    ("name", "seeds", "chosen"),
    [
        ("exact", [0], {(1, 1, 2)}),
        ("csria", [0], {(0, 1, 3)}),
        ("cdia", [0], {(0, 2, 2)}),
        ("cdia", range(12), {(1, 1, 2), (0, 2, 2)}),
    ],
)
def test_what_assessment_leads_to_in_table_2(
    name: str, seeds: list[int], chosen: set[tuple[int, ...]]
) -> None:
    """Card A11.5, with errata (a) to (c)."""
    found = set()
    for seed in seeds:
        combine: Combine = "random" if len(seeds) > 1 else "highest"
        one = ASSESSORS[name](3, AssessmentSettings(0.001, 0.05, combine, seed=seed))
        for pattern, n in TABLE_2.items():
            one.observe(pattern, n)
        load = SearchLoad(3, one.report().frequencies)
        found.add(select(load, SEARCH_ALONE, SelectionSettings(4, at_most=False)).bits)
    assert found == chosen


@given(
    request_runs(4),
    st.sampled_from(["csria", "cdia"]),
    st.sampled_from([(0.1, 0.2), (0.05, 0.1), (0.02, 0.3)]),
    st.integers(1, 6),
    st.booleans(),
)
def test_removed_statistics_cost_no_more_than_the_bound(
    runs: list[tuple[int, int]],
    name: str,
    thresholds: tuple[float, float],
    bits: int,
    hashing: bool,
) -> None:
    """Lemma 2 as sharpened in card A6: C_search(chosen) <= C_search(best) + Δ; with hashing in the
    cost the same holds of C_D with its own bound."""
    one = ASSESSORS[name](4, AssessmentSettings(*thresholds))
    for pattern, n in runs:
        one.observe(pattern, n)
    report = one.report()
    model = IndexCosts(
        WorkCosts(hash=2.0, bucket=3.0) if hashing else WorkCosts(hash=0), visits=True
    )
    settings = SelectionSettings(bits, hashing, prunes=False)
    asked = [pattern for pattern, n in runs for _ in range(n)]
    truth = SearchLoad(4, amri_assessment.exact(asked) if asked else {}, 3, 5, 7)
    found = select(SearchLoad(4, report.frequencies, 3, 5, 7), model, settings, report)
    best = select(truth, model, settings)
    spent = float(model.parts(truth, np.array([found.bits])).total[0])
    bound = found.cost_bound if hashing else found.search_bound
    assert spent <= best.cost + bound + 1e-9
    if not hashing:
        assert found.search_bound == found.cost_bound
        removed = report.dropped + report.moved * (1 - 2.0**-bits)
        assert found.search_bound == pytest.approx(3 * 5 * 7 * removed)


@given(exact_loads(), st.floats(0, 1))
def test_the_prior_mixes_all_patterns_in(case: tuple[int, twin.Load], share: float) -> None:
    n, exact = case
    load = as_load(n, exact)
    mixed = with_prior(load, share)
    every = [p for p in range(1, 2**n) if not p & load.ordered or p in load.frequencies]
    event("by order" if len(every) < 2**n - 1 else "by values")
    for pattern in every:
        f = load.frequencies.get(pattern, 0.0)
        assert mixed.frequencies.get(pattern, 0.0) == pytest.approx(
            (1 - share) * f + share / len(every)
        )
    known = sum(load.frequencies.values())
    wanted = (1 - share) * known + share if every else known
    assert sum(mixed.frequencies.values()) == pytest.approx(wanted)


def test_with_a_prior_an_attribute_that_looks_unused_keeps_a_bit() -> None:
    load = SearchLoad(3, {4: 0.5, 2: 0.5}, requests=10, window=100)
    settings = SelectionSettings(8)
    assert select(load, IndexCosts(), settings).bits[2] == 0
    assert select(with_prior(load, 0.5), IndexCosts(), settings).bits[2] > 0


@pytest.mark.parametrize(
    ("n", "bits", "split"), [(3, 64, (22, 21, 21)), (3, 8, (3, 3, 2)), (4, 2, (1, 1, 0, 0))]
)
def test_the_even_split(n: int, bits: int, split: tuple[int, ...]) -> None:
    assert even_split(n, bits) == split


def test_of_equal_costs_fewer_attributes_win_then_the_larger_vector() -> None:
    """The tie rule of card A5, where its parts disagree."""
    full = SearchLoad(2, {3: 1.0}, window=64)
    capped = SelectionSettings(4, at_most=False, caps=(2, 4))
    assert select(full, SEARCH_ALONE, capped).bits == (0, 4)
    assert select(full, SEARCH_ALONE, SelectionSettings(4, at_most=False)).bits == (4, 0)


def test_margins_are_those_of_the_refined_model_too() -> None:
    """Corrected and capped: what indexing can save is what the model says it saves."""
    load = SearchLoad(1, {1: 1.0}, window=100)
    model = IndexCosts(reach=np.array([[1.0, 0.5, 0.5]]), corrections={1: 3.0})
    assert margins(load, model, 5) == (0.5 * 300 - 2,)


def test_the_twin_of_sequences_knows_a_small_one() -> None:
    assert amri_time.best_sequence([[0, 9], [9, 0], [9, 0]], [[0, 2], [2, 0]]) == 2
