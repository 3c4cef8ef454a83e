"""Sampled tuples of selections at each edge: whom a query still wants, by a second way."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.events import PlanKind, SelectionPlan
from backend.model.ids import entity_id, output_id, output_queue, source_id, source_queue
from backend.systems.asc.constructs import build_constructs
from backend.systems.asc.ways import MOST_TUPLES, is_on_the_way, passed
from dashboard.views.taps import build_tap
from tests.unit.asc.stream import QUERIES, SCHEMA, tuples
from tests.web.engine_run import UNIT, SelectionRun

#: The queries of ``QUERIES``, test by test.
TESTS: dict[str, dict[str, Callable[[int], bool]]] = {
    "q1": {"a": lambda v: v < 20, "b": lambda v: v < 20},
    "q2": {"a": lambda v: v < 18, "b": lambda v: v < 15, "c": lambda v: v < 50},
    "q3": {"a": lambda v: v < 12, "b": lambda v: v < 20, "d": lambda v: v >= 50},
    "q4": {
        "a": lambda v: v == 7,
        "b": lambda v: v < 19,
        "c": lambda v: v >= 30,
        "d": lambda v: v < 70,
    },
}
RUN = "selections"


def is_wanted(row: dict[str, Any], tested: tuple[str, ...]) -> bool:
    """Whether a query may still want a tuple of which these attributes were tested."""
    return any(
        all(test(row[name]) for name, test in tests.items() if name in tested)
        for tests in TESTS.values()
    )


@given(
    st.permutations(("a", "b", "c", "d")),
    st.integers(0, 200),
    st.integers(0, 9),
    st.sampled_from(["early drop", "no early drop"]),
)
def test_a_tuple_passes_a_construct_while_a_query_wants_it(
    order: list[str], n: int, seed: int, kind: PlanKind
) -> None:
    plan = SelectionPlan(1, kind, tuple(order), ())
    constructs = build_constructs(QUERIES, SCHEMA)
    sample = tuples(n, seed, 30, 30)
    source, *behind = passed("u", "S", 999, plan, constructs, sample)
    assert (source.entity, source.n_passed) == (source_id("S"), 999)
    assert len(source.rows) == min(n, MOST_TUPLES)
    named = [dict(zip(source.columns, row[3:], strict=True)) for row in source.rows]
    of_sample = {tuple(row) for row in zip(*(sample[name] for name in order), strict=True)}
    assert {tuple(row[3:]) for row in source.rows} <= of_sample
    for place, one in enumerate(behind, 1):
        tested = plan.order[:place] if kind == "early drop" or place == len(order) else ()
        left = [row for row, own in zip(source.rows, named, strict=True) if is_wanted(own, tested)]
        assert (one.entity, one.rows) == (entity_id("u", "selection", order[place - 1]), left)
        assert all(one.has_all_of(row[0]) for row in source.rows)
    assert len(behind) == (len(order) if n else 0)


def test_tuples_that_go_their_own_ways_are_not_told_of() -> None:
    for kind in ("hybrid", "ticket"):
        plan = SelectionPlan(1, kind, ("a", "b"), ())
        assert not is_on_the_way(source_queue("S"), "u", "S", plan)
        constructs = build_constructs(QUERIES, SCHEMA)
        assert len(passed("u", "S", 9, plan, constructs, tuples(9, 1))) == 1


@pytest.fixture
def run(tmp_path: Path) -> Iterator[SelectionRun]:
    made = SelectionRun(tmp_path / "store.db", RUN, ordering="macro", no_drop_visit_cost=9.0)
    made.run(tuples(500, 1, 30, 30))
    yield made
    made.close()


def tap(run: SelectionRun, entity: str) -> str:
    asked = run.ask("tap", {"entity": entity, "batches": 1})
    run.loop.idle()
    return run.answer(asked).answer


def test_edges_of_selections_are_tapped_and_say_where_a_tuple_ended(run: SelectionRun) -> None:
    plan = run.reader.plans_at(RUN)[UNIT]
    assert plan.kind == "early drop"
    queues = [edge["queue"] for edge in plan.graph["edges"]]
    for entity in (*queues, *plan.order, source_id("S"), output_id("S"), output_queue(UNIT)):
        assert "tapped" in tap(run, entity)
    assert "cannot be tapped" in tap(run, "asc.S/query:q1")
    run.run(tuples(250, 2, 30, 30))
    batch = run.batch_id - 1
    names = [node["name"] for node in plan.graph["nodes"][1:-1]]
    ends = random.Random(1).sample(range(20), 8)
    for place in ends:
        view = build_tap(run.reader, RUN, batch, source_queue("S"), place)
        assert view is not None
        assert view.sample is not None
        assert (view.sample.n_passed, view.sample.n_kept) == (250, 20)
        row = dict(zip(view.sample.columns, view.sample.rows[place][3:], strict=True))
        wanted = [is_wanted(row, tuple(names[: k + 1])) for k in range(len(names))]
        went = names[: wanted.index(False)] if False in wanted else names
        assert [step.name for step in view.steps if step.fate == "went on"] == went
        last = view.steps[-1]
        if False in wanted:
            name = names[wanted.index(False)]
            assert (last.name, last.fate, last.why) == (name, "ended", f"{name} = {row[name]}")
        else:
            assert last.fate == "arrived"
    assert run.reader.taps(RUN, source_id("S"), batch - 1)[0].batch_id == batch
