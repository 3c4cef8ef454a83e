"""The constructs of a set of queries, and how they are built from the queries alone.

[L12] §3.1; errata 1, 2, 26 and 27 and the edge cases of docs/papers.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.selection.construct import Construct, Words, bitmap, slots_in
from backend.adaptive.selection.domains import (
    check_constant,
    reachable_regions,
    sorted_constants,
)
from backend.adaptive.selection.normal_form import Conjunct, QueryError, disjuncts
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
from backend.model.schema import Attribute, Schema

__all__ = ["Construct", "ConstructSet", "QueryError", "Words", "build_constructs"]

Column: TypeAlias = NDArray[np.bool_]

_COMPARE: Final[Mapping[Op, np.ufunc]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


@dataclass(frozen=True, eq=False)
class ConstructSet:
    """The ASCs of all p-attributes, in schema order, and what the bits of their bitmaps mean.

    names: all queries, in registration order. slot_names: slot -> names of the queries it feeds;
    identical conditions share one slot, a query with Or across attributes takes several.
    initial: uint64[W], the start GRB (live slots only). contradictory: queries that can never
    match (slots masked out of initial). predicate_free: queries that match every tuple (slot in
    no qub). covered: uint64[W], U = OR of all qub over live slots, the slots that covers,
    selectivities and drops are defined on.
    """

    constructs: Mapping[str, Construct]
    names: tuple[str, ...]
    slot_names: tuple[tuple[str, ...], ...]
    initial: Words
    covered: Words
    contradictory: tuple[str, ...]
    predicate_free: tuple[str, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The p-attributes, in schema order."""
        return tuple(self.constructs)

    @property
    def n_slots(self) -> int:
        """Slots of the bitmaps, dead ones included."""
        return len(self.slot_names)

    @property
    def n_words(self) -> int:
        """W: 64-bit words of a bitmap, at least 1."""
        return len(self.initial)

    def names_of(self, grb: Words) -> tuple[str, ...]:
        """The sorted names of the queries a final GRB satisfies."""
        found = {name for slot in slots_in(grb) for name in self.slot_names[slot]}
        return tuple(sorted(found))

    def slots_of(self, name: str) -> tuple[int, ...]:
        """The slots that feed a query, ascending. Raises KeyError for an unknown name."""
        return self._slots_by_name[name]

    def slot_of(self, name: str) -> int:
        """The first slot that feeds a query. Raises KeyError for an unknown name."""
        return self._slots_by_name[name][0]

    def duplicate_of(self, name: str) -> str | None:
        """The earlier query with exactly the same slots, or None."""
        for other, slots in self._slots_by_name.items():
            if other == name:
                return None
            if slots == self._slots_by_name[name]:
                return other
        raise KeyError(name)

    def uses(self, name: str) -> tuple[str, ...]:
        """The p-attributes a query depends on, in schema order."""
        mask = bitmap(self.slots_of(name), self.n_words)
        return tuple(a for a, c in self.constructs.items() if (c.qub & mask).any())

    def users_of(self, attribute: str) -> tuple[str, ...]:
        """The names of the queries that use an attribute, in registration order."""
        used = set(slots_in(self.constructs[attribute].qub))
        return tuple(n for n, slots in self._slots_by_name.items() if used & set(slots))

    @cached_property
    def _slots_by_name(self) -> dict[str, tuple[int, ...]]:
        found: dict[str, list[int]] = {name: [] for name in self.names}
        for slot, names in enumerate(self.slot_names):
            for name in names:
                found[name].append(slot)
        return {name: tuple(slots) for name, slots in found.items()}


@dataclass(frozen=True, slots=True)
class _Domain:
    """An attribute's constants, their positions and the regions its type can reach."""

    attribute: Attribute
    constants: tuple[Constant, ...]
    position: dict[Constant, int]
    reachable: Column


@dataclass(frozen=True, slots=True)
class _Slot:
    """One conjunction: attribute -> column over the regions; dead = no tuple can satisfy it."""

    columns: dict[str, Column]
    dead: bool

    def key(self) -> tuple[bool, tuple[tuple[str, bytes], ...]]:
        """Equal for conjunctions that pass the same tuples."""
        return self.dead, tuple(sorted((a, c.tobytes()) for a, c in self.columns.items()))


def build_constructs(queries: Sequence[ContinuousQuery], schema: Schema) -> ConstructSet:
    """The constructs of ``queries`` over ``schema``; no data is needed.

    Slots are numbered in query order. Attributes used by no live slot get no construct.
    Raises QueryError (a name twice, an attribute not in the schema, a constant that does not
    compare with its attribute, timestamps of two kinds) and QueryTooComplex.
    """
    _check_names(queries)
    expanded = {q.name: disjuncts(q.name, q.condition) for q in queries}
    domains = _domains(queries, schema)
    slots: list[_Slot] = []
    names: list[list[str]] = []
    positions: dict[object, int] = {}
    for name, conjuncts in expanded.items():
        for slot in _slots_of_query([_slot(c, domains) for c in conjuncts]):
            key = slot.key()
            if key not in positions:
                positions[key] = len(slots)
                slots.append(slot)
                names.append([])
            if name not in names[positions[key]]:
                names[positions[key]].append(name)
    return _assemble(tuple(expanded), slots, names, domains)


