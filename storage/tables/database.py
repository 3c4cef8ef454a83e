"""Opening databases: SQLite files and PostgreSQL servers, for writing or for reading only."""

from __future__ import annotations

import logging
import os
import sqlite3
import time as clock
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, OperationalError
from sqlalchemy.pool import QueuePool

from storage.errors import (
    NotAStore,
    StoreAway,
    StoreBusy,
    StoreMissing,
    StoreReadOnly,
    classify,
    kind_of,
)

log = logging.getLogger(__name__)
T = TypeVar("T")
BUSY_TIMEOUT_S: Final = 10.0
#: Execution option of a writer's connection that only reads, and so takes no write lock.
READING: Final = "planwatch_reading"
_POSTGRES_DRIVER: Final = "postgresql+psycopg"
_POSTGRES_OPTIONS: Final = {"client_encoding": "utf8", "connect_timeout": 10}
#: Rights of a store's files: they tell what was asked, by whom, of which data.
PRIVATE: Final = 0o600
#: What passes by itself, in words; between two tries to reach a server, seconds.
_PASSES: Final = {
    StoreBusy: "is held by another process; waiting for it",
    StoreAway: "cannot be reached; waiting for the database server",
}
_AWAY_S: Final = 1.0
_AGAIN: Final = "put it back, or start again"
#: The log of a store shrinks to this size when it begins anew.
_LOG_BYTES: Final = 8 * 2**20
#: Pages handed back at once, and the share of free ones that is worth it: some are used again.
_PAGES_AT_ONCE: Final = 256
_FREE_SHARE: Final = 0.125
#: PRAGMA auto_vacuum of a file that gives pages back when it is told to.
_INCREMENTAL: Final = 2
_READ_ONLY_SIGNS: Final = (StoreMissing, StoreReadOnly)


def path_of_store(url: str) -> Path | None:
    """The file of an address: a plain path, or what follows ``sqlite:///``, letter by letter; None
    for a server."""
    scheme, mark, path = url.partition(":///")
    if mark and scheme.partition("+")[0] == "sqlite":
        return None if path in ("", ":memory:") else Path(path).expanduser().absolute()
    return None if "://" in url else Path(url).expanduser().absolute()


def parse_url(url: str) -> URL:
    """A SQLAlchemy URL from a URL or a plain file path (= SQLite). Raises NotAStore."""
    path = path_of_store(url)
    if path is not None:
        return URL.create("sqlite", database=str(path))
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise NotAStore(f"store address {url!r} cannot be read: {error}") from error
    if parsed.drivername in ("postgres", "postgresql", _POSTGRES_DRIVER):
        return parsed.set(drivername=_POSTGRES_DRIVER)
    raise NotAStore(
        f"store address {describe(parsed)} is not supported; allowed: a file path, "
        "sqlite:///file.db or postgresql://user@host/database"
    )


def reading(engine: Engine) -> Connection:
    """A connection of a writer's engine for a consistent read without the write lock."""
    if engine.dialect.name == "sqlite":
        return engine.connect().execution_options(**{READING: True})
    return engine.connect().execution_options(isolation_level="REPEATABLE READ")


def describe(url: URL) -> str:
    """The address to show people: the file path, or the URL without its password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.render_as_string(hide_password=True)


def open_for_writing(url: URL, *, create: bool, durable: bool = False) -> Engine:
    """An engine whose transactions take the write lock at once. durable: what was committed to a
    file is on the disk.

    Raises StoreMissing when the file (or its directory) is missing and create is False.
    """
    if url.get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True, connect_args=_POSTGRES_OPTIONS)
    path = _file_of(url)
    if create:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = error.strerror or error
            raise StoreReadOnly(f"the folder {path.parent} cannot be made: {why}") from error
    elif not path.exists():
        raise StoreMissing(_missing(path))
    _keep_private(path)
    prepare = partial(_prepare_writer, durable=durable)
    engine = _sqlite_engine(f"{path.as_uri()}?mode={'rwc' if create else 'rw'}", path, prepare)
    event.listen(engine, "begin", _begin_immediate)
    return engine


def open_for_reading(url: URL) -> Engine:
    """A read-only engine; a file is opened as immutable where SQLite cannot share its log.

    That is the case on read-only media, when no writer has the file open.
    """
    if url.get_backend_name() != "sqlite":
        return create_engine(
            url,
            pool_pre_ping=True,
            pool_size=8,
            max_overflow=24,
            connect_args=_POSTGRES_OPTIONS,
            isolation_level="REPEATABLE READ",  # what a reader puts together is of one moment
            execution_options={"postgresql_readonly": True},
        )
    path = _file_of(url)
    if not path.exists():
        raise StoreMissing(_missing(path))
    engine = _sqlite_engine(reading_uri(path), path, _prepare_reader)
    event.listen(engine, "begin", _begin_deferred)
    return engine


@contextmanager
def begun(engine: Engine, where: str, patience_s: float) -> Iterator[Connection]:
    """A transaction of a writer that lets others go first for so long, and waits for a server that
    is away: what it is to write is lost, and the run with it, when it gives up. Raises the
    database's error then."""
    with ExitStack() as stack:

        def begin() -> Connection:
            with ExitStack() as own:
                connection = own.enter_context(engine.connect())
                own.enter_context(connection.begin())
                stack.enter_context(own.pop_all())
                return connection

        yield patiently(begin, where, patience_s)


