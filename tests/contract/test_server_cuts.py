"""Connections that a PostgreSQL server cuts within a transaction: it is done again, and once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy import Engine, event, func, select

from storage.store import (
    CommandWriter,
    EngineWriter,
    open_command_writer,
    open_engine_writer,
    open_reader,
)
from storage.tables.schema import METADATA
from storage.vocabulary.records import Sample
from tests.contract import postgres
from tests.contract.store_builders import START, SYSTEM, new_run, record


class Cuts:
    """Ends the server's side of an engine's next transaction at one of its statements, or just
    after the server has committed it."""

    def __init__(self, url: str, engine: Engine, at: int | None) -> None:
        self._url, self._left, self.n_made = url, at, 0
        self._engine, self._commits = engine, at is None
        self._own = [(engine, "before_cursor_execute", self._count), (engine, "commit", self._end)]
        for listener in self._own:
            event.listen(*listener)

    def stop(self) -> None:
        for listener in self._own:
            event.remove(*listener)

    def _count(self, connection: Any, *_: Any) -> None:
        if self._left is not None and not self.n_made:
            if self._left == 0:
                self._cut(connection)
            self._left -= 1

    def _end(self, connection: Any) -> None:
        if self._commits and not self.n_made:
            connection.connection.driver_connection.commit()
            connection.connection.driver_connection.execute("SELECT 1")  # or nothing is sent
            self._cut(connection)

    def _cut(self, connection: Any) -> None:
        self.n_made += 1
        pid = connection.connection.driver_connection.info.backend_pid
        with psycopg.connect(self._url, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


@contextmanager
def cutting(url: str, engine: Engine, at: int | None) -> Iterator[Cuts]:
    cuts = Cuts(url, engine, at)
    try:
        yield cuts
    finally:
        cuts.stop()


def begin(writer: EngineWriter, _: CommandWriter) -> None:
    writer.begin_run(new_run("r2"), (SYSTEM,))


def resume(writer: EngineWriter, _: CommandWriter) -> None:
    writer.resume_run("r0", START + 50, "1.1", {}, ())


def put(writer: EngineWriter, _: CommandWriter) -> object:
    return writer.write_batch(record(1, Sample("system", "batch_ms", 5.0)))


def boundary(writer: EngineWriter, _: CommandWriter) -> object:
    return writer.write_batch(record(None, time=START + 9))


def beat(writer: EngineWriter, _: CommandWriter) -> None:
    writer.heartbeat("r1", START + 10)


def end(writer: EngineWriter, _: CommandWriter) -> None:
    writer.set_state("r1", "ended", "", START + 20)


def tidy(writer: EngineWriter, _: CommandWriter) -> None:
    writer.retention("r1", START + 9000)


def look(writer: EngineWriter, _: CommandWriter) -> object:
    return len(writer.pending_commands("r1"))


def ask(_: EngineWriter, commands: CommandWriter) -> object:
    return commands.append_command("r1", "knob", {"a": None}, "page", "", START + 3).kind


WORK: dict[str, Callable[[EngineWriter, CommandWriter], object]] = {
    work.__name__: work for work in (begin, resume, put, boundary, beat, end, tidy, look, ask)
}


def _prepared(url: str, writer: EngineWriter) -> None:
    for name in ("r0", "r1"):
        writer.begin_run(new_run(name), (SYSTEM,))
        writer.write_batch(record(0, Sample("system", "batch_ms", 4.0), run_id=name))
    writer.set_state("r0", "interrupted", "", START + 5)
    with open_command_writer(url) as commands:
        commands.append_command("r1", "stop", {}, "page", "", START + 2)


def _counts(writer: EngineWriter) -> dict[str, int]:
    with writer.reading() as connection:
        return {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in METADATA.sorted_tables
        }


def _done(
    server: postgres.Server, name: str, at: int | None = -1
) -> tuple[object, dict[str, int], int]:
    """What a piece of work gives with one cut, rows by table after it and another batch, cuts."""
    url = server.database()
    with open_engine_writer(url) as writer, open_command_writer(url) as commands:
        _prepared(url, writer)
        engine = commands._engine if name == "ask" else writer._engine
        with cutting(url, engine, at) as cuts:
            answer = WORK[name](writer, commands)
        run = {"begin": "r2", "resume": "r0"}.get(name, "r1")
        assert writer.write_batch(record(7, Sample("system", "batch_ms", 6.0), run_id=run))
        counts = _counts(writer)
    with open_reader(url) as reader:
        assert reader.last_batch(run) == 7
    return answer, counts, cuts.n_made


@pytest.mark.parametrize("name", WORK)
def test_what_is_cut_is_done_again(postgres_server: postgres.Server, name: str) -> None:
    answer, counts, _ = _done(postgres_server, name)
    n_statements = 0
    for at in range(40):
        cut_answer, cut_counts, n_cuts = _done(postgres_server, name, at)
        if not n_cuts:
            break
        assert (cut_answer, cut_counts) == (answer, counts), at
        n_statements += 1
    assert n_statements > 0


@pytest.mark.parametrize("name", [name for name in WORK if name not in ("look", "tidy")])
def test_what_was_committed_is_not_done_twice(postgres_server: postgres.Server, name: str) -> None:
    """The server commits, and its answer is lost."""
    _, counts, _ = _done(postgres_server, name)
    _, cut_counts, n_cuts = _done(postgres_server, name, None)
    n_more = int(name == "end")  # the same state is told once more
    assert n_cuts == 1
    assert cut_counts | {"commits": 0} == counts | {"commits": 0}
    assert cut_counts["commits"] - counts["commits"] == n_more
