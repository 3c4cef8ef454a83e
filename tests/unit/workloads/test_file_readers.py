"""Every reader of files beside a slow and obvious one, on files as nasty as they come."""

from __future__ import annotations

import codecs
import gzip
import random
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.model.schema import Schema
from backend.operators.values import json_lines
from backend.workloads import csv_files, json_files
from backend.workloads.contract import CORRUPT, REASON, MisfitError, told_schema
from backend.workloads.csv_files import CsvLayout, header_of
from backend.workloads.csv_files import read_csv as read_csv_file
from backend.workloads.json_files import read_json as read_json_file
from backend.workloads.parquet_files import read_parquet
from tests.oracles import file_readers as oracle

SCHEMA = Schema.parse("n tinyint, s string, x float, t timestamp")
WIDE = Schema.parse(
    "a tinyint, b smallint, c int, d bigint, e float, f double, g string, h boolean, i date, "
    "j timestamp"
)
#: What files are made of, put together in any order.
CSV_PARTS = [
    *(b'"', b'""', b",", b",", b"\n", b"\n", b"\r\n", b"\r", b" ", b"\t", b"\\", b"'"),
    *(b"1", b"-5", b"127", b"128", b"+3", b"1.5", b"1e39", b"nan", b"a", b"\xc3\xa9", b"\xff"),
    *(b"2013-01-31", b"2013-02-30 10:00", b"2013-01-31 10:00:00.000001+02:00", b"0001-01-01"),
    *(b"1,x,2.5,2013-01-31T10:00:00Z\n", b'2,"a\nb",,\r\n', b'3,"",1,"2013-01-01"\n', b"\x00"),
]
JSON_PARTS = [
    *(b'{"n": 1, "s": "x"}', b'{"S": "y", "more": [1, {}]}', b'{"n": 1e2, "x": 1e39}', b"{}"),
    *(b'{"n": 128}', b'{"n": "1"}', b'{"s": 5}', b'{"s": "\\ud800"}', b'{"n": 1, "n": 2}'),
    *(b'{"x": "NaN", "t": "2013-01-31"}', b'{"x": 1e400}', b'{"t": {}}', b'{"n": 2.0}', b"[1]"),
    *(b'{"n": 1, "N": 2}', b'{"more": 1}', b'{"s": "\xc3\xa9"}', b'{"s": "\xff"}', b"null"),
    *(b'{"x": NaN}', b'{"x": -Infinity, "n": null}', b'{"n": NaN}', b'{"x": ' + b"9" * 5000 + b"}"),
    *(b"{", b" ", b"\n", b"\n", b"\r\n", b"\r", b'{"n": true}', b"\xef\xbb\xbf"),
]


def rows(tables: Iterator[pa.Table], schema: Schema = SCHEMA) -> list[oracle.Read]:
    """What was read, as the oracle has it; every misfit has its reason, and nothing else has."""
    found: list[oracle.Read] = []
    for table in tables:
        assert table.schema == told_schema(schema)
        for row in table.to_pylist():
            raw, reason = row.pop(CORRUPT), row.pop(REASON)
            assert (raw is None) == (reason is None)
            assert raw is None or set(row.values()) == {None}
            found.append(row if raw is None else raw)
    return found


def same(
    found: Sequence[oracle.Read], expected: Sequence[oracle.Read], schema: Schema = SCHEMA
) -> None:
    floats = [a.name for a in schema.attributes if a.type == "float"]
    for row in expected:
        if not isinstance(row, dict):
            continue
        for name in floats:
            if row[name] is not None:
                row[name] = pa.scalar(row[name], pa.float32()).as_py()
    assert repr(found) == repr(expected).replace("datetime.timezone.utc", UTC)


UTC = repr(pa.scalar(0, pa.timestamp("us", "UTC")).as_py().tzinfo)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files") / "file"


