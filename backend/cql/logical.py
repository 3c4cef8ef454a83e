"""The logical plan of a CQL query: a typed tree of operators over bags and streams.

Windows make relations of streams, I/D/Rstream streams of relations, all others relations of
relations (Babu's thesis, section 2.1, table 2.1). A plan says what a query means, not how it is
run. Trees are compared without the places
of their nodes in the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias
from typing import Literal as OneOf

from backend.cql.nodes import (
    Aggregated,
    ColumnReference,
    Located,
    Node,
    SetWord,
    StreamWord,
)
from backend.cql.types import common_type, expressions_in, type_of
from backend.model.schema import Attribute, ValidTimes

#: The columns of a coalesced tuple's valid time, and the types they may have.
VALID_FROM: Final = "valid_from"
VALID_TO: Final = "valid_to"
_VALID_TYPES: Final = ("date", "timestamp", "int", "bigint")
#: The output of a plan: names, and types of Spark SQL ('' where only a run can tell).
Fields: TypeAlias = tuple[Attribute, ...]
ScanKind: TypeAlias = OneOf["stream", "relation", "query"]


@dataclass(frozen=True, slots=True)
class Range:
    """The tuples of the last ``seconds``: timestamps in the closed interval [now - seconds, now].

    slide: the window moves every so many seconds, None with every tick.
    """

    seconds: int
    slide: int | None = None


@dataclass(frozen=True, slots=True)
class Rows:
    """The newest ``rows`` tuples; by: of each group with equal values in these attributes."""

    rows: int
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Now:
    """The tuples of this instant."""


@dataclass(frozen=True, slots=True)
class Unbounded:
    """All tuples so far."""


WindowKind: TypeAlias = Range | Rows | Now | Unbounded


@dataclass(frozen=True, slots=True)
class Scan(Located):
    """A stream, a stored relation, or what another query answers. plan: of such a query. key: of
    attributes that no two tuples have alike, (): none is known. valid: when tuples are valid."""

    kind: ScanKind
    name: str
    fields: Fields
    plan: Logical | None = None
    key: tuple[str, ...] = field(default=(), compare=False, repr=False)
    valid: ValidTimes | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary(Located):
    """An operator over one input, whose attributes it keeps."""

    input: Logical

    @property
    def fields(self) -> Fields:
        """Its attributes."""
        return self.input.fields


@dataclass(frozen=True, slots=True)
class Window(Unary):
    """The relation of a stream's window. ``at`` is its opening bracket."""

    kind: WindowKind


@dataclass(frozen=True, slots=True)
class Derived(Unary):
    """A statement in a From clause. ``at`` is its first word."""

    @property
    def fields(self) -> Fields:
        """Those of the statement, each with a name of its own."""
        return numbered(self.input.fields)


@dataclass(frozen=True, slots=True)
class WithValidTimes(Unary):
    """The tuples of a stream's window with two more columns, the valid time of each. [AL11]"""

    valid: ValidTimes

    @property
    def fields(self) -> Fields:
        """Its attributes, then valid_from and valid_to."""
        return (*self.input.fields, *_valid_fields(self.valid))


@dataclass(frozen=True, slots=True)
class Coalesce(Unary):
    """One tuple for each maximal interval in which tuples of equal values are valid without a gap.

    attributes: those values are of. ``at`` is the name of what is coalesced.
    """

    attributes: tuple[str, ...]
    valid: ValidTimes

    @property
    def fields(self) -> Fields:
        """The attributes, then valid_from and valid_to."""
        types = {field.name: field for field in self.input.fields}
        return (*(types[name] for name in self.attributes), *_valid_fields(self.valid))


def _valid_fields(valid: ValidTimes) -> Fields:
    return Attribute(VALID_FROM, valid.type), Attribute(VALID_TO, valid.type)


def valid_columns(fields: Fields) -> ValidTimes | None:
    """The valid times of an answer that has both their columns; None for any other."""
    by_name = {attribute.name.lower(): attribute for attribute in fields}
    start, end = (by_name.get(name) for name in (VALID_FROM, VALID_TO))
    if start is None or end is None or start.type not in _VALID_TYPES or start.type != end.type:
        return None
    kind = "bigint" if start.type == "int" else start.type
    return ValidTimes(start.name, end.name, type=kind)


@dataclass(frozen=True, slots=True)
class Join(Located):
    """The combinations of two or more inputs; with a condition those that fulfil it.

    aliases: what the columns of each input are called by, '' for an input that is a join itself.
    condition: of ``left Join right On condition``, None where inputs are listed.
    """

    inputs: tuple[Logical, ...]
    aliases: tuple[str, ...]
    condition: Node | None = None

    @property
    def fields(self) -> Fields:
        """Those of the inputs, one after the other."""
        return tuple(field for part in self.inputs for field in part.fields)


