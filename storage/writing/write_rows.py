"""The rows of one record, written within the caller's transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, and_, bindparam, delete, func, insert, select, update

from storage.errors import BadRecord, UnknownRun
from storage.tables import decode
from storage.tables.columns import Base, dump_json
from storage.tables.forms import batch_row, number, row_of
from storage.tables.schema import (
    AnswerRow,
    BatchRow,
    DecisionRow,
    EntityRow,
    EventRow,
    InputBatchRow,
    InputRow,
    KnobRow,
    LatestRow,
    MatrixRow,
    OutcomeRow,
    PlanRow,
    ResultQueryRow,
    ResultRow,
    RunRow,
    SampleRow,
    SeriesRow,
    UnitRow,
    UnitStateRow,
)
from storage.vocabulary.records import (
    BatchRecord,
    Entity,
    Input,
    InputBatch,
    KeptState,
    Matrix,
    ResultTuple,
    Sample,
    Unit,
)
from storage.writing.checks import check_sample
from storage.writing.last_results import LastResults
from storage.writing.looks import KnownLogs, LookWriter
from storage.writing.newest import write_misfits, write_taps
from storage.writing.upsert import add_once, put, put_numbers

#: The position of rows recorded before the first batch.
BEFORE: Final = -1

_Row = dict[str, Any]


@dataclass(slots=True)
class RunCache:
    """What the writer remembers of a run, so that a batch costs no look-ups.

    last_batch: newest batch, -1 before the first. series: (entity, property) -> key.
    kinds: entity -> kind. published: digests of the newest entities and matrices, to leave
    repeats unwritten. inputs: input -> (state, note). results: those kept; replaced, never changed.
    logs: plan logs, as looks of them were written.
    """

    loaded: bool = False
    last_batch: int = BEFORE
    series: dict[tuple[str, str], int] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    published: dict[tuple[str, str], bytes] = field(default_factory=dict)
    inputs: dict[str, tuple[str, str]] = field(default_factory=dict)
    results: LastResults = field(default_factory=LastResults)
    logs: KnownLogs = field(default_factory=dict)

    def copy(self) -> RunCache:
        """A copy to change within a transaction that may fail."""
        return RunCache(
            self.loaded,
            self.last_batch,
            dict(self.series),
            dict(self.kinds),
            dict(self.published),
            dict(self.inputs),
            self.results,
            dict(self.logs),
        )

    def load(self, connection: Connection, run_id: str) -> None:
        """Read what an earlier process wrote of the run. Raises UnknownRun."""
        if self.loaded:
            return
        if connection.execute(select(RunRow.id).where(RunRow.id == run_id)).first() is None:
            raise UnknownRun(f"run {run_id!r} is not in the store; begin it first")
        newest = select(func.max(BatchRow.id)).where(BatchRow.run_id == run_id)
        scalar = connection.execute(newest).scalar()
        self.last_batch = BEFORE if scalar is None else int(scalar)
        self.load_series(connection, run_id)
        self.load_inputs(connection, run_id)
        self.load_entities(connection, run_id)
        of_result = and_(
            ResultRow.run_id == ResultQueryRow.run_id, ResultRow.id == ResultQueryRow.result_id
        )
        links = (
            select(ResultQueryRow.query, ResultQueryRow.result_id, ResultRow.batch_id)
            .join(ResultRow, of_result)
            .where(ResultQueryRow.run_id == run_id)
        )
        rows = connection.execute(links)
        self.results = LastResults.of_links((row[0], row[1], row[2]) for row in rows)
        self.loaded = True

    def load_series(self, connection: Connection, run_id: str) -> None:
        """Read the keys of the run's series."""
        statement = select(SeriesRow.entity_id, SeriesRow.property, SeriesRow.id).where(
            SeriesRow.run_id == run_id
        )
        self.series = {(row[0], row[1]): row[2] for row in connection.execute(statement)}

    def load_entities(self, connection: Connection, run_id: str) -> None:
        """Read the entities of the run, so that none is written again unchanged."""
        table = EntityRow.__table__
        statement = select(table).where(table.c.run_id == run_id).order_by(table.c.batch_id)
        for row in connection.execute(statement):
            self.is_new_entity(row_of(decode.entity(row), run_id=run_id, batch_id=row.batch_id))

    def is_new_entity(self, row: _Row) -> bool:
        """Whether a row of entities differs from the newest version; remembers it."""
        self.kinds[row["id"]] = row["kind"]
        content = {name: value for name, value in row.items() if name != "batch_id"}
        return self.is_new("entities", row["id"], content)

    def load_inputs(self, connection: Connection, run_id: str) -> None:
        """Read the inputs of the run and their states."""
        statement = select(InputRow.name, InputRow.state, InputRow.note).where(
            InputRow.run_id == run_id
        )
        self.inputs = {row[0]: (row[1], row[2]) for row in connection.execute(statement)}

    def is_new(self, table: str, name: str, content: _Row) -> bool:
        """Whether ``content`` differs from what was last published under the name; remembers."""
        digest = hashlib.blake2b(dump_json(content).encode(), digest_size=16).digest()
        if self.published.get((table, name)) == digest:
            return False
        self.published[table, name] = digest
        return True


