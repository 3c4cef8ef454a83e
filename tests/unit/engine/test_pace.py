"""Holding a run, stepping it, and how fast it replays."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from backend.engine.pace import Pace
from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.model.ids import SYSTEM, source_id
from backend.systems.contract import Refused
from backend.workloads.sources import MemorySource
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from storage.vocabulary.records import Command
from tests.engine_runs import RUN_ID, EngineRun
from tests.unit.engine.test_networks import CARS, car


def test_a_step_passes_once_and_a_held_run_is_not_held_again() -> None:
    held = Pace().hold("by ana")
    assert not held.may_begin
    stepped = held.step("batch", False)
    assert stepped.may_begin
    assert not stepped.begun().may_begin
    with pytest.raises(Refused, match="already paused: by ana"):
        held.hold("by ben")
    assert held.go_on() == Pace()
    with pytest.raises(Refused, match="the run is not paused"):
        Pace().go_on()
    with pytest.raises(Refused, match="the run is not paused"):
        Pace().step("batch", False)


def test_decisions_are_stepped_inside_a_batch_until_its_end() -> None:
    held = Pace().hold("by ana")
    first = held.step("decision", False)
    assert first.may_begin
    inside = first.begun().decided()
    assert not inside.may_decide
    assert inside.step("decision", True).may_decide
    rest = inside.step("batch", True)
    assert rest.may_decide
    assert not rest.ended().may_begin, "the batch that waited was the step"
    assert inside.ended().may_decide


class LocalRun:
    """A run on the local host in a thread of its own: a car each second, four a batch."""

    def __init__(self, folder: Path, in_process: bool = True) -> None:
        texts = {"recent": "Select count(*) As n From Cars [Range 10] Where road = 1"}
        self.run = EngineRun(
            folder / "store.db",
            {"Cars": CARS},
            texts,
            timestamps={"Cars": "t"},
            in_process=in_process,
        )
        rows = [car(t, t, 1) for t in range(80)]
        spec = StreamSpec("Cars", CARS, SourceSpec("memory", {}))
        source = InputSource(spec, MemorySource(rows, CARS))
        self.host = LocalHost(self.run.loop, [source], SinkSpec(None), 4)
        self.thread = threading.Thread(target=self.host.run)

    @property
    def n_batches(self) -> int:
        return len(self.run.reader.batches(RUN_ID))

    def has_run(self, n_batches: int) -> bool:
        return self.n_batches == n_batches

    def has_decided(self, n: int) -> bool:
        titles = [one.event.title for one in self.run.reader.events(RUN_ID)]
        return sum(title.endswith(" ran") for title in titles) == n

    def answered(self, command: Command) -> Command:
        wait(lambda: self.run.answer(command).state != "requested")
        return self.run.answer(command)

    def stop(self) -> None:
        self.host.stopping.set()
        self.thread.join(timeout=20)
        assert not self.thread.is_alive()
        self.run.close()


def wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalRun]:
    made = LocalRun(tmp_path)
    yield made
    made.stop()


def test_a_run_is_held_stepped_and_goes_on(local: LocalRun) -> None:
    held = local.run.ask("hold", {})
    local.thread.start()
    assert local.answered(held).answer.startswith("the run paused")
    time.sleep(0.1)
    assert local.n_batches == 0
    (engine,) = (e for e in local.run.reader.entities(RUN_ID) if e.id == SYSTEM)
    assert engine.properties == {"held": "by tester: a reason", "steps": ["batch", "decision"]}
    for n in (1, 2):
        assert local.answered(local.run.ask("step", {})).state == "applied"
        wait(partial(local.has_run, n))
    time.sleep(0.1)
    assert local.n_batches == 2
    again = local.answered(local.run.ask("hold", {}))
    assert again.answer == "the run is already paused: by tester: a reason"
    assert local.answered(local.run.ask("go_on", {})).state == "applied"
    wait(lambda: local.n_batches == 20)
    (engine,) = (e for e in local.run.reader.entities(RUN_ID) if e.id == SYSTEM)
    assert engine.properties == {}


def test_scheduling_decisions_are_stepped_one_by_one(local: LocalRun) -> None:
    local.run.ask("hold", {})
    local.thread.start()
    for n in (1, 2, 3):
        asked = local.run.ask("step", {"of": "decision"})
        assert local.answered(asked).answer.startswith("a step of one decision")
        wait(partial(local.has_decided, n))
    assert local.n_batches == 0, "the batch waits for its next decision"
    details = [e.event.detail for e in local.run.reader.events(RUN_ID) if "ran" in e.event.title]
    assert any("→" in detail for detail in details), "what waits in which queue"
    knob = local.run.ask("knob", {"knob": "scheduler", "value": "fifo"})
    time.sleep(0.1)
    assert local.run.answer(knob).state == "requested", "turned at a batch boundary"
    local.answered(local.run.ask("step", {"of": "batch"}))
    wait(lambda: local.n_batches == 1)
    assert local.answered(knob).state == "applied"
    time.sleep(0.1)
    assert local.n_batches == 1, "what was stepped was the rest of the batch"


def test_a_run_that_waits_in_a_decision_is_stopped_by_command(local: LocalRun) -> None:
    local.run.ask("hold", {})
    local.thread.start()
    local.answered(local.run.ask("step", {"of": "decision"}))
    wait(partial(local.has_decided, 1))
    local.run.ask("stop", {})
    local.thread.join(timeout=20)
    assert not local.thread.is_alive()


def test_decisions_are_not_stepped_where_workers_make_them(tmp_path: Path) -> None:
    local = LocalRun(tmp_path, in_process=False)
    local.run.ask("hold", {})
    local.thread.start()
    refused = local.answered(local.run.ask("step", {"of": "decision"}))
    assert refused.answer == "no step is one 'decision' here; it is one batch"
    local.stop()


def test_what_changes_between_batches_is_not_missing_from_the_last_one(tmp_path: Path) -> None:
    run = EngineRun(tmp_path / "store.db", {"Cars": CARS}, {"all": "Select * From Cars"})
    for t in range(3):
        run.batch({"Cars": [car(t, 1, 1)]})
    run.ask("hold", {})
    run.loop.idle()
    held = {}
    for at in (1, 2, 3, None):
        (engine,) = (e for e in run.reader.entities(RUN_ID, at) if e.id == SYSTEM)
        held[at] = "held" in engine.properties
    assert held == {1: False, 2: False, 3: True, None: True}
    run.close()


def test_the_speed_of_a_run_is_a_factor_on_all_rates(tmp_path: Path) -> None:
    run = EngineRun(tmp_path / "store.db", {"Cars": CARS}, {"all": "Select * From Cars"})
    rate = run.ask("knob", {"knob": "rate", "scope": source_id("Cars"), "value": 300})
    run.ask("knob", {"knob": "speed", "value": 2.5})
    run.batch({"Cars": [car(1, 1, 1)]})
    assert run.answer(rate).state == "applied"
    assert run.loop.input_knob("Cars", "rate") == 750
    (speed,) = (knob for knob in run.reader.knobs(RUN_ID) if knob.name == "speed")
    assert (speed.scope, speed.entity, speed.value) == ("", SYSTEM, 2.5)
    run.kill()
    again = EngineRun(
        tmp_path / "store.db", {"Cars": CARS}, {"all": "Select * From Cars"}, continues=True
    )
    assert again.loop.input_knob("Cars", "rate") == 750
    again.close()
