"""The caches of a join in its regions: each in arrays of its own, as large as its budget (card 9).

The regions note which caches they hold. One that is not asked for any more goes, and begins empty
when it is asked for again; one whose budget changes keeps the entries that find room.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.regions import Regions
from backend.operators.network.joins import cache_kernel as kernel
from backend.operators.network.joins.cache_rules import drops_empty, is_counted
from backend.operators.network.joins.join_tuning import REUSE_BINS, CacheCounts, CacheSpec

#: An entry has at most this share of the cells.
_SHARE: Final = 4
_NOTE: Final = "note"


class NotedScopes:
    """Scopes of regions by name, with what is said of each."""

    def __init__(self, regions: Regions) -> None:
        self._regions = regions

    def scope(self, name: str) -> Regions:
        """One of them."""
        return self._regions.scope(f"of {name}")

    def drop(self, name: str) -> None:
        """Forget one."""
        self._regions.drop(f"of {name}")

    @property
    def notes(self) -> dict[str, str]:
        """Name -> what is said of it."""
        note = self._regions.array(_NOTE, "uint8", 2)
        facts: dict[str, str] = json.loads(note.tobytes()) if note.any() else {}
        return facts

    def say(self, notes: Mapping[str, str]) -> None:
        """Note the scopes there are; those that are not among them are forgotten."""
        before = self.notes
        if before == notes:
            return
        for name in before.keys() - notes.keys():
            self.drop(name)
        text = json.dumps(notes).encode()
        self._regions.drop(_NOTE)
        self._regions.array(_NOTE, "uint8", len(text))[:] = np.frombuffer(text, np.uint8)


class CacheArrays:
    """A cache in its regions. windows, key: from where to where they stand in the lists."""

    def __init__(
        self,
        regions: Regions,
        spec: CacheSpec,
        n_bytes: int,
        ways: int,
        windows: tuple[int, int],
        key: tuple[int, int],
    ) -> None:
        counted = is_counted(spec)
        cell_words = max(kernel.KEY_WORDS + len(spec.key), 1 + len(spec.windows) + counted)
        n_cells = n_bytes // 8 // (cell_words + 1)
        n_sets = 1 << (n_cells // ways).bit_length() - 1 if n_cells >= ways else 0
        self._regions, self.spec = regions, spec
        self._opened = np.zeros(1 + kernel.MOST_OPENED, np.int64)
        self.row: Ints = np.zeros(kernel.N_CACHE, np.int64)
        self.row[kernel.N_SETS], self.row[kernel.N_WAYS] = n_sets, ways
        self.row[kernel.N_CELLS], self.row[kernel.CELL_WORDS] = n_cells, cell_words
        self.row[kernel.MOST] = max(1, n_cells // _SHARE)
        self.row[kernel.WINDOWS : kernel.WINDOWS_END + 1] = windows
        self.row[kernel.KEY : kernel.KEY_END + 1] = key
        self.row[kernel.KIND] = kernel.PLAIN
        if spec.witnesses:
            self.row[kernel.KIND] = kernel.COUNTED if counted else kernel.KEYED
        self.row[kernel.DROPS_EMPTY] = drops_empty(spec)
        self.row[kernel.OPENED] = self._opened.ctypes.data

    def take_up(self) -> tuple[Ints, ...]:
        """Put the addresses of its arrays into the row; they are good as long as the arrays."""
        facts = self._regions.array("facts", "int64", kernel.N_FACT)
        if not facts.any():
            facts[kernel.FREE] = -1
        n_slots = self.row[kernel.N_SETS] * self.row[kernel.N_WAYS]
        n_words = self.row[kernel.N_CELLS] * self.row[kernel.CELL_WORDS]
        arrays = (
            self._regions.array("directory", "int64", int(n_slots), fill=-1),
            self._regions.array("cells", "int64", int(n_words)),
            facts,
            self._regions.array("sampled", "int64", 1 + kernel.MOST_SAMPLED),
        )
        for column, array in zip(range(kernel.DIRECTORY, kernel.OPENED), arrays, strict=True):
            self.row[column] = array.ctypes.data
        return arrays

    def counts(self, counted: Ints) -> CacheCounts:
        """What was counted of it, as numbers by name, with what it holds."""
        _, _, facts, _ = self.take_up()
        n_cells = facts[kernel.FRESH] - facts[kernel.N_FREE]
        words = n_cells * self.row[kernel.CELL_WORDS] + facts[kernel.N_ENTRIES]
        probes, hits, creates, inserts, deletes, evictions, *times = counted.tolist()
        return CacheCounts(
            probes=probes,
            hits=hits,
            creates=creates,
            inserts=inserts,
            deletes=deletes,
            evictions=evictions,
            n_entries=int(facts[kernel.N_ENTRIES]),
            n_refs=int(facts[kernel.N_REFS]),
            n_bytes=int(8 * words),
            n_lookups_timed=times[0],
            lookup_ns=times[1],
            n_updates_timed=times[2],
            update_ns=times[3],
            reuse=counted[kernel.REUSE :].copy(),
        )


class JoinCaches:
    """The caches of a join. lists: what the columns of their rows point into; it is added to."""

    def __init__(self, regions: Regions, specs: Sequence[CacheSpec], lists: list[int]) -> None:
        self._lists = lists
        scopes = NotedScopes(regions)
        self.caches = tuple(self._made(scopes, spec) for spec in specs)
        scopes.say({spec.id: _written(spec) for spec in specs})
        self.tallies: Ints = np.zeros((len(specs), kernel.REUSE + REUSE_BINS), np.int64)

    def _made(self, scopes: NotedScopes, spec: CacheSpec) -> CacheArrays:
        begin = len(self._lists)
        key = begin + len(spec.windows)
        self._lists += [*spec.windows, *spec.key]
        places = (begin, key), (key, len(self._lists))
        before = json.loads(scopes.notes.get(spec.id, "null"))
        now = json.loads(_written(spec))
        new = CacheArrays(scopes.scope(spec.id), spec, spec.n_bytes, spec.ways, *places)
        if before is None or before == now:
            return new
        old = CacheArrays(scopes.scope(spec.id), spec, before["n_bytes"], before["ways"], *places)
        kept = [array.copy() for array in old.take_up()]
        scopes.drop(spec.id)
        sampled = new.take_up()[-1]
        if before["holds"] == now["holds"]:
            sampled[:] = kept[-1]
            for column, array in zip(range(kernel.DIRECTORY, kernel.OPENED), kept, strict=True):
                old.row[column] = array.ctypes.data
            self._carry(old, new)
        return new

    def _carry(self, old: CacheArrays, new: CacheArrays) -> None:
        size = max(self._lists, default=0) + 1
        values, chosen = np.zeros(size, np.int64), np.zeros(size, np.int64)
        lists, counts = np.array(self._lists, np.int64), np.zeros(kernel.REUSE + 1, np.int64)
        kernel.carry(np.stack([old.row, new.row]), lists, values, chosen, counts)

    def take_up(self) -> Ints:
        """The table of caches, good until an array of the regions grows."""
        for cache in self.caches:
            cache.take_up()
        rows = [cache.row for cache in self.caches]
        return np.stack(rows) if rows else np.zeros((0, kernel.N_CACHE), np.int64)

    def renumber(self, window: int, lo: int, moved: Ints) -> None:
        """Tuples of a window have new numbers: moved[s - lo] is that of tuple s."""
        table = self.take_up()
        for c, cache in enumerate(self.caches):
            if window in cache.spec.windows:
                kernel.renumber(table, c, cache.spec.windows.index(window), lo, moved)

    def counts(self) -> dict[str, CacheCounts]:
        """By id what was counted since they were made."""
        pairs = zip(self.caches, self.tallies, strict=True)
        return {cache.spec.id: cache.counts(counted) for cache, counted in pairs}


def _written(spec: CacheSpec) -> str:
    """What is noted of a cache. holds: what its entries are; others must not be taken for them."""
    holds = spec.windows, spec.key, spec.witnesses, spec.keyed, drops_empty(spec)
    return json.dumps({"holds": holds, "n_bytes": spec.n_bytes, "ways": spec.ways})
