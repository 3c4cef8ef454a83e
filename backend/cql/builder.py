"""Lark's parse of a CQL text into the nodes of its syntax tree."""

from __future__ import annotations

from typing import Any

from lark import Token, Transformer

from backend.cql.nodes import (
    Between,
    Call,
    Compare,
    Constant,
    InRelation,
    IsNull,
    Logic,
    Member,
    Name,
    Node,
    Not,
    Selection,
    SelectList,
    Source,
    Unsupported,
    Window,
)


def _plain(token: Token) -> str:
    return token[1:-1].replace("``", "`") if token.type == "BACKQUOTED" else str(token)


def _string(token: Token) -> str:
    return token[token.index("'") + 1 : -1].replace("''", "'")


def _first_token(children: list[Any]) -> Token:
    first = children[0]
    if isinstance(first, Token):
        return first
    return first.name.at if isinstance(first, Source) else first.at


class TreeBuilder(Transformer[Token, Any]):
    """Lark rule -> node. Each method gets the rule's children: kept tokens and built nodes."""

    def query_text(self, children: list[Any]) -> Any:
        return children[0]

    condition_text = query_text
    where = query_text

    def name(self, children: list[Any]) -> Name:
        return Name(children[0], tuple(_plain(part) for part in children))

    def alias(self, children: list[Any]) -> str:
        return _plain(children[-1])

    def number(self, children: list[Any]) -> Constant:
        return Constant(children[0], "number", str(children[0]))

    def string(self, children: list[Any]) -> Constant:
        return Constant(children[0], "string", _string(children[0]))

    def boolean(self, children: list[Any]) -> Constant:
        return Constant(children[0], "boolean", children[0].lower())

    def null(self, children: list[Any]) -> Constant:
        return Constant(children[0], "null", "NULL")

    def date_literal(self, children: list[Any]) -> Constant:
        return Constant(children[0], "date", _string(children[0]))

    def timestamp_literal(self, children: list[Any]) -> Constant:
        return Constant(children[0], "timestamp", _string(children[0]))

    def signed(self, children: list[Any]) -> Node:
        sign, operand = children
        if not (isinstance(operand, Constant) and operand.kind == "number"):
            return Unsupported(sign, "arithmetic")
        number = operand.text.removeprefix("-")
        minus = (sign == "-") != operand.text.startswith("-")
        return Constant(sign, "number", "-" + number if minus else number)

    def disjunction(self, children: list[Any]) -> Logic:
        return Logic(children[0].at, "or", tuple(children))

    def conjoined(self, children: list[Any]) -> Logic:
        return Logic(children[0].at, "and", tuple(children))

    def negated(self, children: list[Any]) -> Not:
        return Not(children[0], children[1])

    def comparison(self, children: list[Any]) -> Compare:
        left, op, right = children
        return Compare(left.at, "<>" if op == "!=" else str(op), left, right)

    def membership(self, children: list[Any]) -> Member:
        nodes = [child for child in children if not isinstance(child, Token)]
        negated = children[1].type == "NOT"
        return Member(nodes[0].at, nodes[0], tuple(nodes[1:]), negated)

    def between(self, children: list[Any]) -> Between:
        subject, low, high = (child for child in children if not isinstance(child, Token))
        return Between(subject.at, subject, low, high, children[1].type == "NOT")

    def null_test(self, children: list[Any]) -> IsNull:
        return IsNull(children[0].at, children[0], children[2].type == "NOT")

    def like(self, children: list[Any]) -> Unsupported:
        return Unsupported(next(c for c in children if isinstance(c, Token)), "LIKE")

    def arithmetic(self, children: list[Any]) -> Unsupported:
        return Unsupported(children[1], "arithmetic")

    def call(self, children: list[Any]) -> Call | Unsupported:
        name, *arguments = children
        if any(isinstance(part, Token) for part in arguments):  # count(*), count(Distinct a)
            return Unsupported(name, f"the function {name}(…)")
        return Call(name, str(name), tuple(arguments))

    def in_relation(self, children: list[Any]) -> InRelation:
        subject, relation = children[0], children[-1]
        return InRelation(subject.at, subject, relation, children[1].type == "NOT")

    def subquery(self, children: list[Any]) -> Unsupported:
        return Unsupported(_first_token(children), "a subquery")

    def star(self, children: list[Any]) -> None:
        return None

    def listed_star(self, children: list[Any]) -> Token:
        token: Token = children[0]
        return token

    def projection(self, children: list[Any]) -> SelectList:
        nodes = tuple(child for child in children if not isinstance(child, Token))
        return SelectList(_first_token(children), "a select list other than *", nodes)

    def item(self, children: list[Any]) -> Any:
        return children[0]

    def distinct(self, children: list[Any]) -> Unsupported:
        return Unsupported(children[0], "Distinct")

    def streamed(self, children: list[Any]) -> Unsupported:
        return Unsupported(children[0], f"the operator {children[0]}")

    def compound(self, children: list[Any]) -> Unsupported:
        return Unsupported(children[1], str(children[1]).capitalize())

    def set_operator(self, children: list[Any]) -> Token:
        token: Token = children[0]
        return token

    def window(self, children: list[Any]) -> Window:
        words = tuple(str(child) for child in children[1:])
        return Window(children[0], f"the window [{' '.join(words)}]", words)

    def source(self, children: list[Any]) -> tuple[Source, list[Unsupported]]:
        alias = next((child for child in children if type(child) is str), None)
        windows = [child for child in children if isinstance(child, Unsupported)]
        return Source(children[0], alias), windows

    def derived(self, children: list[Any]) -> tuple[None, list[Unsupported]]:
        return None, [Unsupported(_first_token(children), "a subquery")]

    def join(self, children: list[Any]) -> tuple[None, list[Unsupported]]:
        join = next(child for child in children if isinstance(child, Token))
        return None, [Unsupported(join, "a join")]

    def sources(self, children: list[Any]) -> tuple[Source | None, list[Unsupported]]:
        found = [problem for _, problems in children for problem in problems]
        if len(children) > 1 and isinstance(children[1][0], Source):
            found.append(Unsupported(children[1][0].name.at, "a join of several streams"))
        return children[0][0], found

    def grouping(self, children: list[Any]) -> Unsupported:
        return Unsupported(children[0], "Group By")

    def having(self, children: list[Any]) -> Unsupported:
        return Unsupported(children[0], "Having")

    def ordering(self, children: list[Any]) -> Unsupported:
        return Unsupported(children[0], "Order By")

    def selection(self, children: list[Any]) -> Selection:
        select, select_list, _, (source, problems), *rest = children
        clauses = [part for part in rest if _is_clause(part)]
        where = next((part for part in rest if not _is_clause(part)), None)
        listed_first = [] if select_list is None else [select_list]
        return Selection(select, source, where, tuple(listed_first + problems + clauses))


def _is_clause(part: Any) -> bool:
    clauses = ("Group By", "Having", "Order By")
    return isinstance(part, Unsupported) and part.what in clauses
