"""The constructs of a set of queries, and how they are built from the queries alone.

[L12] §3.1; errata 1, 2, 26 and 27 and the edge cases of docs/papers.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from backend.adaptive.selection.construct import Construct, Words, bitmap, slots_in
from backend.adaptive.selection.domains import check_zones
from backend.adaptive.selection.interning import (
    TILE_SLOTS,
    TILE_WORDS,
    WORD_BITS,
    Tile,
    merged,
    tile_of,
)
from backend.adaptive.selection.normal_form import QueryError
from backend.adaptive.selection.slots import Ranges, Slot, parts_of_query
from backend.model.conditions import Constant, ContinuousQuery
from backend.model.schema import Attribute, Schema

__all__ = ["Construct", "ConstructSet", "QueryError", "Words", "build_constructs"]


@dataclass(frozen=True, eq=False)
class ConstructSet:
    """The ASCs of all p-attributes, in schema order, and what the bits of their bitmaps mean.

    slots: slot number -> conjunction, None while the number is free. slot_names: slot -> names of
    the queries it feeds; identical conditions share one slot, a query with Or across attributes
    takes several. names_slots: the other way round, in registration order.
    initial: uint64[W], the start GRB (live slots only). contradictory: queries that can never
    match (slots masked out of initial). predicate_free: queries that match every tuple (slot in
    no qub). covered: uint64[W], U = OR of all qub over live slots, the slots that covers,
    selectivities and drops are defined on.
    """

    constructs: Mapping[str, Construct]
    slots: tuple[Slot | None, ...]
    names_slots: Mapping[str, tuple[int, ...]]
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
    def names(self) -> tuple[str, ...]:
        """All queries, in registration order."""
        return tuple(self.names_slots)

    @property
    def n_slots(self) -> int:
        """Slots of the bitmaps, dead and free ones included."""
        return len(self.slot_names)

    @property
    def bitmap_bytes(self) -> int:
        """Bytes of the bitmaps of all constructs."""
        return sum(construct.bitmap_bytes for construct in self.constructs.values())

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
        return self.names_slots[name]

    def slot_of(self, name: str) -> int:
        """The first slot that feeds a query. Raises KeyError for an unknown name."""
        return self.names_slots[name][0]

    def duplicate_of(self, name: str) -> str | None:
        """The earlier query with exactly the same slots, or None. Raises KeyError."""
        slots = self.names_slots[name]
        for other in self.slot_names[slots[0]]:
            if other == name:
                break
            if self.names_slots[other] == slots:
                return other
        return None

    def uses(self, name: str) -> tuple[str, ...]:
        """The p-attributes a query depends on, in schema order. Raises KeyError."""
        used = {attribute for slot in self.names_slots[name] for attribute in self._used(slot)}
        return tuple(attribute for attribute in self.constructs if attribute in used)

    def users_of(self, attribute: str) -> tuple[str, ...]:
        """The names of the queries that use it, in registration order. Raises KeyError."""
        return self._users[attribute]

    def _used(self, slot: int) -> Iterable[str]:
        conjunction = self.slots[slot]
        return (attribute for attribute, _ in conjunction.columns) if conjunction else ()

    @cached_property
    def _users(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {attribute: [] for attribute in self.constructs}
        for name in self.names_slots:
            for attribute in self.uses(name):
                found[attribute].append(name)
        return {attribute: tuple(names) for attribute, names in found.items()}


def build_constructs(queries: Sequence[ContinuousQuery], schema: Schema) -> ConstructSet:
    """The constructs of ``queries`` over ``schema``; no data is needed.

    Slots are numbered in query order. Attributes used by no live slot get no construct.
    Raises QueryError (a name twice, an attribute not in the schema, a constant that does not
    compare with its attribute, timestamps of two kinds) and QueryTooComplex.
    """
    names_slots: dict[str, tuple[int, ...]] = {}
    numbers: dict[Slot, int] = {}
    names: list[list[str]] = []
    constants: dict[str, list[tuple[Constant, ...]]] = {}
    for query in queries:
        if query.name in names_slots:
            raise QueryError(f"two queries are named {query.name!r}; names must differ")
        parts = parts_of_query(query, schema)
        for slot in parts.slots:
            if numbers.setdefault(slot, len(names)) == len(names):
                names.append([])
            names[numbers[slot]].append(query.name)
        names_slots[query.name] = tuple(sorted(numbers[slot] for slot in parts.slots))
        for attribute, written in parts.constants.items():
            constants.setdefault(attribute, []).append(written)
    slots = list(numbers)
    columns = _columns(slots)
    constructs = {
        a.name: _construct(a, constants[a.name], columns[a.name], len(slots))
        for a in schema.attributes
        if a.name in columns
    }
    return construct_set(constructs, slots, names_slots, names)


def construct_set(
    constructs: Mapping[str, Construct],
    slots: Sequence[Slot | None],
    names_slots: Mapping[str, tuple[int, ...]],
    slot_names: Iterable[Sequence[str]],
) -> ConstructSet:
    """The set, of constructs in schema order for all attributes some slot uses."""
    n_words = words_for(len(slots))
    live = [j for j, slot in enumerate(slots) if slot is not None and not slot.is_dead]
    initial = bitmap(live, n_words)
    used = {a: c for a, c in constructs.items() if (c.qub & initial).any()}
    covered = np.zeros(n_words, dtype=np.uint64)
    for construct in used.values():
        covered |= construct.qub & initial
    found: dict[bool, dict[str, None]] = {True: {}, False: {}}
    for name, own in names_slots.items():
        slot = slots[own[0]]
        if slot is not None and (slot.is_dead or not slot.columns):
            found[slot.is_dead][name] = None
    return ConstructSet(
        constructs=used,
        slots=tuple(slots),
        names_slots=names_slots,
        slot_names=tuple(tuple(names) for names in slot_names),
        initial=initial,
        covered=covered,
        contradictory=tuple(found[True]),
        predicate_free=tuple(found[False]),
    )


def _columns(slots: Sequence[Slot]) -> dict[str, dict[int, Ranges]]:
    """Attribute -> slot -> the values it passes, for the slots that use the attribute."""
    found: dict[str, dict[int, Ranges]] = {}
    for number, slot in enumerate(slots):
        for attribute, ranges in slot.columns:
            found.setdefault(attribute, {})[number] = ranges
    return found


def _construct(
    attribute: Attribute,
    constants: Sequence[tuple[Constant, ...]],
    columns: Mapping[int, Ranges],
    n_slots: int,
) -> Construct:
    check_zones(attribute.name, chain.from_iterable(constants))
    n_words = words_for(n_slots)
    return Construct(
        attribute.name,
        attribute.type,
        merged(constants),
        bitmap(list(columns), n_words),
        _tiles(columns, n_words),
    )


def _tiles(columns: Mapping[int, Ranges], n_words: int) -> tuple[Tile | None, ...]:
    parts: dict[int, dict[int, Ranges]] = {}
    for number, ranges in columns.items():
        parts.setdefault(number // TILE_SLOTS, {})[number % TILE_SLOTS] = ranges
    tiles: list[Tile | None] = [None] * -(-n_words // TILE_WORDS)
    for place, part in parts.items():
        tiles[place] = tile_of(part, min(TILE_WORDS, n_words - place * TILE_WORDS))
    return tuple(tiles)


def words_for(n_slots: int) -> int:
    """Words of a bitmap over n_slots slots, at least 1."""
    return max(1, -(-n_slots // WORD_BITS))
