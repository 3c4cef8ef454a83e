"""Sets of constraints: the best one, the greedy one within its bound, and what each adds."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from backend.systems.kmon.choosing import ConstraintProblem, Effect, exhaustive, greedy, margin

NAMES = "abcdefgh"
BYTES = st.integers(0, 100).map(float)


@st.composite
def problems(draw: st.DrawFn) -> ConstraintProblem:
    """Constraints with costs, and effects that need one of each of some groups."""
    names = NAMES[: draw(st.integers(1, 6))]
    group = st.dictionaries(st.sampled_from(names), BYTES, min_size=1, max_size=3)
    groups = st.lists(group, min_size=1, max_size=3).map(tuple)
    effects = draw(st.lists(groups, max_size=5))
    return ConstraintProblem(
        {one: draw(BYTES) for one in names},
        tuple(Effect(str(n), one) for n, one in enumerate(effects)),
        draw(st.frozensets(st.sampled_from(names), max_size=2)),
    )


def best(problem: ConstraintProblem) -> float:
    """The least burden of all sets, one by one."""
    names = [*problem.costs]
    sets = (set(s) for n in range(len(names) + 1) for s in combinations(names, n))
    return min(problem.burden(one) for one in sets if problem.pinned <= one)


@given(problems())
@settings(max_examples=60)
def test_the_exhaustive_search_finds_the_best_of_all_sets(problem: ConstraintProblem) -> None:
    found = exhaustive(problem)
    assert problem.pinned <= found
    assert abs(problem.burden(found) - best(problem)) < 1e-5


@given(problems())
@settings(max_examples=100)
def test_the_greedy_search_stays_within_its_bound(problem: ConstraintProblem) -> None:
    found, least = greedy(problem), best(problem)
    assert problem.pinned <= found
    assert problem.burden(found) <= problem.bound * least + 1e-5
    assert problem.burden(found) <= problem.burden(problem.pinned) + 1e-5


@given(problems())
@settings(max_examples=60)
def test_what_is_chosen_pays_and_what_is_not_does_not(problem: ConstraintProblem) -> None:
    """Both searches: no single constraint more or less would be better, so that the two sides of
    each decision hold."""
    for find in (greedy, exhaustive):
        found = find(problem)
        for one in problem.costs.keys() - problem.pinned:
            saved, cost = margin(problem, found, one)
            assert saved > cost - 1e-5 if one in found else saved <= cost + 1e-5


@given(problems())
def test_a_problem_is_written_down_and_read_again(problem: ConstraintProblem) -> None:
    assert ConstraintProblem.from_json(problem.to_json()) == problem


def test_an_effect_needs_one_of_each_group_and_the_worst_counts() -> None:
    effect = Effect("cover", ({"a": 5.0, "b": 9.0}, {"c": 7.0}))
    assert effect.value("ab") == 0
    assert effect.value("ac") == 5
    assert effect.value("abc") == 7


def test_constraints_that_save_only_together_are_found_by_both() -> None:
    problem = ConstraintProblem(
        {"a": 3.0, "b": 3.0, "c": 1.0}, (Effect("", ({"a": 10.0}, {"b": 10.0})),)
    )
    assert greedy(problem) == exhaustive(problem) == {"a", "b"}


def test_greedy_may_forgo_what_only_pays_for_two_effects_at_once() -> None:
    """Each effect alone is not worth 10; both together are. The burden is 12 against 10, within the
    bound of 2."""
    problem = ConstraintProblem({"a": 10.0}, (Effect("", ({"a": 6.0},)), Effect("", ({"a": 6.0},))))
    assert problem.bound == 2
    assert exhaustive(problem) == {"a"}
    assert problem.burden(greedy(problem)) <= 20


def test_more_constraints_than_can_be_tried_are_chosen_greedily() -> None:
    names = [f"c{n:02}" for n in range(13)]
    effects = tuple(Effect("", ({one: 10.0},)) for one in names)
    problem = ConstraintProblem(dict.fromkeys(names, 1.0), effects)
    assert exhaustive(problem) == greedy(problem) == set(names)