def _check_names(queries: Sequence[ContinuousQuery]) -> None:
    seen: set[str] = set()
    for query in queries:
        if query.name in seen:
            raise QueryError(f"two queries are named {query.name!r}; names must differ")
        seen.add(query.name)


def _domains(queries: Sequence[ContinuousQuery], schema: Schema) -> dict[str, _Domain]:
    """Per used attribute, in schema order, its constants over all queries."""
    constants: dict[str, list[Constant]] = {}
    for query in queries:
        for name in attributes_of(query.condition):
            if name not in schema.names:
                raise QueryError(
                    f"query {query.name!r} uses attribute {name!r}, which the schema does not "
                    f"have; it has {', '.join(schema.names)}"
                )
            constants.setdefault(name, [])
        for atom in _atoms(query.condition):
            attribute = schema.attributes[schema.names.index(atom.attribute)]
            check_constant(query.name, attribute, atom.constant)
            constants[atom.attribute].append(atom.constant)
    return {a.name: _domain(a, constants[a.name]) for a in schema.attributes if a.name in constants}


def _atoms(condition: Condition) -> list[Comparison]:
    if isinstance(condition, Comparison):
        return [condition]
    if isinstance(condition, NullTest):
        return []
    return [atom for part in condition.parts for atom in _atoms(part)]


def _domain(attribute: Attribute, constants: list[Constant]) -> _Domain:
    ordered = sorted_constants(attribute, constants)
    position = {constant: p for p, constant in enumerate(ordered, start=1)}
    return _Domain(attribute, ordered, position, reachable_regions(attribute.type, ordered))


def _slot(conjunct: Conjunct, domains: dict[str, _Domain]) -> _Slot:
    """Columns of one conjunction; one that no reachable region refutes is left out."""
    columns: dict[str, Column] = {}
    dead = False
    for name, conditions in conjunct.items():
        domain = domains[name]
        column = _column(And(conditions), domain)
        dead = dead or not column[domain.reachable].any()
        if not column[domain.reachable].all():
            columns[name] = column
    return _Slot(columns, dead)


def _column(condition: Condition, domain: _Domain) -> Column:
    """bool[2m+2]: regions whose values satisfy a condition on one attribute.

    ``r op 2p`` as integers: a region lies below, on or above a constant as its index does. In
    the NULL region a comparison is unknown; And/Or keep 'definitely true' when unknown is False.
    """
    n_regions = 2 * len(domain.constants) + 2
    regions = np.arange(n_regions)
    if isinstance(condition, NullTest):
        is_null: Column = regions == 0
        return ~is_null if condition.negated else is_null
    if isinstance(condition, Comparison):
        point = 2 * domain.position[condition.constant]
        column = np.zeros(n_regions, dtype=np.bool_)
        column[1:] = _COMPARE[condition.op](regions[1:], point)
        return column
    is_and = isinstance(condition, And)
    column = np.full(n_regions, is_and, dtype=np.bool_)
    for part in condition.parts:
        column = column & _column(part, domain) if is_and else column | _column(part, domain)
    return column


def _slots_of_query(found: list[_Slot]) -> list[_Slot]:
    """A query's slots: its live ones; one without columns if always true; else one dead slot."""
    live = [slot for slot in found if not slot.dead]
    if any(not slot.columns for slot in live):
        return [_Slot({}, False)]
    return live or (found[:1] or [_Slot({}, True)])


def _assemble(
    queries: tuple[str, ...],
    slots: list[_Slot],
    names: list[list[str]],
    domains: dict[str, _Domain],
) -> ConstructSet:
    n_words = max(1, -(-len(slots) // 64))
    initial = bitmap([j for j, slot in enumerate(slots) if not slot.dead], n_words)
    constructs: dict[str, Construct] = {}
    covered = np.zeros(n_words, dtype=np.uint64)
    for name, domain in domains.items():
        construct = _construct(domain, [slot.columns.get(name) for slot in slots], n_words)
        if (construct.qub & initial).any():
            constructs[name] = construct
            covered |= construct.qub & initial
    return ConstructSet(
        constructs=constructs,
        names=queries,
        slot_names=tuple(tuple(n) for n in names),
        initial=initial,
        covered=covered,
        contradictory=tuple(n for s, fed in zip(slots, names, strict=True) if s.dead for n in fed),
        predicate_free=tuple(
            n
            for s, fed in zip(slots, names, strict=True)
            if not s.dead and not s.columns
            for n in fed
        ),
    )


def _construct(domain: _Domain, columns: Sequence[Column | None], n_words: int) -> Construct:
    n_regions = 2 * len(domain.constants) + 2
    bits = np.zeros((n_regions, 64 * n_words), dtype=np.bool_)
    for slot, column in enumerate(columns):
        bits[:, slot] = True if column is None else column
    qub = bitmap([j for j, column in enumerate(columns) if column is not None], n_words)
    return Construct(
        domain.attribute.name, domain.attribute.type, domain.constants, qub, _packed(bits)
    )


def _packed(bits: NDArray[np.bool_]) -> Words:
    """uint64[rows, W] from bool[rows, 64 W], lowest bit first."""
    packed = np.packbits(bits, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64)
