"""What the columns of a table may hold, and holding rows to it as they are read.

A file of SQLite keeps no types: whoever changes it can put any value into any column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import Double, FromClause, LargeBinary, Row, Text
from sqlalchemy.sql.elements import KeyedColumnElement

from storage.errors import WrongValue
from storage.tables.columns import JsonText
from storage.tables.shapes import Shape

_NOTHING: Final = "nothing (NULL)"
#: What is there, by the type of the value as it is read; what JSON has by itself, too.
_FOUND: Final = {
    type(None): _NOTHING,
    int: "a whole number",
    float: "a number",
    str: "a text",
    bytes: "bytes",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}
#: Types of what is read without a record.
Types: TypeAlias = frozenset[type]
TEXT: Final[Types] = frozenset({str})
WHOLE: Final[Types] = frozenset({int})
WHOLE_OR_NONE: Final[Types] = frozenset({int, type(None)})
NUMBER: Final[Types] = frozenset({float, int, type(None)})
#: Characters of a key that are shown.
_LONGEST_KEY: Final = 60


class Allowed(NamedTuple):
    """What a column may hold. stored: what typeof() of SQLite calls it, the usual first; types: as
    it is read, None for JSON, whose values have a shape."""

    name: str
    words: str
    stored: tuple[str, ...]
    types: Types | None
    shape: Shape | None
    nullable: bool


def allowed_in(column: KeyedColumnElement[Any]) -> Allowed:
    """What a column of the store's tables may hold."""
    kind, shape = column.type, None
    types: tuple[type, ...] = (int,)
    stored: tuple[str, ...] = ("integer",)
    words = "a whole number"
    if isinstance(kind, JsonText):
        shape, stored = kind.shape, ("text",)
        words = f"JSON of {shape.words}"
    elif isinstance(kind, Text):
        words, stored, types = "a text", ("text",), (str,)
    elif isinstance(kind, Double):
        words, stored, types = "a number", ("real", "integer"), (float, int)
    elif isinstance(kind, LargeBinary):
        words, stored, types = "bytes", ("blob",), (bytes,)
    nullable = bool(getattr(column, "nullable", False))
    words += " or NULL" if nullable else ""
    read = None if shape else frozenset((*types, type(None)) if nullable else types)
    return Allowed(column.name, words, stored, read, shape, nullable)


class RowCheck:
    """The rows of a table, or some columns of them, as they are read."""

    def __init__(self, table: FromClause, *names: str) -> None:
        """names: the columns that are read, default all."""
        self._table = table
        self._names = names

    @cached_property
    def _rules(self) -> list[tuple[str, Types | None, Callable[[Any], bool] | None]]:
        columns = [c for c in self._table.columns if not self._names or c.name in self._names]
        rules = [allowed_in(column) for column in columns]
        return [(rule.name, rule.types, rule.shape.fits if rule.shape else None) for rule in rules]

    def check(self, row: Row[Any], prefix: str = "") -> None:
        """Raise WrongValue where a column holds what it may not. prefix: of the row's names."""
        mapping = row._mapping
        for name, types, fits in self._rules:
            value = mapping[prefix + name]
            if not (fits(value) if fits is not None else type(value) in (types or ())):
                raise self.wrong(row, name, prefix)

    def wrong(self, row: Row[Any], name: str, prefix: str = "", allowed: str = "") -> WrongValue:
        """What is wrong with a column of a row. allowed: in words, default those of the column."""
        mapping, column = row._mapping, self._table.columns[name]
        value = mapping[prefix + name]
        of_json = isinstance(column.type, JsonText)
        held = f"JSON of {_FOUND[type(value)]}" if of_json else _FOUND[type(value)]
        key = {
            part.name: mapping[prefix + part.name]
            for part in self._table.primary_key
            if prefix + part.name in mapping
        }
        return wrong_value(self._table, key, name, held, allowed or allowed_in(column).words)


def hold(rows: Iterable[Sequence[Any]], *types: Types) -> None:
    """Raise TypeError where a column of the rows has a value of none of its types; quick for many
    rows, and without a word on which one it is."""
    for column, allowed in zip(zip(*rows, strict=True), types, strict=False):
        if not allowed.issuperset(map(type, column)):
            raise TypeError("a column holds values of another type")


def wrong_value(
    table: FromClause, key: dict[str, Any], column: str, held: str, allowed: str
) -> WrongValue:
    """The error that names a column of a row by its key."""
    row = ", ".join(f"{name} = {_shown(value)}" for name, value in key.items())
    return WrongValue(str(getattr(table, "name", table)), row, column, held, allowed)


def _shown(value: Any) -> str:
    """A part of a key, which may be of any type itself, as plain characters."""
    if not isinstance(value, str | int | float):
        return _FOUND[type(value)]
    text = ascii(value)
    return text if len(text) <= _LONGEST_KEY else f"{text[:_LONGEST_KEY]}..."
