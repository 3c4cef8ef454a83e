"""What the names of a CQL query stand for: the sources it reads, and their attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from lark import Token

from backend.cql.answers import answer_fields
from backend.cql.errors import CqlError, did_you_mean, listed
from backend.cql.logical import Fields, Logical, Scan, ScanKind
from backend.cql.nodes import Column, Name
from backend.model.functions import Functions
from backend.model.schema import Attribute, Schema


def refuse(message: str, at: Token, text: str) -> NoReturn:
    """Raise CqlError with the place of ``at``."""
    raise CqlError(message, at.line or 1, at.column or 1, text, len(at))


@dataclass(frozen=True, slots=True)
class Catalog:
    """What queries may name: streams, stored relations, answers of other queries, functions.

    queries: their plans. Where a name stands for several, it is the stream's, then the relation's.
    """

    streams: Mapping[str, Schema] = field(default_factory=dict)
    relations: Mapping[str, Schema] = field(default_factory=dict)
    queries: Mapping[str, Logical] = field(default_factory=dict)
    functions: Functions = field(default_factory=Functions)

    def scan(self, name: Name, text: str) -> Scan:
        """What a From clause names, spelled as here. Raises CqlError."""
        wanted = ".".join(name.parts)
        kinds: dict[ScanKind, Mapping[str, Schema]] = {
            "stream": self.streams,
            "relation": self.relations,
        }
        for kind, known in kinds.items():
            found = _spelled(wanted, known)
            if found is not None:
                return Scan(name.at, kind, found, known[found].attributes)
        found = _spelled(wanted, self.queries)
        if found is not None:
            plan = self.queries[found]
            return Scan(name.at, "query", found, answer_fields(plan), plan)
        names = sorted({*self.streams, *self.relations, *self.queries})
        others = f"; the streams are {listed(names, 'and')}" if names else ""
        hint = did_you_mean(wanted, names) or others
        refuse(f"unknown stream {wanted!r}{hint}", name.at, text)


def _spelled(wanted: str, known: Iterable[str]) -> str | None:
    return next((name for name in known if name.lower() == wanted.lower()), None)


@dataclass(frozen=True, slots=True)
class From:
    """One source of a From clause: what its columns are called by, and its attributes.

    alias: as written, else the name; name: of what is scanned, '' for a statement.
    """

    alias: str
    name: str
    fields: Fields


class Scope:
    """The sources of one query. equated: attributes (lower case) that the condition says are equal
    in all sources that have them, so that they need not be qualified."""

    def __init__(
        self, items: Sequence[From], text: str, equated: frozenset[str] = frozenset()
    ) -> None:
        self.items, self.text, self._equated = tuple(items), text, equated

    def has(self, name: str) -> bool:
        """Whether some source has the attribute."""
        return any(_find(item, name) for item in self.items)

    def column(self, node: Name) -> Column:
        """The attribute a name stands for. Raises CqlError."""
        *qualifier, name = node.parts
        items = self.qualified(".".join(qualifier), node.at) if qualifier else self.items
        found = [(item, one) for item in items if (one := _find(item, name)) is not None]
        if not found:
            self._refuse_unknown(node, name, items)
        if len(found) > 1 and name.lower() not in self._equated:
            places = listed([item.alias for item, _ in found], "and")
            written = f"{found[0][0].alias}.{name}"
            message = f"{name!r} is an attribute of {places}; write {written} or its like"
            refuse(message, node.at, self.text)
        item, one = found[0]
        return Column(node.at, self.source(item), one.name, one.type)

    def columns(self, items: Iterable[From], at: Token) -> list[Column]:
        """All attributes of some sources. Raises CqlError where one name stands for two of them."""
        found: dict[tuple[str, str], Column] = {}
        for item in items:
            for one in item.fields:
                column = Column(at, self.source(item), one.name, one.type)
                if found.setdefault((column.source, one.name), column) is not column:
                    message = f"two queries without a name have an attribute {one.name!r}"
                    refuse(f"{message}; name them: (…) As q", at, self.text)
        return list(found.values())

    def source(self, item: From) -> str:
        """How columns say where they are from: not at all where there is one source."""
        return item.alias if len(self.items) > 1 else ""

    def qualified(self, qualifier: str, at: Token) -> tuple[From, ...]:
        """The source of this alias or name. Raises CqlError."""
        wanted = qualifier.lower()
        by_alias = tuple(item for item in self.items if item.alias.lower() == wanted)
        found = by_alias or tuple(item for item in self.items if item.name.lower() == wanted)
        if not found:
            known = listed([self.source(item) or item.name for item in self.items], "and")
            refuse(f"unknown stream {qualifier!r}; this query reads {known}", at, self.text)
        return found

    def _refuse_unknown(self, node: Name, name: str, items: Sequence[From]) -> NoReturn:
        names = [field.name for item in items for field in item.fields]
        have = "; ".join(
            f"{item.name or item.alias or 'it'} has {listed([f.name for f in item.fields], 'and')}"
            for item in items
        )
        hint = did_you_mean(name, names) or f"; {have}"
        refuse(f"unknown attribute {name!r}{hint}", node.at, self.text)


def _find(item: From, name: str) -> Attribute | None:
    for one in item.fields:
        if one.name == name:
            return one
    lower = name.lower()
    return next((one for one in item.fields if one.name.lower() == lower), None)
