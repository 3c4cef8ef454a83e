"""By which attributes the tuples of a query can be spread over shards.

Each operator that compares tuples must have all it compares in one shard: joins the tuples with
equal attributes, aggregates their groups, windows [Partition By] their parts, and whatever takes
tuples off against equal ones (distinct, set operations, i- and d-stream, the answer's changes) has
to see the key. A column of each stream that is read says the shard, by the hash of its value. A
stored relation can also be read whole by every shard, where it is only joined to what is spread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from backend.model.schema import FLOAT_TYPES
from backend.operators.network.core.blocks import dtype_of
from backend.operators.network.core.plan import (
    AggregateOp,
    AntiJoinOp,
    At,
    DistinctOp,
    JoinOp,
    ProjectOp,
    RelationInput,
    SelectOp,
    SetOp,
    StreamInput,
    ToStreamOp,
    WindowOp,
    name_read,
)
from backend.systems.stream.trees import EVERYWHERE, OperatorTree, walk_trees


class OneShard(Exception):
    """Why a tree cannot be spread, in words that go on a sentence."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A way to spread a tree. places: its columns that have the key's value. tree: with the keys of
    its inputs. whole: every shard has all of it, and the same."""

    places: frozenset[int]
    tree: OperatorTree
    whole: bool = False


def spread(tree: OperatorTree, is_stream: bool) -> tuple[OperatorTree, str]:
    """The tree with the key of each input, and why so in a sentence; without keys if it must run in
    one shard.

    is_stream: of the answer; the changes of a relation are taken off against each other.
    """
    try:
        found = [one for one in _ways(tree) if not one.whole and (is_stream or one.places)]
        if not found:
            raise OneShard("equal tuples of the answer could come from different shards")
    except OneShard as reason:
        return tree, f"One shard: {reason}."
    return found[0].tree, _why(found[0].tree)


def whole(tree: OperatorTree) -> OperatorTree:
    """The tree without keys, for one shard."""
    return replace(tree, key=None, inputs=tuple(whole(one) for one in tree.inputs))


def _why(tree: OperatorTree) -> str:
    inputs = [one for one in walk_trees(tree) if isinstance(one.work, StreamInput | RelationInput)]
    keyed, whole = [], []
    for one in inputs:
        if one.key is None or one.key == EVERYWHERE:
            whole.append(name_read(one.work))
        else:
            keyed.append(f"{name_read(one.work)}.{one.fields[one.key].name}")
    said = f"Tuples with equal values of {' = '.join(dict.fromkeys(keyed))} go to one shard"
    if whole:
        said += f"; every shard has all of {', '.join(dict.fromkeys(whole))}"
    return f"{said}."


# ---------------------------------------------------------------------- operator by operator


def _ways(tree: OperatorTree) -> list[Spread]:
    """The ways to spread a tree, the best first, one for each set of columns. Raises OneShard."""
    found = _RULES[type(tree.work)](tree, tree.work, [_ways(one) for one in tree.inputs])
    ways: dict[tuple[bool, frozenset[int]], Spread] = {}
    for one in found:
        ways.setdefault((one.whole, one.places), one)
    return list(ways.values())


def _over(tree: OperatorTree, inputs: Sequence[Spread], places: Iterable[int]) -> Spread:
    """A tree whose inputs are spread in some way."""
    whole = all(one.whole for one in inputs)
    found = replace(tree, inputs=tuple(one.tree for one in inputs))
    return Spread(frozenset() if whole else frozenset(places), found, whole)


def _stream(tree: OperatorTree, work: Any, _: Any) -> list[Spread]:
    def rank(place: int) -> tuple[bool, bool]:
        kind = tree.fields[place].type
        return kind == "boolean", kind in FLOAT_TYPES

    places = sorted(range(len(tree.fields)), key=rank)
    return [Spread(frozenset([place]), replace(tree, key=place)) for place in places]


def _relation(tree: OperatorTree, work: Any, _: Any) -> list[Spread]:
    everywhere = Spread(frozenset(), replace(tree, key=EVERYWHERE), True)
    return [*_stream(tree, work, _), everywhere]


def _select(tree: OperatorTree, work: SelectOp, inputs: list[list[Spread]]) -> list[Spread]:
    return [_over(tree, [one], one.places) for one in inputs[0]]


def _project(tree: OperatorTree, work: ProjectOp, inputs: list[list[Spread]]) -> list[Spread]:
    found = []
    for one in inputs[0]:
        columns = enumerate(work.expressions)
        places = [k for k, e in columns if isinstance(e, At) and e.index in one.places]
        found.append(_over(tree, [one], places))
    return sorted(found, key=lambda one: not one.places)


def _window(tree: OperatorTree, work: WindowOp, inputs: list[list[Spread]]) -> list[Spread]:
    if work.kind == "rows" and not _reads_directly(tree.input):
        raise OneShard(f"[Rows {work.size}] over a stream of other tuples counts all of them")
    if work.kind == "partition":
        ways = [one for one in inputs[0] if one.places & set(work.by)]
        if not ways:
            raise OneShard("a window is partitioned by other attributes than its input is")
        return [_over(tree, [one], one.places) for one in ways]
    return [_over(tree, [one], one.places) for one in inputs[0]]


def _reads_directly(tree: OperatorTree) -> bool:
    """Whether the tuples are a stream's, all of them, with their numbers in it."""
    while isinstance(tree.work, ProjectOp):
        tree = tree.input
    return isinstance(tree.work, StreamInput)


