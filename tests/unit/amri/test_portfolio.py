"""Mixes of bits and hash modules against all of them, one by one."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.systems.amri.mixing import AccessMethods, building_cost
from backend.systems.amri.portfolio import (
    ROOM,
    IndexBytes,
    PortfolioProblem,
    best_portfolio,
    most_frequent,
    portfolio_tiers,
)
from backend.systems.amri.selection import SelectionSettings, select
from storage.vocabulary.amri_configurations import EQUAL
from storage.vocabulary.amri_costs import IndexCosts, SearchLoad, WorkCosts
from storage.vocabulary.amri_counts import StateCounts
from storage.vocabulary.amri_patterns import module_for
from storage.vocabulary.amri_ranges import chain_lengths
from storage.vocabulary.memory import PAGE_BYTES
from tests.oracles import amri_routes as twin
from tests.unit.amri.cases import SHARES_2

SIZES = IndexBytes(24_000.0, 24_000.0)


def problem_of(
    frequencies: dict[int, float], n: int = 3, window: float = 1000, bits: int = 6, link: float = 1
) -> PortfolioProblem:
    load = SearchLoad(n, frequencies, arrivals=1, requests=2, window=window)
    model = IndexCosts(WorkCosts(link=link))
    chains = {p: window / 50 ** p.bit_count() for p in range(1, 1 << n)}
    return PortfolioProblem(load, model, SelectionSettings(bits), chains, SIZES)


LOADS = st.dictionaries(
    st.integers(1, 7), st.integers(1, 50).map(lambda k: k / 100), min_size=1, max_size=5
)


@given(LOADS, st.sampled_from([0.0, 24_000.0, 60_000.0, math.inf]), st.sampled_from([0.5, 20, 400]))
@settings(max_examples=60)
def test_the_mix_is_the_cheapest_of_all_within_its_bytes(
    frequencies: dict[int, float], n_bytes: float, link: float
) -> None:
    problem = problem_of(frequencies, bits=4, link=link)
    found = best_portfolio(problem, n_bytes)
    words = {p: format(p, "03b") for p in frequencies}
    names = [str(row) for row in problem.candidates.tolist()]
    bit_costs = {
        name: dict(zip(words.values(), row, strict=True))
        for name, row in zip(names, problem.requests.tolist(), strict=True)
    }
    module_costs = {
        word: {
            words[p]: m.bit_count() + 1000 / 50 ** m.bit_count() for p in frequencies if m & p == m
        }
        for m, word in words.items()
    }
    upkeep = dict(zip(names, problem.upkeep.tolist(), strict=True))
    sizes = {}
    for name, row in zip(names, problem.candidates.tolist(), strict=True):
        sizes[name] = 24_000.0 if sum(row) else 0.0
    for m, word in words.items():
        upkeep[word] = m.bit_count() + link
        sizes[word] = 24_000.0
    asked = {words[p]: 2 * f for p, f in frequencies.items()}
    best = twin.cheapest_mix(bit_costs, module_costs, asked, upkeep, sizes, n_bytes)
    assert found.cost == pytest.approx(best)
    held = sizes[str(list(found.bits))] + sum(sizes[words[m]] for m in found.modules)
    assert found.n_bytes == pytest.approx(held)
    assert held <= n_bytes
    spent = upkeep[str(list(found.bits))] + sum(upkeep[words[m]] for m in found.modules)
    for p, module in problem.serves(found).items():
        row = bit_costs[str(list(found.bits))] if module is None else module_costs[words[module]]
        spent += 2 * frequencies[p] * row[words[p]]
    assert spent == pytest.approx(best)


@given(
    st.dictionaries(st.integers(1, 7), st.floats(0.001, 1), min_size=1),
    st.sampled_from([0.5, 20, 400]),
    st.sampled_from([(4, 100.0), (8, 1000.0), (11, 3000.0)]),
)
@settings(max_examples=40, deadline=None)
def test_all_sets_at_once_are_as_one_by_one(
    frequencies: dict[int, float], link: float, size: tuple[int, float]
) -> None:
    """Without bits and with, of each number of modules the cheapest mix, of equal ones the first
    set, each pattern served by what costs least."""
    problem = problem_of(frequencies, bits=size[0], window=size[1], link=link)
    asked = problem.load.requests * problem.load.shares
    slow = list[tuple[tuple[int, ...], tuple[int, ...], float]]()
    for n in range(len(problem.modules) + 1):
        for some in (problem.candidates.any(axis=1), ~problem.candidates.any(axis=1)):
            best: tuple[tuple[int, ...], tuple[int, ...], float] | None = None
            for modules in combinations(problem.modules, n):
                spent = sum(m.bit_count() + link for m in modules)
                rows = [problem.served(tuple(of), modules) for of in problem.candidates.tolist()]
                costs = (np.array(rows) @ asked + problem.upkeep + spent)[some]
                near = costs <= costs.min() * (1 + EQUAL)
                ties = [tuple(bits) for bits in problem.candidates[some][near].tolist()]
                bits = max(ties, key=lambda bits: (-sum(b > 0 for b in bits), bits))
                if best is None or costs.min() < best[2] * (1 - EQUAL):
                    best = bits, modules, float(costs.min())
            assert best is not None
            slow.append(best)
    by_size = sorted(problem.mixes, key=lambda mix: (len(mix.modules), not any(mix.bits)))
    assert [mix[:2] for mix in by_size] == [mix[:2] for mix in slow]
    assert [mix.cost for mix in by_size] == pytest.approx([cost for *_, cost in slow])


@given(LOADS)
@settings(max_examples=40)
def test_the_mix_contains_both_sides(frequencies: dict[int, float]) -> None:
    problem = problem_of(frequencies)
    found = best_portfolio(problem)
    alone = select(problem.load, problem.model, SelectionSettings(6))
    assert found.cost <= alone.cost + 1e-9
    for k in range(len(frequencies) + 1):
        modules = most_frequent(frequencies, k)
        assert found.cost <= float(problem.costs(modules).min()) + 1e-9


def test_modules_serve_frequent_narrow_patterns_and_bits_the_rest() -> None:
    """Bits alone would scan a root of the window for each pattern of one attribute."""
    frequencies = {4: 0.46, 2: 0.45, 1: 0.02, 6: 0.02, 5: 0.02, 3: 0.02, 7: 0.01}
    found = best_portfolio(problem_of(frequencies, window=10_000, bits=5, link=100))
    assert sum(found.bits) == 5
    assert set(found.modules) & {4, 2}
    assert 0 < len(found.modules) < 3
    dear = best_portfolio(problem_of(frequencies, window=10_000, bits=5, link=1e6))
    assert dear.modules == ()
    assert sum(dear.bits) == 5
    tight = best_portfolio(problem_of(frequencies, window=10_000), 0)
    assert (tight.bits, tight.modules, tight.n_bytes) == ((0, 0, 0), (), 0)
    with pytest.raises(ValueError, match="allowed 0 and more"):
        best_portfolio(problem_of({4: 1.0}), -1)


def test_a_mix_changes_if_it_saves_more_than_building_it_costs() -> None:
    problem = problem_of({4: 0.6, 2: 0.4})
    best, scan = best_portfolio(problem), (0, 0, 0)
    gain = problem.difference(scan, (), best, 10_000).mean
    saved = float(problem.costs(())[problem.place_of(scan)]) - best.cost
    assert problem.load.requests * gain.value == pytest.approx(saved)
    assert gain.low < gain.value < gain.high
    assert problem.difference(best.bits, best.modules, best, 100).mean.value == 0.0
    none = AccessMethods(scan)
    price = building_cost(problem.model, problem.n_tuples, none, best)
    indexed = sum(1 for b in best.bits if b)
    keys = sum(module.bit_count() + 1 for module in best.modules)
    assert price == 1000 * (keys + (indexed + 2 if indexed else 0))
    there = AccessMethods(best.bits, best.modules)
    assert building_cost(problem.model, problem.n_tuples, there, best) == 0


@given(
    st.lists(st.integers(0, 3), min_size=2, max_size=2),
    st.sets(st.integers(1, 3)),
    st.integers(0, 4),
)
def test_access_methods_fit_the_memory_there_is(
    bits: list[int], modules: set[int], n_kept: int
) -> None:
    """The last module goes first, the bits last; nothing that is gone serves a pattern."""
    access = AccessMethods(
        tuple(bits), tuple(modules), dict.fromkeys(modules, min(modules, default=None))
    )
    fitting = access.within(SIZES, n_kept * 24_000)
    has_bits = any(fitting.bits)
    assert has_bits + len(fitting.modules) <= n_kept
    assert fitting.modules == access.modules[: len(fitting.modules)]
    if any(bits) and n_kept:
        assert has_bits
    assert has_bits + len(fitting.modules) == min(n_kept, any(bits) + len(modules))
    assert set(fitting.serves.values()) <= set(fitting.modules)


def test_of_too_many_configurations_the_greedy_ones_are_mixed() -> None:
    problem = problem_of(dict.fromkeys(range(1, 64), 1 / 63), n=6, window=5000, bits=12)
    assert problem.is_greedy
    assert len(problem.candidates) == 13


def test_of_many_patterns_modules_are_added_one_by_one() -> None:
    every = {p: 1 / 15 for p in range(1, 16)}
    problem = problem_of(every, n=4, window=5000)
    found = best_portfolio(problem)
    assert problem.is_greedy
    assert found.cost < float(problem.costs(()).min())
    assert len(found.modules) == len(set(found.modules))


def test_a_state_bids_for_pages_at_what_they_save() -> None:
    problem = problem_of({4: 0.6, 2: 0.2, 7: 0.2}, window=10_000, bits=8)
    tiers = portfolio_tiers(problem.mixes, problem.load.arrivals)
    assert all(a.priority >= b.priority for a, b in pairwise(tiers))
    nothing, everything = (best_portfolio(problem, n).cost for n in (0, math.inf))
    saved = sum(tier.n_pages * tier.priority for tier in tiers)
    assert saved == pytest.approx(nothing - everything)
    assert tiers[0].n_pages * PAGE_BYTES >= ROOM * SIZES.by_bits


@given(st.integers(0, 7), st.sets(st.integers(0, 7)))
def test_the_module_that_answers_a_request(pattern: int, modules: set[int]) -> None:
    words = [[c == "1" for c in format(m, "03b")] for m in modules]
    found = twin.module_for([c == "1" for c in format(pattern, "03b")], words)
    told = module_for(pattern, modules)
    assert (told is None) == (found is None)
    if found is not None:
        assert told == int("".join("01"[bit] for bit in found), 2)


def test_the_baseline_of_the_paper() -> None:
    """Card A11.2: {A1, A1&A2, A2&A3}: (A1, A3) uses A1, (A3) scans."""
    assert module_for(0b101, [0b100, 0b110, 0b011]) == 0b100
    assert module_for(0b001, [0b100, 0b110, 0b011]) is None


def test_the_most_frequent_patterns_get_the_modules() -> None:
    assert most_frequent(SHARES_2, 3) == (7, 5, 3)
    assert most_frequent({0: 1.0, 1: 0.5, 2: 0.5}, 1) == (2,)


def test_no_module_has_an_attribute_that_is_asked_for_by_order() -> None:
    """<A,*,C> and <A,*,*> are served by one on A, where C is."""
    frequencies = {5: 0.3, 4: 0.2, 3: 0.4, 1: 0.1}
    assert most_frequent(frequencies, 2, 1) == (4, 2)
    assert most_frequent(frequencies, 9, 1) == (4, 2)
    load = SearchLoad(3, frequencies, window=1000, ordered=1)
    chains = {4: 2.0, 2: 3.0, 1: 5.0, 5: 1.0}
    problem = PortfolioProblem(load, IndexCosts(), SelectionSettings(0), chains, SIZES)
    assert problem.modules == (4, 2)
    (best,) = [mix for mix in problem.mixes if mix.modules == (4, 2)]
    assert problem.serves(best) == {5: 4, 4: 4, 3: 2, 1: None}


def test_chains_of_an_index_are_what_agrees_by_value() -> None:
    """A range whose pattern was asked for alone leaves a half, or as much as was measured."""
    counts = StateCounts(1, {p: (10, n, 0, 0, 0) for p, n in ((6, 30), (7, 10), (5, 20))})
    load, by_order = SearchLoad(3, {}), SearchLoad(3, {}, ordered=1)
    bits = (0, 0, 1)
    assert chain_lengths(load, counts, bits) == {6: 3.0, 7: 1.0, 5: 2.0}
    assert chain_lengths(by_order, counts, bits) == {6: 3.0, 4: 4.0}
    assert chain_lengths(by_order, StateCounts(1, {1: (10, 20, 0, 0, 0)}), bits) == {}
    few = StateCounts(1, {5: (1000, 0, 5000, 0, 0, 5998, 0, 0, 1999)})  # 2000 of 6000: one in five
    assert chain_lengths(by_order, few, bits) == {4: pytest.approx(5.998 / 0.6)}
    assert chain_lengths(by_order, few, bits, [5]) == {4: 5.998}
