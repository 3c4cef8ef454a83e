"""Runs killed at random instants go on, and end with the results of a run that was left alone.

A run is started again and again; each time all of it, its Java or its Python alone gets kill -9, at
an instant drawn from a fixed list of seeds: while Spark starts, in a batch, between two.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pyarrow.dataset as ds
import pytest

from backend.hosts.compact import sink_file
from backend.model.ids import entity_id
from backend.workloads.drift import Phase, drift_table
from storage.errors import StoreError
from storage.store import Reader, open_command_writer, open_reader

ROOT = Path(__file__).resolve().parents[2]
N = {"S": 40_000, "T": 25_000}
SEEDS = {"S": 7, "T": 8}
FUNCTIONS = """
from backend.workloads.functions import filter_function

@filter_function("b int")
def rare(b: int) -> bool:
    return b < 10

@filter_function("a int")
def common(a: int) -> bool:
    return a % 10 != 0
"""
TEXTS = {
    "low": "Select * From S Where a1 < 20 and a2 < 60",
    "late": "Select * From S Where a2 >= 90 or a1 = 7",
    "calls": "Select * From S Where common(a1) and rare(a2)",
    "other": "Select * From T Where rare(a2) and a1 > 30 and common(a3)",
}
Row = dict[str, int]
#: The same in Python.
HOLDS: dict[str, Callable[[Row], bool]] = {
    "low": lambda r: r["a1"] < 20 and r["a2"] < 60,
    "late": lambda r: r["a2"] >= 90 or r["a1"] == 7,
    "calls": lambda r: r["a1"] % 10 != 0 and r["a2"] < 10,
    "other": lambda r: r["a2"] < 10 and r["a1"] > 30 and r["a3"] % 10 != 0,
}
#: Queries that remember: state in shards goes on where the last batch left it.
WINDOWED = {
    "counts": "Select a1, count(*) as n From S [Rows 300] Where common(a1) Group By a1",
    "both": "Select S.a1, T.a2, S.a3 From S [Rows 50], T [Rows 20] Where S.a3 = T.a3",
}
STREAM_OF = {"low": "S", "late": "S", "calls": "S", "other": "T"}
UNIT_OF = {"low": "asc.S", "late": "asc.S", "calls": "agreedy.calls", "other": "agreedy.other"}
#: Starts sooner; such a run does not live long enough for Java's second compiler.
QUICK_JAVA = "-XX:TieredStopAtLevel=1"
#: So long a run may take to come to the instant.
PATIENCE_S = 120


@cache
def rows(stream: str) -> list[Row]:
    phase = Phase("uniform", N[stream])
    found: list[Row] = drift_table(SEEDS[stream], [phase], 0, N[stream]).to_pylist()
    return found


def workload(folder: Path) -> Path:
    """A workload of two replayed streams, paced so that the kills meet it at work."""
    (folder / "mine.py").write_text(FUNCTIONS)
    text = 'functions = "mine.py"\n'
    for stream, rate in (("S", 30), ("T", 20)):
        phases = f'[{{ distribution = "uniform", n_tuples = {N[stream]} }}]'
        text += f"[streams.{stream}]\nrate = {rate}\n"
        text += f'source = {{ format = "drift", seed = {SEEDS[stream]}, phases = {phases} }}\n'
    text += "[queries]\n" + "".join(
        f'{name} = "{cql}"\n' for name, cql in (TEXTS | WINDOWED).items()
    )
    text += '[knobs]\nat_end = "stop"\n[sink]\npath = "out"\n'
    path = folder / "killed.toml"
    path.write_text(text)
    return path


class Killed:
    """A run that is started and killed."""

    def __init__(self, folder: Path) -> None:
        self.path, self.store = workload(folder), folder / "s.db"
        self.out = folder / "out"

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        code = "import sys; from backend.launch.cli import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", code, str(self.path), "--store", str(self.store)]
        command += ["--conf", f"spark.driver.extraJavaOptions={QUICK_JAVA}", *more]
        return subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def last_batch(self) -> int:
        """The newest batch on record, -1 before the first."""
        with suppress(StoreError), open_reader(str(self.store)) as reader:
            for run in reader.runs():
                found = reader.last_batch(run.id)
                return -1 if found is None else found
        return -1

    def kill_at(self, rng: random.Random, *commands: tuple[str, dict[str, Any]]) -> bool:
        """Start the run, ask for something, kill it once; whether it was at work then."""
        process, before = self.start(), self.last_batch()
        if not commands and rng.random() < 0.3:
            time.sleep(rng.uniform(0.5, 6.0))
        else:
            until(lambda: self.last_batch() > before or process.poll() is not None)
            for kind, payload in commands:
                self.ask(kind, payload)
            time.sleep(rng.uniform(0.0, 1.2))
        was_at_work = process.poll() is None
        self._kill(process, rng.choice(["all", "all", "java", "python"]))
        return was_at_work

    def ask(self, kind: str, payload: dict[str, Any]) -> None:
        """What an operator asks for, until it is applied."""
        with open_reader(str(self.store)) as reader:
            (run,) = reader.runs()
            with closing(open_command_writer(str(self.store))) as writer:
                made = writer.append_command(run.id, kind, payload, "tester", "", time.time(), None)
            until(lambda: _state(reader, run.id, made.id) == "applied")

    def _kill(self, process: subprocess.Popen[bytes], victims: str) -> None:
        family = []
        with suppress(psutil.NoSuchProcess):
            me = psutil.Process(process.pid)
            family = [me, *me.children(recursive=True)]
        java = [one for one in family if _is_java(one)]
        chosen = {"all": family, "java": java, "python": family[:1]}[victims]
        for one in chosen or family:
            with suppress(psutil.NoSuchProcess):
                one.send_signal(signal.SIGKILL)
        try:
            process.wait(timeout=30)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            psutil.wait_procs(family, timeout=10)


def _is_java(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.name() == "java")
    return False


def until(holds: Callable[[], bool], pause_s: float = 0.05) -> None:
    """Wait for it; it takes a while on a busy machine, but not for ever. pause_s: before each look
    but the first."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(pause_s)


