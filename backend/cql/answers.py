"""What a plan reads and answers: streams, and relations that change with time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from backend.cql import nodes
from backend.cql.logical import (
    Aggregate,
    Coalesce,
    Derived,
    Fields,
    Logical,
    OrderBy,
    Scan,
    SetOperation,
    ToStream,
    Unbounded,
    Window,
    children,
    conditions,
    numbered,
    subqueries,
    walk,
)
from backend.cql.types import expressions_in
from storage.vocabulary.records import SIGN, TAU

#: What elements of answers have beside their own columns, in the sink and in the store.
ELEMENT_COLUMNS: Final = ("tau", "sign", TAU, SIGN)
#: When a query written like plain SQL answers the stream of what comes: if it has no window clause
#: at all and its answer only grows; if its answer only grows; never.
Implicit: TypeAlias = Literal["unwindowed", "monotonic", "never"]


def answers_a_stream(plan: Logical, implicit: Implicit = "unwindowed") -> bool:
    """Whether the answer is a stream; else it is a relation that changes with time.

    The thesis shows by example (section 2.1) that plain SQL over streams means a stream; the rule
    here: it reads streams only, has no window clause, and takes nothing away again.
    """
    if isinstance(plan, ToStream):
        return True
    if implicit == "never":
        return False
    if isinstance(plan, Derived):
        return answers_a_stream(plan.input, implicit)
    if isinstance(plan, Scan):
        if plan.plan is not None:
            return answers_a_stream(plan.plan, implicit)
        return plan.kind == "stream"
    parts = [*walk(plan), *(part for subquery in subqueries(plan) for part in walk(subquery))]
    if implicit == "unwindowed" and any(isinstance(part, Window) for part in parts):
        return False
    scans = [part for part in parts if isinstance(part, Scan)]
    return grows(plan) and all(answers_a_stream(scan, implicit) for scan in scans)


def answer_fields(plan: Logical) -> Fields:
    """The columns of a query's answer, called as in its select list; a name that is taken, also by
    the ``tau`` and ``sign`` of its elements, is numbered."""
    return numbered(plan.fields, ELEMENT_COLUMNS)


def grows(plan: Logical) -> bool:
    """Whether the relation of a plan loses no tuple as time goes on. A stream counts as all it has
    had."""
    if isinstance(plan, ToStream):
        return True
    if isinstance(plan, Scan) and plan.plan is not None:
        return grows(plan.plan)
    if isinstance(plan, Window):
        return isinstance(plan.kind, Unbounded)
    if isinstance(plan, Aggregate | OrderBy | Coalesce):
        return False
    if isinstance(plan, SetOperation) and plan.word == "Except":
        return False
    if not all(_grows_with(condition) for condition in conditions(plan)):
        return False
    return all(map(grows, children(plan)))


def _grows_with(node: nodes.Node) -> bool:
    """Whether what fulfils a condition does so for good."""
    if isinstance(node, nodes.InRelation):
        return not node.negated and grows(node.relation)
    if isinstance(node, nodes.Logic) and node.word == "and":
        return all(map(_grows_with, node.parts))
    return not any(isinstance(e, nodes.InRelation | nodes.Subquery) for e in expressions_in(node))


def scans_of(plan: Logical) -> Iterator[Scan]:
    """The streams and stored relations a plan reads, also within expressions and through the
    queries it reads, in the order of the text."""
    for part in walk(plan):
        if isinstance(part, Scan):
            yield from [part] if part.plan is None else scans_of(part.plan)
    for subquery in subqueries(plan):
        yield from scans_of(subquery)


def streams_of(plan: Logical) -> tuple[str, ...]:
    """The streams a plan reads, each once."""
    return tuple(dict.fromkeys(scan.name for scan in scans_of(plan) if scan.kind == "stream"))
