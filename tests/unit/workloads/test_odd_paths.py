"""Names that are not UTF-8, have letters of patterns or differ by case, folders without rights."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.workloads.contract import CORRUPT, REASON
from backend.workloads.file_source import CLOSED, NO_UTF8, FileSource
from backend.workloads.spec import Workload, WorkloadError, load_workload
from backend.workloads.stored import load_relation
from tests.unit.workloads.test_file_source import SCHEMA, everything, ids, opened, stream, write

ROOT = Path(__file__).resolve().parents[3]
NOBODY = 65534
ODD = os.fsdecode(b"b\xff.x")


def write_as(format: str, path: Path, id: int) -> None:
    """A file with one tuple, written a while ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if format == "parquet":
        with path.open("wb") as file:
            pq.write_table(pa.table({"id": pa.array([id], pa.int32()), "s": ["x"]}), file)
    else:
        line = json.dumps({"id": id, "s": "x"})
        path.write_text(f"id,s\n{id},x\n" if format == "csv" else f"{line}\n")
    os.utime(path, (0, 0))


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_a_name_that_is_not_utf8_is_one_misfit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    monkeypatch.setattr("backend.workloads.file_source.LOOK_S", 0.0)
    folder = tmp_path / "in"
    spec = stream(folder, format, header="true") if format == "csv" else stream(folder, format)
    for id, name in enumerate(("a.x", ODD, "c.x")):
        write_as(format, folder / name, id)
    source = opened(spec, tmp_path / "run", once=False)
    read = source.slice(0, 9)
    assert ids(read) == [0, None, 2]
    assert read.column(CORRUPT)[1].as_py() == f"{folder}/b\\xff.x"
    assert read.column(REASON)[1].as_py() == f"this file cannot be read: {NO_UTF8}"
    write_as(format, folder / os.fsdecode(b"\xfe.x"), 3)  # while it runs
    write_as(format, folder / os.fsdecode(b"k=\xfe") / "d.x", 4)
    write_as(format, folder / "e.x", 5)
    assert ids(source.slice(3, 9)) == [5, None, None]
    again = opened(spec, tmp_path / "run", once=False)
    assert ids(again.slice(0, 9)) == [0, None, 2, 5, None, None]
    os.rename(folder / ODD, folder / "b.x")
    write_as(format, folder / "f.x", 6)
    assert 6 in ids(again.slice(6, 9))


def test_a_relation_with_such_a_file_is_refused_in_a_sentence(tmp_path: Path) -> None:
    write_as("csv", tmp_path / "in" / ODD, 0)
    workload = loaded(tmp_path, 'path = "in"', "relations")
    with pytest.raises(WorkloadError, match=r"b\\xff\.x: this file cannot be read: its name is"):
        load_relation(workload.relations[0], tmp_path)


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that another user can get to."""
    folder = Path("/tmp") / f"no-rights-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


CODE = """
import os
import sys
from pathlib import Path
from backend.workloads import file_source  # all that is imported late
from tests.unit.workloads.test_odd_paths import *
file_source.LOOK_S = 0.0
folder = Path(sys.argv[1])
loaded(folder, 'path = "in"')
os.setgroups([])
os.setuid(int(sys.argv[2]))

def told(table):
    columns = (table.column(name).to_pylist() for name in ("id", CORRUPT, REASON))
    return [
        [id, str(raw).replace(str(folder), "F"), str(why).partition("Failed")[0]]
        for id, raw, why in zip(*columns, strict=True)
    ]

source = opened(stream(folder / "in", header="true"), None, once=False)
first = told(source.slice(0, 9))
(folder / "in" / "k=3").chmod(0)
(folder / "in" / "k=1").chmod(0o755)
write_as("csv", folder / "in" / "z.csv", 9)
later = told(source.slice(len(first), 9))
os.utime(folder / "in", (0, 0))
(folder / "in").chmod(0)
root = told(source.slice(len(first) + len(later), 9))
alone = told(opened(stream(folder / "in", header="true")).slice(0, 9))
refused = ""
try:
    loaded(folder / "flows", 'path = "../in/a.csv"')
except WorkloadError as error:
    refused = str(error).replace(str(folder), "F")
print(json.dumps([first, later, root, alone, refused]))
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become a user without rights")
def test_folders_without_rights_are_misfits(open_to_all: Path) -> None:
    """k=1 may not be looked into, what is in k=2 not be looked at, a file not be read."""
    folder = open_to_all / "in"
    for id, name in enumerate(("a.csv", "k=1/b.csv", "k=2/c.csv", "k=3/d.csv", "x.csv", "y.csv")):
        write_as("csv", folder / name, id)
    (open_to_all / "flows").mkdir()
    for path in (open_to_all, *open_to_all.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
        os.utime(path, (0, 0))
    (folder / "k=1").chmod(0o311)
    (folder / "k=2").chmod(0o400)
    (folder / "x.csv").chmod(0)
    arguments = [sys.executable, "-c", CODE, str(open_to_all), str(NOBODY)]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    first, later, root, alone, refused = json.loads(done.stdout)
    cannot = "this file cannot be read: "
    closed = f"{cannot}{CLOSED}"
    assert first == [
        [0, "None", "None"],
        [None, "F/in/k=1", closed],
        [None, "F/in/k=2/c.csv", cannot],
        [3, "None", "None"],
        [None, "F/in/x.csv", cannot],
        [5, "None", "None"],
    ]
    assert later == [[1, "None", "None"], [None, "F/in/k=3", closed], [9, "None", "None"]]
    assert root == alone == [[None, "F/in", closed]]
    assert "path: F/flows/../in/a.csv may not be looked at" in refused


def loaded(folder: Path, source: str, kind: str = "streams") -> Workload:
    """A workload in the folder with a stream, or a relation, of CSV files."""
    other = '[streams.T]\nschema = "id int"\nsource = { format = "memory", rows = [] }\n'
    text = f"""{other if kind == "relations" else ""}
        [{kind}.S]
        schema = "id int, s string"
        source = {{ format = "csv", header = true, {source} }}
        """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "w.toml").write_text(text)
    return load_workload(folder / "w.toml")


