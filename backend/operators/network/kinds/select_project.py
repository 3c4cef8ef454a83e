"""select and project in a plan (thesis, table 2.1); columns nobody needs are left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from backend.cql.nodes import NOWHERE, At, Node
from backend.cql.types import all_hold, each_of
from backend.model.schema import Attribute
from backend.operators.network.core.work import (
    JoinTrees,
    Operators,
    OperatorTree,
    OperatorWork,
    Places,
    PlannedOperator,
    Spread,
    kept_places,
)
from backend.operators.network.kinds.expressions import (
    composed,
    expression_text,
    moved,
    places_in,
)


@dataclass(frozen=True, slots=True)
class SelectOp(OperatorWork):
    """select: the elements for which the condition is true."""

    condition: Node
    role = "select"

    @property
    def nodes(self) -> tuple[Node, ...]:
        return (self.condition,)

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        return expression_text(self.condition, columns[0])

    def fifo(self, inputs: Sequence[bool], grows: bool) -> bool:
        return inputs[0]

    def is_net(self, inputs: Sequence[bool], n_columns: Sequence[int]) -> bool:
        return inputs[0]

    def pushed(
        self, tree: OperatorTree, conditions: tuple[Node, ...], joins: JoinTrees
    ) -> OperatorTree:
        return tree.input.pushed((*each_of(self.condition), *conditions), joins)

    def pruned(self, tree: OperatorTree, keep: Sequence[int]) -> tuple[OperatorTree, Places]:
        below, to = tree.input.pruned({*keep, *places_in(self.condition)})
        return OperatorTree(SelectOp(moved(self.condition, to)), (below,), below.fields), to

    def any_column(self, tree: OperatorTree) -> int:
        used = places_in(self.condition)
        return min(used) if used else tree.input.work.any_column(tree.input)

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        return [tree.spread([way], way.places) for way in inputs[0]]


@dataclass(frozen=True, slots=True)
class ProjectOp(OperatorWork):
    """project: one column for each expression; duplicates stay."""

    expressions: tuple[Node, ...]
    role = "project"

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self.expressions

    def text(self, columns: Sequence[Sequence[str]]) -> str:
        return ", ".join(expression_text(node, columns[0]) for node in self.expressions)

    def fifo(self, inputs: Sequence[bool], grows: bool) -> bool:
        return inputs[0]

    def is_net(self, inputs: Sequence[bool], n_columns: Sequence[int]) -> bool:
        """As its input where it keeps all columns."""
        kept = {column.index for column in self.expressions if isinstance(column, At)}
        return inputs[0] and len(kept) >= n_columns[0]

    def stream_of(self, inputs: Sequence[str]) -> str:
        return inputs[0]

    def pushed(
        self, tree: OperatorTree, conditions: tuple[Node, ...], joins: JoinTrees
    ) -> OperatorTree:
        """Conditions on columns hold for what these are computed from."""
        pairs = [(node, composed(node, self.expressions)) for node in conditions]
        below = tree.input.pushed([low for _, low in pairs if low is not None], joins)
        return select(tree.over([below]), [node for node, low in pairs if low is None])

    def pruned(self, tree: OperatorTree, keep: Sequence[int]) -> tuple[OperatorTree, Places]:
        kept = [self.expressions[place] for place in keep]
        below, to = tree.input.pruned({place for node in kept for place in places_in(node)})
        fields = [tree.fields[place] for place in keep]
        return _projected(below, [moved(node, to) for node in kept], fields), kept_places(keep)

    def ways(self, tree: OperatorTree, inputs: Sequence[Sequence[Spread]]) -> list[Spread]:
        spreads = []
        for way in inputs[0]:
            columns = enumerate(self.expressions)
            places = [k for k, e in columns if isinstance(e, At) and e.index in way.places]
            spreads.append(tree.spread([way], places))
        return sorted(spreads, key=lambda way: not way.places)

    def window_of(
        self, planned: PlannedOperator, operators: Operators
    ) -> tuple[PlannedOperator, tuple[int, ...]] | None:
        below = operators[planned.inputs[0]]
        kept = [node.index for node in self.expressions if isinstance(node, At)]
        view = below.work.window_of(below, operators)
        if view is None or len(kept) < len(self.expressions):
            return None
        window, places = view
        return window, tuple(places[place] for place in kept)


class WholeInput(OperatorWork):
    """An operator of one input of which it needs all tuples, whatever of its own are wanted."""

    def pushed(
        self, tree: OperatorTree, conditions: tuple[Node, ...], joins: JoinTrees
    ) -> OperatorTree:
        return select(tree.over([tree.input.pushed((), joins)]), conditions)

    def pruned(self, tree: OperatorTree, keep: Sequence[int]) -> tuple[OperatorTree, Places]:
        below = exact(tree.input, range(len(tree.input.fields)))
        return tree.over([below]), kept_places(range(len(tree.fields)))


def select(tree: OperatorTree, conditions: Sequence[Node]) -> OperatorTree:
    """The tuples for which all conditions hold."""
    if not conditions:
        return tree
    return OperatorTree(SelectOp(all_hold(conditions)), (tree,), tree.fields)


def project(
    tree: OperatorTree, expressions: Sequence[Node], fields: Sequence[Attribute]
) -> OperatorTree:
    """A column for each expression."""
    return OperatorTree(ProjectOp(tuple(expressions)), (tree,), tuple(fields))


def named(tree: OperatorTree, fields: Sequence[Attribute]) -> OperatorTree:
    """The tree without columns it does not need for its own, which are called as in ``fields``."""
    kept = exact(tree, range(len(tree.fields)))
    if kept.fields == tuple(fields):
        return kept
    if isinstance(kept.work, ProjectOp):
        return replace(kept, fields=tuple(fields))
    columns = [At(NOWHERE, k, field.type) for k, field in enumerate(kept.fields)]
    return project(kept, columns, fields)


def exact(tree: OperatorTree, places: Sequence[int]) -> OperatorTree:
    """Some columns of a tree, in this order; at least one."""
    kept, to = tree.pruned(places)
    if [to[place] for place in places] == list(range(len(kept.fields))):
        return kept
    expressions = [At(NOWHERE, to[place], tree.fields[place].type) for place in places]
    return _projected(kept, expressions, [tree.fields[place] for place in places])


def _projected(
    tree: OperatorTree, expressions: Sequence[Node], fields: Sequence[Attribute]
) -> OperatorTree:
    """A projection; of a projection it is one."""
    if isinstance(tree.work, ProjectOp):
        both = [composed(node, tree.work.expressions) for node in expressions]
        ready = [node for node in both if node is not None]
        if len(ready) == len(both):
            expressions, tree = ready, tree.input
    columns = [node.index if isinstance(node, At) else -1 for node in expressions]
    is_all = columns == list(range(len(tree.fields)))
    return tree if is_all else project(tree, expressions, fields)
