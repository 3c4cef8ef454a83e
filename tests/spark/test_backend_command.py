"""``run.py backend --once`` on a person's own files: sink, misfits, store, clear refusals."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from backend.launch.cli import EXIT_USAGE, main
from backend.processes.watchdog import GRACE_S
from storage.errors import StoreError
from storage.store import open_reader
from tests.spark.plans import json_lines

ROOT = Path(__file__).resolve().parents[2]
CODE = "import sys; from backend.launch.cli import main; sys.exit(main(sys.argv[1:]))"
COMMAND = (sys.executable, "-c", CODE)
WORKLOAD = """
[streams.S]
schema = "a int, b string, x double"
source = { format = "csv", path = "a.csv", header = true }
[queries]
early = "Select * From S Where a > 2 and b = 'x'"
later = "Select * From S Where x <= 1.5 or b in ('y','z')"
nobody = "Select * From S Where b is null"
[sink]
path = "out"
"""
ROWS = "a,b,x\n1,x,1.0\n3,x,2.5\nfoo,y,1\n5,,1.5\n6,z,\n7\n8,q,0.5\n9,q,9\n"


def backend(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The pipeline as its own process, as the launcher starts it."""
    command = [*COMMAND, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400)


def test_a_file_is_processed_once_then_what_is_new_then_all_anew(tmp_path: Path) -> None:
    """Three runs of a workload that watches a folder: started, started again, begun anew."""
    (tmp_path / "in").mkdir()
    (tmp_path / "my.toml").write_text(WORKLOAD.replace("a.csv", "in"))
    check_a_csv_file_is_processed_once(tmp_path)
    check_the_same_command_again_processes_what_is_new(tmp_path)
    check_a_new_run_leaves_the_files_of_the_one_before_alone(tmp_path)


#: What every host does alike, and one start of Spark a case costs ten seconds.
WITHOUT = ("--master", "none")


def run_in(folder: Path, *options: str) -> str:
    """Run the folder's workload to its end; what it says."""
    store = str(folder / "store.db")
    done = backend(str(folder / "my.toml"), "--once", "--store", store, *options)
    assert done.returncode == 0, done.stderr
    return done.stderr


def check_a_csv_file_is_processed_once(folder: Path) -> None:
    (folder / "in" / "1.csv").write_text(ROWS)
    said = run_in(folder, "--set", "mu=0.2")
    for line in (
        "tuples are kept aside: a is not a whole number of 32 bits",
        "2 of 8 tuples were kept aside; they are in",
    ):
        assert f"stream S: {line}" in said
    assert "no plan was reconsidered, 6 tuples gave no occasion" in said
    assert f" answers to 6 tuples; they are in {folder / 'out'}/run=" in said

    table = ds.dataset(folder / "out", format="parquet").to_table()
    assert table.column_names == ["a", "b", "x", "query_ids"]
    assert [(row["a"], row["query_ids"]) for row in table.to_pylist()] == [
        (1, ["later"]),
        (3, ["early"]),
        (5, ["later", "nobody"]),
        (6, ["later"]),
        (8, ["later"]),
    ]
    (aside,) = (folder / "out").glob("run=*/stream=S/_misfits")
    assert [line["raw"] for line in json_lines(aside)] == ["foo,y,1", "7"]

    with open_reader(str(folder / "store.db")) as reader:
        (run,) = reader.runs()
        assert (run.state, run.streams) == ("ended", "S")
        values = reader.values(run.id)
        assert values["system"]["tuples_total"] == 6
        assert values["system"]["matched_total"] == 5
        assert values["system"]["misfits_total"] == 2
        assert values["asc.S/query:later"]["matched_total"] == 4
        assert {k.name: k.value for k in reader.knobs(run.id)}["mu"] == 0.2
        assert [m.raw for m in reader.misfits(run.id, 10)] != []


def check_the_same_command_again_processes_what_is_new(folder: Path) -> None:
    (folder / "in" / "2.csv").write_text("a,b,x\n11,x,1.0\n13,q,9.5\n")
    assert "resumes" in run_in(folder, "--set", "mu=0.2")
    table = ds.dataset(folder / "out", format="parquet", partitioning="hive").to_table()
    assert sorted(table["a"].to_pylist()) == [1, 3, 5, 6, 8, 11]
    with open_reader(str(folder / "store.db")) as reader:
        (run,) = reader.runs()
        values = reader.values(run.id)
        assert (values["system"]["tuples_total"], reader.last_batch(run.id)) == (8, 1)
        assert values["asc.S/query:later"]["matched_total"] == 5


