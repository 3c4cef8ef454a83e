"""Columns nobody needs are not read and not kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from backend.cql.nodes import NOWHERE, At, Node
from backend.model.schema import Attribute
from backend.operators.network.core.plan import (
    AggregateOp,
    AntiJoinOp,
    JoinOp,
    ProjectOp,
    RelationInput,
    SelectOp,
    SetOp,
    StreamInput,
    WindowOp,
)
from backend.systems.stream.trees import (
    OperatorTree,
    at,
    composed,
    moved,
    places_in,
    project,
)

#: Where columns of a tree have gone: old place -> new one.
_To = dict[int, int]


def named(tree: OperatorTree, fields: Sequence[Attribute]) -> OperatorTree:
    """The tree without columns it does not need for its own, which are called as in ``fields``."""
    found = exact(tree, range(len(tree.fields)))
    if found.fields == tuple(fields):
        return found
    if isinstance(found.work, ProjectOp):
        return replace(found, fields=tuple(fields))
    return project(found, [at(found, k, NOWHERE) for k in range(len(fields))], fields)


def exact(tree: OperatorTree, places: Sequence[int]) -> OperatorTree:
    """Some columns of a tree, in this order; at least one."""
    found, to = _pruned(tree, places)
    if [to[place] for place in places] == list(range(len(found.fields))):
        return found
    expressions = [At(NOWHERE, to[place], tree.fields[place].type) for place in places]
    return _project(found, expressions, [tree.fields[place] for place in places])


def _project(
    tree: OperatorTree, expressions: Sequence[Node], fields: Sequence[Attribute]
) -> OperatorTree:
    """A projection; of a projection it is one."""
    if isinstance(tree.work, ProjectOp):
        both = [composed(one, tree.work.expressions) for one in expressions]
        ready = [one for one in both if one is not None]
        if len(ready) == len(both):
            expressions, tree = ready, tree.input
    is_all = [one.index if isinstance(one, At) else -1 for one in expressions]
    return tree if is_all == list(range(len(tree.fields))) else project(tree, expressions, fields)


def _pruned(tree: OperatorTree, needed: Collection[int]) -> tuple[OperatorTree, _To]:
    """A tree with at least the columns needed, and where they are."""
    work, keep = tree.work, sorted(set(needed)) or [_any_column(tree)]
    if isinstance(work, StreamInput | RelationInput):
        columns = tuple(work.columns[place] for place in keep)
        fields = tuple(tree.fields[place] for place in keep)
        return OperatorTree(replace(work, columns=columns), (), fields), _places(keep)
    if isinstance(work, SelectOp):
        below, to = _pruned(tree.input, {*keep, *places_in(work.condition)})
        condition = moved(work.condition, to)
        return OperatorTree(SelectOp(condition), (below,), below.fields), to
    if isinstance(work, ProjectOp):
        kept = [work.expressions[place] for place in keep]
        below, to = _pruned(tree.input, {place for one in kept for place in places_in(one)})
        fields = tuple(tree.fields[place] for place in keep)
        return _project(below, [moved(one, to) for one in kept], fields), _places(keep)
    if isinstance(work, WindowOp):
        return _window(tree, work, keep)
    if isinstance(work, JoinOp):
        return _join(tree, work, keep)
    if isinstance(work, AntiJoinOp):
        return _antijoin(tree, work, keep)
    if isinstance(work, AggregateOp):
        return _aggregate(tree, work, keep)
    if isinstance(work, SetOp) and work.word == "union":
        inputs = tuple(exact(one, keep) for one in tree.inputs)
        fields = tuple(tree.fields[place] for place in keep)
        return OperatorTree(work, inputs, fields), _places(keep)
    every = range(len(tree.fields))  # these compare whole tuples
    inputs = tuple(exact(one, every) for one in tree.inputs)
    return OperatorTree(work, inputs, tree.fields), _places(every)


def _any_column(tree: OperatorTree) -> int:
    """A column where none is needed, one that is read in any case if there is one."""
    while isinstance(tree.work, SelectOp | WindowOp):
        work = tree.work
        used = places_in(work.condition) if isinstance(work, SelectOp) else work.by
        if used:
            return min(used)
        tree = tree.input
    return 0


def _places(kept: Sequence[int]) -> _To:
    return {place: k for k, place in enumerate(kept)}


def _window(tree: OperatorTree, work: WindowOp, keep: Sequence[int]) -> tuple[OperatorTree, _To]:
    kept = sorted({*keep, *work.by})
    to, below = _places(kept), exact(tree.input, kept)
    by = tuple(to[place] for place in work.by)
    return OperatorTree(replace(work, by=by), (below,), below.fields), to


def _join(tree: OperatorTree, work: JoinOp, keep: Sequence[int]) -> tuple[OperatorTree, _To]:
    sizes: list[int] = [len(one.fields) for one in tree.inputs]
    firsts = [sum(sizes[:k]) for k in range(len(sizes))]
    kept = {*keep, *(places_in(work.residual) if work.residual is not None else ())}
    kept |= {firsts[input] + place for one in work.equal for input, place in one}
    inputs: list[OperatorTree] = []
    to, within = _To(), list[_To]()
    for one, first, size in zip(tree.inputs, firsts, sizes, strict=True):
        own = sorted(place - first for place in kept if first <= place < first + size) or [0]
        n_before = sum(len(input.fields) for input in inputs)
        inputs.append(exact(one, own))
        within.append(_places(own))
        to |= {first + place: n_before + k for k, place in enumerate(own)}
    equal = tuple(tuple((i, within[i][place]) for i, place in one) for one in work.equal)
    residual = None if work.residual is None else moved(work.residual, to)
    fields = tuple(field for one in inputs for field in one.fields)
    return OperatorTree(replace(work, equal=equal, residual=residual), tuple(inputs), fields), to


def _antijoin(
    tree: OperatorTree, work: AntiJoinOp, keep: Sequence[int]
) -> tuple[OperatorTree, _To]:
    left, right = tree.inputs
    kept = sorted({*keep, *(a for a, _ in work.equal)})
    matched = sorted({b for _, b in work.equal})
    to, on = _places(kept), _places(matched)
    equal = tuple((to[a], on[b]) for a, b in work.equal)
    below = exact(left, kept)
    found = OperatorTree(replace(work, equal=equal), (below, exact(right, matched)), below.fields)
    return found, to


def _aggregate(
    tree: OperatorTree, work: AggregateOp, keep: Sequence[int]
) -> tuple[OperatorTree, _To]:
    n_groups = len(work.groups)
    calls = [place - n_groups for place in keep if place >= n_groups]
    if not n_groups and not calls:
        calls = [0]
    kept = [*range(n_groups), *(n_groups + k for k in calls)]
    chosen = [work.calls[k] for k in calls]
    columns = {*work.groups, *(call.column for call in chosen if call.column is not None)}
    below, to = _pruned(tree.input, columns)
    found = AggregateOp(
        tuple(to[place] for place in work.groups),
        tuple(
            call if call.column is None else replace(call, column=to[call.column])
            for call in chosen
        ),
    )
    fields = tuple(tree.fields[place] for place in kept)
    return OperatorTree(found, (below,), fields), _places(kept)
