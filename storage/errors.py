"""What can go wrong with a store, each in one sentence with the next step."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg
from sqlalchemy.exc import DBAPIError, SQLAlchemyError, StatementError


class StoreError(Exception):
    """The store could not do what was asked; the message says why and what to do."""


class StoreMissing(StoreError):
    """There is no store at this address."""


class StoreAway(StoreMissing):
    """The database server does not answer, or went away in mid-sentence."""


class NotAStore(StoreError):
    """Something is there, but it is not a Planwatch store."""


class WrongValue(NotAStore):
    """A column of a row holds a value of another type or shape than its table has.

    table, row (its key), column, held and allowed: as the message says them.
    """

    def __init__(
        self, table: str, row: str, column: str, held: str, allowed: str, where: str = ""
    ) -> None:
        cell = f"table {table}, row {row}, column {column}"
        super().__init__(
            f"{damaged(where or 'the file')} ({cell} holds {held}; allowed is {allowed})"
        )
        self.table, self.row, self.column = table, row, column
        self.held, self.allowed, self.where = held, allowed, where

    def of(self, where: str) -> WrongValue:
        """The same, of a store at an address."""
        return WrongValue(self.table, self.row, self.column, self.held, self.allowed, where)


class StoreTooNew(StoreError):
    """The store was written by a later version than this one."""


class StoreTooOld(StoreError):
    """The store has an earlier layout: it was opened for reading only, or nothing upgrades it."""


class StoreFull(StoreError):
    """The disk is full; nothing of the refused transaction was written."""


class StoreBusy(StoreError):
    """Another process held the store for longer than the time-out."""


class StoreReadOnly(StoreError):
    """A write was asked of a store that may only be read."""


class UnknownRun(StoreError):
    """The store has no such run."""


class RunExists(StoreError):
    """A run of this id was already begun."""


class RunLives(StoreError):
    """Another process is executing this run."""


class RunLost(StoreError):
    """Another process has taken over this run; nothing was written."""


class BadRecord(StoreError, ValueError):
    """A record breaks the vocabulary: unknown property, wrong unit, results without a batch."""


#: By the code of PostgreSQL; 08 and what follows is a connection.
_BY_SQLSTATE: Final[Mapping[str, type[StoreError]]] = {
    **{"53100": StoreFull, "55P03": StoreBusy, "40P01": StoreBusy, "25006": StoreReadOnly},
    **{"57P01": StoreAway, "57P02": StoreAway, "57P03": StoreAway},  # it shuts down, or starts
    **{"42P01": NotAStore, "42703": NotAStore},  # a table or a column is not there
}
_CONNECTION: Final = "08"
#: By the code of SQLite, without what is particular.
SQLITE_KINDS: Final[Mapping[int, type[StoreError]]] = {
    sqlite3.SQLITE_FULL: StoreFull,
    sqlite3.SQLITE_BUSY: StoreBusy,
    sqlite3.SQLITE_LOCKED: StoreBusy,
    sqlite3.SQLITE_READONLY: StoreReadOnly,
    sqlite3.SQLITE_NOTADB: NotAStore,
    sqlite3.SQLITE_CORRUPT: NotAStore,
    sqlite3.SQLITE_CANTOPEN: StoreMissing,
}
#: How messages begin that share a code with others, or have none: of SQLite, and of its module.
_NO_TABLE: Final = ("no such table: ", "no such column: ")
_NO_TEXT: Final = "Could not decode to UTF-8"
#: Of a code of SQLite, what is not particular.
_PRIMARY: Final = 0xFF
#: What psycopg raises without a code where there is no connection, or none any more.
_NO_CONNECTION: Final = psycopg.OperationalError
_NEXT_STEP: dict[type[StoreError], str] = {
    StoreFull: "{where}: the disk is full; free some space, then start again",
    StoreBusy: "{where} is held by another process; end it or try again",
    StoreReadOnly: "{where} may only be read; copy it somewhere writable to change it, or look at "
    "it with `serve --read-only`",
    NotAStore: "{where} is not a Planwatch store (or is damaged); name another file with --store",
    StoreAway: "the database server of {where} cannot be reached; start it, or check --store",
    StoreMissing: "there is no store to open at {where}; check --store, or start a run first",
}


def classify(error: SQLAlchemyError) -> type[StoreError]:
    """The StoreError class of a database error; StoreError itself when it is none of them."""
    return kind_of(error.orig) if isinstance(error, DBAPIError) else StoreError


def kind_of(error: BaseException | None) -> type[StoreError]:
    """As classify(), of an error of a driver: by its type and code, since its words may be those of
    whoever asked."""
    if isinstance(error, psycopg.Error):
        return _kind_on_server(error)
    if not isinstance(error, sqlite3.Error):
        return StoreError
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return NotAStore if str(error).startswith(_NO_TEXT) else StoreError
    if code == sqlite3.SQLITE_ERROR and str(error).startswith(_NO_TABLE):
        return NotAStore
    return SQLITE_KINDS.get(code & _PRIMARY, StoreError)


def _kind_on_server(error: psycopg.Error) -> type[StoreError]:
    """An error without a code is one of the connection, or was there before it."""
    state = error.sqlstate or ""
    if state in _BY_SQLSTATE:
        return _BY_SQLSTATE[state]
    is_away = state.startswith(_CONNECTION) if state else isinstance(error, _NO_CONNECTION)
    return StoreAway if is_away else StoreError


#: Before the content of a cell, and before the text of a table's definition.
_QUOTED = re.compile(r"( column '\w+'|malformed database schema)? (with text|\(.*\) -) .*")


def damaged(where: str) -> str:
    """The sentence for a store whose content cannot be read."""
    return _NEXT_STEP[NotAStore].format(where=where)


def _bare(cause: str) -> str:
    """Words of a database without what it quotes of a file that it cannot read."""
    line = next(iter(cause.strip().splitlines()), "")
    return _QUOTED.sub(r"\1", line)


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Raise database errors of the block as StoreErrors that name the store; cause kept."""
    try:
        yield
    except WrongValue as error:
        raise error if error.where else error.of(where) from error
    except SQLAlchemyError as error:
        if isinstance(error, StatementError) and isinstance(error.orig, StoreError):
            raise error.orig from error
        kind = classify(error)
        if kind is StoreMissing and Path(where).exists():
            kind = StoreReadOnly  # a file that is there cannot be opened, or its log not be made
        cause = _bare(str(getattr(error, "orig", None) or error))
        text = _NEXT_STEP.get(kind, "{where} refused: {cause}").format(where=where, cause=cause)
        raise kind(text if cause in text else f"{text} ({cause})") from error
    except sqlite3.OperationalError as error:
        kind = kind_of(error)
        kind = StoreMissing if kind is StoreError else kind
        raise kind(f"{_NEXT_STEP[kind].format(where=where)} ({_bare(str(error))})") from error
    except (sqlite3.Error, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise NotAStore(f"{damaged(where)} ({_bare(str(error))})") from error
