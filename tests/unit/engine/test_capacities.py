"""The capacity of a single queue: turned like any knob, seen at once, kept over a kill."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.vocabulary.records import Entity, Knob
from tests.engine_runs import RUN_ID
from tests.unit.engine.test_networks import UNIT, Run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    # all tuples of a batch are there at once: with much less than the time for them, queues fill
    return Run(tmp_path, knobs={"load": 10.0})


def queues(run: Run) -> list[Entity]:
    """Those between operators, which have a capacity."""
    found = (e for e in run.reader.entities(RUN_ID) if e.unit_id == UNIT and e.kind == "queue")
    return [one for one in found if "producer" in one.properties]


def knob_of(run: Run, queue: Entity) -> Knob:
    (found,) = (knob for knob in run.reader.knobs(RUN_ID) if knob.scope == queue.id)
    return found


def peak(run: Run, queue: Entity) -> float:
    return run.reader.values(RUN_ID)[queue.id]["queue_peak_tuples"] or 0


def test_a_queue_has_a_capacity_that_acts_at_once(run: Run) -> None:
    run.seconds(0, 100)
    inner = [one for one in queues(run) if "/input:" not in str(one.properties["producer"])]
    fullest = max(inner, key=lambda one: peak(run, one))
    before = peak(run, fullest)
    assert before > 20
    assert knob_of(run, fullest).value == 0
    assert fullest.properties["capacity_tuples"] is None
    asked = run.ask("knob", {"knob": "capacity", "scope": fullest.id, "value": 3})
    run.seconds(100, 200)
    assert run.answer(asked).state == "applied"
    assert run.answer(asked).old_value == 0
    (now,) = (one for one in queues(run) if one.id == fullest.id)
    assert now.properties["capacity_tuples"] == 3
    assert peak(run, fullest) < before / 2
    others = [one for one in queues(run) if one.id != fullest.id]
    assert all(one.properties["capacity_tuples"] is None for one in others)


def test_the_common_capacity_is_that_of_queues_without_their_own(run: Run) -> None:
    run.seconds(0, 10)
    first, *others = queues(run)
    run.ask("knob", {"knob": "queue_capacity", "value": 9})
    run.ask("knob", {"knob": "capacity", "scope": first.id, "value": 4})
    run.seconds(10, 20)
    found = {one.id: one.properties["capacity_tuples"] for one in queues(run)}
    assert found == {first.id: 4} | {one.id: 9 for one in others}
    run.ask("knob", {"knob": "capacity", "scope": first.id, "value": 0})
    run.seconds(20, 30)
    assert {one.properties["capacity_tuples"] for one in queues(run)} == {9}


def test_a_killed_run_keeps_the_capacities_of_its_queues(run: Run, tmp_path: Path) -> None:
    run.seconds(0, 10)
    first = queues(run)[0]
    run.ask("knob", {"knob": "capacity", "scope": first.id, "value": 4})
    run.seconds(10, 20)
    run.kill()
    again = Run(tmp_path, continues=True)
    again.seconds(20, 30)
    assert knob_of(again, first).value == 4
    assert {e.id: e.properties["capacity_tuples"] for e in queues(again)}[first.id] == 4
    again.close()


def test_a_queue_goes_with_its_query_and_comes_with_a_new_one(run: Run) -> None:
    run.seconds(0, 10)
    before = {one.id for one in queues(run)}
    run.ask("query_remove", {"name": "icy"})
    run.seconds(10, 20)
    (gone, *_) = before - {one.id for one in queues(run)}
    refused = run.ask("knob", {"knob": "capacity", "scope": gone, "value": 4})
    text = "Select id From Cars [Rows 3] Where road = 2"
    run.ask("query_add", {"name": "few", "text": text})
    run.seconds(20, 30)
    assert f"nothing with knobs is called '{gone}'" in run.answer(refused).answer
    (new, *_) = {one.id for one in queues(run)} - before
    asked = run.ask("knob", {"knob": "capacity", "scope": new, "value": 4})
    run.seconds(30, 40)
    assert run.answer(asked).state == "applied"
