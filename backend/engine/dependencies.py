"""Queries that read what other queries answer: those others stay while they do."""

from __future__ import annotations

from collections.abc import Iterable

from backend.cql.logical import Logical, Scan, subqueries, walk
from backend.model.conditions import ContinuousQuery


def queries_read(query: ContinuousQuery) -> tuple[str, ...]:
    """The queries whose answers a query names, each once."""
    return tuple(dict.fromkeys(_named(query.plan))) if query.plan is not None else ()


def readers(name: str, queries: Iterable[ContinuousQuery]) -> list[str]:
    """The queries that read what query ``name`` answers."""
    return [
        query.name for query in queries if query.plan is not None and name in queries_read(query)
    ]


def _named(plan: Logical) -> Iterable[str]:
    for part in walk(plan):
        if isinstance(part, Scan) and part.kind == "query":
            yield part.name
    for subquery in subqueries(plan):
        yield from _named(subquery)
