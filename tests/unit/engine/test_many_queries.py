"""Queries come and go in the loop: only what changed is published, memory is bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine_runs import RUN_ID
from tests.unit.engine.test_loop import Bench


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