def check_a_new_run_leaves_the_files_of_the_one_before_alone(folder: Path) -> None:
    """The files of a batch are named by its number, which every run counts from 0."""
    for path in (folder / "in").iterdir():
        path.unlink()
    (folder / "in" / "3.csv").write_text("a,b,x\n21,x,1.0\n22,x,2.0\n")
    run_in(folder, "--fresh")
    table = ds.dataset(folder / "out", format="parquet", partitioning="hive").to_table()
    assert sorted(table["a"].to_pylist()) == [1, 3, 5, 6, 8, 11, 21, 22]
    with open_reader(str(folder / "store.db")) as reader:
        assert set(table["run"].to_pylist()) == {run.id for run in reader.runs()}
        assert len(reader.runs()) == 2


def test_when_nothing_fits_it_is_said_and_the_status_is_3(tmp_path: Path) -> None:
    text = WORKLOAD.replace("a int", "a date").replace("a > 2 and ", "")
    (tmp_path / "my.toml").write_text(text.replace("[queries]", "rate = 50\n[queries]"))
    (tmp_path / "a.csv").write_text("a,b,x\n1,x,1\n2,y,2\n")
    store = str(tmp_path / "store.db")
    done = backend(str(tmp_path / "my.toml"), "--once", "--store", store, *WITHOUT)
    assert done.returncode == 3, done.stderr
    for line in (
        "with --once tuples come as fast as they can, at no rate (--set rate=… keeps one)",
        "stream S: tuples are kept aside: a is not a date\n    1,x,1\n    2,y,2\n",
        "stream S: nothing fits; does its schema say what the data are?",
    ):
        assert line in done.stderr
    assert "Traceback" not in done.stderr


FILES = """
[streams.S]
schema = "a int, b string, x double"
source = { format = "csv", path = "in", header = true }
[streams.P]
schema = "a int, b string"
source = { format = "parquet", path = "p.parquet" }
[streams.J]
schema = "a int, b string"
source = { format = "json", path = "j.json" }
[queries]
of_csv = "Select * From S Where x = 1.5 or a < 0"
of_parquet = "Select * From P Where b = 'x'"
of_json = "Select * From J Where b = 'x'"
[sink]
path = "out"
format = "json"
"""


