"""A run of several units over several inputs: nothing of one is taken for that of another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from storage.store import BadRecord, EngineWriter, Reader, open_engine_writer, open_reader
from storage.tables.rows import MatrixKey, StoredInput, StoredInputBatch
from storage.vocabulary.records import (
    BatchRecord,
    DecisionOutcome,
    Entity,
    Event,
    Input,
    InputBatch,
    Matrix,
    Misfit,
    ResultTuple,
    Unit,
)
from tests.contract.store_builders import START, batch, decision, knob, new_run, plan

FLIGHTS = Input("Flights", [["delay", "int"]], {"format": "csv"}, "time")
PACKETS = Input("Packets", [["size", "int"]])
ASC = Unit("asc.Flights", "asc", "Selections", ("Flights",), ("late", "far"))
GREEDY = Unit("agreedy.q", "agreedy", "Filters", ("Packets", "Flights"), ("q",), since_batch=1)


@pytest.fixture
def writer(store_url: str) -> Iterator[EngineWriter]:
    with open_engine_writer(store_url) as opened:
        run = replace(new_run(), inputs=(PACKETS, FLIGHTS))
        knobs = (knob("alpha", 0.5, 0, 0), replace(knob("alpha", 0.9, 0, 0), scope=ASC.id))
        opened.begin_run(run, (), knobs)
        yield opened


@pytest.fixture
def reader(store_url: str, writer: EngineWriter) -> Iterator[Reader]:
    with open_reader(store_url) as opened:
        yield opened


def matrix(unit: str, value: int, name: str = "view") -> Matrix:
    kind = "race" if name == "view" else "regions"
    return Matrix(name, kind, ("a",), ("a",), [[value]], unit_id=unit)


def of(unit: str, number: int) -> dict[str, object]:
    """A plan, a decision, its outcome and a matrix of a unit, all numbered 1."""
    return {
        "plans": (replace(plan(1, number), unit_id=unit, reason=unit),),
        "decisions": (replace(decision(1, number, "switched"), unit_id=unit, explanation=unit),),
        "outcomes": (DecisionOutcome(1, number, float(number), 9, None, None, 0, unit),),
        "matrices": (matrix(unit, number),),
    }


def told_by(reader: Reader) -> list[object]:
    """What a reader says of the run, its inputs and units."""
    plans = reader.plans("r1", unit=ASC.id)
    inputs, counts = reader.inputs("r1"), reader.input_batches("r1")
    return [reader.run("r1"), reader.units("r1"), inputs, counts, plans]


def write(writer: EngineWriter, number: int | None, **parts: object) -> bool:
    return writer.write_batch(BatchRecord("r1", batch(number), **parts))  # type: ignore[arg-type]  # mixed


def test_numbers_names_and_knobs_of_two_units_do_not_collide(
    writer: EngineWriter, reader: Reader
) -> None:
    write(writer, 0, units=(ASC,), **of(ASC.id, 0))
    write(writer, 1, units=(ASC, GREEDY), **of(GREEDY.id, 1))
    for number, unit in enumerate((ASC.id, GREEDY.id)):
        (found,) = reader.plans("r1", unit=unit)
        assert (found.reason, found.unit_id) == (unit, unit)
        assert reader.plan_at("r1", unit=unit) == found
        entry = reader.decision("r1", 1, unit)
        assert entry is not None
        assert entry.decision.explanation == unit
        assert entry.outcome is not None
        assert (entry.outcome.unit_id, entry.outcome.actual_new) == (unit, number)
        assert reader.decisions("r1", unit=unit) == (entry,)
        stored = reader.matrix("r1", "view", unit=unit)
        assert stored is not None
        assert stored.matrix == matrix(unit, number)
        assert reader.decision_counts("r1", unit=unit).by_verdict == {"switched": 1}
    assert [p.unit_id for p in reader.plans("r1")] == [ASC.id, GREEDY.id]
    assert [e.decision.unit_id for e in reader.decisions("r1")] == [GREEDY.id, ASC.id]
    assert [e.decision.unit_id for e in reader.decisions("r1", until=0)] == [ASC.id]
    counts = reader.decision_counts("r1")
    assert (counts.stored, counts.evaluated) == (2, 2)
    assert [(k.scope, k.value) for k in reader.knobs("r1")] == [("", 0.5), (ASC.id, 0.9)]
    assert [k.value for k in reader.knob_history("r1", "alpha", ASC.id)] == [0.9]


def test_the_plan_of_each_unit_at_a_batch(writer: EngineWriter, reader: Reader) -> None:
    write(writer, 0, plans=(replace(plan(1, 0), unit_id="a"), replace(plan(1, 0), unit_id="b")))
    write(writer, 3, plans=(replace(plan(2, 3), unit_id="b"),))
    versions = [{u: p.version for u, p in reader.plans_at("r1", at).items()} for at in (-1, 0, 3)]
    assert versions == [{}, {"a": 1, "b": 1}, {"a": 1, "b": 2}]
    assert {u: p.version for u, p in reader.plans_at("r1").items()} == versions[-1]


def test_a_run_begins_with_its_units(writer: EngineWriter, reader: Reader) -> None:
    before = reader.cursor()
    writer.begin_run(new_run("r2"), units=(ASC,))
    assert reader.units("r2") == reader.units("r2", 0) == (ASC,)
    assert reader.changes(before)[0].changed == ("runs", "units")


def test_units_come_change_and_go(writer: EngineWriter, reader: Reader) -> None:
    write(writer, 0, units=(ASC,))
    write(writer, 1, units=(ASC, GREEDY))
    more = replace(ASC, queries=("late", "far", "new"), since_batch=2)
    write(writer, 2, units=(more, GREEDY))
    write(writer, 3, units=(replace(GREEDY, removed_batch=4),))
    assert reader.units("r1") == (replace(more, since_batch=0),)
    ids = [[unit.id for unit in reader.units("r1", at)] for at in (0, 1, 3, 4)]
    assert ids == [[ASC.id], [GREEDY.id, ASC.id], [GREEDY.id, ASC.id], [ASC.id]]
    changes = [set(c.changed) for c in reader.changes(reader.cursor().__class__(1, 0))]
    assert changes == [{"batches", "units"} | ({"runs"} if n == 0 else set()) for n in range(4)]


def test_inputs_have_counts_a_batch_and_a_latest_state(
    writer: EngineWriter, reader: Reader
) -> None:
    both = (InputBatch("Flights", 7, 1, 3, "t0"), InputBatch("Packets", 5, 0))
    write(writer, 0, inputs=both)
    failed = InputBatch("Packets", 0, 0, state="failed", note="the file is gone")
    write(writer, 1, inputs=(InputBatch("Flights", 2, 0), failed))
    assert reader.inputs("r1") == (
        StoredInput(PACKETS, "failed", "the file is gone"),
        StoredInput(FLIGHTS, "open", ""),
    )
    run = reader.run("r1")
    assert run is not None
    assert (run.inputs, run.streams) == ((PACKETS, FLIGHTS), "Packets, Flights")
    assert reader.runs() == (run,)
    assert reader.input_batches("r1", until=0) == tuple(StoredInputBatch(0, b) for b in both)
    (newest,) = reader.input_batches("r1", "Packets", limit=1)
    assert newest == StoredInputBatch(1, failed)
    ended = (InputBatch("Flights", 0, 0, state="ended"),)
    record = BatchRecord("r1", batch(None, START + 9), inputs=ended)
    assert writer.write_batch(record)
    assert [one.state for one in reader.inputs("r1")] == ["failed", "ended"]
    assert len(reader.input_batches("r1")) == 4


def test_results_misfits_events_and_entities_say_whose_they_are(
    writer: EngineWriter, reader: Reader
) -> None:
    write(
        writer,
        0,
        results=(ResultTuple({"size": 1}, ("q",), "Packets"),),
        misfits=(Misfit("x", "odd", "Flights"), Misfit("y", "odd", "Packets")),
        events=(Event("held back", "kept", unit_id=ASC.id), Event("knob", "mu")),
        entities=(Entity("asc.Flights/delay", "operator", "delay", unit_id=ASC.id, role="join"),),
    )
    assert [result.input for result in reader.results("r1", "q")] == ["Packets"]
    assert [m.raw for m in reader.misfits("r1", name="Flights")] == ["x"]
    assert [m.input for m in reader.misfits("r1")] == ["Packets", "Flights"]
    assert [stored.event.title for stored in reader.events("r1", unit=ASC.id)] == ["kept"]
    (entity,) = reader.entities("r1")
    assert (entity.unit_id, entity.role) == (ASC.id, "join")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"events": (Event("suppressed", "x"),)}, "event kind 'suppressed' is no such word; all"),
        ({"events": (Event("run", "x", severity="loud"),)}, "severity 'loud'"),  # type: ignore[arg-type]  # wrong on purpose
        ({"decisions": (decision(1, 0, "maybe"),)}, "verdict 'maybe' .* allowed: switched, kept"),
        ({"matrices": (Matrix("m", "odd", (), (), []),)}, "kind of matrix m: 'odd'"),
        ({"entities": (Entity("x", "thing", "x"),)}, "kind of entity x: 'thing'"),  # type: ignore[arg-type]  # wrong on purpose
        ({"entities": (Entity("x", "store", "x", role="asc"),)}, "role of entity x: 'asc'"),
        ({"inputs": (InputBatch("Packets", 0, 0, state="odd"),)}, "open, ended or failed"),  # type: ignore[arg-type]  # wrong on purpose
        ({"inputs": (InputBatch("Boats", 0, 0),)}, "no input of run 'r1'; it has Flights, Packets"),
    ],
)
def test_words_of_no_closed_list_are_refused_and_nothing_is_written(
    writer: EngineWriter, reader: Reader, parts: dict[str, object], words: str
) -> None:
    before = reader.cursor()
    with pytest.raises(BadRecord, match=words):
        write(writer, 0, **parts)
    assert reader.cursor() == before
    assert reader.last_batch("r1") is None


def test_matrices_of_a_name_are_thinned_unit_by_unit(writer: EngineWriter, reader: Reader) -> None:
    for number in range(3):
        write(writer, number, matrices=(matrix("a", number), matrix("b", 0, "other")))
    write(writer, 3, matrices=(matrix("b", 7),))
    writer.retention("r1", START + 100, keep_raw_s=1.0)
    kept = [reader.matrix("r1", "view", at, "a") for at in range(3)]
    assert [k and k.matrix.values for k in kept] == [[[0]], [[0]], [[2]]]
    assert reader.matrix_keys("r1") == (
        MatrixKey("a", "view", "race"),
        MatrixKey("b", "other", "regions"),
        MatrixKey("b", "view", "race"),
    )
    assert reader.matrix_keys("r1", "a") == reader.matrix_keys("r1")[:1]
    assert reader.matrices("r1") == ("other", "view")


def test_an_exported_run_has_its_units_and_inputs(
    writer: EngineWriter, reader: Reader, tmp_path: Path
) -> None:
    write(writer, 0, units=(ASC,), inputs=(InputBatch("Flights", 1, 0),), **of(ASC.id, 0))
    writer.export_run("r1", tmp_path / "one.db")
    with open_reader(str(tmp_path / "one.db")) as copy:
        assert told_by(copy) == told_by(reader)
        assert all(told_by(copy))
