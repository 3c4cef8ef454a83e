"""Schemas of streams: what is read, and what is refused with the types there are."""

from __future__ import annotations

import time

import pytest

from backend.model.schema import Schema, SchemaError


def test_names_types_and_aliases() -> None:
    schema = Schema.parse("a int, B: string,c:double , d LONG")
    assert schema.ddl() == "`a` int, `B` string, `c` double, `d` bigint"
    assert schema.names == ("a", "B", "c", "d")
    assert Schema.parse("Öl_1 int").names == ("Öl_1",)


@pytest.mark.parametrize(
    ("text", "type_name", "near"),
    [
        ("a int, b decimal(5,2), c string", "decimal(5,2)", "double"),
        ("b numeric (10, 0)", "numeric(10, 0)", "double"),
        ("a int, b varchar(10)", "varchar(10)", "string"),
        ("b char(3), a int", "char(3)", "string"),
        ("b int(11)", "int(11)", "int"),
        ("b timestamp_ntz", "timestamp_ntz", "timestamp"),
        ("b map<string,int>, a int", "map<string,int>", ""),
        ("b integr", "integr", ""),
    ],
)
def test_other_types_are_refused_with_those_there_are(text: str, type_name: str, near: str) -> None:
    with pytest.raises(SchemaError) as raised:
        Schema.parse(text)
    allowed = "bigint, boolean, date, double, float, int, smallint, string, timestamp, tinyint"
    said = f"attribute 'b' has unknown type {type_name!r}; allowed: {allowed}"
    assert str(raised.value) == said + (f"; {near!r} is the nearest" if near else "")


@pytest.mark.parametrize("text", ["", "a", "a int,", "a int b", "1a int"])
def test_what_is_no_schema(text: str) -> None:
    with pytest.raises(SchemaError, match=r"of the schema reads '.*'; expected 'name type'"):
        Schema.parse(text)


def test_a_schema_of_many_commas_is_read_in_time_of_its_length() -> None:
    began = time.process_time()
    with pytest.raises(SchemaError, match="attribute 1 of the schema reads ''"):
        Schema.parse("," * 100_000)
    assert time.process_time() - began < 5.0
