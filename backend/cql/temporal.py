"""Temporal queries: coalescing on attributes, conditions on valid times. [AL11], card B1

``Select a, Valid(S) From Stream (a) [window] As S Where condition on values and Valid(S) >= 3
Minutes``: conditions on values hold of tuples, then these are coalesced, then conditions on valid
times hold of what that comes to.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from lark import Token

from backend.cql import logical, nodes, statements
from backend.cql.errors import did_you_mean, listed
from backend.cql.nodes import LENGTH_UNITS
from backend.cql.scope import From, Scope, refuse
from backend.cql.types import all_hold, conjuncts, expressions_in, parts_of, type_of

#: Functions of a coalesced source, and what they are in terms of its columns.
VALID: Final = "valid"
ENDS: Final = {"begin": logical.VALID_FROM, "end": logical.VALID_TO}
_COLUMNS: Final = frozenset(ENDS.values())
_MOST_NUMBER: Final = 10**12
_COUNTED: Final = "these valid times are whole numbers"
_MEANT: Final = "write From Stream (a, b) As S, and Valid(S)"


def coalesced_source(
    sources: Sequence[statements.Source | statements.JoinText], text: str
) -> statements.Source | None:
    """The source that is coalesced, if one is. Raises CqlError: it is one of several."""
    open_nodes, coalesced = list(sources), []
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, statements.JoinText):
            open_nodes += [node.left, node.right]
        elif node.attributes is not None:
            coalesced.append(node)
    if not coalesced:
        return None
    source = coalesced[0]
    if len(sources) > 1 or source is not sources[0]:
        message = "Valid of a join is not defined; coalesce in a query of its own, and join that"
        refuse(message, source.at, text)
    return source


class SplitWhere(NamedTuple):
    """A Where clause: what holds of tuples, and what of coalesced ones; None: nothing."""

    values: nodes.Node | None
    valid: nodes.Node | None


def split_where(where: nodes.Node | None, text: str) -> SplitWhere:
    """The conditions on values and on valid times. Raises CqlError for an ``or`` of both."""
    values: list[nodes.Node] = []
    valid: list[nodes.Node] = []
    for part, negated in [] if where is None else conjuncts(where):
        whole = nodes.Not(part.at, part) if negated else part
        is_temporal = _is_temporal(part)
        if is_temporal and not all(map(_is_temporal, _leaves(part))):
            message = "conditions on values and on valid times are joined by 'and' only"
            refuse(f"{message}, since tuples are coalesced between the two", part.at, text)
        (valid if is_temporal else values).append(whole)
    return SplitWhere(*(all_hold(parts) if parts else None for parts in (values, valid)))


def _leaves(node: nodes.Node) -> Iterator[nodes.Node]:
    """The conditions that 'and', 'or' and 'not' join."""
    if isinstance(node, nodes.Logic | nodes.Not):
        for part in parts_of(node):
            yield from _leaves(part)
    else:
        yield node


def _is_temporal(node: nodes.Node) -> bool:
    """Whether a condition as written has a valid time in it."""
    return any(
        (isinstance(part, nodes.Call) and part.name.lower() in (VALID, *ENDS))
        or (isinstance(part, nodes.Name) and part.parts[-1].lower() in _COLUMNS)
        for part in expressions_in(node)
    )


def dated(plan: logical.Logical, source: statements.Source, text: str) -> logical.WithValidTimes:
    """The window of a source with valid times. Raises CqlError: nothing says what they are."""
    scan = next((part for part in logical.walk(plan) if isinstance(part, logical.Scan)), None)
    if scan is None or scan.valid is None or not isinstance(source.relation, nodes.Name):
        name = "a query in parentheses" if scan is None else scan.name
        message = f"{name} has no valid times to coalesce by; give the stream"
        ways = 'valid = ["from", "to"] or valid_key = "…"'
        refuse(f"{message} {ways}, or read a query that lists Valid(…)", source.at, text)
    return logical.WithValidTimes(source.at, plan, scan.valid)


def coalesced(
    plan: logical.Logical, below: logical.WithValidTimes, source: statements.Source, text: str
) -> logical.Coalesce:
    """The coalesced tuples of a plan over ``below``. Raises CqlError: an attribute is unknown,
    named twice, or a valid time itself."""
    own = Scope([From("", source.alias or str(source.at), below.input.fields)], text)
    names: list[str] = []
    for attribute in source.attributes or ():
        name = own.column(attribute).name
        if name in names or name.lower() in _COLUMNS:
            why = "named twice" if name in names else "what the valid time is called"
            refuse(f"{name!r} is {why}; name attributes to coalesce on", attribute.at, text)
        names.append(name)
    return logical.Coalesce(source.at, plan, tuple(names), below.valid)


def uses_valid(node: statements.Selection) -> bool:
    """Whether a selection names a valid time anywhere."""
    listed_items = [
        item.expression for item in node.listed.items if isinstance(item, statements.Item)
    ]
    parts = [part for clause in node.clauses for part in clause.parts]
    return any(map(_is_temporal, [*listed_items, *parts]))


def _check_coalesced(scope: Scope, node: nodes.Call) -> None:
    """Raises CqlError: ``Valid(S)`` names no coalesced source."""
    argument = node.arguments[0] if len(node.arguments) == 1 else None
    if not isinstance(argument, nodes.Name):
        refuse(f"{node.name} takes the name of a coalesced source; {_MEANT}", node.at, scope.text)
    item = scope.qualified(".".join(argument.parts), argument.at)[0]
    if not item.is_coalesced:
        message = f"{node.name}({item.alias}) needs the attributes {item.alias} is coalesced on"
        refuse(f"{message}; {_MEANT}", node.at, scope.text)


def is_valid_call(node: nodes.Node) -> bool:
    """Whether it is written like ``Valid(S)``."""
    return isinstance(node, nodes.Call) and node.name.lower() == VALID


def end_of_valid(scope: Scope, node: nodes.Call) -> nodes.ColumnReference:
    """``Begin(Valid(S))`` and ``End(Valid(S))``. Raises CqlError."""
    inner = node.arguments[0] if len(node.arguments) == 1 else None
    if not isinstance(inner, nodes.Call) or not is_valid_call(inner):
        refuse(f"{node.name} takes a valid time; write {node.name}(Valid(S))", node.at, scope.text)
    return valid_ends(scope, inner)[node.name.lower() == "end"]


def valid_ends(
    scope: Scope, node: nodes.Call
) -> tuple[nodes.ColumnReference, nodes.ColumnReference]:
    """The columns of a valid time. Raises CqlError."""
    _check_coalesced(scope, node)
    names = (logical.VALID_FROM, logical.VALID_TO)
    start, end = (scope.column(nodes.Name(node.at, (name,))) for name in names)
    return start, end


def listed_valid(scope: Scope, item: statements.Item) -> list[logical.Output]:
    """``Valid(S) As v`` in a select list: valid_from and valid_to, or v_from and v_to. Raises
    CqlError."""
    call = item.expression
    assert isinstance(call, nodes.Call)
    names = [f"{item.name}_{word}" for word in ("from", "to")] if item.name else list(ENDS.values())
    pairs = zip(valid_ends(scope, call), names, strict=True)
    return [logical.Output(column, name) for column, name in pairs]


def valid_length(scope: Scope, node: nodes.Call, unit: str = "") -> nodes.ValidLength:
    """``Valid(S)`` as a length. Raises CqlError."""
    start, end = valid_ends(scope, node)
    if unit and start.type == "bigint":
        refuse(f"{_COUNTED}, which are no {unit.lower()}s", node.at, scope.text)
    return nodes.ValidLength(node.at, start, end, unit, scope.items[0].name)


def length_beside(node: Any, subject: nodes.ValidLength, text: str) -> nodes.Length:
    """What a length is compared with. Raises CqlError: it is none, or has a unit too many or too
    few."""
    counts = type_of(subject.start) == "bigint"
    if isinstance(node, nodes.Constant) and node.kind == "number":
        if not counts:
            message = "a length has a unit"
            refuse(f"{message}; write {node.text} Minutes or the like", node.at, text)
        return nodes.Length(node.at, _whole(node.text, node.at, text), "")
    if not isinstance(node, nodes.Length):
        refuse("a valid time is compared with a length such as 3 Minutes", node.at, text)
    if counts:
        message = f"{_COUNTED} and have no length in {node.unit}; write {node.at} alone"
        refuse(message, node.at, text)
    unit = unit_of(node.unit, node, text)
    return nodes.Length(node.at, _whole(str(node.at), node.at, text), unit)


def unit_of(word: str, node: nodes.Located, text: str) -> str:
    """A unit of lengths: ``minutes`` is Minute. Raises CqlError."""
    unit = word.capitalize().removesuffix("s")
    if unit not in LENGTH_UNITS:
        hint = did_you_mean(unit, LENGTH_UNITS) or f"; allowed: {listed(LENGTH_UNITS)}"
        refuse(f"{word!r} is no unit of a length{hint}", node.at, text)
    return unit


def cast_unit(node: nodes.Cast, text: str) -> str:
    """The unit of ``Cast(Valid(S) As Interval Minute)``. Raises CqlError."""
    operand = node.operand
    is_cast = str(node.at).lower() == "cast" and node.words[0].lower() == "interval"
    if not is_cast or not isinstance(operand, nodes.Call) or not is_valid_call(operand):
        message = "a cast is of a valid time only: Cast(Valid(S) As Interval Minute)"
        refuse(message, node.at, text)
    return unit_of(node.words[1], node, text)


def _whole(digits: str, at: Token, text: str) -> int:
    if not digits.isdecimal() or not int(digits) <= _MOST_NUMBER:
        refuse(f"a length is a whole number from 0 to {_MOST_NUMBER}, not {digits}", at, text)
    return int(digits)
