"""Selection of caches against all choices there are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.operators.network.joins.cache_rules import check_caches
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.joins.decide.candidates import prefix_candidates
from backend.systems.joins.decide.covering import greedy
from backend.systems.joins.decide.selecting import (
    SELECTORS,
    Selector,
    better_of,
    by_trees,
    chosen,
    exact,
)
from backend.systems.joins.decide.selection import (
    LEAST_SHARE,
    CacheSelection,
    PricedCache,
    worthwhile,
)
from storage.vocabulary.memory import PAGE_BYTES
from tests.oracles.cache_choices import all_choices, best_value, is_allowed
from tests.unit.joins.cases import (
    SIX_WAY,
    laminar_orders,
    numbered,
    on_one_attribute,
    orders_of,
    priced,
    problems,
    shapes,
)

#: All choices of at most so many readers are looked at.
MOST_READERS = 10


def few_readers(problem: CacheSelection) -> bool:
    return sum(len(one.procs) for one in problem.caches) <= MOST_READERS


def allowed(problem: CacheSelection, choice: object) -> bool:
    assert isinstance(choice, dict)
    by_id = {one.candidate.id: one.candidate for one in problem.caches}
    pairs = [(by_id[id], reader) for id, readers in choice.items() for reader in readers]
    return is_allowed(tuple(pairs))


@settings(max_examples=40)
@given(problems().filter(few_readers))
def test_exact_finds_the_best_of_all_choices(problem: CacheSelection) -> None:
    found = exact(problem)
    assert allowed(problem, found)
    assert problem.value(found) == pytest.approx(best_value(problem))


@settings(max_examples=40)
@given(problems(most=4, quota=6).filter(few_readers))
def test_exact_finds_the_best_with_relaxed_candidates_too(problem: CacheSelection) -> None:
    found = exact(problem)
    assert allowed(problem, found)
    assert problem.value(found) == pytest.approx(best_value(problem))


@settings(max_examples=60)
@given(problems())
def test_what_saves_next_to_nothing_is_left_out_at_little_loss(problem: CacheSelection) -> None:
    best = exact(problem)
    found, cost = worthwhile(problem, best), problem.cost({})
    assert set(found) <= set(best)
    n_left_out = len(best) - len(found)
    assert problem.value(found) >= problem.value(best) - n_left_out * LEAST_SHARE * cost - 1e-9
    for id in found:
        without = {other: readers for other, readers in found.items() if other != id}
        assert problem.value(found) - problem.value(without) >= LEAST_SHARE * cost - 1e-9


@settings(max_examples=60)
@given(problems(), st.sampled_from([greedy, by_trees, exact]), st.data())
def test_what_was_in_use_is_not_given_up_for_what_is_dearer(
    problem: CacheSelection, select: Selector, data: st.DataObject
) -> None:
    before = data.draw(st.sampled_from([exact(problem), greedy(problem), by_trees(problem), {}]))
    kept = worthwhile(problem, before)
    found = worthwhile(problem, select(problem))
    used = better_of(problem, found, before)
    assert used in (kept, found)
    assert problem.cost(used) <= min(map(problem.cost, (kept, found))) + 1e-9


def test_a_choice_that_saves_too_little_to_be_tried_is_none_but_for_pins() -> None:
    shape, orders = on_one_attribute(3), numbered("23", "13", "21")
    (one,) = prefix_candidates(shape, orders)
    priced_cache = PricedCache(one, 1.0, (2.0,) * len(one.readers))
    problem = CacheSelection(((4.0, 4.0),) * 3, (priced_cache,))
    choice = exact(problem)
    value = problem.value(choice)
    assert choice
    assert chosen(problem, exact, value, ()) == choice
    assert chosen(problem, exact, value + 0.1, ()) == {}
    pinned = CacheSelection(problem.bare, problem.caches, frozenset({one.id}))
    assert chosen(pinned, exact, value + 0.1, ()) == choice
    assert chosen(problem, exact, value + 0.1, {one.id}) == choice, "it was tried"


@settings(max_examples=60)
@given(st.data())
def test_what_is_chosen_is_what_the_executor_accepts(data: st.DataObject) -> None:
    n = data.draw(st.integers(3, 5))
    shape = data.draw(shapes(n))
    orders = data.draw(laminar_orders(n) if data.draw(st.booleans()) else orders_of(n))
    problem = data.draw(priced(shape, orders, quota=8))
    work = JoinOp(tuple(tuple((i, 0) for i in sorted(one)) for one in shape.classes), None, orders)
    by_id = {one.candidate.id: one.candidate for one in problem.caches}
    everything = [one.spec(one.readers, PAGE_BYTES) for one in by_id.values()]
    for select in SELECTORS.values():
        chosen = select(problem)
        specs = [by_id[id].spec(readers, PAGE_BYTES) for id, readers in chosen.items()]
        check_caches(specs, everything, work, n)
    for one in everything:
        check_caches([one], (), work, n)


@settings(max_examples=60)
@given(problems(quota=6), st.sampled_from(sorted(SELECTORS)))
def test_no_algorithm_is_better_than_exact_nor_worse_than_nothing(
    problem: CacheSelection, name: str
) -> None:
    found = SELECTORS[name](problem)
    assert allowed(problem, found)
    assert problem.value(found) <= problem.value(exact(problem)) + 1e-9
    if name != "trees":  # where a cache is shared, the recursion has it pay each time
        assert problem.value(found) >= -1e-9


@settings(max_examples=40)
@given(problems().filter(few_readers))
def test_trees_are_exact_where_nothing_is_shared(problem: CacheSelection) -> None:
    alone = tuple(
        PricedCache(one.candidate, one.cost, one.procs)
        for one in problem.caches
        if len(one.procs) == 1
    )
    unshared = CacheSelection(problem.bare, alone)
    assert unshared.value(by_trees(unshared)) == pytest.approx(best_value(unshared))


@settings(max_examples=40)
@given(problems(most=4, quota=6).filter(few_readers), st.data())
def test_pinned_caches_are_used_and_the_rest_is_best_beside_them(
    problem: CacheSelection, data: st.DataObject
) -> None:
    ids = [one.candidate.id for one in problem.caches]
    if not ids:
        return
    pinned = data.draw(st.sampled_from(ids))
    forced = CacheSelection(problem.bare, problem.caches, frozenset({pinned}))
    for select in (exact, greedy, by_trees):
        found = select(forced)
        assert pinned in found
        assert allowed(problem, found)
    readers = set(exact(forced)[pinned])
    best = max(
        value
        for chosen, value in all_choices(problem)
        if {reader for one, reader in chosen if one.id == pinned} == readers
    )
    assert problem.value(exact(forced)) == pytest.approx(best)


def test_a_shared_cache_is_paid_once() -> None:
    """Example 5.5.2: what one pipeline alone cannot pay, three together can."""
    shape = on_one_attribute(6)
    bare = tuple((2.0,) * 5 for _ in range(6))
    shared = next(one for one in prefix_candidates(shape, SIX_WAY) if one.id == "0,1|0")
    cache = PricedCache(shared, cost=5.0, procs=(2.0, 2.0, 2.0))
    problem = CacheSelection(bare, (cache,))
    assert problem.benefit(cache, 0) == 2.0
    assert problem.value(exact(problem)) == 1.0
    assert by_trees(problem) == {}
    dear = PricedCache(shared, 6.0, cache.procs)
    assert exact(CacheSelection(bare, (dear,))) == {}


def test_of_equally_good_choices_the_one_with_fewest_caches_is_taken() -> None:
    shape, orders = on_one_attribute(3), numbered("23", "13", "12")
    (one,) = prefix_candidates(shape, orders)
    problem = CacheSelection(((1.0, 1.0),) * 3, (PricedCache(one, 1.0, (1.0,)),))
    assert exact(problem) == {}
