"""Joins of several inputs: which attributes are equal, which conditions go to which input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from backend.cql.nodes import NOWHERE, At, Call, Compare, Node
from backend.cql.types import expressions_in, family
from backend.model.schema import FLOAT_TYPES
from backend.operators.network.core.blocks import dtype_of
from backend.systems.stream.trees import OperatorTree, all_hold, join, moved, places_in, project

#: The tuples of a tree that fulfil conditions.
Down: TypeAlias = Callable[[OperatorTree, tuple[Node, ...]], OperatorTree]
#: Attributes with equal values, by place among all columns, ascending.
_Class: TypeAlias = tuple[int, ...]
#: Conditions that follow from others save work below a join; so many are looked for.
_MOST_IMPLIED: Final = 1000
#: Classes of equal attributes that a join knows by the bits of a word.
MOST_CLASSES: Final = 62


def joined(
    inputs: Sequence[OperatorTree], conditions: Sequence[Node], down: Down, joins: str
) -> OperatorTree:
    """The combinations of inputs that fulfil all conditions, columns in the order of the inputs.

    Equalities of attributes, closed under transitivity, are the join's; a condition on attributes
    of one input goes to it, and also to the inputs whose attributes are equal to these; the others
    are looked at when all is joined. joins: 'mjoin' or 'binary', see ``JoinTrees``.
    """
    columns = _Columns(inputs)
    classes, others = columns.classes(conditions)
    rest = [two for one in classes[MOST_CLASSES:] for two in pairwise(one)]
    others += [_equality(*two, columns) for two in rest]
    classes = classes[:MOST_CLASSES]
    of_inputs: list[list[Node]] = [[] for _ in inputs]
    residual: list[Node] = []
    for condition in [*others, *_implied(others, classes, columns)]:
        used = {columns.owner[place] for place in places_in(condition)}
        if len(used) > 1:
            residual.append(condition)
        else:
            of_inputs[used.pop() if used else 0].append(condition)
    equal: list[_Class] = []
    for one in classes:
        equal.append(_first_of_each(one, columns, of_inputs))
    ready = [
        down(input, tuple(columns.within(one, k) for one in dict.fromkeys(of_inputs[k])))
        for k, input in enumerate(inputs)
    ]
    if joins == "binary" and len(ready) > 2:
        return _left_deep(ready, equal, residual, columns)
    return join(ready, columns.paired(equal), all_hold(residual) if residual else None)


class _Columns:
    """The columns of several inputs, one after the other."""

    def __init__(self, inputs: Sequence[OperatorTree]) -> None:
        self.fields = [field for one in inputs for field in one.fields]
        self.owner = [k for k, one in enumerate(inputs) for _ in one.fields]
        self.first = [self.owner.index(k) if k in self.owner else 0 for k in range(len(inputs))]

    def within(self, condition: Node, input: int) -> Node:
        """A condition on one input, over its columns alone."""
        shift = {place: place - self.first[input] for place in places_in(condition)}
        return moved(condition, shift)

    def paired(self, classes: Iterable[_Class]) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Classes as a join names them: by input and place in it."""
        return tuple(
            tuple((self.owner[p], p - self.first[self.owner[p]]) for p in one) for one in classes
        )

    def classes(self, conditions: Iterable[Node]) -> tuple[list[_Class], list[Node]]:
        """Attributes that conditions say are equal in several inputs; and the other conditions."""
        root = list(range(len(self.fields)))

        def find(place: int) -> int:
            while root[place] != place:
                place = root[place]
            return place

        others = []
        for condition in conditions:
            pair = self._equated(condition)
            if pair is None:
                others.append(condition)
            else:
                low, high = sorted(map(find, pair))
                root[high] = low
        found: dict[int, list[int]] = {}
        for place in range(len(root)):
            found.setdefault(find(place), []).append(place)
        return [tuple(one) for one in found.values() if len(one) > 1], others

    def _equated(self, condition: Node) -> tuple[int, int] | None:
        """The attributes of two inputs that a condition equates, held in the same way."""
        if not isinstance(condition, Compare) or condition.op != "=":
            return None
        left, right = condition.left, condition.right
        if not isinstance(left, At) or not isinstance(right, At):
            return None
        same = left.type == right.type or (
            family(left.type) == family(right.type) == "number"
            and dtype_of(left.type) == dtype_of(right.type)
        )
        apart = self.owner[left.index] != self.owner[right.index]
        return (left.index, right.index) if same and apart else None


def _implied(
    conditions: Iterable[Node], classes: Iterable[_Class], columns: _Columns
) -> list[Node]:
    """Conditions on an attribute, said of those that are equal to it, while they are not too many;
    calls are not repeated."""
    equals: dict[int, _Class] = {place: one for one in classes for place in one}
    found: list[Node] = []
    for condition in conditions:
        places = places_in(condition)
        if len(places) != 1 or any(isinstance(e, Call) for e in expressions_in(condition)):
            continue
        (place,) = places
        others = [other for other in equals.get(place, ()) if other != place]
        if len(found) + len(others) > _MOST_IMPLIED:
            break
        found += [moved(condition, {place: other}) for other in others]
    return found


def _first_of_each(
    one: _Class, columns: _Columns, of_inputs: Sequence[list[Node]]
) -> tuple[int, ...]:
    """One attribute of each input; that others of the same input are equal to it is a condition on
    the input, and so is that floating-point numbers are some (NaN equals nothing)."""
    firsts: dict[int, int] = {}
    for place in one:
        input = columns.owner[place]
        first = firsts.setdefault(input, place)
        if first != place:
            of_inputs[input].append(_equality(first, place, columns))
    place = one[0]
    if columns.fields[place].type in FLOAT_TYPES:
        of_inputs[columns.owner[place]].append(_equality(place, place, columns))
    return tuple(firsts.values())


def _equality(left: int, right: int, columns: _Columns) -> Node:
    sides = (At(NOWHERE, place, columns.fields[place].type) for place in (left, right))
    return Compare(NOWHERE, "=", next(sides), next(sides))


def _left_deep(
    inputs: Sequence[OperatorTree],
    classes: Sequence[_Class],
    residual: Sequence[Node],
    columns: _Columns,
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
        for one in classes:
            here = [place for place in one if columns.owner[place] == next_input]
            there = [place for place in one if place in spots]
            if here and there:
                equal.append(((0, spots[there[0]]), (1, here[0] - first)))
        n = len(tree.fields)
        spots |= {first + place: n + place for place in range(len(new.fields))}
        now = [one for one in later if places_in(one) <= spots.keys()]
        later = [one for one in later if one not in now]
        known = [moved(one, spots) for one in now]
        tree = join([tree, new], tuple(equal), all_hold(known) if known else None)
    if all(place == spot for place, spot in spots.items()):
        return tree
    found = [At(NOWHERE, spots[place], field.type) for place, field in enumerate(columns.fields)]
    return project(tree, found, columns.fields)


def _linked(
    input: int, spots: Mapping[int, int], classes: Iterable[_Class], columns: _Columns
) -> bool:
    return any(
        any(place in spots for place in one) and any(columns.owner[p] == input for p in one)
        for one in classes
    )
