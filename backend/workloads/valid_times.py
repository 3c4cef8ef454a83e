"""How a workload file says when the tuples of a stream are valid: given times, or readings.

[AL11], card B1: ``valid = ["hired", "left"]`` names the attributes of a half-open interval, closed
with ``valid_closed = true``; with ``valid_key = "mote"`` a tuple is a reading that holds until the
next one of its mote.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from backend.cql.errors import listed
from backend.model.schema import Attribute, Schema, ValidTimes
from backend.workloads.declared import attribute_named
from backend.workloads.tables import TomlTable

#: Keys of a stream whose tuples are valid for some time.
OF_VALID_TIMES: Final = ("valid", "valid_closed", "valid_key")
_TYPES: Final = {"int": "bigint", "bigint": "bigint", "date": "date", "timestamp": "timestamp"}


def dated(table: TomlTable, schema: Schema, timestamp: str | None) -> Schema:
    """A schema with the valid times that its stream's table declares. Raises WorkloadError."""
    if set(OF_VALID_TIMES).isdisjoint(table.values):
        return schema
    if "valid_key" not in table.values:
        return replace(schema, valid=_given(table, schema))
    if len(set(OF_VALID_TIMES) & table.values.keys()) > 1:
        raise table.refuse("has valid times of two kinds; keep valid or valid_key")
    return replace(schema, valid=_readings(table, schema, timestamp))


def _given(table: TomlTable, schema: Schema) -> ValidTimes:
    names = table.texts("valid")
    if len(names) != 2:
        message = f"valid names {len(names)} attributes"
        raise table.refuse(f"{message}; name two, where an interval begins and where it ends")
    start, end = (_time(table, "valid", name, schema) for name in names)
    if _TYPES[start.type] != _TYPES[end.type] or start.name == end.name:
        message = f"valid: {start.name} is {start.type} and {end.name} is {end.type}"
        raise table.refuse(f"{message}; name two attributes of one type")
    is_closed = table.values.get("valid_closed", False)
    if not isinstance(is_closed, bool):
        raise table.refuse("valid_closed must be true or false")
    return ValidTimes(start.name, end.name, is_closed, type=_TYPES[start.type])


def _readings(table: TomlTable, schema: Schema, timestamp: str | None) -> ValidTimes:
    key = attribute_named(table, "valid_key", table.text("valid_key") or "", schema)
    if timestamp is None:
        message = "valid_key needs a timestamp: readings hold from their time on"
        raise table.refuse(f"{message}; name the attribute with it")
    time = _time(table, "timestamp", timestamp, schema)
    return ValidTimes(timestamp, key=key, type=_TYPES[time.type])


def _time(table: TomlTable, what: str, name: str, schema: Schema) -> Attribute:
    attribute = schema.find(attribute_named(table, what, name, schema))
    assert attribute is not None, "its name is known"
    if attribute.type not in _TYPES:
        message = f"{what}: {attribute.name!r} is {attribute.type}, which is no time"
        raise table.refuse(f"{message}; allowed: {listed(_TYPES)}")
    return attribute
