"""Reading what happened in the units of a run: plans, decisions, matrices.

``unit`` None is all units of the run, or, where one thing is asked for, the first that has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import eq, le, lt
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Text,
    and_,
    case,
    func,
    select,
    tuple_,
    type_coerce,
)

from storage.reading import looks as looks_read
from storage.reading.looks import DecisionQuery, kept_looks, look_of, put_back, with_looks
from storage.tables import decode
from storage.tables.allowed import TEXT, WHOLE, hold
from storage.tables.looks import PlanLogs
from storage.tables.narrowed import among, narrowed
from storage.tables.rows import (
    DecisionCounts,
    DecisionEntry,
    MatrixKey,
    StoredLook,
    StoredMatrix,
)
from storage.tables.schema import DecisionRow, MatrixRow, OutcomeRow, PlanRow
from storage.tables.units import units_in
from storage.vocabulary import registry
from storage.vocabulary.planlog import RECORD, SURE_SAVING
from storage.vocabulary.records import Json, PlanVersion

_PLANS = PlanRow.__table__
_DECISIONS = DecisionRow.__table__
_OUTCOMES = OutcomeRow.__table__
_MATRICES = MatrixRow.__table__


def plans(
    connection: Connection, run_id: str, until: int | None, unit: str | None
) -> tuple[PlanVersion, ...]:
    """As Reader.plans()."""
    statement = _plans(run_id, until, unit)
    order = (_PLANS.c.batch, _PLANS.c.unit_id, _PLANS.c.version)
    return tuple(decode.plan(row) for row in connection.execute(statement.order_by(*order)))


def _plans(run_id: str, until: int | None, unit: str | None) -> Select[Any]:
    of_run, c = select(_PLANS).where(_PLANS.c.run_id == run_id), _PLANS.c
    return narrowed(of_run, (c.unit_id, eq, unit), (c.batch, le, until))


def plans_at(connection: Connection, run_id: str, at: int | None) -> dict[str, PlanVersion]:
    """As Reader.plans_at()."""
    plans = {}
    for unit in units_in(connection, _PLANS, run_id, None):
        plan = plan_at(connection, run_id, at, unit)
        if plan is not None:
            plans[unit] = plan
    return plans


def plan_at(
    connection: Connection, run_id: str, at: int | None, unit: str | None
) -> PlanVersion | None:
    """As Reader.plan_at()."""
    newest = _plans(run_id, at, unit).order_by(_PLANS.c.batch.desc(), _PLANS.c.version.desc())
    row = connection.execute(newest.limit(1)).first()
    return None if row is None else decode.plan(row)


def first_plan(connection: Connection, run_id: str, unit: str) -> PlanVersion | None:
    """The plan the unit began with, None before it."""
    of_unit = select(_PLANS).where(_PLANS.c.run_id == run_id, _PLANS.c.unit_id == unit)
    row = connection.execute(of_unit.order_by(_PLANS.c.version).limit(1)).first()
    return None if row is None else decode.plan(row)


def looks(
    connection: Connection,
    run_id: str,
    until: int | None,
    unit: str | None,
    limit: int,
    subject: str | None = None,
) -> tuple[StoredLook, ...]:
    """As Reader.looks(), of the logs of a subject, None = of all; of earlier stores those in
    decisions that are whole."""
    logs = PlanLogs(connection, run_id, unit)
    kept = [look.stored for look in kept_looks(logs, connection, until, limit, subject=subject)]
    earlier = () if subject else _in_decisions(connection, run_id, until, unit, limit)
    newest = sorted((*kept, *earlier), key=lambda look: (-look.batch, look.unit_id, -look.seq))
    return tuple(sorted(newest[:limit], key=lambda look: (look.unit_id, look.subject, look.seq)))


def _in_decisions(
    connection: Connection, run_id: str, until: int | None, unit: str | None, limit: int
) -> tuple[StoredLook, ...]:
    """The looks that stand in decisions, as earlier stores kept them."""
    own = _DECISIONS.c
    statement = select(own.unit_id, own.seq, own.batch, own.time, own.detail).where(
        own.run_id == run_id,
        own.metric == SURE_SAVING,
        type_coerce(own.detail, Text).contains(f'"{RECORD}":'),
    )
    asked = narrowed(statement, (own.unit_id, eq, unit), (own.batch, le, until))
    newest = asked.order_by(own.batch.desc(), own.unit_id, own.seq.desc()).limit(limit)
    rows: list[Row[Any]] = list(connection.execute(newest))
    kept = [look for row in rows if (look := decode.look(row)) is not None]
    return _spelt_out(connection, run_id, sorted(kept, key=lambda look: (look.unit_id, look.seq)))


def _spelt_out(
    connection: Connection, run_id: str, looks: Sequence[StoredLook]
) -> tuple[StoredLook, ...]:
    """Looks with the schema of their log, which the first look of it spells out; without those
    whose schema is gone."""
    schemas: dict[tuple[str, Json], Json] = {}
    whole = []
    for look in looks:
        schema, log = look.record.get("schema"), (look.unit_id, look.record.get("began"))
        if isinstance(schema, str):
            if log not in schemas:
                schemas[log] = _schema_before(connection, run_id, look)
            if schemas[log] is None:
                continue
            look = replace(look, record={**look.record, "schema": schemas[log]})
        else:
            schemas[log] = schema
        whole.append(look)
    return tuple(whole)


def _schema_before(connection: Connection, run_id: str, look: StoredLook) -> Json:
    """That of the newest look of the same log before this one that spells it out, None = gone."""
    own = _DECISIONS.c
    statement = select(own.unit_id, own.seq, own.batch, own.time, own.detail).where(
        own.run_id == run_id,
        own.unit_id == look.unit_id,
        own.metric == SURE_SAVING,
        own.batch <= look.batch,
        own.seq < look.seq,
        type_coerce(own.detail, Text).contains('"schema":{'),
    )
    newest = statement.order_by(own.batch.desc(), own.seq.desc())
    rows: list[Row[Any]] = list(connection.execute(newest))
    for row in rows:
        before = decode.look(row)
        if before is not None and before.record["began"] == look.record["began"]:
            return before.record["schema"]
    return None


def _brief(connection: Connection) -> ColumnElement[Any]:
    """The detail without its long parts, where the database can leave them out; else all of it."""
    whole = _DECISIONS.c.detail
    if connection.dialect.name != "sqlite":
        return whole
    short = func.json_remove(whole, *(f"$.{name}" for name in sorted(registry.KNOWN.long_parts)))
    detail = case((func.json_valid(whole) == 1, short), else_=whole)
    return type_coerce(detail, whole.type).label(whole.name)


def _with_outcomes(
    run_id: str, until: int | None, detail: ColumnElement[Any] = _DECISIONS.c.detail
) -> Select[Any]:
    measured = and_(
        _OUTCOMES.c.run_id == _DECISIONS.c.run_id,
        _OUTCOMES.c.unit_id == _DECISIONS.c.unit_id,
        _OUTCOMES.c.decision == _DECISIONS.c.seq,
    )
    if until is not None:
        measured = and_(measured, _OUTCOMES.c.batch <= until)
    columns = [column.label(f"outcome_{column.name}") for column in _OUTCOMES.columns]
    own = [column for column in _DECISIONS.columns if column.name != detail.key]
    joined = select(*own, detail, *columns).outerjoin_from(_DECISIONS, _OUTCOMES, measured)
    return joined.where(_DECISIONS.c.run_id == run_id)


def decisions(
    connection: Connection, query: DecisionQuery, brief: bool
) -> tuple[DecisionEntry, ...]:
    """As Reader.decisions()."""
    run_id, until, verdicts, before_seq, limit, unit = query
    c, detail = _DECISIONS.c, _brief(connection) if brief else _DECISIONS.c.detail
    before = (c.seq, lt, before_seq), (c.batch, le, until)
    statement = narrowed(
        _with_outcomes(run_id, until, detail),
        *((c.unit_id, eq, unit), (c.verdict, among, verdicts), *before),
    )
    newest = statement.order_by(c.batch.desc(), c.seq.desc(), c.unit_id.desc())
    rows = connection.execute(newest.limit(limit))
    entries = [decode.decision(row) for row in rows]
    return with_looks(connection, query, entries)


def decision(
    connection: Connection, run_id: str, seq: int, unit: str | None, until: int | None
) -> DecisionEntry | None:
    """As Reader.decision()."""
    of_seq = _with_outcomes(run_id, until).where(_DECISIONS.c.seq == seq)
    logs = PlanLogs(connection, run_id, unit)
    for name in sorted({*units_in(connection, _DECISIONS, run_id, unit), *logs.units}):
        row = connection.execute(of_seq.where(_DECISIONS.c.unit_id == name)).first()
        if row is not None:
            return put_back(logs, connection, decode.decision(row))
        look = look_of(logs, connection, name, seq)
        if look is not None and look.is_whole:
            return look.entry
    return None


def last_seq(connection: Connection, run_id: str, until: int | None, unit: str) -> int:
    """The number of the unit's last stored decision of batches <= until, 0 without one."""
    mine = select(_DECISIONS.c.seq).where(
        _DECISIONS.c.run_id == run_id, _DECISIONS.c.unit_id == unit
    )
    mine = narrowed(mine, (_DECISIONS.c.batch, le, until))
    newest = mine.order_by(_DECISIONS.c.batch.desc(), _DECISIONS.c.seq.desc())
    seq = connection.execute(newest.limit(1)).scalar() or 0
    hold([(seq,)], WHOLE)
    return max(seq, looks_read.last_seq(connection, run_id, until, unit))