@pytest.mark.parametrize("block_bytes", [7, 1 << 20])
@given(st.lists(st.sampled_from(CSV_PARTS), max_size=40))
@settings(max_examples=150, deadline=None)
def test_csv_is_read_as_the_definition_says(
    file: Path, block_bytes: int, parts: list[bytes]
) -> None:
    data = b"".join(parts)
    file.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "BLOCK_BYTES", block_bytes)
        found = rows(read_csv_file(file, SCHEMA, CsvLayout(), {}))
    same(found, oracle.read_csv(data, SCHEMA, False))


@given(
    st.permutations(["n", "S", "x", "T", '"more, of it"', ""]),
    st.integers(3, 6),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.lists(st.sampled_from(CSV_PARTS), max_size=20),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_columns_of_csv_are_found_by_name(
    file: Path, names: list[str], n: int, end: bytes, parts: list[bytes], has_bom: bool
) -> None:
    header = ",".join(names[:n]).encode() + end
    data = (
        codecs.BOM_UTF8 * has_bom + header + b"1,2,3,4,5,6"[: 2 * n - 1] + b"\n" + b"".join(parts)
    )
    file.write_bytes(data)
    try:
        expected = oracle.read_csv(data, SCHEMA, True)
    except oracle.NoValue:
        with pytest.raises(MisfitError, match="its header"):
            rows(read_csv_file(file, SCHEMA, CsvLayout(True), {}))
    else:
        same(rows(read_csv_file(file, SCHEMA, CsvLayout(True), {})), expected)


@pytest.mark.parametrize("block_bytes", [7, 1 << 20])
@given(st.lists(st.sampled_from(JSON_PARTS), max_size=20))
@settings(max_examples=150, deadline=None)
def test_json_is_read_as_the_definition_says(
    file: Path, block_bytes: int, parts: list[bytes]
) -> None:
    data = b"".join(parts)
    file.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_files, "BLOCK_BYTES", block_bytes)
        found = rows(read_json_file(file, SCHEMA, {}))
    same(found, oracle.read_json(data, SCHEMA))


#: One value of each type in turn, as text; the oracle says whether it fits.
EXTREME = {
    "tinyint": ["127", "-128", "128"],
    "smallint": ["32767", "32768"],
    "int": ["-2147483648", "2147483648", "1_0"],
    "bigint": ["9223372036854775807", "-9223372036854775809"],
    "float": ["3.4028235e38", "3.4028236e38", "1e-46", "-0.0", "0.1", "16777217"],
    "double": ["1.7976931348623157e308", "1.7976931348623159e308", "5e-324", "0.30000000000000004"],
    "string": ["", "NULL", "a\x00b", "🛩", " x "],
    "boolean": ["true", "FALSE", "0"],
    "date": ["0001-01-01", "9999-12-31", "2012-02-29", "2013-02-29"],
    "timestamp": ["0001-01-01 00:00:00", "9999-12-31 23:59:59.999999", "0001-01-01 00:00:00+00:01"],
}


def extremes() -> list[list[str]]:
    """Tuples that fit but for one value."""
    fitting = [values[0] for values in EXTREME.values()]
    return [
        [*fitting[:place], value, *fitting[place + 1 :]]
        for place, values in enumerate(EXTREME.values())
        for value in values
    ]


def test_the_same_tuples_in_csv_json_and_parquet_are_the_same_tuples(file: Path) -> None:
    csv = "".join(",".join(f'"{v}"' for v in row) + "\n" for row in extremes()).encode()
    expected = oracle.read_csv(csv, WIDE, False)
    file.write_bytes(csv)
    same(rows(read_csv_file(file, WIDE, CsvLayout(), {}), WIDE), expected, WIDE)

    kept = [row for row in expected if isinstance(row, dict)]
    assert 15 < len(kept) < len(expected)
    columns = {a.name: [row[a.name] for row in kept] for a in WIDE.attributes}
    target = told_schema(WIDE)
    table = pa.table(
        {name: pa.array(values, target.field(name).type) for name, values in columns.items()}
    )
    pq.write_table(table, file, row_group_size=5)
    same(rows(read_parquet(file, WIDE, {}), WIDE), kept, WIDE)

    file.write_text("\n".join(json_lines(table)), encoding="utf-8")
    same(rows(read_json_file(file, WIDE, {}), WIDE), kept, WIDE)


