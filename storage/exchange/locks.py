"""Locks of runs, each held by the process that owns the run.

Beside a store in a file it is a lock of the operating system, on a server one of the database. It
goes with the process that holds it, however that ends, and with nothing else: a process that is
stopped, a machine that sleeps and a clock that is set leave it where it is.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import threading
from contextlib import suppress
from typing import Final, Protocol

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError

from storage.tables.database import PRIVATE

#: Behind the path of a store; one byte of the file is locked for each run.
FILE: Final = "-locks"
#: What says that a file system has no locks.
_NO_LOCKS: Final = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL)


class Locks(Protocol):
    """Locks of the runs of a store; those taken here are held until they are given back."""

    @property
    def is_final(self) -> bool:
        """Whether a lock that nobody on this host holds tells that its process is gone."""

    def take(self, run_id: str) -> bool:
        """Hold the lock of a run from now on; False where another process holds it."""

    def is_held(self, run_id: str) -> bool | None:
        """Whether some process, this one or another, holds it; None: that cannot be known."""

    def give_back(self, run_id: str) -> None:
        """Hold it no more."""

    def close(self) -> None:
        """Give all back."""


def locks_of(engine: Engine, where: str) -> Locks:
    """Those of a store. where: the path of a store in a file."""
    return FileLocks(where) if engine.dialect.name == "sqlite" else ServerLocks(engine)


#: Lock files that this process has open, by path. They are never closed: that would give back all
#: locks of the process in the file, those of others that opened it here, too.
_OPEN: Final[dict[str, int]] = {}
#: (path, byte) -> the process that holds it, which after a fork is the parent.
_HELD: Final[dict[tuple[str, int], int]] = {}
_CHANGING: Final = threading.RLock()


class FileLocks:
    """Locks of a process on bytes of a file beside the store."""

    is_final = True

    def __init__(self, store: str) -> None:
        self._path = f"{store}{FILE}"
        self._mine: set[str] = set()

    def take(self, run_id: str) -> bool:
        """As of Locks."""
        with _CHANGING:
            place = (self._path, _number(run_id))
            if _HELD.get(place) == os.getpid():
                return run_id in self._mine
            if self._locked(place[1]) is False:
                return False
            _HELD[place] = os.getpid()
            self._mine.add(run_id)
            return True

    def is_held(self, run_id: str) -> bool | None:
        """As of Locks."""
        with _CHANGING:
            place = (self._path, _number(run_id))
            if _HELD.get(place) == os.getpid():
                return True
            locked = self._locked(place[1])
            if locked:
                fcntl.lockf(_OPEN[self._path], fcntl.LOCK_UN, 1, place[1])
            return None if locked is None else not locked

    def give_back(self, run_id: str) -> None:
        """As of Locks."""
        with _CHANGING:
            if run_id in self._mine:
                self._mine.discard(run_id)
                del _HELD[self._path, _number(run_id)]
                with suppress(OSError):
                    fcntl.lockf(_OPEN[self._path], fcntl.LOCK_UN, 1, _number(run_id))

    def close(self) -> None:
        """As of Locks."""
        for run_id in tuple(self._mine):
            self.give_back(run_id)

    def _locked(self, byte: int) -> bool | None:
        """Whether the byte was free, and is locked now; None where there are no locks, or the file
        is somebody else's."""
        try:
            file = self._opened()
        except OSError:
            return None
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):
            return False
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return None
            raise
        return True

    def _opened(self) -> int:
        """The file; another one once its store was removed and begun anew."""
        known = _OPEN.get(self._path)
        with suppress(FileNotFoundError):
            if known is not None and os.path.samestat(os.stat(self._path), os.fstat(known)):
                return known
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        _OPEN[self._path] = os.open(self._path, flags, PRIVATE)
        return _OPEN[self._path]


class ServerLocks:
    """Advisory locks of one connection of a PostgreSQL server; a connection that is cut loses them,
    so that a lock nobody holds proves nothing."""

    is_final = False

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._holding: Connection | None = None
        self._mine: set[str] = set()

    def take(self, run_id: str) -> bool:
        """As of Locks; also takes again what a connection that was cut has lost."""
        if run_id in self._mine and self._is_alive():
            return True
        if self._holding is None or not self._is_alive():
            self.close()
            self._holding = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        statement = text("SELECT pg_try_advisory_lock(:key)")
        if not self._holding.execute(statement, {"key": _number(run_id)}).scalar_one():
            return False
        self._mine.add(run_id)
        return True

    def is_held(self, run_id: str) -> bool | None:
        """As of Locks."""
        statement = text(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            " AND (classid::bigint << 32) | objid::bigint = :key"
        )
        with self._engine.connect() as connection:
            return bool(connection.execute(statement, {"key": _number(run_id)}).scalar_one())

    def give_back(self, run_id: str) -> None:
        """As of Locks."""
        if run_id in self._mine and self._holding is not None:
            self._mine.discard(run_id)
            with suppress(SQLAlchemyError):
                statement = text("SELECT pg_advisory_unlock(:key)")
                self._holding.execute(statement, {"key": _number(run_id)})

    def close(self) -> None:
        """As of Locks."""
        holding, self._holding = self._holding, None
        self._mine.clear()
        if holding is not None:
            with suppress(SQLAlchemyError):
                holding.invalidate()
                holding.close()

    def _is_alive(self) -> bool:
        try:
            assert self._holding is not None
            self._holding.execute(text("SELECT 1"))
        except (SQLAlchemyError, AssertionError):
            return False
        return True


def _number(run_id: str) -> int:
    """A place in a file, and a key on a server: 62 bits of the id."""
    return int.from_bytes(hashlib.sha256(run_id.encode()).digest()[:8], "big") >> 2
