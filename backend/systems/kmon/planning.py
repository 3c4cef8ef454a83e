"""From a join of windows to one join under k-constraints, where keys make a tree of many-one joins.

[B05] section 6.2 (card B1). Each equality class of attributes gives the tree joins that follow from
it (erratum D7); what the tree leaves out is looked at in its results. Relations that change are
inputs as they are (erratum D3): groups, distinct tuples and windows by key have keys of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import NamedTuple

from backend.cql.nodes import NOWHERE, At, Compare, Node
from backend.cql.types import all_hold, each_of
from backend.model.conditions import DISTINCT, GROUPS, JOINED, LAST
from backend.operators.network.core.work import OperatorTree
from backend.operators.network.kinds.aggregate import AggregateOp
from backend.operators.network.kinds.distinct import DistinctOp
from backend.operators.network.kinds.expressions import expression_text, moved, places_in
from backend.operators.network.kinds.inputs import RelationInput, StreamInput
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.kmon import JoinEdge, JoinedInput, KMonOp
from backend.operators.network.kinds.select_project import ProjectOp, SelectOp
from backend.operators.network.kinds.windows import WindowOp
from backend.systems.contract import Refusal


class Unwrapped(NamedTuple):
    """An input of a join without its window and filters. base: what gives its tuples; places: the
    base's column of each column of the input."""

    base: OperatorTree
    joined: JoinedInput
    places: tuple[int, ...]


def planned(tree: OperatorTree) -> OperatorTree | Refusal:
    """A query's tree with joins under k-constraints; or why there is none."""
    refusals: list[Refusal] = []
    plan = _planned(tree, refusals)
    if any(isinstance(part.work, KMonOp) for part in plan.walk()):
        return plan
    return refusals[0] if refusals else Refusal("it joins nothing, so no k-constraint applies")


def _planned(tree: OperatorTree, refusals: list[Refusal]) -> OperatorTree:
    if isinstance(tree.work, JoinOp):
        plan = _join_under_constraints(tree, tree.work, refusals)
        if isinstance(plan, OperatorTree):
            return plan
        refusals.append(plan)
    inputs = tuple(_planned(below, refusals) for below in tree.inputs)
    return replace(tree, inputs=inputs)


def _join_under_constraints(
    tree: OperatorTree, work: JoinOp, refusals: list[Refusal]
) -> OperatorTree | Refusal:
    """One join as such, or what of it is the reason that it is none."""
    inputs: list[Unwrapped] = []
    for below in tree.inputs:
        unwrapped = _unwrapped(below, refusals)
        if isinstance(unwrapped, Refusal):
            return unwrapped
        inputs.append(unwrapped)
    classes = [
        {input: inputs[input].places[place] for input, place in members} for members in work.equal
    ]
    edges = _spanning(_edges(inputs, classes), len(inputs))
    if len(edges) < len(inputs) - 1:
        return _unconnected(tree, work, inputs, edges)
    left_out = _left_out(tree, work, classes, edges, inputs)
    residual = [*([] if work.residual is None else [work.residual]), *left_out]
    outputs = tuple((k, place) for k, input in enumerate(inputs) for place in input.places)
    kmon = KMonOp(
        tuple(input.joined for input in inputs),
        edges,
        outputs,
        all_hold(residual) if residual else None,
        tuple(_words(tree, node) for node in left_out),
    )
    return OperatorTree(kmon, tuple(input.base for input in inputs), tree.fields)


# ---------------------------------------------------------------------- inputs