def test_parquet_columns_by_name_and_of_other_types(file: Path) -> None:
    nothing: list[Any] = [None, None]
    table = pa.table(
        {
            "X": pa.array([1e39, 0.5]),
            "N": pa.array([5.0, 5.5]),
            "more": [1, 2],
            "S": pa.array(["a", "b"]).dictionary_encode(),
            "t": pa.array([1_000, 2_000], pa.timestamp("ms")),
        }
    )
    pq.write_table(table, file)
    found = rows(read_parquet(file, SCHEMA, {}))
    assert found == [
        '{"X": 1e+39, "N": 5.0, "S": "a", "t": "1970-01-01 00:00:01"}',
        '{"X": 0.5, "N": 5.5, "S": "b", "t": "1970-01-01 00:00:02"}',
    ]
    (told,) = read_parquet(file, Schema.parse("n double, x double"), {})
    assert told.column(REASON).to_pylist() == nothing
    with pytest.raises(MisfitError, match="it has no column 'y'; it has X, N, more, S, t"):
        list(read_parquet(file, Schema.parse("n int, y int"), {}))
    (told,) = read_parquet(file, Schema.parse("n double, day date"), {"day": "2013-01-31"})
    assert [str(value) for value in told.column("day").to_pylist()] == ["2013-01-31"] * 2
    with pytest.raises(MisfitError, match="in its path, day is not a date"):
        list(read_parquet(file, Schema.parse("n double, day date"), {"day": "today"}))


def test_a_lone_quote_costs_its_own_line_however_long_the_file(file: Path) -> None:
    line = b'%d,"x\ny",1,\n'
    data = b"".join(line % (k % 100) for k in range(200_000))
    file.write_bytes(b'7,"lone,1,\n' + data + b'8,b"c,2,\n9,"\n')
    reasons = pa.concat_tables(read_csv_file(file, SCHEMA, CsvLayout(), {})).column(REASON)
    assert len(reasons) == 200_003
    bad = [(k, reason) for k, reason in enumerate(reasons.to_pylist()) if reason is not None]
    assert bad == [(0, csv_files.BAD_QUOTES), (200_002, csv_files.BAD_QUOTES)]


