"""A burst, a stream that falls silent, another time zone: answers are those of a quiet run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from backend.launch.cli import main
from tests.house.tree import ROOT

CODE = "import sys; from backend.launch.cli import main; sys.exit(main(sys.argv[1:]))"
WORKLOAD = """
[streams.S]
schema = "t bigint, k int"
timestamp = "t"
source = { format = "csv", path = "S", header = true }
[streams.Q]
schema = "t bigint, k int"
timestamp = "t"
source = { format = "csv", path = "Q", header = true }
[queries]
count = "Select k, count(*) As n From S [Range 4] Group By k"
both = "Select S.k, Q.t From S [Range 2], Q [Range 30] Where S.k = Q.k"
[sink]
path = "out"
"""
#: A stream of two tuples a tick, and of fifty times as many for a minute.
USUAL, BURST, MINUTE = 2, 100, range(100, 160)
LAST = 240
Rows = Sequence[tuple[int, int]]


def arguments(folder: Path, *options: str, workload: str = WORKLOAD) -> list[str]:
    """Of the command that runs a workload, which is written down."""
    (folder / "w.toml").write_text(workload)
    store = str(folder / "store.db")
    return [str(folder / "w.toml"), "--store", store, "--master", "none", *options]


def command(folder: Path, *options: str, workload: str = WORKLOAD) -> list[str]:
    return [sys.executable, "-c", CODE, *arguments(folder, *options, workload=workload)]


def put(folder: Path, name: str, rows: Rows) -> None:
    """A file that appears whole, written a while ago."""
    lines = "".join(f"{t},{k}\n" for t, k in rows)
    hidden = folder / f".{Path(name).name}"
    hidden.write_text(f"t,k\n{lines}")
    os.utime(hidden, times=(time.time() - 10,) * 2)
    (folder / name).parent.mkdir(exist_ok=True)
    hidden.rename(folder / name)


def answers(folder: Path) -> Counter[tuple[Any, ...]]:
    """What has been answered by now: (query, tick, sign, values)."""
    told: Counter[tuple[Any, ...]] = Counter()
    for path in folder.glob("out/run=*/query=*"):
        for row in ds.dataset(path, format="parquet").to_table().to_pylist():
            told[path.name, row.pop("tau"), row.pop("sign"), *row.values()] += 1
    return told


def taken_once(folder: Path, *options: str) -> Counter[tuple[Any, ...]]:
    """The answers of a run in this process."""
    assert main(arguments(folder, "--once", *options)) == 0
    return answers(folder)


@contextmanager
def going(folder: Path, workload: str = WORKLOAD) -> Iterator[subprocess.Popen[str]]:
    started = subprocess.Popen(
        command(folder, workload=workload),
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def counted(rows: Rows, ticks: int = 5) -> Counter[tuple[Any, ...]]:
    """The changes of ``count``, tick by tick from all tuples."""
    told: Counter[tuple[Any, ...]] = Counter()
    before: Counter[int] = Counter()
    for now in range(max(t for t, _ in rows) + 1):
        held = Counter(k for t, k in rows if now - ticks < t <= now)
        for k in {*held, *before}:
            if held[k] != before[k]:
                told.update([("query=count", now, 1, k, held[k])] if held[k] else [])
                told.update([("query=count", now, -1, k, before[k])] if before[k] else [])
        before = held
    return told


def of_count(told: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter({key: n for key, n in told.items() if key[0] == "query=count"})


def test_a_burst_changes_no_answer(tmp_path: Path) -> None:
    rates = [BURST if t in MINUTE else USUAL for t in range(LAST)]
    rows = [(t, n % 7) for t, rate in enumerate(rates) for n in range(rate)]
    found = []
    for name, options in (("whole", ()), ("cut", ("--set", "max_batch_tuples=333"))):
        folder = tmp_path / name
        folder.mkdir()
        put(folder, "S/a.csv", rows)
        put(folder, "Q/a.csv", [(t, t % 7) for t in range(0, LAST, 5)])
        found.append(taken_once(folder, *options))
    whole, cut = found
    assert whole == cut
    assert of_count(whole) == counted(rows)
    quiet = [row for row in rows if row[0] not in MINUTE]
    beside = {t for t in range(LAST) if not MINUTE.start <= t <= MINUTE.stop + 4}
    expected = {key: n for key, n in counted(quiet).items() if key[1] in beside}
    assert {key: n for key, n in of_count(whole).items() if key[1] in beside} == expected


def test_a_stream_that_falls_silent_beside_a_busy_one_changes_no_answer(tmp_path: Path) -> None:
    """For ten minutes of a stream's time nothing comes of the other; it comes late, too. A query
    that does not read it goes on."""
    busy, silent = [(t, t % 7) for t in range(900)], range(150, 750)
    other = [(t, t % 7) for t in range(900) if t not in silent]
    once, live = tmp_path / "once", tmp_path / "live"
    for folder in (once, live):
        folder.mkdir()
        put(folder, "S/a.csv", busy)
        put(folder, "Q/a.csv", other[:150])
    put(once, "Q/b.csv", other[150:])
    expected = taken_once(once)
    with going(live) as started:
        wait_for(lambda: last_of(live, "both") >= 148 and last_of(live, "count") >= 898, started)
        time.sleep(2.0)  # the busy stream goes on meanwhile
        assert last_of(live, "both") < silent.start
        put(live, "Q/b.csv", other[150:])
        for name in "SQ":
            put(live, f"{name}/c.csv", [(1000, 0)])
        wait_for(lambda: min(last_of(live, name) for name in ("both", "count")) >= 899, started)
        started.send_signal(signal.SIGTERM)
        assert started.wait(timeout=60) == 0
    whole = {key: n for key, n in expected.items() if key[1] < 899}
    assert {key: n for key, n in answers(live).items() if key[1] < 899} == whole


def last_of(folder: Path, query: str) -> int:
    """The last tick that a query has answered for by now, -1 before the first."""
    return max((key[1] for key in answers(folder) if key[0] == f"query={query}"), default=-1)


def wait_for(is_so: Any, started: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < deadline
        assert started.poll() is None
        time.sleep(0.2)


#: Around the hours that are there twice, or not at all, by local clocks.
DAYS = ("2026-03-08", "2026-03-29", "2026-04-05", "2026-10-25", "2026-11-01")
MOMENTS = [f"{day} {h:02}:{m:02}:00" for day in DAYS for h in range(5) for m in (0, 30)]


def told_in(folder: Path, zone: str) -> list[str]:
    """All lines of the answers of a run on a machine of a time zone."""
    rows = "".join(f"{moment},{n % 3}\n" for n, moment in enumerate(MOMENTS))
    for stream in "SQ":
        (folder / stream).mkdir(parents=True)
        (folder / stream / "a.csv").write_text(f"t,k\n{rows}")
    made = command(folder, "--once")
    text = WORKLOAD.replace("t bigint", "t timestamp").replace('"out"', '"out"\nformat = "json"')
    (folder / "w.toml").write_text(text)
    env = {**os.environ, "TZ": zone}
    done = subprocess.run(made, cwd=ROOT, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    files = folder.glob("out/run=*/query=*/*.json")
    return sorted(line for path in files for line in path.read_text().splitlines())


@pytest.fixture(scope="module")
def told_in_utc(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return told_in(tmp_path_factory.mktemp("utc"), "UTC")


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe"])
def test_the_time_zone_of_the_machine_changes_nothing(
    tmp_path: Path, told_in_utc: list[str], zone: str
) -> None:
    assert told_in(tmp_path, zone) == told_in_utc
    assert len(told_in_utc) > len(MOMENTS)
