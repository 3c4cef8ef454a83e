"""Expressions of a CQL query: names looked up, constants typed, types checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

from lark import Token

from backend.cql import nodes, statements, temporal
from backend.cql.constants import ConstantError, constant_for
from backend.cql.errors import did_you_mean, listed
from backend.cql.logical import Join, Logical, Output, Project, Scan, walk
from backend.cql.scope import Catalog, Scope, refuse
from backend.cql.syntax import COMPARISON_WORDS
from backend.cql.types import (
    NUMERIC,
    comparable,
    convertible,
    described,
    family,
    fits,
    type_of,
    with_article,
)
from backend.model.functions import ANY, TABLE, Function, Parameter
from backend.model.schema import FLOAT_TYPES, INTEGER_TYPES, ORDERED_TYPES, Attribute


def not_run(what: str) -> str:
    """The sentence that refuses what no system runs."""
    return f"{what} is not run by any system"


def alone(name: str) -> str:
    """The sentence that refuses a call beside anything but 'and'."""
    return f"{name}(…) must be a condition by itself, joined to others by 'and' only"


class Expressions:
    """Looks up the expressions of one query.

    plan_of: the plan of a statement within it. inside: given where aggregates may stand, it looks
    up what stands within them.
    """

    def __init__(
        self,
        scope: Scope,
        catalog: Catalog,
        plan_of: Callable[[statements.Statement], Logical],
        inside: Expressions | None = None,
    ) -> None:
        self.scope, self._catalog, self._plan_of, self._inside = scope, catalog, plan_of, inside
        self._text = scope.text

    def condition(self, node: nodes.Node) -> nodes.Node:
        """The expression as a condition: true, false or unknown. Raises CqlError."""
        if isinstance(node, nodes.Logic):
            return nodes.Logic(
                node.at, node.word, tuple(self.condition(part) for part in node.parts)
            )
        if isinstance(node, nodes.Not):
            return nodes.Not(node.at, self.condition(node.part))
        expression = self.value(node)
        if type_of(expression) not in ("boolean", ""):
            at = nodes.start(node)
            message = f"{str(at)!r} alone is no condition; expected {COMPARISON_WORDS}"
            refuse(message, at, self._text)
        return expression

    def value(self, node: nodes.Node) -> nodes.Node:
        """The expression with its names looked up. Raises CqlError."""
        return _RULES[type(node)](self, node)

    def _constant_alone(self, node: nodes.Constant) -> nodes.Literal:
        if node.kind == "null":
            return nodes.Literal(node.at, None)
        return self._typed(node, Attribute("this", _own_type(node)))

    # ------------------------------------------------------------------ comparisons

    def _compare(self, node: nodes.Compare) -> nodes.Compare:
        constants = nodes.Constant | nodes.Length
        if isinstance(node.left, constants) and not isinstance(node.right, constants):
            right = self.value(node.right)
            return nodes.Compare(node.at, node.op, self._beside(node.left, right), right)
        left = self.value(node.left)
        return nodes.Compare(node.at, node.op, left, self._beside(node.right, left))

    def _member(self, node: nodes.Member) -> nodes.Member:
        subject = self.value(node.subject)
        items = tuple(self._beside(item, subject) for item in node.items)
        return nodes.Member(node.at, subject, items, node.negated)

    def _between(self, node: nodes.Between) -> nodes.Node:
        subject = self.value(node.subject)
        low, high = self._beside(node.low, subject), self._beside(node.high, subject)
        if not isinstance(subject, nodes.ValidLength) or subject.unit:
            return nodes.Between(node.at, subject, low, high, node.negated)
        least = nodes.Compare(node.at, ">=", subject, low)
        both = nodes.Logic(node.at, "and", (least, nodes.Compare(node.at, "<=", subject, high)))
        return nodes.Not(node.at, both) if node.negated else both

    def _like(self, node: nodes.Like) -> nodes.Like:
        subject = self.value(node.subject)
        pattern = self._beside(node.pattern, subject)
        if type_of(subject) not in ("string", ""):
            message = f"Like takes strings, and this is {with_article(type_of(subject))}"
            refuse(message, node.subject.at, self._text)
        return nodes.Like(node.at, subject, pattern, node.negated)

    def _beside(self, node: nodes.Node, other: nodes.Node) -> nodes.Node:
        """What ``other`` is compared with: a constant becomes one of its type."""
        if isinstance(other, nodes.ValidLength) and not other.unit:
            return temporal.length_beside(node, other, self._text)
        if isinstance(node, nodes.Constant) and isinstance(other, nodes.ColumnReference):
            return self._typed(node, Attribute(other.name, other.type))
        kind = type_of(other)
        if isinstance(node, nodes.Constant) and node.kind == "string" and family(kind) == "time":
            return self._typed(node, Attribute("this", kind))
        if isinstance(node, nodes.Name) and len(node.parts) == 1 and kind == "string":
            self._refuse_bare_word(node)
        expression = self.value(node)
        if not comparable(kind, type_of(expression)):
            self._refuse_pair(other, expression)
        return expression

    def _refuse_bare_word(self, node: nodes.Name) -> None:
        word = node.parts[0]
        if not self.scope.has(word):
            message = f"unknown attribute {word!r}; a string is written in single quotes: '{word}'"
            refuse(message, node.at, self._text)

    def _refuse_pair(self, left: nodes.Node, right: nodes.Node) -> None:
        for side in (left, right):
            if isinstance(side, nodes.Call):
                refuse(alone(side.name), side.at, self._text)
        kinds = f"{with_article(type_of(left))} and {with_article(type_of(right))}"
        refuse(f"{kinds} cannot be compared", right.at, self._text)

    def _typed(self, node: nodes.Constant, attribute: Attribute) -> nodes.Literal:
        try:
            return nodes.Literal(node.at, constant_for(node, attribute))
        except ConstantError as error:
            refuse(str(error), node.at, self._text)

    def _null_test(self, node: nodes.IsNull) -> nodes.IsNull:
        return nodes.IsNull(node.at, self.value(node.subject), node.negated)

    # ------------------------------------------------------------------ arithmetic, aggregates

    def _arithmetic(self, node: nodes.Arithmetic) -> nodes.Arithmetic:
        left, right = self._number(node.left, node.op), self._number(node.right, node.op)
        return nodes.Arithmetic(node.at, node.op, left, right)

    def _number(self, node: nodes.Node, op: str) -> nodes.Node:
        number = self.value(node)
        kind = type_of(number)
        if kind not in NUMERIC and kind not in ("", "null"):
            refuse(f"{op} takes numbers, and this is {with_article(kind)}", node.at, self._text)
        return number

    def _negative(self, node: nodes.Negative) -> nodes.Negative:
        return nodes.Negative(node.at, self._number(node.operand, "-"))

    def _aggregated(self, node: nodes.Aggregated) -> nodes.Aggregated:
        if node.function not in nodes.AGGREGATES:
            refuse(not_run(f"the function {node.at}(…)"), node.at, self._text)
        if self._inside is None:
            message = f"{node.function}(…) is allowed in a select list or in Having only"
            refuse(message, node.at, self._text)
        wanted = 0 if node.function == "count" and not node.distinct and not node.arguments else 1
        if len(node.arguments) != wanted:
            message = f"{node.function} takes one argument, not {len(node.arguments)}"
            refuse(message, node.at, self._text)
        look_up = self._inside.value
        if node.function in ("sum", "avg"):
            look_up = partial(self._inside._number, op=node.function)
        arguments = tuple(look_up(part) for part in node.arguments)
        return nodes.Aggregated(node.at, node.function, arguments, node.distinct)

    # ------------------------------------------------------------------ calls

    def _length_alone(self, node: nodes.Length) -> nodes.Node:
        message = "a length is compared with a valid time only, as in Valid(S) >= 3 Minutes"
        refuse(message, node.at, self._text)

    def _cast(self, node: nodes.Cast) -> nodes.Node:
        if len(node.words) == 2:
            unit = temporal.cast_unit(node, self._text)
            return temporal.valid_length(self.scope, cast(nodes.Call, node.operand), unit)
        wanted = node.words[0].lower()
        if str(node.at).lower() != "cast" or wanted not in ORDERED_TYPES:
            known = listed(sorted(ORDERED_TYPES), "and")
            refuse(f"a cast is Cast(value As type); types are {known}", node.at, self._text)
        operand = self.value(node.operand)
        given = type_of(operand)
        if not convertible(given, wanted):
            message = f"no cast makes {with_article(wanted)} of {with_article(given)}"
            refuse(message, node.at, self._text)
        return operand if given == wanted else nodes.Converted(node.at, operand, wanted)

    def _case(self, node: nodes.Case) -> nodes.Case:
        conditions = tuple(map(self.condition, node.conditions))
        values = [self.value(value) for value in node.values]
        for value in values:
            kinds = [other for other in values if not comparable(type_of(other), type_of(value))]
            if kinds:
                message = f"{described(value)} and {described(kinds[0])}; a Case has values of one"
                refuse(f"{message} type", nodes.start(value), self._text)
        kind = type_of(nodes.Case(node.at, conditions, tuple(values)))
        return nodes.Case(node.at, conditions, tuple(_as_type(value, kind) for value in values))

    def _call(self, node: nodes.Call) -> nodes.Node:
        functions = self._catalog.functions
        word = node.name.lower()
        if word in (temporal.VALID, *temporal.ENDS) and functions.find(node.name) is None:
            make = temporal.valid_length if word == temporal.VALID else temporal.end_of_valid
            return make(self.scope, node)
        if not functions.functions:
            return nodes.Call(
                node.at, node.name, tuple(self.value(part) for part in node.arguments)
            )
        function = functions.find(node.name)
        if function is None:
            known = functions.functions
            hint = did_you_mean(node.name, known) or f"; registered are {listed(known, 'and')}"
            refuse(f"unknown function {node.name!r}{hint}", node.at, self._text)
        if len(function.parameters) != len(node.arguments):
            message = f"{function.signature} takes {_count(len(function.parameters))}, "
            refuse(f"{message}not {len(node.arguments)}", node.at, self._text)
        pairs = zip(function.parameters, node.arguments, strict=True)
        arguments = tuple(self._argument(function, p, a) for p, a in pairs)
        return nodes.Call(node.at, function.name, arguments, True)

    def _argument(self, function: Function, parameter: Parameter, node: nodes.Node) -> nodes.Node:
        if parameter.type == TABLE:
            return self._table(function, parameter, node)
        if isinstance(node, nodes.Constant):
            return self._constant(function, parameter, node)
        argument = self.value(node)
        if not fits(type_of(argument), parameter.type):
            message = f"{described(argument)} and {function.name} wants "
            message += f"{with_article(parameter.type)} as {parameter.name}"
            refuse(message, node.at, self._text)
        return argument

    def _table(self, function: Function, parameter: Parameter, node: nodes.Node) -> nodes.Table:
        functions = self._catalog.functions
        written = ".".join(node.parts) if isinstance(node, nodes.Name) else str(node.at)
        table = functions.find_table(written) if isinstance(node, nodes.Name) else None
        if table is None:
            tables = functions.tables
            known = f"; the tables are {listed(tables, 'and')}" if tables else "; there are none"
            hint = did_you_mean(written, tables) or known
            message = f"{function.name} wants a table as {parameter.name}, and {written!r} is none"
            refuse(message + hint, node.at, self._text)
        return nodes.Table(node.at, table)

    def _constant(
        self, function: Function, parameter: Parameter, node: nodes.Constant
    ) -> nodes.Literal:
        kind = _own_type(node) if parameter.type == ANY else parameter.type
        try:
            value = constant_for(node, Attribute(parameter.name, kind))
        except ConstantError as error:
            message = str(error).replace(" attribute and ", " parameter and ", 1)
            refuse(message, node.at, self._text)
        if kind in INTEGER_TYPES and isinstance(value, float):
            refuse(f"{parameter.name} takes whole numbers, not {node.text}", node.at, self._text)
        if kind in FLOAT_TYPES and isinstance(value, int):
            value = float(value)
        check = function.checks.get(parameter.name)
        if check is not None:
            try:
                check(value)
            except ValueError as error:
                refuse(str(error), node.at, self._text)
        return nodes.Literal(node.at, value)

    # ------------------------------------------------------------------ subqueries

    def _subquery(self, node: nodes.Subquery) -> nodes.Subquery:
        plan = self._plan_of(node.relation)
        if len(plan.fields) != 1:
            message = f"a subquery used as a value has one column, not {len(plan.fields)}"
            refuse(message, node.at, self._text)
        return nodes.Subquery(node.at, plan)

    def _in_relation(self, node: nodes.InRelation) -> nodes.InRelation:
        plan = self._plan_of(node.relation)
        subject = self.value(node.subject)
        if len(plan.fields) != 1:
            plan = self._one_column(node, plan, subject)
        kind, field = type_of(subject), plan.fields[0]
        if not comparable(kind, field.type):
            message = f"{described(subject)} and {_first_scan(plan)}.{field.name} is "
            message += f"{with_article(field.type)} one; they are never equal"
            refuse(message, _listed_at(node.relation), self._text)
        return nodes.InRelation(node.at, subject, plan, node.negated)

    def _one_column(self, node: nodes.InRelation, plan: Logical, subject: nodes.Node) -> Project:
        """Of ``Select *`` the attribute of the subject's name. Raises CqlError."""
        relation, names = node.relation, [field.name for field in plan.fields]
        if isinstance(relation, statements.Selection) and isinstance(
            subject, nodes.ColumnReference
        ):
            listed_, name = relation.listed, subject.name.lower()
            attribute = next((field for field in plan.fields if field.name.lower() == name), None)
            plain = len(listed_.items) == 1 and not (listed_.stream or listed_.distinct)
            plain &= not any(isinstance(part, Join) for part in walk(plan))
            if attribute is not None and plain and isinstance(listed_.items[0], statements.Star):
                column = nodes.ColumnReference(relation.at, "", attribute.name, attribute.type)
                return Project(relation.at, plan, (Output(column, attribute.name),))
        known = f"it has {listed(names, 'and')}"
        message = f"name one attribute of {_first_scan(plan)} to look in; {known}"
        refuse(message, node.relation.at, self._text)


