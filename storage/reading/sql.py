"""Queries of people on the store: they read, for a short time, and their answers are bounded."""

from __future__ import annotations

import marshal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import psycopg
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from storage.errors import SQLITE_KINDS, BadRecord, NotAStore, StoreAway, damaged, kind_of
from storage.reading import sql_process, sql_server
from storage.reading.plan_log import SpeltTable, names_plan_log, spelt_log
from storage.reading.sql_process import Rows
from storage.tables.database import reading_uri

#: A query that takes longer is broken off; its process is ended when it does not hear of it.
TIME_S: Final = 2.0
_GRACE_S: Final = 0.6
#: Queries that are answered at once, of all who ask this process.
MOST_AT_ONCE: Final = 4
#: Rows and bytes of an answer; what is beyond is left out, and said to be.
MOST_ROWS: Final = 10_000
MOST_BYTES: Final = 8 * 2**20
#: Memory and temporary files of the process that answers, bytes.
MOST_MEMORY: Final = 512 * 2**20
MOST_SCRATCH: Final = 256 * 2**20
Value: TypeAlias = str | int | float | bytes | None


class SqlRefused(BadRecord):
    """A query that is not run, or was broken off; the message is a sentence."""


class SqlBusy(SqlRefused):
    """A query that is not run now, because enough others are."""


class SqlAnswer(NamedTuple):
    """Rows by column. is_cut: there were more. took_s: seconds."""

    columns: tuple[str, ...]
    rows: list[tuple[Value, ...]]
    is_cut: bool
    took_s: float


def ask(engine: Engine, text: str, given: Mapping[str, Value], time_s: float = TIME_S) -> SqlAnswer:
    """Run one SELECT on an engine opened for reading. given: values of :name in the text.

    Raises SqlRefused for anything but a SELECT, a wrong one, and one that takes too long.
    """
    if not text.strip():
        raise SqlRefused("write a query: SELECT … FROM …")
    begun = time.monotonic()
    if not _PLACES.acquire(blocking=False):
        raise SqlBusy(f"{MOST_AT_ONCE} other queries are being answered; try again in a moment")
    try:
        answer = _answer(engine, text, given, time_s)
    except sql_server.NotAllowed as error:
        raise SqlRefused(f"only SELECT is allowed here, without {error}") from error
    except psycopg.Error as error:
        if kind_of(error) is StoreAway:
            raise StoreAway(f"the store cannot be asked: {error}") from error
        raise SqlRefused(_reason(error.sqlstate, str(error), time_s)) from error
    except (sqlite3.Error, DBAPIError) as error:
        cause = getattr(error, "orig", error)
        raise kind_of(cause)(f"the store cannot be asked: {cause}") from error
    finally:
        _PLACES.release()
    return SqlAnswer(*answer, time.monotonic() - begun)


_PLACES: Final = threading.BoundedSemaphore(MOST_AT_ONCE)


def _answer(engine: Engine, text: str, given: Mapping[str, Value], time_s: float) -> Rows:
    spelt = []
    if names_plan_log(text):
        with engine.connect() as connection:
            spelt.append(spelt_log(connection))
    with closing(engine.raw_connection()) as pooled:
        own: Any = pooled.driver_connection
        if not isinstance(own, sqlite3.Connection):
            pooled.detach()
            return sql_server.ask(own, text, given, time_s, MOST_ROWS, MOST_BYTES, spelt)
        path = Path(own.execute("PRAGMA database_list").fetchone()[2])
    return _ask_sqlite(path, text, given, time_s, spelt)


def _ask_sqlite(
    path: Path,
    text: str,
    given: Mapping[str, Value],
    time_s: float,
    spelt: Sequence[SpeltTable],
) -> Rows:
    """In a process of its own. Raises SqlRefused, and NotAStore for a damaged file."""
    bounds = (time_s, MOST_ROWS, MOST_BYTES, MOST_MEMORY, MOST_SCRATCH)
    tables = [tuple(table) for table in spelt]
    asked = marshal.dumps((reading_uri(path), text, dict(given), tables, *bounds))
    command = [sys.executable, "-I", "-S", sql_process.__file__]
    try:
        done = subprocess.run(
            command, input=asked, capture_output=True, timeout=time_s + _GRACE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise SqlRefused(_reason(sqlite3.SQLITE_INTERRUPT, "", time_s)) from None
    if done.returncode:
        raise SqlRefused("it took too much time or memory and was broken off; narrow it")
    is_answered, *reply = marshal.loads(done.stdout)
    if is_answered:
        columns, rows, is_cut = reply[0]
        return columns, rows, is_cut
    name, code, words = reply
    if SQLITE_KINDS.get(code) is NotAStore:
        raise NotAStore(damaged(str(path)))
    raise SqlRefused(_reason(name if code is None else code, words, time_s))


_ENDED: Final = "it took longer than {time:g} s and was broken off; narrow it, or use an index"
_ACTS: Final = "only SELECT is allowed here ({words})"
_LARGE: Final = "it needs more than {memory} MB of memory; narrow it"
#: By the code of SQLite or PostgreSQL, or the name of an error that has none; else the words.
_REASONS: Final[Mapping[int | str, str]] = {
    **dict.fromkeys((sqlite3.SQLITE_INTERRUPT, "57014"), _ENDED),
    **dict.fromkeys((sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY, "42501", "25006"), _ACTS),
    **dict.fromkeys((sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL), _LARGE),
    **dict.fromkeys(("MemoryError", "53200", "53100"), _LARGE),
}


def _reason(code: int | str | None, words: str, time_s: float) -> str:
    reason = "{words}" if code is None else _REASONS.get(code, "{words}")
    return reason.format(words=words.strip(), time=time_s, memory=MOST_MEMORY // 2**20)
