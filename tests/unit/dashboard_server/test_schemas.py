"""Schemas derived from dataclasses."""

from __future__ import annotations

import pytest

from dashboard.api.schemas import SchemaBook
from storage.vocabulary.records import Command, Matrix


def test_a_record_becomes_an_object_with_its_fields() -> None:
    book = SchemaBook()
    assert book.of(Command) == {"$ref": "#/components/schemas/Command"}
    command = book.schemas["Command"]
    assert command["properties"]["state"]["enum"] == ["requested", "applied", "refused", "recorded"]
    assert command["properties"]["applied_batch"] == {"type": ["integer", "null"]}
    assert command["properties"]["payload"] == {}
    assert set(command["required"]) == set(command["properties"])


def test_sequences_and_unions_are_spelled_out() -> None:
    book = SchemaBook()
    assert book.of(list[Matrix]) == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/Matrix"},
    }
    assert book.schemas["Matrix"]["properties"]["rows"]["items"] == {"type": "string"}
    assert book.of(Command | None)["anyOf"][1] == {"type": "null"}


def test_a_type_without_json_is_refused() -> None:
    with pytest.raises(TypeError, match="no JSON schema"):
        SchemaBook().of(bytes)
