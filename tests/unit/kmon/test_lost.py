"""No more results are lost than are told, where tuples are dropped by a k that is too small."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.operators.network.kmon.tuning import (
    ConstraintId,
    ConstraintTuning,
    KMonTuning,
    constraint_ids,
)
from tests.unit.kmon.joining import (
    GRAPHS,
    UNBOUNDED,
    Arrival,
    Joining,
    Window,
    some_arrivals,
    some_constraints,
    some_windows,
)

DROPPING = KMonTuning(loss="budget", sample_prob=0)
RIDS = ConstraintId("RIDS", 0, 2)


def lost_and_told(
    joining: Joining,
    arrivals: Sequence[Arrival],
    constraints: Sequence[ConstraintTuning],
    at_once: int,
) -> tuple[int, int]:
    """Results that are lost, and how many are told to be at most."""
    plain = Joining(joining.graph, joining.windows, DROPPING)
    plain.run(arrivals, arrivals[-1][2] + 1)
    joining.tuning, told = replace(joining.tuning, constraints=tuple(constraints)), 0
    for first in range(0, len(arrivals), at_once):
        batch = arrivals[first : first + at_once]
        joining.run(batch, batch[-1][2] + 1 if first + at_once >= len(arrivals) else batch[-1][2])
        profile = joining.join.profile()
        assert profile is not None
        told += sum(of_it.n_lost for of_it in profile.constraints.values())
    return (plain.emitted - joining.emitted).total(), told


@given(st.integers(0, 1 << 30))
@settings(max_examples=300, deadline=None)
def test_no_more_is_lost_than_told(seed: int) -> None:
    rng = random.Random(seed)
    graph = rng.choice(list(GRAPHS.values()))
    windows: list[Window] = some_windows(rng) if rng.random() < 0.5 else [UNBOUNDED] * 3
    joining = Joining(graph, windows, replace(DROPPING, gc_arrivals=rng.choice([0, 1, 3])))
    arrivals = some_arrivals(rng, graph, 70, (1, 1, 2))
    constraints = some_constraints(rng, joining, 4, 0.5)
    lost, told = lost_and_told(joining, arrivals, constraints, rng.choice([70, 20, 7]))
    assert lost <= told


def test_a_thousand_parents_whose_children_come_later_are_told_one_by_one() -> None:
    arrivals: list[Arrival] = [(1, (1, 0), 0)]
    arrivals += [(0, (1, key), 1 + key) for key in range(1000)]
    arrivals += [(2, (key, 0), 1001 + key) for key in range(1000)]
    joining = Joining(GRAPHS["a"], [UNBOUNDED] * 3, replace(DROPPING, gc_arrivals=1))
    assert lost_and_told(joining, arrivals, [ConstraintTuning(RIDS, declared=0)], 500) == (
        1000,
        1000,
    )


def test_a_lost_tuple_counts_with_all_results_it_would_have_been_in() -> None:
    """Ten tuples of the other root join the same child, five before it and five after it."""
    arrivals: list[Arrival] = [(0, (1, 5), 0), *((1, (k, 5), 1 + k) for k in range(5))]
    arrivals += [(2, (5, 0), 9), *((1, (k, 5), 10 + k) for k in range(5))]
    tuning: Any = [ConstraintTuning(RIDS, declared=0)]
    joining = Joining(GRAPHS["two roots"], [UNBOUNDED] * 3, replace(DROPPING, gc_arrivals=1))
    assert lost_and_told(joining, arrivals, tuning, 3) == (10, 10)


@pytest.mark.parametrize("k", [4, 8])
def test_nothing_is_told_to_be_lost_where_k_is_right(k: int) -> None:
    """Packets on three links, two thirds of which go on: those that do not are let go."""
    rng, arrivals = random.Random(7), list[Arrival]()
    for packet in range(500):
        n_links = 1 + (rng.random() < 2 / 3) + (rng.random() < 1 / 3)
        arrivals += [(link, (packet, 0), packet + link) for link in range(n_links)]
    arrivals.sort(key=lambda arrival: arrival[2])
    joining = Joining(GRAPHS["links"], [UNBOUNDED] * 3, replace(DROPPING, gc_arrivals=1))
    constraints = [
        ConstraintTuning(id, declared=k) for id in constraint_ids(joining.work) if id.type == "RIDS"
    ]
    assert lost_and_told(joining, arrivals, constraints, 100) == (0, 0)
