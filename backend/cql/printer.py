"""Conditions and logical plans back to CQL: one canonical text for each."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from backend.cql import logical, nodes
from backend.cql.syntax import reserved_words
from backend.cql.types import all_hold, each_of, type_of
from backend.model import conditions
from backend.model.conditions import (
    And,
    Argument,
    Comparison,
    Condition,
    Constant,
    Expensive,
    NullTest,
    Or,
    Reference,
    TableName,
)

_STRENGTH: Final = {"+": 1, "-": 1, "*": 2, "/": 2, "%": 2}
_SIGN: Final = 4
#: Microseconds of what columns with the ends of valid times count.
_IN_US: Final = {"timestamp": 1, "date": nodes.LENGTH_UNITS["Day"]}
_UNITS: Final = {"Day": 86_400, "Hour": 3600, "Minute": 60}


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
    if isinstance(part, conditions.FunctionPredicate):
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


# ---------------------------------------------------------------------- expressions of a plan


def format_expression(node: nodes.Node) -> str:
    """An expression that was looked up as CQL; parsing it again gives it back."""
    if isinstance(node, nodes.Logic):
        return f" {node.word} ".join(_part(part) for part in node.parts)
    if isinstance(node, nodes.Not):
        return f"not {_part(node.part)}"
    negated = "not " if getattr(node, "negated", False) else ""
    if isinstance(node, nodes.Compare):
        return f"{_value(node.left)} {node.op} {_value(_limit(node))}"
    if isinstance(node, nodes.Member):
        return f"{_value(node.subject)} {negated}in ({', '.join(map(_value, node.items))})"
    if isinstance(node, nodes.Between):
        ends = f"{_value(node.low)} and {_value(node.high)}"
        return f"{_value(node.subject)} {negated}between {ends}"
    if isinstance(node, nodes.IsNull):
        return f"{_value(node.subject)} is {negated}null"
    if isinstance(node, nodes.Like):
        return f"{_value(node.subject)} {negated}like {_value(node.pattern)}"
    if isinstance(node, nodes.InRelation):
        return f"{_value(node.subject)} {negated}in ({format_plan(node.relation)})"
    return _value(node)


def _value(node: nodes.Node) -> str:
    """As format_expression, in parentheses unless it may stand beside an operator."""
    if isinstance(node, nodes.ColumnReference):
        name = format_name(node.name)
        return f"{format_name(node.source)}.{name}" if node.source else name
    if isinstance(node, nodes.Literal):
        return "null" if node.value is None else format_constant(node.value)
    if isinstance(node, nodes.Table):
        return format_name(node.name)
    if isinstance(node, nodes.Arithmetic):
        strength = _STRENGTH[node.op]
        left, right = _operand(node.left, strength), _operand(node.right, strength + 1)
        return f"{left} {node.op} {right}"
    if isinstance(node, nodes.Negative):
        return f"-{_operand(node.operand, _SIGN)}"
    if isinstance(node, nodes.Call):
        return f"{node.name}({', '.join(map(_value, node.arguments))})"
    if isinstance(node, nodes.Aggregated):
        inside = ", ".join(map(_value, node.arguments)) or "*"
        return f"{node.function}({'Distinct ' if node.distinct else ''}{inside})"
    if isinstance(node, nodes.Widened):
        return _value(node.operand)
    if isinstance(node, nodes.Converted):
        return f"Cast({_value(node.operand)} As {node.type})"
    if isinstance(node, nodes.Case):
        return _case(node)
    if isinstance(node, nodes.Length):
        return _length(node)
    if isinstance(node, nodes.ValidLength):
        valid = f"Valid({format_name(node.source)})"
        return f"Cast({valid} As Interval {node.unit})" if node.unit else valid
    if isinstance(node, nodes.ElementTime):
        return "timestamp"
    if isinstance(node, nodes.ColumnSpan):
        length = f"{_value(node.end)} - {_value(node.start)}"
        units = (unit for unit, us in nodes.LENGTH_UNITS.items() if us == node.over)
        return f"Cast({length} As Interval {next(units)})" if node.over > 1 else length
    if isinstance(node, nodes.Subquery):
        return f"({format_plan(node.relation)})"
    return f"({format_expression(node)})"


def _limit(compared: nodes.Compare) -> nodes.Node:
    """The right side; beside a span of timestamps or dates as a length in its largest unit."""
    span, limit = compared.left, compared.right
    if not (isinstance(span, nodes.ColumnSpan) and isinstance(limit, nodes.Literal)):
        return limit
    if not isinstance(limit.value, int) or limit.value <= 0 or span.over != 1:
        return limit
    length = limit.value * _IN_US.get(type_of(span.start), 0)
    units = [unit for unit, us in nodes.LENGTH_UNITS.items() if length and length % us == 0]
    if not units:
        return limit
    return nodes.Length(limit.at, length // nodes.LENGTH_UNITS[units[-1]], units[-1])


def _case(node: nodes.Case) -> str:
    pairs = zip(node.conditions, node.values[:-1], strict=True)
    branches = (f"When {format_expression(c)} Then {_value(value)}" for c, value in pairs)
    return f"Case {' '.join(branches)} Else {_value(node.values[-1])} End"


def _length(node: nodes.Length) -> str:
    plural = "" if node.number == 1 else "s"
    return f"{node.number} {node.unit}{plural}" if node.unit else str(node.number)


def _part(node: nodes.Node) -> str:
    text = format_expression(node)
    return f"({text})" if isinstance(node, nodes.Logic) else text


def _operand(node: nodes.Node, strength: int) -> str:
    """In parentheses when it binds less than ``strength``, or is a sign beside a sign."""
    if isinstance(node, nodes.Arithmetic):
        weaker = _STRENGTH[node.op] < strength
        return f"({_value(node)})" if weaker else _value(node)
    return (
        f"({_value(node)})"
        if isinstance(node, nodes.Negative) and strength == _SIGN
        else _value(node)
    )


# ---------------------------------------------------------------------- plans


def format_plan(plan: logical.Logical) -> str:
    """A logical plan as CQL; parsing it again gives it back.

    plan: as parsing gives it, or another with its operators in that order.
    """
    if isinstance(plan, logical.SetOperation):
        right = format_plan(plan.right)
        right = f"({right})" if isinstance(plan.right, logical.SetOperation) else right
        return f"{format_plan(plan.left)} {plan.word} {right}"
    if isinstance(plan, logical.ToStream):
        return f"{plan.word}({format_plan(plan.input)})"
    clauses: list[str] = []
    if isinstance(plan, logical.OrderBy):
        clauses.append(f"Order By {_values(plan.keys)}")
        plan = plan.input
    word = "Select"
    if isinstance(plan, logical.Distinct):
        word, plan = "Select Distinct", plan.input
    columns = "*"
    if isinstance(plan, logical.Project):
        columns, plan = ", ".join(map(_output, plan.outputs)), plan.input
    if isinstance(plan, logical.Aggregate):
        having = [] if plan.having is None else [f"Having {format_expression(plan.having)}"]
        groups = [f"Group By {_values(plan.groups)}"] if plan.groups else []
        clauses, plan = [*groups, *having, *clauses], plan.input
    conditions, source = _filtered_source(plan)
    if conditions:
        clauses = [f"Where {format_expression(all_hold(conditions))}", *clauses]
    return " ".join([f"{word} {columns} From {_sources(source)}", *clauses])


def _filtered_source(plan: logical.Logical) -> tuple[list[nodes.Node], logical.Logical]:
    """The conditions of a Where clause, and what they are of: of coalesced tuples those that hold
    before, and of their window."""
    conditions: list[nodes.Node] = []
    if isinstance(plan, logical.Select):
        conditions, plan = [plan.condition], plan.input
    if isinstance(plan, logical.Coalesce) and isinstance(plan.input, logical.Select):
        above = [part for condition in conditions for part in each_of(condition)]
        conditions = [*each_of(plan.input.condition), *above]
        plan = dataclasses.replace(plan, input=plan.input.input)
    return conditions, plan


def _values(nodes: Iterable[nodes.Node]) -> str:
    return ", ".join(map(_value, nodes))


def _output(output: logical.Output) -> str:
    text = _value(output.expression)
    return (
        text
        if output.name == name_of(output.expression)
        else f"{text} As {format_name(output.name)}"
    )


def name_of(expression: nodes.Node) -> str:
    """What a column of a select list is called that is given no name."""
    return expression.name if isinstance(expression, nodes.ColumnReference) else _value(expression)


def _sources(plan: logical.Logical) -> str:
    """The From clause."""
    if not isinstance(plan, logical.Join):
        return _source(plan, "")
    texts = [_source(*pair) for pair in zip(plan.inputs, plan.aliases, strict=True)]
    if plan.condition is None:
        return ", ".join(texts)
    return f"{' Join '.join(texts)} On {format_expression(plan.condition)}"


def _source(plan: logical.Logical, alias: str) -> str:
    window, name, attributes = "", "", ""
    if isinstance(plan, logical.Join):
        return _sources(plan)
    if isinstance(plan, logical.Coalesce):
        attributes = f" ({', '.join(map(format_name, plan.attributes))})"
        plan = plan.input
    if isinstance(plan, logical.WithValidTimes):
        plan = plan.input
    if isinstance(plan, logical.Window):
        window, plan = f" [{format_window(plan.kind)}]", plan.input
    if isinstance(plan, logical.Scan):
        text = name = format_name(plan.name)
    else:
        text = f"({format_plan(plan.input if isinstance(plan, logical.Derived) else plan)})"
    called = f" As {format_name(alias)}" if alias not in ("", name) else ""
    return text + attributes + window + called


def format_window(kind: logical.WindowKind) -> str:
    """What stands between the brackets of a window."""
    if isinstance(kind, logical.Rows):
        by = f"Partition By {', '.join(map(format_name, kind.by))} " if kind.by else ""
        return f"{by}Rows {kind.rows}"
    if isinstance(kind, logical.Range):
        slide = "" if kind.slide is None else f" Slide {format_seconds(kind.slide, 'Seconds')}"
        return f"Range {format_seconds(kind.seconds, 'Seconds' if slide else '')}{slide}"
    return "Now" if isinstance(kind, logical.Now) else "Rows Unbounded"


def format_seconds(seconds: int, plain: str) -> str:
    """A length in the largest unit that divides it; whole seconds are ``plain``."""
    for name, size in _UNITS.items():
        if seconds and seconds % size == 0:
            n = seconds // size
            return f"{n} {name}{'' if n == 1 else 's'}"
    return f"{seconds} {plain}".rstrip()


# ---------------------------------------------------------------------- names and constants


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
