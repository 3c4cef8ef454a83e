"""The queries of a run as they are registered: over its streams, its relations and each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from backend.cql import parse_query
from backend.cql.parser import plan_of
from backend.cql.scope import Catalog
from backend.model.conditions import TRUE, ContinuousQuery
from backend.model.functions import Functions
from backend.model.schema import Schema
from backend.workloads.sysstream import SYS_STREAMS
from backend.workloads.tables import TomlTable, kind_of


def read_query(
    name: str,
    text: str,
    streams: Mapping[str, Schema],
    functions: Functions,
    relations: Mapping[str, Schema],
    queries: Mapping[str, ContinuousQuery],
    system: str = "",
) -> ContinuousQuery:
    """The query ``name`` over the streams of a run, those that it records among them.

    relations: stored ones; queries: those registered before, whose answers it may read. system:
    that is to run it, '' for the first that can. What reads one of these always has a plan: it is
    no input whose tuples could be selected. Raises CqlError.
    """
    known = {**streams, **SYS_STREAMS}
    query = parse_query(name, text, known, functions, relations=relations, queries=queries)
    query = replace(query, system=system)
    if query.stream not in SYS_STREAMS or query.plan is not None:
        return query
    plan = plan_of(text, Catalog(SYS_STREAMS, functions=functions))
    return replace(query, condition=TRUE, filters=(), plan=plan, streams=(query.stream,))


def query_asked(table: TomlTable, name: str) -> tuple[str, str]:
    """The CQL of a query and the system it names, '' = none: ``"..."`` or ``{ text, system }``.
    Raises WorkloadError."""
    value = table.values[name]
    if isinstance(value, str):
        return value, ""
    keys = {"text", "system"}
    if not isinstance(value, dict) or not all(isinstance(entry, str) for entry in value.values()):
        raise table.refuse(
            f"query {name!r} must be CQL text in a string, or {{ text, system }}, "
            f"not {kind_of(value)}"
        )
    if "text" not in value or value.keys() - keys:
        wrong = ", ".join(sorted(value.keys() - keys)) or "no text"
        raise table.refuse(f"query {name!r} has {wrong}; its keys are text and system")
    return value["text"], value.get("system", "")
