"""A slow and obvious check of JSON against the part of JSON Schema 2020-12 our document uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}
_WORDS = {
    "type",
    "enum",
    "anyOf",
    "$ref",
    "items",
    "properties",
    "required",
    "additionalProperties",
    "description",
}


def problems(
    value: Any, schema: Mapping[str, Any], schemas: Mapping[str, Any], at: str = "$"
) -> Iterator[str]:
    """What is wrong with the value. A schema word this check does not know is wrong, too."""
    unknown = set(schema) - _WORDS
    if unknown:
        yield f"{at}: unknown schema words {unknown}"
    if "$ref" in schema:
        yield from problems(value, schemas[schema["$ref"].rpartition("/")[2]], schemas, at)
        return
    if "anyOf" in schema:
        if all(list(problems(value, part, schemas, at)) for part in schema["anyOf"]):
            yield f"{at}: {value!r} is none of {schema['anyOf']}"
        return
    kinds = schema.get("type", list(_KINDS))
    if not any(is_a(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        yield f"{at}: {value!r} is no {kinds}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is not in {schema['enum']}"
    yield from _parts(value, schema, schemas, at)


def _parts(
    value: Any, schema: Mapping[str, Any], schemas: Mapping[str, Any], at: str
) -> Iterator[str]:
    if isinstance(value, list) and "items" in schema:
        for position, item in enumerate(value):
            yield from problems(item, schema["items"], schemas, f"{at}[{position}]")
    if not isinstance(value, dict):
        return
    known = schema.get("properties", {})
    yield from (f"{at}: no {name}" for name in schema.get("required", ()) if name not in value)
    rest = schema.get("additionalProperties", {})
    for name, item in value.items():
        part = known.get(name, rest)
        if part is False:
            yield f"{at}: {name} is not in the schema"
        else:
            yield from problems(item, part, schemas, f"{at}.{name}")


def is_a(value: Any, kind: str) -> bool:
    """Whether a JSON value is of a JSON Schema type; true is no number."""
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _KINDS[kind])
