"""Queries as disjunctions of conjunctions over attributes: what one bitmap slot can express.

A slot is a conjunction of one condition per attribute, each an arbitrary And/Or tree on that
attribute alone (any union of regions), so only Or *across* attributes needs several slots.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from backend.model.conditions import And, Comparison, Condition, NullTest, Or, attributes_of
from backend.systems.contract import Refused

MAX_DISJUNCTS: Final = 64

#: One conjunction: attribute -> the conditions on it, all of which must hold.
Conjunct: TypeAlias = dict[str, tuple[Condition, ...]]


class QueryError(Refused, ValueError):
    """A query that cannot be registered; the message names it and says what is allowed."""


class QueryTooComplex(QueryError):
    """A query whose Or across attributes multiplies out to more than MAX_DISJUNCTS slots."""

    def __init__(self, query: str) -> None:
        super().__init__(
            f"query {query!r} multiplies out to more than {MAX_DISJUNCTS} alternatives; "
            "use fewer Or across different attributes (Or on one attribute is free) or split it"
        )
        self.query = query


def disjuncts(query: str, condition: Condition) -> list[Conjunct]:
    """The disjunctive normal form of ``condition`` over single-attribute conditions.

    An empty list is never true; an empty conjunct is always true. Exact in three-valued logic,
    because distribution and And/Or are monotone. Raises QueryTooComplex.
    """
    used = attributes_of(condition)
    if isinstance(condition, Comparison | NullTest) or len(used) == 1:
        return [{used[0]: (condition,)}]
    if isinstance(condition, And):
        return _distribute(query, condition)
    alternatives = [d for part in _merged(condition) for d in disjuncts(query, part)]
    return _checked(query, alternatives)


def _merged(condition: Or) -> list[Condition]:
    """The parts of an Or, those on one and the same attribute folded into one part."""
    by_attribute: dict[str, list[Condition]] = {}
    rest: list[Condition] = []
    for part in condition.parts:
        used = attributes_of(part)
        if len(used) == 1:
            by_attribute.setdefault(used[0], []).append(part)
        else:
            rest.append(part)
    return [Or(tuple(parts)) for parts in by_attribute.values()] + rest


def _distribute(query: str, condition: And) -> list[Conjunct]:
    product: list[Conjunct] = [{}]
    for part in condition.parts:
        choices = disjuncts(query, part)
        product = _checked(query, [_joined(left, right) for left in product for right in choices])
    return product


def _joined(left: Conjunct, right: Conjunct) -> Conjunct:
    joined = dict(left)
    for attribute, conditions in right.items():
        joined[attribute] = joined.get(attribute, ()) + conditions
    return joined


def _checked(query: str, conjuncts: list[Conjunct]) -> list[Conjunct]:
    if len(conjuncts) > MAX_DISJUNCTS:
        raise QueryTooComplex(query)
    return conjuncts
