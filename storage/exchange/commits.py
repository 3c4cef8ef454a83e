"""Commits: what each transaction of an engine leaves for those who follow, and signs of life."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BindParameter, Connection, bindparam, func, insert, select, text, update

from storage.exchange import commands
from storage.exchange.liveness import LIVE_STATES
from storage.exchange.ownership import BEGINS
from storage.tables.schema import BatchRow, CommitRow, RunRow
from storage.vocabulary.kinds import Phase, RunState
from storage.vocabulary.records import Batch

FINAL_STATES: Final = ("ended", "interrupted", "failed")
#: Key of the advisory lock under which commits get their cursors on PostgreSQL.
COMMITS_LOCK: Final = 1


def is_recorded(connection: Connection, run_id: str, batch: Batch) -> bool:
    """Whether a batch, or a boundary by its time, is in the store."""
    if batch.id is None:
        same = connection.execute(_SAME_BOUNDARY, {"of_run": run_id, "of_time": batch.time})
    else:
        same = connection.execute(_SAME_BATCH, {"of_run": run_id, "of_batch": batch.id})
    return same.first() is not None


def begin_of(
    connection: Connection, run_id: str, time: float, owner: tuple[int, str]
) -> int | None:
    """The commit by which a process (id, host) began or resumed the run; None: it did not."""
    of_run = select(RunRow.pid, RunRow.host).where(RunRow.id == run_id)
    row = connection.execute(_NEWEST_BEGIN, {"of_run": run_id}).first()
    if row is None or row.time != time:
        return None
    is_own = tuple(connection.execute(of_run).one()) == owner
    return int(row.id) if is_own else None


def beat(connection: Connection, run_id: str, time: float, phase: Phase | None) -> None:
    """Let a run live as of ``time``. phase: its note from now on, None: as it is."""
    connection.execute(_BEAT, {"of_run": run_id, "now": time})
    if phase is not None:
        connection.execute(_NOTE, {"of_run": run_id, "phase": phase})


def sign_of_life(connection: Connection, run_id: str, batch: Batch) -> set[str]:
    """Let a run live as of a batch, and run as of its first one; what of it changed."""
    connection.execute(_BEAT, {"of_run": run_id, "now": batch.time})
    if batch.id is None:
        return set()
    return {"runs"} if connection.execute(_START, {"of_run": run_id}).rowcount else set()


def set_state(connection: Connection, run_id: str, state: RunState, note: str, time: float) -> bool:
    """Change the state of a run, and refuse what a final one leaves; False: there is no run."""
    final = state in FINAL_STATES
    values = {"state": state, "note": note, "ended_at": time if final else None}
    changed = {"runs"}
    if not connection.execute(update(RunRow).where(RunRow.id == run_id).values(values)).rowcount:
        return False
    if final and commands.refuse_left(connection, run_id, state, time):
        changed.add("commands")
    lock_commits(connection)
    commit(connection, run_id, None, "state", time, changed)
    return True


def lock_commits(connection: Connection) -> None:
    """Let cursors be committed in their order where transactions run side by side."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(COMMITS_LOCK)))


def commit(
    connection: Connection,
    run_id: str,
    batch_id: int | None,
    kind: str,
    time: float,
    changed: set[str],
) -> int:
    """Leave a commit; the cursor after it."""
    row = {"run_id": run_id, "batch_id": batch_id, "kind": kind, "time": time}
    (cursor,) = connection.execute(_COMMIT, {**row, "changed": sorted(changed)}).scalars()
    return int(cursor)


_OF_RUN: Final[BindParameter[str]] = bindparam("of_run")
_SAME_BATCH: Final = select(BatchRow.id).where(
    BatchRow.run_id == _OF_RUN, BatchRow.id == bindparam("of_batch")
)
_SAME_BOUNDARY: Final = select(CommitRow.id).where(
    CommitRow.run_id == _OF_RUN,
    CommitRow.kind == text("'boundary'"),
    CommitRow.time == bindparam("of_time"),
)
_NEWEST_BEGIN: Final = (
    select(CommitRow.id, CommitRow.time)
    .where(CommitRow.run_id == _OF_RUN, CommitRow.batch_id.is_(None), CommitRow.kind == BEGINS)
    .order_by(CommitRow.id.desc())
    .limit(1)
)
_BEAT: Final = update(RunRow).where(RunRow.id == _OF_RUN).values(heartbeat_at=bindparam("now"))
_NOTE: Final = (
    update(RunRow)
    .where(RunRow.id == _OF_RUN, RunRow.state.in_(LIVE_STATES))
    .values(note=bindparam("phase"))
)
_START: Final = (
    update(RunRow)
    .where(RunRow.id == _OF_RUN, RunRow.state == "starting")
    .values(state="running", note="")
)
_COMMIT: Final = insert(CommitRow).returning(CommitRow.id)
