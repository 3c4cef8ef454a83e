"""Queries of people on the store: they read, for a short time, and their answers are bounded."""

from __future__ import annotations

import marshal
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import psycopg
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from storage.errors import BadRecord, NotAStore, StoreError, damaged
from storage.reading import sql_process
from storage.reading.sql_process import bounded
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
#: Of PostgreSQL: functions that act, or read files, also in a transaction that reads.
_ACTING: Final = re.compile(
    r"pg_(terminate|cancel)_backend|pg_(read|ls|stat)_\w*(file|dir)|pg_reload_conf|pg_advisory"
    r"|pg_sleep|lo_(im|ex)port|dblink|query_to_|ts_stat|U&\"",
    re.IGNORECASE,
)
_PARAMETER: Final = re.compile(r"(?<!:):(\w+)")
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
    except psycopg.Error as error:
        raise SqlRefused(_reason(str(error), time_s)) from error
    except (sqlite3.Error, DBAPIError) as error:
        cause = getattr(error, "orig", error)
        raise StoreError(f"the store cannot be asked: {cause}") from error
    finally:
        _PLACES.release()
    return SqlAnswer(*answer, time.monotonic() - begun)


_PLACES: Final = threading.BoundedSemaphore(MOST_AT_ONCE)
_Found: TypeAlias = tuple[tuple[str, ...], list[tuple[Value, ...]], bool]


def _answer(engine: Engine, text: str, given: Mapping[str, Value], time_s: float) -> _Found:
    with closing(engine.raw_connection()) as pooled:
        own: Any = pooled.driver_connection
        if not isinstance(own, sqlite3.Connection):
            pooled.detach()
            return _ask_postgres(own, text, given, time_s)
        path = Path(own.execute("PRAGMA database_list").fetchone()[2])
    return _ask_sqlite(path, text, given, time_s)


def _ask_sqlite(path: Path, text: str, given: Mapping[str, Value], time_s: float) -> _Found:
    """In a process of its own. Raises SqlRefused, and NotAStore for a damaged file."""
    bounds = (time_s, MOST_ROWS, MOST_BYTES, MOST_MEMORY, MOST_SCRATCH)
    asked = marshal.dumps((reading_uri(path), text, dict(given), *bounds))
    command = [sys.executable, "-I", "-S", sql_process.__file__]
    try:
        done = subprocess.run(
            command, input=asked, capture_output=True, timeout=time_s + _GRACE_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise SqlRefused(_reason("interrupted", time_s)) from None
    if done.returncode:
        raise SqlRefused("it took too much time or memory and was broken off; narrow it")
    is_answered, *reply = marshal.loads(done.stdout)
    if is_answered:
        columns, rows, is_cut = reply[0]
        return columns, rows, is_cut
    error, words = reply
    if "malformed" in words or "not a database" in words:
        raise NotAStore(damaged(str(path)))
    raise SqlRefused(_reason("out of memory" if error == "MemoryError" else words, time_s))


def _ask_postgres(connection: Any, text: str, given: Mapping[str, Value], time_s: float) -> _Found:
    """As a subquery, prepared: then it can be nothing but one statement that reads."""
    acting = _ACTING.search(text)
    if acting is not None:
        raise SqlRefused(f"only SELECT is allowed here, without {acting[0]}")
    bare = text.strip().rstrip(";").replace("%", "%%")
    asked = _PARAMETER.sub(lambda m: f"%({m[1]})s" if m[1] in given else m[0], bare)
    connection.rollback()
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
        cursor.execute(f"SET LOCAL statement_timeout = {round(1000 * time_s)}")
        wrapped = f"SELECT * FROM (\n{asked}\n) AS asked LIMIT {MOST_ROWS + 1}"
        rows = cursor.stream(wrapped, dict(given))
        first = list(islice(rows, 1))
        columns = [column.name for column in cursor.description or ()]
        return bounded(columns, chain(first, rows), MOST_ROWS, MOST_BYTES)


def _reason(error: str, time_s: float) -> str:
    words = error.strip()
    if "interrupted" in words or "statement timeout" in words:
        return f"it took longer than {time_s:g} s and was broken off; narrow it, or use an index"
    if "not authorized" in words or "prohibited" in words or "read-only" in words:
        return f"only SELECT is allowed here ({words})"
    if "one statement" in words or "multiple commands" in words:
        return "write one statement at a time"
    if "out of memory" in words or "disk I/O error" in words or "disk is full" in words:
        return f"it needs more than {MOST_MEMORY // 2**20} MB of memory; narrow it"
    return words