def decision_counts(
    connection: Connection, run_id: str, until: int | None, unit: str | None
) -> DecisionCounts:
    """As Reader.decision_counts()."""
    c = _DECISIONS.c
    statement = select(c.verdict, func.count()).where(c.run_id == run_id)
    asked = narrowed(statement, (c.batch, le, until), (c.unit_id, eq, unit))
    grouped = asked.group_by(c.verdict).order_by(c.verdict)
    rows = connection.execute(grouped).all()
    hold(rows, TEXT, WHOLE)
    counts = {row[0]: row[1] for row in rows}
    logs = PlanLogs(connection, run_id, unit)
    for verdict, n in looks_read.counts(logs, connection, until).items():
        counts[verdict] = counts.get(verdict, 0) + n
    units = {*units_in(connection, _DECISIONS, run_id, unit), *logs.units}
    evaluated = sum(last_seq(connection, run_id, until, name) for name in units)
    return DecisionCounts(counts, sum(counts.values()), evaluated)


def matrix_keys(connection: Connection, run_id: str, unit: str | None) -> tuple[MatrixKey, ...]:
    """As Reader.matrix_keys(); hops from name to name in the key, past their history."""
    key = (_MATRICES.c.unit_id, _MATRICES.c.name)
    first = select(*key, _MATRICES.c.kind).where(_MATRICES.c.run_id == run_id)
    first = narrowed(first, (_MATRICES.c.unit_id, eq, unit))
    first = first.order_by(*key, _MATRICES.c.batch_id).limit(1)
    keys: list[MatrixKey] = []
    row = connection.execute(first).first()
    while row is not None:
        keys.append(MatrixKey(*row))
        row = connection.execute(first.where(tuple_(*key) > tuple_(row[0], row[1]))).first()
    hold(keys, TEXT, TEXT, TEXT)
    return tuple(sorted(keys))


def matrix(
    connection: Connection, run_id: str, name: str, at: int | None, unit: str | None
) -> StoredMatrix | None:
    """As Reader.matrix()."""
    named = select(_MATRICES).where(_MATRICES.c.run_id == run_id, _MATRICES.c.name == name)
    named = narrowed(named, (_MATRICES.c.batch_id, le, at))
    newest = named.order_by(_MATRICES.c.batch_id.desc()).limit(1)
    for unit_id in units_in(connection, _MATRICES, run_id, unit):
        row = connection.execute(newest.where(_MATRICES.c.unit_id == unit_id)).first()
        if row is not None:
            return decode.matrix(row)
    return None
