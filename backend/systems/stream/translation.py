"""From logical plans to operator trees, operator by operator (thesis, sections 2.1 and 2.2.1).

A stream's elements are those of its unbounded relation, so [Rows Unbounded] needs no operator.
Membership is a join with the distinct tuples of the relation, NOT IN an antijoin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from lark import Token

from backend.cql import logical, nodes
from backend.cql.answers import Implicit, answers_a_stream
from backend.cql.logical import Logical
from backend.cql.printer import name_of
from backend.cql.types import common_type, conjuncts, family, rebuilt, type_of
from backend.model.schema import Attribute
from backend.operators.network.core.blocks import dtype_of
from backend.operators.network.core.work import OperatorTree
from backend.operators.network.kinds.aggregate import AggregateCall, AggregateOp
from backend.operators.network.kinds.antijoin import AntiJoinOp
from backend.operators.network.kinds.coalesce import CoalesceOp, ReadingsOp
from backend.operators.network.kinds.distinct import distinct
from backend.operators.network.kinds.inputs import RelationInput, StreamInput
from backend.operators.network.kinds.joins import join
from backend.operators.network.kinds.select_project import project, select
from backend.operators.network.kinds.set_operations import SetOp
from backend.operators.network.kinds.to_stream import ToStreamOp
from backend.operators.network.kinds.windows import WindowOp
from backend.systems.stream.lengths import measured, time_unit

_MICROSECONDS: Final = 1_000_000
#: Windows of so many ticks and more hold everything there will ever be.
_FOREVER: Final = 1 << 60
#: What stands for a part of an expression of the text.
Bind: TypeAlias = Callable[[nodes.Node], nodes.Node | None]


def translated(plan: Logical, tick_us: int, implicit: Implicit) -> tuple[OperatorTree, bool]:
    """The tree of a query, and whether its answer is a stream. tick_us: microseconds of a tick, for
    windows in seconds: they are whole ticks, rounded down."""
    translation = _Translation(tick_us)
    if answers_a_stream(plan, implicit):
        return translation.stream(plan), True
    return translation.relation(plan), False


class _Translation:
    def __init__(self, tick_us: int) -> None:
        self._tick_us = tick_us

    def relation(self, plan: Logical) -> OperatorTree:
        """The relation of a plan; of a stream all it has had."""
        return _RULES[type(plan)](self, plan)

    def stream(self, plan: Logical) -> OperatorTree:
        """The stream of a plan; of a relation what comes. That of a query is in order of values,
        also where the query is all of a stream that is read."""
        if _is_read(plan):
            return self.relation(plan)
        query = _query_of(plan)
        if query is not None and not _is_read(query):
            return self.stream(query)
        if isinstance(plan, logical.ToStream):
            return self._to_stream(plan)
        tree = self.relation(plan)
        return OperatorTree(ToStreamOp("istream"), (tree,), tree.fields)

    def _scan(self, plan: logical.Scan) -> OperatorTree:
        if plan.plan is not None:
            return self.relation(plan.plan)
        every = tuple(range(len(plan.fields)))
        kind = StreamInput if plan.kind == "stream" else RelationInput
        return OperatorTree(kind(plan.name, every, plan.key), (), plan.fields)

    def _derived(self, plan: logical.Derived) -> OperatorTree:
        return self.relation(plan.input)

    def _to_stream(self, plan: logical.ToStream) -> OperatorTree:
        tree = self.relation(plan.input)
        word = cast(Any, plan.word.lower())
        return OperatorTree(ToStreamOp(word), (tree,), tree.fields)

    # ------------------------------------------------------------------ windows

    def _window(self, plan: logical.Window) -> OperatorTree:
        return self._windowed(self.stream(plan.input), plan)

    def _windowed(self, tree: OperatorTree, plan: logical.Window) -> OperatorTree:
        work = self._window_work(plan)
        return tree if work.kind == "unbounded" else OperatorTree(work, (tree,), tree.fields)

    def _window_work(self, plan: logical.Window) -> WindowOp:
        kind = plan.kind
        if isinstance(kind, logical.Rows):
            if not kind.by:
                return WindowOp("rows", kind.rows)
            names = [field.name for field in plan.fields]
            by = dict.fromkeys(names.index(name) for name in kind.by)
            return WindowOp("partition", kind.rows, by=tuple(by))
        if isinstance(kind, logical.Now):
            return WindowOp("range", 0)
        if isinstance(kind, logical.Unbounded) or self._ticks(kind.seconds) >= _FOREVER:
            return WindowOp("unbounded")
        slide = 1 if kind.slide is None else max(1, self._ticks(kind.slide))
        return WindowOp("range", self._ticks(kind.seconds), slide, tick_us=self._tick_us)

    def _ticks(self, seconds: int) -> int:
        return min(seconds * _MICROSECONDS // self._tick_us, _FOREVER)

    # ------------------------------------------------------------------ valid times

    def _dated(self, plan: logical.WithValidTimes) -> OperatorTree:
        valid = plan.valid
        if valid.key:
            return self._readings(plan)
        tree = self.relation(plan.input)
        places = [_place_of(name, plan.input) for name in (valid.start, valid.end)]
        every = [*range(len(tree.fields)), *places]
        return project(tree, [tree.column(place, plan.at) for place in every], plan.fields)

    def _readings(self, plan: logical.WithValidTimes) -> OperatorTree:
        """A window of readings, each with the time of its element: that of its timestamp."""
        below, valid = plan.input, plan.valid
        window = below if isinstance(below, logical.Window) else None
        stream = self.stream(below if window is None else window.input)
        times, over = time_unit(valid.type, self._tick_us)
        columns = [stream.column(place, plan.at) for place in range(len(stream.fields))]
        instant = nodes.ElementTime(plan.at, times, over, valid.type)
        tree = project(stream, [*columns, instant], plan.fields[:-1])
        every = 1
        if window is not None:
            tree, every = self._windowed(tree, window), self._window_work(window).slide
        key = _place_of(valid.key, below)
        work = ReadingsOp(key, len(stream.fields), times, over, every)
        return OperatorTree(work, (tree,), plan.fields)

    def _coalesce(self, plan: logical.Coalesce) -> OperatorTree:
        tree = self.relation(plan.input)
        n = len(tree.fields)
        places = [*(_place_of(name, plan.input) for name in plan.attributes), n - 2, n - 1]
        tree = project(tree, [tree.column(place, plan.at) for place in places], plan.fields)
        times = self._tick_us if plan.valid.type == "timestamp" else 1
        work = CoalesceOp(times if plan.valid.is_closed else 0)
        return OperatorTree(work, (tree,), plan.fields)

    # ------------------------------------------------------------------ relations of relations

    def _join(self, plan: logical.Join) -> OperatorTree:
        tree = join([self.relation(part) for part in plan.inputs])
        if plan.condition is None:
            return tree
        return self._filtered(tree, plan.condition, _binding(plan))

    def _select(self, plan: logical.Select) -> OperatorTree:
        tree = self.relation(plan.input)
        return self._filtered(tree, plan.condition, _binding(plan.input))

    def _project(self, plan: logical.Project) -> OperatorTree:
        tree, bind = self.relation(plan.input), _binding(plan.input)
        expressions = (measured(output.expression) for output in plan.outputs)
        bound = [rebuilt(expression, bind) for expression in expressions]
        return project(tree, bound, plan.fields)

    def _aggregate(self, plan: logical.Aggregate) -> OperatorTree:
        tree, bind = self.relation(plan.input), _binding(plan.input)
        different = _different(plan.calls)
        if not plan.groups and not different:  # a Having alone
            different = [nodes.Aggregated(plan.at, "count", (), False)]
        arguments = (part for call in different for part in call.arguments)
        inside = {node: rebuilt(measured(node), bind) for node in (*plan.groups, *arguments)}
        if all(isinstance(node, nodes.At) for node in inside.values()):
            places = {node: at.index for node, at in inside.items() if isinstance(at, nodes.At)}
        else:
            below = [Attribute(name_of(node), type_of(node)) for node in inside]
            tree = project(tree, list(inside.values()), below)
            places = {node: place for place, node in enumerate(inside)}
        calls: list[AggregateCall] = []
        for call in different:
            column = places[call.arguments[0]] if call.arguments else None
            function = cast(Any, call.function)
            calls.append(AggregateCall(function, column, call.distinct, type_of(call), call.at))
        named = (*plan.groups, *different)
        fields = tuple(Attribute(name_of(node), type_of(node)) for node in named)
        work = AggregateOp(tuple(places[node] for node in plan.groups), tuple(calls))
        tree = OperatorTree(work, (tree,), fields)
        return tree if plan.having is None else self._filtered(tree, plan.having, _binding(plan))

    def _distinct(self, plan: logical.Distinct) -> OperatorTree:
        return distinct(self.relation(plan.input))

    def _set_operation(self, plan: logical.SetOperation) -> OperatorTree:
        types = [field.type for field in plan.fields]
        sides = [_of_types(self.relation(side), types, plan.at) for side in (plan.left, plan.right)]
        word = cast(Any, plan.word.lower())
        return OperatorTree(SetOp(word), tuple(sides), plan.fields)

    # ------------------------------------------------------------------ conditions

    def _filtered(self, tree: OperatorTree, condition: nodes.Node, bind: Bind) -> OperatorTree:
        """The tuples for which a condition is true; memberships are looked at last."""
        plain: list[nodes.Node] = []
        memberships: list[tuple[nodes.InRelation, bool]] = []
        for part, negated in conjuncts(condition):
            if isinstance(part, nodes.InRelation):
                memberships.append((part, part.negated != negated))
            else:
                node = rebuilt(measured(part), bind)
                plain.append(nodes.Not(part.at, node) if negated else node)
        tree = select(tree, plain)
        for part, negated in memberships:
            tree = self._member(tree, part, rebuilt(part.subject, bind), negated)
        return tree

    def _member(
        self, tree: OperatorTree, part: nodes.InRelation, subject: nodes.Node, negated: bool
    ) -> OperatorTree:
        """The tuples whose subject is in the relation of ``part``, or is not."""
        relation, n = self.relation(part.relation), len(tree.fields)
        every = [tree.column(place, part.at) for place in range(n)]
        if not negated:
            both = join([tree, distinct(relation)])
            equal = nodes.Compare(part.at, "=", subject, both.column(n, part.at))
            return project(select(both, [equal]), every, tree.fields)
        kind, sought, sides = type_of(subject), subject, relation
        if family(kind) != "number":  # numbers of two types are compared as they are, exactly
            kind = common_type(kind, relation.fields[0].type)
            sought, sides = _widened(subject, kind), _of_types(relation, [kind], part.at)
        if isinstance(sought, nodes.At):
            return OperatorTree(AntiJoinOp(((sought.index, 0),), True), (tree, sides), tree.fields)
        fields = (*tree.fields, Attribute(name_of(part.subject), kind))
        beside = project(tree, [*every, sought], fields)
        operator_tree = OperatorTree(AntiJoinOp(((n, 0),), True), (beside, sides), fields)
        return project(operator_tree, every, tree.fields)


def _place_of(name: str, plan: Logical) -> int:
    return [field.name for field in plan.fields].index(name)


def _query_of(plan: Logical) -> Logical | None:
    """The query a source is, in parentheses or by its name."""
    if isinstance(plan, logical.Derived):
        return plan.input
    return plan.plan if isinstance(plan, logical.Scan) else None


def _is_read(plan: Logical) -> bool:
    """Whether it is a stream, or a stored relation, that is read."""
    return isinstance(plan, logical.Scan) and plan.plan is None


_RULES: Final[dict[type, Callable[[_Translation, Any], OperatorTree]]] = {
    logical.Scan: _Translation._scan,
    logical.Window: _Translation._window,
    logical.Derived: _Translation._derived,
    logical.WithValidTimes: _Translation._dated,
    logical.Coalesce: _Translation._coalesce,
    logical.Join: _Translation._join,
    logical.Select: _Translation._select,
    logical.Project: _Translation._project,
    logical.Aggregate: _Translation._aggregate,
    logical.Distinct: _Translation._distinct,
    logical.SetOperation: _Translation._set_operation,
    logical.ToStream: _Translation._to_stream,
}


def _binding(plan: Logical) -> Bind:
    """What stands for the attributes of a plan in expressions above it: columns by place."""
    if isinstance(plan, logical.Aggregate):
        above: dict[nodes.Node, int] = {}
        for place, expression in enumerate([*plan.groups, *_different(plan.calls)]):
            above.setdefault(expression, place)

        def bind_above(node: nodes.Node) -> nodes.Node | None:
            column_place = above.get(_plain(node) if isinstance(node, nodes.Aggregated) else node)
            return None if column_place is None else nodes.At(node.at, column_place, type_of(node))

        return bind_above
    places = {label: place for place, label in enumerate(_labels(plan))}

    def bind(node: nodes.Node) -> nodes.Node | None:
        if not isinstance(node, nodes.ColumnReference):
            return None
        return nodes.At(node.at, places[node.source, node.name], node.type)

    return bind


def _different(calls: Iterable[nodes.Aggregated]) -> list[nodes.Aggregated]:
    """Each call once."""
    return list(dict.fromkeys(map(_plain, calls)))


def _plain(call: nodes.Aggregated) -> nodes.Aggregated:
    """The least and the largest of distinct values are those of all."""
    return replace(call, distinct=False) if call.function in ("min", "max") else call


def _labels(plan: Logical) -> list[tuple[str, str]]:
    """How columns of the text name each attribute of a plan: source and name."""
    if isinstance(plan, logical.Select):
        return _labels(plan.input)
    if not isinstance(plan, logical.Join):
        return [("", field.name) for field in plan.fields]
    labels: list[tuple[str, str]] = []
    for part, alias in zip(plan.inputs, plan.aliases, strict=True):
        inner = isinstance(part, logical.Join)
        labels += _labels(part) if inner else [(alias, field.name) for field in part.fields]
    return labels


def _of_types(tree: OperatorTree, types: list[str], token: Token) -> OperatorTree:
    """The tuples with values of wider types, where they are not held as such."""
    columns = [_widened(tree.column(place, token), kind) for place, kind in enumerate(types)]
    if all(isinstance(node, nodes.At) for node in columns):
        return tree
    fields = [Attribute(field.name, kind) for field, kind in zip(tree.fields, types, strict=True)]
    return project(tree, columns, fields)


def _widened(node: nodes.Node, kind: str) -> nodes.Node:
    given = type_of(node)
    alike = given == kind or (family(kind) == "number" and dtype_of(given) == dtype_of(kind))
    return node if alike else nodes.Widened(node.at, node, kind)
