"""A query that begins anew: its answer has a folder of its own, and its windows are empty then."""

from __future__ import annotations

import os
import random
import socket
import time
from collections import Counter
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow.parquet as pq

from backend.engine.job import InputJob, RunJob
from backend.engine.loop import Loop
from backend.engine.resume import QUERIES, goes_on
from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.model.functions import Functions
from backend.model.schema import Schema
from backend.workloads.queries import read_query
from backend.workloads.sources import MemorySource
from backend.workloads.spec import SinkSpec, SourceSpec, StreamSpec
from storage.reading.resume import last_state
from storage.store import open_command_writer, open_reader
from storage.vocabulary.records import Input, Run
from storage.writer import open_engine_writer

RUN_ID, BATCH, RANGE = "renewed", 50, 10
SCHEMA = Schema.parse("ts int, k string, v int")
OLD = f"Select k, sum(v) As s From M [Range {RANGE}] Group By k"
NEW = f"Select k, sum(v) As s, count(*) As n From M [Range {RANGE}] Group By k"
Row: TypeAlias = tuple[Any, ...]
Asked: TypeAlias = dict[int, tuple[str, dict[str, Any]]]


def rows(n: int) -> list[list[Any]]:
    rng = random.Random(7)
    return [[i // 5, rng.choice("abc"), rng.randrange(9)] for i in range(n)]


def play(folder: Path, text: str, n: int, asked: Asked | None = None) -> list[str]:
    """Begin the run over the first n tuples, or go on with it; titles and details of what is told.
    asked: before these batches somebody asks for something."""
    stream = StreamSpec("M", SCHEMA, SourceSpec("memory"), "ts")
    query = read_query("sums", text, {"M": SCHEMA}, Functions(), {}, {})
    job = RunJob({"M": InputJob("M", SCHEMA, "ts", {}, 0.0)}, (query,), {}, {})
    writer = open_engine_writer(str(folder / "s.db"))
    last = last_state(writer, "meter")
    now = None if last is None else goes_on(last, job)
    settings, place = {QUERIES: ["sums"]}, (os.getpid(), socket.gethostname(), "0")
    inputs = (Input("M", [[a.name, a.type] for a in SCHEMA.attributes]),)
    run = Run(RUN_ID, "meter", "starting", time.time(), settings, *place, inputs=inputs)
    loop = Loop(run, job, writer, last, None if now is None else now.registry)
    loop.start(None if now is None else now.kept)
    n_done = 0 if last is None or last.last_batch is None else last.last_batch + 1
    sources = [InputSource(stream, MemorySource(rows(n), SCHEMA), min(n_done * BATCH, n))]
    sink, state = SinkSpec(str(folder / "out")), folder / "state"
    host = LocalHost(loop, sources, sink, BATCH, once=True, first_batch=n_done, folder=state)
    with open_command_writer(str(folder / "s.db")) as commands:
        batch = n_done
        while True:
            kind, payload = (asked or {}).get(batch, ("", {}))
            if kind:
                commands.append_command(RUN_ID, kind, payload, "me", "", time.time())
            if not host.step():
                break
            batch += 1
    host.close()
    loop.finish({})
    writer.set_state(RUN_ID, "ended", "", time.time())
    writer.close()
    with open_reader(str(folder / "s.db")) as reader:
        return [f"{one.event.title}: {one.event.detail}" for one in reader.events(RUN_ID)]


def answer(folder: Path, name: str) -> Counter[Row]:
    """The sum of signs over all changes in a folder of the sink."""
    total: Counter[Row] = Counter()
    schemas = set()
    for file in sorted((folder / "out" / name).glob("*.parquet")):
        table = pq.ParquetFile(file).read()
        schemas.add(tuple(table.column_names))
        for *values, _, sign in zip(*(c.to_pylist() for c in table.columns), strict=True):
            total[tuple(values)] += sign
    assert len(schemas) == 1
    return Counter({row: n for row, n in total.items() if n})


def expected(begin: int, end: int, counts: bool) -> Counter[Row]:
    """The answer at the last tick over the tuples number ``begin`` to ``end`` - 1."""
    own = rows(end)[begin:]
    last = own[-1][0]
    groups: dict[str, list[int]] = {}
    for ts, k, v in own:
        if ts >= last - RANGE:
            groups.setdefault(k, []).append(v)
    return Counter((k, sum(vs), len(vs)) if counts else (k, sum(vs)) for k, vs in groups.items())


def test_a_text_that_changed_between_two_starts(tmp_path: Path) -> None:
    told = play(tmp_path, OLD, 300)
    assert not [one for one in told if "begins at batch" in one]
    before = answer(tmp_path, "query=sums")
    assert before == expected(0, 300, False)
    told = play(tmp_path, NEW, 600)
    assert any("query sums reads otherwise now" in one for one in told)
    (said,) = [one for one in told if "begins at batch" in one]
    n_done = int(said.partition("batch ")[2].partition(":")[0])
    folder = f"query=sums@{n_done}"
    assert said.endswith(f"its windows are empty then; its answer is in {folder}")
    assert answer(tmp_path, "query=sums") == before
    assert answer(tmp_path, folder) == expected(n_done * BATCH, 600, True)
    assert sorted(p.name for p in (tmp_path / "out").glob("query=*")) == ["query=sums", folder]


def test_the_same_text_goes_on_in_its_folder(tmp_path: Path) -> None:
    play(tmp_path, OLD, 300)
    play(tmp_path, OLD, 600)
    assert [p.name for p in (tmp_path / "out").glob("query=*")] == ["query=sums"]
    assert answer(tmp_path, "query=sums") == expected(0, 600, False)


def test_a_query_that_is_removed_and_comes_again(tmp_path: Path) -> None:
    asked: Asked = {
        4: ("query_remove", {"name": "sums"}),
        6: ("query_add", {"name": "sums", "text": NEW}),
        8: ("query_pause", {"name": "sums"}),
        9: ("query_resume", {"name": "sums"}),
    }
    told = play(tmp_path, OLD, 600, asked)
    names = sorted(p.name for p in (tmp_path / "out").glob("query=*"))
    assert len(names) == 3
    begins = [int(name.partition("@")[2] or 0) for name in names]
    assert len([one for one in told if "begins at batch" in one]) == 2
    first, again, resumed = sorted(begins)
    assert first == 0 < 4 < again < 8 < resumed
    assert answer(tmp_path, f"query=sums@{resumed}") == expected(resumed * BATCH, 600, True)
