"""The race: the shadow of the algorithm in force keeps its order; others pay what they would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from backend.adaptive.ordering.policies import Optimal
from backend.systems.agreedy.knobs import ALGORITHMS
from backend.systems.agreedy.race import Standing
from tests.unit.agreedy.stream import Drops, Stream, independent_drops, query_of, settings

TWISTED = {"min_samples": 30, "stage_tuples": 60, "window_tuples": 120, "alpha": 0.9}


def turning(seed: int, n: int = 1200, filters: int = 4) -> Drops:
    """Drop probabilities that change places half-way."""
    rng = np.random.default_rng(seed)
    shares = rng.permutation(np.linspace(0.1, 0.8, filters))
    parts = (shares, rng.permutation(shares))
    return np.concatenate([independent_drops(rng, n // 2, part.tolist()) for part in parts])


def standing(stream: Stream, algorithm: str) -> Standing:
    return next(one for one in stream.core.standings if one.algorithm == algorithm)


@hypothesis_settings(max_examples=15)
@given(
    st.sampled_from(ALGORITHMS),
    st.sampled_from(["fixed", "boost", "boost and flush"]),
    st.sampled_from([0, 250]),
    st.integers(0, 1000),
)
def test_the_shadow_of_the_algorithm_in_force_has_its_order(
    algorithm: str, policy: str, cooldown: int, seed: int
) -> None:
    stream = Stream(
        settings(
            filter_algorithm=algorithm,
            profile_policy=policy,
            cooldown_tuples=cooldown,
            race="all",
            **TWISTED,
        ),
        query_of(4),
        {"F1": 5.0, "F2": 2.0},
        seed,
    )
    drops = turning(seed)
    for start in range(0, len(drops), 60):
        stream.feed(drops[start : start + 60])
        assert standing(stream, algorithm).order == stream.core.plan.order
    assert standing(stream, algorithm).changes == stream.core.plan.version - 1


@pytest.mark.parametrize("algorithm", ["sweep", "a-greedy"])
def test_a_race_begun_on_the_way_starts_from_where_the_algorithm_stands(algorithm: str) -> None:
    stream = Stream(settings(filter_algorithm=algorithm, **TWISTED), query_of(4))
    drops = turning(7)
    stream.run(drops[:500], 50)
    assert not stream.core.standings
    stream.turn("race", "all")
    assert {one.order for one in stream.core.standings} == {stream.core.plan.order}
    for start in range(500, len(drops), 50):
        stream.feed(drops[start : start + 50])
        assert standing(stream, algorithm).order == stream.core.plan.order


@pytest.mark.parametrize("algorithm", ["a-greedy", "sweep", "local swaps"])
@pytest.mark.parametrize("rule", ["alpha", "evidence"])
def test_a_race_changes_no_decision(algorithm: str, rule: str) -> None:
    orders = []
    for race in ("off", "all"):
        knobs = settings(
            filter_algorithm=algorithm, violation_rule=rule, confidence=0.8, race=race, **TWISTED
        )
        stream = Stream(knobs, query_of(5))
        stream.run(turning(3, filters=5), 40)
        orders.append([adopted.plan.order for adopted in stream.adopted()])
    assert orders[0] == orders[1]
    assert len(orders[0]) > 1


def test_costs_are_of_the_order_before_it_saw_the_batch() -> None:
    stream = Stream(settings(race="static", **TWISTED), query_of(3), {"F1": 1.0, "F3": 10.0})
    drops = turning(11, 4000, 3)
    stream.feed(drops[:500])
    before = {one.algorithm: one.order for one in stream.core.standings}
    stream.feed(drops[500:2600])
    for one in stream.core.standings:
        first = _paid(drops[:500], ("F1", "F2", "F3"))
        paid = first + _paid(drops[500:2600], before[one.algorithm])
        assert one.cost_us == pytest.approx(paid / 2600 * 2000)
        assert one.n_sampled == 2600
    stream.feed(drops[2600:2700])
    assert [one.cost_us for one in stream.core.standings] == [None, None]


def _paid(drops: Drops, order: tuple[str, ...]) -> float:
    """Slow: each tuple meets the filters in order until one drops it."""
    prices, total = {"F1": 1.0, "F2": 1.0, "F3": 10.0}, 0.0
    for row in drops:
        for name in order:
            total += prices[name]
            if row[int(name[1:]) - 1]:
                break
    return total


def test_who_races() -> None:
    many = Stream(settings(race="all"), query_of(Optimal.race_up_to + 1))
    assert [one.algorithm for one in many.core.standings] == [
        name for name in ALGORITHMS if name != "optimal"
    ]
    pair = Stream(settings(race="sweep"), query_of(3))
    assert [one.algorithm for one in pair.core.standings] == ["a-greedy", "sweep"]
    assert not Stream(settings(race="all"), query_of(1)).core.standings
    pair.register(query_of(2), "fewer")
    assert {len(one.order) for one in pair.core.standings} == {2}
