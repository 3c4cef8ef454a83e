"""What the names of a CQL query stand for: the sources it reads, and their attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from lark import Token

from backend.cql.answers import answer_fields
from backend.cql.errors import CqlError, did_you_mean, listed
from backend.cql.logical import Fields, Logical, Scan, ScanKind, valid_columns
from backend.cql.nodes import ColumnReference, Name
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
            spelled = _spelled(wanted, known)
            if spelled is not None:
                schema = known[spelled]
                fields, valid = schema.attributes, schema.valid
                return Scan(name.at, kind, spelled, fields, key=schema.key, valid=valid)
        spelled = _spelled(wanted, self.queries)
        if spelled is not None:
            plan = self.queries[spelled]
            fields = answer_fields(plan)
            return Scan(name.at, "query", spelled, fields, plan, valid=valid_columns(fields))
        names = sorted({*self.streams, *self.relations, *self.queries})
        others = f"; the streams are {listed(names, 'and')}" if names else ""
        hint = did_you_mean(wanted, names) or others
        refuse(f"unknown stream {wanted!r}{hint}", name.at, text)


def _spelled(wanted: str, known: Iterable[str]) -> str | None:
    return next((name for name in known if name.lower() == wanted.lower()), None)


@dataclass(frozen=True, slots=True)
class From:
    """One source of a From clause: what its columns are called by, and its attributes.

    alias: as written, else the name; name: of what is scanned, '' for a statement. is_coalesced:
    its tuples are, and ``Valid(alias)`` is their valid time.
    """

    alias: str
    name: str
    fields: Fields
    is_coalesced: bool = False


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

    def column(self, node: Name) -> ColumnReference:
        """The attribute a name stands for. Raises CqlError."""
        *qualifier, name = node.parts
        items = self.qualified(".".join(qualifier), node.at) if qualifier else self.items
        matches = [
            (item, attribute) for item in items if (attribute := _find(item, name)) is not None
        ]
        if not matches:
            self._refuse_unknown(node, name, items)
        if len(matches) > 1 and name.lower() not in self._equated:
            places = listed([item.alias for item, _ in matches], "and")
            written = f"{matches[0][0].alias}.{name}"
            message = f"{name!r} is an attribute of {places}; write {written} or its like"
            refuse(message, node.at, self.text)
        item, attribute = matches[0]
        return ColumnReference(node.at, self.source(item), attribute.name, attribute.type)

    def columns(self, items: Iterable[From], at: Token) -> list[ColumnReference]:
        """All attributes of some sources. Raises CqlError where one name stands for two of them."""
        columns: dict[tuple[str, str], ColumnReference] = {}
        for item in items:
            for attribute in item.fields:
                column = ColumnReference(at, self.source(item), attribute.name, attribute.type)
                if columns.setdefault((column.source, attribute.name), column) is not column:
                    message = f"two queries without a name have an attribute {attribute.name!r}"
                    refuse(f"{message}; name them: (…) As q", at, self.text)
        return list(columns.values())

    def source(self, item: From) -> str:
        """How columns say where they are from: not at all where there is one source."""
        return item.alias if len(self.items) > 1 else ""

    def qualified(self, qualifier: str, at: Token) -> tuple[From, ...]:
        """The source of this alias or name. Raises CqlError."""
        wanted = qualifier.lower()
        by_alias = tuple(item for item in self.items if item.alias.lower() == wanted)
        sources = by_alias or tuple(item for item in self.items if item.name.lower() == wanted)
        if not sources:
            known = listed([self.source(item) or item.name for item in self.items], "and")
            refuse(f"unknown stream {qualifier!r}; this query reads {known}", at, self.text)
        return sources

    def _refuse_unknown(self, node: Name, name: str, items: Sequence[From]) -> NoReturn:
        names = [field.name for item in items for field in item.fields]
        have = "; ".join(
            f"{item.name or item.alias or 'it'} has {listed([f.name for f in item.fields], 'and')}"
            for item in items
        )
        hint = did_you_mean(name, names) or f"; {have}"
        refuse(f"unknown attribute {name!r}{hint}", node.at, self.text)


def _find(item: From, name: str) -> Attribute | None:
    for attribute in item.fields:
        if attribute.name == name:
            return attribute
    lower = name.lower()
    return next((attribute for attribute in item.fields if attribute.name.lower() == lower), None)
