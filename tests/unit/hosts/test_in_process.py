"""A workload run in one process, without Spark, as people start it."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from backend.launch.cli import main
from storage.errors import StoreError
from storage.store import open_command_writer, open_reader
from tests.house.tree import ROOT

CODE = "import sys; from backend.launch.cli import main; sys.exit(main(sys.argv[1:]))"
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


def arguments(folder: Path, *more: str) -> list[str]:
    """Of the command that runs the workload of the folder."""
    store = str(folder / "store.db")
    return [str(folder / "w.toml"), "--store", store, "--master", "none", *more]


def begun(folder: Path, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CODE, *arguments(folder, *more)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def test_a_workload_runs_without_spark_and_begins_anew_each_time(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(WORKLOAD)
    lines = [f"{t},{t % 3}" for t in range(30)]
    (tmp_path / "s.csv").write_text("\n".join(["t,a", *lines]) + "\n")
    with begun(tmp_path, "--once") as process:
        said = process.communicate(timeout=120)[1]
        assert process.returncode == 0, said
    assert len(list((tmp_path / "out").glob("run=*"))) == 1
    assert main(arguments(tmp_path, "--once")) == 0
    folders = list((tmp_path / "out").glob("run=*"))
    assert len(folders) == 2
    matched = ds.dataset(folders[0] / "stream=S", format="parquet").to_table()
    assert sorted(matched.column("t").to_pylist()) == list(range(1, 30, 3))
    changes = ds.dataset(folders[0] / "query=count", format="parquet").to_table().to_pylist()
    assert {row["tau"] for row in changes} == set(range(6))  # then two of each come and go
    with open_reader(str(tmp_path / "store.db")) as reader:
        assert [(run.state, run.settings["master"]) for run in reader.runs()] == [
            ("ended", "none"),
            ("ended", "none"),
        ]


def test_a_sink_that_cannot_be_written_to_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "w.toml").write_text(WORKLOAD)
    (tmp_path / "s.csv").write_text("t,a\n1,1\n")
    (tmp_path / "out").touch()
    assert main(arguments(tmp_path, "--once")) == 2
    said = capsys.readouterr().err
    assert f"planwatch: [sink] path: {tmp_path / 'out'} cannot be written to" in said
    assert not (tmp_path / "store.db").exists()


LASTING = """
[streams.S]
schema = "a1 int, a2 int"
rate = 10
[streams.S.source]
format = "drift"
seed = 1
phases = [{ distribution = "uniform", n_tuples = 100000 }]
[knobs]
at_end = "loop"
max_batch_tuples = 1000
[queries]
low = "Select * From S Where a1 < 50"
[sink]
path = "out"
"""


def test_a_sink_that_goes_away_ends_the_run_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(LASTING)
    out, store = tmp_path / "out", str(tmp_path / "store.db")
    with begun(tmp_path) as run:
        deadline = time.monotonic() + 120
        while not list(out.glob("run=*/stream=S/batch-*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        out.rename(tmp_path / "gone")
        out.touch()
        _, said = run.communicate(timeout=120)
    assert run.returncode == 1
    assert "Traceback" not in said
    with open_reader(store) as reader:
        (found,) = reader.runs()
    assert found.state == "failed"
    assert str(out) in found.note
    assert f"run {found.id} failed: {found.note}" in said


WATCHING = """
[streams.S]
schema = "a int"
source = { format = "csv", path = "in", header = true }
[queries]
some = "Select * From S Where a > 1"
[sink]
path = "out"
"""


def wait_for_knobs(store: Path, process: subprocess.Popen[str]) -> str:
    """Wait until the run of a process is on record as a whole; its id."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(StoreError), open_reader(str(store)) as reader:
            mine = [run.id for run in reader.runs() if run.pid == process.pid]
            if mine and reader.knobs(mine[0]):
                return mine[0]
        time.sleep(0.05)
    raise AssertionError(process.communicate()[1] if process.poll() is not None else "no run")


