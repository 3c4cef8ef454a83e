"""The constructs of a set of queries, from the queries alone, kept up as queries come and go.

[L12] §3.1; errata 1, 2, 26 and 27 and the edge cases of docs/papers.md.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from backend.model.conditions import Constant, ContinuousQuery
from backend.model.schema import Schema
from backend.systems.asc.columns import FEW, TiledConstruct, widened
from backend.systems.asc.construct import Construct, Words
from backend.systems.asc.construct_set import ConstructSet
from backend.systems.asc.interning import WORD_BITS
from backend.systems.asc.normal_form import QueryError
from backend.systems.asc.slots import QueryParts, Ranges, Slot, parts_of_query

__all__ = [
    "Construct",
    "ConstructSet",
    "ConstructStore",
    "Progress",
    "QueryError",
    "Words",
    "build_constructs",
]

#: Told how many of how many queries are taken in.
Progress = Callable[[int, int], None]


def build_constructs(queries: Sequence[ContinuousQuery], schema: Schema) -> ConstructSet:
    """The constructs of ``queries`` over ``schema``; no data is needed.

    Slots are numbered in query order. Attributes used by no live slot get no construct.
    Raises QueryError (a name twice, an attribute not in the schema, a constant that does not
    compare with its attribute, timestamps of two kinds) and QueryTooComplex.
    """
    return ConstructStore(schema, queries).snapshot()


class ConstructStore:
    """The registered queries' constructs. A query that comes or goes changes one tile of each
    attribute it uses, however many others there are; ``snapshot`` is what a batch runs on.

    Numbers of slots that became free rest until ``settle``: within a batch none means two things.
    """

    def __init__(
        self,
        schema: Schema,
        queries: Sequence[ContinuousQuery] = (),
        progress: Progress | None = None,
    ) -> None:
        """All of ``queries`` at once. Raises as build_constructs."""
        self._schema = schema
        self._queries: dict[str, ContinuousQuery] = {}
        self._parts: dict[str, QueryParts] = {}
        self._names_slots: dict[str, tuple[int, ...]] = {}
        self._numbers: dict[Slot, int] = {}
        self._slots: list[Slot | None] = []
        self._slot_names: list[tuple[str, ...]] = []
        self._dead: dict[str, None] = {}
        self._unconditional: dict[str, None] = {}
        self._free: list[int] = []
        self._resting: list[int] = []
        self._columns = {a.name: TiledConstruct(a) for a in schema.attributes}
        self._n_words = 1
        self._live: Words = np.zeros(1, dtype=np.uint64)
        self._made: ConstructSet | None = None
        self._fill(queries, progress)

    @property
    def queries(self) -> tuple[ContinuousQuery, ...]:
        """The registered queries, in order of registration."""
        return tuple(self._queries.values())

    def add(self, query: ContinuousQuery) -> None:
        """Register one query. Raises as build_constructs, and then nothing has changed."""
        parts = self._checked(query)
        self._made = None
        for attribute, written in parts.constants.items():
            self._columns[attribute].add_constants([written])
        for slot in self._enter(query, parts):
            for attribute, ranges in slot.columns:
                self._columns[attribute].add_slot(self._numbers[slot], ranges)

    def remove(self, name: str) -> None:
        """Take one query out. Raises KeyError."""
        del self._queries[name]
        self._made = None
        parts = self._parts.pop(name)
        self._dead.pop(name, None)
        self._unconditional.pop(name, None)
        for attribute in _used_by(parts):
            self._columns[attribute].n_users -= 1
        for attribute, written in parts.constants.items():
            self._columns[attribute].remove_constants(written)
        for number in self._names_slots.pop(name):
            left = tuple(other for other in self._slot_names[number] if other != name)
            self._slot_names[number] = left
            if not left:
                self._clear(number)

    def update(self, queries: Sequence[ContinuousQuery]) -> None:
        """Register exactly ``queries``: only what differs is touched. Raises as build_constructs,
        and then the queries are those of before."""
        wanted = {query.name: query for query in queries}
        if len(wanted) < len(queries):
            _refuse_twins(queries)
        before = self.queries
        try:
            with self._tiles_at_the_end():
                self._exchange(before, wanted)
        except QueryError:
            self.update(before)
            raise

    def _exchange(
        self, before: Sequence[ContinuousQuery], wanted: Mapping[str, ContinuousQuery]
    ) -> None:
        for query in before:
            if wanted.get(query.name) is not query:
                self.remove(query.name)
        for name, query in wanted.items():
            if name not in self._queries:
                self.add(query)

    @contextmanager
    def _tiles_at_the_end(self) -> Iterator[None]:
        """Change each tile once for all queries that come and go within."""
        columns = self._columns
        for column in columns.values():
            column.wait()
        try:
            yield
        finally:
            many = any(column.n_waiting > FEW for column in columns.values())
            ranges = _ranges(self._slots) if many else {}
            for name, column in columns.items():
                column.catch_up(ranges.get(name, {}))

    def settle(self) -> None:
        """A batch has run since slots became free: their numbers may be given again."""
        for number in self._resting:
            heapq.heappush(self._free, number)
        self._resting.clear()

    def snapshot(self) -> ConstructSet:
        """The constructs as they are now; what comes later does not change them."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def _make(self) -> ConstructSet:
        self._n_words = _grown(self._n_words, len(self._slots))
        initial = self._live = widened(self._live, self._n_words)
        made = {name: column.construct(self._n_words) for name, column in self._used()}
        constructs = {name: c for name, c in made.items() if (c.qub & initial).any()}
        covered = np.zeros(self._n_words, dtype=np.uint64)
        for construct in constructs.values():
            covered |= construct.qub & initial
        return ConstructSet(
            constructs=constructs,
            slots=tuple(self._slots),
            names_slots=dict(self._names_slots),
            slot_names=tuple(self._slot_names),
            initial=initial.copy(),
            covered=covered,
            contradictory=tuple(self._dead),
            predicate_free=tuple(self._unconditional),
            n_users={name: self._columns[name].n_users for name in constructs},
        )

    # ------------------------------------------------------------------ one query

    def _checked(self, query: ContinuousQuery) -> QueryParts:
        if query.name in self._queries:
            raise QueryError(f"two queries are named {query.name!r}; names must differ")
        parts = parts_of_query(query, self._schema)
        for attribute, written in parts.constants.items():
            self._columns[attribute].check(written)
        return parts

    def _enter(self, query: ContinuousQuery, parts: QueryParts) -> list[Slot]:
        """Names, slots and counts of a query; returns the slots that are new."""
        slots = [slot for slot in parts.slots if slot not in self._numbers]
        for slot in slots:
            self._give_number(slot)
        numbers = tuple(sorted(self._numbers[slot] for slot in parts.slots))
        for number in numbers:
            self._slot_names[number] += (query.name,)
        self._queries[query.name], self._parts[query.name] = query, parts
        self._names_slots[query.name] = numbers
        for attribute in _used_by(parts):
            self._columns[attribute].n_users += 1
        first = parts.slots[0]
        if first.is_dead:
            self._dead[query.name] = None
        elif not first.columns:
            self._unconditional[query.name] = None
        return slots

    def _give_number(self, slot: Slot) -> None:
        number = heapq.heappop(self._free) if self._free else len(self._slots)
        if number == len(self._slots):
            self._slots.append(None)
            self._slot_names.append(())
        self._numbers[slot], self._slots[number] = number, slot
        self._live = widened(self._live, number // WORD_BITS + 1)
        if not slot.is_dead:
            self._live[number // WORD_BITS] |= np.uint64(1 << (number % WORD_BITS))

    def _clear(self, number: int) -> None:
        slot = self._slots[number]
        assert slot is not None
        self._slots[number] = None
        del self._numbers[slot]
        self._resting.append(number)
        self._live[number // WORD_BITS] &= ~np.uint64(1 << (number % WORD_BITS))
        for attribute, _ in slot.columns:
            self._columns[attribute].remove_slot(number)

    # ------------------------------------------------------------------ all of them

    def _fill(self, queries: Sequence[ContinuousQuery], progress: Progress | None) -> None:
        written: dict[str, list[Sequence[Constant]]] = {}
        for n, query in enumerate(queries, start=1):
            parts = self._checked(query)
            self._enter(query, parts)
            for attribute, constants in parts.constants.items():
                written.setdefault(attribute, []).append(constants)
            if progress is not None:
                progress(n, len(queries))
        ranges = _ranges(self._slots)
        for attribute, constant_lists in written.items():
            column = self._columns[attribute]
            column.check(constant for constants in constant_lists for constant in constants)
            column.add_constants(constant_lists)
            column.fill(ranges.get(attribute, {}))

    def _used(self) -> Iterable[tuple[str, TiledConstruct]]:
        return ((name, column) for name, column in self._columns.items() if column.n_users)


def _refuse_twins(queries: Sequence[ContinuousQuery]) -> None:
    seen: set[str] = set()
    for query in queries:
        if query.name in seen:
            raise QueryError(f"two queries are named {query.name!r}; names must differ")
        seen.add(query.name)


def _used_by(parts: QueryParts) -> set[str]:
    """The attributes a query's slots have conditions on."""
    return {attribute for slot in parts.slots for attribute, _ in slot.columns}


def _ranges(slots: Sequence[Slot | None]) -> Mapping[str, dict[int, Ranges]]:
    """Attribute -> slot -> the values it passes, for the slots that use the attribute."""
    ranges_of: dict[str, dict[int, Ranges]] = {}
    for number, slot in enumerate(slots):
        for attribute, ranges in slot.columns if slot is not None else ():
            ranges_of.setdefault(attribute, {})[number] = ranges
    return ranges_of


def words_for(n_slots: int) -> int:
    """Words of a bitmap over n_slots slots, at least 1."""
    return max(1, -(-n_slots // WORD_BITS))


def _grown(n_words: int, n_slots: int) -> int:
    """Words for n_slots slots: what there is, else enough and, of many, a sixteenth more, so that
    bitmaps rarely become wider."""
    needed = words_for(n_slots)
    if needed <= n_words:
        return n_words
    return needed if n_words == 1 else max(needed, n_words + n_words // 16)
