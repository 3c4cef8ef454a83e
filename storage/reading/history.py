"""Reading what happened in a run: inputs, batches, entities, events, knobs, results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import eq, ge, le
from typing import Any

from sqlalchemy import Connection, Result, and_, func, select

from storage.tables import decode
from storage.tables.allowed import WHOLE_OR_NONE, hold
from storage.tables.narrowed import among, narrowed
from storage.tables.rows import (
    Change,
    Cursor,
    StoredEvent,
    StoredInput,
    StoredInputBatch,
    StoredLine,
    StoredMisfit,
    StoredResult,
)
from storage.tables.schema import (
    BatchRow,
    CommandRow,
    CommitRow,
    EntityRow,
    EventRow,
    InputBatchRow,
    InputRow,
    KnobRow,
    LogRow,
    MisfitRow,
    ResultQueryRow,
    ResultRow,
    RunRow,
    UnitRow,
)
from storage.vocabulary.records import Batch, Entity, Input, Knob, Run, Unit

_COMMITS = CommitRow.__table__
_COMMANDS = CommandRow.__table__
_ENTITIES = EntityRow.__table__
_BATCHES = BatchRow.__table__
_RUNS = RunRow.__table__
_INPUTS = InputRow.__table__
_INPUT_BATCHES = InputBatchRow.__table__
_UNITS = UnitRow.__table__
_EVENTS = EventRow.__table__
_KNOBS = KnobRow.__table__
_RESULTS = ResultRow.__table__
_LINKS = ResultQueryRow.__table__
_MISFITS = MisfitRow.__table__
_LOG = LogRow.__table__
_CURSOR = select(
    select(func.max(CommitRow.id)).scalar_subquery(),
    select(func.max(CommandRow.id)).scalar_subquery(),
)


def cursor(connection: Connection) -> Cursor:
    """As Reader.cursor()."""
    newest = connection.execute(_CURSOR).one()
    hold([newest], WHOLE_OR_NONE, WHOLE_OR_NONE)
    return Cursor(newest[0] or 0, newest[1] or 0)


def changes(connection: Connection, since: Cursor, limit: int) -> tuple[Change, ...]:
    """As Reader.changes()."""
    commits = select(_COMMITS).where(_COMMITS.c.id > since.commit).order_by(_COMMITS.c.id)
    requests = (
        select(_COMMANDS.c.id, _COMMANDS.c.run_id, _COMMANDS.c.requested_at)
        .where(_COMMANDS.c.id > since.command)
        .order_by(_COMMANDS.c.id)
    )
    newer = [decode.change(row) for row in connection.execute(commits.limit(limit))]
    asked: Result[Any] = connection.execute(requests.limit(limit))
    newer += [decode.request(row) for row in asked]
    return tuple(newer)


def runs(connection: Connection) -> tuple[Run, ...]:
    """As Reader.runs()."""
    of = select(_INPUTS).order_by(_INPUTS.c.run_id, _INPUTS.c.place, _INPUTS.c.name)
    groups = groupby(connection.execute(of), lambda row: row.run_id)
    read = {run_id: _records(decode.input_(row) for row in rows) for run_id, rows in groups}
    newest = select(_RUNS).order_by(_RUNS.c.started_at.desc(), _RUNS.c.id)
    return tuple(decode.run(row, read.get(row.id, ())) for row in connection.execute(newest))


def run(connection: Connection, run_id: str) -> Run | None:
    """As Reader.run()."""
    row = connection.execute(select(_RUNS).where(_RUNS.c.id == run_id)).first()
    return None if row is None else decode.run(row, _records(inputs(connection, run_id)))


def _records(stored: Iterable[StoredInput]) -> tuple[Input, ...]:
    return tuple(row.input for row in stored)


def inputs(connection: Connection, run_id: str) -> tuple[StoredInput, ...]:
    """As Reader.inputs()."""
    mine = (
        select(_INPUTS).where(_INPUTS.c.run_id == run_id).order_by(_INPUTS.c.place, _INPUTS.c.name)
    )
    return tuple(decode.input_(row) for row in connection.execute(mine))


def input_batches(
    connection: Connection,
    run_id: str,
    name: str | None,
    since: int | None,
    until: int | None,
    limit: int,
) -> tuple[StoredInputBatch, ...]:
    """As Reader.input_batches()."""
    c, of_run = _INPUT_BATCHES.c, select(_INPUT_BATCHES).where(_INPUT_BATCHES.c.run_id == run_id)
    asked = (c.input, eq, name), (c.batch_id, ge, since), (c.batch_id, le, until)
    newest = narrowed(of_run, *asked).order_by(c.batch_id.desc(), c.input.desc())
    rows = connection.execute(newest.limit(limit)).all()
    return tuple(decode.input_batch(row) for row in reversed(rows))


def units(connection: Connection, run_id: str, at: int | None) -> tuple[Unit, ...]:
    """As Reader.units()."""
    return tuple(unit for unit in all_units(connection, run_id) if _is_alive(unit, at))


def all_units(connection: Connection, run_id: str) -> tuple[Unit, ...]:
    """Every unit the run has or had."""
    mine = select(_UNITS).where(_UNITS.c.run_id == run_id).order_by(_UNITS.c.id)
    return tuple(decode.unit(row) for row in connection.execute(mine))


def entities(connection: Connection, run_id: str, at: int | None) -> tuple[Entity, ...]:
    """As Reader.entities()."""
    of_run, batch = select(_ENTITIES).where(_ENTITIES.c.run_id == run_id), _ENTITIES.c.batch_id
    rows = connection.execute(narrowed(of_run, (batch, le, at)).order_by(batch))
    versions = (decode.entity(row) for row in rows)  # some are for the batch after
    newest = {
        version.id: version for version in versions if at is None or version.since_batch <= at
    }
    return tuple(newest[name] for name in sorted(newest) if _is_alive(newest[name], at))


def has_query(connection: Connection, run_id: str, name: str) -> bool:
    """As Reader.has_query()."""
    c = _ENTITIES.c
    mine = select(c.id, c.removed_batch).where(c.run_id == run_id, c.name == name)
    rows = connection.execute(mine.where(c.kind == "query").order_by(c.batch_id))
    newest = {row.id: row.removed_batch for row in rows}
    return None in newest.values()


def _is_alive(entity: Entity | Unit, at: int | None) -> bool:
    if at is None:
        return entity.removed_batch is None
    gone = entity.removed_batch is not None and entity.removed_batch <= at
    return entity.since_batch <= at and not gone


def batches(
    connection: Connection, run_id: str, since_id: int | None, until: int | None, limit: int
) -> tuple[Batch, ...]:
    """As Reader.batches()."""
    of_run, id = select(_BATCHES).where(_BATCHES.c.run_id == run_id), _BATCHES.c.id
    asked = narrowed(of_run, (id, ge, since_id), (id, le, until))
    rows = connection.execute(asked.order_by(id.desc()).limit(limit)).all()
    return tuple(decode.batch(row) for row in reversed(rows))


def find_batch(connection: Connection, run_id: str, time: float) -> int | None:
    """As Reader.find_batch()."""
    mine = select(_BATCHES.c.id).where(_BATCHES.c.run_id == run_id)
    before = mine.where(_BATCHES.c.time <= time).order_by(
        _BATCHES.c.time.desc(), _BATCHES.c.id.desc()
    )
    batch: int | None = connection.execute(before.limit(1)).scalar()
    if batch is None:
        batch = connection.execute(mine.order_by(_BATCHES.c.time).limit(1)).scalar()
    hold([(batch,)], WHOLE_OR_NONE)
    return batch


def events(
    connection: Connection,
    run_id: str,
    since: int | None,
    until: int | None,
    limit: int,
    kinds: Sequence[str] | None,
    unit: str | None,
) -> tuple[StoredEvent, ...]:
    """As Reader.events()."""
    c, of_run = _EVENTS.c, select(_EVENTS).where(_EVENTS.c.run_id == run_id)
    within = (c.batch_id, ge, since), (c.batch_id, le, until)
    asked = narrowed(of_run, *within, (c.kind, among, kinds), (c.unit_id, eq, unit))
    newest = asked.order_by(c.batch_id.desc(), c.id.desc()).limit(limit)
    return tuple(decode.event(row) for row in reversed(connection.execute(newest).all()))


def knobs(connection: Connection, run_id: str, at: int | None) -> tuple[Knob, ...]:
    """As Reader.knobs()."""
    in_force = {
        (knob.scope, knob.name): knob
        for knob in knob_history(connection, run_id, None, None)
        if at is None or knob.batch <= at
    }
    return tuple(in_force[key] for key in sorted(in_force))


def knob_history(
    connection: Connection, run_id: str, name: str | None, scope: str | None
) -> tuple[Knob, ...]:
    """As Reader.knob_history()."""
    c, of_run = _KNOBS.c, select(_KNOBS).where(_KNOBS.c.run_id == run_id)
    asked = narrowed(of_run, (c.name, eq, name), (c.scope, eq, scope))
    rows = connection.execute(asked.order_by(c.version, c.scope, c.name))
    return tuple(decode.knob(row) for row in rows)


def results(
    connection: Connection, run_id: str, query: str | None, limit: int, until: int | None
) -> tuple[StoredResult, ...]:
    """As Reader.results()."""
    statement = select(_RESULTS).where(_RESULTS.c.run_id == run_id)
    if query is not None:
        link = and_(_LINKS.c.run_id == _RESULTS.c.run_id, _LINKS.c.result_id == _RESULTS.c.id)
        statement = statement.join_from(_RESULTS, _LINKS, link).where(_LINKS.c.query == query)
    statement = narrowed(statement, (_RESULTS.c.batch_id, le, until))
    rows = connection.execute(statement.order_by(_RESULTS.c.id.desc()).limit(limit))
    return tuple(decode.result(row) for row in rows)


def misfits(
    connection: Connection, run_id: str, limit: int, until: int | None, name: str | None
) -> tuple[StoredMisfit, ...]:
    """As Reader.misfits()."""
    c, of_run = _MISFITS.c, select(_MISFITS).where(_MISFITS.c.run_id == run_id)
    asked = narrowed(of_run, (c.input, eq, name), (c.batch_id, le, until))
    rows = connection.execute(asked.order_by(c.id.desc()).limit(limit))
    return tuple(decode.misfit(row) for row in rows)


def log_lines(
    connection: Connection, run_id: str, limit: int, until: int | None
) -> tuple[StoredLine, ...]:
    """As Reader.log_lines()."""
    of_run = BatchRow.run_id == run_id
    recorded = func.coalesce(select(func.max(BatchRow.id)).where(of_run).scalar_subquery(), -1)
    later = select(func.min(BatchRow.id)).where(of_run, BatchRow.time >= _LOG.c.time)
    batch = func.coalesce(later.scalar_subquery(), recorded + 1).label("batch")
    statement = narrowed(select(_LOG, batch).where(_LOG.c.run_id == run_id), (batch, le, until))
    rows = connection.execute(statement.order_by(_LOG.c.id.desc()).limit(limit))
    return tuple(decode.log_line(row) for row in rows)[::-1]
