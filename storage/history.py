"""Reading what happened: batches, plans, decisions, matrices, events, knobs, results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, and_, func, select

from storage import decode
from storage.rows import (
    Change,
    Cursor,
    DecisionCounts,
    DecisionEntry,
    StoredEvent,
    StoredMatrix,
    StoredMisfit,
    StoredResult,
)
from storage.schema import (
    BatchRow,
    CommandRow,
    CommitRow,
    DecisionRow,
    EntityRow,
    EventRow,
    KnobRow,
    MatrixRow,
    MisfitRow,
    OutcomeRow,
    PlanRow,
    ResultQueryRow,
    ResultRow,
)
from storage.vocabulary.records import Batch, Entity, Knob, PlanVersion

_COMMITS = CommitRow.__table__
_COMMANDS = CommandRow.__table__
_ENTITIES = EntityRow.__table__
_BATCHES = BatchRow.__table__
_PLANS = PlanRow.__table__
_DECISIONS = DecisionRow.__table__
_OUTCOMES = OutcomeRow.__table__
_MATRICES = MatrixRow.__table__
_EVENTS = EventRow.__table__
_KNOBS = KnobRow.__table__
_RESULTS = ResultRow.__table__
_LINKS = ResultQueryRow.__table__
_MISFITS = MisfitRow.__table__


def changes(connection: Connection, since: Cursor, limit: int) -> tuple[Change, ...]:
    """As Reader.changes()."""
    commits = select(_COMMITS).where(_COMMITS.c.id > since.commit).order_by(_COMMITS.c.id)
    requests = (
        select(_COMMANDS.c.id, _COMMANDS.c.run_id, _COMMANDS.c.requested_at)
        .where(_COMMANDS.c.id > since.command)
        .order_by(_COMMANDS.c.id)
    )
    found = [decode.change(row) for row in connection.execute(commits.limit(limit))]
    for row in connection.execute(requests.limit(limit)):
        found.append(Change(row.id, row.run_id, None, "command", ("commands",), row.requested_at))
    return tuple(found)


def entities(connection: Connection, run_id: str, at: int | None) -> tuple[Entity, ...]:
    """As Reader.entities()."""
    statement = select(_ENTITIES).where(_ENTITIES.c.run_id == run_id)
    if at is not None:
        statement = statement.where(_ENTITIES.c.batch_id <= at)
    rows = connection.execute(statement.order_by(_ENTITIES.c.batch_id))
    newest = {row.id: decode.entity(row) for row in rows}
    return tuple(newest[name] for name in sorted(newest) if _is_alive(newest[name], at))


def _is_alive(entity: Entity, at: int | None) -> bool:
    if at is None:
        return entity.removed_batch is None
    gone = entity.removed_batch is not None and entity.removed_batch <= at
    return entity.since_batch <= at and not gone


def batches(
    connection: Connection, run_id: str, since_id: int | None, until: int | None, limit: int
) -> tuple[Batch, ...]:
    """As Reader.batches()."""
    statement = select(_BATCHES).where(_BATCHES.c.run_id == run_id)
    if since_id is not None:
        statement = statement.where(_BATCHES.c.id >= since_id)
    if until is not None:
        statement = statement.where(_BATCHES.c.id <= until)
    rows = connection.execute(statement.order_by(_BATCHES.c.id.desc()).limit(limit)).all()
    return tuple(decode.batch(row) for row in reversed(rows))


def find_batch(connection: Connection, run_id: str, time: float) -> int | None:
    """As Reader.find_batch()."""
    mine = select(_BATCHES.c.id).where(_BATCHES.c.run_id == run_id)
    before = mine.where(_BATCHES.c.time <= time).order_by(
        _BATCHES.c.time.desc(), _BATCHES.c.id.desc()
    )
    found: int | None = connection.execute(before.limit(1)).scalar()
    if found is None:
        found = connection.execute(mine.order_by(_BATCHES.c.time).limit(1)).scalar()
    return found


def plans(connection: Connection, run_id: str, until: int | None) -> tuple[PlanVersion, ...]:
    """As Reader.plans()."""
    statement = select(_PLANS).where(_PLANS.c.run_id == run_id)
    if until is not None:
        statement = statement.where(_PLANS.c.batch <= until)
    rows = connection.execute(statement.order_by(_PLANS.c.version))
    return tuple(decode.plan(row) for row in rows)


def plan_at(connection: Connection, run_id: str, at: int | None) -> PlanVersion | None:
    """As Reader.plan_at()."""
    statement = select(_PLANS).where(_PLANS.c.run_id == run_id)
    if at is not None:
        statement = statement.where(_PLANS.c.batch <= at)
    newest = statement.order_by(_PLANS.c.batch.desc(), _PLANS.c.version.desc())
    row = connection.execute(newest.limit(1)).first()
    return None if row is None else decode.plan(row)


def _with_outcomes(until: int | None) -> Select[Any]:
    measured = and_(
        _OUTCOMES.c.run_id == _DECISIONS.c.run_id, _OUTCOMES.c.decision == _DECISIONS.c.seq
    )
    if until is not None:
        measured = and_(measured, _OUTCOMES.c.batch <= until)
    columns = [column.label(f"outcome_{column.name}") for column in _OUTCOMES.columns]
    return select(_DECISIONS, *columns).outerjoin_from(_DECISIONS, _OUTCOMES, measured)


def decisions(
    connection: Connection,
    run_id: str,
    until: int | None,
    verdicts: Sequence[str] | None,
    before_seq: int | None,
    limit: int,
) -> tuple[DecisionEntry, ...]:
    """As Reader.decisions()."""
    statement = _with_outcomes(until).where(_DECISIONS.c.run_id == run_id)
    if verdicts is not None:
        statement = statement.where(_DECISIONS.c.verdict.in_(list(verdicts)))
    if before_seq is not None:
        statement = statement.where(_DECISIONS.c.seq < before_seq)
    if until is not None:
        last = _last_seq(connection, run_id, until)
        statement = statement.where(_DECISIONS.c.seq <= last)
    rows = connection.execute(statement.order_by(_DECISIONS.c.seq.desc()).limit(limit))
    return tuple(decode.decision(row) for row in rows)


def _last_seq(connection: Connection, run_id: str, until: int | None) -> int:
    """The number of the last stored decision of batches <= until, 0 when there is none."""
    statement = select(_DECISIONS.c.seq).where(_DECISIONS.c.run_id == run_id)
    if until is None:
        newest = statement.order_by(_DECISIONS.c.seq.desc())
    else:
        newest = statement.where(_DECISIONS.c.batch <= until).order_by(
            _DECISIONS.c.batch.desc(), _DECISIONS.c.seq.desc()
        )
    return connection.execute(newest.limit(1)).scalar() or 0


def decision(connection: Connection, run_id: str, seq: int) -> DecisionEntry | None:
    """As Reader.decision()."""
    mine = _with_outcomes(None).where(_DECISIONS.c.run_id == run_id, _DECISIONS.c.seq == seq)
    row = connection.execute(mine).first()
    return None if row is None else decode.decision(row)


def decision_counts(connection: Connection, run_id: str, until: int | None) -> DecisionCounts:
    """As Reader.decision_counts()."""
    last = _last_seq(connection, run_id, until)
    statement = (
        select(_DECISIONS.c.verdict, func.count())
        .where(_DECISIONS.c.run_id == run_id, _DECISIONS.c.seq <= last)
        .group_by(_DECISIONS.c.verdict)
        .order_by(_DECISIONS.c.verdict)
    )
    counts = {row[0]: row[1] for row in connection.execute(statement)}
    return DecisionCounts(counts, sum(counts.values()), last)


def matrices(connection: Connection, run_id: str) -> tuple[str, ...]:
    """As Reader.matrices(); hops from name to name in the key, past their history."""
    names: list[str] = []
    first = select(func.min(_MATRICES.c.name)).where(_MATRICES.c.run_id == run_id)
    found = connection.execute(first).scalar()
    while found is not None:
        names.append(found)
        found = connection.execute(first.where(_MATRICES.c.name > found)).scalar()
    return tuple(sorted(names))


def matrix(connection: Connection, run_id: str, name: str, at: int | None) -> StoredMatrix | None:
    """As Reader.matrix()."""
    statement = select(_MATRICES).where(_MATRICES.c.run_id == run_id, _MATRICES.c.name == name)
    if at is not None:
        statement = statement.where(_MATRICES.c.batch_id <= at)
    row = connection.execute(statement.order_by(_MATRICES.c.batch_id.desc()).limit(1)).first()
    return None if row is None else decode.matrix(row)


def events(
    connection: Connection,
    run_id: str,
    since: int | None,
    until: int | None,
    limit: int,
    kinds: Sequence[str] | None,
) -> tuple[StoredEvent, ...]:
    """As Reader.events()."""
    statement = select(_EVENTS).where(_EVENTS.c.run_id == run_id)
    if since is not None:
        statement = statement.where(_EVENTS.c.batch_id >= since)
    if until is not None:
        statement = statement.where(_EVENTS.c.batch_id <= until)
    if kinds is not None:
        statement = statement.where(_EVENTS.c.kind.in_(list(kinds)))
    newest = statement.order_by(_EVENTS.c.batch_id.desc(), _EVENTS.c.id.desc()).limit(limit)
    return tuple(decode.event(row) for row in reversed(connection.execute(newest).all()))


def knobs(connection: Connection, run_id: str, at: int | None) -> tuple[Knob, ...]:
    """As Reader.knobs()."""
    in_force = {
        knob.name: knob
        for knob in knob_history(connection, run_id, None)
        if at is None or knob.batch <= at
    }
    return tuple(in_force[name] for name in sorted(in_force))


def knob_history(connection: Connection, run_id: str, name: str | None) -> tuple[Knob, ...]:
    """As Reader.knob_history()."""
    statement = select(_KNOBS).where(_KNOBS.c.run_id == run_id)
    if name is not None:
        statement = statement.where(_KNOBS.c.name == name)
    rows = connection.execute(statement.order_by(_KNOBS.c.version, _KNOBS.c.name))
    return tuple(decode.knob(row) for row in rows)


def results(
    connection: Connection, run_id: str, query: str | None, limit: int, until: int | None
) -> tuple[StoredResult, ...]:
    """As Reader.results()."""
    statement = select(_RESULTS).where(_RESULTS.c.run_id == run_id)
    if query is not None:
        link = and_(_LINKS.c.run_id == _RESULTS.c.run_id, _LINKS.c.result_id == _RESULTS.c.id)
        statement = statement.join_from(_RESULTS, _LINKS, link).where(_LINKS.c.query == query)
    if until is not None:
        statement = statement.where(_RESULTS.c.batch_id <= until)
    rows = connection.execute(statement.order_by(_RESULTS.c.id.desc()).limit(limit))
    return tuple(decode.result(row) for row in rows)


def misfits(
    connection: Connection, run_id: str, limit: int, until: int | None
) -> tuple[StoredMisfit, ...]:
    """As Reader.misfits()."""
    statement = select(_MISFITS).where(_MISFITS.c.run_id == run_id)
    if until is not None:
        statement = statement.where(_MISFITS.c.batch_id <= until)
    rows = connection.execute(statement.order_by(_MISFITS.c.id.desc()).limit(limit))
    return tuple(decode.misfit(row) for row in rows)
