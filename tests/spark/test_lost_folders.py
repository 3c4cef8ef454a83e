"""A run on Spark that lost a folder between two starts: refused, or the right answers."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from tests.spark.test_backend_command import backend

pytestmark = [pytest.mark.spark, pytest.mark.slow]
WORKLOAD = """
[streams.S]
schema = "t bigint, a int"
timestamp = "t"
source = { format = "csv", path = "in", header = true }
[queries]
few = "Select * From S Where a = 1"
count = "Select a, count(*) As n From S [Range 30] Group By a"
[sink]
path = "out"
"""


def write(folder: Path, name: str, first: int) -> None:
    rows = "".join(f"{t},{t % 3}\n" for t in range(first, first + 200))
    (folder / "in" / name).write_text(f"t,a\n{rows}")


def files(folder: Path) -> dict[Path, bytes]:
    found = (path for name in ("out", "runs") for path in (folder / name).rglob("*"))
    return {path: path.read_bytes() for path in found if path.is_file()}


def answers(folder: Path) -> list[Counter[str]]:
    parts = sorted((folder / "out").glob("run=*/*=*"))
    return [Counter(map(str, ds.dataset(part).to_table().to_pylist())) for part in parts]


def test_lost_folders_are_refused_and_lost_commits_cost_nothing(tmp_path: Path) -> None:
    command = [str(tmp_path / "w.toml"), "--once", "--store", str(tmp_path / "s.db")]
    (tmp_path / "in").mkdir()
    (tmp_path / "w.toml").write_text(WORKLOAD)
    write(tmp_path, "a.csv", 0)
    assert backend(*command).returncode == 0
    write(tmp_path, "b.csv", 200)
    (own,) = (tmp_path / "runs").iterdir()
    for name, said in (
        ("checkpoint", "has no batch, 2 batches behind the store, which ends with batch 1"),
        ("state", "the state of unit stream.network in"),
        ("spool", "where it was in its streams is not known without"),
    ):
        shutil.move(own / name, tmp_path / name)
        before = files(tmp_path)
        done = backend(*command)
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
        assert "nothing was changed" in done.stderr
        assert "Traceback" not in done.stderr
        assert files(tmp_path) == before
        shutil.move(tmp_path / name, own / name)
    shutil.rmtree(own / "checkpoint" / "commits")
    done = backend(*command)
    assert done.returncode == 0, done.stderr
    found = answers(tmp_path)
    shutil.rmtree(tmp_path / "out")
    done = backend(*command, "--fresh")
    assert done.returncode == 0, done.stderr
    assert found == answers(tmp_path)
    assert sum(found[1].values()) == 133  # query=count, stream=S