def test_a_line_without_end_is_refused_and_not_held(file: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (csv_files, json_files):
            patch.setattr(module, "BLOCK_BYTES", 50_000)
        patch.setattr(csv_files, "LONGEST_RECORD_BYTES", 1 << 20)
        patch.setattr(json_files, "LONGEST_LINE_BYTES", 1 << 20)
        file.write_bytes(b"1,a,2,\n" + b"x" * (3 << 20))
        with pytest.raises(MisfitError, match="line 2 is longer than 1 MiB"):
            rows(read_csv_file(file, SCHEMA, CsvLayout(), {}))
        with pytest.raises(MisfitError, match="line 2 is longer than 1 MiB"):
            rows(read_json_file(file, SCHEMA, {}))
        file.write_bytes(b"x" * (3 << 20))
        with pytest.raises(MisfitError, match="line 1 is longer than 1 MiB"):
            rows(read_csv_file(file, SCHEMA, CsvLayout(has_header=True), {}))


def test_what_is_before_a_line_that_is_too_long_is_read(file: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (csv_files, json_files):
            patch.setattr(module, "BLOCK_BYTES", 1 << 14)
        patch.setattr(csv_files, "LONGEST_RECORD_BYTES", 1 << 15)
        patch.setattr(json_files, "LONGEST_LINE_BYTES", 1 << 15)
        for read, line in ((_read_titled, b"1,a,2,\n"), (read_json_file, b'{"n": 1}\n')):
            file.write_bytes(b"n,s,x,t\n" * (read is _read_titled) + line * 9 + b"x" * (3 << 20))
            tables = read(file, SCHEMA, {})
            before: list[pa.Table] = []
            with pytest.raises(MisfitError, match=r"line (10|11) is longer than 0 MiB"):
                before.extend(tables)
            assert sum(map(len, before)) == 9


def _read_titled(path: Path, schema: Schema, told: dict[str, str | None]) -> Iterator[pa.Table]:
    return read_csv_file(path, schema, CsvLayout(has_header=True), told)


@pytest.mark.parametrize(
    ("data", "n_bad"),
    [
        (b"a" * 100_000, 0),
        (b"n,s,x,t\n" + b'x","\n' * 80_000, 80_000),
        (b"n,s,x,t\n" + b'"a,\n' * 80_000, 80_000),
    ],
)
def test_time_grows_with_the_size_of_a_file_whatever_it_holds(
    file: Path, data: bytes, n_bad: int
) -> None:
    file.write_bytes(data)
    began = time.process_time()
    try:
        read = rows(read_csv_file(file, SCHEMA, CsvLayout(has_header=True), {}))
    except MisfitError:
        read = []
    assert time.process_time() - began < 15.0
    assert len(read) == n_bad


@pytest.mark.parametrize(
    ("options", "data", "expected"),
    [
        ({"sep": ";"}, b"1;a,b;2;\n", {"n": 1, "s": "a,b", "x": 2.0, "t": None}),
        ({"delimiter": "\\t"}, b"1\ta\t2\t\n", {"n": 1, "s": "a", "x": 2.0, "t": None}),
        ({"quote": "'"}, b"1,'a''b',2,\n", {"n": 1, "s": "a'b", "x": 2.0, "t": None}),
        ({"quote": ""}, b'1,"a,2,\n', {"n": 1, "s": '"a', "x": 2.0, "t": None}),
        ({"nullValue": "NA"}, b'NA,"NA",2,NA\n', {"n": None, "s": "NA", "x": 2.0, "t": None}),
        ({"encoding": "ISO-8859-1"}, b"1,\xe9,2,\n", {"n": 1, "s": "é", "x": 2.0, "t": None}),
        (
            {"encoding": "UTF-16", "header": "true"},
            "n,s,x,t\n1,é,2,\n".encode("utf-16"),
            {"n": 1, "s": "é", "x": 2.0, "t": None},
        ),
    ],
)
def test_csv_written_in_other_ways(
    file: Path, options: dict[str, str], data: bytes, expected: dict[str, Any]
) -> None:
    layout = CsvLayout.of(options)
    assert layout is not None
    file.write_bytes(data)
    assert rows(read_csv_file(file, SCHEMA, layout, {})) == [expected]
    packed = file.with_suffix(".gz")
    packed.write_bytes(gzip.compress(data))
    assert rows(read_csv_file(packed, SCHEMA, layout, {})) == [expected]
    assert header_of(packed, layout) is not None


@pytest.mark.parametrize(
    "options",
    [{"sep": "||"}, {"escape": "\\"}, {"quote": "é"}, {"sep": ",", "quote": ","}, {"sep": "\n"}],
)
def test_csv_that_is_left_to_spark(options: dict[str, str]) -> None:
    assert CsvLayout.of(options) is None


def test_files_that_break_off(file: Path) -> None:
    lines = [b"%d,%d,2,\n" % (k % 100, random.Random(k).getrandbits(60)) for k in range(9000)]
    data = b"".join(lines)
    file = file.with_suffix(".gz")
    packed = gzip.compress(data)
    cut = packed[: len(packed) // 2]
    file.write_bytes(cut)
    n_whole = zlib.decompressobj(31).decompress(cut).count(b"\n")
    assert 1000 < n_whole < 8000
    read: list[pa.Table] = []
    with pytest.raises(OSError, match="Truncated"):
        read.extend(read_csv_file(file, SCHEMA, CsvLayout(), {}))
    expected = [f"{line.split(b',')[1].decode()}" for line in lines[:n_whole]]
    assert [row["s"] for row in rows(iter(read)) if isinstance(row, dict)] == expected
    pq.write_table(pa.table({"n": [1]}), file)
    whole = file.read_bytes()
    for broken in (b"", whole[:10], whole[:-8] + struct.pack("<I", 1 << 30) + b"PAR1"):
        file.write_bytes(broken)
        with pytest.raises((OSError, pa.ArrowInvalid)):
            rows(read_parquet(file, SCHEMA, {}))
