"""A join under k-constraints as tables of integers for its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.kinds.kmon import JoinEdge, KMonOp
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.tuning import CONSTRAINT_TYPES, ConstraintId, constraint_ids

_WINDOWS = {
    "range": w.RANGE,
    "rows": w.ROWS,
    "unbounded": w.UNBOUNDED,
    "changing": w.CHANGING,
}


@dataclass(frozen=True)
class Attributes:
    """Join attributes of an input: their columns, ascending. Word k of a slot is of the k-th."""

    places: tuple[int, ...]

    def words(self, columns: Sequence[int], first: int) -> list[int]:
        """Where the words of some columns are in slots."""
        return [first + self.places.index(column) for column in columns]


class KMonShape:
    """Indexes, joins, ways through them and constraints. widths: as in ``Memory``. n_words,
    n_links: numbers of a slot of 64 and 32 bits; n_entry: of an entry; first_word: of join
    attributes; whole_word: of all columns, where tuples are taken away (``changes``), else -1.
    depths: how many joins each input is below its root."""

    def __init__(self, work: KMonOp) -> None:
        self.work, self.ids = work, constraint_ids(work)
        n = len(work.inputs)
        self.attributes = [Attributes(_places(work, port)) for port in range(n)]
        stamps = [self._stamps(port) for port in range(n)]
        self.first_word = w.STAMPS + max(map(len, stamps))
        self.n_words = self.first_word + max(
            len(attributes.places) for attributes in self.attributes
        )
        self.changes = work.changes
        self.whole_word = self.n_words if work.changes else -1
        self.n_words += work.changes
        self._keys = self._index_keys()
        self.indexes = self._indexes()
        links = [sum(key[0] == port for key in self._keys) for port in range(n)]
        self.n_links, self.n_entry = w.END_SLOT, w.LINKS + w.END_LINK * max(links)
        widths = [self.n_words, self.n_links, self.n_entry, self.first_word, self.whole_word]
        self.widths = np.array(widths, np.int64)
        #: Buckets for an entry.
        self.n_buckets = 1 << (max(links) - 1).bit_length()
        self.depths = _depths(n, work.edges)
        self.edges = np.array([self._edge(e, edge, stamps) for e, edge in enumerate(work.edges)])
        self.inputs = self._inputs()
        self.steps = np.array([_way(work.edges, n, port) for port in range(n)], np.int64)
        self.uses = self._uses()
        self.constraints = self._constraints()
        self.n_rings = max(1, int(np.count_nonzero(self.constraints[:, w.RING] >= 0)))

    def _stamps(self, port: int) -> list[tuple[int, int]]:
        """(join, 0 as parent or 1 as child) that a tuple of an input keeps a stamp for."""
        edges = list(enumerate(self.work.edges))
        below = [(e, 0) for e, edge in edges if edge.parent == port]
        return below + [(e, 1) for e, edge in edges if edge.child == port and edge.one_one]

    def _index_keys(self) -> list[tuple[int, tuple[int, ...]]]:
        """(input, columns) of each index."""
        keys: dict[tuple[int, tuple[int, ...]], None] = {}
        for edge in self.work.edges:
            keys[edge.parent, tuple(a for a, _ in edge.on)] = None
            keys[edge.child, tuple(b for _, b in edge.on)] = None
        return list(keys)

    def _indexes(self) -> Ints:
        table = np.zeros((len(self._keys), w.WORDS + w.MOST_WORDS), np.int64)
        own: dict[int, int] = {}
        for row, (port, columns) in zip(table, self._keys, strict=True):
            places = self.attributes[port].words(columns, self.first_word)
            row[w.OF_INPUT], row[w.LINK] = port, own.get(port, 0)
            row[w.N_WORDS] = len(columns)
            row[w.WORDS : w.WORDS + len(places)] = places
            own[port] = own.get(port, 0) + 1
        return table

    def _edge(self, e: int, edge: JoinEdge, stamps: Sequence[list[tuple[int, int]]]) -> list[int]:
        parent, child = tuple(a for a, _ in edge.on), tuple(b for _, b in edge.on)
        row = [0] * w.END_EDGE
        row[w.PARENT], row[w.CHILD] = edge.parent, edge.child
        row[w.PARENT_INDEX] = self._keys.index((edge.parent, parent))
        row[w.CHILD_INDEX] = self._keys.index((edge.child, child))
        row[w.WAITS_AT] = w.STAMPS + stamps[edge.parent].index((e, 0))
        row[w.MEETS_AT] = w.STAMPS + stamps[edge.child].index((e, 1)) if edge.one_one else -1
        row[w.RIDS_OF] = self.ids.index(ConstraintId("RIDS", edge.parent, edge.child))
        back = ConstraintId("RIDS", edge.child, edge.parent)
        row[w.BACK_OF] = self.ids.index(back) if edge.one_one else -1
        return row

    def _inputs(self) -> Ints:
        table = np.zeros((len(self.work.inputs), w.END_INPUT), np.int64)
        roots = set(self.work.roots())
        for port, (row, input) in enumerate(zip(table, self.work.inputs, strict=True)):
            row[w.WINDOW], row[w.SIZE], row[w.IS_ROOT] = (
                _WINDOWS[input.window],
                input.size,
                port in roots,
            )
            row[[w.OLDEST, w.NEWEST, w.OLDEST_ASIDE, w.NEWEST_ASIDE]] = -1
            above = [
                (e, edge.parent) for e, edge in enumerate(self.work.edges) if edge.child == port
            ]
            row[w.PARENTS] = sum(1 << e for e, _ in above)
            row[w.MEETS_ROOTS] = bool(above) and roots <= {parent for _, parent in above}
        return table

    def _uses(self) -> Ints:
        """Joins that CA, OAP and OAC are of use for."""
        uses = []
        for c, id in enumerate(self.ids):
            for e, edge in enumerate(self.work.edges):
                for a, b in edge.on:
                    is_above = id.type in ("CA", "OAP") and (id.parent, id.place) == (
                        edge.parent,
                        a,
                    )
                    if is_above or (id.type == "OAC" and (id.child, id.place) == (edge.child, b)):
                        above = self.attributes[edge.parent].words([a], self.first_word)
                        below = self.attributes[edge.child].words([b], self.first_word)
                        uses.append([c, e, above[0], below[0]])
        return np.array(uses, np.int64).reshape(-1, w.END_USE)

    def _constraints(self) -> Ints:
        table = np.zeros((len(self.ids), w.END_CONSTRAINT), np.int64)
        n_rings = 0
        for row, id in zip(table, self.ids, strict=True):
            row[w.TYPE], row[w.DECLARED], row[w.RING] = CONSTRAINT_TYPES.index(id.type), -1, -1
            row[w.WHOSE] = id.parent if id.type in ("CA", "OAP") else id.child
            row[w.AT], row[w.EDGE] = -1, -1
            if id.type == "RIDS":
                pair = (id.parent, id.child)
                row[w.EDGE] = next(
                    e
                    for e, edge in enumerate(self.work.edges)
                    if pair in ((edge.parent, edge.child), (edge.child, edge.parent))
                )
            else:
                port = int(row[w.WHOSE])
                row[w.AT] = self.attributes[port].words([id.place], self.first_word)[0]
            if id.type in ("OAP", "OAC"):
                row[w.RING], n_rings = n_rings, n_rings + 1
        return table


def _places(work: KMonOp, port: int) -> tuple[int, ...]:
    above = {a for edge in work.edges if edge.parent == port for a, _ in edge.on}
    below = {b for edge in work.edges if edge.child == port for _, b in edge.on}
    return tuple(sorted(above | below))


def _depths(n: int, edges: Sequence[JoinEdge]) -> Ints:
    below = np.zeros(n, np.int64)
    for _ in range(n):
        for edge in edges:
            below[edge.child] = max(below[edge.child], below[edge.parent] + 1)
    return below


def _way(edges: Sequence[JoinEdge], n: int, root: int) -> list[list[int]]:
    """From one input to all others: join, whether down it, from, to."""
    reached, way = {root}, list[list[int]]()
    while len(way) < n - 1:
        for e, edge in enumerate(edges):
            if (edge.parent in reached) != (edge.child in reached):
                is_down = edge.parent in reached
                ends = (edge.parent, edge.child) if is_down else (edge.child, edge.parent)
                way.append([e, int(is_down), *ends])
                reached.add(ends[1])
                break
    return way
