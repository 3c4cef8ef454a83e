"""Query parameters and request bodies, checked: a wrong one is a 422 with a sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any, Literal, get_origin, get_type_hints

from flask import Request

from dashboard.serving.errors import ApiError
from storage.tables.texts import why_unstorable

_WORDS = {"integer": "a whole number", "number": "a number", "string": "text"}
_INT64 = 2**63 - 1
DEEPEST_BODY = 100


@dataclass(frozen=True, slots=True)
class Param:
    """One query parameter. low, high: inclusive bounds of numbers; longest: of text."""

    name: str
    kind: Literal["string", "integer", "number"]
    help: str
    required: bool = False
    default: Any = None
    low: float | None = None
    high: float | None = None
    longest: int = 200

    def read(self, text: str) -> Any:
        """The value of the text; raises ApiError (422) when it is not allowed."""
        if self.kind == "string":
            if len(text) > self.longest:
                raise self._refused(text[:40] + "…")
            return text
        try:
            value = int(text) if self.kind == "integer" else float(text)
        except ValueError:
            raise self._refused(text[:40]) from None
        low = -_INT64 if self.low is None else self.low
        high = _INT64 if self.high is None else self.high
        if not low <= value <= high:  # NaN is not, either
            raise self._refused(text[:40])
        return value

    @property
    def allowed(self) -> str:
        """What is allowed, as a phrase."""
        if self.kind == "string":
            return f"text of at most {self.longest} characters"
        word = _WORDS[self.kind]
        if self.low is not None and self.high is not None:
            return f"{word} in {self.low:g}..{self.high:g}"
        return word if self.low is None else f"{word} of at least {self.low:g}"

    def _refused(self, text: str) -> ApiError:
        message = f"{self.name} = {text} refused: allowed {self.allowed}."
        return ApiError(422, "bad_parameter", message, parameter=self.name, allowed=self.allowed)


def read_query(params: tuple[Param, ...], given: Mapping[str, str]) -> dict[str, Any]:
    """The declared parameters by name, defaults filled in.

    Raises ApiError (422) for a wrong value, a missing required one, or one nobody declared.
    """
    check_text(dict(given))
    names = [param.name for param in params]
    for name in given:
        if name not in names:
            known = "known: " + ", ".join(names) if names else "it takes none"
            message = f"There is no parameter {name[:40]!r} here; {known}."
            raise ApiError(422, "bad_parameter", message, parameter=name[:40])
    values: dict[str, Any] = {}
    for param in params:
        text = given.get(param.name, "")
        if not text and param.required:
            message = f"The parameter {param.name} is needed: {param.help}"
            raise ApiError(422, "bad_parameter", message, parameter=param.name)
        values[param.name] = param.read(text) if text else param.default
    return values


def read_body(kind: type, request: Request) -> Any:
    """The request's JSON as the dataclass ``kind``.

    Raises ApiError: 400 when it is no JSON object or has a key twice, 415 for another content type,
    422 for a missing, unknown or wrongly typed field.
    """
    return _build(kind, read_object(request))


def read_object(request: Request) -> dict[str, Any]:
    """The request's JSON object, not nested too deeply and with text that can be stored.

    Raises ApiError: 400 when it is no JSON object or has a key twice, 415 for another content type,
    422 for text.
    """
    if not request.is_json:
        raise ApiError(415, "not_json", "Send the body as application/json.")
    try:
        data = json.loads(request.get_data(), object_pairs_hook=_object)
    except _KeyTwice as error:
        message = f"The body has the key {error.args[0][:40]!r} twice in one object."
        raise ApiError(400, "bad_json", message) from None
    except (ValueError, RecursionError):
        raise ApiError(400, "bad_json", "The body is not valid JSON.") from None
    if not isinstance(data, dict):
        raise ApiError(400, "bad_json", "The body must be a JSON object.")
    if _depth(data) > DEEPEST_BODY:
        message = f"The body is nested deeper than {DEEPEST_BODY} levels."
        raise ApiError(400, "bad_json", message)
    check_text(data)
    return data


class _KeyTwice(Exception):
    """An object has a key twice; the key."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Raises _KeyTwice: of two values nobody knows which one was meant."""
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise _KeyTwice(key)
        members[key] = value
    return members


def check_text(value: Any) -> None:
    """Raise ApiError (422) when a text of the value, keys included, cannot be stored."""
    why = why_unstorable(value)
    if why is not None:
        raise ApiError(422, "bad_text", f"The request is refused: {why}.")


def _depth(data: Any) -> int:
    """Levels of lists and objects, counted without recursion."""
    levels, inside = 0, [data]
    while inside:
        levels += 1
        parts = [part.values() if isinstance(part, dict) else part for part in inside]
        inside = [i for items in parts for i in items if isinstance(i, dict | list)]
    return levels


def _build(kind: Any, data: Mapping[str, Any]) -> Any:
    hints = get_type_hints(kind)
    parts = {part.name: part for part in fields(kind)}
    unknown = sorted(set(data) - set(parts))
    if unknown:
        known = ", ".join(parts)
        raise _bad_field(unknown[0], f"There is no field {unknown[0][:40]!r}; known: {known}.")
    values = {}
    for name, part in parts.items():
        if name not in data:
            if _required(part):
                raise _bad_field(name, f"The field {name} is needed.")
            continue
        _check_type(name, hints[name], data[name])
        values[name] = data[name]
    return kind(**values)


def _required(part: Field[Any]) -> bool:
    return part.default is MISSING and part.default_factory is MISSING


def _check_type(name: str, hint: Any, value: Any) -> None:
    if hint is Any:
        return
    if isinstance(value, bool) and bool not in getattr(hint, "__args__", (hint,)):
        raise _bad_field(name, f"The field {name} has the wrong type.")
    kind = list if get_origin(hint) is list else hint  # what is in a list is the handler's to check
    if not isinstance(value, kind):
        raise _bad_field(name, f"The field {name} has the wrong type.")


def _bad_field(name: str, message: str) -> ApiError:
    return ApiError(422, "bad_field", message, field=name[:40])
