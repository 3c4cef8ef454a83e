"""Calls of registered functions and memberships in windows: filters of a conjunction.

``lookup(address, T)``, ``not f(a)``, ``f(a) = true``, ``a in (Select b From T [Rows 1000])``. They
may be joined to the rest of the condition by AND only, so that they can be taken in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from backend.cql.conditions import ConditionBuilder, find_stream, refuse, refuse_unsupported
from backend.cql.constants import ConstantError, constant_for
from backend.cql.errors import did_you_mean, listed
from backend.cql.nodes import (
    Call,
    Compare,
    Constant,
    InRelation,
    Logic,
    Name,
    Node,
    Not,
    Selection,
    SelectList,
    Unsupported,
    Window,
)
from backend.model import conditions
from backend.model.conditions import (
    TRUE,
    And,
    Argument,
    Condition,
    Expensive,
    Fixed,
    Reference,
    TableName,
    WindowMember,
)
from backend.model.functions import ANY, TABLE, Parameter
from backend.model.schema import FLOAT_TYPES, INTEGER_TYPES, Attribute, Schema

#: Integer types by the values they hold, least first.
_WIDTHS: Final = ("tinyint", "smallint", "int", "bigint")
_LITERAL_TYPES: Final = {
    "string": "string",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}
MAX_ROWS: Final = 10_000_000


class FilterBuilder:
    """Splits the condition of one query into what compiles to expressions and the rest."""

    def __init__(self, builder: ConditionBuilder, streams: Mapping[str, Schema]) -> None:
        self._builder, self._streams, self._text = builder, streams, builder.text

    def conjuncts(self, where: Node) -> tuple[Condition, tuple[Expensive, ...]]:
        """The native condition, and the other filters in the order written. Raises CqlError."""
        native: list[Condition] = []
        filters: list[Expensive] = []
        for node, negate in _split(where, False):
            found = self._filter(node, negate)
            if found is None:
                condition = self._builder.build(node, negate)
                native += condition.parts if isinstance(condition, And) else (condition,)
            else:
                filters.append(found)
        if not filters:
            return self._builder.build(where), ()
        if len(native) == 1:
            return native[0], tuple(filters)
        return (And(tuple(native)) if native else TRUE), tuple(filters)

    def _filter(self, node: Node, negate: bool) -> Expensive | None:
        """The node as an expensive filter, None when it is none."""
        while isinstance(node, Not):
            node, negate = node.part, not negate
        if isinstance(node, Compare):
            return self._compared(node, negate)
        if isinstance(node, Call):
            return self._call(node, negate)
        if isinstance(node, InRelation):
            return self._member(node, node.negated != negate)
        return None

    def _compared(self, node: Compare, negate: bool) -> Expensive | None:
        """``call = true`` and its like."""
        sides = (node.left, node.right)
        call = next((side for side in sides if isinstance(side, Call)), None)
        word = next((side for side in sides if isinstance(side, Constant)), None)
        if call is None or word is None or word.kind != "boolean" or node.op not in ("=", "<>"):
            return None
        says_no = (node.op == "<>") != (word.text == "false")
        return self._call(call, negate != says_no)

    # ------------------------------------------------------------------ calls

    def _call(self, node: Call, negated: bool) -> conditions.Call:
        function = self._builder.find_function(node)
        wanted, given = function.parameters, node.arguments
        if len(wanted) != len(given):
            message = f"{function.signature} takes {_count(len(wanted))}, not {len(given)}"
            refuse(message, node.at, self._text)
        pairs = zip(wanted, given, strict=True)
        arguments = tuple(self._argument(function.name, p, a) for p, a in pairs)
        return conditions.Call(function.name, arguments, negated)

    def _argument(self, function: str, parameter: Parameter, node: Node) -> Argument:
        if parameter.type == TABLE:
            return self._table(function, parameter, node)
        if isinstance(node, Constant):
            return Fixed(self._constant(parameter, node))
        attribute = self._builder.attribute(node, f"the others of {function}(…)")
        if not _fits(attribute.type, parameter.type):
            refuse(
                f"{attribute.name} is {_a(attribute.type)} attribute and {function} wants "
                f"{_a(parameter.type)} as {parameter.name}",
                node.at,
                self._text,
            )
        return Reference(attribute.name)

    def _table(self, function: str, parameter: Parameter, node: Node) -> TableName:
        tables = self._builder.functions.tables
        written = ".".join(node.parts) if isinstance(node, Name) else str(node.at)
        found = self._builder.functions.find_table(written) if isinstance(node, Name) else None
        if found is None:
            known = f"; the tables are {listed(tables, 'and')}" if tables else "; there are none"
            hint = did_you_mean(written, tables) or known
            message = f"{function} wants a table as {parameter.name}, and {written!r} is none{hint}"
            refuse(message, node.at, self._text)
        return TableName(found)

    def _constant(self, parameter: Parameter, node: Constant) -> conditions.Constant:
        kind = parameter.type
        if kind == ANY:
            whole = node.text.lstrip("-").isdecimal()
            kind = _LITERAL_TYPES.get(node.kind, "bigint" if whole else "double")
        try:
            value = constant_for(node, Attribute(parameter.name, kind))
        except ConstantError as error:
            message = str(error).replace(" attribute and ", " parameter and ", 1)
            refuse(message, node.at, self._text)
        if kind in INTEGER_TYPES and isinstance(value, float):
            refuse(f"{parameter.name} takes whole numbers, not {node.text}", node.at, self._text)
        return float(value) if kind in FLOAT_TYPES and isinstance(value, int) else value

    # ------------------------------------------------------------------ windows of other streams

    def _member(self, node: InRelation, negated: bool) -> WindowMember:
        relation = node.relation
        if isinstance(relation, Unsupported):
            refuse_unsupported(relation, self._text)
        window = next((p for p in relation.unsupported if isinstance(p, Window)), None)
        if window is None or relation.where is not None:
            what = "a subquery without a window [Rows n]"
            what = what if relation.where is None else "a subquery with a condition"
            refuse_unsupported(Unsupported(node.at, what), self._text)
        for problem in relation.unsupported:
            if not isinstance(problem, Window | SelectList):
                refuse_unsupported(problem, self._text)
        attribute = self._builder.attribute(node.subject, "IN")
        assert relation.source is not None  # a missing source is always among the unsupported
        stream = find_stream(relation.source, self._streams, self._text)
        column = self._column(relation, stream, attribute)
        return WindowMember(attribute.name, stream, column.name, self._rows(window), negated)

    def _column(self, relation: Selection, stream: str, attribute: Attribute) -> Attribute:
        """What of the relation is compared; with ``*`` its only attribute, or the namesake."""
        schema = self._streams[stream]
        select_list = next((p for p in relation.unsupported if isinstance(p, SelectList)), None)
        if select_list is None:
            only = schema.attributes[0] if len(schema.attributes) == 1 else None
            found = only or schema.find(attribute.name)
            at = relation.at
        else:
            if len(select_list.items) != 1 or not isinstance(select_list.items[0], Name):
                refuse_unsupported(select_list, self._text)
            found, at = schema.find(select_list.items[0].parts[-1]), select_list.at
        if found is None:
            have = listed(schema.names, "and")
            refuse(f"name one attribute of {stream} to look in; it has {have}", at, self._text)
        if not (_fits(attribute.type, found.type) or _fits(found.type, attribute.type)):
            refuse(
                f"{attribute.name} is {_a(attribute.type)} attribute and {stream}.{found.name} is "
                f"{_a(found.type)} one; they are never equal",
                at,
                self._text,
            )
        return found

    def _rows(self, window: Window) -> int:
        """``[Rows 10000]``, ``[Rows 10,000]``."""
        first, *digits = window.words or ("",)
        number = "".join(digits)
        if first.lower() != "rows" or not number.isdecimal():
            refuse_unsupported(window, self._text)
        if not 1 <= int(number) <= MAX_ROWS:
            message = f"a window of {number} rows; allowed are 1 to {MAX_ROWS}"
            refuse(message, window.at, self._text)
        return int(number)


def _split(node: Node, negate: bool) -> Iterator[tuple[Node, bool]]:
    """The conjuncts of a condition, each with whether it is negated."""
    if isinstance(node, Not):
        yield from _split(node.part, not negate)
    elif isinstance(node, Logic) and (node.word == "and") != negate:
        for part in node.parts:
            yield from _split(part, negate)
    else:
        yield node, negate


def _fits(given: str, wanted: str) -> bool:
    """Whether every value of one type is one of the other."""
    if wanted in (ANY, given):
        return True
    if given in _WIDTHS and wanted in _WIDTHS:
        return _WIDTHS.index(given) <= _WIDTHS.index(wanted)
    return (given in _WIDTHS or given == "float") and wanted == "double"


def _a(type_name: str) -> str:
    return f"{'an' if type_name in ('int', 'any') else 'a'} {type_name}"


def _count(n: int) -> str:
    return f"{n} argument{'' if n == 1 else 's'}" if n else "no arguments"
