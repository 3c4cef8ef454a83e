"""From a query to its filters."""

from __future__ import annotations

from collections.abc import Iterator

from backend.cql.printer import format_condition, format_filter
from backend.model.conditions import (
    And,
    Condition,
    ContinuousQuery,
    FunctionPredicate,
    attributes_of,
)
from backend.model.filters import Filter, FilterKind


def pipeline_of(query: ContinuousQuery) -> tuple[Filter, ...]:
    """The query's filters: native ones first, each kind in the order written.

    The comparisons of one attribute are one filter, as is a condition with Or. Names: attribute,
    function, ``<attribute>_in_<stream>``; numbered from the second on when they repeat.
    """
    taken: dict[str, int] = {}
    filters = [
        Filter(_unique(_native_name(part), taken), format_condition(part), "native", part)
        for part in _native_parts(query.condition)
    ]
    for part in query.filters:
        name = (
            part.function
            if isinstance(part, FunctionPredicate)
            else f"{part.attribute}_in_{part.stream}"
        )
        kind: FilterKind = "function" if isinstance(part, FunctionPredicate) else "window"
        filters.append(Filter(_unique(name, taken), format_filter(part), kind, part))
    return tuple(filters)


def _native_parts(condition: Condition) -> Iterator[Condition]:
    """The conjuncts, those of one attribute joined, in the order of their first mention."""
    parts = condition.parts if isinstance(condition, And) else (condition,)
    joined: dict[tuple[str, ...], list[Condition]] = {}
    for part in parts:
        attributes = attributes_of(part)
        key = attributes if len(attributes) == 1 else (*attributes, str(len(joined)))
        joined.setdefault(key, []).append(part)
    for same in joined.values():
        yield same[0] if len(same) == 1 else And(tuple(same))


def _native_name(part: Condition) -> str:
    return "_or_".join(attributes_of(part)) or "never"


def _unique(name: str, taken: dict[str, int]) -> str:
    taken[name] = taken.get(name, 0) + 1
    return name if taken[name] == 1 else f"{name}_{taken[name]}"