def _state(reader: Reader, run_id: str, command: int) -> str:
    found = reader.command(run_id, command)
    return "" if found is None else found.state


#: Asked for while the run is at work: at which start, and what.
ASKED: dict[int, tuple[str, dict[str, Any]]] = {
    1: ("knob", {"knob": "mu", "value": 0.4}),
    3: ("query_add", {"name": "more", "text": "Select * From S Where a1 = 1"}),
}


def kill_and_compare(folder: Path, seeds: range) -> None:
    run, n_met = Killed(folder), 0
    for n, seed in enumerate(seeds):
        n_met += run.kill_at(random.Random(seed), *([ASKED[n]] if n in ASKED else []))
    assert n_met == len(seeds), "the run ended before the last kill"
    process = run.start("--set", "rate=0", "--once")
    assert process.wait(timeout=300) == 0
    check_sink(run.out)
    check_answers(run.out)
    check_store(run)


def check_sink(out: Path) -> None:
    """Every tuple that satisfies a query is there as often as it came, with its queries."""
    files = [str(path) for path in out.glob("run=*/stream=*/batch*.parquet")]
    table = ds.dataset(files, partitioning="hive").to_table().to_pylist()
    assert len({row["run"] for row in table}) == 1
    for stream in N:
        got = Counter(
            key
            for row in table
            if row["stream"] == stream
            if (key := _key(row, [q for q in row["query_ids"] if q != "more"]))
        )
        names = [name for name in HOLDS if STREAM_OF[name] == stream]
        wanted = Counter(
            key
            for row in rows(stream)
            if (key := _key(row, sorted(name for name in names if HOLDS[name](row))))
        )
        assert got == wanted


def check_answers(out: Path) -> None:
    """What the windowed queries answered, change by change."""
    for name, columns, wanted in (
        ("counts", ("a1", "n"), group_counts()),
        ("both", ("a1", "a2", "a3"), pairs()),
    ):
        got: Counter[tuple[int, ...]] = Counter()
        for path in out.glob(f"run=*/query={name}/batch*.parquet"):
            table = ds.dataset(path).to_table().to_pylist()
            got.update(tuple(row[k] for k in (*columns, "tau", "sign")) for row in table)
        assert got == wanted


