"""Streams that end: whoever waits for a tuple of theirs is let go, until they begin anew."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.operators.network.kmon.tuning import (
    ConstraintId,
    ConstraintTuning,
    KMonTuning,
    Loss,
    constraint_ids,
)
from tests.unit.kmon.joining import (
    GRAPHS,
    UNBOUNDED,
    Joining,
    feed,
    rows_of,
    some_arrivals,
    some_constraints,
    twin,
)

#: S1 → S2, S1 → S3.
WAITING = [(1, (1, 0), 1), (0, (1, 4), 2), (0, (2, 5), 3), (2, (4, 1), 4)]
RIDS = ConstraintId("RIDS", 0, 1)


def ended(loss: Loss, *watched: ConstraintId) -> Joining:
    """A join of which (1, 4) is in a result, and (2, 5) waits; S2 ends then."""
    constraints = tuple(ConstraintTuning(id, is_used=False) for id in watched)
    joining = Joining(GRAPHS["a"], [UNBOUNDED] * 3, KMonTuning(constraints, loss=loss))
    joining.run(WAITING, 10)
    assert joining.components()[0] == (0, 0, 1)
    joining.over = frozenset({"S2"})
    joining.run([], 11)
    return joining


@pytest.mark.parametrize("loss", ["never", "budget"])
def test_who_waits_for_a_stream_that_ended_is_let_go(loss: Loss) -> None:
    joining = ended(loss, RIDS)
    assert joining.components()[0] == (0, 0, 0)
    profile = joining.join.profile()
    assert profile is not None
    assert profile.components[0].spilled == (loss == "never")
    assert (profile.constraints[RIDS].n_evicted, profile.constraints[RIDS].n_lost) == (1, 0)
    joining.run([(0, (3, 4), 12), (0, (1, 4), 13)], 14)
    assert joining.components()[0] == (0, 0, 0)
    assert sum(joining.emitted.values()) == 2


@pytest.mark.parametrize(("loss", "n_results", "n_lost"), [("never", 2, 0), ("budget", 1, 1)])
def test_a_stream_may_begin_anew(loss: Loss, n_results: int, n_lost: int) -> None:
    joining = ended(loss, RIDS)
    joining.over = frozenset()
    joining.run([(2, (5, 1), 12), (1, (2, 0), 13)], 14)
    profile = joining.join.profile()
    assert profile is not None
    assert sum(joining.emitted.values()) == n_results
    assert profile.constraints[RIDS].n_lost == n_lost


def test_without_constraints_it_waits_as_the_text_says() -> None:
    assert ended("never").components()[0] == (0, 0, 1)


def test_a_relation_lacks_nothing_before_it_has_come() -> None:
    """S3 is stored; a batch without a tuple of it is before it."""
    joining = Joining(GRAPHS["a"], [UNBOUNDED] * 3, KMonTuning(), stored=frozenset({2}))
    joining.tuning = KMonTuning((ConstraintTuning(ConstraintId("RIDS", 0, 2), is_used=False),))
    joining.run([(1, (1, 0), 1), (0, (1, 4), 1)], 2)
    joining.run([(2, (4, 1), 3)], 4)
    assert sum(joining.emitted.values()) == 1
    joining.run([(0, (1, 5), 5)], 6)
    assert joining.components()[0] == (0, 0, 0)
    profile = joining.join.profile()
    assert profile is not None
    assert profile.components[0].spilled == 0


@given(st.integers(0, 1 << 30))
@settings(max_examples=60, deadline=None)
def test_results_are_the_same_whichever_streams_end_and_begin_anew(seed: int) -> None:
    rng = random.Random(seed)
    graph = rng.choice([GRAPHS["a"], GRAPHS["b"], GRAPHS["two roots"]])
    windows = [rng.choice([UNBOUNDED, ("range", 30), ("rows", 6)]) for _ in range(3)]
    joining, mon = Joining(graph, windows, KMonTuning()), twin(graph, windows)
    ids = constraint_ids(joining.work)
    chosen = some_constraints(rng, joining, 4, 0.3) or tuple(map(ConstraintTuning, ids))
    joining.tuning = KMonTuning(chosen, gc_arrivals=rng.choice([0, 1]))
    arrivals = some_arrivals(rng, graph, 50, (1, 2))
    last = arrivals[-1][2]
    for heartbeat in range(5, last + 6, 5):
        joining.over = frozenset(rng.sample(["S1", "S2", "S3"], rng.randrange(3)))
        joining.run([one for one in arrivals if heartbeat - 5 <= one[2] < heartbeat], heartbeat)
    for arrival in arrivals:
        feed(mon, graph, arrival)
    assert joining.emitted == rows_of(mon.emitted)
    assert joining.relation(last) == rows_of(mon.results)