def read_by(workload: Workload) -> list[int]:
    """The ids of all its tuples."""
    source = opened(workload.streams[0])
    assert isinstance(source, FileSource)
    return ids(everything(source))


@pytest.mark.parametrize("name", ["u*y", "u[x]", "u?y", "[", "[[]", "k=7[x]"])
def test_letters_of_a_pattern_in_the_workloads_folder_stand_for_themselves(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    write(folder / "in", "a.csv", 0, 2)
    write(folder / "in", "b.csv", 2, 2)
    for other in ("uZZy", "ux", "uZy", "k=7x"):
        write(tmp_path / other / "in", "a.csv", 50, 2)
    for path, expected in (("in/a.csv", [0, 1]), ("in", [0, 1, 2, 3]), ("in/[b]*", [2, 3])):
        assert read_by(loaded(folder, f'path = "{path}"')) == expected
    with pytest.raises(WorkloadError) as refused:
        loaded(folder, 'path = "in/no.csv"')
    assert f"there is no file {folder}/in/no.csv" in str(refused.value)


def test_a_name_with_letters_of_a_pattern_that_is_there_is_that_file(tmp_path: Path) -> None:
    write(tmp_path, "export [2].csv", 2, 1)
    write(tmp_path, "export 2.csv", 3, 1)
    write(tmp_path, "e*.csv", 4, 1)
    assert read_by(loaded(tmp_path, 'path = "export [2].csv"')) == [2]
    assert read_by(loaded(tmp_path, 'path = "export [[]2].csv"')) == [2]
    assert read_by(loaded(tmp_path, 'path = "e*.csv"')) == [4]
    assert read_by(loaded(tmp_path, 'path = "*.csv"')) == [4, 3, 2]
    relation = loaded(tmp_path, 'path = "export [2].csv"', "relations").relations[0]
    assert load_relation(relation, tmp_path).table.column("id").to_pylist() == [2]
    with pytest.raises(WorkloadError, match=r"write \[\[\] for \[ itself"):
        loaded(tmp_path, 'path = "export [3].csv"')


def test_values_of_folders_below_a_pattern(tmp_path: Path) -> None:
    """Folders above the pattern, the workload's own among them, say nothing."""
    folder = tmp_path / "id=5 [x]"
    write(folder / "in" / "s=a", "1.csv", 0, 1)
    workload = loaded(folder, 'path = "in"')
    table = everything(opened(workload.streams[0]))
    assert ids(table) == [0]
    assert table.column("s").to_pylist() == ["a"]
    assert workload.streams[0].schema == SCHEMA


def test_names_of_queries_that_differ_by_case_alone_are_refused(tmp_path: Path) -> None:
    """Their answers would have one folder where a file system does not tell case."""
    write(tmp_path / "in", "a.csv", 0, 1)
    loaded(tmp_path, 'path = "in"')
    queries = "[queries]\nper = 'Select * From S'\nPER = 'Select id From S'\n"
    (tmp_path / "w.toml").write_text((tmp_path / "w.toml").read_text() + queries)
    with pytest.raises(WorkloadError, match="'per' and 'PER', which differ only by case"):
        load_workload(tmp_path / "w.toml")


def test_folders_at_the_beginning_of_a_pattern_that_are_there_are_no_patterns(
    tmp_path: Path,
) -> None:
    write(tmp_path / "lab [1]" / "in", "a.csv", 0, 1)
    write(tmp_path / "lab 1" / "in", "a.csv", 50, 1)
    write(tmp_path / "lab *" / "in", "b?.csv", 1, 1)
    write(tmp_path / "lab *" / "in", "bx.csv", 2, 1)
    assert read_by(loaded(tmp_path, 'path = "lab [1]/*/*.csv"')) == [0]
    assert read_by(loaded(tmp_path, f'path = "{tmp_path}/lab [1]/in/*"')) == [0]
    assert read_by(loaded(tmp_path, 'path = "lab [0-9]/in"')) == [50]
    assert read_by(loaded(tmp_path, 'path = "lab */in/b?.csv"')) == [1]
    assert read_by(loaded(tmp_path, 'path = "lab */in/*.csv"')) == [1, 2, 50, 0]
    assert read_by(loaded(tmp_path / "lab [1]", 'path = "../lab */in"')) == [1, 2]
    with pytest.raises(WorkloadError, match="there is no file"):
        loaded(tmp_path, 'path = "lab [2]/*"')
    with pytest.raises(WorkloadError, match=r"path holds U\+0000"):
        loaded(tmp_path, 'path = "a\\u0000b"')


def test_a_workload_whose_runs_could_have_no_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "in", "a.csv", 0, 1)
    loaded(tmp_path, 'path = "in"')
    text = (tmp_path / "w.toml").read_text()
    (tmp_path / "w.toml").write_text(f'name = "{"駅" * 66}"\n{text}')
    load_workload(tmp_path / "w.toml")
    (tmp_path / "w.toml").write_text(f'name = "{"駅" * 67}"\n{text}')
    with pytest.raises(WorkloadError, match="201 bytes in UTF-8, and 200 at most"):
        load_workload(tmp_path / "w.toml")
