"""CQL text to a typed, negation-free continuous query.

``Select * From Stream [Where condition]``: names are looked up, constants are typed, NOT is removed
by De Morgan's laws (exact in SQL's three-valued logic), IN and BETWEEN become comparisons. Calls of
registered functions and memberships in windows are set apart (see backend.cql.filters).
Valid CQL beyond selections is refused by name, at its place. Every refusal is a CqlError.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from backend.cql.conditions import ConditionBuilder, find_stream, refuse_unsupported
from backend.cql.errors import CqlError
from backend.cql.filters import FilterBuilder
from backend.cql.nodes import Selection, Unsupported
from backend.cql.plain import plain_selection
from backend.cql.syntax import check_characters, parse_text
from backend.model.conditions import TRUE, Condition, ContinuousQuery
from backend.model.functions import Functions
from backend.model.schema import Schema


def parse_query(
    name: str, text: str, streams: Mapping[str, Schema], functions: Functions | None = None
) -> ContinuousQuery:
    """The continuous query ``name`` that ``text`` writes over one of ``streams``.

    Keywords, stream, attribute and function names are read without regard to case; the result
    spells the stream as the mapping, attributes as the schema and functions as registered.
    functions: those that may be called; None: none. Raises CqlError.
    """
    check_characters(text)
    plain = plain_selection(text)
    if plain is not None:
        with suppress(CqlError):
            return _query(name, text, plain, streams, functions)
    statement = parse_text(text, "query_text")
    if isinstance(statement, Unsupported):
        refuse_unsupported(statement, text)
    return _query(name, text, statement, streams, functions)


def _query(
    name: str,
    text: str,
    selection: Selection,
    streams: Mapping[str, Schema],
    functions: Functions | None,
) -> ContinuousQuery:
    for problem in sorted(selection.unsupported, key=lambda p: p.at.start_pos or 0):
        refuse_unsupported(problem, text)
    assert selection.source is not None  # a missing source is always among the unsupported
    stream = find_stream(selection.source, streams, text)
    names = {stream.lower(), (selection.source.alias or stream).lower()}
    builder = ConditionBuilder(streams[stream], stream, names, text, functions)
    if selection.where is None:
        return ContinuousQuery(name, stream, text, TRUE)
    condition, filters = FilterBuilder(builder, streams).conjuncts(selection.where)
    return ContinuousQuery(name, stream, text, condition, filters)


def parse_condition(text: str, schema: Schema) -> Condition:
    """The condition ``text`` writes, as it would stand after Where. Raises CqlError."""
    check_characters(text)
    return ConditionBuilder(schema, "the stream", set(), text).build(
        parse_text(text, "condition_text")
    )
