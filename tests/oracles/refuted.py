"""Which row groups hold nothing for conjunctions of comparisons: value by value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from backend.model.conditions import And, Comparison, ContinuousQuery
from backend.model.schema import Schema
from tests.oracles.selection import truth

#: Least and greatest value, and whether some are NULL; None: nothing is known.
Range = tuple[float, float, bool] | None


def is_refuted(
    queries: Iterable[ContinuousQuery], ranges: Mapping[str, Range], schema: Schema
) -> bool:
    """Whether each query has an attribute that no value between its ends suits. Constants are
    whole numbers, so halves stand for all values between them."""
    return not any(
        all(_is_suited(query, attribute, known, schema) for attribute, known in ranges.items())
        for query in queries
    )


def _is_suited(query: ContinuousQuery, attribute: str, known: Range, schema: Schema) -> bool:
    assert isinstance(query.condition, And)
    own = [c for c in query.condition.parts if isinstance(c, Comparison)]
    own = [c for c in own if c.attribute == attribute]
    low, high, has_null = known or (-100.0, 100.0, True)
    halves = [n / 2 for n in range(int(2 * low), int(2 * high) + 1)]
    values = [*halves, low, high, *([None] if has_null else [])]
    return any(all(truth(c, {attribute: value}, schema) for c in own) for value in values)