def test_starts_that_were_killed_before_a_batch_are_one_run_and_no_wish_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "w.toml").write_text(WATCHING)
    (tmp_path / "in").mkdir()
    store = tmp_path / "store.db"
    for n in range(3):
        with begun(tmp_path) as process:
            run_id = wait_for_knobs(store, process)
            process.kill()
        if not n:
            with open_command_writer(str(store)) as commands:
                wish = {"name": "more", "text": "Select * From S Where a = 1"}
                commands.append_command(run_id, "query_add", wish, "me", "", time.time())
    (tmp_path / "in" / "s.csv").write_text("a\n1\n2\n3\n")
    with caplog.at_level("INFO"):
        assert main(arguments(tmp_path, "--once")) == 0
    assert f"run {run_id} resumes" in caplog.text
    assert "cannot be resumed" not in caplog.text
    with open_reader(str(store)) as reader:
        (run,) = reader.runs()
        answers = [(one.kind, one.state) for one in reader.commands(run.id)]
    assert answers == [("query_add", "applied")]
    matched = ds.dataset(tmp_path / "out" / f"run={run.id}" / "stream=S").to_table()
    found = {row["a"]: row["query_ids"] for row in matched.to_pylist()}
    assert found == {1: ["more"], 2: ["some"], 3: ["some"]}


def test_of_two_that_start_at_once_one_runs_and_the_other_says_so(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text(LASTING)
    both = [begun(tmp_path) for _ in range(2)]
    try:
        deadline = time.monotonic() + 120
        while all(one.poll() is None for one in both) and time.monotonic() < deadline:
            time.sleep(0.05)
        (lost,) = [one for one in both if one.poll() is not None]
        (runs,) = [one for one in both if one is not lost]
        run_id = wait_for_knobs(tmp_path / "store.db", runs)
        said = lost.communicate(timeout=120)[1]
        where = f"run {run_id} of this workload is at work in process {runs.pid} on "
        assert lost.returncode == 2
        assert where in said
        assert said.strip().endswith("; stop it, or start a new run with --fresh")
        assert "Traceback" not in said
        with open_reader(str(tmp_path / "store.db")) as reader:
            assert [run.id for run in reader.runs()] == [run_id]
        runs.terminate()
        assert runs.wait(timeout=120) == 0
    finally:
        for one in both:
            one.kill()
            one.communicate()


LAPS = """
[streams.Laps]
schema = "ts int, run int, stream string, query string, lap double"
timestamp = "ts"
source = { format = "memory", rows = [[0,7,"left","q1",61.5],[1,8,"right","q2",59.25]] }
[queries]
fast = "Select * From Laps Where lap < 70"
best = "Select run, stream, query, min(lap) as lap From Laps Group By run, stream, query"
"各駅停車の遅延が五分を超えた列車の一覧を平日の朝夕に限り駅ごとに" = '''
Select count(*) as Run From Laps [Rows 2]'''
[sink]
path = "out"
"""


def test_whatever_names_queries_and_columns_have_the_sink_gives_them_back(tmp_path: Path) -> None:
    """Columns called as those of folders, and a name too long for a folder."""
    (tmp_path / "w.toml").write_text(LAPS)
    assert main(arguments(tmp_path, "--once")) == 0
    (run,) = (tmp_path / "out").glob("run=*")
    names = ["run_2", "stream_2", "query_2", "lap", "run"]
    id = run.name.removeprefix("run=")
    expected = [[7, "left", "q1", 61.5, id], [8, "right", "q2", 59.25, id]]
    for files in ("stream=Laps", "query=best"):
        paths = [str(path) for path in sorted((run / files).glob("*.parquet"))]
        table = ds.dataset(paths, partitioning="hive", partition_base_dir=str(tmp_path / "out"))
        rows = table.to_table().select(names).to_pylist()
        assert [list(row.values()) for row in rows] == expected
    (counted,) = run.glob("query=%E5%90*")
    changes = ds.dataset(counted, format="parquet").to_table()
    columns = changes.column("tau"), changes.column("sign"), changes.column("Run_2")
    assert list(zip(*(c.to_pylist() for c in columns), strict=True)) == [
        (0, 1, 1),
        (1, -1, 1),
        (1, 1, 2),
    ]
