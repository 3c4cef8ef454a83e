"""A workload run in one process, without Spark, as people start it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds

from storage.store import open_reader
from tests.docs.tree import ROOT

CODE = "import sys; from backend.cli import main; sys.exit(main(sys.argv[1:]))"
WORKLOAD = """
[streams.S]
schema = "t bigint, a int"
timestamp = "t"
source = { format = "csv", path = "s.csv", header = true }
rate = 10
[queries]
few = "Select * From S Where a = 1"
count = "Select a, count(*) As n From S [Range 5] Group By a"
[sink]
path = "out"
"""


def started(folder: Path) -> subprocess.CompletedProcess[str]:
    store = str(folder / "store.db")
    command = [sys.executable, "-c", CODE, str(folder / "w.toml"), "--store", store]
    return subprocess.run(
        [*command, "--once", "--master", "none"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_workload_runs_without_spark_and_begins_anew_each_time(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(WORKLOAD)
    lines = [f"{t},{t % 3}" for t in range(30)]
    (tmp_path / "s.csv").write_text("\n".join(["t,a", *lines]) + "\n")
    for n in (1, 2):
        done = started(tmp_path)
        assert done.returncode == 0, done.stderr
        folders = list((tmp_path / "out").glob("run=*"))
        assert len(folders) == n
    matched = ds.dataset(folders[0] / "stream=S", format="parquet").to_table()
    assert sorted(matched.column("t").to_pylist()) == list(range(1, 30, 3))
    changes = ds.dataset(folders[0] / "query=count", format="parquet").to_table().to_pylist()
    assert {row["tau"] for row in changes} == set(range(6))  # then two of each come and go
    with open_reader(str(tmp_path / "store.db")) as reader:
        assert [(run.state, run.settings["master"]) for run in reader.runs()] == [
            ("ended", "none"),
            ("ended", "none"),
        ]
