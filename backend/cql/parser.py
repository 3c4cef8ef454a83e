"""CQL text to its logical plan, and to the typed, negation-free query that runs today.

``plan_of`` reads every CQL query: names are looked up, constants typed, types checked.
``parse_query`` takes those of its plans that some system runs (backend.cql.claims); the others are
refused by name, at their place. Every refusal is a CqlError.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from backend.cql.claims import NotRun, claim, condition
from backend.cql.errors import CqlError
from backend.cql.logical import Logical
from backend.cql.nodes import Statement
from backend.cql.plain import plain_selection
from backend.cql.resolve import Resolver
from backend.cql.scope import Catalog, From, Scope, refuse
from backend.cql.syntax import check_characters, parse_text
from backend.model.conditions import Condition, ContinuousQuery
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
    name: str, text: str, streams: Mapping[str, Schema], functions: Functions | None = None
) -> ContinuousQuery:
    """The continuous query ``name`` that ``text`` writes over one of ``streams``.

    functions: those that may be called; None: none. Raises CqlError, also for what no system runs.
    """
    check_characters(text)
    resolver = Resolver(Catalog(streams, functions=functions or Functions()), text)
    plain = plain_selection(text)
    if plain is not None:
        with suppress(CqlError):
            return _query(name, text, plain, resolver)
    return _query(name, text, parse_text(text, "query_text"), resolver)


def _query(name: str, text: str, statement: Statement, resolver: Resolver) -> ContinuousQuery:
    try:
        stream, native, filters = claim(resolver.plan(statement))
    except NotRun as refusal:
        refuse(refusal.sentence, refusal.node.at, text)
    return ContinuousQuery(name, stream, text, native, filters)


def parse_condition(text: str, schema: Schema) -> Condition:
    """The condition ``text`` writes, as it would stand after Where. Raises CqlError."""
    check_characters(text)
    scope = Scope([From("", "the stream", schema.attributes)], text)
    expressions = Resolver(Catalog(), text).expressions(scope)
    try:
        return condition(expressions.condition(parse_text(text, "condition_text")))
    except NotRun as refusal:
        refuse(refusal.sentence, refusal.node.at, text)
