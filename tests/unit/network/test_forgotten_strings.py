"""Strings that no window, group or key holds are given back, and answers are the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from backend.cql import parse_query
from backend.model.schema import Schema
from backend.operators.network.core import strings
from backend.operators.network.core.job import NetworkJob, StreamTime
from backend.operators.network.core.regions import MemoryRegions, Regions
from backend.operators.network.core.strings import Strings
from backend.operators.network.shards import homes
from backend.operators.network.shards.homes import MemoryShard, ShardHome
from backend.operators.network.shards.shard import NetworkTask, Places, run_shard
from backend.operators.network.shards.timed import Arrived
from backend.operators.parts import STAGING
from backend.systems.stream.compiling import compile_queries
from storage.vocabulary.names import answer_folder

SCHEMAS = {
    "S": Schema.parse("at int, a string, b string, n int"),
    "T": Schema.parse("at int, a string, n int"),
}
QUERIES = (
    "Select a, Count(*) From S [Rows 9] Group By a",
    "Select n, Min(a), Max(b) From S [Range 4] Group By n",
    "Select Distinct b From S [Range 3]",
    "Select Istream(S.b, T.a) From S [Rows 20], T [Range 9] Where S.a = T.a",
    "Select X.b From S [Rows 9] As X, T [Rows 9] As Y, S [Now] As Z Where X.a = Y.a and Y.a = Z.a",
    "Select a From S [Rows 5] Except Select a From T [Rows 7]",
    "Select a, b From S [Rows 6] Where a not in (Select a From T [Rows 30])",
    "Select Dstream(a, b) From S [Rows 8] Where a < b and b like '%1%'",
    "Select b From S [Partition By n Rows 2]",
)
N_BATCHES = 24


def arrived(batch: int, n: int = 30) -> dict[str, list[Arrived]]:
    """Strings that come for some batches and then never again, and a few that are seldom."""
    chunks = {}
    for stream, schema in SCHEMAS.items():
        rng = np.random.default_rng([batch, len(schema.names)])
        numbers = np.arange(batch * n, (batch + 1) * n)
        recent = numbers // 3 - rng.integers(0, 5, n)
        texts = [None if k % 11 == 0 else f"{k * 7919 % 1009}-{k}" for k in recent.tolist()]
        texts[0] = "seldom" if batch % 6 == 0 else texts[0]
        others = [text if k % 3 else f"{text}b" for k, text in enumerate(texts[::-1])]
        columns = {"at": numbers // 6, "a": texts, "b": others, "n": numbers % 4}
        whole = {"at": pa.int32(), "n": pa.int32()}
        table = pa.table({name: pa.array(columns[name], whole.get(name)) for name in schema.names})
        chunks[stream] = [Arrived(table, numbers)]
    return chunks


def job() -> NetworkJob:
    queries = [parse_query(f"q{k}", text, SCHEMAS) for k, text in enumerate(QUERIES)]
    since = {query.name: 0 for query in queries}
    plan = compile_queries(queries, since=since, tick_us=1_000_000, joins="mjoin")
    return NetworkJob(plan, SCHEMAS, {name: StreamTime("at") for name in SCHEMAS})


class Run:
    """A shard of all the queries. answers: lines by query and batch; how, n_bytes: of its state."""

    def __init__(self, folder: Path, is_durable: bool) -> None:
        self._folder, self._job = folder, job()
        self._places = Places(str(folder / "state"), str(folder / "arenas"))
        log = self._places.log_of("u")
        (folder / "state").mkdir(parents=True)
        self._version = log.keep_job(self._job)
        self._memory = None if is_durable else MemoryShard(log.job)
        self.answers: dict[tuple[str, int], list[str]] = {}
        self.how, self.n_bytes = set[str](), 0

    def step(self, batch: int) -> None:
        home: ShardHome = self._memory or self._places.shard("u", 0, 1)
        sink, ended = self._folder / "sink", list(SCHEMAS) if batch == N_BATCHES - 1 else []
        task = NetworkTask("u", batch, self._job, self._version, frozenset(), str(sink), "json")
        report = run_shard(task, 0, home, arrived(batch), ended)
        for query, names in report.parts.items():
            staged = sink / answer_folder(query, 0) / STAGING / str(batch)
            lines = [line for name in names for line in (staged / name).read_text().splitlines()]
            self.answers[query, batch] = sorted(lines)
        self.how |= set(report.network.attached)
        self.n_bytes = report.network.state_bytes

    def lose_arena(self) -> None:
        """As a machine that went down."""
        shutil.rmtree(self._folder / "arenas")


def test_answers_are_those_of_strings_that_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the state is rebuilt again and again."""
    alone = Run(tmp_path / "alone", False)
    for batch in range(N_BATCHES):
        alone.step(batch)
    monkeypatch.setattr(strings, "LEAST_NEW", 1)
    monkeypatch.setattr(strings, "WORDS_PER_NEW", 10**9)
    monkeypatch.setattr(homes, "IMAGE_EVERY", 5)
    forgotten: list[int] = []
    sweep = Strings.sweep

    def counted(self: Strings, state: Regions) -> int:
        forgotten.append(sweep(self, state))
        return forgotten[-1]

    monkeypatch.setattr(Strings, "sweep", counted)
    swept = [Run(tmp_path / "memory", False), Run(tmp_path / "durable", True)]
    for batch in range(N_BATCHES):
        for run in swept:
            run.step(batch)
        if batch % 3 == 2:
            swept[1].lose_arena()
    assert sum(forgotten) > 100
    assert "rebuilt" in swept[1].how
    assert len({query for query, _ in alone.answers}) == len(QUERIES)
    for run in swept:
        assert run.answers == alone.answers


def test_strings_of_a_window_do_not_grow_with_the_stream() -> None:
    """One of 100 rows, over 150 000 different strings; batches of many sizes."""
    regions, rng = MemoryRegions(), np.random.default_rng(7)
    window = regions.scope("operators").array("rows", "int64", 100, fill=-1)
    texts = [f"{k * 7919 % 100_003}-{'x' * (k % 40)}" for k in range(150_000)]
    at = sweeps = 0
    while at < len(texts):
        held = Strings(regions.scope("strings"), "window")
        sweeps += held.sweep(regions.scope("operators")) > 0
        batch = texts[at : at + int(rng.integers(1, 8_000))]
        codes = [held.code(text) for text in batch]
        assert [held.text(code) for code in codes] == batch
        at += len(batch)
        window[:] = np.concatenate([window, codes])[-100:]
        recent = texts[max(0, at - 100) : at]
        assert [held.text(int(code)) for code in window[window >= 0]] == recent
        if rng.integers(2):
            ranks = held.ranks()[window[window >= 0]]
            assert [recent[k] for k in np.argsort(ranks)] == sorted(recent)
        if rng.integers(2):
            held.keep()
    assert sweeps >= 5
    assert len(held) < strings.LEAST_NEW + 8_200
    assert regions.n_bytes < 3_000_000


def test_a_state_of_before_is_gone_on_with() -> None:
    """Its strings have their places as codes, and nothing says so."""
    regions = MemoryRegions()
    old = Strings(regions.scope("strings"))
    texts = [f"text {k}" for k in range(3_000)]
    codes = [old.code(text) for text in texts]
    for name in ("moved", "swept"):
        regions.scope("strings").drop(name)
    new = Strings(regions.scope("strings"))
    assert [new.text(code) for code in codes] == texts
    assert new.code("another") == len(texts)