def write(connection: Connection, record: BatchRecord, position: int, cache: RunCache) -> set[str]:
    """Write all rows of ``record`` as of batch ``position``; the names of what changed."""
    run_id, time = record.run_id, record.batch.time
    changed: set[str] = set()
    if record.batch.id is not None:
        add_once(connection, BatchRow, [batch_row(run_id, record.batch)])
        cache.last_batch = max(cache.last_batch, record.batch.id)
        changed.add("batches")
    if record.inputs and _write_inputs(connection, run_id, record.batch.id, record.inputs, cache):
        changed.add("inputs")
    if _write_units(connection, run_id, record.units, cache):
        changed.add("units")
    _write_states(connection, run_id, position, record.states, cache)
    if _write_entities(connection, run_id, position, record.entities, cache):
        changed.add("entities")
    if record.samples:
        _write_samples(connection, record, position, cache)
        changed.add("samples")
    if _write_matrices(connection, run_id, position, time, record.matrices, cache):
        changed.add("matrices")
    changed |= _write_history(connection, record, position, cache)
    if record.results:
        _write_results(connection, run_id, position, record.results, cache)
        changed.add("results")
    if record.misfits:
        write_misfits(connection, record, position)
        changed.add("misfits")
    if record.taps:
        write_taps(connection, run_id, position, record.taps)
        changed.add("taps")
    return changed


def _write_history(
    connection: Connection, record: BatchRecord, position: int, cache: RunCache
) -> set[str]:
    run, time = record.run_id, record.batch.time
    writer = LookWriter(connection, run, time, cache.logs)
    decisions = writer.looks(record.decisions)
    writer.evaluations(record.logged)
    once: tuple[tuple[str, type[Base], list[_Row]], ...] = (
        ("plans", PlanRow, [row_of(p, run_id=run, time=time) for p in record.plans]),
        ("decisions", DecisionRow, [row_of(d, run_id=run, time=time) for d in decisions]),
        ("knobs", KnobRow, [row_of(k, run_id=run, time=time) for k in record.knobs]),
        ("commands", AnswerRow, [row_of(a) for a in record.answers]),
    )
    for _, model, rows in once:
        add_once(connection, model, rows)
    changed = {name for name, _, rows in once if rows}
    if record.decisions or record.logged:
        changed.add("decisions")
    if record.outcomes:
        put(connection, OutcomeRow, [row_of(o, run_id=run, time=time) for o in record.outcomes])
        changed.add("outcomes")
    if record.events:
        rows = [row_of(e, run_id=run, batch_id=position, time=time) for e in record.events]
        connection.execute(insert(EventRow), rows)
        changed.add("events")
    return changed


def put_inputs(connection: Connection, run: str, inputs: Sequence[Input], cache: RunCache) -> None:
    """Record what the run reads; an input that is known gives tuples again, others end."""
    rows = [
        row_of(input, run_id=run, place=place, state="open", note="")
        for place, input in enumerate(inputs)
    ]
    names = {input.name for input in inputs}
    gone = [name for name in cache.inputs if name not in names]
    put(connection, InputRow, rows)
    cache.inputs.update({name: ("open", "") for name in names})
    _set_states(connection, run, {name: ("ended", "no longer read") for name in gone}, cache)


def _write_inputs(
    connection: Connection,
    run: str,
    batch_id: int | None,
    inputs: Sequence[InputBatch],
    cache: RunCache,
) -> int:
    """What the batch took from each input; how many changed their state."""
    unknown = [input.input for input in inputs if input.input not in cache.inputs]
    if unknown:
        known = ", ".join(sorted(cache.inputs)) or "none"
        raise BadRecord(f"{unknown[0]!r} is no input of run {run!r}; it has {known}")
    if batch_id is not None:
        add_once(
            connection, InputBatchRow, [row_of(i, run_id=run, batch_id=batch_id) for i in inputs]
        )
    states = {input.input: (input.state, input.note) for input in inputs}
    return _set_states(connection, run, states, cache)


