"""Commands: requests written by the dashboard, answers written by the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, Engine, Select, func, insert, select

from storage.errors import BadRecord, StoreTooOld, UnknownRun, translated
from storage.reading import history
from storage.tables import decode
from storage.tables.database import (
    describe,
    disposed_on_error,
    open_for_writing,
    parse_url,
    repeated,
)
from storage.tables.migrations import check, prepare
from storage.tables.schema import AnswerRow, CommandRow, RunRow
from storage.tables.texts import why_unstorable
from storage.vocabulary.records import NOTED, Command, Json
from storage.vocabulary.taps import TAP

#: So long a request is tried again while the server goes away: somebody waits for its answer.
PATIENCE_S: Final = 3.0
#: Key of the advisory lock under which commands get their numbers on PostgreSQL.
COMMANDS_LOCK: Final = 2
_ANSWER = (
    AnswerRow.state,
    AnswerRow.applied_batch,
    AnswerRow.answered_at,
    AnswerRow.answer,
    AnswerRow.old_value,
)


def open_command_writer(url: str) -> CommandWriter:
    """Open an existing store to request things of its engine.

    Raises StoreMissing, NotAStore, StoreTooNew, and StoreReadOnly when it cannot be written.
    """
    address = parse_url(url)
    where = describe(address)
    with translated(where):
        engine = open_for_writing(address, create=False)
        with disposed_on_error(engine):
            try:
                check(engine, where)
            except StoreTooOld:
                prepare(engine, where)
            with engine.begin() as connection:
                _lock_commands(connection)
    return CommandWriter(engine, where)


class CommandWriter:
    """Writes commands, and why it was that the engine was not asked. Thread-safe."""

    def __init__(self, engine: Engine, where: str) -> None:
        self._engine = engine
        self.where = where

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> CommandWriter:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def append_command(
        self,
        run_id: str,
        kind: str,
        payload: Json,
        actor: str,
        reason: str,
        requested_at: float,
        expected_version: int | None = None,
        refused: str = "",
    ) -> Command:
        """Request something of the engine of a run; the command as stored.

        Raises UnknownRun, and BadRecord for text that cannot be stored (NUL, lone surrogates).
        requested_at: Unix s. expected_version: settings version the actor saw, None = any.
        refused: why nobody is asked, if so; the command is kept with that answer.
        """
        why = why_unstorable([run_id, kind, payload, actor, reason, refused])
        if why is not None:
            raise BadRecord(f"the command is refused: {why}")
        row = {
            "run_id": run_id,
            "kind": kind,
            "payload": payload,
            "actor": actor,
            "reason": reason,
            "requested_at": requested_at,
            "expected_version": expected_version,
        }

        def append(is_again: bool) -> Command:
            with translated(self.where), self._engine.begin() as connection:
                return self._append(connection, row, is_again, refused)

        return repeated(append, self.where, PATIENCE_S)

    def _append(
        self, connection: Connection, row: dict[str, Any], is_again: bool, refused: str
    ) -> Command:
        """is_again: the connection was cut, perhaps once the command had been committed."""
        run_id = row["run_id"]
        if connection.execute(select(RunRow.id).where(RunRow.id == run_id)).first() is None:
            raise UnknownRun(f"run {run_id!r} is not in {self.where}; pick one of its runs")
        _lock_commands(connection)
        key = _same(connection, row) if is_again else None
        if key is None:
            done = connection.execute(insert(CommandRow).values(row))
            (key,) = done.inserted_primary_key or (None,)
            if refused:
                _refuse(connection, [key], refused, row["requested_at"])
        stored = connection.execute(joined().where(CommandRow.id == key)).one()
        return decode.command(stored)


def _same(connection: Connection, row: dict[str, Any]) -> int | None:
    """The newest command that was asked in the same words at the same moment."""
    table = CommandRow.__table__.c
    same = select(func.max(table.id)).where(
        *(table[name].is_not_distinct_from(value) for name, value in row.items())
    )
    key: int | None = connection.execute(same).scalar_one()
    return key


def joined() -> Select[Any]:
    """Commands with the columns of their answers, NULL when unanswered."""
    return select(CommandRow.__table__, *_ANSWER).outerjoin(
        AnswerRow, AnswerRow.command == CommandRow.id
    )


def pending(connection: Connection, run_id: str) -> tuple[Command, ...]:
    """Commands of the run without an answer, oldest first."""
    statement = (
        joined()
        .where(CommandRow.run_id == run_id, AnswerRow.command.is_(None))
        .where(CommandRow.kind.not_in(NOTED))
        .order_by(CommandRow.id)
    )
    return tuple(decode.command(row) for row in connection.execute(statement))


def refuse_left(connection: Connection, run_id: str, state: str, time: float) -> int:
    """Refuse what a run leaves unanswered as it ends; how many. What an interrupted one leaves
    waits until the run goes on, but for the wish to stop it."""
    waits = state == "interrupted"
    left = [c for c in pending(connection, run_id) if not waits or c.kind == "stop"]
    why = f"not applied: the run {_ENDED[state]} before the next batch boundary"
    return _refuse(connection, [command.id for command in left], why, time)


def refuse_waiting(connection: Connection, workload: str, time: float) -> tuple[str, ...]:
    """Refuse what waits for interrupted runs of a workload, of which another run begins; which
    runs these were."""
    waiting = (
        select(CommandRow.run_id)
        .join(RunRow, RunRow.id == CommandRow.run_id)
        .outerjoin(AnswerRow, AnswerRow.command == CommandRow.id)
        .where(RunRow.workload == workload, RunRow.state == "interrupted")
        .where(AnswerRow.command.is_(None), CommandRow.kind.not_in(NOTED))
        .distinct()
    )
    runs = tuple(connection.scalars(waiting))
    for run_id in runs:
        why = "not applied: the run was interrupted, and a new one was started"
        _refuse(connection, [command.id for command in pending(connection, run_id)], why, time)
    return runs


def _refuse(connection: Connection, left: Sequence[int | None], why: str, time: float) -> int:
    rows: Sequence[dict[str, Any]] = [
        {
            "command": number,
            "state": "refused",
            "applied_batch": None,
            "answered_at": time,
            "answer": why,
            "old_value": None,
        }
        for number in left
    ]
    if rows:
        connection.execute(insert(AnswerRow), rows)
    return len(rows)


_ENDED: Final = {"ended": "ended", "interrupted": "was interrupted", "failed": "failed"}


def _lock_commands(connection: Connection) -> None:
    """Let command numbers be committed in their order where transactions run side by side."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(COMMANDS_LOCK)))


