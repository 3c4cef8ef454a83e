"""Ownership of runs: who may write what, where several processes open one store.

A process owns a run from the commit by which it began or resumed it, and holds the run's lock.
Where a lock was lost, as with a cut connection, a later commit of that kind tells: another's.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from sqlalchemy import BindParameter, Connection, Engine, bindparam, func, select
from sqlalchemy.exc import SQLAlchemyError

from storage.errors import RunLives, RunLost
from storage.exchange.liveness import LIVE_STATES, is_gone, may_live
from storage.exchange.locks import locks_of
from storage.reading import history
from storage.tables import decode
from storage.tables.schema import CommitRow, RunRow
from storage.vocabulary.branches import BRANCH
from storage.vocabulary.records import Run

#: Kind of the commits that begin or resume a run.
BEGINS: Final = "run"


class Ownership:
    """Runs that one writer owns, and what is known of the others' runs."""

    def __init__(self, engine: Engine, where: str) -> None:
        self._locks = locks_of(engine, where)
        self._epochs: dict[str, int] = {}  # by run: the commit that made it this writer's

    def close(self) -> None:
        """Own nothing any more."""
        self._locks.close()

    def take(self, run: Run) -> None:
        """Hold the lock of a run. Raises RunLives where another process holds it."""
        if not self._locks.take(run.id):
            raise _lives_error(run)

    def take_up(self, run: Run, now: float) -> None:
        """As take, of a run that there is. now: Unix s, as of lives."""
        if self.lives(run, now):
            raise _lives_error(run)
        self.take(run)

    def begin(self, run_id: str, epoch: int) -> None:
        """Own a run since a commit."""
        self._epochs[run_id] = epoch

    def keep(self, run_id: str) -> None:
        """Take a lock again that was lost with a connection. An away server is asked later."""
        if run_id in self._epochs:
            with suppress(SQLAlchemyError):
                self._locks.take(run_id)

    def give_back(self, run_id: str) -> None:
        """Hold the lock of a run no more."""
        self._locks.give_back(run_id)

    def check(self, connection: Connection, run_id: str) -> None:
        """Raise RunLost where another process has taken over a run of this writer."""
        epoch = self._epochs.get(run_id)
        newest = connection.execute(_NEWEST, {"of_run": run_id}).scalar_one_or_none()
        if epoch is not None and newest is not None and newest > epoch:
            run = history.run(connection, run_id)
            by = "" if run is None else f" by process {run.pid} on {run.host}"
            raise RunLost(f"run {run_id!r} was taken over{by}; this process writes nothing more")

    def lives(self, run: Run, now: float) -> bool:
        """Whether some process may be at work on the run. now: Unix s, which only decides where its
        lock tells nothing."""
        is_own = run.id in self._epochs and run.state in LIVE_STATES
        return is_own or may_live(run, now, self._is_held(run))

    def gone(self, runs: Iterable[Run], now: float) -> list[Run]:
        """Those that other processes of this host began, which are no more. now: Unix s."""
        others = [run for run in runs if run.id not in self._epochs]
        return [run for run in others if is_gone(run, now, self._is_held(run))]

    def check_alone(self, connection: Connection, run: Run) -> None:
        """Raise RunLives where another run of the workload may be at work, branches apart."""
        same = select(RunRow.__table__).where(RunRow.workload == run.workload)
        for row in connection.execute(same.where(RunRow.state.in_(LIVE_STATES))):
            other = decode.run(row)
            if BRANCH not in other.settings and self.lives(other, run.started_at):
                raise RunLives(
                    f"run {other.id} of this workload is at work in process {other.pid} on "
                    f"{other.host}; stop it, or start a new run with --fresh"
                )

    def _is_held(self, run: Run) -> bool | None:
        """Whether a process holds the run; None where that is not known for sure."""
        held = self._locks.is_held(run.id)
        is_sure = held or (self._locks.is_final and run.host == socket.gethostname())
        return held if is_sure else None


def _lives_error(run: Run) -> RunLives:
    """Somebody else is executing the run."""
    where = f"process {run.pid} on {run.host}"
    return RunLives(f"run {run.id!r} is at work in {where}; stop that one first")


_OF_RUN: Final[BindParameter[str]] = bindparam("of_run")
_NEWEST: Final = select(func.max(CommitRow.id)).where(
    CommitRow.run_id == _OF_RUN, CommitRow.batch_id.is_(None), CommitRow.kind == BEGINS
)
