"""Which logical plans are selections of a stream's tuples, one by one.

They are of two shapes: ``Select * From Stream Where condition`` over attributes and constants, and
the same with calls of functions and memberships in windows joined by 'and'. The condition of a
claimed plan is free of negation: NOT is moved inwards by De Morgan's laws and into the comparisons,
which is exact in three-valued logic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeGuard

from backend.cql import logical, nodes
from backend.cql.expressions import alone
from backend.cql.types import conjuncts, fits, type_of
from backend.model import conditions
from backend.model.conditions import (
    FLIPPED,
    TRUE,
    And,
    Argument,
    Comparison,
    Condition,
    Expensive,
    Fixed,
    NullTest,
    Op,
    Or,
    Reference,
    TableName,
    WindowMember,
)
from backend.model.schema import Attribute

MAX_ROWS: Final = 10_000_000
_NO_SELECTION: Final = "is no part of a selection by attributes and constants"
#: The empty disjunction: false for every tuple.
FALSE: Final = Or(())
_NEGATION: Final[dict[str, Op]] = {
    "=": "<>",
    "<>": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}
_IN_QUERIES: Final[dict[type, str]] = {
    nodes.Arithmetic: "arithmetic",
    nodes.Negative: "arithmetic",
    nodes.Like: "LIKE",
    nodes.Subquery: "a subquery",
}


class NotRun(Exception):
    """A part of a plan that does not run: the node, and one sentence about it."""

    def __init__(self, node: nodes.Located, sentence: str) -> None:
        super().__init__(sentence)
        self.node, self.sentence = node, sentence


class StreamSelection(NamedTuple):
    """A selection: the tuples of ``stream`` for which condition and filters hold."""

    stream: str
    condition: Condition
    filters: tuple[Expensive, ...]


def claim(plan: logical.Logical) -> StreamSelection | None:
    """The plan as a selection; None for any other."""
    scan, where = (plan.input, plan.condition) if isinstance(plan, logical.Select) else (plan, None)
    if not _is_stream(scan):
        return None
    if where is None:
        return StreamSelection(scan.name, TRUE, ())
    try:
        return StreamSelection(scan.name, *_native_and_filters(where))
    except NotRun:
        return None


def _is_stream(plan: Any) -> TypeGuard[logical.Scan]:
    return isinstance(plan, logical.Scan) and plan.kind == "stream"


# ---------------------------------------------------------------------- conditions


def _native_and_filters(where: nodes.Node) -> tuple[Condition, tuple[Expensive, ...]]:
    """The native condition, and the other filters in the order written. Raises NotRun."""
    native: list[Condition] = []
    filters: list[Expensive] = []
    for node, negate in conjuncts(where):
        expensive = _filter(node, negate)
        if expensive is None:
            part = condition(node, negate)
            native += part.parts if isinstance(part, And) else (part,)
        else:
            filters.append(expensive)
    if len(native) == 1:
        return native[0], tuple(filters)
    return (And(tuple(native)) if native else TRUE), tuple(filters)


def condition(node: nodes.Node, negate: bool = False) -> Condition:
    """The condition of ``node``, or of NOT ``node``. Raises NotRun."""
    if isinstance(node, nodes.Not):
        return condition(node.part, not negate)
    if isinstance(node, nodes.Logic):
        kind = And if (node.word == "and") != negate else Or
        parts = (condition(part, negate) for part in node.parts)
        flat = tuple(_flattened(parts, kind))
        return flat[0] if len(flat) == 1 else kind(flat)
    if isinstance(node, nodes.Compare):
        return _compare(node, negate)
    if isinstance(node, nodes.Member | nodes.Between):
        return _comparisons(node, negate)
    if isinstance(node, nodes.IsNull):
        return NullTest(_attribute(node.subject, "IS NULL"), node.negated != negate)
    _refuse_elsewhere(node)
    if isinstance(node, nodes.Literal):
        return TRUE if (node.value is True) != negate else FALSE
    return Comparison(_attribute(node, ""), "<>" if negate else "=", True)


def _flattened(parts: Iterator[Condition], kind: type[And] | type[Or]) -> Iterator[Condition]:
    for part in parts:
        if isinstance(part, kind):
            yield from part.parts
        else:
            yield part


def _compare(node: nodes.Compare, negate: bool) -> Condition:
    op: Op = _NEGATION[_NEGATION[node.op]]
    subject, constant = node.left, node.right
    if isinstance(subject, nodes.Literal):
        subject, constant, op = constant, subject, FLIPPED[op]
    attribute = _attribute(subject, op)
    return _comparison(attribute, _NEGATION[op] if negate else op, constant)


def _comparisons(node: nodes.Member | nodes.Between, negate: bool) -> Condition:
    """IN as an Or of equalities, BETWEEN as an And of two comparisons; NOT turns them round."""
    kinds: tuple[type[And] | type[Or], ...]
    pairs: list[tuple[Op, nodes.Node]]
    if isinstance(node, nodes.Between):
        use, kinds, pairs = "BETWEEN", (And, Or), [(">=", node.low), ("<=", node.high)]
    else:
        use, kinds, pairs = "IN", (Or, And), [("=", item) for item in node.items]
    attribute, excluded = _attribute(node.subject, use), node.negated != negate
    comparisons = (
        _comparison(attribute, _NEGATION[op] if excluded else op, at) for op, at in pairs
    )
    parts = tuple(dict.fromkeys(comparisons))
    return parts[0] if len(parts) == 1 else kinds[excluded](parts)


def _attribute(node: nodes.Node, use: str) -> str:
    """The attribute beside ``use``."""
    _refuse_elsewhere(node)
    if isinstance(node, nodes.Literal):
        raise NotRun(node, "both sides are constants; one side must be an attribute")
    if not isinstance(node, nodes.ColumnReference):
        raise NotRun(node, f"found a condition beside {use}, expected an attribute")
    return node.name


def _comparison(attribute: str, op: Op, node: nodes.Node) -> Comparison:
    _refuse_elsewhere(node)
    if isinstance(node, nodes.ColumnReference):
        what = f"comparing two attributes ({attribute} and {node.name})"
        raise NotRun(node, f"{what} {_NO_SELECTION}")
    if not isinstance(node, nodes.Literal) or node.value is None:
        raise NotRun(node, f"found a condition beside {op}, expected a constant")
    return Comparison(attribute, op, node.value)


def _refuse_elsewhere(node: nodes.Node) -> None:
    """What may stand at other places only, or nowhere yet."""
    if isinstance(node, nodes.ColumnReference | nodes.Literal):
        return
    if isinstance(node, nodes.Call):
        raise NotRun(node, alone(node.name))
    if isinstance(node, nodes.InRelation):
        raise NotRun(node, "membership in a window is joined to other conditions by 'and' only")
    if type(node) in _IN_QUERIES:
        raise NotRun(node, f"{_IN_QUERIES[type(node)]} {_NO_SELECTION}")


# ---------------------------------------------------------------------- calls and windows


def _filter(node: nodes.Node, negate: bool) -> Expensive | None:
    """The node as a filter that is not compiled to expressions, None when it is none."""
    if isinstance(node, nodes.Compare):
        return _compared_call(node, negate)
    if isinstance(node, nodes.Call):
        return _call(node, negate)
    if isinstance(node, nodes.InRelation):
        return _window_member(node, node.negated != negate)
    return None


def _compared_call(node: nodes.Compare, negate: bool) -> Expensive | None:
    """``call = true`` and its like."""
    call, word = node.left, node.right
    if isinstance(call, nodes.Literal):
        call, word = word, call
    if not isinstance(call, nodes.Call) or not isinstance(word, nodes.Literal):
        return None
    if not isinstance(word.value, bool) or node.op not in ("=", "<>"):
        return None
    return _call(call, negate != ((node.op == "<>") != (not word.value)))


def _call(node: nodes.Call, negated: bool) -> conditions.FunctionPredicate:
    if not node.registered:
        raise NotRun(node, alone(node.name))
    return conditions.FunctionPredicate(node.name, tuple(map(_argument, node.arguments)), negated)


def _argument(node: nodes.Node) -> Argument:
    if isinstance(node, nodes.Table):
        return TableName(node.name)
    if isinstance(node, nodes.Literal) and node.value is not None:
        return Fixed(node.value)
    return Reference(_attribute(node, "the others of a function"))


def _window_member(node: nodes.InRelation, negated: bool) -> WindowMember:
    """``a in (Select b From T [Rows n])``."""
    relation, column = node.relation, node.relation.fields[0]
    if isinstance(relation, logical.Project):
        column, relation = relation.outputs[0].expression, relation.input
    subject, wanted = _attribute(node.subject, "IN"), type_of(node.subject)
    if isinstance(relation, logical.Window) and _is_stream(relation.input):
        kind = relation.kind
        if isinstance(kind, logical.Rows) and not kind.by and 1 <= kind.rows <= MAX_ROWS:
            alike = fits(wanted, column.type) or fits(column.type, wanted)
            if alike and isinstance(column, nodes.ColumnReference | Attribute):
                return WindowMember(subject, relation.input.name, column.name, kind.rows, negated)
    raise NotRun(node, f"membership in a relation that is no window [Rows n] {_NO_SELECTION}")
