"""Slots: conjunctions of one condition per attribute, each in a form of its own.

A slot depends on its query alone, not on the constants of the others, so that queries may come and
go; equal conditions are equal ``Ranges`` however they are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.model.conditions import (
    And,
    Comparison,
    Condition,
    Constant,
    ContinuousQuery,
    NullTest,
    Op,
    attributes_of,
)
from backend.model.schema import FLOAT_TYPES, Attribute, Schema
from backend.systems.asc.domains import (
    check_constant,
    reachable_regions,
    sorted_constants,
)
from backend.systems.asc.normal_form import Conjunct, QueryError, disjuncts

RegionMask: TypeAlias = NDArray[np.bool_]

_COMPARE: Final[Mapping[Op, np.ufunc]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
#: What a single comparison passes: NULL, below, at and above its constant.
_SINGLE: Final[Mapping[Op, tuple[bool, ...]]] = {
    "=": (False, False, True, False),
    "<>": (False, True, False, True),
    "<": (False, True, False, False),
    "<=": (False, True, True, False),
    ">": (False, False, False, True),
    ">=": (False, False, True, True),
}


class Ranges(NamedTuple):
    """The values of an attribute that a condition passes: any union of regions.

    constants: c_1 < ... < c_m, only those at which something changes. passes: bool[2m+2] over
    NULL, the points and the open intervals, as the rows of an ASC over these constants.
    """

    constants: tuple[Constant, ...]
    passes: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Slot:
    """One conjunction: (attribute, the values it passes), in schema order; attributes on which
    no value of the type is refuted are left out. is_dead: no tuple can satisfy it."""

    columns: tuple[tuple[str, Ranges], ...]
    is_dead: bool


class QueryParts(NamedTuple):
    """What a query brings. slots: its live ones; one without columns if always true; else one
    dead slot. constants: attribute -> the constants it is compared with, as written."""

    slots: tuple[Slot, ...]
    constants: Mapping[str, tuple[Constant, ...]]


def parts_of_query(query: ContinuousQuery, schema: Schema) -> QueryParts:
    """A query taken apart.

    Raises QueryError (an attribute not in the schema, a constant that does not compare with its
    attribute, timestamps of two kinds) and QueryTooComplex.
    """
    constants = _checked_constants(query, schema)
    return QueryParts(_slots(query, schema), constants)


def _slots(query: ContinuousQuery, schema: Schema) -> tuple[Slot, ...]:
    places = {a.name: (place, a) for place, a in enumerate(schema.attributes)}
    slots = [_slot(conjunct, places) for conjunct in disjuncts(query.name, query.condition)]
    live = tuple(dict.fromkeys(slot for slot in slots if not slot.is_dead))
    if any(not slot.columns for slot in live):
        return (Slot((), False),)
    return live or tuple(slots[:1]) or (Slot((), True),)


def _checked_constants(query: ContinuousQuery, schema: Schema) -> dict[str, tuple[Constant, ...]]:
    names = schema.names
    constants: dict[str, list[Constant]] = {}
    for name in attributes_of(query.condition):
        if name not in names:
            raise QueryError(
                f"query {query.name!r} uses attribute {name!r}, which the schema does not "
                f"have; it has {', '.join(names)}"
            )
        constants[name] = []
    for atom in _atoms(query.condition):
        attribute = schema.attributes[names.index(atom.attribute)]
        check_constant(query.name, attribute, atom.constant)
        constants[atom.attribute].append(atom.constant)
    return {a: sorted_constants(schema.attributes[names.index(a)], c) for a, c in constants.items()}


def _atoms(condition: Condition) -> list[Comparison]:
    if isinstance(condition, Comparison):
        return [condition]
    if isinstance(condition, NullTest):
        return []
    return [atom for part in condition.parts for atom in _atoms(part)]


def _slot(conjunct: Conjunct, places: Mapping[str, tuple[int, Attribute]]) -> Slot:
    columns: list[tuple[int, str, Ranges]] = []
    is_dead = False
    for name, conditions in conjunct.items():
        place, attribute = places[name]
        passed = _passed(conditions, attribute)
        is_dead = is_dead or not passed.any_value
        if not passed.every_value:
            columns.append((place, name, passed.ranges))
    return Slot(tuple((name, ranges) for _, name, ranges in sorted(columns)), is_dead)


class _Passed(NamedTuple):
    """any_value, every_value: whether some and whether all values of the type pass, NULL among
    them."""

    ranges: Ranges
    any_value: bool
    every_value: bool


def _passed(conditions: Sequence[Condition], attribute: Attribute) -> _Passed:
    match conditions:
        case (Comparison(_, op, constant),) if _is_plain(constant, attribute.type):
            return _Passed(Ranges((constant,), _SINGLE[op]), True, False)
    return _passed_by_tree(And(tuple(conditions)), attribute)


def _is_plain(constant: Constant, type_name: str) -> bool:
    """The constant is kept as written, with values of the type at, below and above it."""
    if isinstance(constant, float):
        return type_name in FLOAT_TYPES and constant != 0
    return not isinstance(constant, bool)


def _passed_by_tree(condition: Condition, attribute: Attribute) -> _Passed:
    constants = sorted_constants(attribute, [atom.constant for atom in _atoms(condition)])
    positions = {constant: p for p, constant in enumerate(constants, start=1)}
    column = _column(condition, positions)
    reachable = reachable_regions(attribute.type, constants)
    ranges = _least(constants, column)
    return _Passed(ranges, bool(column[reachable].any()), bool(column[reachable].all()))


def _column(condition: Condition, positions: Mapping[Constant, int]) -> RegionMask:
    """bool[2m+2]: regions whose values satisfy a condition on one attribute.

    ``r op 2p`` as integers: a region lies below, on or above a constant as its index does. In
    the NULL region a comparison is unknown; And/Or keep 'definitely true' when unknown is False.
    """
    n_regions = 2 * len(positions) + 2
    regions = np.arange(n_regions)
    if isinstance(condition, NullTest):
        is_null: RegionMask = regions == 0
        return ~is_null if condition.negated else is_null
    if isinstance(condition, Comparison):
        point = 2 * positions[condition.constant]
        column = np.zeros(n_regions, dtype=np.bool_)
        column[1:] = _COMPARE[condition.op](regions[1:], point)
        return column
    is_and = isinstance(condition, And)
    column = np.full(n_regions, is_and, dtype=np.bool_)
    for part in condition.parts:
        column = column & _column(part, positions) if is_and else column | _column(part, positions)
    return column


def _least(constants: tuple[Constant, ...], column: RegionMask) -> Ranges:
    """The same values by as few constants as possible: those with all three regions at them equal
    go."""
    passes = column.tolist()
    kept = [p for p in range(1, len(constants) + 1) if len(set(passes[2 * p - 1 : 2 * p + 2])) > 1]
    left = [passes[0], passes[1]]
    for p in kept:
        left += [passes[2 * p], passes[2 * p + 1]]
    return Ranges(tuple(constants[p - 1] for p in kept), tuple(left))
