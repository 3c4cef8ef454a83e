"""CQL text to its logical plan, and to the continuous query that runs.

``plan_of`` reads every CQL query: names are looked up, constants typed, types checked.
``parse_query`` makes typed, negation-free conditions of selections (backend.cql.claims), and keeps
the plan of any other query; what no system runs (backend.cql.runnable) is refused by name, at its
place. Every refusal is a CqlError.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from backend.cql.answers import streams_of
from backend.cql.claims import NotRun, claim, condition
from backend.cql.errors import CqlError
from backend.cql.logical import Logical
from backend.cql.plain import plain_selection
from backend.cql.resolve import Resolver
from backend.cql.runnable import check
from backend.cql.scope import Catalog, From, Scope, refuse
from backend.cql.statements import Statement
from backend.cql.syntax import check_characters, parse_text
from backend.model.conditions import TRUE, Condition, ContinuousQuery
from backend.model.functions import Functions
from backend.model.schema import Schema


def plan_of(text: str, catalog: Catalog) -> Logical:
    """The logical plan of any CQL query over what the catalog has.

    Keywords and names are read without regard to case; the plan spells streams as the catalog,
    attributes as their schema, functions as registered. Raises CqlError.
    """
    check_characters(text)
    return Resolver(catalog, text).plan(parse_text(text, "query_text"))


def parse_query(
    name: str,
    text: str,
    streams: Mapping[str, Schema],
    functions: Functions | None = None,
    *,
    relations: Mapping[str, Schema] | None = None,
    queries: Mapping[str, ContinuousQuery] | None = None,
) -> ContinuousQuery:
    """The continuous query ``name`` that ``text`` writes over one or more of ``streams``.

    functions: those that may be called; relations: stored ones; queries: whose answers may be read;
    None: none. Raises CqlError, also for what no system runs.
    """
    check_characters(text)
    catalog = Catalog(streams, relations or {}, {}, functions or Functions())
    catalog = replace(catalog, queries=_Plans(queries or {}, catalog))
    resolver = Resolver(catalog, text)
    plain = plain_selection(text)
    if plain is not None:
        with suppress(CqlError):
            return _query(name, text, plain, resolver)
    return _query(name, text, parse_text(text, "query_text"), resolver)


def _query(name: str, text: str, statement: Statement, resolver: Resolver) -> ContinuousQuery:
    plan = resolver.plan(statement)
    claimed = claim(plan)
    if claimed is not None:
        stream, native, filters = claimed
        return ContinuousQuery(name, stream, text, native, filters)
    try:
        check(plan)
    except NotRun as refusal:
        refuse(refusal.sentence, refusal.node.at, text)
    read = streams_of(plan)
    return ContinuousQuery(name, read[0], text, TRUE, plan=plan, streams=read)


class _Plans(Mapping[str, Logical]):
    """The plans of queries, those of selections made when they are asked for."""

    def __init__(self, queries: Mapping[str, ContinuousQuery], catalog: Catalog) -> None:
        self._queries, self._catalog = queries, catalog

    def __getitem__(self, name: str) -> Logical:
        query = self._queries[name]
        plan: Logical = query.plan or plan_of(query.text, self._catalog)
        return plan

    def __iter__(self) -> Iterator[str]:
        return iter(self._queries)

    def __len__(self) -> int:
        return len(self._queries)


def parse_condition(text: str, schema: Schema) -> Condition:
    """The condition ``text`` writes, as it would stand after Where. Raises CqlError."""
    check_characters(text)
    scope = Scope([From("", "the stream", schema.attributes)], text)
    expressions = Resolver(Catalog(), text).expressions(scope)
    try:
        return condition(expressions.condition(parse_text(text, "condition_text")))
    except NotRun as refusal:
        refuse(refusal.sentence, refusal.node.at, text)
