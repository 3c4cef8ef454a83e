"""Ordered arrival by running maxima, however many there are and wherever batches are cut."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from backend.operators.network.kmon.tuning import (
    ConstraintId,
    ConstraintTuning,
    KMonTuning,
)
from tests.oracles.k_mon import scrambling_distances
from tests.unit.kmon.joining import GRAPHS, UNBOUNDED, Arrival, Joining

OAP, OAC = ConstraintId("OAP", 0, place=0), ConstraintId("OAC", child=1, place=0)


class Told(NamedTuple):
    """known: k, k_e and estimate at the end; largest distance; results; components."""

    known: tuple[int, int, int]
    largest: int
    results: list[tuple[int, int, tuple[int, ...]]]
    components: list[tuple[int, int, int]]


def ran(id: ConstraintId, arrivals: Sequence[Arrival], at_once: int, declared: int = -1) -> Told:
    """What is told of a constraint, the results and the components, with batches of one size."""
    tuning = KMonTuning(
        (ConstraintTuning(id, declared=declared),),
        loss="budget",
        sample_prob=0,
        window=50,
        slack=0,
        gc_arrivals=1,
    )
    joining, largest = Joining(GRAPHS["a"], [UNBOUNDED] * 3, tuning), 0
    for first in range(0, len(arrivals), at_once):
        batch = arrivals[first : first + at_once]
        joining.run(batch, batch[-1][2] + 1)
        profile = joining.join.profile()
        assert profile is not None
        of_it = profile.constraints[id]
        largest = max(largest, of_it.largest)
    known = (of_it.k, of_it.kept, of_it.estimate)
    return Told(known, largest, joining.told, joining.components())


@pytest.mark.parametrize("at_once", [400, 101, 10])
def test_a_distance_over_many_maxima_is_the_whole_one(at_once: int) -> None:
    values = [*range(400), 249]
    told = ran(OAP, [(0, (v, 0), k) for k, v in enumerate(values)], at_once)
    assert told.largest == max(scrambling_distances(values)) == 150


@pytest.mark.parametrize("id", [OAP, OAC])
def test_results_and_estimates_do_not_depend_on_the_cut_with_many_maxima(id: ConstraintId) -> None:
    rng, n = random.Random(5), 1500
    late = sorted(range(n), key=lambda number: number + rng.randrange(200))
    children, parents = (range(n), late) if id == OAP else (late, range(n))
    arrivals: list[Arrival] = [(2, (0, 0), 0)]
    for number in range(n):
        arrivals.append((1, (children[number], 0), 2 * number))
        arrivals.append((0, (max(0, parents[number] - rng.randrange(20)), 0), 2 * number + 1))
    whole = ran(id, arrivals, len(arrivals))
    assert len(whole.results) > 100
    assert whole.largest > 64
    for at_once in (701, 101):
        assert ran(id, arrivals, at_once) == whole


@pytest.mark.parametrize(("id", "waiting", "stream"), [(OAP, 1, 0), (OAC, 0, 1)])
def test_a_declared_k_of_20_000_lets_go(id: ConstraintId, waiting: int, stream: int) -> None:
    """A child of which no parent comes any more goes, or a parent whose child does not come."""
    k = 20_000
    tuning = KMonTuning((ConstraintTuning(id, declared=k),), loss="budget", gc_arrivals=500)
    joining = Joining(GRAPHS["a"], [UNBOUNDED] * 3, tuning)
    arrivals: list[Arrival] = [(waiting, (-5, 0), 0)]
    arrivals += [(stream, (v, 0), 1 + v) for v in range(k + 1000)]
    joining.run(arrivals[: k - 500], k - 500)
    assert sum(joining.components()[waiting]) == 1
    joining.run(arrivals[k - 500 :], k + 2000)
    assert sum(joining.components()[waiting]) == 0
