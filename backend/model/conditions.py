"""Typed selection conditions: what a CQL Where clause means, NOT already pushed to the leaves.

SQL's three-valued logic holds: a comparison with NULL is unknown, and only ``true`` selects.
Negation is eliminated by the parser (De Morgan, which is exact in three-valued logic), so a
condition is built from comparisons, null tests, And and Or alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, TypeAlias

Op: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
Constant: TypeAlias = int | float | str | bool | date | datetime


@dataclass(frozen=True, slots=True)
class Comparison:
    """An atomic predicate ``attribute op constant``; the constant's type fits the attribute."""

    attribute: str
    op: Op
    constant: Constant


@dataclass(frozen=True, slots=True)
class NullTest:
    """``attribute IS NULL`` (or IS NOT NULL when negated); never unknown."""

    attribute: str
    negated: bool


@dataclass(frozen=True, slots=True)
class And:
    """Every part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part holds."""

    parts: tuple[Condition, ...]


Condition: TypeAlias = Comparison | NullTest | And | Or

#: The empty conjunction: true for every tuple.
TRUE: And = And(())


def attributes_of(condition: Condition) -> tuple[str, ...]:
    """The attributes a condition mentions, in order of first mention."""
    if isinstance(condition, Comparison | NullTest):
        return (condition.attribute,)
    found: dict[str, None] = {}
    for part in condition.parts:
        found.update(dict.fromkeys(attributes_of(part)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class ContinuousQuery:
    """A registered continuous query: ``Select * From stream Where condition``.

    text: the CQL as written. condition: attribute names spelled as in the schema.
    """

    name: str
    stream: str
    text: str
    condition: Condition
