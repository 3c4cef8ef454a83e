"""A folder that files come to, and a run that is killed meanwhile: every tuple is taken once."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from storage.store import open_reader
from tests.spark.test_backend_command import backend
from tests.spark.test_faults import Live, live_backend, until

pytestmark = pytest.mark.spark
WORKLOAD = """
[streams.S]
schema = "id int, s string"
source = { format = "csv", path = "in", header = true }
[queries]
every = "Select * From S Where id >= 0"
[sink]
path = "out"
"""
N = 30_000


def add(folder: Path, name: str, first: int) -> None:
    """A file appears whole."""
    folder.mkdir(exist_ok=True)
    lines = "".join(f'{k},"s\n{k}"\n' for k in range(first, first + N))
    hidden = folder / f".{name}"
    hidden.write_text(f"id,s\n{lines}")
    hidden.rename(folder / name)


def n_taken(live: Live) -> int:
    with open_reader(str(live.store)) as reader:
        return int(reader.values(live.run().id).get("system", {}).get("tuples_total") or 0)


@pytest.mark.timeout(900)
@pytest.mark.slow
def test_files_that_come_while_it_runs_are_taken_once_whatever_is_killed(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(WORKLOAD)
    folder = tmp_path / "in"
    add(folder, "b.csv", 0)
    with live_backend(tmp_path) as live:
        live.wait_for(1)
        add(folder, "a.csv", N)  # before the first by name, behind it by time
        until(lambda: n_taken(live) > N)
        os.killpg(live.process.pid, signal.SIGKILL)
    add(folder, "0.csv", 2 * N)
    with live_backend(tmp_path) as live:
        n_before = live.n_batches()
        live.wait_for(n_before + 1)
        time.sleep(0.3)
        add(folder, "c.csv", 3 * N)
        os.killpg(live.process.pid, signal.SIGKILL)
    done = backend(str(tmp_path / "w.toml"), "--once", "--store", str(tmp_path / "store.db"))
    assert done.returncode == 0, done.stderr
    assert "resumes" in done.stderr
    found = ds.dataset(tmp_path / "out", format="parquet", partitioning="hive").to_table()
    assert sorted(found["id"].to_pylist()) == list(range(4 * N))
    with open_reader(str(tmp_path / "store.db")) as reader:
        (run,) = reader.runs()
        assert reader.values(run.id)["system"]["tuples_total"] == 4 * N