def patiently(connect: Callable[[], Connection], where: str, patience_s: float) -> Connection:
    """What ``connect`` makes, tried again for so long while the store is held or away."""
    deadline = clock.monotonic() + patience_s
    while True:
        try:
            return connect()
        except OperationalError as error:
            kind = classify(error)
            if kind not in _PASSES or clock.monotonic() >= deadline:
                raise
            log.warning("%s %s", where, _PASSES[kind])
            if kind is StoreAway:
                clock.sleep(_AWAY_S)


def repeated(work: Callable[[bool], T], where: str, patience_s: float) -> T:
    """What ``work`` gives, a whole transaction, done again for so long while the server goes away
    in the midst of it. It is told whether it is done again: the first may have been committed."""
    deadline = clock.monotonic() + patience_s
    is_again = False
    while True:
        try:
            return work(is_again)
        except StoreAway:
            if clock.monotonic() >= deadline:
                raise
            log.warning("%s was cut in the midst of a transaction; doing it again", where)
        if is_again:
            clock.sleep(_AWAY_S)
        is_again = True


@contextmanager
def disposed_on_error(engine: Engine) -> Iterator[None]:
    """Close the engine's connections when the block raises."""
    try:
        yield
    except BaseException:
        engine.dispose()
        raise


def create_private(path: Path) -> None:
    """Make an empty file that its owner alone may read and write. Raises OSError."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))


def _keep_private(path: Path) -> None:
    """Let a store and its logs be their owner's alone; it may be another's, who says who may."""
    with suppress(FileExistsError):
        create_private(path)
    for file in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
        with suppress(FileNotFoundError, PermissionError):
            if file.stat().st_mode & ~PRIVATE & 0o777:
                file.chmod(PRIVATE)


def _file_of(url: URL) -> Path:
    path = Path(str(url.database))
    if path.is_dir():
        raise NotAStore(f"{path} is a folder; name a store's file with --store")
    return path


def _missing(path: Path) -> str:
    return f"there is no store at {path}; check --store, or start a run first"


def _sqlite_engine(uri: str, path: Path, prepare: Callable[[sqlite3.Connection], None]) -> Engine:
    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            uri,
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            check_same_thread=False,
            isolation_level=None,
        )
        try:
            prepare(connection)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    engine = create_engine(
        "sqlite://", creator=connect, poolclass=QueuePool, pool_size=8, max_overflow=24
    )
    _watch(engine, path)
    return engine


def _watch(engine: Engine, path: Path) -> None:
    """Refuse to go on with a file that is not at its place any more: what is written to it is
    lost, and what is read from it is old."""
    opened: list[tuple[int, int]] = []

    def look(*_: object) -> None:
        try:
            status = path.stat()
        except OSError:
            raise StoreMissing(f"the store {path} was moved or deleted; {_AGAIN}") from None
        place = (status.st_dev, status.st_ino)
        opened[:] = opened or [place]
        if opened != [place]:
            raise StoreMissing(f"the store {path} was replaced by another; {_AGAIN}")

    event.listen(engine, "checkout", look)


def reading_uri(path: Path) -> str:
    """The URI of a file to read: immutable where a shared log can be neither opened nor made."""
    shared = f"{path.as_uri()}?mode=ro"
    connection = sqlite3.connect(shared, uri=True, timeout=BUSY_TIMEOUT_S)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        if kind_of(error) in _READ_ONLY_SIGNS:
            return f"{path.as_uri()}?immutable=1"
    except sqlite3.DatabaseError:
        return shared  # whoever opens it is given the reason
    finally:
        connection.close()
    return shared


def _prepare_writer(connection: sqlite3.Connection, durable: bool) -> None:
    if connection.execute("PRAGMA page_count").fetchone()[0] == 0:  # later it is not heard
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
    connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA cache_size = -16000")


def _prepare_reader(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA cache_size = -16000")


def _begin_immediate(connection: Connection) -> None:
    reading = connection.get_execution_options().get(READING)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


def _begin_deferred(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def pragma(connection: Connection, name: str) -> Any:
    """The value of a SQLite pragma."""
    return connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()


def give_back(engine: Engine) -> bool:
    """Cut free pages off the end of a SQLite file while there are many; False when there were few,
    or another process writes.

    A file of a version that did not keep the books for it stays as long as it is: its free pages
    are used again.
    """
    with closing(engine.raw_connection()) as pooled:
        own: Any = pooled.driver_connection
        free, pages, kept = (
            own.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("freelist_count", "page_count", "auto_vacuum")
        )
        if kept != _INCREMENTAL or free - _FREE_SHARE * pages < _PAGES_AT_ONCE:
            return False
        try:
            own.executescript(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})")  # execute: one page
        except sqlite3.OperationalError:
            return False
        return True