def newest(
    connection: Connection, run_id: str, limit: int, taps: bool = False
) -> tuple[Command, ...]:
    """As Reader.commands()."""
    statement = joined().where(CommandRow.run_id == run_id).order_by(CommandRow.id.desc())
    if not taps:
        statement = statement.where(CommandRow.kind != TAP)
    return tuple(decode.command(row) for row in connection.execute(statement.limit(limit)))


def one(connection: Connection, run_id: str, command_id: int) -> Command | None:
    """One command of the run with its answer, or None."""
    statement = joined().where(CommandRow.run_id == run_id, CommandRow.id == command_id)
    row = connection.execute(statement).first()
    return None if row is None else decode.command(row)


def noted(connection: Connection, kind: str, run_id: str | None) -> tuple[Command, ...]:
    """What people wrote down of a kind (of NOTED) and did not withdraw, oldest first.

    run_id: None = in all runs."""
    statement = joined().where(CommandRow.kind.in_((kind, "forget"))).order_by(CommandRow.id)
    if run_id is not None:
        statement = statement.where(CommandRow.run_id == run_id)
    commands = [decode.command(row) for row in connection.execute(statement)]
    gone = {command.payload.get("command") for command in commands if command.kind == "forget"}
    return tuple(command for command in commands if command.kind == kind and command.id not in gone)


def unkept_turns(connection: Connection, run_id: str) -> tuple[Command, ...]:
    """Applied turns of knobs that still wait for a keep, oldest first: no later turn of the knob,
    none taken back."""
    statement = joined().where(
        CommandRow.run_id == run_id,
        CommandRow.kind.in_(("knob", "keep")),
        AnswerRow.state == "applied",
    )
    last: dict[tuple[Any, Any], Command] = {}
    kept = set()
    for row in connection.execute(statement.order_by(CommandRow.id)):
        command = decode.command(row)
        if command.kind == "keep":
            kept.add(command.payload.get("command"))
        else:
            last[command.payload.get("scope"), command.payload.get("knob")] = command
    values = {(k.scope, k.name): k.value for k in history.knobs(connection, run_id, None)}
    return tuple(
        command
        for key, command in last.items()
        if command.payload.get("unless_kept_s") is not None
        and command.id not in kept
        and values.get(key) == command.payload.get("value")
    )
