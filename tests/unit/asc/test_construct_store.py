"""Queries come and go: the store equals a fresh build, numbers rest, errors change nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.conditions import Comparison, Condition, ContinuousQuery, Op
from backend.model.schema import Schema
from backend.systems.asc.constructs import (
    ConstructSet,
    ConstructStore,
    QueryError,
    build_constructs,
)
from backend.systems.asc.layouts import layout_of
from tests.strategies import MIXED_SCHEMA, mixed_queries, rows_of
from tests.unit.asc.papers import query_names

INTS = Schema.parse("x int, y int")
OPERATORS: tuple[Op, ...] = ("<", "=", ">")


def query(name: str, condition: Condition) -> ContinuousQuery:
    return ContinuousQuery(name, "S", "", condition)


def facts(found: ConstructSet) -> dict[str, Any]:
    """What does not depend on how slots are numbered."""
    return {
        "constants": {a: (c.constants, c.region_labels()) for a, c in found.constructs.items()},
        "users": {a: found.users_of(a) for a in found.attributes},
        "n_users": dict(found.n_users),
        "names": found.names,
        "uses": {name: found.uses(name) for name in found.names},
        "twins": {name: found.duplicate_of(name) for name in found.names},
        "dead": found.contradictory,
        "always": found.predicate_free,
        "passed": {a: passed(found, a) for a in found.attributes},
        "covered": slots_covered(found),
    }


def passed(found: ConstructSet, attribute: str) -> list[list[list[bool]]]:
    """Region by region, query by query: which of its slots pass, in an order of its own."""
    rows = found.constructs[attribute].qrb[:]
    return [
        [sorted(bit(row, slot) for slot in found.slots_of(name)) for name in found.names]
        for row in rows
    ]


def slots_covered(found: ConstructSet) -> dict[str, list[bool]]:
    return {n: sorted(bit(found.covered, s) for s in found.slots_of(n)) for n in found.names}


def bit(words: Any, slot: int) -> bool:
    return bool(int(words[slot // 64]) >> (slot % 64) & 1)


@given(mixed_queries(10), st.data())
def test_any_coming_and_going_equals_a_fresh_build(
    queries: list[ContinuousQuery], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(queries)))
    store = ConstructStore(MIXED_SCHEMA, queries[:cut])
    kept = list(queries[:cut])
    waiting = list(queries[cut:])
    for _ in range(data.draw(st.integers(0, 12))):
        if data.draw(st.booleans()):
            store.settle()
        if waiting and (not kept or data.draw(st.booleans())):
            kept.append(waiting.pop(0))
            store.add(kept[-1])
        elif kept:
            gone = kept.pop(data.draw(st.integers(0, len(kept) - 1)))
            store.remove(gone.name)
            waiting.append(gone)
    assert facts(store.snapshot()) == facts(build_constructs(kept, MIXED_SCHEMA))


@given(mixed_queries(8), rows_of(MIXED_SCHEMA), st.data())
def test_tuples_satisfy_the_same_queries(
    queries: list[ContinuousQuery], rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    store = ConstructStore(MIXED_SCHEMA, queries)
    kept = [q for q in queries if data.draw(st.booleans())]
    store.update(kept)
    store.settle()
    store.update(queries)
    found, fresh = store.snapshot(), build_constructs(queries, MIXED_SCHEMA)
    for row in rows:
        assert names_of(found, row) == names_of(fresh, row)


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)), st.booleans())
def test_many_that_come_and_go_at_once_equal_a_fresh_build(
    before: set[int], after: set[int], is_settled: bool
) -> None:
    """More than a few in one tile: it is made anew instead of slot by slot."""
    known = {
        j: query(f"q{j}", Comparison("xy"[j % 2], OPERATORS[j % 3], j // 4)) for j in before | after
    }
    store = ConstructStore(INTS, [known[j] for j in sorted(before)])
    if is_settled:
        store.settle()
    store.update([known[j] for j in sorted(after)])
    assert {one.name for one in store.queries} == {f"q{j}" for j in after}
    fresh = build_constructs(store.queries, INTS)
    assert facts(store.snapshot()) == facts(fresh)
    for value in range(17):
        row = {"x": value, "y": value}
        assert sorted(names_of(store.snapshot(), row)) == sorted(names_of(fresh, row))


def names_of(found: ConstructSet, row: dict[str, Any]) -> tuple[str, ...]:
    grb = found.initial.copy()
    for attribute, construct in found.constructs.items():
        grb &= construct.qrb[construct.region_of(row[attribute])]
    return query_names(found, grb)


def test_a_snapshot_stays_as_it_was() -> None:
    store = ConstructStore(INTS, [query(f"q{j}", Comparison("x", "=", j)) for j in range(70)])
    before = store.snapshot()
    seen = facts(before), before.initial.tolist()
    store.remove("q3")
    store.add(query("new", Comparison("y", ">", 3)))
    assert (facts(before), before.initial.tolist()) == seen
    assert store.snapshot().attributes == ("x", "y")


def test_a_number_that_became_free_rests_until_a_batch_has_run() -> None:
    store = ConstructStore(INTS, [query("a", Comparison("x", "=", 1))])
    store.remove("a")
    store.add(query("b", Comparison("x", "=", 2)))
    assert store.snapshot().slot_of("b") == 1
    store.settle()
    store.add(query("c", Comparison("x", "=", 3)))
    assert store.snapshot().slot_of("c") == 0


def test_only_what_a_query_uses_is_made_anew() -> None:
    store = ConstructStore(
        INTS, [query("a", Comparison("x", "=", 1)), query("b", Comparison("y", "=", 1))]
    )
    before = store.snapshot()
    store.add(query("c", Comparison("x", "<", 9)))
    after = store.snapshot()
    assert after.constructs["y"] is before.constructs["y"]
    assert after.constructs["x"] is not before.constructs["x"]


def test_a_refused_query_changes_nothing() -> None:
    known = query("a", Comparison("x", "=", 1))
    store = ConstructStore(INTS, [known])
    before = facts(store.snapshot())
    wrong = query("b", Comparison("z", "=", 1))
    with pytest.raises(QueryError, match="'z'"):
        store.update([query("c", Comparison("x", "=", 5)), wrong])
    assert facts(store.snapshot()) == before
    with pytest.raises(QueryError, match="names must differ"):
        store.update([known, query("a", Comparison("x", "=", 2))])
    assert facts(store.snapshot()) == before


def test_layouts_of_grown_bitmaps_are_whole() -> None:
    """A tile of few words beside one of many: its rows are laid out as wide as the tile."""
    store = ConstructStore(INTS, [query("y", Comparison("y", "=", 1))])
    for j in range(200):
        store.add(query(f"q{j}", Comparison("x", "=", j)))
    found = store.snapshot()
    layout = layout_of(found, ("x", "y"))
    assert layout.qub.shape == (2, found.n_words)
    assert len(layout.pool) % found.n_words == 0
