"""Files as a replayed source: order, cuts, files that come later or are no good, going on."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.model.schema import Schema
from backend.workloads import file_source
from backend.workloads.contract import CORRUPT, REASON
from backend.workloads.file_list import is_written_since, lost_since, recorded_files
from backend.workloads.file_source import (
    CAME_AGAIN,
    NO_FILE,
    WRITTEN_MEANWHILE,
    FileSource,
    reader_of,
)
from backend.workloads.sources import ReplaySource, in_memory, is_replayed, open_source
from backend.workloads.spec import SourceSpec, StreamSpec

SCHEMA = Schema.parse("id int, s string")


def stream(
    path: Path,
    format: str = "csv",
    schema: Schema = SCHEMA,
    rate: float | None = None,
    **options: str,
) -> StreamSpec:
    spec = SourceSpec(format, {"path": str(path), **options})
    return StreamSpec("S", schema, spec, None, rate)


def opened(one: StreamSpec, folder: Path | None = None, once: bool = True) -> FileSource:
    source = open_source(one, Path("/nowhere"), folder, once)
    assert isinstance(source, FileSource)
    return source


def write(folder: Path, name: str, first: int, n: int, age_s: float = 10.0) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = "id,s\n" + "".join(f"{k},s{k}\n" for k in range(first, first + n))
    (folder / name).write_text(text)
    os.utime(folder / name, times=(time.time() - age_s,) * 2)


def everything(source: ReplaySource) -> pa.Table:
    parts = [source.slice(0, 7)]
    while len(parts[-1]):
        parts.append(source.slice(sum(map(len, parts)), 7))
    return pa.concat_tables(parts)


def ids(table: pa.Table) -> list[Any]:
    return list(table.column("id").to_pylist())


def test_files_are_taken_by_name_and_can_be_cut_anywhere(tmp_path: Path) -> None:
    write(tmp_path / "in", "c.csv", 110, 3)
    write(tmp_path / "in", "a.csv", 0, 100, age_s=1.0)
    write(tmp_path / "in", "b.csv", 100, 10, age_s=99.0)
    write(tmp_path / "in", "_hidden.csv", 500, 10)
    source = opened(stream(tmp_path / "in", header="true"))
    assert source.n_tuples is None
    assert ids(everything(source)) == list(range(113))
    assert source.n_tuples == 113
    rng = random.Random(1)
    for _ in range(50):
        start, count = rng.randrange(115), rng.randrange(1, 120)
        assert ids(source.slice(start, count)) == list(range(113))[start : start + count]
    held = in_memory(opened(stream(tmp_path / "in", header="true")))
    assert (held.n_tuples, ids(held.slice(50, 3))) == (113, [50, 51, 52])


def test_a_run_that_goes_on_keeps_the_order_whatever_comes_between(tmp_path: Path) -> None:
    folder, record = tmp_path / "in", tmp_path / "run"
    write(folder, "b.csv", 0, 5)
    write(folder, "d.csv", 5, 5)
    one = stream(folder, header="true")
    assert ids(opened(one, record).slice(0, 7)) == list(range(7))
    write(folder, "a.csv", 20, 2)  # its name is first, and it comes last
    write(folder, "c.csv", 22, 2)
    assert ids(opened(one, record).slice(7, 99)) == [7, 8, 9, 20, 21, 22, 23]
    again = opened(one, record)
    assert again.n_tuples == 14
    lines = (record / "files-S.jsonl").read_text().splitlines()
    assert [json.loads(line)["n_tuples"] for line in lines] == [None, None, 5, None, None, 5, 2, 2]
    with (record / "files-S.jsonl").open("a") as file:
        file.write('{"path": "/half')  # killed while writing
    assert opened(one, record).n_tuples == 14
    write(folder, "e.csv", 24, 2)  # its line is no part of the one that was cut off
    write(folder, "f.csv", 26, 2)
    assert ids(opened(one, record).slice(14, 99)) == [24, 25, 26, 27]
    write(folder, "b0.csv", 28, 2)
    assert ids(opened(one, record).slice(14, 99)) == [24, 25, 26, 27, 28, 29]


def test_what_became_of_files_since_they_were_read_is_told(tmp_path: Path) -> None:
    folder, record = tmp_path / "in", tmp_path / "run"
    for name in ("a.csv", "b.csv", "c.csv", "d.csv"):
        write(folder, name, 0, 5)
    everything(opened(stream(folder, header="true"), record))
    listed = recorded_files(record / "files-S.jsonl")
    assert [lost_since(one) for one in listed] == [""] * 4
    assert not any(is_written_since(one) for one in listed)
    write(folder, "a.csv", 0, 9)
    write(folder, "b.csv", 0, 3)
    (folder / "c.csv").unlink()
    a, b, c, d = listed
    assert (lost_since(a), is_written_since(a)) == ("", True)
    sizes = f"had {b.n_bytes} bytes when it was read, and has {b.path.stat().st_size} now"
    assert lost_since(b) == f"{b.path} {sizes}"
    assert (lost_since(c), is_written_since(c)) == (f"{c.path} is gone", False)
    assert (lost_since(d), is_written_since(d)) == ("", False)
    before = replace(b, n_bytes=None, written_ns=None)  # as lists of former versions have it
    assert (lost_since(before), is_written_since(before)) == ("", False)
    assert recorded_files(None) == recorded_files(record / "files-T.jsonl") == []


def test_files_that_changed_leave_the_others_in_their_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_source, "GONE_TOGETHER", 2)
    folder, record = tmp_path / "in", tmp_path / "run"
    for name, first in (("a.csv", 0), ("b.csv", 5), ("c.csv", 10)):
        write(folder, name, first, 5)
    one = stream(folder, header="true")
    assert len(everything(opened(one, record))) == 15
    write(folder, "a.csv", 0, 9)
    write(folder, "b.csv", 5, 3)
    (folder / "c.csv").unlink()
    found = opened(one, record).slice(0, 99)
    assert ids(found) == [*range(8), *[None] * 9]
    why = "the file had more tuples when it was read first"
    assert found.column(REASON).to_pylist()[8:10] == [why, why]
    assert "No such file" in found.column(REASON).to_pylist()[10]
    assert found.column(REASON).to_pylist()[11:] == [why] * 4 + [CAME_AGAIN] * 2
    assert found.column(CORRUPT).to_pylist()[15:] == [str(folder / n) for n in ("a.csv", "b.csv")]
    assert max(len(chunk) for chunk in found.column(REASON).chunks[-4:]) == 2


def test_a_file_that_comes_again_is_told_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.workloads.file_source.LOOK_S", 0.0)
    folder, record = tmp_path / "in", tmp_path / "run"
    write(folder, "a.csv", 0, 3)
    source = opened(stream(folder, header="true"), record, once=False)
    assert ids(source.slice(0, 9)) == [0, 1, 2]
    os.utime(folder / "a.csv")  # the same content, touched
    assert len(source.slice(3, 9)) == 0
    write(folder, "a.csv", 5, 3, age_s=0.2)  # may still be written
    assert len(source.slice(3, 9)) == 0
    for first in (5, 7):
        write(folder, "a.csv", first, 3)
        write(folder, f"b{first}.csv", first, 1)
        told = opened(stream(folder, header="true"), record, once=False).slice(3, 9)
        assert told.column(REASON).to_pylist()[0] == CAME_AGAIN
        assert told.column(CORRUPT).to_pylist()[0] == str(folder / "a.csv")
        assert ids(told) == [None, *range(5, first + 1, 2)]
        assert told.equals(source.slice(3, 9)) or first == 5


@pytest.mark.parametrize("is_restarted", [True, False])
def test_a_file_that_comes_again_is_taken_again_where_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_restarted: bool
) -> None:
    monkeypatch.setattr("backend.workloads.file_source.LOOK_S", 0.0)
    folder, record = tmp_path / "in", tmp_path / "run"
    one = stream(folder, header="true", retake="true")
    write(folder, "a.csv", 0, 3)
    source = opened(one, record, once=False)
    assert ids(source.slice(0, 9)) == [0, 1, 2]
    for n_read, first in ((3, 10), (6, 20)):
        write(folder, "a.csv", first, 3)
        source = opened(one, record, once=False) if is_restarted else source
        assert ids(source.slice(n_read, 2)) == [first, first + 1]
        source = opened(one, record, once=False) if is_restarted else source
        assert ids(source.slice(n_read + 2, 9)) == [first + 2]
    assert len(source.slice(9, 9)) == 0


def test_what_becomes_of_a_file_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("backend.workloads.csv_files.BLOCK_BYTES", 64)
    for name in ("cut", "grown", "moved", "gone"):
        write(tmp_path / name, "x.csv", 0, 6_000)
    sources = {n: opened(stream(tmp_path / n, header="true")) for n in os.listdir(tmp_path)}
    begun = {name: len(source.slice(0, 5)) for name, source in sources.items()}
    assert set(begun.values()) == {5}
    os.truncate(tmp_path / "cut" / "x.csv", 40)
    with (tmp_path / "grown" / "x.csv").open("a") as file:
        file.write("9,s9\n")
    (tmp_path / "moved" / "x.csv").rename(tmp_path / "moved" / "y")
    (tmp_path / "gone" / "x.csv").unlink()
    rest = {name: source.slice(5, 99_999) for name, source in sources.items()}
    assert ids(rest["moved"]) == ids(rest["gone"]) == list(range(5, 6_000))
    assert caplog.text.count("was moved or deleted while it was read") == 2
    for name in ("cut", "grown"):
        assert rest[name].column(REASON).to_pylist()[-1] == WRITTEN_MEANWHILE
        assert rest[name].column(CORRUPT).to_pylist()[-1] == str(tmp_path / name / "x.csv")
    assert ids(rest["grown"]) == [*range(5, 6_000), 9, None]


def test_a_watched_folder_has_no_end_and_takes_what_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.workloads.file_source.LOOK_S", 0.0)
    folder = tmp_path / "in"
    folder.mkdir()
    source = opened(stream(folder, header="true"), once=False)
    assert (len(source.slice(0, 5)), source.n_tuples) == (0, None)
    write(folder, "b.csv", 0, 3)
    assert ids(source.slice(0, 5)) == [0, 1, 2]
    write(folder, "c.csv", 3, 3, age_s=0.2)  # may still be written
    write(folder, "a.csv", 6, 2)
    assert ids(source.slice(3, 5)) == [6, 7]
    write(folder, "c.csv", 3, 3)
    assert ids(source.slice(5, 5)) == [3, 4, 5]
    assert len(source.slice(8, 5)) == 0
    with_rate = opened(stream(folder, header="true", rate=5.0), once=False)
    assert len(everything(with_rate)) == with_rate.n_tuples == 8


def test_a_file_that_is_no_good_is_one_misfit(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    write(folder, "a.csv", 0, 2)
    (folder / "b.csv").write_text("s,v\n1,2\n3,4\n")
    (folder / "c.csv").mkdir()
    (folder / "d.csv.gz").write_bytes(b"no gzip")
    (folder / "e.csv").symlink_to(folder / "nothing")
    write(folder, "f.csv", 2, 2)
    found = everything(opened(stream(folder, header="true")))
    assert ids(found) == [0, 1, None, None, None, 2, 3]
    raws, reasons = found.column(CORRUPT).to_pylist(), found.column(REASON).to_pylist()
    assert raws[2:5] == [str(folder / name) for name in ("b.csv", "d.csv.gz", "e.csv")]
    said = "this file cannot be read: its header has no column 'id'; it reads s, v"
    assert reasons[2] == said
    assert all(r.startswith("this file cannot be read: ") for r in reasons[3:5])


@contextmanager
def pipe(path: Path) -> Iterator[list[Path]]:
    """A pipe, whose openings are told, and that holds nobody who reads it: it is empty."""
    openings: list[Path] = []
    is_done = threading.Event()

    def give_nothing() -> None:
        while not is_done.is_set():
            with path.open("wb"):
                openings.append(path)

    os.mkfifo(path)
    giving = threading.Thread(target=give_nothing, daemon=True)
    giving.start()
    try:
        yield openings
    finally:
        is_done.set()
        reading = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # it waits for a reader
        giving.join()
        os.close(reading)


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_what_is_no_regular_file_is_one_misfit_and_never_opened(
    tmp_path: Path, format: str
) -> None:
    (tmp_path / "b").symlink_to("/dev/null")
    with socket.socket(socket.AF_UNIX) as listening, pipe(tmp_path / "a") as openings:
        listening.bind(str(tmp_path / "c"))
        source = opened(stream(tmp_path, format))
        read = source.slice(0, 9)
        assert openings == []
    assert read.column(CORRUPT).to_pylist() == [str(tmp_path / name) for name in "abc"]
    assert set(read.column(REASON).to_pylist()) == {f"this file cannot be read: {NO_FILE}"}


def test_what_is_left_of_a_damaged_file_is_one_misfit(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    values = [f"s{k}" for k in range(20_000)]
    table = pa.table({"id": pa.array(range(20_000), pa.int32()), "s": values})
    pq.write_table(table, path, row_group_size=10_000, compression="gzip", use_dictionary=False)
    data = bytearray(path.read_bytes())
    column = pq.read_metadata(path).row_group(1).column(1)
    start = column.data_page_offset + 100
    data[start : start + 200] = bytes(200)
    path.write_bytes(data)
    source = opened(stream(path, "parquet"))
    found = everything(source)
    assert ids(found) == [*range(10_000), None]
    assert found.column(REASON).null_count == 10_000
    reason = found.column(REASON)[-1].as_py()
    assert reason.startswith("the rest of this file cannot be read: ")
    assert source.n_tuples == len(found)


def test_values_in_names_of_folders(tmp_path: Path) -> None:
    schema = Schema.parse("day date, id int, s string")
    for name, first in (("day=2013-01-02", 2), ("day=2013-01-01", 0), ("other", 9)):
        write(tmp_path / "in" / name, "a.csv", first, 2)
    write(tmp_path / "in" / "day=__HIVE_DEFAULT_PARTITION__", "a.csv", 4, 1)
    write(tmp_path / "in" / "day=someday", "a.csv", 6, 1)
    for path in (tmp_path / "in", tmp_path / "in" / "day=*", tmp_path / "in" / "*" / "*.csv"):
        found = everything(opened(stream(path, schema=schema, header="true"))).to_pylist()
        told = [(str(row["day"]), row["id"]) for row in found if row["id"] is not None]
        assert told[:5] == [
            ("2013-01-01", 0),
            ("2013-01-01", 1),
            ("2013-01-02", 2),
            ("2013-01-02", 3),
            ("None", 4),
        ]
        assert found[5][CORRUPT] == "6,s6"
        assert found[5][REASON] == "day is not a date"


def test_an_empty_folder_ends_at_once_and_a_loop_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    assert opened(stream(tmp_path / "in")).n_tuples == 0
    write(tmp_path / "in", "a.csv", 0, 3)
    source = opened(stream(tmp_path / "in", header="true"))
    assert ids(everything(source)) == ids(everything(source)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("format", "options"),
    [
        ("orc", {}),
        ("csv", {"comment": "#"}),
        ("csv", {"sep": "||"}),
        ("json", {"multiLine": "true"}),
        ("parquet", {"mergeSchema": "true"}),
        ("csv", {"path": "s3a://b/x.csv"}),
        ("kafka", {"subscribe": "t"}),
    ],
)
def test_what_only_spark_reads(format: str, options: dict[str, str]) -> None:
    one = StreamSpec("S", SCHEMA, SourceSpec(format, {"path": "/data", **options}))
    assert reader_of(format, one.source.options) is None
    assert not is_replayed(one)


def test_options_without_effect_are_let_be() -> None:
    options = {"path": "/d", "mode": "PERMISSIVE", "maxFilesPerTrigger": "1", "multiLine": "true"}
    assert reader_of("csv", options) is not None
    assert is_replayed(StreamSpec("S", SCHEMA, SourceSpec("csv", options)))
