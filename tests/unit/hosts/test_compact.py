"""Small files of a sink are merged, and every reader sees every tuple once, whenever it looks."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from backend.hosts import compact
from backend.hosts.compact import SHADOW, SinkFile, chosen, compact_one, sink_file
from backend.hosts.publish import FolderSink
from backend.model.schema import Schema
from backend.operators.contract import KeptAside
from backend.operators.parts import Parts, sink_schema

SCHEMA = Schema.parse("id bigint, text string, at timestamp")


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact, "FILES_TOGETHER", 8)


def n_of(batch: int) -> int:
    """Tuples of a batch; some have none."""
    return (batch * 7) % 5


def ids_of(batch: int) -> list[int]:
    return [batch * 10 + k for k in range(n_of(batch))]


class Run:
    """A sink that batches are published to."""

    def __init__(self, folder: Path, format: str = "parquet", compact: bool = True) -> None:
        self.folder, self.format = folder, format
        self.sink = FolderSink(f"{folder}/stream=S", format, sink_schema(SCHEMA), compact)

    def publish(self, batch: int) -> None:
        parts = Parts(f"{self.folder}/stream=S", self.format, sink_schema(SCHEMA), batch, 0)
        rows = [
            {"id": k, "text": f'"{k}",\n', "at": k, "query_ids": ["a", "b"]} for k in ids_of(batch)
        ]
        if rows:
            parts.add(pa.RecordBatch.from_pylist(rows, sink_schema(SCHEMA)))
        if batch % 3 == 0:
            parts.keep_aside([KeptAside(f"line {batch}", "no good")])
        self.sink.publish(batch, parts.close())
        if self.sink.compactor is not None:
            compact_one([self.sink.compactor], batch)

    @property
    def stream(self) -> Path:
        return self.folder / "stream=S"


def read(path: Path) -> list[int]:
    """The ids in a file."""
    if path.suffix == ".parquet":
        return list(pq.read_table(path).column("id").to_pylist())
    if path.suffix == ".csv":
        options = pyarrow.csv.ParseOptions(newlines_in_values=True)
        return list(pyarrow.csv.read_csv(path, parse_options=options).column("id").to_pylist())
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


def listed(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("_"))


def held(run: Run) -> list[int]:
    return sorted(k for path in listed(run.stream) for k in read(path))


def aside(run: Run) -> list[str]:
    files = sorted(
        (run.stream / "_misfits").iterdir(), key=lambda path: int(path.stem.split("-")[1])
    )
    return [json.loads(line)["raw"] for path in files for line in path.read_text().splitlines()]


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_every_tuple_is_there_once_after_every_batch(tmp_path: Path, format: str) -> None:
    run, expected, most = Run(tmp_path, format), [], 0
    for batch in range(150):
        run.publish(batch)
        expected += ids_of(batch)
        assert held(run) == expected
        most = max(most, len(listed(run.stream)))
        assert not (tmp_path / SHADOW / "stream=S").exists()
    assert aside(run) == [f"line {batch}" for batch in range(0, 150, 3)]
    assert most < 20
    assert len(list((run.stream / "_misfits").iterdir())) < 20
    left = Run(tmp_path / "other", format, compact=False)
    for batch in range(30):
        left.publish(batch)
    assert len(listed(left.stream)) == sum(n_of(batch) > 0 for batch in range(30)) + 1


def test_a_merged_file_reads_as_its_parts_did(tmp_path: Path) -> None:
    merged, parts = Run(tmp_path / "a"), Run(tmp_path / "b", compact=False)
    for batch in range(40):
        merged.publish(batch)
        parts.publish(batch)
    tables = [
        pa.concat_tables(pq.read_table(path) for path in listed(run.stream)).sort_by("id")
        for run in (merged, parts)
    ]
    assert len(listed(merged.stream)) < len(listed(parts.stream)) / 2
    assert tables[0].equals(tables[1])
    rows = [pq.read_metadata(path).num_row_groups for path in listed(merged.stream)]
    assert max(rows) == 1


def layout(path: Path) -> tuple[tuple[str, tuple[str, ...], str, bool], ...]:
    """How each column of a file is written: name, encodings, compression, least and greatest."""
    group = pq.read_metadata(path).row_group(0)
    columns = (group.column(k) for k in range(group.num_columns))
    return tuple(
        (one.path_in_schema, tuple(sorted(set(one.encodings))), one.compression, one.is_stats_set)
        for one in columns
    )


def test_a_merged_file_is_written_as_its_parts_were(tmp_path: Path) -> None:
    merged, parts = Run(tmp_path / "a"), Run(tmp_path / "b", compact=False)
    for batch in range(40):
        merged.publish(batch)
        parts.publish(batch)
    filled = [path for path in listed(parts.stream) if read(path)]
    (expected,) = {layout(path) for path in filled}
    encodings = {name: kinds for name, kinds, _, _ in expected}
    for name in ("id", "at"):
        assert "DELTA_BINARY_PACKED" in encodings[name]
    for name in ("text", "query_ids.list.element"):
        assert "RLE_DICTIONARY" in encodings[name]
    together = [path for path in listed(merged.stream) if path.name.startswith("batches-")]
    assert together
    for path in together:
        assert layout(path) == expected


class Killed(BaseException):
    """As kill -9 is: nothing that follows is done."""


def killed_at(name: str, after: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    found: Callable[..., Any] = getattr(compact, name)

    def dies(*arguments: Any) -> Any:
        if after:
            found(*arguments)
        raise Killed

    monkeypatch.setattr(compact, name, dies)


def last_batch_of(run: Run) -> int:
    """Publishes batches until it is killed; the one it was at."""
    for batch in range(100):
        try:
            run.publish(batch)
        except Killed:
            return batch
    raise AssertionError("nothing was merged")


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("name", ["merge", "build", "swap", "chosen"])
def test_a_run_killed_while_merging_is_right_when_it_goes_on(
    tmp_path: Path, name: str, after: bool
) -> None:
    run = Run(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        killed_at(name, after, patch)
        batch = last_batch_of(run)
    expected = [k for number in range(batch + 1) for k in ids_of(number)]
    assert held(run) == expected  # who looks now sees everything once
    again = Run(tmp_path)
    for number in range(batch, batch + 30):  # the last batch comes again
        again.publish(number)
    expected = [k for number in range(batch + 30) for k in ids_of(number)]
    assert held(again) == expected
    assert aside(again) == [f"line {n}" for n in range(batch + 30) if n % 3 == 0]
    assert not (tmp_path / SHADOW / "stream=S").exists()


def test_the_last_batch_may_come_again_right_after_a_merge(tmp_path: Path) -> None:
    expected: list[int] = []
    for batch in range(60):
        Run(tmp_path).publish(batch)
        Run(tmp_path).publish(batch)
        expected += ids_of(batch)
        assert held(Run(tmp_path)) == expected


def test_readers_that_look_all_the_time_see_every_tuple_once(tmp_path: Path) -> None:
    run, over, seen, wrong = Run(tmp_path), threading.Event(), set(), []
    prefixes = {0: 0}
    for batch in range(200):
        prefixes[sum(map(n_of, range(batch + 1)))] = batch

    def look() -> None:
        while not over.is_set():
            try:
                found = [k for path in listed(run.stream) for k in read(path)]
            except FileNotFoundError:
                continue  # gone since the folder was listed: the reader lists it again
            if len(found) != len(set(found)) or len(found) not in prefixes:
                wrong.append(sorted(found))
            seen.add(len(found))

    run.publish(0)
    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for batch in range(1, 200):
        run.publish(batch)
    over.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(seen) > 5


def sized(*sizes: tuple[str, int]) -> Iterator[SinkFile]:
    for name, size in sizes:
        path = Path(name)
        path.write_bytes(bytes(size))
        file = sink_file(path)
        assert file is not None
        yield file


def test_what_is_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(compact, "LARGE_BYTES", 1000)
    large = ("batches-00000000-00000009.json", 900)
    small = ("batches-00000010-00000019.json", 25)
    singles = [(f"batch-{k:08d}-00000.json", 10) for k in (20, 21)]
    assert [f.first for f in chosen(list(sized(large, small, *singles)))] == [10, 20, 21]
    assert [
        f.first for f in chosen(list(sized(small, *singles, ("batch-00000022-00000.json", 500))))
    ]
    assert chosen(list(sized(singles[0], ("batch-00000023-00000.json", 2000)))) == []
    assert chosen([]) == []
    alike = [(f"batch-{k:08d}-00000.json", 400) for k in range(30, 34)]
    assert [f.first for f in chosen(list(sized(*alike)))] == [32, 33]
    assert sink_file(Path("batch-1.json")) is None
    assert sink_file(Path("_SUCCESS")) is None


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_query_that_answers_with_other_columns_keeps_those_of_before(
    tmp_path: Path, format: str
) -> None:
    schemas = [
        pa.schema([("id", pa.int64()), ("text", pa.string())]),
        pa.schema([("text", pa.string()), ("more", pa.float64()), ("id", pa.int64())]),
    ]
    folder = f"{tmp_path}/query=q"
    sinks = [FolderSink(folder, format, schema) for schema in schemas]
    for batch in range(30):
        schema, sink = schemas[batch // 12 % 2], sinks[batch // 12 % 2]
        parts = Parts(folder, format, schema, batch, 0)
        row = {"id": batch, "text": f"b{batch}", "more": 0.5}
        parts.add(pa.RecordBatch.from_pylist([row], schema))
        sink.publish(batch, parts.close())
        assert sink.compactor is not None
        compact_one([sink.compactor], batch)
        assert sorted(k for path in listed(Path(folder)) for k in read(path)) == list(
            range(batch + 1)
        )
    assert len(listed(Path(folder))) < 20


def test_one_folder_a_batch_is_merged_and_none_is_copied_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [Run(tmp_path / name) for name in "abc"]
    compactors = [run.sink.compactor for run in runs if run.sink.compactor]
    monkeypatch.setattr(compact, "FILES_TOGETHER", 1000)
    for batch in range(20):
        for run in runs:
            run.publish(batch)
    monkeypatch.setattr(compact, "FILES_TOGETHER", 8)
    monkeypatch.setattr(compact, "LARGE_BYTES", 1)
    with monkeypatch.context() as patch:
        killed_at("build", False, patch)
        compact_one(compactors[:1], 20)  # nothing is worth merging
    monkeypatch.setattr(compact, "LARGE_BYTES", 1 << 20)
    for expected in (1, 2, 2):
        compact_one(compactors, 20)
        assert sum(bool(list(run.stream.glob("batches-*"))) for run in runs) == expected


def test_a_file_system_that_cannot_swap_keeps_its_small_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(one: Path, other: Path) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(compact, "swap", refuse)
    run = Run(tmp_path)
    for batch in range(40):
        run.publish(batch)
    assert held(run) == [k for batch in range(40) for k in ids_of(batch)]
    assert caplog.text.count("stay as they are") == 1
    assert not (tmp_path / SHADOW / "stream=S").exists()
