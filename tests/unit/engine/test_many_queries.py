"""Queries come and go in the loop: only what changed is published, memory is bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine_runs import RUN_ID, EngineRun
from tests.unit.engine.test_loop import SCHEMA, Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "store.db")
    yield made
    made.close()


def duplicates(bench: Bench) -> dict[str, str | None]:
    entities = bench.reader.entities(RUN_ID)
    return {e.name: e.properties["duplicate_of"] for e in entities if e.kind == "query"}


def since(bench: Bench) -> dict[str, int]:
    return {e.name: e.since_batch for e in bench.reader.entities(RUN_ID) if e.kind == "query"}


def test_a_query_that_goes_or_comes_back_changes_its_twins_alone(bench: Bench) -> None:
    bench.random_batch()
    for name in ("twin", "other"):
        bench.ask("query_add", {"name": name, "text": "Select * From S Where a < 20 and b < 50"})
    bench.random_batch()
    assert duplicates(bench) == {"q1": None, "q2": None, "q3": None, "twin": "q1", "other": "q1"}
    bench.ask("query_pause", {"name": "q1"})
    bench.random_batch()
    bench.random_batch()
    assert duplicates(bench) == {"q1": None, "q2": None, "q3": None, "twin": None, "other": "twin"}
    assert since(bench) == {"q1": 2, "q2": 0, "q3": 0, "twin": 2, "other": 2}
    bench.ask("query_remove", {"name": "twin"})
    bench.ask("query_add", {"name": "twin", "text": "Select * From S Where b >= 90"})
    bench.random_batch()
    assert duplicates(bench)["twin"] == "q2"
    assert duplicates(bench)["other"] is None


def test_bitmaps_beyond_the_knob_are_refused_with_a_sentence(bench: Bench) -> None:
    bench.random_batch()
    lowered = bench.ask("knob", {"knob": "bitmap_memory", "value": 0.01})
    bench.random_batch()
    assert bench.answer(lowered).state == "applied"
    clauses = " or ".join(f"a = {value}" for value in range(1500))
    added = bench.ask("query_add", {"name": "wide", "text": f"Select * From S Where {clauses}"})
    bench.random_batch()
    found = bench.answer(added)
    assert found.state == "refused"
    assert found.answer.startswith("the bitmaps of 4 queries would take 0.01")
    assert found.answer.endswith("allows 0.01 MiB; raise it, or remove or pause queries")
    assert set(bench.query_states()) == {"q1", "q2", "q3"}


def test_the_knob_does_not_go_below_what_the_bitmaps_take(bench: Bench) -> None:
    clauses = " or ".join(f"a = {value}" for value in range(1500))
    bench.ask("query_add", {"name": "wide", "text": f"Select * From S Where {clauses}"})
    bench.random_batch()
    lowered = bench.ask("knob", {"knob": "bitmap_memory", "value": 0.01})
    bench.random_batch()
    found = bench.answer(lowered)
    assert found.state == "refused"
    assert "remove or pause queries first" in found.answer
    bench.ask("query_remove", {"name": "wide"})
    bench.random_batch()
    assert set(bench.query_states()) == {"q1", "q2", "q3"}


def test_a_query_removed_while_its_count_waits_to_be_published_ends_nothing(
    tmp_path: Path,
) -> None:
    """Of more than 500 queries those that match most are published, the others in turn."""
    texts = {f"q{n}": f"Select * From S Where a >= {n % 3}" for n in range(900)}
    run = EngineRun(tmp_path / "many.db", {"S": SCHEMA}, texts)
    rows = [{"a": 5, "b": n, "c": "x"} for n in range(20)]
    run.batch(rows)
    waiting = set(texts) - {
        entity.name
        for entity in run.reader.entities(RUN_ID)
        if "matched_total" in run.reader.values(RUN_ID).get(entity.id, {})
    }
    assert waiting
    gone = sorted(waiting)[:50]
    for name in gone:
        run.ask("query_remove", {"name": name})
    run.batch(rows)
    run.loop.finish({})
    left = {e.name for e in run.reader.entities(RUN_ID) if e.kind == "query"}
    assert left == set(texts) - set(gone)
    run.close()
