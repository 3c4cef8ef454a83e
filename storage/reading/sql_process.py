"""One query of people on a SQLite store, in a process of its own that can be ended.

Started as a script that imports the standard library alone, so that it is there within
milliseconds: one step of SQLite, a function of a long text say, cannot be broken off otherwise.
"""

from __future__ import annotations

import contextlib
import marshal
import resource
import sqlite3
import sys
import time
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

#: Columns, rows, and whether there are more.
Rows: TypeAlias = tuple[tuple[str, ...], list[tuple[Any, ...]], bool]
_BUSY_TIMEOUT_S: Final = 1.0
_STEPS: Final = 2000
_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_LENGTH: 2**19,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
}
_ALLOWED: Final = frozenset(
    (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)
)
_ACTING: Final = frozenset(("load_extension", "readfile", "writefile", "edit"))


def bounded(
    columns: Iterable[str], rows: Iterable[tuple[Any, ...]], most_rows: int, most_bytes: int
) -> Rows:
    """Columns, the rows that fit, whether there are more; a cell counts 8 bytes and its text."""
    kept: list[tuple[Any, ...]] = []
    left = most_bytes
    for row in rows:
        left -= sum(8 + (len(value) if isinstance(value, str | bytes) else 0) for value in row)
        if len(kept) == most_rows or left < 0:
            return tuple(columns), kept, True
        kept.append(tuple(row))
    return tuple(columns), kept, False


def main() -> None:
    """Read what is asked from the input; write (True, answer) or (False, error, code, words).

    code: of SQLite, without what is particular; None when it is none of SQLite's errors.
    """
    uri, text, given, tables, *bounds = marshal.load(sys.stdin.buffer)
    time_s, most_rows, most_bytes, most_memory, most_scratch = bounds
    _restrict(resource.RLIMIT_CPU, int(time_s) + 2)
    _restrict(resource.RLIMIT_AS, most_memory)
    _restrict(resource.RLIMIT_FSIZE, most_scratch)
    end = time.monotonic() + time_s
    try:
        answer = (True, bounded(*_select(uri, text, given, tables, end), most_rows, most_bytes))
        content = marshal.dumps(answer)
    except (sqlite3.Error, sqlite3.Warning, MemoryError, ValueError, OverflowError) as error:
        code = getattr(error, "sqlite_errorcode", None)
        particular = None if code is None else code & 0xFF
        content = marshal.dumps((False, type(error).__name__, particular, str(error)))
    sys.stdout.buffer.write(content)


def _restrict(what: int, most: int) -> None:
    with contextlib.suppress(ValueError, OSError):  # where the system does not know this bound
        resource.setrlimit(what, (most, most))


def _select(
    uri: str, text: str, given: dict[str, Any], tables: list[Any], end: float
) -> tuple[list[str], Any]:
    """tables: name, columns with their types, and rows of each that is made for this query."""
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_TIMEOUT_S)
    if tables:
        connection.execute("PRAGMA temp_store = MEMORY")
    for name, columns, rows in tables:
        typed = ", ".join(f'"{column}" {kind}' for column, kind in columns)
        connection.execute(f'CREATE TEMP TABLE "{name}" ({typed})')
        marks = ", ".join("?" for _ in columns)
        connection.executemany(f'INSERT INTO temp."{name}" VALUES ({marks})', rows)
    connection.commit()
    connection.execute("PRAGMA query_only = ON")
    for limit, most in _LIMITS.items():
        connection.setlimit(limit, most)
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)
    cursor = connection.execute(text, given)
    return [column[0] for column in cursor.description or ()], cursor


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _ACTING:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


if __name__ == "__main__":
    main()
