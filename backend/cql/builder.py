"""Lark's parse of a CQL text into the nodes of its syntax tree."""

from __future__ import annotations

import unicodedata
from typing import Any

from lark import Token, Transformer

from backend.cql import nodes, statements


class OtherJoin(Exception):
    """A join that is no inner one; word: what says so."""

    def __init__(self, word: Token) -> None:
        super().__init__(str(word))
        self.word = word


def _plain(token: Token) -> str:
    """A name as schemas have it: without backquotes, an accent as one with its letter."""
    name = token[1:-1].replace("``", "`") if token.type == "BACKQUOTED" else str(token)
    return unicodedata.normalize("NFC", name)


def _string(token: Token) -> str:
    return token[token.index("'") + 1 : -1].replace("''", "'")


def _nodes(children: list[Any]) -> list[Any]:
    return [child for child in children if not isinstance(child, Token)]


class TreeBuilder(Transformer[Token, Any]):
    """Lark rule -> node. Each method gets the rule's children: kept tokens and built nodes."""

    def query_text(self, children: list[Any]) -> Any:
        return children[0]

    condition_text = query_text

    # ------------------------------------------------------------------ expressions

    def name(self, children: list[Any]) -> nodes.Name:
        return nodes.Name(children[0], tuple(_plain(part) for part in children))

    def alias(self, children: list[Any]) -> str:
        return _plain(children[-1])

    def number(self, children: list[Any]) -> nodes.Constant:
        return nodes.Constant(children[0], "number", str(children[0]))

    def string(self, children: list[Any]) -> nodes.Constant:
        return nodes.Constant(children[0], "string", _string(children[0]))

    def boolean(self, children: list[Any]) -> nodes.Constant:
        return nodes.Constant(children[0], "boolean", children[0].lower())

    def null(self, children: list[Any]) -> nodes.Constant:
        return nodes.Constant(children[0], "null", "NULL")

    def date_literal(self, children: list[Any]) -> nodes.Constant:
        return nodes.Constant(children[0], "date", _string(children[0]))

    def timestamp_literal(self, children: list[Any]) -> nodes.Constant:
        return nodes.Constant(children[0], "timestamp", _string(children[0]))

    def signed(self, children: list[Any]) -> nodes.Node:
        sign, operand = children
        if isinstance(operand, nodes.Constant) and operand.kind == "number":
            number = operand.text.removeprefix("-")
            minus = (sign == "-") != operand.text.startswith("-")
            return nodes.Constant(sign, "number", "-" + number if minus else number)
        return nodes.Negative(sign, operand) if sign == "-" else operand

    def disjunction(self, children: list[Any]) -> nodes.Logic:
        return nodes.Logic(children[0].at, "or", tuple(children))

    def conjoined(self, children: list[Any]) -> nodes.Logic:
        return nodes.Logic(children[0].at, "and", tuple(children))

    def negated(self, children: list[Any]) -> nodes.Not:
        return nodes.Not(children[0], children[1])

    def comparison(self, children: list[Any]) -> nodes.Compare:
        left, op, right = children
        return nodes.Compare(left.at, "<>" if op == "!=" else str(op), left, right)

    def membership(self, children: list[Any]) -> nodes.Member:
        subject, *items = _nodes(children)
        return nodes.Member(subject.at, subject, tuple(items), children[1].type == "NOT")

    def between(self, children: list[Any]) -> nodes.Between:
        subject, low, high = _nodes(children)
        return nodes.Between(subject.at, subject, low, high, children[1].type == "NOT")

    def null_test(self, children: list[Any]) -> nodes.IsNull:
        return nodes.IsNull(children[0].at, children[0], children[2].type == "NOT")

    def like(self, children: list[Any]) -> nodes.Like:
        subject, pattern = _nodes(children)
        return nodes.Like(children[1], subject, pattern, children[1].type == "NOT")

    def arithmetic(self, children: list[Any]) -> nodes.Arithmetic:
        left, op, right = children
        return nodes.Arithmetic(op, str(op), left, right)

    def length(self, children: list[Any]) -> nodes.Length:
        number, unit = children
        return nodes.Length(number, 0, str(unit))

    def cast(self, children: list[Any]) -> nodes.Cast:
        word, operand, _, *words = children
        return nodes.Cast(word, operand, tuple(map(str, words)))

    def case(self, children: list[Any]) -> nodes.Case:
        word, *rest = children
        branches = [part for part in rest if isinstance(part, list)]
        subject = None if isinstance(rest[0], list) else rest[0]
        conditions, values = zip(*(branch for branch in branches if len(branch) == 2), strict=True)
        if subject is not None:
            conditions = tuple(nodes.Compare(c.at, "=", subject, c) for c in conditions)
        last = branches[-1][0] if len(branches[-1]) == 1 else nodes.Constant(word, "null", "NULL")
        return nodes.Case(word, tuple(conditions), (*values, last))

    def branch(self, children: list[Any]) -> list[nodes.Node]:
        return _nodes(children)

    otherwise = branch

    def call(self, children: list[Any]) -> nodes.Call | nodes.Aggregated:
        name, *rest = children
        words = [part.type for part in rest if isinstance(part, Token)]
        if words or name.lower() in nodes.AGGREGATES:
            return nodes.Aggregated(name, name.lower(), tuple(_nodes(rest)), "DISTINCT" in words)
        return nodes.Call(name, str(name), tuple(rest))

    def in_relation(self, children: list[Any]) -> nodes.InRelation:
        subject, relation = children[0], children[-1]
        return nodes.InRelation(subject.at, subject, relation, children[1].type == "NOT")

    def subquery(self, children: list[Any]) -> nodes.Subquery:
        return nodes.Subquery(children[0].at, children[0])

    # ------------------------------------------------------------------ statements

    def star(self, children: list[Any]) -> statements.Star:
        return statements.Star(children[0], children[0].rpartition(".")[0].strip())

    def item(self, children: list[Any]) -> statements.Item:
        return statements.Item(
            nodes.start(children[0]), children[0], children[1] if len(children) > 1 else ""
        )

    def select_list(self, children: list[Any]) -> statements.SelectList:
        return statements.SelectList(children[0].at, tuple(children))

    def distinct(self, children: list[Any]) -> statements.SelectList:
        return statements.SelectList(children[0], tuple(children[1:]), distinct=children[0])

    def stream_list(self, children: list[Any]) -> statements.SelectList:
        word, inside = children
        return statements.SelectList(word, inside.items, word, inside.distinct)

    def window(self, children: list[Any]) -> statements.WindowText:
        return statements.WindowText(children[0], tuple(_plain(child) for child in children[1:]))

    def source(self, children: list[Any]) -> statements.Source:
        relation, *rest = children
        window = next((part for part in rest if isinstance(part, statements.WindowText)), None)
        alias = next((part for part in rest if isinstance(part, str)), "")
        attributes = next((part for part in rest if isinstance(part, tuple)), None)
        return statements.Source(relation.at, relation, window, alias, attributes)

    def coalescing(self, children: list[Any]) -> tuple[nodes.Name, ...]:
        return tuple(children)

    def enclosed(self, children: list[Any]) -> statements.Source:
        """``(S [Rows 5] As a)`` and ``(S [Rows 5]) As a``."""
        return self.source([children[0], *reversed(children[1:])])

    def join(self, children: list[Any]) -> statements.JoinText:
        left, *_, word, right, _, condition = children
        return statements.JoinText(word, left, right, condition)

    def other_join(self, children: list[Any]) -> Any:
        raise OtherJoin(children[-1])

    def sources(self, children: list[Any]) -> tuple[Any, ...]:
        return tuple(children)

    def where(self, children: list[Any]) -> statements.Clause:
        return statements.Clause(children[0].at, "where", tuple(children))

    def grouping(self, children: list[Any]) -> statements.Clause:
        return statements.Clause(children[0], "group", tuple(_nodes(children)))

    def having(self, children: list[Any]) -> statements.Clause:
        return statements.Clause(children[0], "having", tuple(_nodes(children)))

    def ordering(self, children: list[Any]) -> statements.Clause:
        return statements.Clause(children[0], "order", tuple(_nodes(children)))

    def selection(self, children: list[Any]) -> statements.Selection:
        select, listed, _, sources, *clauses = children
        return statements.Selection(select, listed, sources, tuple(clauses))

    def streamed(self, children: list[Any]) -> statements.Streamed:
        word, statement = children
        return statements.Streamed(word, word.capitalize(), statement)

    def set_operator(self, children: list[Any]) -> Token:
        token: Token = children[0]
        return token

    def compound(self, children: list[Any]) -> statements.Compound:
        left, word, right = children
        return statements.Compound(word, word.capitalize(), left, right)
