"""What would make other chains, against the chains that the thesis' rule cuts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from backend.systems.stream.chains.headroom import MOST_PAIRS, chain_headroom
from backend.systems.stream.chains.progress import Step, chains_of, partition, slopes_of

STEPS = st.lists(st.tuples(st.floats(0.05, 1.5), st.floats(0.1, 5.0)), min_size=1, max_size=5)


def path(told: list[tuple[float, float]], name: str) -> tuple[Step, ...]:
    last = len(told) - 1
    return tuple(
        Step(f"{name}{n}", 0.0 if n == last else passed, cost=cost)
        for n, (passed, cost) in enumerate(told)
    )


def quicker(steps: tuple[Step, ...], id: str, factor: float) -> tuple[Step, ...]:
    return tuple(
        Step(one.id, one.passed, one.beside, one.cost / factor if one.id == id else one.cost)
        for one in steps
    )


@given(STEPS, STEPS)
def test_what_is_nearest_is_behind_and_at_most_all_the_way(
    first: list[tuple[float, float]], second: list[tuple[float, float]]
) -> None:
    paths = path(first, "a"), path(second, "b")
    for policy in ("chain", "greedy"):
        lines = chain_headroom(policy, paths, {})
        assert 1 <= len(lines) <= MOST_PAIRS
        assert all(0 <= one.near <= 1 for one in lines)
        assert [one.near for one in lines] == sorted((one.near for one in lines), reverse=True)
        own = {id for steps in paths for chain in chains_of(policy, steps) for id in chain[0]}
        assert {one.entity for one in lines if one.entity} <= own


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.1, 5.0))
def test_the_missing_slope_is_the_one_that_makes_another_schedule(
    passed: float, other: float, cost: float
) -> None:
    """Two operators alone on their paths: the later one, made so much quicker, runs first."""
    paths = (Step("a", passed, cost=1.0),), (Step("b", other, cost=cost),)
    for line in chain_headroom("chain", paths, {}):
        if line.missing is None or line.missing < 1e-6:
            continue
        slopes = {one.id: one.slope for steps in paths for one in steps}
        for share, first in ((0.99, line.over), (1.01, line.entity)):
            needed = (slopes[line.entity] + share * line.missing) / slopes[line.entity]
            turned = [quicker(steps, line.entity, needed) for steps in paths]
            assert slopes_of("chain", turned)[first][1] == 0


def test_chains_are_joined_and_cut_where_slopes_meet() -> None:
    """a passes half in a unit of time, b the rest in four: two chains of slopes 1/2 and 1/4. c
    before d: one chain, which c leaves at the slope of d."""
    two = Step("a", 0.5), Step("b", 0.0, cost=4.0)
    (joins,) = chain_headroom("chain", (two,), {})
    assert (joins.words.partition(" if")[0], joins.missing) == ("b joins a", 0.25)
    assert len(partition(quicker(two, "b", 1.99))) == 2
    assert len(partition(quicker(two, "b", 2.01))) == 1
    one = Step("c", 0.5, cost=4.0), Step("d", 0.0)
    (cut,) = chain_headroom("chain", (one,), {})
    assert (cut.words.partition(" if")[0], cut.missing) == ("c splits off d", 0.875)
    assert len(partition(quicker(one, "c", 7.9))) == 1
    assert len(partition(quicker(one, "c", 8.1))) == 2


def test_a_single_operator_has_nothing_before_it() -> None:
    (line,) = chain_headroom("chain", ((Step("a", 0.0),),), {})
    assert (line.missing, line.near, line.entity) == (None, 0.0, "")
