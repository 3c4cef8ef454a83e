"""Conditions back to CQL: one canonical text for each condition."""

from __future__ import annotations

import re
from datetime import datetime

from backend.cql.syntax import reserved_words
from backend.model.conditions import (
    And,
    Argument,
    Call,
    Comparison,
    Condition,
    Constant,
    Expensive,
    NullTest,
    Or,
    Reference,
    TableName,
)


def format_condition(condition: Condition) -> str:
    """The condition as CQL; parsing it again gives the same condition (nested And/Or flattened)."""
    if isinstance(condition, Comparison):
        name, constant = format_name(condition.attribute), format_constant(condition.constant)
        return f"{name} {condition.op} {constant}"
    if isinstance(condition, NullTest):
        test = "is not null" if condition.negated else "is null"
        return f"{format_name(condition.attribute)} {test}"
    if len(condition.parts) == 1:
        return format_condition(condition.parts[0])
    if isinstance(condition, And):
        return " and ".join(_inner(part) for part in condition.parts) or "true"
    return " or ".join(_inner(part) for part in condition.parts) or "false"


def format_filter(part: Expensive) -> str:
    """A call or a membership in a window as CQL."""
    if isinstance(part, Call):
        arguments = ", ".join(_argument(a) for a in part.arguments)
        return f"{'not ' if part.negated else ''}{part.function}({arguments})"
    word = "not in" if part.negated else "in"
    relation = f"Select {format_name(part.column)} From {format_name(part.stream)}"
    return f"{format_name(part.attribute)} {word} ({relation} [Rows {part.rows}])"


def _argument(argument: Argument) -> str:
    if isinstance(argument, Reference):
        return format_name(argument.attribute)
    if isinstance(argument, TableName):
        return format_name(argument.table)
    return format_constant(argument.value)


def _inner(part: Condition) -> str:
    text = format_condition(part)
    return f"({text})" if isinstance(part, And | Or) and len(part.parts) > 1 else text


def format_name(name: str) -> str:
    """A stream or attribute name, in backquotes when it needs them."""
    if re.fullmatch(r"[^\W\d]\w*", name) and name.lower() not in reserved_words():
        return name
    return "`" + name.replace("`", "``") + "`"


def format_constant(constant: Constant) -> str:
    """A constant as a CQL literal of its type."""
    if isinstance(constant, bool):
        return "true" if constant else "false"
    if isinstance(constant, str):
        return "'" + constant.replace("'", "''") + "'"
    if isinstance(constant, int | float):
        return repr(constant)
    if isinstance(constant, datetime):
        return f"TIMESTAMP '{constant.isoformat(sep=' ')}'"
    return f"DATE '{constant.isoformat()}'"
