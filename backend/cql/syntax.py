"""From CQL text to its syntax tree; syntax errors in words people use."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from backend.cql.builder import OtherJoin, TreeBuilder
from backend.cql.errors import CqlError, did_you_mean, listed
from backend.cql.nodes import Located, Node, part_names
from backend.cql.statements import Statement

MAX_DEPTH: Final = 200
#: A statement within another counts as so many levels: more is done at each.
_STATEMENT_DEPTH: Final = 4
#: The parser's tables, made by the first process that parses: half a second for each other one.
_PREPARED: Final = Path(__file__).with_name("__pycache__") / "grammar.lark.cache"
_NO_TEXT: Final = re.compile("[\0\ud800-\udfff]")
COMPARISON_WORDS: Final = "a comparison (=, <>, <, <=, >, >=, IN, BETWEEN or IS NULL)"
_WORDS: Final = {
    "STAR": "'*'",
    "SELECT": "'Select'",
    "FROM": "'From'",
    "_WHERE": "'Where'",
    "_AND": "'and'",
    "_OR": "'or'",
    "BY": "'By'",
    "ON": "'On'",
    "NULL": "NULL",
    "NOT": "NOT",
    "IN": "IN",
    "BETWEEN": "BETWEEN",
    "_LPAR": "'('",
    "_COMMA": "','",
    "_RPAR": "')'",
    "_RSQB": "']'",
    "$END": "the end of the query",
}
#: Words of Case, which are names everywhere else.
_NAMES_ELSEWHERE: Final = frozenset({"when", "then", "else", "end"})
_INFIX: Final = frozenset({"and", "or", "in", "between", "is", "like"})
_HINTS: Final = {
    '"': "a double quote; write strings in 'single quotes' and odd names in `backquotes`",
    "'": "a string that never ends; close it with a single quote (write '' for one inside)",
    "`": "a name that never ends; close it with a backquote",
    "!": "'!'; write <> for 'not equal' and the word not for negation",
    "&": "'&'; write the word and",
    "|": "'|'; write the word or",
}


#: Of SQL and not of CQL: how it is written, and what to do instead.
_FOREIGN: Final = tuple(
    (re.compile(pattern, re.IGNORECASE | re.ASCII), sentence)
    for pattern, sentence in (
        (
            r"exists\s*\(\s*select\b",
            "Exists is not in CQL; look for a value: attribute In (Select attribute From …)",
        ),
        (
            r"(limit|offset)\s+\d+|fetch\s+(first|next)\b|top\s*\(?\s*\d+",
            "answers are not cut in CQL, they change with time; the last tuples of a stream are a "
            "window, as in S [Rows 5]",
        ),
        (
            r"interval\s*('[^']*'|\d+)",
            "lengths are written without Interval, as in S [Range 3 Minutes] or "
            "Valid(S) >= 3 Minutes",
        ),
        (
            r"is\s+(not\s+)?distinct\s+from\b",
            "Is Distinct From is not in CQL; write a <> b or a is null or b is null",
        ),
        (r"/\*", "found a comment that never ends; close it with */"),
        (r"\|\|", "strings are not joined in CQL; select both columns"),
        (r"::\s*\w*", "a cast is written Cast(value As type)"),
        (
            r"with\s+\w+\s*(\([^)]*\)\s*)?as\s*\(",
            "With is not in CQL; register the inner query under its name and read that",
        ),
        (
            r"over\s*\(",
            "Over is not in CQL; windows belong to sources, as in S [Partition By a Rows 5]",
        ),
        (r"(ilike|rlike|regexp)\b", "patterns are written a like 'b%', in the case they have"),
    )
)


def parse_text(text: str, start: Literal["query_text", "condition_text"]) -> Any:
    """A Statement for ``query_text``, a Node for ``condition_text``; raises CqlError."""
    try:
        tree: Any = _parser().parse(text, start=start)
    except UnexpectedInput as error:
        raise _syntax_error(error, text) from None
    except OtherJoin as error:
        raise _other_join(error.word, text) from None
    _refuse_deep(tree, text)
    return tree


def check_characters(text: str) -> None:
    """Refuse halves of surrogate pairs and NUL, which no store keeps. Raises CqlError."""
    match = _NO_TEXT.search(text)
    if match is not None:
        before = text[: match.start()].split("\n")
        shown = _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", text)
        message = f"found U+{ord(match[0]):04X}, which is no character of a text"
        raise CqlError(message, len(before), len(before[-1]) + 1, shown)


def _refuse_deep(tree: Node | Statement, text: str) -> None:
    """Refuse what is nested deeper than a recursive walk may go; this walk is none."""
    open_nodes: list[tuple[Located, int]] = [(tree, 0)]
    while open_nodes:
        node, depth = open_nodes.pop()
        if depth > MAX_DEPTH:
            at = node.at
            message = f"nested deeper than {MAX_DEPTH} levels"
            raise CqlError(message, at.line or 1, at.column or 1, text, len(at))
        inside = depth + (_STATEMENT_DEPTH if isinstance(node, Statement) else 1)
        for name in part_names(node):
            value = getattr(node, name)
            parts = value if isinstance(value, tuple) else (value,)
            open_nodes += [(child, inside) for child in parts if isinstance(child, Located)]


def reserved_words() -> frozenset[str]:
    """Words that are names only inside backquotes, lower case."""
    return _reserved()


@cache
def _reserved() -> frozenset[str]:
    patterns = (t.pattern for t in _parser().terminals)
    words = {p.value for p in patterns if p.type == "str" and p.value.isalpha()}
    return frozenset((words | {"istream", "dstream", "rstream", "case"}) - _NAMES_ELSEWHERE)


@cache
def _parser() -> Lark:
    return Lark.open(
        "grammar.lark",
        rel_to=__file__,
        parser="lalr",
        lexer="basic",
        start=["query_text", "condition_text"],
        maybe_placeholders=False,
        transformer=TreeBuilder(),
        g_regex_flags=re.ASCII,
        cache=str(_PREPARED),
    )


def _syntax_error(error: UnexpectedInput, text: str) -> CqlError:
    foreign = _foreign(error, text)
    if foreign is not None:
        return foreign
    if isinstance(error, UnexpectedCharacters):
        unexpected = _HINTS.get(error.char, f"{error.char!r}, which has no meaning here")
        return CqlError(f"found {unexpected}", error.line, error.column, text)
    assert isinstance(error, UnexpectedToken)
    accepted = error.accepts or error.expected
    before = _token_before(error.token, text)
    token = error.token
    if "_WHERE" in accepted and before and did_you_mean(before, ["where"]):
        token = before  # a misspelt Where, read as the stream's alias
    line, column = _position(token, text)
    expected = _expected(accepted, "" if before is None else before.type)
    message = f"found {_found(token)}, expected {expected}{_advice(token, before, accepted)}"
    return CqlError(message, line, column, text, len(token))


def _foreign(error: UnexpectedInput, text: str) -> CqlError | None:
    """What is wrong, where it is a form of SQL that CQL does not have."""
    at = error.pos_in_stream if error.pos_in_stream is not None else len(text)
    for pattern, sentence in _FOREIGN:
        for match in pattern.finditer(text):
            if match.start() <= at <= match.end():
                before = text[: match.start()].split("\n")
                width = match.end() - match.start()
                return CqlError(sentence, len(before), len(before[-1]) + 1, text, width)
    return None


def _other_join(word: Token, text: str) -> CqlError:
    kind = " ".join(word.split())
    message = f"{kind} Join is not run by any system; joins are A Join B On …, or A, B Where …"
    return CqlError(message, *_position(word, text), text, len(word))


def _token_before(token: Token, text: str) -> Token | None:
    end = len(text) if token.type == "$END" else token.start_pos or 0
    last = deque(_parser().lex(text[:end]), maxlen=1)
    return last.pop() if last else None


def _position(token: Token, text: str) -> tuple[int, int]:
    if token.type != "$END":
        return token.line or 1, token.column or 1
    lines = text.rstrip().split("\n")
    return len(lines), len(lines[-1]) + 1


def _found(token: Token) -> str:
    return "the end of the query" if token.type == "$END" else repr(str(token))


def _expected(accepted: Collection[str], before: str) -> str:
    if "COMPARE" in accepted:
        return COMPARISON_WORDS
    if "DISTINCT" in accepted and "STAR" in accepted:
        return "'*'"
    if "NUMBER" in accepted and "_RSQB" not in accepted:
        return "an attribute or a constant" if "SELECT" not in accepted else "a list of constants"
    if "SELECT" in accepted:
        return "'Select'"
    if "NAME" in accepted and not {"_WHERE", "FROM"} & set(accepted):
        return "a stream name" if before in ("FROM", "_COMMA", "JOIN") else "a name"
    if "PLUS" in accepted:  # an operand was there: what could be computed with it is not listed
        accepted = [terminal for terminal in accepted if terminal != "STAR"]
    words = [word for terminal, word in _WORDS.items() if terminal in accepted]
    return listed(words if len(words) < 2 or "_WHERE" not in accepted else _clauses(words))


def _clauses(words: list[str]) -> list[str]:
    return [word for word in words if word not in ("','", "BETWEEN", "IN")]


def _advice(token: Token, before: Token | None, accepted: Collection[str]) -> str:
    if before == "=" and token == "=":
        return "; equality is written with one ="
    word = token.lower()
    if "NAME" in accepted and word in _reserved() - _INFIX:
        return f" (a name spelled like the keyword {token} goes in `backquotes`)"
    return ""
