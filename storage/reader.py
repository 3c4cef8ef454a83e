"""The reading side of the store: short read-only transactions, records out."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine

from storage.errors import translated
from storage.exchange import commands, export
from storage.exchange.liveness import Signs, as_seen
from storage.reading import history, series, sql, taps, unit_history, values
from storage.reading.looks import DecisionQuery
from storage.reading.series import Key, SeriesId, Span
from storage.tables.database import describe, disposed_on_error, open_for_reading, parse_url
from storage.tables.rows import (
    Change,
    Cursor,
    DecisionCounts,
    DecisionEntry,
    MatrixKey,
    RollupSpan,
    SeriesData,
    StoredEvent,
    StoredInput,
    StoredInputBatch,
    StoredLine,
    StoredLook,
    StoredMatrix,
    StoredMisfit,
    StoredResult,
    StoredTap,
)
from storage.tables.soundness import check_store, one_read
from storage.vocabulary.records import Batch, Command, Entity, Knob, PlanVersion, Run, Unit


def open_reader(url: str) -> Reader:
    """Open an existing store to read. url: a file path or SQLAlchemy URL.

    Raises StoreMissing, NotAStore, WrongValue, StoreTooNew, StoreTooOld.
    """
    address = parse_url(url)
    where = describe(address)
    with translated(where):
        engine = open_for_reading(address)
        with disposed_on_error(engine):
            check_store(engine, where)
    return Reader(engine, where)


class Reader:
    """Reads everything, writes nothing. Thread-safe; every method is one short transaction.

    ``at`` is a batch to look from, None = now. ``unit`` None is all units of the run, or, where
    one thing is asked for, the first that has it. Methods raise StoreError when the store fails;
    what does not exist is None or empty.
    """

    def __init__(self, engine: Engine, where: str) -> None:
        self._engine = engine
        self.where = where
        self._series_ids: dict[str, dict[Key, SeriesId]] = {}
        self._signs = Signs()

    @property
    def base(self) -> Reader:
        """The reader that stays while those for one moment come and go; caches know it."""
        return self

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for one short transaction that reads."""
        with one_read(self._engine, self.where) as connection:
            yield connection

    def cursor(self) -> Cursor:
        """The place of the newest commit and command; cheap enough to poll."""
        with self.reading() as connection:
            return history.cursor(connection)

    def changes(self, since: Cursor, limit: int = 1000) -> tuple[Change, ...]:
        """Commits after ``since``, oldest first, then commands after it (kind 'command')."""
        with self.reading() as connection:
            return history.changes(connection, since, limit)

    def runs(self) -> tuple[Run, ...]:
        """All runs, newest first; one whose process is gone is interrupted, marked or not."""
        with self.reading() as connection:
            stored = history.runs(connection)
        return tuple(as_seen(run, self.now_of(run)) for run in stored)

    def run(self, run_id: str) -> Run | None:
        """The run, or None when the store has no such run; interrupted when its process is gone."""
        with self.reading() as connection:
            stored = history.run(connection, run_id)
        return None if stored is None else as_seen(stored, self.now_of(stored))

    def now_of(self, run: Run) -> float:
        """Now by the clock of the run's engine (Unix s): what it recorded is compared with this."""
        return self.base._signs.now_of(run, time.time(), time.monotonic())

    def inputs(self, run_id: str) -> tuple[StoredInput, ...]:
        """The streams the run reads, with their latest state, in the workload's order."""
        with self.reading() as connection:
            return history.inputs(connection, run_id)

    def input_batches(
        self,
        run_id: str,
        name: str | None = None,
        since: int | None = None,
        until: int | None = None,
        limit: int = 1000,
    ) -> tuple[StoredInputBatch, ...]:
        """What the last ``limit`` batches of since..until took from an input, or from each."""
        with self.reading() as connection:
            return history.input_batches(connection, run_id, name, since, until, limit)

    def units(self, run_id: str, at: int | None = None) -> tuple[Unit, ...]:
        """The units alive at batch ``at``, by id, with what is known of them now."""
        with self.reading() as connection:
            return history.units(connection, run_id, at)

    def entities(self, run_id: str, at: int | None = None) -> tuple[Entity, ...]:
        """Entities alive at batch ``at``, as they were published by then, by id."""
        with self.reading() as connection:
            return history.entities(connection, run_id, at)

    def has_query(self, run_id: str, name: str) -> bool:
        """Whether a query of this name is registered now: quick also among ten thousand."""
        with self.reading() as connection:
            return history.has_query(connection, run_id, name)

    def values(self, run_id: str, at: int | None = None) -> dict[str, dict[str, float | None]]:
        """Entity -> property -> value, newest or as of the end of batch ``at``.

        None = unknown. Properties written only when not 0 are 0 in batches without them. Where
        stretch() is one, they are averages per batch over it; totals are those at its end.
        """
        with self.reading() as connection:
            return values.read(connection, run_id, at)

    def stretch(self, run_id: str, at: int | None = None) -> RollupSpan | None:
        """Over what the values at batch ``at`` are averages, as its own are no longer kept; None
        where they are its own, as they always are now."""
        with self.reading() as connection:
            return values.stretch(connection, run_id, at)

    def tuples_before(self, run_id: str, batch_id: int) -> int:
        """Tuples filtered in the run before a batch."""
        with self.reading() as connection:
            return values.tuples_before(connection, run_id, batch_id)

    def series(
        self,
        run_id: str,
        entity: str,
        name: str,
        *,
        since_batch: int | None = None,
        until_batch: int | None = None,
        since: float | None = None,
        until: float | None = None,
        max_points: int = 2000,
    ) -> SeriesData | None:
        """A property over time, oldest first; None when it was never published.

        Bounds are inclusive: batches and Unix s; where the values of until_batch were rolled up,
        the last point is of its whole stretch(). More than max_points are thinned: the value is
        the mean then, low and high the extremes.
        """
        span = Span(since_batch, until_batch, since, until)
        key = (entity, name)
        return self._series(run_id, [key], span, max_points).get(key)

    def many_series(
        self,
        run_id: str,
        keys: Sequence[Key],
        *,
        since_batch: int | None = None,
        until_batch: int | None = None,
        since: float | None = None,
        until: float | None = None,
        max_points: int = 2000,
        sampled: bool = False,
    ) -> dict[Key, SeriesData]:
        """As series(), for many (entity, property) keys at once; unknown ones are left out.

        sampled: of more than max_points, single values evenly spread instead of means.
        """
        span = Span(since_batch, until_batch, since, until)
        return self._series(run_id, keys, span, max_points, sampled)

    def _series(
        self, run_id: str, keys: Sequence[Key], span: Span, max_points: int, sampled: bool = False
    ) -> dict[Key, SeriesData]:
        with self.reading() as connection:
            known = self._series_ids.get(run_id, {})
            if any(key not in known for key in keys):
                known = self._series_ids[run_id] = series.ids(connection, run_id)
            wanted = {key: known[key] for key in keys if key in known}
            return series.read(connection, run_id, wanted, span, max_points, sampled=sampled)

    def batches(
        self,
        run_id: str,
        since_id: int | None = None,
        until: int | None = None,
        limit: int = 1000,
    ) -> tuple[Batch, ...]:
        """Executed batches since_id..until (inclusive), oldest first; the last ``limit``."""
        with self.reading() as connection:
            return history.batches(connection, run_id, since_id, until, limit)

    def batch(self, run_id: str, batch_id: int) -> Batch | None:
        """One executed batch, or None."""
        batches = self.batches(run_id, batch_id, batch_id, 1)
        return batches[0] if batches else None

    def last_batch(self, run_id: str) -> int | None:
        """The newest executed batch, None before the first."""
        with self.reading() as connection:
            return values.last_batch(connection, run_id)

    def find_batch(self, run_id: str, time: float) -> int | None:
        """The last batch recorded up to ``time`` (Unix s), the first one for earlier times."""
        with self.reading() as connection:
            return history.find_batch(connection, run_id, time)

    def plans(
        self, run_id: str, until: int | None = None, unit: str | None = None
    ) -> tuple[PlanVersion, ...]:
        """Plan versions in force up to batch ``until``, oldest first."""
        with self.reading() as connection:
            return unit_history.plans(connection, run_id, until, unit)

    def plan_at(
        self, run_id: str, at: int | None = None, unit: str | None = None
    ) -> PlanVersion | None:
        """The plan in force at batch ``at``, or the newest; None when there is none."""
        with self.reading() as connection:
            return unit_history.plan_at(connection, run_id, at, unit)

    def plans_at(self, run_id: str, at: int | None = None) -> dict[str, PlanVersion]:
        """Unit -> the last plan known of it at batch ``at``; units without one are left out."""
        with self.reading() as connection:
            return unit_history.plans_at(connection, run_id, at)

    def decisions(
        self,
        run_id: str,
        *,
        until: int | None = None,
        verdicts: Sequence[str] | None = None,
        before_seq: int | None = None,
        limit: int = 100,
        unit: str | None = None,
        brief: bool = False,
    ) -> tuple[DecisionEntry, ...]:
        """Stored decisions of batches <= until, newest first; verdicts None = all.

        before_seq: only those with a smaller number, to page through a unit. Outcomes measured
        after ``until`` are left out. brief: the long parts of their details
        (``Vocabulary.long_parts``) may be missing.
        """
        query = DecisionQuery(run_id, until, verdicts, before_seq, limit, unit)
        with self.reading() as connection:
            return unit_history.decisions(connection, query, brief)

    def looks(
        self, run_id: str, until: int | None = None, unit: str | None = None, limit: int = 1000
    ) -> tuple[StoredLook, ...]:
        """The newest looks in batches <= until, unit by unit, log by log, oldest first."""
        with self.reading() as connection:
            return unit_history.looks(connection, run_id, until, unit, limit)

    def decision(
        self, run_id: str, seq: int, unit: str | None = None, until: int | None = None
    ) -> DecisionEntry | None:
        """One decision, or None, with its outcome unless that was measured after ``until``."""
        with self.reading() as connection:
            return unit_history.decision(connection, run_id, seq, unit, until)

    def decision_counts(
        self, run_id: str, until: int | None = None, unit: str | None = None
    ) -> DecisionCounts:
        """How many decisions of batches <= until there are, by verdict and in all."""
        with self.reading() as connection:
            return unit_history.decision_counts(connection, run_id, until, unit)

    def matrices(self, run_id: str, unit: str | None = None) -> tuple[str, ...]:
        """Names of the run's matrices, sorted."""
        return tuple(sorted({key.name for key in self.matrix_keys(run_id, unit)}))

    def matrix_keys(self, run_id: str, unit: str | None = None) -> tuple[MatrixKey, ...]:
        """Unit, name and kind of the run's matrices, sorted."""
        with self.reading() as connection:
            return unit_history.matrix_keys(connection, run_id, unit)

    def matrix(
        self, run_id: str, name: str, at: int | None = None, unit: str | None = None
    ) -> StoredMatrix | None:
        """A matrix as of batch ``at``, or the newest; None when there is none."""
        with self.reading() as connection:
            return unit_history.matrix(connection, run_id, name, at, unit)

    def events(
        self,
        run_id: str,
        since: int | None = None,
        until: int | None = None,
        limit: int = 500,
        kinds: Sequence[str] | None = None,
        unit: str | None = None,
    ) -> tuple[StoredEvent, ...]:
        """Events of batches since..until (inclusive), oldest first; the last ``limit``."""
        with self.reading() as connection:
            return history.events(connection, run_id, since, until, limit, kinds, unit)

    def knobs(self, run_id: str, at: int | None = None) -> tuple[Knob, ...]:
        """The knobs of all scopes as in force at batch ``at`` (or set last), by scope and name."""
        with self.reading() as connection:
            return history.knobs(connection, run_id, at)

    def knob_history(
        self, run_id: str, name: str | None = None, scope: str | None = None
    ) -> tuple[Knob, ...]:
        """All values the knobs (those of a name, of a scope) had, oldest first."""
        with self.reading() as connection:
            return history.knob_history(connection, run_id, name, scope)

    def commands(self, run_id: str, limit: int = 100, taps: bool = False) -> tuple[Command, ...]:
        """Commands of the run with their answers, newest first. taps: those too that only look."""
        with self.reading() as connection:
            return commands.newest(connection, run_id, limit, taps)

    def command(self, run_id: str, command_id: int) -> Command | None:
        """One command of the run with its answer, or None."""
        with self.reading() as connection:
            return commands.one(connection, run_id, command_id)

    def noted(self, kind: str, run_id: str | None = None) -> tuple[Command, ...]:
        """What people wrote down of a kind of NOTED and not withdrew; run_id None = of all runs."""
        with self.reading() as connection:
            return commands.noted(connection, kind, run_id)

    def results(
        self,
        run_id: str,
        query: str | None = None,
        limit: int = 20,
        until: int | None = None,
    ) -> tuple[StoredResult, ...]:
        """Stored results (of one query) of batches <= until, newest first."""
        with self.reading() as connection:
            return history.results(connection, run_id, query, limit, until)

    def taps(self, run_id: str, entity: str, batch_id: int) -> tuple[StoredTap, ...]:
        """What went through tapped operators in the nearest batch in which an operator was."""
        with self.reading() as connection:
            return taps.taps(connection, run_id, entity, batch_id)

    def misfits(
        self, run_id: str, limit: int = 50, until: int | None = None, name: str | None = None
    ) -> tuple[StoredMisfit, ...]:
        """Stored misfits (of one input) of batches <= until, newest first."""
        with self.reading() as connection:
            return history.misfits(connection, run_id, limit, until, name)

    def log_lines(self, run_id: str, limit: int, until: int | None) -> tuple[StoredLine, ...]:
        """The last ``limit`` lines of the engine's log, of batches <= until, oldest first."""
        with self.reading() as connection:
            return history.log_lines(connection, run_id, limit, until)

    def ask(self, text: str, given: Mapping[str, sql.Value]) -> sql.SqlAnswer:
        """One SELECT, bounded; given: values of :name in it. Raises SqlRefused."""
        return sql.ask(self._engine, text, given)

    def export_run(self, run_id: str, path: str | Path) -> None:
        """Copy one run to a new SQLite file that opens like any store. Raises UnknownRun."""
        with self.reading() as connection:
            export.copy_run(connection, self.where, run_id, Path(path))
