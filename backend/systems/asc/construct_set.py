"""The constructs of a set of queries: what the bits of their bitmaps mean. [L12] §3.1"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from backend.systems.asc.construct import Construct, Words, slots_in
from backend.systems.asc.slots import Slot


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
    n_users: Mapping[str, int]

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

    def slots_of(self, name: str) -> tuple[int, ...]:
        """The slots that feed a query, ascending. Raises KeyError for an unknown name."""
        return self.names_slots[name]

    def slot_of(self, name: str) -> int:
        """The first slot that feeds a query. Raises KeyError for an unknown name."""
        return self.names_slots[name][0]

    def is_contradictory(self, name: str) -> bool:
        """Whether a query can never match. Raises KeyError."""
        slot = self.slots[self.names_slots[name][0]]
        return slot is not None and slot.is_dead

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
        return tuple(sorted(used & self.constructs.keys(), key=self._order.__getitem__))

    def users_of(self, attribute: str) -> tuple[str, ...]:
        """The names of the queries that use it, in registration order. Raises KeyError."""
        if attribute not in self._users:
            slots = slots_in(self.constructs[attribute].qub)
            names = {name for slot in slots for name in self.slot_names[slot]}
            self._users[attribute] = tuple(sorted(names, key=self._places.__getitem__))
        return self._users[attribute]

    @cached_property
    def live_uses(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Pairs (live slot, place of a construct that uses it), by slot: two arrays intp[pairs]."""
        usage = [slots_in(c.qub & self.initial) for c in self.constructs.values()]
        slots = np.array([slot for used in usage for slot in used], dtype=np.intp)
        users = np.repeat(np.arange(len(usage)), [len(used) for used in usage])
        order = np.argsort(slots, kind="stable")
        return slots[order], users[order]

    def _used(self, slot: int) -> Iterable[str]:
        conjunction = self.slots[slot]
        return (attribute for attribute, _ in conjunction.columns) if conjunction else ()

    @cached_property
    def _users(self) -> dict[str, tuple[str, ...]]:
        return {}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names_slots)}

    @cached_property
    def _order(self) -> dict[str, int]:
        return {attribute: place for place, attribute in enumerate(self.constructs)}
