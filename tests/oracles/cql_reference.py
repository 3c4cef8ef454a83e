"""CQL conditions written down and judged the slow way, apart from the parser.

A condition is a tree of plain tuples as a person would write it (NOT, IN and BETWEEN included). It
is judged by Kleene's tables, one node at a time; sqlite3 is a second, foreign judge of the text.
"""

from __future__ import annotations

import operator
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from backend.model.conditions import And, Comparison, Condition, NullTest

#: ("compare", attribute, op, constant, constant_first) | ("in", attribute, constants, negated)
#: | ("between", attribute, low, high, negated) | ("null", attribute, negated)
#: | ("not", tree) | ("and", trees) | ("or", trees)
Tree = tuple[Any, ...]
Tuple = Mapping[str, Any]

OPERATORS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(left: Any, op: str, right: Any) -> bool | None:
    """SQL's comparison: unknown (None) when either side is NULL."""
    return None if left is None or right is None else bool(OPERATORS[op](left, right))


def invert(truth: bool | None) -> bool | None:
    """SQL's NOT."""
    return None if truth is None else not truth


def conjunction(truths: Sequence[bool | None]) -> bool | None:
    """SQL's AND."""
    return False if False in truths else None if None in truths else True


def disjunction(truths: Sequence[bool | None]) -> bool | None:
    """SQL's OR."""
    return True if True in truths else None if None in truths else False


def judge(tree: Tree, row: Tuple) -> bool | None:
    """Truth of the written condition for one tuple."""
    match tree:
        case ("compare", attribute, op, constant, True):
            return compare(constant, op, row[attribute])
        case ("compare", attribute, op, constant, False):
            return compare(row[attribute], op, constant)
        case ("in", attribute, constants, negated):
            truth = disjunction([compare(row[attribute], "=", c) for c in constants])
            return invert(truth) if negated else truth
        case ("between", attribute, low, high, negated):
            ends = [compare(row[attribute], ">=", low), compare(row[attribute], "<=", high)]
            return invert(conjunction(ends)) if negated else conjunction(ends)
        case ("null", attribute, negated):
            return (row[attribute] is None) is not negated
        case ("not", part):
            return invert(judge(part, row))
        case ("and", parts):
            return conjunction([judge(part, row) for part in parts])
        case ("or", parts):
            return disjunction([judge(part, row) for part in parts])
    raise AssertionError(tree)


def judge_condition(condition: Condition, row: Tuple) -> bool | None:
    """Truth of a parsed condition for one tuple."""
    if isinstance(condition, Comparison):
        return compare(row[condition.attribute], condition.op, condition.constant)
    if isinstance(condition, NullTest):
        return (row[condition.attribute] is None) != condition.negated
    truths = [judge_condition(part, row) for part in condition.parts]
    return conjunction(truths) if isinstance(condition, And) else disjunction(truths)


def written(tree: Tree) -> str:
    """The condition as CQL text, with every composed part in parentheses."""
    match tree:
        case ("compare", attribute, op, constant, True):
            return f"{literal(constant)} {op} {attribute}"
        case ("compare", attribute, op, constant, False):
            return f"{attribute} {op} {literal(constant)}"
        case ("in", attribute, constants, negated):
            items = ", ".join(map(literal, constants))
            return f"{attribute} {'NOT IN' if negated else 'in'} ({items})"
        case ("between", attribute, low, high, negated):
            word = "not between" if negated else "BETWEEN"
            return f"{attribute} {word} {literal(low)} AND {literal(high)}"
        case ("null", attribute, negated):
            return f"{attribute} IS {'NOT ' if negated else ''}NULL"
        case ("not", part):
            return f"NOT ({written(part)})"
        case (word, parts):
            return f" {word} ".join(f"({written(part)})" for part in parts)
    raise AssertionError(tree)


def literal(constant: Any) -> str:
    """A Python value as a CQL literal."""
    match constant:
        case bool():
            return str(constant).lower()
        case str():
            return "'" + constant.replace("'", "''") + "'"
        case datetime():
            return f"TIMESTAMP '{constant:%Y-%m-%d %H:%M:%S.%f}'"
        case date():
            return f"date '{constant}'"
    return repr(constant)


def sqlite_selected(text: str, rows: Sequence[Tuple]) -> list[bool]:
    """Which rows ``Where text`` selects according to SQLite (numbers and strings only)."""
    names = list(rows[0])
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"CREATE TABLE t ({', '.join(names)})")
        marks = ", ".join("?" for _ in names)
        values = [tuple(row[name] for name in names) for row in rows]
        connection.executemany(f"INSERT INTO t VALUES ({marks})", values)
        found = {row[0] for row in connection.execute(f"SELECT rowid FROM t WHERE {text}")}
    finally:
        connection.close()
    return [number in found for number in range(1, len(rows) + 1)]
