"""CQL: the text of continuous queries, parsed and typed. See docs/cql.md."""

from backend.cql.errors import CqlError
from backend.cql.parser import parse_condition, parse_query, plan_of
from backend.cql.printer import format_condition, format_plan

__all__ = [
    "CqlError",
    "format_condition",
    "format_plan",
    "parse_condition",
    "parse_query",
    "plan_of",
]