def test_large_files_are_cut_into_batches_and_a_bad_one_costs_itself(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(FILES)
    folder, n = tmp_path / "in", 150_000
    folder.mkdir()
    lines = "".join(f'{k},"b,{k}",{k % 10}.5\n' for k in range(n))
    (folder / "2.csv").write_text(f"a,b,x\n{lines}")
    (folder / "1.csv").write_text("a,b,x\n-1,first,0\n")
    (folder / "3.csv").write_text("x,y\n1,2\n")
    (folder / "4.csv").write_text("x,b,a\n0,last,-2\n")
    pq.write_table(pa.table({"B": ["x", "y"], "A": [1, 2]}), tmp_path / "p.parquet")
    (tmp_path / "j.json").write_text('{"a": 1, "b": "x"}{"a": 2}\n{"a": 3, "b": "x"}\n')
    store = str(tmp_path / "store.db")
    done = backend(str(tmp_path / "my.toml"), "--once", "--store", store)
    assert done.returncode == 0, done.stderr
    with open_reader(store) as reader:
        (run,) = reader.runs()
        took = [b.n_tuples for b in reader.batches(run.id, None, 1000) if b.n_tuples]
        values = reader.values(run.id)["system"]
    assert len(took) > 1
    assert (values["tuples_total"], values["misfits_total"]) == (n + 2 + 2 + 1, 2)
    (out,) = (tmp_path / "out").glob("run=*")
    files = sorted((out / "stream=S").glob("batch-*.json"))
    found = [row["a"] for file in files for row in map(json.loads, file.read_text().splitlines())]
    assert found == [-1, *range(1, n, 10), -2]
    (bad,) = json_lines(out / "stream=S" / "_misfits")
    assert bad["raw"] == str(folder / "3.csv")
    assert bad["error"] == "this file cannot be read: its header has no column 'a'; it reads x, y"
    (two,) = json_lines(out / "stream=J" / "_misfits")
    assert two["raw"] == '{"a": 1, "b": "x"}{"a": 2}'


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said of a command that is refused before anything starts, in this process."""
    assert main([*arguments, "--once"]) == EXIT_USAGE
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("a.csv", "missing.csv"), "there is no file"),
        (("a > 2", "aa > 2"), "line 1"),
        (("a > 2", "a > 'two'"), "line 1"),
        (("a int", "a integr"), "unknown type"),
    ],
)
def test_what_cannot_run_is_refused_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], said: str
) -> None:
    (tmp_path / "my.toml").write_text(WORKLOAD.replace(*change))
    (tmp_path / "a.csv").write_text(ROWS)
    answer = refused(capsys, str(tmp_path / "my.toml"), "--store", str(tmp_path / "s.db"))
    assert said in answer
    assert "Traceback" not in answer


def test_an_unknown_knob_and_a_value_out_of_range_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my.toml").write_text(WORKLOAD)
    (tmp_path / "a.csv").write_text(ROWS)
    for setting, said in (("mue=1", "mu"), ("mu=-1", "0..10")):
        assert said in refused(capsys, str(tmp_path / "my.toml"), "--set", setting)


def test_bitmaps_that_would_take_too_much_memory_are_refused_at_the_start(tmp_path: Path) -> None:
    wide = " or ".join(f"a = {value}" for value in range(3000))
    (tmp_path / "my.toml").write_text(WORKLOAD + "[knobs]\nbitmap_memory = 0.01\n")
    text = (tmp_path / "my.toml").read_text().replace("a > 2", wide)
    (tmp_path / "my.toml").write_text(text)
    (tmp_path / "a.csv").write_text(ROWS)
    done = backend(str(tmp_path / "my.toml"), "--once", "--store", str(tmp_path / "store.db"))
    assert done.returncode == 2
    assert done.stderr.startswith("planwatch: the bitmaps of 3 queries would take 0.02")
    assert done.stderr.count("\n") == 1


TWO_STREAMS = (
    WORKLOAD
    + """
[streams.F]
source = { format = "flights" }
schema = "month int, day int"
"""
)


def test_a_source_that_cannot_be_opened_fails_its_own_stream_alone(tmp_path: Path) -> None:
    text = TWO_STREAMS.replace("[queries]", "[queries]\nflown = 'Select * From F Where day = 1'")
    (tmp_path / "my.toml").write_text(text)
    (tmp_path / "a.csv").write_text(ROWS)
    (tmp_path / "cache").write_text("a file where flights would be kept")
    store = tmp_path / "store.db"
    done = backend(str(tmp_path / "my.toml"), "--once", "--store", str(store), *WITHOUT)
    assert done.returncode == 1, done.stderr
    with open_reader(str(store)) as reader:
        (run,) = reader.runs()
        newest = {one.counts.input: one.counts for one in reader.input_batches(run.id)}
        values = reader.values(run.id)
    assert run.state == "ended"
    assert str(tmp_path / "cache") in run.note
    assert newest["F"].state == "failed"
    assert str(tmp_path / "cache") in newest["F"].note
    assert values["asc.S/query:later"]["matched_total"] == 4


def test_a_stop_while_spark_starts_ends_the_run_before_its_first_batch(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text(WORKLOAD)
    (tmp_path / "a.csv").write_text(ROWS)
    store = tmp_path / "store.db"
    command = [*COMMAND, str(tmp_path / "my.toml"), "--store", str(store)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not _is_starting(store):
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=GRACE_S + 20)
    assert process.returncode == 0 or "it did not end within" in said, said
    with open_reader(str(store)) as reader:
        (run,) = reader.runs()
        assert run.state == "ended"
        assert "system" not in reader.values(run.id)  # recorded with every batch


def _is_starting(store: Path) -> bool:
    """Whether the run is known to the store."""
    if not store.exists():
        return False
    with suppress(StoreError), open_reader(str(store)) as reader:
        return [run.state for run in reader.runs()] == ["starting"]
    return False