@dataclass(frozen=True, slots=True)
class Select(Unary):
    """The tuples for which the condition is true (not unknown)."""

    condition: Node


class Output(NamedTuple):
    """An expression of a select list and what its column is called."""

    expression: Node
    name: str

    @property
    def field(self) -> Attribute:
        """Its attribute."""
        return Attribute(self.name, type_of(self.expression))


@dataclass(frozen=True, slots=True)
class Project(Located):
    """One column for each expression; equal tuples stay."""

    input: Logical
    outputs: tuple[Output, ...]

    @property
    def fields(self) -> Fields:
        """Those of the expressions."""
        return tuple(output.field for output in self.outputs)


@dataclass(frozen=True, slots=True)
class Aggregate(Located):
    """One tuple for each group, or one in all without groups.

    calls: the aggregates that the select list and Having name, each once, in their order; what is
    above refers to them, and to the groups, by equal expressions.
    """

    input: Logical
    groups: tuple[Node, ...]
    calls: tuple[Aggregated, ...]
    having: Node | None = None

    @property
    def fields(self) -> Fields:
        """Those of the groups, then of the calls; named by the word they start with."""
        return tuple(Attribute(_label(e), type_of(e)) for e in (*self.groups, *self.calls))


@dataclass(frozen=True, slots=True)
class Distinct(Unary):
    """Each tuple once."""


@dataclass(frozen=True, slots=True)
class OrderBy(Unary):
    """A sorted answer, which is not of CQL; it is known so that it can be refused by name."""

    keys: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class SetOperation(Located):
    """Union, Except or Intersect of bags. ``at`` is the word."""

    word: SetWord
    left: Logical
    right: Logical

    @property
    def fields(self) -> Fields:
        """Named as the left input's; of types that hold the values of both."""
        pairs = zip(self.left.fields, self.right.fields, strict=True)
        return tuple(Attribute(a.name, common_type(a.type, b.type)) for a, b in pairs)


@dataclass(frozen=True, slots=True)
class ToStream(Unary):
    """The stream of what comes (Istream), goes (Dstream) or is there (Rstream) at each instant."""

    word: StreamWord


Logical: TypeAlias = (
    Scan
    | Window
    | Derived
    | WithValidTimes
    | Coalesce
    | Join
    | Select
    | Project
    | Aggregate
    | Distinct
    | OrderBy
    | SetOperation
    | ToStream
)


def _label(expression: Node) -> str:
    return expression.name if isinstance(expression, ColumnReference) else str(expression.at)


def numbered(fields: Iterable[Attribute], taken: Iterable[str] = ()) -> Fields:
    """Attributes whose names differ, also in lower case, and from those ``taken`` (lower case): a
    name that is there already is numbered: a, a_2, a_3."""
    known, numbers, attributes = set(taken), dict[str, int](), []
    for attribute in fields:
        name = attribute.name
        while name.lower() in known:
            number = numbers[attribute.name.lower()] = numbers.get(attribute.name.lower(), 1) + 1
            name = f"{attribute.name}_{number}"
        known.add(name.lower())
        attributes.append(Attribute(name, attribute.type))
    return tuple(attributes)


def children(plan: Logical) -> tuple[Logical, ...]:
    """The inputs of a plan's topmost operator, left first."""
    if isinstance(plan, Scan):
        return ()
    if isinstance(plan, Join):
        return plan.inputs
    if isinstance(plan, SetOperation):
        return plan.left, plan.right
    return (plan.input,)


def walk(plan: Logical) -> Iterator[Logical]:
    """The operators of a plan, each before its inputs; not those of subqueries in expressions."""
    yield plan
    for part in children(plan):
        yield from walk(part)


def conditions(plan: Logical) -> tuple[Node, ...]:
    """The expressions of a plan's topmost operator itself."""
    if isinstance(plan, Select):
        return (plan.condition,)
    if isinstance(plan, Join):
        return () if plan.condition is None else (plan.condition,)
    if isinstance(plan, Project):
        return tuple(output.expression for output in plan.outputs)
    if isinstance(plan, Aggregate):
        return (*plan.groups, *plan.calls, *(() if plan.having is None else (plan.having,)))
    return plan.keys if isinstance(plan, OrderBy) else ()


def subqueries(plan: Logical) -> Iterator[Logical]:
    """The plans within expressions of a plan's operators."""
    for operator in walk(plan):
        for condition in conditions(operator):
            for node in expressions_in(condition):
                relation = getattr(node, "relation", None)
                if relation is not None:
                    yield relation
