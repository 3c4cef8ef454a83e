"""The join of k-Mon beside its slow twin: results, components, constraints, what lies aside."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

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
    feed,
    in_words,
    rows_of,
    some_arrivals,
    some_constraints,
    some_windows,
    twin,
)

SEEDS = st.integers(0, 1 << 30)
#: As in the text: what is let go is gone, garbage is collected with every arrival.
LITERAL = KMonTuning(loss="budget", sample_prob=0.0, gc_arrivals=1)


def run_in_batches(joining: Joining, arrivals: Sequence[Arrival], rng: random.Random) -> int:
    """All arrivals, cut into batches somewhere; the last time there was."""
    last, before = arrivals[-1][2], -1
    cuts = sorted(rng.sample(range(last + 20), min(last + 20, rng.randrange(8))))
    for heartbeat in [*cuts, last + 30]:
        joining.run([one for one in arrivals if before <= one[2] < heartbeat], heartbeat)
        before = heartbeat
    return last


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_results_come_and_end_as_by_definition(seed: int) -> None:
    rng = random.Random(seed)
    graph = rng.choice([GRAPHS["a"], GRAPHS["b"], GRAPHS["two roots"]])
    arrivals, windows = some_arrivals(rng, graph, 50, (1, 1, 2, 5)), some_windows(rng)
    joining, mon = Joining(graph, windows, LITERAL), twin(graph, windows)
    last = run_in_batches(joining, arrivals, rng)
    for one in arrivals:
        feed(mon, graph, one)
    assert joining.emitted == rows_of(mon.emitted)
    assert joining.relation(last) == rows_of(mon.results)


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_components_and_losses_are_those_of_the_twin_after_every_arrival(seed: int) -> None:
    rng = random.Random(seed)
    graph = rng.choice([GRAPHS["a"], GRAPHS["b"], GRAPHS["two roots"]])
    windows = [rng.choice([UNBOUNDED, UNBOUNDED, ("rows", rng.randrange(2, 9))]) for _ in range(3)]
    joining = Joining(graph, windows, LITERAL)
    chosen = some_constraints(rng, joining, 6, 0.4)
    joining.tuning = replace(LITERAL, constraints=chosen)
    mon = twin(graph, windows, [in_words(one.id, one.declared, graph) for one in chosen])
    for one in some_arrivals(rng, graph, 40, (1,)):
        joining.run([one], one[2] + 1)
        feed(mon, graph, one)
        assert joining.emitted == rows_of(mon.emitted)
        expected = []
        for stream, held in mon.held.items():
            is_root = stream in mon.roots
            yes = 0 if is_root and len(mon.roots) == 1 else len(held["yes"])
            no = 0 if is_root else len(held["no"])
            expected.append((yes, no, len(held["unknown"])))
        assert joining.components() == expected


@given(SEEDS)
@settings(max_examples=100, deadline=None)
def test_nothing_is_lost_where_nothing_may_be_and_nothing_is_ever_invented(seed: int) -> None:
    rng = random.Random(seed)
    graph = rng.choice(list(GRAPHS.values()))
    arrivals, windows = some_arrivals(rng, graph, 60, (0, 1, 1, 3)), some_windows(rng)
    joining = Joining(graph, windows, KMonTuning())
    chosen = some_constraints(rng, joining, 4, 0.4)
    if rng.random() < 0.3:
        chosen = tuple(ConstraintTuning(one.id) for one in chosen)
    loss = "never" if rng.random() < 0.7 else "budget"
    joining.tuning = KMonTuning(
        chosen,
        loss=loss,  # type: ignore[arg-type]
        sample_prob=rng.choice([0, 0.2]),
        gc_arrivals=rng.choice([0, 1, 3]),
        window=4,
        slack=0,
    )
    last = run_in_batches(joining, arrivals, rng)
    mon = twin(graph, windows)
    for one in arrivals:
        feed(mon, graph, one)
    emitted, relation = rows_of(mon.emitted), rows_of(mon.results)
    assert not joining.emitted - emitted
    assert not joining.relation(last) - relation
    if loss == "never":
        assert joining.emitted == emitted
        assert joining.relation(last) == relation


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_batches_may_be_cut_anywhere(seed: int) -> None:
    """Same results, same estimates, same components."""
    rng = random.Random(seed)
    graph, windows = rng.choice(list(GRAPHS.values())), [UNBOUNDED, ("rows", 9), UNBOUNDED]
    arrivals = some_arrivals(rng, graph, 80, (1, 2))
    found = []
    for _ in range(2):
        joining = Joining(graph, windows, KMonTuning(window=4, slack=0, loss="budget"))
        ids = constraint_ids(joining.work)
        joining.tuning = KMonTuning(
            tuple(map(ConstraintTuning, ids)), window=4, slack=0, loss="budget", sample_prob=0.3
        )
        run_in_batches(joining, arrivals, rng)
        profile = joining.join.profile()
        assert profile is not None
        known = {id: (one.k, one.kept, one.estimate) for id, one in profile.constraints.items()}
        found.append((sorted(joining.told), known, joining.components()))
    assert found[0] == found[1]


def links(n: int, rng: random.Random) -> list[Arrival]:
    """Packets on three links, each of which two of three packets go on to."""
    found = []
    for packet in range(n):
        tau = packet
        found.append((0, (packet, 0), tau))
        for link in (1, 2):
            tau += rng.randrange(1, 4)
            if rng.random() < 2 / 3:
                found.append((link, (packet, 0), tau))
            else:
                break
    return sorted(found, key=lambda one: (one[2], one[0]))


@pytest.mark.parametrize("loss", ["never", "budget"])
def test_one_one_joins_hold_what_is_under_way_alone(loss: str) -> None:
    """Erratum D8: with RIDS both ways, not with RIDS one way."""
    arrivals = links(2000, random.Random(3))
    held = {}
    for name, ids in (
        ("none", []),
        ("one way", [ConstraintId("RIDS", 1, 0), ConstraintId("RIDS", 2, 1)]),
        (
            "both",
            [ConstraintId("RIDS", *pair) for pair in ((1, 0), (2, 1), (0, 1), (1, 2))],
        ),
    ):
        tuning = KMonTuning(
            tuple(ConstraintTuning(id, declared=8) for id in ids),
            loss=loss,  # type: ignore[arg-type]
        )
        joining = Joining(GRAPHS["links"], [("range", 1000)] * 3, tuning)
        joining.run(arrivals, arrivals[-1][2] + 1)
        assert len(joining.emitted) == sum(stream == 2 for stream, _, _ in arrivals)
        held[name] = joining.join.n_tuples
    assert held["both"] < held["one way"] / 10 < held["none"] / 10


def test_what_lies_aside_takes_little_memory_and_all_of_it_comes_back() -> None:
    """A thousand parents, in batches; their child in S3 is told not to come, and does."""
    id = ConstraintId("RIDS", 0, 2)
    joining = Joining(
        GRAPHS["a"],
        [UNBOUNDED] * 3,
        KMonTuning((ConstraintTuning(id, declared=0),), gc_arrivals=1),
    )
    n, at_once = 1000, 100
    keys = list(range(n))
    joining.run([(1, (1, 0), 0)], 1)
    for first in range(0, n, at_once):
        joining.run([(0, (1, key), 1 + key) for key in keys[first : first + at_once]], first + 101)
    profile = joining.join.profile()
    assert profile is not None
    parents = profile.components[0]
    assert (parents.spilled, parents.n_tuples) == (n, 0)
    assert parents.n_bytes < parents.row_bytes * n / 3
    random.Random(1).shuffle(keys)
    joining.run([(2, (key, 0), 2000 + k) for k, key in enumerate(keys)], 4000)
    assert joining.emitted == Counter((1, key, 1, 0, key, 0) for key in keys)
    assert joining.components()[0] == (0, 0, 0)


def test_a_key_that_comes_again_is_kept_aside_and_told() -> None:
    joining = Joining(GRAPHS["a"], [UNBOUNDED] * 3, KMonTuning())
    joining.run([(1, (6, 20), 1), (1, (6, 21), 2), (2, (5, 3), 3), (0, (6, 5), 4)], 10)
    profile = joining.join.profile()
    assert profile is not None
    assert (profile.n_repeated, profile.repeated) == (1, ("tuple 2 of S2",))
    assert list(joining.emitted) == [(6, 5, 6, 20, 5, 3)]


def test_a_violated_k_is_told_with_what_it_lost() -> None:
    """RIDS(1): the child of the first tuple comes as the third."""
    id = ConstraintId("RIDS", 0, 2)
    arrivals = [(1, (1, 0), 1), (0, (1, 4), 2), (2, (9, 1), 3), (2, (8, 1), 4), (2, (4, 1), 5)]
    for loss, n_lost, n_returned in (("budget", 1, 0), ("never", 0, 1)):
        tuning = KMonTuning(
            (ConstraintTuning(id, declared=1),),
            loss=loss,  # type: ignore[arg-type]
            sample_prob=0,
            gc_arrivals=1,
        )
        joining = Joining(GRAPHS["a"], [UNBOUNDED] * 3, tuning)
        joining.run(arrivals, 9)
        profile = joining.join.profile()
        assert profile is not None
        told = profile.constraints[id]
        assert (told.n_lost, told.n_returned) == (n_lost, n_returned)
        assert len(joining.emitted) == n_returned
