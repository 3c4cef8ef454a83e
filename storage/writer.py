"""The engine's side of the store: one transaction a batch, idempotent by (run, batch)."""

from __future__ import annotations

import os
import socket
import threading
import time as clock
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from sqlalchemy import (
    Connection,
    Engine,
    insert,
    select,
    update,
)

from storage.errors import RunExists, UnknownRun, translated
from storage.exchange import commands, commits, export
from storage.exchange.liveness import LIVE_STATES, gone_note
from storage.exchange.ownership import BEGINS, Ownership
from storage.reading import history
from storage.tables import decode
from storage.tables.database import (
    begun,
    describe,
    disposed_on_error,
    give_back,
    open_for_writing,
    parse_url,
    patiently,
    reading,
    repeated,
)
from storage.tables.forms import row_of
from storage.tables.migrations import prepare
from storage.tables.schema import RunRow
from storage.vocabulary.branches import BRANCH
from storage.vocabulary.kinds import Phase, RunState
from storage.vocabulary.records import (
    Batch,
    BatchRecord,
    Command,
    Entity,
    Event,
    Input,
    Json,
    Knob,
    LogLine,
    Run,
    Unit,
)
from storage.writing import newest, retention, write_rows
from storage.writing.checks import check_record
from storage.writing.write_rows import RunCache

#: So long the engine waits for others that hold the store, before its run fails.
PATIENCE_S: Final = 120.0
T = TypeVar("T")


def open_engine_writer(url: str, durable: bool = False) -> EngineWriter:
    """Open the store for the engine; make it, or upgrade it, where needed.

    url: a file path or SQLAlchemy URL. durable: a batch survives a power cut once it was
    written. Raises StoreError (NotAStore, StoreTooNew, StoreFull...).
    """
    address = parse_url(url)
    where = describe(address)
    with translated(where):
        engine = open_for_writing(address, create=True, durable=durable)
        with disposed_on_error(engine):
            prepare(engine, where)
    return EngineWriter(engine, where)