def changes(tau: int, before: Counter[Any], now: Counter[Any]) -> Iterator[tuple[int, ...]]:
    """Of a bag of tuples at a tick."""
    for row, n in (now - before).items():
        yield from [(*row, tau, 1)] * n
    for row, n in (before - now).items():
        yield from [(*row, tau, -1)] * n


@cache
def group_counts() -> Counter[tuple[int, ...]]:
    """The query 'counts' by its definition; a tick is the number of a tuple."""
    values = [row["a1"] for row in rows("S")]
    found: Counter[tuple[int, ...]] = Counter()
    groups: Counter[int] = Counter()
    for tau, value in enumerate(values):
        touched = {value} | ({values[tau - 300]} if tau >= 300 else set())
        touched = {a for a in touched if a % 10 != 0}
        before = Counter((a, groups[a]) for a in touched if groups[a])
        groups[value] += 1
        if tau >= 300:
            groups[values[tau - 300]] -= 1
        now = Counter((a, groups[a]) for a in touched if groups[a])
        found.update(changes(tau, before, now))
    return found


@cache
def pairs() -> Counter[tuple[int, ...]]:
    """The query 'both' by its definition."""
    s, t = rows("S"), rows("T")
    found: Counter[tuple[int, ...]] = Counter()
    before: Counter[tuple[int, ...]] = Counter()
    for tau in range(len(s)):
        by_key: dict[int, list[int]] = {}
        for row in t[max(0, min(tau + 1, len(t)) - 20) : tau + 1]:
            by_key.setdefault(row["a3"], []).append(row["a2"])
        now: Counter[tuple[int, ...]] = Counter(
            (row["a1"], a2, row["a3"])
            for row in s[max(0, tau - 49) : tau + 1]
            for a2 in by_key.get(row["a3"], ())
        )
        found.update(changes(tau, before, now))
        before = now
    return found


def _key(row: dict[str, Any], queries: list[str]) -> tuple[Any, ...]:
    """The tuple with its queries; nothing when there are none."""
    return (*(row[f"a{n}"] for n in range(1, 21)), *queries) if queries else ()


def check_store(run: Killed) -> None:
    """One run; its totals, its batches and the sink say the same; what was turned is in force."""
    with open_reader(str(run.store)) as reader:
        (found,) = reader.runs()
        assert found.state == "ended"
        values = reader.values(found.id)
        assert values["system"]["tuples_total"] == sum(N.values())
        for name, unit in UNIT_OF.items():
            n = sum(HOLDS[name](row) for row in rows(STREAM_OF[name]))
            assert values[entity_id(unit, "query", name)]["matched_total"] == n
        batches = reader.batches(found.id, None, 100_000)
        assert [batch.id for batch in batches] == list(range(len(batches)))
        assert sum(batch.n_tuples for batch in batches) == sum(N.values())
        assert {k.value for k in reader.knobs(found.id) if k.name == "mu"} == {0.4}
        assert "more" in {e.name for e in reader.entities(found.id) if e.kind == "query"}
        sunk: Counter[tuple[int, int]] = Counter()
        for path in run.out.rglob("stream=*/batch*.parquet"):
            file = sink_file(path)
            assert file is not None
            sunk[file.first, file.last] += ds.dataset(path).count_rows()
        merged = {k: span for span in sunk for k in range(span[0], span[1] + 1)}
        told: Counter[tuple[int, int]] = Counter()
        for batch in batches:
            number = batch.id or 0
            told[merged.get(number, (number, number))] += batch.n_matched
        assert +sunk == +told
        titles = [event.event.title for event in reader.events(found.id)]
        assert any(title.startswith("resumed at batch") for title in titles)


@pytest.mark.timeout(1500)
def test_kills_cost_nothing(tmp_path: Path) -> None:
    kill_and_compare(tmp_path, range(4))


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("first", [0, 1000, 2000, 3000])
def test_more_kills_cost_nothing(tmp_path: Path, first: int) -> None:
    kill_and_compare(tmp_path, range(first, first + 60))
