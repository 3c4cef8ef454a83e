"""Files that are renamed, shortened or deleted while they are read, or while a run is stopped."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.workloads.contract import CORRUPT, REASON
from backend.workloads.file_list import fingerprint_of, recorded_files
from backend.workloads.file_source import (
    CAME_AGAIN,
    GONE_MEANWHILE,
    WRITTEN_MEANWHILE,
    FileSource,
)
from backend.workloads.spec import SourceSpec, StreamSpec
from tests.unit.workloads.test_file_source import SCHEMA, ids, opened, stream, write

N = 8_000
#: Of x.csv, before it is disturbed; of z.csv behind it.
X, Z = list(range(N)), list(range(N, N + 10))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A watched folder with two files, that are read in small pieces."""
    monkeypatch.setattr("backend.workloads.file_source.LOOK_S", 0.0)
    monkeypatch.setattr("backend.workloads.csv_files.BLOCK_BYTES", 64)
    monkeypatch.setattr("backend.workloads.json_files.BLOCK_BYTES", 64)
    write(tmp_path / "in", "x.csv", 0, N)
    write(tmp_path / "in", "z.csv", N, 10)
    return tmp_path / "in"


def watching(folder: Path) -> FileSource:
    """What reads the folder, and goes on where another one was."""
    return opened(stream(folder, header="true"), folder.parent / "run", once=False)


def rename(folder: Path) -> None:
    (folder / "x.csv").rename(folder / "y.csv")


def shorten(folder: Path) -> None:
    os.truncate(folder / "x.csv", 14)


def delete(folder: Path) -> None:
    (folder / "x.csv").unlink()


def rename_and_write_on(folder: Path) -> None:
    """As logs are rotated out of the folder."""
    moved = folder.parent / "x.1"
    (folder / "x.csv").rename(moved)
    with moved.open("a") as file:
        file.write("9,s9\n")


def read_from(source: FileSource, folder: Path, start: int) -> tuple[list[int], list[str]]:
    """The ids from a tuple on, and why what concerns x.csv was kept aside."""
    found = source.slice(start, 2 * N)
    told = zip(*(found.column(name).to_pylist() for name in (CORRUPT, REASON)), strict=True)
    why = [reason for path, reason in told if path == str(folder / "x.csv")]
    return [id for id in ids(found) if id is not None], why


@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_file_that_is_renamed_while_it_is_read_is_read_once(
    folder: Path, caplog: pytest.LogCaptureFixture, is_restarted: bool
) -> None:
    source = watching(folder)
    assert ids(source.slice(0, 5)) == X[:5]
    rename(folder)
    source = watching(folder) if is_restarted else source
    assert read_from(source, folder, 5) == (X[5:] + Z, [])
    said = f"{folder / 'y.csv'} was {folder / 'x.csv'} before, and is not read again"
    assert caplog.text.count(said) == 1
    for again in (source, watching(folder)):
        assert len(again.slice(N + 10, 99)) == 0
    write(folder, "y.csv", 500, 2)  # another one, of that name
    assert len(source.slice(N + 10, 99)) == 1


def test_another_file_of_the_same_content_is_another_file(folder: Path) -> None:
    source = watching(folder)
    assert len(source.slice(0, N + 10)) == N + 10
    (folder / "z.csv").unlink()
    write(folder, "a.csv", N, 10, age_s=50.0)
    assert ids(source.slice(N + 10, 99)) == Z


