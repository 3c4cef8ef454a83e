"""Reading costs index look-ups: no statement of the reader walks through history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import event

from storage.reading.resume import last_state
from storage.store import EngineWriter, Reader, open_engine_writer, open_reader
from storage.tables.rows import Cursor
from tests.golden import store_v4 as golden

RUN, UNIT = golden.RUN.id, golden.UNIT.id
#: Tables that stay small: a row a run, or some.
SMALL = {"runs", "inputs"}

READS: dict[str, Callable[[Reader], Any]] = {
    "cursor": lambda r: r.cursor(),
    "changes": lambda r: r.changes(Cursor(3, 0)),
    "runs": lambda r: r.runs(),
    "run": lambda r: r.run(RUN),
    "inputs": lambda r: r.inputs(RUN),
    "input batches": lambda r: r.input_batches(RUN, since=1, until=3),
    "batches of an input": lambda r: r.input_batches(RUN, "Flights", until=3),
    "units": lambda r: r.units(RUN, 2),
    "last state": lambda r: last_state(r, golden.RUN.workload),
    "entities": lambda r: r.entities(RUN, 2),
    "values": lambda r: r.values(RUN),
    "values then": lambda r: r.values(RUN, 2),
    "stretch": lambda r: r.stretch(RUN, 2),
    "tuples before": lambda r: r.tuples_before(RUN, 3),
    "values before everything": lambda r: r.values(RUN, -1),
    "series": lambda r: r.series(RUN, "system", "n_tuples", since=golden.START + 2),
    "series until": lambda r: r.series(RUN, "system", "n_tuples", until=golden.START + 3),
    "batches": lambda r: r.batches(RUN, 1, 3),
    "last batch": lambda r: r.last_batch(RUN),
    "find batch": lambda r: r.find_batch(RUN, golden.START),
    "plans": lambda r: r.plans(RUN, 2),
    "plan": lambda r: r.plan_at(RUN, 2),
    "plans of a unit": lambda r: r.plans(RUN, 2, UNIT),
    "plans at": lambda r: r.plans_at(RUN, 2),
    "decisions of a unit": lambda r: r.decisions(RUN, until=2, unit=UNIT),
    "decision": lambda r: r.decision(RUN, 2),
    "decision of a unit": lambda r: r.decision(RUN, 2, UNIT),
    "decisions": lambda r: r.decisions(RUN, until=2, before_seq=9),
    "decisions by verdict": lambda r: r.decisions(RUN, verdicts=["switched"]),
    "decision counts": lambda r: r.decision_counts(RUN, 2),
    "matrices": lambda r: r.matrices(RUN),
    "matrices of a unit": lambda r: r.matrices(RUN, UNIT),
    "matrix of a unit": lambda r: r.matrix(RUN, "regions:dep_delay", 3, UNIT),
    "matrix": lambda r: r.matrix(RUN, "regions:dep_delay", 3),
    "events": lambda r: r.events(RUN, 1, 3),
    "events of a unit": lambda r: r.events(RUN, unit=UNIT),
    "knobs": lambda r: r.knobs(RUN, 2),
    "commands": lambda r: r.commands(RUN),
    "results": lambda r: r.results(RUN),
    "results of a query": lambda r: r.results(RUN, "late"),
    "misfits": lambda r: r.misfits(RUN),
    "taps": lambda r: r.taps(RUN, golden.TAP.entity, 2),
}  # fmt: skip


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[EngineWriter, Reader]]:
    address = str(tmp_path_factory.mktemp("plans") / "run.db")
    with open_engine_writer(address) as writer, open_reader(address) as reader:
        writer.begin_run(golden.RUN, golden.ENTITIES, (golden.KNOB,))
        for record in golden.records():
            if not record.answers:
                writer.write_batch(record)
        yield writer, reader


def plans_of(engine: Any, work: Callable[[], Any]) -> list[str]:
    """The steps SQLite takes for the statements of ``work``."""
    seen: list[tuple[str, Any]] = []

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        seen.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        event.remove(engine, "before_cursor_execute", note)
    steps = []
    with engine.connect() as connection:
        for statement, parameters in seen:
            if statement.startswith(("SELECT", "DELETE", "UPDATE")):
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
                steps += [row[3] for row in plan]
    assert steps
    return steps


def walks(steps: list[str]) -> list[str]:
    return [s for s in steps if s.startswith("SCAN ") and s.split()[1] not in SMALL | {"CONSTANT"}]


@pytest.mark.parametrize("name", READS)
def test_reading_uses_indexes(stores: tuple[EngineWriter, Reader], name: str) -> None:
    _, reader = stores
    steps = plans_of(reader._engine, lambda: READS[name](reader))
    assert walks(steps) == [], steps


def test_pages_of_history_need_no_sorting(stores: tuple[EngineWriter, Reader]) -> None:
    _, reader = stores
    for name in (
        "changes",
        "batches",
        "input batches",
        "decisions",
        "decisions of a unit",
        "events",
        "matrix",
        "series",
        "results",
    ):
        steps = plans_of(reader._engine, lambda name=name: READS[name](reader))  # type: ignore[misc]  # bound now
        assert not [step for step in steps if "TEMP B-TREE" in step], (name, steps)


def test_what_happens_at_every_batch_uses_indexes(stores: tuple[EngineWriter, Reader]) -> None:
    writer, _ = stores

    def work() -> None:
        writer.pending_commands(RUN)
        writer.heartbeat(RUN, golden.START)
        writer.write_batch(golden.records()[0])

    assert walks(plans_of(writer._engine, work)) == []
    rolling = plans_of(writer._engine, lambda: writer.retention(RUN, golden.START + 9, 5.0))
    assert walks(rolling) == []
