"""What of CQL no system runs, although its names and types are right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from backend.cql import logical, nodes
from backend.cql.answers import scans_of
from backend.cql.claims import MAX_ROWS, NotRun
from backend.cql.expressions import not_run
from backend.cql.logical import Logical
from backend.cql.resolve import MAX_COLUMNS
from backend.cql.types import conjuncts, expressions_in, has_more_bits, parts_of, type_of

#: Operators below each other, those of queries that are read included.
MAX_OPERATORS_DEEP: Final = 100
#: Operators in all.
MAX_OPERATORS: Final = 400
_ANY_NUMBER: Final = (nodes.Compare, nodes.Member, nodes.Between, nodes.Call)
_MEMBERSHIP: Final = (
    "membership in a relation is allowed in Where, On or Having, "
    "joined to other conditions by 'and'"
)


def check(plan: Logical) -> None:
    """Raises NotRun for a plan that no system can run: its first part that none does."""
    _check_size(plan)
    scans = list(scans_of(plan))
    if not any(scan.kind == "stream" for scan in scans):
        raise NotRun(scans[0], f"a query reads a stream, and {scans[0].name} is a stored relation")
    for part in _parts(plan):
        _check_operator(part)


def _check_size(plan: Logical) -> None:
    n_operators, open_parts = 0, [(plan, 1)]
    while open_parts:
        part, depth = open_parts.pop()
        n_operators += 1
        if depth > MAX_OPERATORS_DEEP:
            raise NotRun(plan, f"more than {MAX_OPERATORS_DEEP} operators below each other")
        if n_operators > MAX_OPERATORS:
            raise NotRun(plan, f"more than {MAX_OPERATORS} operators")
        inside = [*logical.children(part), *_within(part)]
        if isinstance(part, logical.Scan) and part.plan is not None:
            inside.append(part.plan)
        open_parts += [(operator, depth + 1) for operator in inside]


def _parts(plan: Logical) -> Iterator[Logical]:
    """All operators that the text itself has."""
    for part in logical.walk(plan):
        yield part
        for subquery in _within(part):
            yield from _parts(subquery)


def _within(part: Logical) -> Iterator[Logical]:
    """The plans in an operator's own expressions."""
    for condition in logical.conditions(part):
        for node in expressions_in(condition):
            if isinstance(node, nodes.InRelation | nodes.Subquery):
                yield node.relation


def _check_operator(part: Logical) -> None:
    if len(part.fields) > MAX_COLUMNS:
        raise NotRun(part, f"more than {MAX_COLUMNS} columns")
    if isinstance(part, logical.OrderBy):
        raise NotRun(part, f"{not_run('Order By')}: answers change with time and have no order")
    if isinstance(part, logical.Window) and isinstance(part.kind, logical.Rows):
        rows = part.kind.rows
        if not 1 <= rows <= MAX_ROWS:
            raise NotRun(part, f"a window of {rows} rows; allowed are 1 to {MAX_ROWS}")
    if isinstance(part, logical.Project | logical.Aggregate):
        for node in logical.conditions(part):
            if type_of(node) == "null":
                raise NotRun(node, "a column of NULL alone has no type")
    for node in logical.conditions(part):
        filters = node in (getattr(part, "condition", None), getattr(part, "having", None))
        for leaf, _ in conjuncts(node) if filters else [(node, False)]:
            if filters and isinstance(leaf, nodes.InRelation):
                leaf = leaf.subject
            _check_expression(leaf)


def _check_expression(node: nodes.Node, any_number: bool = False) -> None:
    """any_number: numbers may have any number of digits where they stand."""
    if isinstance(node, nodes.InRelation):
        raise NotRun(node, _MEMBERSHIP)
    if isinstance(node, nodes.Subquery):
        raise NotRun(node, not_run("a subquery used as a value"))
    if isinstance(node, nodes.Call) and not node.registered:
        raise NotRun(node, not_run(f"the function {node.name}(…)"))
    if not any_number and has_more_bits(node):
        raise NotRun(node, "a number of more than 64 bits can be compared with only")
    if isinstance(node, nodes.Aggregated) and "null" in map(type_of, node.arguments):
        raise NotRun(node, "an aggregate of NULL alone has no type")
    for part in parts_of(node):
        _check_expression(part, isinstance(node, _ANY_NUMBER))
