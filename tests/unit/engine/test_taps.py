"""Tapped edges of a run: asked for, recorded, over by themselves; and where tuples ended."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from backend.engine.taps import LONGEST_TEXT
from backend.model.ids import entity_id, source_id, source_queue
from backend.model.schema import Schema
from backend.operators.network.shards import shard_reports, taps
from backend.systems.stream import tapping
from backend.workloads.sysstream import SYSSTREAM
from dashboard.views.taps import FollowedStep, build_tap
from storage.tables.rows import StoredTap
from storage.vocabulary.records import PlanVersion
from tests.engine_runs import RUN_ID, EngineRun

FLIGHTS = Schema.parse("t bigint, carrier string, delay int")
WEATHER = Schema.parse("t bigint, wind int")
TEXTS = {
    "late": "Select Istream(F.carrier, F.delay) From Flights [Range 4] As F Where F.delay > 5",
    "busy": "Select carrier, count(*) As n From Flights [Range 7] Where delay > 2 Group By carrier",
    "windy": "Select F.carrier, W.wind From Flights [Now] As F, Weather [Range 3] As W "
    "Where F.delay = W.wind",
}
LISTENING = {**TEXTS, "load": "Select eid, val From SysStream [Rows 50] Where prop = 'n_tuples'"}
UNIT = "stream.network"
INPUT = entity_id(UNIT, "input", "Flights")
ARRIVING = source_queue("Flights")


class TapRun(EngineRun):
    texts = TEXTS

    def __init__(self, folder: Path, continues: bool = False) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(
            folder / "store.db",
            {"Flights": FLIGHTS, "Weather": WEATHER},
            self.texts,
            timestamps={"Flights": "t", "Weather": "t"},
            sink=folder / "out",
            state=folder / "state",
            continues=continues,
        )

    def tap(self, entity: Any, batches: Any = 2) -> str:
        """The answer to who asks, once there was a boundary."""
        asked = self.ask("tap", {"entity": entity, "batches": batches})
        self.loop.idle()
        return self.answer(asked).answer

    def step(self) -> None:
        """A batch of flights, three a tick, and of weather."""
        first = 40 * self.batch_id
        flights = [
            {"t": first + k // 3, "carrier": "ABCD"[k * k % 4], "delay": (first + k) * 7 % 11}
            for k in range(120)
        ]
        weather = [{"t": first + k, "wind": k % 5} for k in range(40)]
        self.batch({"Flights": flights, "Weather": weather})

    @property
    def plan(self) -> PlanVersion:
        return self.reader.plans_at(RUN_ID)[UNIT]

    def queues(self) -> dict[str, Mapping[str, Any]]:
        edges = [edge for edge in self.plan.graph["edges"] if edge["queue"]]
        return {edge["queue"]: edge for edge in edges}

    def taps(self, batch: int, entity: str = INPUT) -> dict[str, StoredTap]:
        stored = self.reader.taps(RUN_ID, entity, batch)
        return {tap.sample.entity: tap for tap in stored if tap.batch_id == batch}


@pytest.fixture
def run(tmp_path: Path) -> Any:
    made = TapRun(tmp_path / "run")
    yield made
    made.close()


def answers(folder: Path) -> list[tuple[str, dict[str, list[Any]]]]:
    files = sorted((folder / "out").glob("query=*"))
    return [(f.name, ds.dataset(f, format="parquet").to_table().to_pydict()) for f in files]


def test_a_tapped_edge_is_recorded_for_as_long_as_it_was_asked_for(run: TapRun) -> None:
    run.step()
    assert run.taps(0) == {}
    events = run.reader.events(RUN_ID)
    answer = run.tap(source_queue("Flights"), 2)
    assert answer == f"{source_queue('Flights')} is tapped for 2 batches, from batch 1 on"
    assert run.reader.events(RUN_ID) == events
    assert run.reader.commands(RUN_ID) == ()
    assert [one.kind for one in run.reader.commands(RUN_ID, taps=True)] == ["tap"]
    for _ in range(3):
        run.step()
    first, second = run.taps(1), run.taps(2)
    assert set(first) == set(second)
    assert len(first) > 3
    assert first[INPUT].sample.n_passed == second[INPUT].sample.n_passed == 120
    assert first[INPUT].sample.n_kept >= 20
    assert run.taps(3) == {}
    assert {tap.batch_id for tap in run.reader.taps(RUN_ID, INPUT, 3)} == {2}
    assert {tap.batch_id for tap in run.reader.taps(RUN_ID, INPUT, 0)} == {1}
    assert run.reader.taps(RUN_ID, "nobody", 3) == ()


def test_every_edge_and_operator_can_be_tapped(run: TapRun) -> None:
    run.step()
    for queue in run.queues():
        assert "tapped" in run.tap(queue, 1), queue
    for node in run.plan.order:
        assert "tapped" in run.tap(node, 1), node
    assert "tapped" in run.tap(source_id("Flights"), 1)
    run.step()
    operators = {node for node in run.plan.order if node in run.taps(1)}
    assert operators == set(run.plan.order)
    passed = run.reader.values(RUN_ID)
    for entity, tap in run.taps(1).items():
        assert (tap.sample.n_passed or 0) >= tap.sample.n_kept
        if "flow_tuples" in passed.get(entity, {}):
            assert tap.sample.n_passed == passed[entity]["flow_tuples"]


@pytest.mark.parametrize("entity", ["", "nobody", None, 5, ["x"], {"a": 1}, "system", "\U0001f600"])
def test_what_cannot_be_tapped_is_refused_in_a_sentence(run: TapRun, entity: Any) -> None:
    run.step()
    assert "cannot be tapped: name an edge or an operator of a network" in run.tap(entity)
    run.step()
    assert run.taps(1) == {}


def test_long_texts_are_cut(run: TapRun) -> None:
    run.tap(INPUT, 1)
    rows = [{"t": k, "carrier": "x" * k, "delay": 6} for k in range(180, 220, 2)]
    run.batch({"Flights": rows, "Weather": [{"t": 300, "wind": 1}]})
    run.tap(INPUT, 1)
    run.batch({"Flights": [{"t": 400, "carrier": "", "delay": 1}], "Weather": []})
    texts = {
        row[3 + tap.sample.columns.index("carrier")]
        for at in (0, 1)
        for tap in run.taps(at).values()
        for row in tap.sample.rows
        if "carrier" in tap.sample.columns
    }
    assert max(map(len, texts)) == LONGEST_TEXT
    assert {text for text in texts if len(text) == LONGEST_TEXT} == {"x" * 200, "x" * 199 + "…"}


@pytest.mark.parametrize("batches", [0, -1, 601, 2.5, True, None, "5", [5]])
def test_a_number_of_batches_that_is_none_is_refused(run: TapRun, batches: Any) -> None:
    run.step()
    assert "allowed is a whole number of batches, 1 to 600" in run.tap(INPUT, batches)


def test_answers_are_the_same_with_and_without_taps(run: TapRun, tmp_path: Path) -> None:
    other = TapRun(tmp_path / "other")
    for number in range(4):
        if number % 2:
            for queue in run.queues():
                run.tap(queue, 1)
        run.step()
        other.step()
    other.close()
    assert answers(tmp_path / "run") == answers(tmp_path / "other") != []


def test_a_kill_forgets_taps_and_what_was_recorded_stays(run: TapRun, tmp_path: Path) -> None:
    run.step()
    run.tap(INPUT, 600)
    run.step()
    before = run.taps(1)
    run.kill()
    again = TapRun(tmp_path / "run", continues=True)
    again.step()
    assert again.taps(2) == {}
    assert again.taps(1) == before != {}
    again.tap(INPUT, 1)
    again.step()
    assert set(again.taps(3)) == set(before)
    again.close()
    whole = TapRun(tmp_path / "other")
    for _ in range(4):
        whole.step()
    whole.close()
    assert answers(tmp_path / "run") == answers(tmp_path / "other")


def test_only_the_nearest_operators_behind_an_edge_are_tapped(
    run: TapRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tapping, "MOST_OPERATORS", 3)
    run.step()
    run.tap(INPUT, 1)
    run.step()
    assert len(run.taps(1)) == 3
    assert INPUT in run.taps(1)


class ListeningRun(TapRun):
    texts = LISTENING


def test_a_query_over_sysstream_is_tapped_as_others_are(tmp_path: Path) -> None:
    run = ListeningRun(tmp_path / "listening")
    run.step()
    unit, plan = next(
        (id, plan) for id, plan in run.reader.plans_at(RUN_ID).items() if id not in (UNIT, "")
    )
    (arriving,) = [
        e["target"] for e in plan.graph["edges"] if e["queue"] == source_queue(SYSSTREAM)
    ]
    assert "tapped" in run.tap(source_queue(SYSSTREAM), 3)
    for _ in range(3):
        time.sleep(1.01)  # sleeps: τ is the engine's time, in seconds
        run.step()
    sample = run.taps(3, arriving)[arriving].sample
    assert sample.unit_id == unit
    assert (sample.n_passed or 0) > 20
    assert sample.n_kept >= 20
    run.close()


def fates(run: TapRun, batch: int, node: str) -> dict[tuple[Any, ...], tuple[FollowedStep, ...]]:
    """What is told of each row of a place: by the row."""
    view = build_tap(run.reader, RUN_ID, batch, node, 0)
    assert view is not None
    assert view.sample is not None
    told = {}
    for place, row in enumerate(view.sample.rows):
        followed = build_tap(run.reader, RUN_ID, batch, node, place)
        assert followed is not None
        assert followed.followed == place
        told[tuple(row)] = followed.steps
    return told


def test_what_a_sample_tells_of_a_tuple_is_what_all_elements_tell(
    run: TapRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow twin: the same, where every element of every operator is kept."""
    whole = TapRun(tmp_path / "whole")
    for own, most in ((run, shard_reports.TAPPED_ELEMENTS), (whole, 100_000)):
        for module in (taps, shard_reports):
            monkeypatch.setattr(module, "TAPPED_ELEMENTS", most)
        own.step()
        own.tap(INPUT, 3)
        for _ in range(3):
            own.step()
    seen = set[str]()
    for batch in (1, 2, 3):
        sampled, all_ = fates(run, batch, ARRIVING), fates(whole, batch, ARRIVING)
        assert sampled.keys() <= all_.keys()
        for row, steps in sampled.items():
            twins = {step.entity: step for step in all_[row]}
            for step in steps:
                seen.add(step.fate)
                if step.fate not in ("unknown", "untapped"):
                    assert step.fate == twins[step.entity].fate
                    assert step.why == twins[step.entity].why
        assert all(step.fate != "unknown" for steps in all_.values() for step in steps)
    whole.close()
    assert seen >= {"went on", "ended", "arrived"}


def test_a_tuple_ends_at_the_condition_that_it_does_not_satisfy(run: TapRun) -> None:
    run.step()
    run.tap(INPUT, 1)
    run.step()
    ends = 0
    for row, steps in fates(run, 1, ARRIVING).items():
        delay = row[-1]
        for step in steps:
            if "delay" in step.name and ">" in step.name and step.fate in ("went on", "ended"):
                least = int(step.name.rpartition(">")[2])
                assert (step.fate == "went on") == (delay > least), (row, step)
                if step.fate == "ended":
                    ends += 1
                    assert f"delay = {delay}" in step.why
    assert ends > 3