def _join(tree: OperatorTree, work: JoinOp, inputs: list[list[Spread]]) -> list[Spread]:
    firsts = [sum(len(t.fields) for t in tree.inputs[:k]) for k in range(len(inputs))]
    whole = [next((one for one in ways if one.whole), None) for ways in inputs]
    found = []
    for one in work.equal:
        members = {input: place for input, place in one}
        chosen = [
            next((w for w in ways if members.get(k, -1) in w.places), whole[k])
            for k, ways in enumerate(inputs)
        ]
        ready = [way for way in chosen if way is not None]
        if len(ready) == len(inputs):
            places = {firsts[k] + p for k, way in enumerate(ready) for p in way.places}
            places |= {firsts[k] + place for k, place in members.items()}
            found.append(_over(tree, ready, places))
    for k, ways in enumerate(inputs):
        others = [one for j, one in enumerate(whole) if one is not None and j != k]
        if len(others) == len(inputs) - 1:
            for way in ways:
                beside = [*others[:k], way, *others[k:]]
                found.append(_over(tree, beside, [firsts[k] + p for p in way.places]))
    if not found:
        raise OneShard(
            "a join has no attribute by which all its inputs can be spread"
            if work.equal
            else "a join has no equal attributes"
        )
    return found


def _aggregate(tree: OperatorTree, work: AggregateOp, inputs: list[list[Spread]]) -> list[Spread]:
    found = []
    for one in inputs[0]:
        places = [k for k, place in enumerate(work.groups) if place in one.places]
        if places or one.whole:
            found.append(_over(tree, [one], places))
    if not found:
        raise OneShard(
            "an aggregate has tuples of all shards in a group"
            if work.groups
            else "an aggregate of all tuples is one group"
        )
    return sorted(found, key=lambda one: min(one.places, default=len(work.groups)))


def _comparing(what: str) -> Callable[..., list[Spread]]:
    """An operator that takes equal tuples off against each other, or counts them."""

    def rule(tree: OperatorTree, work: Any, inputs: list[list[Spread]]) -> list[Spread]:
        found = [_over(tree, [one], one.places) for one in inputs[0] if one.places or one.whole]
        if not found:
            raise OneShard(f"{what} compares tuples that could be in different shards")
        return found

    return rule


def _to_stream(tree: OperatorTree, work: ToStreamOp, inputs: list[list[Spread]]) -> list[Spread]:
    if work.word == "rstream":
        return [_over(tree, [one], one.places) for one in inputs[0]]
    return _comparing({"istream": "Istream", "dstream": "Dstream"}[work.word])(tree, work, inputs)


def _set(tree: OperatorTree, work: SetOp, inputs: list[list[Spread]]) -> list[Spread]:
    types = ([dtype_of(field.type) for field in one.fields] for one in tree.inputs)
    columns = zip(*types, strict=True)
    alike = frozenset(place for place, held in enumerate(columns) if len(set(held)) == 1)
    found = [
        _over(tree, (a, b), a.places & b.places & alike)
        for a in inputs[0]
        for b in inputs[1]
        if a.places & b.places & alike or (a.whole and b.whole)
    ]
    spread = [next((one for one in ways if not one.whole), None) for ways in inputs]
    if work.word == "union" and None not in spread:
        found.append(_over(tree, [one for one in spread if one is not None], ()))
    if not found:
        raise OneShard(f"{work.word} compares tuples that could be in different shards")
    return found


def _antijoin(tree: OperatorTree, work: AntiJoinOp, inputs: list[list[Spread]]) -> list[Spread]:
    everything = [one for one in inputs[1] if one.whole]
    if not everything:
        raise OneShard("NOT IN asks for NULL in all of a relation")
    return [_over(tree, [one, everything[0]], one.places) for one in inputs[0]]


_RULES: Final[dict[type, Callable[..., list[Spread]]]] = {
    StreamInput: _stream,
    RelationInput: _relation,
    SelectOp: _select,
    ProjectOp: _project,
    WindowOp: _window,
    JoinOp: _join,
    AggregateOp: _aggregate,
    SetOp: _set,
    AntiJoinOp: _antijoin,
    DistinctOp: _comparing("Distinct"),
    ToStreamOp: _to_stream,
}
