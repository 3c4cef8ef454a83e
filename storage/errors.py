"""What can go wrong with a store, each in one sentence with the next step."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.exc import DBAPIError, SQLAlchemyError, StatementError


class StoreError(Exception):
    """The store could not do what was asked; the message says why and what to do."""


class StoreMissing(StoreError):
    """There is no store at this address."""


class StoreAway(StoreMissing):
    """The database server does not answer, or went away in mid-sentence."""


class NotAStore(StoreError):
    """Something is there, but it is not a Planwatch store."""


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


_BY_SQLSTATE = {
    **{"53100": StoreFull, "55P03": StoreBusy, "40P01": StoreBusy, "25006": StoreReadOnly},
    **{"57P01": StoreAway, "57P02": StoreAway, "57P03": StoreAway},  # it shuts down, or starts
}
_BY_TEXT: tuple[tuple[str, type[StoreError]], ...] = (
    ("disk is full", StoreFull),
    ("database is locked", StoreBusy),
    ("readonly database", StoreReadOnly),
    ("file is not a database", NotAStore),
    ("malformed", NotAStore),
    ("could not decode", NotAStore),
    ("no such table", NotAStore),
    ("unable to open database file", StoreMissing),
    ("connection failed", StoreAway),
    ("connection is bad", StoreAway),
    ("connection timeout", StoreAway),
    ("closed the connection", StoreAway),
    ("connection is lost", StoreAway),
    ("connection is closed", StoreAway),
)
_NEXT_STEP: dict[type[StoreError], str] = {
    StoreFull: "{where}: the disk is full; free some space, then start again",
    StoreBusy: "{where} is held by another process; end it or try again",
    StoreReadOnly: "{where} may only be read; copy it somewhere writable to change it",
    NotAStore: "{where} is not a Planwatch store (or is damaged); name another file with --store",
    StoreAway: "the database server of {where} cannot be reached; start it, or check --store",
    StoreMissing: "there is no store to open at {where}; check --store, or start a run first",
}


def classify(error: SQLAlchemyError) -> type[StoreError]:
    """The StoreError class of a database error; StoreError itself when it is none of them."""
    if not isinstance(error, DBAPIError):
        return StoreError
    state = getattr(error.orig, "sqlstate", None)
    if state in _BY_SQLSTATE:
        return _BY_SQLSTATE[state]
    text = str(error.orig).lower()
    return next((kind for part, kind in _BY_TEXT if part in text), StoreError)


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
        raise StoreMissing(f"{_NEXT_STEP[StoreMissing].format(where=where)} ({error})") from error
    except (sqlite3.Error, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise NotAStore(f"{damaged(where)} ({_bare(str(error))})") from error
