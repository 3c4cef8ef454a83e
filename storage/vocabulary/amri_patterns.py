"""Access patterns: which join attributes of a state a search request specifies. [WRA13] §3, §5.2

A pattern is a bit mask over the attributes of a state, the first one in the most significant bit:
<A1,*,*> of three is 100b = 4. The empty pattern, 0, asks for a full scan.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: A bit mask; see above.
Pattern: TypeAlias = int
#: A column of a state: the state, the place of the column there; both from 0.
StateColumn: TypeAlias = tuple[int, int]


class JoinPredicate(NamedTuple):
    """A condition between columns of two states."""

    left: StateColumn
    op: Literal["=", "<", "<=", ">", ">="]
    right: StateColumn


class JoinAttribute(NamedTuple):
    """An attribute of a state that search requests can specify.

    column: its place in the state. equal, ordered: states that specify it by a value, or by a value
    that it is above or below.
    """

    column: int
    equal: frozenset[int]
    ordered: frozenset[int]


def pattern_of(attributes: Iterable[int], n: int) -> Pattern:
    """The pattern that specifies these of n attributes, counted from 0."""
    return sum(1 << (n - 1 - attribute) for attribute in set(attributes))


def attributes_of(pattern: Pattern, n: int) -> tuple[int, ...]:
    """The attributes that a pattern specifies, ascending."""
    return tuple(a for a in range(n) if pattern >> (n - 1 - a) & 1)


def pattern_text(pattern: Pattern, names: Sequence[str]) -> str:
    """``<A1,*,A3>``."""
    specified = attributes_of(pattern, len(names))
    return f"<{','.join(name if a in specified else '*' for a, name in enumerate(names))}>"


def specified(patterns: Sequence[Pattern], n: int) -> NDArray[np.bool_]:
    """bool[patterns, attributes]: which attributes each pattern specifies."""
    masks = np.array(patterns, dtype=np.int64)[:, None]
    bits: NDArray[np.bool_] = (masks >> np.arange(n - 1, -1, -1)[None, :]) & 1 == 1
    return bits


def module_for(pattern: int, modules: Iterable[int]) -> int | None:
    """The hash index that answers a request: of those all of whose attributes it specifies one
    with most attributes, of equal ones the larger mask; None: a scan (card A2b)."""
    fitting = [m for m in modules if m and m & pattern == m]
    return max(fitting, key=lambda m: (m.bit_count(), m), default=None)


def parents(pattern: Pattern, n: int) -> tuple[Pattern, ...]:
    """The patterns with one attribute less, the largest first."""
    bits = (1 << (n - 1 - a) for a in reversed(attributes_of(pattern, n)))
    return tuple(pattern ^ bit for bit in bits)


def lattice(n: int) -> tuple[tuple[Pattern, ...], ...]:
    """All patterns by level: with 0 attributes (the root) to n, in a level the largest first.

    A state of a clique of four streams has three attributes and is asked by seven patterns [AMRI]:

    >>> [[pattern_text(one, ["A1", "A2", "A3"]) for one in level] for level in lattice(3)[1:]]
    [['<A1,*,*>', '<*,A2,*>', '<*,*,A3>'], ['<A1,A2,*>', '<A1,*,A3>', '<*,A2,A3>'], ['<A1,A2,A3>']]
    """
    return tuple(
        tuple(sorted((pattern_of(some, n) for some in combinations(range(n), level)), reverse=True))
        for level in range(n + 1)
    )


def join_attribute_sets(
    predicates: Sequence[JoinPredicate], n_states: int
) -> tuple[tuple[JoinAttribute, ...], ...]:
    """By state its join attributes, in the order of their columns (card A1).

    Equalities are closed under transitivity first, and what is compared with one of a class is
    compared with all of it. Two columns of a state in one class are one attribute, the first
    column; what holds between columns of one state alone is a filter and no attribute.
    """
    classes = _classes(predicates)
    compared: dict[StateColumn, set[StateColumn]] = {}
    for predicate in predicates:
        if predicate.op != "=":
            a, b = classes[predicate.left], classes[predicate.right]
            compared.setdefault(a[0], set()).update(b)
            compared.setdefault(b[0], set()).update(a)
    sets: list[list[JoinAttribute]] = [[] for _ in range(n_states)]
    for members in {attributes[0]: attributes for attributes in classes.values()}.values():
        for state in sorted({state for state, _ in members}):
            equal = frozenset(other for other, _ in members) - {state}
            ordered = frozenset(other for other, _ in compared.get(members[0], ())) - {state}
            if equal or ordered:
                column = min(place for own, place in members if own == state)
                sets[state].append(JoinAttribute(column, equal, ordered))
    return tuple(tuple(sorted(attributes)) for attributes in sets)


def _classes(predicates: Sequence[JoinPredicate]) -> Mapping[StateColumn, tuple[StateColumn, ...]]:
    """By column all columns equal to it, itself among them, ascending."""
    classes = {
        column: {column} for predicate in predicates for column in (predicate.left, predicate.right)
    }
    for predicate in predicates:
        if predicate.op == "=" and classes[predicate.left] is not classes[predicate.right]:
            merged = classes[predicate.left] | classes[predicate.right]
            classes.update(dict.fromkeys(merged, merged))
    return {column: tuple(sorted(members)) for column, members in classes.items()}


def access_pattern(attributes: Sequence[JoinAttribute], composite: Collection[int]) -> Pattern:
    """What a composite of these states specifies of a state's attributes; 0: joining it would be a
    Cartesian step."""
    states = frozenset(composite)
    asked = (
        a
        for a, attribute in enumerate(attributes)
        if states & (attribute.equal | attribute.ordered)
    )
    return pattern_of(asked, len(attributes))
