"""Tuples that fit their schema, and tuples that are kept aside."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from backend.model.schema import Schema
from backend.workloads.contract import (
    ARROW_TYPES,
    CORRUPT,
    MisfitError,
    arrow_schema,
    fit_rows,
    fit_table,
    fit_value,
)

SCHEMA = Schema.parse("i int, f double, s string, b boolean, d date, t timestamp")
FITTING = [1, 2.5, "a", True, date(2013, 1, 1), datetime(2013, 1, 1, 12)]


def test_rows_become_typed_columns_and_null_stays_null() -> None:
    table = fit_rows([FITTING, {"I": 7, "s": "x"}, [None, {}, None, None, {}, None]], SCHEMA)
    assert table.schema == arrow_schema(SCHEMA)
    assert table.column_names == [*SCHEMA.names, CORRUPT]
    assert table.column(CORRUPT).null_count == 3
    noon = datetime(2013, 1, 1, 12, tzinfo=UTC)
    assert list(table.to_pylist()[0].values()) == [*FITTING[:5], noon, None]
    assert table.to_pylist()[1]["i"] == 7
    assert list(table.to_pylist()[2].values()) == [None] * 7


@pytest.mark.parametrize(
    ("row", "raw"),
    [
        (["x", 2.5, "a", True, None, None], '["x", 2.5, "a", true, null, null]'),
        ([1, 2.5, "é"], '[1, 2.5, "é"]'),
        ({"i": 1, "zzz": 2}, '{"i": 1, "zzz": 2}'),
        ({"d": date(2013, 1, 1), "i": 2**40}, '{"d": "2013-01-01", "i": 1099511627776}'),
    ],
)
def test_a_misfit_is_all_null_with_its_raw_text(row: Any, raw: str) -> None:
    table = fit_rows([FITTING, row], SCHEMA)
    assert list(table.to_pylist()[1].values()) == [None] * 6 + [raw]
    assert table.column(CORRUPT).to_pylist() == [None, raw]


def test_no_rows_and_no_values() -> None:
    assert fit_rows([], SCHEMA).schema == arrow_schema(SCHEMA)
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
        (datetime(2013, 1, 1), "date"),
        ("2013-02-30", "date"),
        ("noon", "timestamp"),
        (5, "timestamp"),
        ([1], "int"),
    ],
)
def test_values_that_do_not_fit(value: Any, type_name: str) -> None:
    with pytest.raises(MisfitError):
        fit_value(value, type_name)


def test_text_columns_are_read_as_the_attributes_type() -> None:
    texts: dict[str, list[str | None]] = {
        "I": ["1", None, " 3"],
        "f": ["2.5", "1e3", "x"],
        "s": ["a", "b", "c"],
        "b": ["true", "FALSE", "true"],
        "d": ["2013-01-31", "2013-02-01", "2013-02-02"],
        "t": ["2013-01-31 10:00", None, "2013-01-31T10:00:00Z"],
        "more": ["", "", ""],
    }
    table = fit_table(pa.table(texts), SCHEMA)
    assert table.schema == arrow_schema(SCHEMA)
    assert table.column("i").to_pylist() == [1, None, None]
    assert table.column("b").to_pylist() == [True, False, None]
    raw = " 3,x,c,true,2013-02-02,2013-01-31T10:00:00Z,"
    assert table.column(CORRUPT).to_pylist() == [None, None, raw]


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


def test_a_table_without_a_column_is_refused() -> None:
    with pytest.raises(MisfitError, match="the table has no column 'f'"):
        fit_table(pa.table({"i": [1]}), SCHEMA)