_RULES: Final[dict[type, Callable[[Expressions, Any], nodes.Node]]] = {
    nodes.Name: lambda self, node: self.scope.column(node),
    nodes.Constant: Expressions._constant_alone,
    nodes.Arithmetic: Expressions._arithmetic,
    nodes.Negative: Expressions._negative,
    nodes.Compare: Expressions._compare,
    nodes.Member: Expressions._member,
    nodes.Between: Expressions._between,
    nodes.IsNull: Expressions._null_test,
    nodes.Like: Expressions._like,
    nodes.Length: Expressions._length_alone,
    nodes.Cast: Expressions._cast,
    nodes.Case: Expressions._case,
    nodes.Not: Expressions.condition,
    nodes.Logic: Expressions.condition,
    nodes.Call: Expressions._call,
    nodes.Aggregated: Expressions._aggregated,
    nodes.InRelation: Expressions._in_relation,
    nodes.Subquery: Expressions._subquery,
}


def _as_type(value: nodes.Node, kind: str) -> nodes.Node:
    """A value as one of the type that several have in common."""
    given = type_of(value)
    is_held_alike = given in ("null", kind) or {given, kind} <= INTEGER_TYPES
    is_held_alike |= {given, kind} <= FLOAT_TYPES
    return value if is_held_alike else nodes.Widened(value.at, value, kind)


def _first_scan(plan: Logical) -> str:
    """The name of what the plan reads first."""
    return next(part.name for part in walk(plan) if isinstance(part, Scan))


def _listed_at(statement: statements.Statement) -> Token:
    """Where its first column is named, else where it starts."""
    if isinstance(statement, statements.Selection):
        first = statement.listed.items[0]
        return statement.at if isinstance(first, statements.Star) else first.at
    return statement.at


def _own_type(node: nodes.Constant) -> str:
    if node.kind not in ("number", "null"):
        return node.kind
    return "bigint" if node.text.lstrip("-").isdecimal() else "double"


def _count(n: int) -> str:
    return f"{n} argument{'' if n == 1 else 's'}" if n else "no arguments"
