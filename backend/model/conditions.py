"""Typed selection conditions: what a CQL Where clause means, NOT already pushed to the leaves.

SQL's three-valued logic holds: a comparison with NULL is unknown, and only ``true`` selects.
Negation is eliminated by the parser (De Morgan, which is exact in three-valued logic), so a
condition is built from comparisons, null tests, And and Or alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias

Op: TypeAlias = Literal["=", "<>", "<", "<=", ">", ">="]
#: ``a op b`` is ``b FLIPPED[op] a``.
FLIPPED: Final[dict[str, Op]] = {
    "=": "=",
    "<>": "<>",
    "<": ">",
    ">=": "<=",
    ">": "<",
    "<=": ">=",
}
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
    attributes: dict[str, None] = {}
    for part in condition.parts:
        attributes.update(dict.fromkeys(attributes_of(part)))
    return tuple(attributes)


@dataclass(frozen=True, slots=True)
class Reference:
    """An argument of a function: the value of an attribute."""

    attribute: str


@dataclass(frozen=True, slots=True)
class TableName:
    """An argument of a function: a registered table."""

    table: str


@dataclass(frozen=True, slots=True)
class Fixed:
    """An argument of a function: a constant of the parameter's type."""

    value: Constant


Argument: TypeAlias = Reference | TableName | Fixed


@dataclass(frozen=True, slots=True)
class FunctionPredicate:
    """``function(arguments)``, or NOT of it; unknown when an attribute it is given is NULL."""

    function: str
    arguments: tuple[Argument, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class WindowMember:
    """``attribute [NOT] IN (Select column From stream [Rows rows])``; unknown for NULL.

    The relation holds the last ``rows`` tuples of ``stream`` that had arrived with the tuple.
    """

    attribute: str
    stream: str
    column: str
    rows: int
    negated: bool = False


#: Filters that are not compiled to expressions.
Expensive: TypeAlias = FunctionPredicate | WindowMember


def reads(filter_: Condition | Expensive) -> tuple[str, ...]:
    """The attributes any filter looks at, in order of first mention."""
    if isinstance(filter_, WindowMember):
        return (filter_.attribute,)
    if isinstance(filter_, FunctionPredicate):
        named = [a.attribute for a in filter_.arguments if isinstance(a, Reference)]
        return tuple(dict.fromkeys(named))
    return attributes_of(filter_)


#: How relations that change are called which constraints are about: ``groups of CarStr by cid``.
DISTINCT, GROUPS, JOINED, LAST = "distinct ", "groups of ", "join of ", "last "


class DeclaredConstraint(NamedTuple):
    """A k-constraint that is known to hold ([B05] chapter 6). type: RIDS, CA, OAP or OAC; parent,
    child: streams, parent alone for CA and OAP, child alone for OAC; attribute: of theirs, '' for
    RIDS; k: arrivals."""

    type: str
    k: int
    parent: str = ""
    child: str = ""
    attribute: str = ""


@dataclass(frozen=True, slots=True)
class ContinuousQuery:
    """A registered continuous query: ``Select * From stream Where condition and filters``.

    text: the CQL as written. condition: attribute names spelled as in the schema. filters: calls
    of functions and memberships in windows, all of which must hold, too; in the order written.
    plan: the logical plan (backend.cql.logical) of a query of any other form, whose condition is
    TRUE then, and its stream the first it reads; None for selections. streams: all it reads.
    system: the name of the one that is to run it, '' for the first that can. constraints: that the
    workload declares of what it reads.
    """

    name: str
    stream: str
    text: str
    condition: Condition
    filters: tuple[Expensive, ...] = ()
    plan: Any = None
    streams: tuple[str, ...] = ()
    system: str = ""
    constraints: tuple[DeclaredConstraint, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """The streams it reads."""
        return self.streams or (self.stream,)
