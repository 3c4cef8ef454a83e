"""Which attributes of a join's inputs are equal, and what follows from that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from backend.cql.nodes import NOWHERE, At, Call, Compare, Node
from backend.cql.types import expressions_in, family
from backend.model.schema import FLOAT_TYPES
from backend.operators.network.core.blocks import dtype_of
from backend.operators.network.core.work import OperatorTree
from backend.operators.network.kinds.expressions import moved, places_in

#: Attributes with equal values, by place among all columns, ascending.
Equals: TypeAlias = tuple[int, ...]
#: Conditions that follow from others save work below a join; so many are looked for.
_MOST_IMPLIED: Final = 1000


class JoinColumns:
    """The columns of several inputs, one after the other."""

    def __init__(self, inputs: Sequence[OperatorTree]) -> None:
        self.fields = [field for tree in inputs for field in tree.fields]
        self.owner = [k for k, tree in enumerate(inputs) for _ in tree.fields]
        self.first = [self.owner.index(k) if k in self.owner else 0 for k in range(len(inputs))]

    def within(self, condition: Node, input: int) -> Node:
        """A condition on one input, over its columns alone."""
        shift = {place: place - self.first[input] for place in places_in(condition)}
        return moved(condition, shift)

    def paired(self, classes: Iterable[Equals]) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Classes as a join names them: by input and place in it."""
        return tuple(
            tuple((self.owner[p], p - self.first[self.owner[p]]) for p in members)
            for members in classes
        )

    def classes(self, conditions: Iterable[Node]) -> tuple[list[Equals], list[Node]]:
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
        by_root: dict[int, list[int]] = {}
        for place in range(len(root)):
            by_root.setdefault(find(place), []).append(place)
        return [tuple(members) for members in by_root.values() if len(members) > 1], others

    def _equated(self, condition: Node) -> tuple[int, int] | None:
        """The attributes of two inputs that a condition equates, held in the same way."""
        if not isinstance(condition, Compare) or condition.op != "=":
            return None
        left, right = condition.left, condition.right
        if not isinstance(left, At) or not isinstance(right, At):
            return None
        apart = self.owner[left.index] != self.owner[right.index]
        return (left.index, right.index) if held_alike(left, right) and apart else None


def held_alike(left: At, right: At) -> bool:
    """Whether attributes are of one type, or numbers that are held in the same way."""
    return left.type == right.type or (
        family(left.type) == family(right.type) == "number"
        and dtype_of(left.type) == dtype_of(right.type)
    )


def implied(
    conditions: Iterable[Node], classes: Iterable[Equals], columns: JoinColumns
) -> list[Node]:
    """Conditions on an attribute, said of those that are equal to it, while they are not too many;
    calls are not repeated."""
    by_place: dict[int, Equals] = {place: some for some in classes for place in some}
    more: list[Node] = []
    for condition in conditions:
        places = places_in(condition)
        if len(places) != 1 or any(isinstance(e, Call) for e in expressions_in(condition)):
            continue
        (place,) = places
        others = [other for other in by_place.get(place, ()) if other != place]
        if len(more) + len(others) > _MOST_IMPLIED:
            break
        more += [moved(condition, {place: other}) for other in others]
    return more


def first_of_each(
    equals: Equals, columns: JoinColumns, of_inputs: Sequence[list[Node]]
) -> tuple[int, ...]:
    """One attribute of each input; that others of the same input are equal to it is a condition on
    the input, and so is that floating-point numbers are some (NaN equals nothing)."""
    firsts: dict[int, int] = {}
    for place in equals:
        input = columns.owner[place]
        first = firsts.setdefault(input, place)
        if first != place:
            of_inputs[input].append(equality(first, place, columns))
    place = equals[0]
    if columns.fields[place].type in FLOAT_TYPES:
        of_inputs[columns.owner[place]].append(equality(place, place, columns))
    return tuple(firsts.values())


def equality(left: int, right: int, columns: JoinColumns) -> Node:
    """That two columns are equal."""
    sides = (At(NOWHERE, place, columns.fields[place].type) for place in (left, right))
    return Compare(NOWHERE, "=", next(sides), next(sides))
