"""Which JSON the columns of the store hold: a shape says it in words, to SQLite and in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from storage.vocabulary.taps import LED


class Shape(NamedTuple):
    """words: what is allowed, for people. kinds: what json_type() of SQLite calls such a value; it
    knows of no parts, of which ``fits`` does."""

    words: str
    kinds: tuple[str, ...]
    fits: Callable[[Any], bool]


def is_number(value: Any) -> bool:
    """Whether a value is a number as JSON has them; true and false are none."""
    return type(value) in (int, float)


def _is_list(value: Any, of: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(of, value))


def _is_object(value: Any, of: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(of, value.values()))


def is_text(value: Any) -> bool:
    """Whether a value is a text."""
    return isinstance(value, str)


def _is_list_of_anything(value: Any) -> bool:
    return isinstance(value, list)


def _is_pair(value: Any) -> bool:
    return _is_list(value, is_text) and len(value) == 2


def _has_texts(*names: str) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in names)

    return fits


_IS_NODE: Final = _has_texts("id", "role", "name")
_IS_EDGE: Final = _has_texts("source", "target")


def _is_graph(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _is_list(value.get("nodes", []), _IS_NODE)
        and _is_list(value.get("edges", []), _IS_EDGE)
    )


def _is_element(value: Any) -> bool:
    led = value[:LED] if isinstance(value, list) else []
    return len(led) == LED and all(type(number) is int for number in led)


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, list | dict)


ANY: Final = Shape("any", (), lambda value: True)
SCALAR: Final = Shape(
    "a text, a number, true, false or null",
    ("text", "integer", "real", "true", "false", "null"),
    _is_scalar,
)
OBJECT: Final = Shape("an object", ("object",), lambda value: isinstance(value, dict))
OBJECT_OR_NULL: Final = Shape(
    "an object, or null", ("object", "null"), lambda value: value is None or isinstance(value, dict)
)
NUMBERS: Final = Shape(
    "an object of numbers", ("object",), lambda value: _is_object(value, is_number)
)
TEXTS: Final = Shape("a list of texts", ("array",), lambda value: _is_list(value, is_text))
PAIRS: Final = Shape(
    "a list of pairs of texts", ("array",), lambda value: _is_list(value, _is_pair)
)
ROWS: Final = Shape(
    "a list of lists", ("array",), lambda value: _is_list(value, _is_list_of_anything)
)
TAPPED: Final = Shape(
    "a list of lists that begin with three whole numbers",
    ("array",),
    lambda value: _is_list(value, _is_element),
)
VECTORS: Final = Shape(
    "an object of lists", ("object",), lambda value: _is_object(value, _is_list_of_anything)
)
GRAPH: Final = Shape(
    "an object of nodes (id, role, name) and edges (source, target)", ("object",), _is_graph
)