class EngineWriter:
    """Writes everything but commands. Thread-safe; every method is one transaction."""

    def __init__(self, engine: Engine, where: str) -> None:
        self._engine = engine
        self.where = where
        self._lock = threading.RLock()
        self._caches: dict[str, RunCache] = {}
        self._ownership = Ownership(engine, where)

    def close(self) -> None:
        """Close all connections, and own no run any more."""
        self._ownership.close()
        self._engine.dispose()

    def __enter__(self) -> EngineWriter:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def n_bytes(self) -> int | None:
        """Size of the store's files, what is not folded in yet included; None on a server."""
        if self._engine.dialect.name != "sqlite":
            return None
        files = (Path(f"{self.where}{end}") for end in ("", "-wal"))
        return sum(file.stat().st_size for file in files if file.exists())

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        mine = begun(self._engine, self.where, PATIENCE_S)
        with self._lock, translated(self.where), mine as connection:
            yield connection

    def _written(self, work: Callable[[Connection, bool], T]) -> T:
        """What one transaction gives, all of it done again where the connection is cut within it;
        ``work`` is told so. What was remembered of runs may be wrong then, and is read again."""

        def once(is_again: bool) -> T:
            if is_again:
                self._caches.clear()
            with self._transaction() as connection:
                return work(connection, is_again)

        with self._lock:
            return repeated(once, self.where, PATIENCE_S)

    def _read(self, work: Callable[[Connection], T]) -> T:
        """What one consistent read gives, done again where the connection is cut within it."""

        def once(_: bool) -> T:
            with self._lock, self.reading() as connection:
                return work(connection)

        return repeated(once, self.where, PATIENCE_S)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for one consistent read, without the write lock."""
        with (
            translated(self.where),
            patiently(lambda: reading(self._engine), self.where, PATIENCE_S) as connection,
        ):
            yield connection

    def begin_run(
        self,
        run: Run,
        entities: Sequence[Entity] = (),
        knobs: Sequence[Knob] = (),
        units: Sequence[Unit] = (),
        alone: bool = False,
    ) -> None:
        """Record a new run with its first units, entities and knob values. alone: no other run of
        its workload may be at work, branches apart. Raises RunExists, RunLives.

        What waited for an interrupted run of the workload to go on is refused, unless this is a
        branch of another run.
        """
        start = Batch(None, run.started_at, 0.0, 0, 0, 0)
        record = BatchRecord(
            run.id, start, entities=tuple(entities), knobs=tuple(knobs), units=tuple(units)
        )
        check_record(record)

        def begin(connection: Connection, is_again: bool) -> tuple[int, RunCache]:
            owner = (run.pid, run.host)
            if is_again and (epoch := commits.begin_of(connection, run.id, run.started_at, owner)):
                return epoch, RunCache()
            return self._begin(connection, run, record, alone)

        with self._lock:
            epoch, self._caches[run.id] = self._written(begin)
            self._ownership.begin(run.id, epoch)

    def _begin(
        self, connection: Connection, run: Run, record: BatchRecord, alone: bool
    ) -> tuple[int, RunCache]:
        cache = RunCache(loaded=True)
        if connection.execute(select(RunRow.id).where(RunRow.id == run.id)).first():
            raise RunExists(f"run {run.id!r} is already in {self.where}; pick another id")
        if alone:
            self._ownership.check_alone(connection, run)
        self._ownership.take(run)
        connection.execute(insert(RunRow), row_of(run))
        write_rows.put_inputs(connection, run.id, run.inputs, cache)
        changed = {"runs", *write_rows.write(connection, record, write_rows.BEFORE, cache)}
        epoch = commits.commit(connection, run.id, None, BEGINS, run.started_at, changed)
        waited: tuple[str, ...] = ()
        if BRANCH not in run.settings:
            waited = commands.refuse_waiting(connection, run.workload, run.started_at)
        for other in waited:
            commits.commit(connection, other, None, "state", run.started_at, {"commands"})
        return epoch, cache

    def resume_run(
        self,
        run_id: str,
        time: float,
        version: str,
        settings: Json,
        inputs: Sequence[Input],
        detail: str = "",
    ) -> None:
        """Let this process go on with a run that ended or was killed: it is 'starting' again.

        time: Unix s; the run's pid, host and heartbeat become those of now. version, settings,
        inputs: as of now on; inputs that are there no more stay, without tuples. An event says so;
        detail: more words for it. Raises UnknownRun, and RunLives while another process may be at
        work on it.
        """
        host = socket.gethostname()
        values = {"state": "starting", "ended_at": None, "heartbeat_at": time, "note": "resumed"}
        values |= {"pid": os.getpid(), "host": host, "version": version, "settings": settings}
        took: set[str] = set()

        def resume(connection: Connection, is_again: bool) -> tuple[int, RunCache]:
            cache = RunCache()
            cache.load(connection, run_id)
            run = history.run(connection, run_id)
            owner = (os.getpid(), host)
            if is_again and (epoch := commits.begin_of(connection, run_id, time, owner)):
                return epoch, cache
            if run is not None:
                if took:  # its lock is no sign of another process any more
                    self._ownership.take(run)
                else:
                    self._ownership.take_up(run, time)
                took.add(run_id)
            connection.execute(update(RunRow).where(RunRow.id == run_id).values(values))
            write_rows.put_inputs(connection, run_id, inputs, cache)
            title = f"resumed at batch {cache.last_batch + 1}"
            event = Event("run", title, detail, ref=_gap(run))
            record = BatchRecord(run_id, Batch(None, time, 0.0, 0, 0, 0), events=(event,))
            changed = {"runs", "inputs"}
            changed |= write_rows.write(connection, record, cache.last_batch, cache)
            commits.lock_commits(connection)
            return commits.commit(connection, run_id, None, BEGINS, time, changed), cache

        with self._lock:
            epoch, self._caches[run_id] = self._written(resume)
            self._ownership.begin(run_id, epoch)

    def lives(self, run: Run, now: float) -> bool:
        """As of Ownership."""
        return self._ownership.lives(run, now)

    def check_owner(self, run_id: str) -> None:
        """Raise RunLost where another process has taken over the run since this one began it."""
        self._read(lambda connection: self._ownership.check(connection, run_id))

    def write_batch(self, record: BatchRecord) -> bool:
        """Record everything of one batch in one transaction; False when it already was.

        A boundary without data (batch id None) is keyed by its time, and counts to the batch
        before it. The first batch turns a 'starting' run into a 'running' one; each is a sign of
        life. Raises BadRecord (nothing is written), UnknownRun, StoreFull, StoreBusy.
        """
        check_record(record)

        def put(connection: Connection, _: bool) -> RunCache | None:
            return self._put_batch(connection, record)

        with self._lock:
            cache = self._written(put)
            if cache is not None:
                self._caches[record.run_id] = cache
        return cache is not None

    def _put_batch(self, connection: Connection, record: BatchRecord) -> RunCache | None:
        batch, run_id = record.batch, record.run_id
        cache = self._caches.get(run_id, RunCache()).copy()
        cache.load(connection, run_id)
        commits.lock_commits(connection)
        self._ownership.check(connection, run_id)
        if commits.is_recorded(connection, run_id, batch):
            return None
        position = cache.last_batch if batch.id is None else batch.id
        changed = write_rows.write(connection, record, position, cache)
        changed |= commits.sign_of_life(connection, run_id, batch)
        kind = "boundary" if batch.id is None else "batch"
        commits.commit(connection, run_id, batch.id, kind, batch.time, changed)
        return cache

    def heartbeat(self, run_id: str, time: float, phase: Phase | None = None) -> None:
        """Note that the engine of the run lives at ``time`` (Unix s); moves no cursor. phase: what
        it does there, as the note of a run that has not ended; None: the note stays."""

        def beat(connection: Connection, _: bool) -> None:
            self._ownership.keep(run_id)
            self._ownership.check(connection, run_id)
            commits.beat(connection, run_id, time, phase)

        self._written(beat)

    def write_log(self, run_id: str, lines: Sequence[LogLine]) -> None:
        """Add lines of the engine's log to those kept; moves no cursor."""
        self._written(lambda connection, _: newest.write_log(connection, run_id, lines))

    def set_state(self, run_id: str, state: RunState, note: str, time: float) -> None:
        """Change the state of a run; a final one ends it and refuses what is still requested.

        An interrupted run may go on: what was asked of it waits, but for the wish to stop it.
        """

        def change(connection: Connection, _: bool) -> None:
            self._ownership.check(connection, run_id)
            if not commits.set_state(connection, run_id, state, note, time):
                raise UnknownRun(f"run {run_id!r} is not in {self.where}; begin it first")

        self._written(change)
        if state in commits.FINAL_STATES:
            self._ownership.give_back(run_id)

    def pending_commands(self, run_id: str) -> tuple[Command, ...]:
        """Commands of the run that are requested and unanswered, oldest first."""
        return self._read(lambda connection: commands.pending(connection, run_id))

    def unkept_turns(self, run_id: str) -> tuple[Command, ...]:
        """Turns of knobs that hold for a while and that nobody has kept yet, oldest first."""
        return self._read(lambda connection: commands.unkept_turns(connection, run_id))

    def mark_interrupted(self, now: float | None = None) -> list[str]:
        """Mark runs of this host whose process is gone; their ids.

        They become 'interrupted' and end at their last sign of life; what was asked of them waits
        until they go on. now: Unix s, default the clock."""
        moment = clock.time() if now is None else now

        def mark(connection: Connection, _: bool) -> list[str]:
            live = select(RunRow.__table__).where(RunRow.state.in_(LIVE_STATES))
            runs = [decode.run(row) for row in connection.execute(live)]
            gone = self._ownership.gone(runs, moment)
            for run in gone:
                end = run.started_at if run.heartbeat_at is None else run.heartbeat_at
                commits.set_state(connection, run.id, "interrupted", gone_note(run), end)
            return [run.id for run in gone]

        return self._written(mark)

    def retention(
        self,
        run_id: str,
        now: float,
        keep_raw_s: float = retention.KEEP_RAW_S,
        keep_fine_s: float = retention.KEEP_FINE_S,
    ) -> int:
        """Roll raw samples older than keep_raw_s up to 10 s and 1 min rows; how many went.

        10 s rows older than keep_fine_s go. Of what is older than keep_raw_s matrices are thinned
        to one a minute, decisions that changed no plan lose long details, but for the newest of
        each unit, and commits of batches go. Plans, changes of them, commands, batches and events
        are kept for good. Works in short transactions; call it about once a minute. Where the
        connection was cut, what went is that of the last try.
        """

        def tidy(_: bool) -> int:
            return retention.apply(self._transaction, run_id, now - keep_raw_s, now - keep_fine_s)

        return repeated(tidy, self.where, PATIENCE_S)

    def give_back(self) -> bool:
        """Hand a piece of the space that retention freed back to the file system; False when there
        is nothing worth it, or another process writes."""
        if self._engine.dialect.name != "sqlite":
            return False
        with self._lock, translated(self.where):
            return give_back(self._engine)

    def export_run(self, run_id: str, path: str | Path) -> None:
        """Copy one run to a new SQLite file that opens like any store."""
        with self.reading() as connection:
            export.copy_run(connection, self.where, run_id, Path(path))


def _gap(run: Run | None) -> dict[str, Json]:
    """Since when nothing was at work on a run that goes on, and how it had ended."""
    if run is None:
        return {}
    since = run.ended_at or run.heartbeat_at or run.started_at
    return {"since": since, "state": run.state, "note": run.note}
