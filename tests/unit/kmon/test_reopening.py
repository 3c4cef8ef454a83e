"""Joins of relations that change beside their slow twin: parents wait anew (erratum D3)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.operators.network.core.blocks import Block, Column64
from backend.operators.network.kmon.tuning import (
    ConstraintTuning,
    KMonTuning,
    constraint_ids,
)
from tests.oracles.k_mon_reopening import RelationEdge, ReopeningJoin, Row, joined
from tests.unit.kmon.joining import GRAPHS, LIMIT, UNBOUNDED, Graph, Joining, Window

SEEDS = st.integers(0, 1 << 30)
CHANGING: Window = ("changing", 0)
#: (relation, tuple, sign, τ).
Change = tuple[int, Row, int, int]
OWN_GRAPHS = [GRAPHS["a"], GRAPHS["b"], GRAPHS["two roots"]]


#: Filters of the relations.
PASSES: list[Callable[[Row], bool]] = [
    lambda row: True,
    lambda row: True,
    lambda row: row[1] is not None and row[1] < LIMIT,
]


def with_keys(graph: Graph, relation: int) -> Callable[[Row], bool]:
    """A filter that tuples with NULL where they are joined fail, too."""
    above = {a for parent, _, (a, _) in graph.edges if parent == relation}
    below = {b for _, child, (_, b) in graph.edges if child == relation}

    def passes(row: Row) -> bool:
        return PASSES[relation](row) and all(row[place] is not None for place in above | below)

    return passes


def some_changes(
    rng: random.Random, graph: Graph, n: int, at_once: int, windows: Sequence[Window] = ()
) -> list[Change]:
    """Relations whose tuples come and go; streams whose tuples come. Keys are there once, those of
    a stream come once."""
    changes, tau = list[Change](), 0
    held: list[list[Row]] = [[], [], []]
    while len(changes) < n:
        tau += rng.choice([1, 1, 2, 5])
        for _ in range(rng.randrange(1, at_once + 1)):
            k = rng.randrange(3)
            goes = not windows or windows[k] == CHANGING
            if goes and held[k] and rng.random() < 0.45:
                gone = held[k].pop(rng.randrange(len(held[k])))
                changes.append((k, gone, -1, tau))
                continue
            row = _some_row(rng, graph, k)
            key = graph.keys.get(k)
            if key is None or all(other[key] != row[key] for other in held[k]):
                held[k].append(row)
                changes.append((k, row, 1, tau))
    return changes


def _some_row(rng: random.Random, graph: Graph, relation: int) -> Row:
    row = (rng.randrange(6), rng.randrange(12 if relation == 2 else 5))
    if relation in graph.keys or rng.random() < 0.9:
        return row
    return (row[0], None) if rng.random() < 0.5 else (None, row[1])


def relation_at(changes: Sequence[Change], relation: int, window: Window, tau: int) -> list[Row]:
    """The tuples that are there at a time, by definition."""
    kind, size = window
    own = [(row, sign, at) for k, row, sign, at in changes if k == relation and at <= tau]
    if kind == "range":
        return [row for row, _, at in own if at >= tau - size]
    if kind == "rows":
        return [row for row, _, _ in own[-size:]]
    held: list[Row] = []
    for row, sign, _ in own:
        (held.append if sign > 0 else held.remove)(row)
    return held


def block_of(changes: Sequence[Change], relation: int) -> Block:
    own = [change for change in changes if change[0] == relation]
    columns = []
    for place in range(2):
        values = [row[place] for _, row, _, _ in own]
        valid = np.array([value is not None for value in values], bool)
        column = np.array([0 if value is None else value for value in values], np.int64)
        columns.append(Column64(column, None if valid.all() else valid))
    taus = np.array([tau for *_, tau in own], np.int64)
    return Block(taus, np.array([sign for _, _, sign, _ in own], np.int8), tuple(columns))


def values_of(column: Column64) -> list[int | None]:
    pairs = zip(column.values.tolist(), column.is_valid.tolist(), strict=True)
    return [value if is_valid else None for value, is_valid in pairs]


class Changing(Joining):
    """A join that is told of changes."""

    def take(self, changes: Sequence[Change], heartbeat: int, at_once: int = 1 << 30) -> None:
        """A batch. at_once: changes that the join is given at a time, others of a tick later."""
        self.made()
        for first in range(0, max(len(changes), 1), at_once):
            piece, rest = changes[first : first + at_once], changes[first + at_once :]
            until = rest[0][3] if rest else heartbeat
            block = self.join.run([block_of(piece, k) for k in range(3)], until)
            rows = zip(*map(values_of, block.columns), strict=True)
            self.told += zip(block.tau.tolist(), block.sign.tolist(), rows, strict=True)

    def in_batches(self, changes: Sequence[Change], rng: random.Random) -> None:
        """All of them, cut somewhere."""
        last, before = changes[-1][3], -1
        for heartbeat in [
            *sorted(rng.sample(range(last + 1), min(last, rng.randrange(8)))),
            last + 9,
        ]:
            own = [one for one in changes if before <= one[3] < heartbeat]
            self.take(own, heartbeat, rng.choice([1, 3, 1000]))
            before = heartbeat


def components_of(joining: Joining) -> list[tuple[int, int, int]]:
    profile = joining.join.profile()
    assert profile is not None
    return [(one.yes, one.unknown, one.spilled) for one in profile.components]


def tuning_of(joining: Joining, ks: Sequence[int | None], **values: Any) -> KMonTuning:
    """Constraints with a k, -1 for one that is estimated; None: it is not used."""
    chosen = [
        ConstraintTuning(id, declared=k)
        for id, k in zip(constraint_ids(joining.work), ks, strict=True)
        if k is not None
    ]
    return KMonTuning(tuple(chosen), **{"sample_prob": 0.0, "gc_arrivals": 1, **values})


def some_windows(rng: random.Random) -> list[Window]:
    others = (UNBOUNDED, ("range", rng.randrange(12)), ("rows", rng.randrange(1, 8)))
    windows = [CHANGING if rng.random() < 0.7 else rng.choice(others) for _ in range(3)]
    return windows if CHANGING in windows else [CHANGING, *windows[1:]]


@given(SEEDS)
@settings(max_examples=150, deadline=None)
def test_results_are_those_of_the_join_at_every_time(seed: int) -> None:
    """Nothing is lost, whatever may be."""
    rng = random.Random(seed)
    graph, windows = rng.choice(OWN_GRAPHS), some_windows(rng)
    joining = Changing(graph, windows, KMonTuning())
    ks = [rng.choice([None, -1, 0, 1, 3]) for _ in constraint_ids(joining.work)]
    every = rng.choice([0, 1, 3])
    loss = rng.choice(["never", "budget"])
    joining.tuning = tuning_of(
        joining, ks, window=4, slack=0, gc_arrivals=every, loss=loss, sample_prob=0.2
    )
    changes = some_changes(rng, graph, 60, 4, windows)
    joining.in_batches(changes, rng)
    on = {(p, c): places for p, c, places in graph.edges}
    for tau in range(changes[-1][3] + 1):
        relations = [relation_at(changes, k, windows[k], tau) for k in range(3)]
        assert joining.relation(tau) == joined(relations, PASSES, on)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_batches_may_be_cut_anywhere(seed: int) -> None:
    """Same results, same components, same estimates."""
    rng = random.Random(seed)
    graph = rng.choice(OWN_GRAPHS)
    changes, outcomes = some_changes(rng, graph, 80, 4), []
    for _ in range(2):
        joining = Changing(graph, [CHANGING] * 3, KMonTuning())
        ks = [-1] * len(constraint_ids(joining.work))
        joining.tuning = tuning_of(joining, ks, window=4, slack=0)
        joining.in_batches(changes, rng)
        profile = joining.join.profile()
        assert profile is not None
        known = {id: (one.k, one.kept, one.estimate) for id, one in profile.constraints.items()}
        relations = [joining.relation(tau) for tau in range(changes[-1][3] + 1)]
        outcomes.append((relations, known, joining.components()))
    assert outcomes[0] == outcomes[1]


@given(SEEDS)
@settings(max_examples=100, deadline=None)
def test_components_and_results_are_those_of_the_twin_after_every_change(seed: int) -> None:
    rng = random.Random(seed)
    graph = rng.choice(OWN_GRAPHS)
    joining = Changing(graph, [CHANGING] * 3, KMonTuning())
    ids = constraint_ids(joining.work)
    ks = [rng.choice([None, 0, 1, 3]) for _ in ids]
    joining.tuning = tuning_of(joining, ks)
    by_edge = {(id.parent, id.child): k for id, k in zip(ids, ks, strict=True)}
    edges = [RelationEdge(p, c, on, by_edge[p, c]) for p, c, on in graph.edges]
    mon = ReopeningJoin([with_keys(graph, k) for k in range(3)], edges)
    for tau, (k, row, sign, _) in enumerate(some_changes(rng, graph, 40, 4)):
        joining.take([(k, row, sign, tau)], tau + 1)
        mon.change(k, row, sign)
        if sign > 0 and rng.random() < 0.2:  # renewed in a tick of its own
            joining.take([(k, row, -1, tau), (k, row, 1, tau)], tau + 1)
            mon.change(k, row, 0)
        assert components_of(joining) == mon.components()


def test_who_is_renewed_in_the_tick_its_child_comes_has_not_waited() -> None:
    """A parent of S1 whose child in S2 has never been there, and other children since it came."""
    joining = Changing(GRAPHS["a"], [CHANGING] * 3, KMonTuning())
    id = constraint_ids(joining.work)[0]
    joining.tuning = KMonTuning((ConstraintTuning(id, declared=0),), gc_arrivals=1)
    joining.take([(2, (3, 1), 1, 1), (0, (5, 3), 1, 2), (1, (1, 1), 1, 3), (1, (2, 1), 1, 4)], 5)
    assert components_of(joining)[0] == (0, 0, 1)
    joining.take([(1, (5, 9), 1, 7), (0, (5, 3), -1, 7), (0, (5, 3), 1, 7)], 8)
    profile = joining.join.profile()
    assert profile is not None
    assert profile.constraints[id].n_violations == profile.constraints[id].largest == 0
    assert joining.relation(7) == {(5, 3, 5, 9, 3, 1): 1}


def test_a_tuple_that_comes_and_goes_in_a_tick_is_not_there() -> None:
    joining = Changing(GRAPHS["a"], [CHANGING] * 3, KMonTuning())
    joining.take([(0, (5, 3), 1, 2), (0, (5, 3), -1, 2), (1, (5, 1), 1, 3), (2, (3, 1), 1, 3)], 5)
    assert components_of(joining)[0] == (0, 0, 0)
    assert not joining.told


def test_who_lacks_a_stored_tuple_takes_no_parent_along_that_its_successor_joins() -> None:
    """S1 → S2 → S3, S3 stored: the tuple of S2 with (3, 9) is replaced by one with (3, 4)."""
    joining = Changing(
        GRAPHS["b"], [CHANGING, CHANGING, UNBOUNDED], KMonTuning(), stored=frozenset({2})
    )
    joining.tuning = tuning_of(joining, [-1] * len(constraint_ids(joining.work)))
    joining.take([(2, (4, 1), 1, 0)], 1)
    joining.take([(0, (7, 3), 1, 1), (1, (3, 9), 1, 2)], 3)
    joining.take([(1, (3, 9), -1, 4), (1, (3, 4), 1, 4)], 5)
    assert joining.relation(4) == {(7, 3, 3, 4, 4, 1): 1}
