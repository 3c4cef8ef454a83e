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
from backend.workloads.sysstream import SYS_SCHEMA, SYSSTREAM


def read_query(
    name: str,
    text: str,
    streams: Mapping[str, Schema],
    functions: Functions,
    relations: Mapping[str, Schema],
    queries: Mapping[str, ContinuousQuery],
    system: str = "",
) -> ContinuousQuery:
    """The query ``name`` over the streams of a run, SysStream among them.

    relations: stored ones; queries: those registered before, whose answers it may read. system:
    that is to run it, '' for the first that can. What reads SysStream always has a plan: it is no
    input whose tuples could be selected. Raises CqlError.
    """
    known = {**streams, SYSSTREAM: SYS_SCHEMA}
    query = parse_query(name, text, known, functions, relations=relations, queries=queries)
    query = replace(query, system=system)
    if query.stream != SYSSTREAM or query.plan is not None:
        return query
    plan = plan_of(text, Catalog({SYSSTREAM: SYS_SCHEMA}, functions=functions))
    return replace(query, condition=TRUE, filters=(), plan=plan, streams=(SYSSTREAM,))
