"""Operators of a network in words: role, name, and what there is to say of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from backend.cql.nodes import At, Column, Node, Widened
from backend.cql.printer import format_expression
from backend.cql.types import rebuilt
from backend.operators.network.core.plan import (
    AggregateCall,
    AggregateOp,
    AntiJoinOp,
    DistinctOp,
    JoinOp,
    NetworkPlan,
    OperatorWork,
    PlannedOperator,
    ProjectOp,
    SelectOp,
    SetOp,
    ToStreamOp,
    WindowOp,
    name_read,
)
from storage.vocabulary.records import Json

ROLES: Final[Mapping[type[OperatorWork], str]] = {
    SelectOp: "select",
    ProjectOp: "project",
    WindowOp: "window",
    JoinOp: "join",
    SetOp: "set operation",
    AntiJoinOp: "antijoin",
    AggregateOp: "aggregate",
    DistinctOp: "distinct",
    ToStreamOp: "relation to stream",
}
#: Names are cut to so many characters; the whole is a fact.
LONGEST_NAME: Final = 48


@dataclass(frozen=True, slots=True)
class DescribedOperator:
    """An operator in words. name: unique in its plan, without a slash; keeps: what its synopsis
    holds, '' for operators without state; facts: everything else."""

    id: str
    role: str
    name: str
    keeps: str
    facts: Mapping[str, Json]


def described(plan: NetworkPlan) -> dict[str, DescribedOperator]:
    """All operators of a plan that are no inputs, by id."""
    by_id = {one.id: one for one in plan.operators}
    readers, sharded = plan.readers(), _sharded(plan)
    found: dict[str, DescribedOperator] = {}
    taken: dict[str, int] = {}
    for one in plan.operators:
        if not one.inputs:
            continue
        columns = [[f.name for f in by_id[input].fields] for input in one.inputs]
        told, facts = _told(one.work, columns)
        facts = {"text": told, **facts, "queries": readers[one.id], **sharded.get(one.id, {})}
        name = _unique(_short(told), taken)
        found[one.id] = DescribedOperator(one.id, ROLES[type(one.work)], name, _keeps(one), facts)
    return found


def _sharded(plan: NetworkPlan) -> dict[str, dict[str, Json]]:
    """Operator -> the key that says its shard (of each input), and why."""
    by_id = {one.id: one for one in plan.operators}
    found: dict[str, dict[str, Json]] = {}
    for group in plan.groups:
        inputs = [(by_id[id], place) for id, place in group.keys.items()]
        key = {name_read(one.work): one.fields[place].name for one, place in inputs}
        for id in group.operators:
            found[id] = {"shard_key": key, "shard_why": group.why}
    return found


def _unique(name: str, taken: dict[str, int]) -> str:
    taken[name] = taken.get(name, 0) + 1
    return name if taken[name] == 1 else _unique(f"{name} ({taken[name]})", taken)


def _short(text: str) -> str:
    told = text.replace("/", "÷")
    return told if len(told) <= LONGEST_NAME else f"{told[: LONGEST_NAME - 1]}…"


def _keeps(one: PlannedOperator) -> str:
    work = one.work
    if isinstance(work, WindowOp):
        return "" if work.kind == "unbounded" else "the window"
    if isinstance(work, JoinOp | AntiJoinOp):
        return "its inputs"
    if isinstance(work, AggregateOp):
        return "groups"
    if isinstance(work, DistinctOp):
        return "counts of tuples"
    if isinstance(work, SetOp):
        return "" if work.word == "union" else "counts of both inputs"
    if isinstance(work, ToStreamOp):
        return "the relation" if work.word == "rstream" else ""
    return ""


def _told(work: OperatorWork, columns: Sequence[Sequence[str]]) -> tuple[str, dict[str, Json]]:
    """What an operator does, and facts. columns: names of each input's."""
    if isinstance(work, JoinOp):
        return _join(work, columns)
    if isinstance(work, SetOp):
        return work.word, {}
    if isinstance(work, AntiJoinOp):
        return _antijoin(work, columns)
    return _unary(work, columns[0])


def _unary(work: OperatorWork, names: Sequence[str]) -> tuple[str, dict[str, Json]]:
    if isinstance(work, SelectOp):
        return expression_text(work.condition, names), {}
    if isinstance(work, ProjectOp):
        return ", ".join(expression_text(one, names) for one in work.expressions), {}
    if isinstance(work, WindowOp):
        text = window_text(work, names)
        return text, {"window": text}
    if isinstance(work, AggregateOp):
        calls = ", ".join(_call(call, names) for call in work.calls)
        groups = [names[place] for place in work.groups]
        by = f" by {', '.join(groups)}" if groups else ""
        return f"{calls or 'groups'}{by}", {"groups": groups}
    return {"istream": "Istream", "dstream": "Dstream", "rstream": "Rstream"}.get(
        getattr(work, "word", ""), "Distinct"
    ), {}


def window_text(work: WindowOp, names: Sequence[str]) -> str:
    """``[Partition By a Rows 5]``; sizes of time are ticks."""
    if work.kind == "unbounded":
        return "[Rows Unbounded]"
    if work.kind == "range":
        slide = f" Slide {work.slide} ticks" if work.slide != 1 else ""
        return f"[Range {work.size} ticks{slide}]" if work.size or slide else "[Now]"
    by = f"Partition By {', '.join(names[place] for place in work.by)} " if work.by else ""
    return f"[{by}Rows {work.size}]"


def _join(work: JoinOp, columns: Sequence[Sequence[str]]) -> tuple[str, dict[str, Json]]:
    classes = [
        " = ".join(dict.fromkeys(columns[input][place] for input, place in one))
        for one in work.equal
    ]
    flat = [name for names in columns for name in names]
    rest = [] if work.residual is None else [expression_text(work.residual, flat)]
    orders = [list(order) for order in work.orders]
    facts = {"attributes": classes, "n_inputs": len(columns), "probe_orders": orders}
    return " and ".join([*classes, *rest]) or "all combinations", facts


def _antijoin(work: AntiJoinOp, columns: Sequence[Sequence[str]]) -> tuple[str, dict[str, Json]]:
    left, right = columns
    pairs = [(left[a], right[b]) for a, b in work.equal]
    text = " and ".join(a if a == b else f"{a} = {b}" for a, b in pairs)
    return f"not in: {text}", {"null_aware": work.null_aware}


def _call(call: AggregateCall, names: Sequence[str]) -> str:
    if call.column is None:
        return f"{call.function}(*)"
    return f"{call.function}({'Distinct ' if call.distinct else ''}{names[call.column]})"


def expression_text(node: Node, names: Sequence[str]) -> str:
    """An expression over columns by place as CQL, with their names as they are."""

    def named(part: Node) -> Node | None:
        if isinstance(part, At):
            return Column(part.at, "", names[part.index], part.type)
        return rebuilt(part.operand, named) if isinstance(part, Widened) else None

    return format_expression(rebuilt(node, named)).replace("`", "")
