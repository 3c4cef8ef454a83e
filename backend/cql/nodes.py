"""The syntax of a CQL text: its expressions, before and after names and types are looked up.

Every node keeps the token it starts at, for error positions; equality leaves it out. Expressions
that were looked up (backend.cql.resolve) are of the same types, with ColumnReference, Literal and
Table in place of Name and Constant, and with logical plans in place of statements; those of an
operator network have At in place of ColumnReference.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Final, TypeAlias
from typing import Literal as OneOf

from lark import Token

StreamWord: TypeAlias = OneOf["Istream", "Dstream", "Rstream"]
SetWord: TypeAlias = OneOf["Union", "Except", "Intersect"]
LiteralKind: TypeAlias = OneOf["number", "string", "boolean", "null", "date", "timestamp"]
#: The place of what stands in no text.
NOWHERE: Final = Token("NAME", "")
AGGREGATES = ("count", "sum", "avg", "min", "max")
#: Units of lengths in microseconds; a year is that of the Gregorian calendar on average.
LENGTH_UNITS: Final = {
    "Second": 1_000_000,
    "Minute": 60_000_000,
    "Hour": 3_600_000_000,
    "Day": 86_400_000_000,
    "Week": 604_800_000_000,
    "Year": 31_556_952_000_000,
}


@dataclass(frozen=True, slots=True)
class Located:
    """Anything with a place in the text."""

    at: Token = field(compare=False, repr=False)


def part_names(node: Located) -> tuple[str, ...]:
    """The names of what the node has, in the order of its fields."""
    names: tuple[str, ...] = node.__match_args__
    return names


@dataclass(frozen=True, slots=True)
class Name(Located):
    """``attribute`` or ``stream.attribute``, backquotes removed."""

    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constant(Located):
    """A literal: ``text`` is its content without quotes (a number keeps its sign)."""

    kind: LiteralKind
    text: str


@dataclass(frozen=True, slots=True)
class ColumnReference(Located):
    """An attribute that was looked up. source: its From item where there are several, else ''."""

    source: str
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class At(Located):
    """An attribute by its place: column number ``index`` of the input, of a type of Spark SQL."""

    index: int
    type: str


@dataclass(frozen=True, slots=True)
class Widened(Located):
    """``operand`` as a value of a wider type: an integer as a double, a date as a timestamp."""

    operand: Node
    type: str


@dataclass(frozen=True, slots=True)
class Literal(Located):
    """A constant of the type of what it is compared with, or of its own; None is NULL.

    Equal to those of the same type and value: 1, 1.0 and true are three constants.
    """

    value: int | float | str | bool | date | datetime | None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Table(Located):
    """A registered table, an argument of a function."""

    name: str


@dataclass(frozen=True, slots=True)
class Arithmetic(Located):
    """``left op right``; op is one of + - * / %. ``at`` is the operator."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Negative(Located):
    """``- operand``."""

    operand: Node


@dataclass(frozen=True, slots=True)
class Compare(Located):
    """``left op right``; op is one of = <> < <= > >=."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Member(Located):
    """``subject [NOT] IN (items)``."""

    subject: Node
    items: tuple[Node, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Between(Located):
    """``subject [NOT] BETWEEN low AND high``."""

    subject: Node
    low: Node
    high: Node
    negated: bool


@dataclass(frozen=True, slots=True)
class IsNull(Located):
    """``subject IS [NOT] NULL``."""

    subject: Node
    negated: bool


@dataclass(frozen=True, slots=True)
class Like(Located):
    """``subject [NOT] LIKE pattern``. ``at`` is the first word after the subject."""

    subject: Node
    pattern: Node
    negated: bool


@dataclass(frozen=True, slots=True)
class Not(Located):
    """``NOT part``."""

    part: Node


@dataclass(frozen=True, slots=True)
class Logic(Located):
    """Parts joined by one word, in the order written."""

    word: OneOf["and", "or"]
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Call(Located):
    """``name(arguments)``. registered: looked up and found among the functions of the workload."""

    name: str
    arguments: tuple[Node, ...]
    registered: bool = False


@dataclass(frozen=True, slots=True)
class Aggregated(Located):
    """``sum([Distinct] argument)``; ``count(*)`` has no argument."""

    function: str
    arguments: tuple[Node, ...]
    distinct: bool


@dataclass(frozen=True, slots=True)
class Length(Located):
    """``3 Minutes``: a length of time. unit: as written, then as in LENGTH_UNITS; '': ticks, beside
    valid times that are whole numbers."""

    number: int
    unit: str


@dataclass(frozen=True, slots=True)
class Cast(Located):
    """``Cast(operand As Interval Minute)``, ``Cast(operand As double)``. words: those behind As."""

    operand: Node
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Converted(Located):
    """``operand`` as a value of another type, NULL where that has none for it."""

    operand: Node
    type: str


@dataclass(frozen=True, slots=True)
class Case(Located):
    """``Case When condition Then value … Else value End``: the value of the first condition that is
    true. values: of each condition, and the last one where none is."""

    conditions: tuple[Node, ...]
    values: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class ValidLength(Located):
    """``Valid(S)``: how long a coalesced tuple is valid. unit: '' as it is, compared with lengths;
    else whole units of it, a number. source: what the tuples are of."""

    start: Node
    end: Node
    unit: str = ""
    source: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ColumnSpan(Located):
    """``(end - start) * times / over``, rounded down: the length between two columns of one type as
    they are held."""

    start: Node
    end: Node
    times: int = 1
    over: int = 1


@dataclass(frozen=True, slots=True)
class ElementTime(Located):
    """The time of an element: its tick ``* times / over``, rounded down, as a value of ``type``."""

    times: int
    over: int
    type: str


@dataclass(frozen=True, slots=True)
class InRelation(Located):
    """``subject [NOT] IN (relation)``. relation: a Statement, or its logical plan."""

    subject: Node
    relation: Any
    negated: bool


@dataclass(frozen=True, slots=True)
class Subquery(Located):
    """``(relation)`` where a value is due. relation: a Statement, or its logical plan."""

    relation: Any


Node: TypeAlias = (
    Name
    | Constant
    | ColumnReference
    | At
    | Widened
    | Literal
    | Table
    | Arithmetic
    | Negative
    | Compare
    | Member
    | Between
    | IsNull
    | Like
    | Not
    | Logic
    | Call
    | Aggregated
    | Length
    | Cast
    | Converted
    | Case
    | ValidLength
    | ColumnSpan
    | ElementTime
    | InRelation
    | Subquery
)


def start(node: Located) -> Token:
    """The token an expression starts at; the place of an operator's result is the operator."""
    while isinstance(node, Arithmetic | Like):
        node = node.left if isinstance(node, Arithmetic) else node.subject
    return node.at
