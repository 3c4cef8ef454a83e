"""What a workload file says of its streams that their tuples do not: keys and k-constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from backend.cql.errors import did_you_mean, listed
from backend.model.conditions import (
    DISTINCT,
    GROUPS,
    JOINED,
    LAST,
    ContinuousQuery,
    DeclaredConstraint,
)
from backend.model.schema import FLOAT_TYPES, INTEGER_TYPES, Schema
from backend.workloads.tables import TomlTable, kind_of

#: Type of constraint -> the keys that say what it is about.
_ABOUT: Final[Mapping[str, tuple[str, str]]] = {
    "RIDS": ("parent", "child"),
    "CA": ("stream", "attribute"),
    "OAP": ("stream", "attribute"),
    "OAC": ("stream", "attribute"),
}
_ORDERED_ARRIVAL: Final = ("OAP", "OAC")
#: Types in whose order tuples may arrive.
_FOLLOWED: Final = INTEGER_TYPES | FLOAT_TYPES | {"date", "timestamp"}
#: Relations that change are inputs of joins under the names that pages give them.
_DERIVED: Final = (DISTINCT, GROUPS, JOINED, LAST)
_MOST_ARRIVALS: Final = 1 << 40


def keyed(table: TomlTable, schema: Schema) -> Schema:
    """A schema with the key that the table of its stream or relation declares. Raises
    WorkloadError."""
    return replace(schema, key=tuple(_key(table, schema))) if "key" in table.values else schema


def _key(table: TomlTable, schema: Schema) -> Iterable[str]:
    names = table.texts("key")
    if not names:
        raise table.refuse("has an empty key; name attributes, or leave it out")
    attributes = [attribute_named(table, "key", name, schema) for name in names]
    twice = next((name for k, name in enumerate(attributes) if name in attributes[:k]), None)
    if twice is not None:
        raise table.refuse(f"key: {twice!r} is named twice")
    return attributes


def attribute_named(table: TomlTable, what: str, name: str, schema: Schema) -> str:
    """An attribute as its schema spells it. what: the key that names it. Raises WorkloadError."""
    attribute = schema.find(name)
    if attribute is None:
        hint = did_you_mean(name, schema.names) or f"; it has {listed(schema.names, 'and')}"
        raise table.refuse(f"{what}: the schema has no column {name!r}{hint}")
    return attribute.name


def constrained(
    document: TomlTable,
    queries: Sequence[ContinuousQuery],
    streams: Mapping[str, Schema],
    stored: Iterable[str],
) -> tuple[ContinuousQuery, ...]:
    """The queries of a file, each with those of its [[constraints]] that are about it. stored:
    names of relations. Raises WorkloadError."""
    entries = document.values.get("constraints", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise document.refuse('constraints must be tables [[constraints]], as in type = "RIDS"')
    constraints: dict[str, list[DeclaredConstraint]] = {query.name: [] for query in queries}
    for number, values in enumerate(entries, start=1):
        table = TomlTable(document.path, f"[[constraints]] {number}", values)
        _check_arrivals(table, frozenset(name.lower() for name in stored))
        constraint = _constraint(table, streams)
        for query in _about(table, constraint, queries):
            if any(constraint._replace(k=0) == other._replace(k=0) for other in constraints[query]):
                raise table.refuse(f"is declared already for query {query!r}; keep one of the two")
            constraints[query].append(constraint)
    return tuple(
        replace(query, constraints=tuple(constraints[query.name]))
        if constraints[query.name]
        else query
        for query in queries
    )


def _check_arrivals(table: TomlTable, stored: frozenset[str]) -> None:
    for key in ("parent", "child", "stream"):
        name = table.values.get(key)
        if isinstance(name, str) and name.strip().lower() in stored:
            message = "is a stored relation, all of whose tuples are there first; leave it out"
            raise table.refuse(f"{key}: {name!r} {message}")


def _constraint(table: TomlTable, streams: Mapping[str, Schema]) -> DeclaredConstraint:
    kind = _needed(table, "type", f"write {listed(_ABOUT)}").upper()
    if kind not in _ABOUT:
        hint = did_you_mean(kind, _ABOUT) or f"; allowed: {listed(_ABOUT)}"
        raise table.refuse(f"type {kind!r} is unknown{hint}")
    about = _ABOUT[kind]
    table.only(("query", "type", *about, "k"))
    name = _stream(table, about[0], kind, streams)
    if kind == "RIDS":
        child = _stream(table, about[1], kind, streams)
        return DeclaredConstraint(kind, _k(table), parent=name, child=child)
    wanted = _needed(table, "attribute", f"{kind} is about one of {name}")
    attribute = attribute_named(table, f"attribute of {name}", wanted, streams[name])
    _check_order(table, kind, attribute, streams[name])
    if kind == "OAC":
        return DeclaredConstraint(kind, _k(table), child=name, attribute=attribute)
    return DeclaredConstraint(kind, _k(table), parent=name, attribute=attribute)


def _needed(table: TomlTable, key: str, otherwise: str) -> str:
    text = table.text(key)
    if text is None:
        raise table.refuse(f"has no {key}; {otherwise}")
    return text.strip()


def _stream(table: TomlTable, key: str, kind: str, streams: Mapping[str, Schema]) -> str:
    wanted = _needed(table, key, f"{kind} needs {listed((*_ABOUT[kind], 'k'), 'and')}")
    for name in streams:
        if name.lower() == wanted.lower():
            return name
    if kind == "RIDS" and "query" in table.values and wanted.startswith(_DERIVED):
        return wanted
    hint = did_you_mean(wanted, streams) or f"; streams are {listed(streams, 'and')}"
    raise table.refuse(f"{key}: there is no stream {wanted!r}{hint}")


def _check_order(table: TomlTable, kind: str, attribute: str, schema: Schema) -> None:
    known = schema.find(attribute)
    if kind in _ORDERED_ARRIVAL and known is not None and known.type not in _FOLLOWED:
        allowed = f"{kind} is about numbers, dates and timestamps, CA about any attribute"
        message = f"{attribute!r} is a {known.type} column, whose order arrival does not follow"
        raise table.refuse(f"{message}; {allowed}")


def _k(table: TomlTable) -> int:
    k = table.values.get("k")
    if k is None:
        raise table.refuse("has no k; write the number of arrivals, 0 or more")
    if isinstance(k, bool) or not isinstance(k, int):
        raise table.refuse(f"k must be a whole number of arrivals, not {kind_of(k)}")
    if not 0 <= k <= _MOST_ARRIVALS:
        raise table.refuse(f"k = {k} is not allowed; 0 to {_MOST_ARRIVALS} arrivals")
    return k


def _about(
    table: TomlTable, constraint: DeclaredConstraint, queries: Sequence[ContinuousQuery]
) -> list[str]:
    """The queries a constraint is about: the one it names, or all that read its streams."""
    names_of = (constraint.parent, constraint.child)
    streams = {name for name in names_of if name and not name.startswith(_DERIVED)}
    read = [query.name for query in queries if streams.issubset(query.reads)]
    named = table.text("query")
    if named is None:
        if not read:
            raise table.refuse(f"is about no query: none reads {listed(sorted(streams), 'and')}")
        return read
    names = [query.name for query in queries]
    if named not in names:
        hint = did_you_mean(named, names) or f"; queries are {listed(names, 'and')}"
        raise table.refuse(f"query: there is no query {named!r}{hint}")
    if named not in read:
        raise table.refuse(f"query {named!r} does not read {listed(sorted(streams), 'and')}")
    return [named]
