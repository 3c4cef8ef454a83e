"""Queries of people on the store: they read, for a short time, and their answers are bounded."""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from itertools import chain, islice
from typing import Any, Final, NamedTuple, TypeAlias

import psycopg
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from storage.errors import BadRecord, StoreError

#: A query that takes longer is broken off.
TIME_S: Final = 2.0
#: Rows and bytes of an answer; what is beyond is left out, and said to be.
MOST_ROWS: Final = 10_000
MOST_BYTES: Final = 16 * 2**20
#: One step of SQLite is not broken off: what it may work on is small.
_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_LENGTH: 2**19,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
}
_STEPS: Final = 2000
_ALLOWED: Final = frozenset(
    (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
)
#: Those that act, and those that take the square of the length of their text.
_FORBIDDEN_FUNCTIONS: Final = frozenset(
    ("load_extension", "readfile", "writefile", "edit", "trim", "ltrim", "rtrim")
)
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
    try:
        with closing(engine.raw_connection()) as pooled:
            own = pooled.driver_connection
            pooled.detach()
            if isinstance(own, sqlite3.Connection):
                found = _ask_sqlite(own, text, given, begun + time_s)
            else:
                found = _ask_postgres(own, text, given, time_s)
    except (sqlite3.Error, sqlite3.Warning, psycopg.Error) as error:
        raise SqlRefused(_reason(error, time_s)) from error
    except DBAPIError as error:
        raise StoreError(f"the store cannot be asked: {error.orig}") from error
    return SqlAnswer(*found, time.monotonic() - begun)


_Found: TypeAlias = tuple[tuple[str, ...], list[tuple[Value, ...]], bool]


def _ask_sqlite(
    connection: sqlite3.Connection, text: str, given: Mapping[str, Value], end: float
) -> _Found:
    for limit, most in _LIMITS.items():
        connection.setlimit(limit, most)
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)
    try:
        cursor = connection.execute(text, dict(given))
        return _bounded([one[0] for one in cursor.description or ()], cursor)
    finally:
        connection.set_progress_handler(None, 0)
        connection.set_authorizer(None)


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FORBIDDEN_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


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
        return _bounded([one.name for one in cursor.description or ()], chain(first, rows))


def _bounded(columns: Iterable[str], rows: Iterable[tuple[Value, ...]]) -> _Found:
    found: list[tuple[Value, ...]] = []
    left = MOST_BYTES
    for row in rows:
        left -= sum(len(value) if isinstance(value, str | bytes) else 8 for value in row)
        if len(found) == MOST_ROWS or left < 0:
            return tuple(columns), found, True
        found.append(tuple(row))
    return tuple(columns), found, False


def _reason(error: Exception, time_s: float) -> str:
    words = str(error).strip()
    if "interrupted" in words or "statement timeout" in words:
        return f"it took longer than {time_s:g} s and was broken off; narrow it, or use an index"
    if "not authorized" in words or "prohibited" in words or "read-only" in words:
        return f"only SELECT is allowed here ({words})"
    if "one statement" in words or "multiple commands" in words:
        return "write one statement at a time"
    return words
