"""The syntax of a CQL text: its statements, before names and types are looked up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf
from typing import TypeAlias

from lark import Token

from backend.cql.nodes import Located, Name, Node, SetWord, StreamWord


@dataclass(frozen=True, slots=True)
class Star(Located):
    """``*`` or ``source.*`` in a select list."""

    qualifier: str


@dataclass(frozen=True, slots=True)
class Item(Located):
    """``expression [[As] name]`` in a select list; name '' when none is written."""

    expression: Node
    name: str


@dataclass(frozen=True, slots=True)
class WindowText(Located):
    """``[words]`` after a source; commas left out."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Source(Located):
    """``relation [(attributes)] [window] [[As] alias]`` in a From clause; alias '' when none is
    written. attributes: those to coalesce on, None: it is not coalesced."""

    relation: Name | Statement
    window: WindowText | None
    alias: str
    attributes: tuple[Name, ...] | None = None


@dataclass(frozen=True, slots=True)
class JoinText(Located):
    """``left Join right On condition``. ``at`` is the word Join."""

    left: Source | JoinText
    right: Source | JoinText
    condition: Node


@dataclass(frozen=True, slots=True)
class Clause(Located):
    """``Where``, ``Group By``, ``Having`` or ``Order By`` with its expressions."""

    word: OneOf["where", "group", "having", "order"]
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class SelectList(Located):
    """What is selected. stream, distinct: their words as written, or None."""

    items: tuple[Star | Item, ...]
    stream: Token | None = field(default=None, compare=False)
    distinct: Token | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Selection(Located):
    """``Select list From sources`` and its clauses in the order written."""

    listed: SelectList
    sources: tuple[Source | JoinText, ...]
    clauses: tuple[Clause, ...] = ()

    def clause(self, word: str) -> Clause | None:
        """The clause that begins with ``word``."""
        return next((clause for clause in self.clauses if clause.word == word), None)


@dataclass(frozen=True, slots=True)
class Compound(Located):
    """``left Union right`` and its like. ``at`` is the word."""

    word: SetWord
    left: Statement
    right: Statement


@dataclass(frozen=True, slots=True)
class Streamed(Located):
    """``Istream(statement)`` and its like."""

    word: StreamWord
    statement: Statement


Statement: TypeAlias = Selection | Compound | Streamed
