"""The syntax tree of a CQL text, before names and types are looked up.

Every node keeps the token it starts at, for error positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from lark import Token

LiteralKind: TypeAlias = Literal["number", "string", "boolean", "null", "date", "timestamp"]


@dataclass(frozen=True, slots=True)
class Name:
    """``attribute`` or ``stream.attribute``, backquotes removed."""

    at: Token
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal: ``text`` is its content without quotes (a number keeps its sign)."""

    at: Token
    kind: LiteralKind
    text: str


@dataclass(frozen=True, slots=True)
class Compare:
    """``left op right``; op is one of = <> < <= > >=."""

    at: Token
    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Member:
    """``subject [NOT] IN (items)``."""

    at: Token
    subject: Node
    items: tuple[Node, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Between:
    """``subject [NOT] BETWEEN low AND high``."""

    at: Token
    subject: Node
    low: Node
    high: Node
    negated: bool


@dataclass(frozen=True, slots=True)
class IsNull:
    """``subject IS [NOT] NULL``."""

    at: Token
    subject: Node
    negated: bool


@dataclass(frozen=True, slots=True)
class Not:
    """``NOT part``."""

    at: Token
    part: Node


@dataclass(frozen=True, slots=True)
class Logic:
    """Parts joined by one word, in the order written."""

    at: Token
    word: Literal["and", "or"]
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Valid CQL that this system does not run; ``what`` names it in words."""

    at: Token
    what: str


@dataclass(frozen=True, slots=True)
class Window(Unsupported):
    """``[words]`` after a stream; what is allowed only in the relation of a membership."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SelectList(Unsupported):
    """A select list other than ``*``; allowed only in the relation of a membership."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """``name(arguments)``."""

    at: Token
    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class InRelation:
    """``subject [NOT] IN (selection)``; Unsupported for another statement than a selection."""

    at: Token
    subject: Node
    relation: Selection | Unsupported
    negated: bool


Node: TypeAlias = (
    Name
    | Constant
    | Compare
    | Member
    | Between
    | IsNull
    | Not
    | Logic
    | Call
    | InRelation
    | Unsupported
)


@dataclass(frozen=True, slots=True)
class Source:
    """A stream of the From clause, with its alias."""

    name: Name
    alias: str | None


@dataclass(frozen=True, slots=True)
class Selection:
    """``Select * From source Where condition`` and what else the text asks for."""

    at: Token
    source: Source | None
    where: Node | None
    unsupported: tuple[Unsupported, ...]