def _unwrapped(tree: OperatorTree, refusals: list[Refusal]) -> Unwrapped | Refusal:
    """Windows and filters become the join's; not what a window of rows counts after a filter, nor
    windows that are not of the newest tuples of all: those are relations that change."""
    places, conditions = tuple(range(len(tree.fields))), list[Node]()
    window: WindowOp | None = None
    while isinstance(tree.work, WindowOp | SelectOp | ProjectOp):
        work = tree.work
        if isinstance(work, WindowOp):
            if window is not None or work.kind == "partition" or work.slide != 1:
                break
            window = work
        elif window is not None and window.kind == "rows":
            break
        elif isinstance(work, SelectOp):
            conditions += each_of(work.condition)
        else:
            columns = [node.index for node in work.expressions if isinstance(node, At)]
            if len(columns) < len(work.expressions):
                break
            to = dict(enumerate(columns))
            places = tuple(to[place] for place in places)
            conditions = [moved(node, to) for node in conditions]
        tree = tree.input
    if window is not None and not tree.grows:
        return Refusal(f"tuples of {_name(tree)} are taken away again by what comes later")
    base = _planned(tree, refusals)
    condition = all_hold(conditions) if conditions else None
    joined = JoinedInput(_name(tree), "changing", 0, condition, _key(base))
    if window is not None and window.kind != "partition":
        joined = joined._replace(window=window.kind, size=window.size)
    elif tree.grows:
        joined = joined._replace(window="unbounded")
    return Unwrapped(base, joined, places)


def _names(tree: OperatorTree) -> list[str]:
    return [field.name for field in tree.fields]


def _name(tree: OperatorTree) -> str:
    """What a tree reads, and what makes another relation of it: ``groups of CarStr by cid``."""
    work, names = tree.work, _names(tree)
    reads = " and ".join(dict.fromkeys(part.work.reads for part in tree.walk() if part.work.reads))
    if isinstance(work, DistinctOp):
        return f"{DISTINCT}{' and '.join(names)} of {reads}"
    if isinstance(work, AggregateOp) and work.groups:
        return f"{GROUPS}{reads} by {' and '.join(names[: len(work.groups)])}"
    if isinstance(work, WindowOp) and work.kind == "partition":
        size = "" if work.size == 1 else f"{work.size} "
        return f"{LAST}{size}{reads} by {' and '.join(names[place] for place in work.by)}"
    if len(tree.inputs) > 1:
        return f"{JOINED}{reads}"
    return _name(tree.input) if tree.inputs else reads or "a query"


def _key(tree: OperatorTree) -> tuple[int, ...]:
    """Columns no two tuples of a tree have alike at a time, as was declared of what it reads or as
    follows from what it does; (): none."""
    if isinstance(tree.work, StreamInput | RelationInput):
        names = _names(tree)
        lacks = any(name not in names for name in tree.work.key)
        return () if lacks else tuple(names.index(name) for name in tree.work.key)
    if isinstance(tree.work, DistinctOp):
        return tuple(range(len(tree.fields)))
    if isinstance(tree.work, AggregateOp):
        return tuple(range(len(tree.work.groups)))
    if isinstance(tree.work, WindowOp) and (tree.work.kind, tree.work.size) == ("partition", 1):
        return tree.work.by
    if isinstance(tree.work, SelectOp | WindowOp):
        return _key(tree.input)
    if isinstance(tree.work, KMonOp):
        return _key_of_root(tree.work)
    if isinstance(tree.work, ProjectOp):
        kept = [node.index if isinstance(node, At) else -1 for node in tree.work.expressions]
        below = _key(tree.input)
        return tuple(kept.index(place) for place in below) if set(below) <= set(kept) else ()
    return ()


def _key_of_root(work: KMonOp) -> tuple[int, ...]:
    """Where each tuple of the one root is in one result at most: its key, if all of it is there."""
    roots = work.roots()
    key = [(roots[0], place) for place in work.inputs[roots[0]].key]
    is_there = len(roots) == 1 and all(column in work.outputs for column in key)
    return tuple(work.outputs.index(column) for column in key) if is_there else ()


# ---------------------------------------------------------------------- the tree of joins


def _edges(inputs: Sequence[Unwrapped], classes: Sequence[dict[int, int]]) -> list[JoinEdge]:
    """All many-one joins, those of most attributes first, then of inputs side by side; of a one-one
    join the input named later is the parent. Where relations change one-one joins have no use as
    such: the input named first is the parent ([B05] section 6.10)."""
    edges, changes = [], any(input.joined.window == "changing" for input in inputs)
    for child, parent in combinations(range(len(inputs)), 2):
        on = tuple(
            (places[parent], places[child])
            for places in classes
            if {parent, child} <= places.keys()
        )
        below = _has_key(inputs[child], [place for _, place in on])
        above = _has_key(inputs[parent], [place for place, _ in on])
        if below and not (above and changes):
            edges.append(JoinEdge(parent, child, on, above))
        elif above:
            edges.append(JoinEdge(child, parent, tuple((b, a) for a, b in on)))
    return sorted(edges, key=lambda edge: (-len(edge.on), abs(edge.parent - edge.child)))


