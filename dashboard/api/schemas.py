"""JSON Schema (2020-12, as OpenAPI 3.1 uses it) derived from dataclasses."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

Schema: TypeAlias = dict[str, Any]
_SCALARS: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_UNIONS = (Union, types.UnionType)


class SchemaBook:
    """Schemas by name, for ``components.schemas``; dataclasses refer to each other by $ref."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        """The schema of a type: dataclass, scalar, Literal, union, sequence, mapping, Any.

        Raises TypeError for a type JSON has no word for.
        """
        if kind is Any or kind is object:
            return {}
        if kind is None or kind is type(None):
            return {"type": "null"}
        if kind in _SCALARS:
            return {"type": _SCALARS[kind]}
        if is_dataclass(kind):
            return self._reference(kind)
        return self._generic(kind, get_origin(kind), get_args(kind))

    def _generic(self, kind: Any, origin: Any, args: tuple[Any, ...]) -> Schema:
        if origin is Literal:
            return {"type": "string", "enum": list(args)}
        if origin in _UNIONS:
            return _union([self.of(part) for part in args])
        if isinstance(origin, type) and issubclass(origin, Mapping):
            return {"type": "object", "additionalProperties": self.of(args[1])}
        if isinstance(origin, type) and issubclass(origin, Sequence):
            return {"type": "array", "items": self.of(args[0])}
        raise TypeError(f"no JSON schema for {kind!r}")

    def _reference(self, kind: Any) -> Schema:
        name = kind.__name__
        if name not in self.schemas:
            self.schemas[name] = {}  # a place, so that a type may refer to itself
            self.schemas[name] = self._object(kind)
        return {"$ref": f"#/components/schemas/{name}"}

    def _object(self, kind: Any) -> Schema:
        hints = get_type_hints(kind)
        parts = {part.name: self.of(hints[part.name]) for part in fields(kind)}
        return {
            "type": "object",
            "description": " ".join((kind.__doc__ or "").split()),
            "properties": parts,
            "required": list(parts),
            "additionalProperties": False,
        }

    def request(self, kind: Any) -> Schema:
        """The schema of a request body: fields with a default may be left out."""
        self._reference(kind)
        schema = self.schemas[kind.__name__]
        schema["required"] = [part.name for part in fields(kind) if not _has_default(part)]
        return {"$ref": f"#/components/schemas/{kind.__name__}"}


def _has_default(part: Field[Any]) -> bool:
    return part.default is not MISSING or part.default_factory is not MISSING


def _union(parts: list[Schema]) -> Schema:
    if all(set(part) == {"type"} for part in parts):
        return {"type": [part["type"] for part in parts]}
    return {"anyOf": parts}
