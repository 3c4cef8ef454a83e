"""binary-join and mjoin in a plan (thesis, table 2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, TypeAlias

from backend.cql.nodes import NOWHERE, At, Node
from backend.cql.types import all_hold, each_of
from backend.model.schema import Attribute
from backend.operators.network.core.layouts import OWN_INDEX, StoreKind, StorePlan, StubPlan
from backend.operators.network.core.work import (
    JoinTrees,
    OneShard,
    Operators,
    OperatorTree,
    OperatorWork,
    Places,
    PlannedOperator,
    Spread,
    kept_places,
)
from backend.operators.network.kinds.equalities import (
    Equals,
    JoinColumns,
    equality,
    first_of_each,
    implied,
)
from backend.operators.network.kinds.expressions import (
    expression_text,
    moved,
    places_in,
)
from backend.operators.network.kinds.pipelines import index_names, key_columns
from backend.operators.network.kinds.select_project import SelectOp, exact, project
from backend.operators.network.kinds.windows import WindowOp

#: Classes of columns (input, place) with equal values.
Classes: TypeAlias = tuple[tuple[tuple[int, int], ...], ...]
#: Classes of equal attributes that a join knows by the bits of a word.
MOST_CLASSES: Final = 62


@dataclass(frozen=True, slots=True)
class JoinOp(OperatorWork):
    """binary-join (two inputs) or mjoin: the combinations of all inputs, columns in their order.

    equal: classes of columns (input, place) with equal values; NULL equals nothing. residual: over
    all columns, or None. orders: for each input in which order the others are probed; (): as they
    stand.
    """

    equal: Classes = ()
    residual: Node | None = None
    orders: tuple[tuple[int, ...], ...] = ()
    role = "join"

    def named(self, n_inputs: int) -> str:
        return "binary-join" if n_inputs == 2 else "mjoin"

    @property
    def keeps(self) -> str:
        return "its inputs"

    @property
    def nodes(self) -> tuple[Node, ...]:
        return () if self.residual is None else (self.residual,)

    def classes(self, columns: Sequence[Sequence[str]]) -> list[str]:
        """Of each equality class the names of its attributes, those of one name once."""
        return [
            " = ".join(dict.fromkeys(columns[input][place] for input, place in members))
            for members in self.equal
        ]

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        flat = [name for names in columns for name in names]
        rest = [expression_text(node, flat) for node in self.nodes]
        return " and ".join([*self.classes(columns), *rest]) or "all combinations"

    def facts(self, columns: Sequence[Sequence[str]]) -> Mapping[str, Any]:
        return {
            "attributes": self.classes(columns),
            "n_inputs": len(columns),
            "probe_orders": [list(order) for order in self.orders],
        }

    def pushed(
        self, tree: OperatorTree, conditions: tuple[Node, ...], joins: JoinTrees
    ) -> OperatorTree:
        """Joins directly within each other are one."""
        inputs, within = _flat(tree)
        return _joined(inputs, (*within, *conditions), joins)

    def pruned(self, tree: OperatorTree, keep: Sequence[int]) -> tuple[OperatorTree, Places]:
        sizes = [len(input.fields) for input in tree.inputs]
        firsts = [sum(sizes[:k]) for k in range(len(sizes))]
        kept = {*keep, *(place for node in self.nodes for place in places_in(node))}
        kept |= {firsts[input] + place for members in self.equal for input, place in members}
        inputs: list[OperatorTree] = []
        to, within = Places(), list[Places]()
        for input, first, size in zip(tree.inputs, firsts, sizes, strict=True):
            own = sorted(place - first for place in kept if first <= place < first + size) or [0]
            n_before = sum(len(before.fields) for before in inputs)
            inputs.append(exact(input, own))
            within.append(kept_places(own))
            to |= {first + place: n_before + k for k, place in enumerate(own)}
        equal = tuple(tuple((i, within[i][p]) for i, p in members) for members in self.equal)
        residual = None if self.residual is None else moved(self.residual, to)
        work = replace(self, equal=equal, residual=residual)
        return OperatorTree(work, tuple(inputs), _fields(inputs)), to

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        firsts = [sum(len(t.fields) for t in tree.inputs[:k]) for k in range(len(inputs))]
        whole = [next((way for way in ways if way.whole), None) for ways in inputs]
        spreads = []
        for members in map(dict, self.equal):
            chosen = [
                next((way for way in ways if members.get(k, -1) in way.places), whole[k])
                for k, ways in enumerate(inputs)
            ]
            ready = [way for way in chosen if way is not None]
            if len(ready) == len(inputs):
                places = {firsts[k] + p for k, way in enumerate(ready) for p in way.places}
                places |= {firsts[k] + place for k, place in members.items()}
                spreads.append(tree.spread(ready, places))
        for k, ways in enumerate(inputs):
            others = [way for j, way in enumerate(whole) if way is not None and j != k]
            if len(others) == len(inputs) - 1:
                for way in ways:
                    beside = [*others[:k], way, *others[k:]]
                    spreads.append(tree.spread(beside, [firsts[k] + p for p in way.places]))
        if not spreads:
            raise OneShard(
                "a join has no attribute by which all its inputs can be spread"
                if self.equal
                else "a join has no equal attributes"
            )
        return spreads

    def synopses(
        self, planned: PlannedOperator, operators: Operators, sharing: bool
    ) -> Iterator[tuple[str, StorePlan]]:
        """One of each input: of what leaves in the order it came a view of a store, else a bag."""
        for port, input in enumerate(planned.inputs):
            source = operators[input]
            columns, feed = tuple(range(len(source.fields))), source.id
            group = f"{planned.id}.{port}"
            view = source.work.window_of(source, operators) if source.fifo else None
            if view is not None:
                window, places = view
                feed = window.id
                if sharing:
                    columns, group = places, window.doing(WindowOp).group(window)
            elif source.fifo and sharing:
                group = f"of {source.id}"
            own = () if source.fifo else (OWN_INDEX,)
            indexes = (*own, *self._probed(planned, port, operators, columns))
            stub = StubPlan(planned.id, port, columns, feed, indexes)
            kind: StoreKind = "join" if source.fifo else "bag"
            yield group, StorePlan(kind, source.column_types, (stub,))

    def _probed(
        self, planned: PlannedOperator, port: int, operators: Operators, columns: tuple[int, ...]
    ) -> list[str]:
        """The indexes on an input that the others probe."""
        types = [operators[input].column_types for input in planned.inputs]
        keys = key_columns(self, port, types, columns)
        return sorted(index_names(self, port, len(planned.inputs), keys))


def join(
    inputs: Sequence[OperatorTree], equal: Classes = (), residual: Node | None = None
) -> OperatorTree:
    """The combinations of some inputs."""
    return OperatorTree(JoinOp(equal, residual), tuple(inputs), _fields(inputs))


def _fields(inputs: Iterable[OperatorTree]) -> tuple[Attribute, ...]:
    return tuple(field for input in inputs for field in input.fields)


def _flat(tree: OperatorTree) -> tuple[list[OperatorTree], list[Node]]:
    """The inputs of joins directly within each other, and the conditions between these."""
    if isinstance(tree.work, SelectOp):
        inputs, conditions = _flat(tree.input)
        if len(inputs) > 1:
            return inputs, [*conditions, *each_of(tree.work.condition)]
    if not isinstance(tree.work, JoinOp):
        return [tree], []
    flat: list[OperatorTree] = []
    within: list[Node] = []
    offset = 0
    for input in tree.inputs:
        inputs, conditions = _flat(input)
        shift = {place: place + offset for place in range(len(input.fields))}
        within += [moved(condition, shift) for condition in conditions]
        flat += inputs
        offset += len(input.fields)
    return flat, within


def _joined(
    inputs: Sequence[OperatorTree], conditions: Sequence[Node], joins: JoinTrees
) -> OperatorTree:
    """The combinations of inputs that fulfil all conditions, columns in the order of the inputs.

    Equalities of attributes, closed under transitivity, are the join's; a condition on attributes
    of one input goes to it, and also to the inputs whose attributes are equal to these; the others
    are looked at when all is joined.
    """
    columns = JoinColumns(inputs)
    classes, others = columns.classes(conditions)
    rest = [two for members in classes[MOST_CLASSES:] for two in pairwise(members)]
    others += [equality(*two, columns) for two in rest]
    classes = classes[:MOST_CLASSES]
    of_inputs: list[list[Node]] = [[] for _ in inputs]
    residual: list[Node] = []
    for condition in [*others, *implied(others, classes, columns)]:
        used = {columns.owner[place] for place in places_in(condition)}
        if len(used) > 1:
            residual.append(condition)
        else:
            of_inputs[used.pop() if used else 0].append(condition)
    equal: list[Equals] = []
    for members in classes:
        equal.append(first_of_each(members, columns, of_inputs))
    ready = [
        input.pushed(
            [columns.within(own_condition, k) for own_condition in dict.fromkeys(of_inputs[k])],
            joins,
        )
        for k, input in enumerate(inputs)
    ]
    if joins == "binary" and len(ready) > 2:
        return _left_deep(ready, equal, residual, columns)
    return join(ready, columns.paired(equal), all_hold(residual) if residual else None)


def _left_deep(
    inputs: Sequence[OperatorTree],
    classes: Sequence[Equals],
    residual: Sequence[Node],
    columns: JoinColumns,
) -> OperatorTree:
    """One input after the other, those first that have attributes equal to what is joined by then.
    Each condition is looked at as soon as its attributes are there."""
    tree, waiting, later = inputs[0], list(range(1, len(inputs))), list(residual)
    spots = {place: place for place in range(len(tree.fields))}
    while waiting:
        next_input = next((k for k in waiting if _linked(k, spots, classes, columns)), waiting[0])
        waiting.remove(next_input)
        new, first = inputs[next_input], columns.first[next_input]
        equal = []
        for members in classes:
            here = [place for place in members if columns.owner[place] == next_input]
            there = [place for place in members if place in spots]
            if here and there:
                equal.append(((0, spots[there[0]]), (1, here[0] - first)))
        n = len(tree.fields)
        spots |= {first + place: n + place for place in range(len(new.fields))}
        now = [condition for condition in later if places_in(condition) <= spots.keys()]
        later = [condition for condition in later if condition not in now]
        known = [moved(condition, spots) for condition in now]
        tree = join([tree, new], tuple(equal), all_hold(known) if known else None)
    if all(place == spot for place, spot in spots.items()):
        return tree
    outputs = [At(NOWHERE, spots[place], field.type) for place, field in enumerate(columns.fields)]
    return project(tree, outputs, columns.fields)


def _linked(
    input: int, spots: Mapping[int, int], classes: Iterable[Equals], columns: JoinColumns
) -> bool:
    return any(
        any(place in spots for place in members) and any(columns.owner[p] == input for p in members)
        for members in classes
    )