def _has_key(input: Unwrapped, places: Iterable[int]) -> bool:
    return bool(input.joined.key) and set(input.joined.key) <= set(places)


def _spanning(edges: Sequence[JoinEdge], n: int) -> tuple[JoinEdge, ...]:
    """Joins without a cycle; they connect all inputs if these can be connected."""
    part, chosen = list(range(n)), list[JoinEdge]()
    for edge in edges:
        above, below = part[edge.parent], part[edge.child]
        if above != below:
            chosen.append(edge)
            part = [below if k == above else k for k in part]
    return tuple(chosen)


def _unconnected(
    tree: OperatorTree, work: JoinOp, inputs: Sequence[Unwrapped], edges: Sequence[JoinEdge]
) -> Refusal:
    """Why an input is joined to the first one by no many-one join."""
    reached = {0}
    for _ in inputs:
        reached |= {k for e in edges for k in (e.parent, e.child) if {e.parent, e.child} & reached}
    lone = next(k for k in range(len(inputs)) if k not in reached)
    first, other = (inputs[k].joined.name for k in (0, lone))
    apart = [set(range(len(inputs))) - reached, reached]
    if any(all(part & {k for k, _ in members} for part in apart) for members in work.equal):
        return Refusal(
            f"nothing says that a tuple joins at most one of {other}, or one of {other} at most "
            f"one of {first}: declare a key among the attributes they are joined by, such as "
            f'key = ["..."] in [streams.{other}]'
        )
    allowed = "k-Mon joins along equalities of attributes of one type, one of which is a key"
    condition = _across(tree, work, inputs, reached)
    if condition is None:
        return Refusal(f"no condition joins {other} with {first}: {allowed}")
    return Refusal(
        f"{other} is joined with {first} by {condition}, which is no equality of two attributes "
        f"of one type: {allowed}"
    )


def _across(
    tree: OperatorTree, work: JoinOp, inputs: Sequence[Unwrapped], reached: set[int]
) -> str | None:
    """A condition between inputs that are reached and others, in words."""
    owners = [k for k, input in enumerate(inputs) for _ in input.places]
    for node in () if work.residual is None else each_of(work.residual):
        named = {owners[place] for place in places_in(node)}
        if named & reached and named - reached:
            return expression_text(node, [_column(inputs, place) for place in range(len(owners))])
    return None


def _column(inputs: Sequence[Unwrapped], place: int) -> str:
    """The name of a column of a join, with that of what it is read from."""
    for input in inputs:
        if place < len(input.places):
            return f"{input.joined.name}.{_names(input.base)[input.places[place]]}"
        place -= len(input.places)
    raise ValueError("a join has no such column")


def _left_out(
    tree: OperatorTree,
    work: JoinOp,
    classes: Sequence[dict[int, int]],
    edges: Sequence[JoinEdge],
    inputs: Sequence[Unwrapped],
) -> list[Node]:
    """Equalities of the text that the tree of joins does not see to, over the join's columns."""
    firsts = [sum(len(input.places) for input in inputs[:k]) for k in range(len(inputs))]
    lost: list[Node] = []
    for members, places in zip(work.equal, classes, strict=True):
        part = {input: input for input in places}
        for edge in edges:
            on = (places.get(edge.parent, -1), places.get(edge.child, -1))
            if on in edge.on and part[edge.parent] != part[edge.child]:
                old, new = part[edge.parent], part[edge.child]
                part = {k: new if p == old else p for k, p in part.items()}
        columns = {input: firsts[input] + place for input, place in members}
        heads = list({p: input for input, p in reversed(part.items())}.values())
        for first, second in pairwise(heads):
            sides = [At(NOWHERE, columns[k], tree.fields[columns[k]].type) for k in (first, second)]
            lost.append(Compare(NOWHERE, "=", *sides))
    return lost


def _words(tree: OperatorTree, node: Node) -> str:
    names = [tree.fields[place].name for place in sorted(places_in(node))]
    return " = ".join(names)
