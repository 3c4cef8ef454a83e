"""Tuples that fit their schema, and tuples that are kept aside."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from backend.model.schema import Schema
from backend.workloads.contract import (
    CORRUPT,
    REASON,
    MisfitError,
    fit_column,
    fit_rows,
    fit_table,
    fit_value,
    told_schema,
)
from backend.workloads.text_values import ARROW_TYPES, read_text, read_texts

SCHEMA = Schema.parse("i int, f double, s string, b boolean, d date, t timestamp")
FITTING = [1, 2.5, "a", True, date(2013, 1, 1), datetime(2013, 1, 1, 12)]


def test_rows_become_typed_columns_and_null_stays_null() -> None:
    table = fit_rows([FITTING, {"I": 7, "s": "x"}, [None, {}, None, None, {}, None]], SCHEMA)
    assert table.schema == told_schema(SCHEMA)
    assert table.column_names == [*SCHEMA.names, CORRUPT, REASON]
    assert table.column(CORRUPT).null_count == table.column(REASON).null_count == 3
    noon = datetime(2013, 1, 1, 12, tzinfo=UTC)
    assert list(table.to_pylist()[0].values()) == [*FITTING[:5], noon, None, None]
    assert table.to_pylist()[1]["i"] == 7
    assert list(table.to_pylist()[2].values()) == [None] * 8


@pytest.mark.parametrize(
    ("row", "raw", "reason"),
    [
        (
            ["x", 2.5, "a", True, None, None],
            '["x", 2.5, "a", true, null, null]',
            "i is not a whole number of 32 bits",
        ),
        ([1, 2.5, "é"], '[1, 2.5, "é"]', "3 values for 6 attributes"),
        ({"i": 1, "zzz": 2}, '{"i": 1, "zzz": 2}', "unknown attribute 'zzz'"),
        (
            {"d": date(2013, 1, 1), "i": 2**40},
            '{"d": "2013-01-01", "i": 1099511627776}',
            "i is not a whole number of 32 bits",
        ),
    ],
)
def test_a_misfit_is_all_null_with_its_raw_text_and_why(row: Any, raw: str, reason: str) -> None:
    table = fit_rows([FITTING, row], SCHEMA)
    assert list(table.to_pylist()[1].values()) == [*[None] * 6, raw, reason]
    assert table.column(CORRUPT).to_pylist() == [None, raw]


def test_no_rows_and_no_values() -> None:
    assert fit_rows([], SCHEMA).schema == told_schema(SCHEMA)
    assert fit_rows([{}], SCHEMA).num_rows == 1


@pytest.mark.parametrize(
    ("value", "type_name", "fitted"),
    [
        (2.0, "int", 2),
        (-128, "tinyint", -128),
        (32767, "smallint", 32767),
        (2**63 - 1, "bigint", 2**63 - 1),
        (5, "double", 5.0),
        (5, "float", 5.0),
        ("2013-01-31", "date", date(2013, 1, 31)),
        ("2013-01-31 10:00:00", "timestamp", datetime(2013, 1, 31, 10, tzinfo=UTC)),
        ("2013-01-31T10:00:00+02:00", "timestamp", datetime(2013, 1, 31, 8, tzinfo=UTC)),
        (date(2013, 1, 31), "timestamp", datetime(2013, 1, 31, tzinfo=UTC)),
        ({}, "int", None),
        (datetime(2013, 1, 31), "date", date(2013, 1, 31)),
        (3.4028235e38, "float", 3.4028235e38),
        ("0001-01-01 00:00:00", "timestamp", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_values_that_fit(value: Any, type_name: str, fitted: Any) -> None:
    found = fit_value(value, type_name)
    assert found == fitted
    assert type(found) is type(fitted)


@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        (128, "tinyint"),
        (-32769, "smallint"),
        (2**31, "int"),
        (2**63, "bigint"),
        (2.5, "int"),
        (float("nan"), "int"),
        (True, "int"),
        ("5", "int"),
        (True, "double"),
        ("5", "double"),
        (10**400, "double"),
        (5, "string"),
        (1, "boolean"),
        ("true", "boolean"),
        (datetime(2013, 1, 1, 0, 0, 1), "date"),
        (1e39, "float"),
        ("half \ud800", "string"),
        ("2013-W01-1", "date"),
        ("20130101", "date"),
        ("9999-12-31T23:59:59-05:00", "timestamp"),
        ("2013-02-30", "date"),
        ("noon", "timestamp"),
        (5, "timestamp"),
        ([1], "int"),
    ],
)
def test_values_that_do_not_fit(value: Any, type_name: str) -> None:
    with pytest.raises(MisfitError):
        fit_value(value, type_name)


@pytest.mark.parametrize(
    ("type_name", "fitting", "others"),
    [
        ("tinyint", ["1", " -128\t", "+7", "007"], ["128", "1.0", "1_0", "0x1", "one", "٣"]),
        ("int", ["2147483647", "-2147483648"], ["2147483648", "9" * 5000]),
        ("bigint", ["9223372036854775807", "123456789012345678"], ["9223372036854775808"]),
        ("float", ["0.1", "16777217", "1e-50", "nan", "-Infinity"], ["1e39", "1,5", "0x1p3"]),
        ("double", ["0.1", "5.", ".5", "1e308", "INF", "9007199254740993"], ["1e309", "1e", "."]),
        ("boolean", ["true", "FALSE", " True"], ["1", "yes", "t"]),
        ("date", ["2013-01-31", "2013-1-5", "0001-01-01"], ["2013-02-29", "0000-01-01", "31.1.13"]),
        (
            "timestamp",
            [
                "2013-01-31 10:00",
                "2013-01-31T10:00:00.000001Z",
                "2013-01-31 10:00:00.1234560",
                "2013-10-27 02:30:00+01:00",
                "2013-01-31 10:00:00 -0530",
                "2013-01-31",
            ],
            ["2013-01-31 10:00:00.0000001", "2013-01-31 24:00", "2013-01-31 10:00 CET", "noon"],
        ),
    ],
)
def test_a_column_of_text_is_read_as_each_text_is(
    type_name: str, fitting: list[str], others: list[str]
) -> None:
    texts = [*fitting, None, *others, "", "  "]
    column, bad = read_texts(pa.array(texts, pa.string()), type_name)
    expected = [None if t is None else read_text(t, type_name) for t in [*fitting, None]]
    assert column.type == ARROW_TYPES[type_name]
    exact = pa.array([*expected, *[None] * len(others), None, None], ARROW_TYPES[type_name])
    assert str(column.to_pylist()) == str(exact.to_pylist())
    assert bad.tolist() == [False] * len(expected) + [True] * len(others) + [False] * 2
    for text in others:
        with pytest.raises(ValueError, match=r".*"):
            read_text(text, type_name)


@pytest.mark.parametrize(
    ("column", "type_name", "expected"),
    [
        (pa.array([1e39, 1.5]), "float", ["misfit", 1.5]),
        (pa.array([2.0, 2.5, float("nan")]), "int", [2, "misfit", "misfit"]),
        (pa.array([2**63, 5], pa.uint64()), "bigint", ["misfit", 5]),
        (pa.array([5, None]), "timestamp", ["misfit", None]),
        (pa.array([5], pa.int32()), "date", ["misfit"]),
        (pa.array([0, 1], pa.timestamp("us")), "date", [date(1970, 1, 1), "misfit"]),
        (
            pa.array([1001, 1000], pa.timestamp("ns")),
            "timestamp",
            ["misfit", datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)],
        ),
        (pa.array([Decimal("1.5"), Decimal("2.0")]), "int", ["misfit", 2]),
        (pa.array([True]), "int", ["misfit"]),
        (pa.array(["5"]), "int", ["misfit"]),
        (pa.array([5]), "string", ["misfit"]),
        (pa.array([b"\xff", b"a"]), "string", ["misfit", "a"]),
        (pa.array(["b", None]).dictionary_encode(), "string", ["b", None]),
        (pa.array(["2013-01-01"]), "date", [date(2013, 1, 1)]),
        (pa.array([[1]]), "string", ["misfit"]),
        (pa.nulls(1), "boolean", [None]),
        (pa.array([2**60], pa.timestamp("s")), "timestamp", ["misfit"]),
    ],
)
def test_columns_are_cast_where_no_value_changes(
    column: pa.Array[Any], type_name: str, expected: list[Any]
) -> None:
    found, bad = fit_column(column, type_name)
    values = ["misfit" if b else v for v, b in zip(found.to_pylist(), bad, strict=True)]
    assert values == expected


def test_typed_columns_are_cast_where_no_value_changes() -> None:
    schema = Schema.parse("a int, b bigint, c double, d timestamp")
    day = pa.array([date(2013, 1, 1), None], pa.date32())
    columns: dict[str, Any] = {
        "a": [1.0, 2.0],
        "b": pa.array([1, 2], pa.int8()),
        "c": [1, 2],
        "d": day,
    }
    wide = pa.table(columns)
    table = fit_table(wide, schema)
    assert table.column("a").type == ARROW_TYPES["int"]
    assert table.column("c").to_pylist() == [1.0, 2.0]
    assert table.column("d").to_pylist()[0] == datetime(2013, 1, 1, tzinfo=UTC)
    assert table.column(CORRUPT).null_count == 2
    fractions = fit_table(wide.set_column(0, "a", pa.array([1.5, 2.0])), schema)
    assert fractions.column("a").to_pylist() == [None, 2]
    assert fractions.column("b").to_pylist() == [None, 2]


def test_what_a_reader_could_not_read_is_a_misfit() -> None:
    table = pa.table({"i": [1, None], CORRUPT: pa.array([None, "<i>one</i>"], pa.string())})
    found = fit_table(table, Schema.parse("i int")).to_pylist()
    assert found[0] == {"i": 1, CORRUPT: None, REASON: None}
    assert found[1] == {"i": None, CORRUPT: "<i>one</i>", REASON: "does not fit the schema"}


def test_a_table_without_a_column_is_refused() -> None:
    with pytest.raises(MisfitError, match="the table has no column 'f'"):
        fit_table(pa.table({"i": [1]}), SCHEMA)
