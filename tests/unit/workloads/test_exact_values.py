"""Values at the edges of types: the very value that is written, or kept aside with the reason."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT, REASON, fit_table, no_value
from backend.workloads.json_files import read_json
from backend.workloads.parquet_files import moments, read_parquet
from backend.workloads.sources import MemorySource
from backend.workloads.spec import WorkloadError, load_workload
from backend.workloads.text_values import read_text, read_texts

DAY = 86_400
FAR = {  # moments that nanoseconds do not reach, and some that they do
    "9999-12-31 23:59:59": 253_402_300_799,
    "0001-01-01 00:00:00": -62_135_596_800,
    "2262-04-12 00:00:00": 9_223_372_800,
    "1677-09-21 00:00:00": -9_223_372_800,
    "1969-12-31 23:59:59": -1,
    "2024-02-29 12:00:00": 1_709_208_000,
}


def told(table: pa.Table, name: str) -> list[object]:
    """The values of a column, the reason in place of one that is kept aside."""
    pairs = zip(table.column(name).to_pylist(), table.column(REASON).to_pylist(), strict=True)
    return [reason or value for value, reason in pairs]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_moments_of_96_bits_are_those_that_were_written(tmp_path: Path) -> None:
    stamps = pa.array([None, *FAR.values()], pa.timestamp("s"))
    table = pa.table({"id": pa.array(range(len(stamps)), pa.int32()), "until": stamps})
    pq.write_table(table, tmp_path / "c.parquet", use_deprecated_int96_timestamps=True)
    schema = Schema.parse("id int, until timestamp")
    (read,) = read_parquet(tmp_path / "c.parquet", schema, {})
    assert told(read, "until") == [None, *map(moment, FAR)]
    assert read.column("id").to_pylist() == list(range(len(stamps)))


def test_moments_of_96_bits_that_no_timestamp_is_are_kept_aside(tmp_path: Path) -> None:
    fine = pa.array([1500, 2000, -1, None], pa.timestamp("ns"))
    pq.write_table(
        pa.table({"until": fine}), tmp_path / "f.parquet", use_deprecated_int96_timestamps=True
    )
    (read,) = read_parquet(tmp_path / "f.parquet", Schema.parse("until timestamp"), {})
    bad = "until is not a time"
    assert told(read, "until") == [bad, moment("1970-01-01 00:00:00.000002"), bad, None]
    assert read.column(CORRUPT)[0].as_py() == '{"until": "1970-01-01T00:00:00.000001500"}'
    seconds = np.array([253_402_300_800, 0])  # the year 10000
    with np.errstate(over="ignore"):
        nanos = pa.array(seconds * 1_000_000_000).cast(pa.timestamp("ns"))
    late = fit_table(
        pa.table({"until": moments(pa.array(seconds).cast(pa.timestamp("s")), nanos)}),
        Schema.parse("until date"),
    )
    assert told(late, "until") == ["until is not a date", datetime(1970, 1, 1).date()]


@pytest.mark.parametrize(("kind", "stored"), [("timestamp", pa.timestamp("us")), ("date", None)])
def test_years_that_no_text_says_are_kept_aside(kind: str, stored: pa.DataType | None) -> None:
    numbers = [2**60, 0, -(2**60)] if stored else [2**30, 0, -(2**30)]
    column = pa.array(numbers, pa.int64() if stored else pa.int32()).cast(stored or pa.date32())
    read = fit_table(pa.table({"a": column}), Schema.parse(f"a {kind}"))
    assert read.column("a").null_count == 2
    assert told(read, "a")[0] == told(read, "a")[2] == no_value("a", kind)
    assert read.column(CORRUPT)[0].as_py() == f'{{"a": {numbers[0]}}}'


NUMBERS = [
    ("9007199254740993", 9007199254740993),
    ("9007199254740993.0", 9007199254740993),
    ("-9007199254740993.00", -9007199254740993),
    ("1.2345678901234567e18", 1234567890123456700),
    ("9223372036854775807.0", 2**63 - 1),
    ("9223372036854775808.0", "id is not a whole number of 64 bits"),
    ("9007199254740993.5", "id is not a whole number of 64 bits"),
    ("1.00000000000000000001", "id is not a whole number of 64 bits"),
    ("1e400", "id is not a whole number of 64 bits"),
    ("2.0", 2),
    ("-0.0", 0),
]


def test_whole_numbers_with_a_point_in_json_are_the_numbers_written(tmp_path: Path) -> None:
    (tmp_path / "j.json").write_text("".join(f'{{"id": {text}}}\n' for text, _ in NUMBERS))
    (read,) = [t for t in read_json(tmp_path / "j.json", Schema.parse("id bigint"), {}) if len(t)]
    assert told(read, "id") == [value for _, value in NUMBERS]
    doubles = [t for t in read_json(tmp_path / "j.json", Schema.parse("id double"), {}) if len(t)]
    expected = [float(text) for text, _ in NUMBERS]
    assert told(doubles[0], "id") == ["id is not a number" if v == np.inf else v for v in expected]


def test_whole_numbers_with_a_point_in_rows_are_the_numbers_written(tmp_path: Path) -> None:
    rows = ", ".join(f"[{text}]" for text, _ in NUMBERS)
    (tmp_path / "w.toml").write_text(
        f'[streams.S]\nschema = "id bigint"\nsource = {{ format = "memory", rows = [{rows}] }}\n'
        "[knobs]\nmu = 9007199254740993.0\n"
    )
    workload = load_workload(tmp_path / "w.toml")
    (stream,) = workload.streams
    read = MemorySource(stream.source.rows or (), stream.schema).slice(0, 99)
    assert told(read, "id") == [value for _, value in NUMBERS]
    assert type(workload.knobs["mu"]) is float


def test_a_time_in_rows_that_is_finer_than_a_microsecond_is_refused(tmp_path: Path) -> None:
    def read(time: str) -> list[object]:
        (tmp_path / "w.toml").write_text(
            '[streams.S]\nschema = "at timestamp"\n# 10:00:00.1234567\n'
            f'source = {{ format = "memory", rows = [["no 10:00:00.1234567"], [{time}]] }}\n'
        )
        (stream,) = load_workload(tmp_path / "w.toml").streams
        return told(MemorySource(stream.source.rows or (), stream.schema).slice(0, 9), "at")

    fine = moment("2024-05-01 10:00:00.123456")
    assert read("2024-05-01T10:00:00.1234560Z") == ["at is not a time", fine]
    with pytest.raises(WorkloadError, match=r"line 4: the time at .* is finer than a microsecond"):
        read("2024-05-01T10:00:00.1234567Z")


OFFSETS = {
    "2024-10-27T02:30:00+02:99": None,
    "2024-10-27T02:30:00+0260": None,
    "2024-10-27T02:30:00+23:59": "2024-10-26 02:31",
    "2024-10-27T02:30:00+24:00": None,
    "2024-10-27T02:30:00-24:00": None,
    "2024-10-27T02:30:00-18:00": "2024-10-27 20:30",
    "2024-10-27T02:30:00-00:60": None,
    "2024-10-27 02:30+05:30": "2024-10-26 21:00",
    "2024-10-27 02:30 Z": "2024-10-27 02:30",
    "0001-01-01T00:30:00+02:00": None,
    "9999-12-31 23:30-02:00": None,
    "2016-12-31 23:59:60": None,
    "2016-12-31 24:00:00": None,
    "1968-10-01T01:00:00Z": "1968-10-01 01:00",
}


@pytest.mark.parametrize("text", OFFSETS)
def test_what_says_no_moment_is_none(text: str) -> None:
    expected = OFFSETS[text]
    column, bad = read_texts(pa.array([text]), "timestamp")
    assert bool(bad[0]) == (expected is None)
    assert column[0].as_py() == (None if expected is None else moment(expected))
    if expected is None:
        with pytest.raises(ValueError, match=r".*"):
            read_text(text, "timestamp")
