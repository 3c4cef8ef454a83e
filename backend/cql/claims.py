"""Which logical plans run today, and which part of another one does not.

Two shapes run: ``Select * From Stream Where condition`` over attributes and constants, and the
same with calls of functions and memberships in windows joined by 'and'. The condition of a claimed
plan is free of negation: NOT is moved inwards by De Morgan's laws and into the comparisons, which
is exact in three-valued logic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, NoReturn, TypeGuard

from backend.cql import logical, nodes
from backend.cql.expressions import alone, not_run
from backend.cql.printer import format_window
from backend.cql.types import fits, type_of, with_article
from backend.model import conditions
from backend.model.conditions import (
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

MAX_ROWS: Final = 10_000_000
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
_MIRROR: Final[dict[str, Op]] = {
    "=": "=",
    "<>": "<>",
    "<": ">",
    ">=": "<=",
    ">": "<",
    "<=": ">=",
}
_NOWHERE_YET: Final[dict[type, str]] = {
    nodes.Arithmetic: "arithmetic",
    nodes.Negative: "arithmetic",
    nodes.Like: "LIKE",
    nodes.Subquery: "a subquery",
}
_NOT_RUN: Final[dict[type, str]] = {
    logical.Project: "a select list other than *",
    logical.Distinct: "Distinct",
    logical.Derived: "a subquery",
    logical.OrderBy: "Order By",
    logical.Aggregate: "Group By",
}


class NotRun(Exception):
    """A part of a plan that no system can run: the node, and one sentence about it."""

    def __init__(self, node: nodes.Located, sentence: str) -> None:
        super().__init__(sentence)
        self.node, self.sentence = node, sentence


class RunnablePart(NamedTuple):
    """What runs of a plan: the tuples of ``stream`` for which condition and filters hold."""

    stream: str
    condition: Condition
    filters: tuple[Expensive, ...]


def claim(plan: logical.Logical) -> RunnablePart:
    """The plan as what runs today. Raises NotRun."""
    scan, where = (plan.input, plan.condition) if isinstance(plan, logical.Select) else (plan, None)
    if not _is_stream(scan):
        _refuse_first(plan)
    if where is None:
        return RunnablePart(scan.name, TRUE, ())
    return RunnablePart(scan.name, *conjuncts(where))


def _is_stream(plan: Any) -> TypeGuard[logical.Scan]:
    return isinstance(plan, logical.Scan) and plan.kind == "stream"


def unsupported_part(plan: logical.Logical) -> tuple[nodes.Located, str] | None:
    """The first part of the plan that no system can run, with a sentence; None when all runs."""
    try:
        claim(plan)
    except NotRun as refusal:
        return refusal.node, refusal.sentence
    return None


def _refuse_first(plan: logical.Logical) -> NoReturn:
    """Refuse the operator that comes first in the text, or the one around the whole."""
    if isinstance(plan, logical.SetOperation | logical.ToStream):
        raise NotRun(plan, not_run(str(_what(plan))))
    found = [(part, what) for part in logical.walk(plan) if (what := _what(part)) is not None]
    part, what = min(found, key=lambda pair: pair[0].at.start_pos or 0)
    raise NotRun(part, not_run(what))


def _what(part: logical.Logical) -> str | None:
    """What an operator that does not run is called; None for those that do."""
    if isinstance(part, logical.Window):
        return f"the window [{format_window(part.kind)}]"
    if isinstance(part, logical.ToStream):
        return f"the operator {part.word}"
    if isinstance(part, logical.SetOperation):
        return part.word
    if isinstance(part, logical.Join):
        return "a join of several streams" if part.condition is None else "a join"
    if isinstance(part, logical.Scan):
        return None if part.kind == "stream" else f"reading a {part.kind}"
    return _NOT_RUN.get(type(part))


# ---------------------------------------------------------------------- conditions


def conjuncts(where: nodes.Node) -> tuple[Condition, tuple[Expensive, ...]]:
    """The native condition, and the other filters in the order written. Raises NotRun."""
    native: list[Condition] = []
    filters: list[Expensive] = []
    for node, negate in _split(where, False):
        found = _filter(node, negate)
        if found is None:
            part = condition(node, negate)
            native += part.parts if isinstance(part, And) else (part,)
        else:
            filters.append(found)
    if len(native) == 1:
        return native[0], tuple(filters)
    return (And(tuple(native)) if native else TRUE), tuple(filters)


def _split(node: nodes.Node, negate: bool) -> Iterator[tuple[nodes.Node, bool]]:
    """The conjuncts of a condition, each with whether it is negated."""
    if isinstance(node, nodes.Not):
        yield from _split(node.part, not negate)
    elif isinstance(node, nodes.Logic) and (node.word == "and") != negate:
        for part in node.parts:
            yield from _split(part, negate)
    else:
        yield node, negate


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
        subject, constant, op = constant, subject, _MIRROR[op]
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
    found = (_comparison(attribute, _NEGATION[op] if excluded else op, at) for op, at in pairs)
    parts = tuple(dict.fromkeys(found))
    return parts[0] if len(parts) == 1 else kinds[excluded](parts)


def _attribute(node: nodes.Node, use: str) -> str:
    """The attribute beside ``use``."""
    _refuse_elsewhere(node)
    if isinstance(node, nodes.Literal):
        raise NotRun(node, "both sides are constants; one side must be an attribute")
    if not isinstance(node, nodes.Column):
        raise NotRun(node, f"found a condition beside {use}, expected an attribute")
    return node.name


def _comparison(attribute: str, op: Op, node: nodes.Node) -> Comparison:
    _refuse_elsewhere(node)
    if isinstance(node, nodes.Column):
        what = f"comparing two attributes ({attribute} and {node.name})"
        raise NotRun(node, f"{what} is not run by this system yet; compare with a constant")
    if not isinstance(node, nodes.Literal) or node.value is None:
        raise NotRun(node, f"found a condition beside {op}, expected a constant")
    return Comparison(attribute, op, node.value)


def _refuse_elsewhere(node: nodes.Node) -> None:
    """What may stand at other places only, or nowhere yet."""
    if isinstance(node, nodes.Column | nodes.Literal):
        return
    if isinstance(node, nodes.Call):
        raise NotRun(node, alone(node.name) if node.registered else not_run(_function(node)))
    if isinstance(node, nodes.InRelation):
        raise NotRun(node, "membership in a window is joined to other conditions by 'and' only")
    if type(node) in _NOWHERE_YET:
        raise NotRun(node, not_run(_NOWHERE_YET[type(node)]))


def _function(node: nodes.Call) -> str:
    return f"the function {node.name}(…)"


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
        raise NotRun(node, not_run(_function(node)))
    return conditions.FunctionPredicate(node.name, tuple(map(_argument, node.arguments)), negated)


def _argument(node: nodes.Node) -> Argument:
    if isinstance(node, nodes.Table):
        return TableName(node.name)
    if isinstance(node, nodes.Literal) and node.value is not None:
        return Fixed(node.value)
    return Reference(_attribute(node, "the others of a function"))


def _window_member(node: nodes.InRelation, negated: bool) -> WindowMember:
    """``a in (Select b From T [Rows n])``."""
    relation = node.relation
    column = relation.fields[0]
    if isinstance(relation, logical.Project):
        column = relation.outputs[0].expression
        if not isinstance(column, nodes.Column):
            _refuse_first(relation)
        relation = relation.input
    if isinstance(relation, logical.Scan):
        raise NotRun(node, not_run("a subquery without a window [Rows n]"))
    if isinstance(relation, logical.Select):
        raise NotRun(node, not_run("a subquery with a condition"))
    window, scan = relation, getattr(relation, "input", None)
    if not isinstance(window, logical.Window) or not _is_stream(scan):
        _refuse_first(relation)
    kind = window.kind
    if not isinstance(kind, logical.Rows) or kind.by:
        _refuse_first(relation)
    if not 1 <= kind.rows <= MAX_ROWS:
        raise NotRun(relation, f"a window of {kind.rows} rows; allowed are 1 to {MAX_ROWS}")
    subject, wanted = _attribute(node.subject, "IN"), type_of(node.subject)
    if not (fits(wanted, column.type) or fits(column.type, wanted)):
        what = f"looking for {with_article(wanted)} among values of type {column.type}"
        raise NotRun(node, not_run(what))
    return WindowMember(subject, scan.name, column.name, kind.rows, negated)