def _set_states(
    connection: Connection, run: str, states: Mapping[str, tuple[str, str]], cache: RunCache
) -> int:
    """Input -> (state, note), where it is another than before; of how many it is."""
    changed = {name: now for name, now in states.items() if cache.inputs[name] != now}
    rows = [
        {"of_run": run, "of_name": name, "now": state, "why": note}
        for name, (state, note) in changed.items()
    ]
    if rows:
        connection.execute(_INPUT_STATE, rows)
        cache.inputs.update(changed)
    return len(rows)


_INPUT_STATE: Final = (
    update(InputRow.__table__)  # type: ignore[arg-type]  # typed as FromClause
    .where(
        InputRow.__table__.c.run_id == bindparam("of_run"),
        InputRow.__table__.c.name == bindparam("of_name"),
    )
    .values(state=bindparam("now"), note=bindparam("why"))
)


def _write_units(connection: Connection, run: str, units: Sequence[Unit], cache: RunCache) -> int:
    rows = [row_of(unit, run_id=run) for unit in units]
    new = [row for row in rows if cache.is_new("units", row["id"], row)]
    put(connection, UnitRow, new, keep=("since_batch",))
    return len(new)


def _write_states(
    connection: Connection, run: str, position: int, states: Sequence[KeptState], cache: RunCache
) -> None:
    """What units know, in place of what they knew."""
    new = [kept for kept in states if cache.is_new("states", kept.unit_id, row_of(kept))]
    put(connection, UnitStateRow, [row_of(kept, run_id=run, batch_id=position) for kept in new])


def _write_entities(
    connection: Connection, run: str, position: int, entities: Sequence[Entity], cache: RunCache
) -> int:
    rows = [row_of(entity, run_id=run, batch_id=position) for entity in entities]
    new = [row for row in rows if cache.is_new_entity(row)]
    put(connection, EntityRow, new)
    return len(new)


def _write_matrices(
    connection: Connection,
    run: str,
    position: int,
    time: float,
    matrices: Sequence[Matrix],
    cache: RunCache,
) -> int:
    rows = []
    for matrix in matrices:
        row = row_of(matrix, run_id=run, batch_id=position, time=time)
        content = {k: v for k, v in row.items() if k not in ("batch_id", "time")}
        if cache.is_new("matrices", dump_json([matrix.unit_id, matrix.name]), content):
            rows.append(row)
    put(connection, MatrixRow, rows)
    return len(rows)


def _write_samples(
    connection: Connection, record: BatchRecord, position: int, cache: RunCache
) -> None:
    _add_series(connection, record.run_id, record.samples, cache)
    time = record.batch.time
    values: dict[int, _Row] = {}
    for sample in record.samples:
        key = cache.series[sample.entity, sample.property]
        values[key] = {
            "series_id": key,
            "batch_id": position,
            "time": time,
            "value": number(sample.value),
        }
    rows = [values[key] for key in sorted(values)]
    put_numbers(connection, SampleRow, rows)
    put_numbers(connection, LatestRow, rows, newest=True)


def _add_series(
    connection: Connection, run_id: str, samples: Sequence[Sample], cache: RunCache
) -> None:
    new: dict[tuple[str, str], _Row] = {}
    for sample in samples:
        key = (sample.entity, sample.property)
        known = check_sample(
            sample.property, sample.unit, sample.entity, cache.kinds.get(sample.entity)
        )
        if key not in cache.series:
            new[key] = {
                "run_id": run_id,
                "entity_id": sample.entity,
                "property": sample.property,
                "unit": known.unit,
            }
    if new:
        add_once(connection, SeriesRow, list(new.values()))
        cache.load_series(connection, run_id)


def _write_results(
    connection: Connection,
    run_id: str,
    batch_id: int,
    results: Sequence[ResultTuple],
    cache: RunCache,
) -> None:
    cache.results = cache.results.copy()
    turn = cache.results.add(results, batch_id)
    rows = [
        row_of(result, run_id=run_id, batch_id=batch_id, id=place) for place, result in turn.added
    ]
    links = [{"run_id": run_id, "query": q, "result_id": number} for q, number in turn.links]
    old_links = [{"of_run": run_id, "of_query": q, "of": n} for q, n in turn.lost_links]
    old = [{"of_run": run_id, "of": number} for number in turn.lost]
    for statement, parameters in (
        (insert(ResultRow), rows),
        (insert(ResultQueryRow), links),
        (_FORGET_LINK, old_links),
        (_FORGET_RESULT, old),
    ):
        if parameters:
            connection.execute(statement, parameters)


_FORGET_LINK: Final = delete(ResultQueryRow).where(
    ResultQueryRow.run_id == bindparam("of_run"),
    ResultQueryRow.query == bindparam("of_query"),
    ResultQueryRow.result_id == bindparam("of"),
)
_FORGET_RESULT: Final = delete(ResultRow).where(
    ResultRow.run_id == bindparam("of_run"), ResultRow.id == bindparam("of")
)