@pytest.mark.parametrize(
    ("disturb", "why"), [(shorten, WRITTEN_MEANWHILE), (delete, GONE_MEANWHILE)]
)
@pytest.mark.parametrize("n_taken", [5, N // 2])
def test_what_is_lost_while_a_run_is_stopped_is_told_and_costs_no_other_file(
    folder: Path, disturb: Callable[[Path], None], why: str, n_taken: int
) -> None:
    assert ids(watching(folder).slice(0, n_taken)) == X[:n_taken]
    disturb(folder)
    assert read_from(watching(folder), folder, n_taken) == (Z, [why])
    again = watching(folder)
    assert again.slice(n_taken, 99).equals(again.slice(n_taken, 99))


def test_a_file_that_is_moved_away_and_written_on_is_told_of(folder: Path) -> None:
    source = watching(folder)
    assert ids(source.slice(0, 5)) == X[:5]
    rename_and_write_on(folder)
    assert read_from(source, folder, 5) == ([*X[5:], 9, *Z], [WRITTEN_MEANWHILE])


@contextmanager
def of_format(folder: Path, format: str) -> Iterator[Path]:
    """x.csv in another format, alone."""
    rows = [{"id": k, "s": f"s{k}"} for k in X]
    lines = "\n".join(json.dumps(row) for row in rows).encode()
    path = folder.parent / "other" / "x"
    path.parent.mkdir()
    if format == "parquet":
        table = pa.Table.from_pylist(rows, pa.schema([("id", pa.int32()), ("s", pa.string())]))
        pq.write_table(table, path, row_group_size=100)
    else:
        path = path.with_suffix(".json.gz") if format == "gz" else path
        path.write_bytes(gzip.compress(lines, 0) if format == "gz" else lines)
    yield path


@pytest.mark.parametrize("format", ["json", "gz", "parquet"])
def test_what_is_cut_off_a_file_of_any_format_is_told(folder: Path, format: str) -> None:
    with of_format(folder, format) as path:
        source = opened(stream(path, format.replace("gz", "json")))
        assert ids(source.slice(0, 5)) == X[:5]
        os.truncate(path, 2000)
        found = source.slice(5, 2 * N)
        read = [id for id in ids(found) if id is not None]
        assert read == X[5 : 5 + len(read)]
        assert found.column(REASON).to_pylist()[-1] == WRITTEN_MEANWHILE


def of_size(folder: Path, format: str) -> Path:
    """A file of one of our formats that is longer than what is looked at of both ends."""
    folder.mkdir(exist_ok=True)
    path = folder / f"x.{format}"
    rows = [(k, f"s{k:09d}") for k in range(20_000)]
    if format == "parquet":
        table = pa.table(
            {"id": pa.array([k for k, _ in rows], pa.int32()), "s": [s for _, s in rows]}
        )
        pq.write_table(
            table, path, compression="none", use_dictionary=False, write_statistics=False
        )
    elif format == "json":
        path.write_text("".join(f'{{"id": {k}, "s": "{s}"}}\n' for k, s in rows))
    else:
        path.write_text("id,s\n" + "".join(f"{k},{s}\n" for k, s in rows))
    os.utime(path, (50.0, 50.0))
    return path


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
@pytest.mark.parametrize("retakes", [True, False])
@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_file_with_another_middle_is_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, retakes: bool, is_restarted: bool
) -> None:
    monkeypatch.setattr("backend.workloads.file_source.LOOK_S", 0.0)
    path = of_size(tmp_path, format)
    options = {"path": str(path), **({"header": "true"} if format == "csv" else {})}
    options |= {"retake": "true"} if retakes else {}
    one = StreamSpec("S", SCHEMA, SourceSpec(format, options))
    source = opened(one, tmp_path / "run", once=False)
    assert len(source.slice(0, 20_001)) == 20_000
    before = path.read_bytes()
    path.write_bytes(before)  # copied again
    os.utime(path, (60.0, 60.0))
    assert len(source.slice(20_000, 1)) == 0
    path.write_bytes(before.replace(b"s000010000", b"s999910000"))
    os.utime(path, (70.0, 70.0))
    assert fingerprint_of(path) == recorded_files(tmp_path / "run" / "files-S.jsonl")[0].fingerprint
    again = opened(one, tmp_path / "run", once=False) if is_restarted else source
    read = again.slice(20_000, 30_000)
    if retakes:
        assert (len(read), read.column("s")[10_000].as_py()) == (20_000, "s999910000")
    else:
        assert read.column(REASON).to_pylist() == [CAME_AGAIN]
    assert len(again.slice(20_000 + len(read), 9)) == 0


def test_a_list_of_a_former_version_goes_on(tmp_path: Path) -> None:
    """It knows both ends of files alone."""
    path, record = of_size(tmp_path / "in", "csv"), tmp_path / "run" / "files-S.jsonl"
    one = stream(tmp_path / "in", header="true")
    assert len(opened(one, tmp_path / "run").slice(0, 20_001)) == 20_000
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert lines[-1].pop("content")
    record.write_text(json.dumps(lines[-1]) + "\n")
    os.utime(path, (60.0, 60.0))
    write(tmp_path / "in", "y.csv", 7, 1)
    assert ids(opened(one, tmp_path / "run").slice(20_000, 9)) == [7]
