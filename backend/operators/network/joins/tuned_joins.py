"""A join under a tuning: what its kernel works with, and the profile it tells of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from backend.operators.network.core.addressing import addressed
from backend.operators.network.core.blocks import Ints, Signs
from backend.operators.network.core.regions import Regions
from backend.operators.network.joins import cache_kernel, join_kernel, tuned_kernel
from backend.operators.network.joins import tuned_words as words
from backend.operators.network.joins.cache_rules import check_caches
from backend.operators.network.joins.clock_kernel import clock_overhead_ns
from backend.operators.network.joins.join_caches import JoinCaches, NotedScopes
from backend.operators.network.joins.join_tables import Addresses, JoinTables
from backend.operators.network.joins.join_tuning import (
    MOST_OBSERVATIONS,
    RUN_BLOCKS,
    CacheCounts,
    CacheSpec,
    JoinTuning,
    PipelineProfile,
    Segment,
    ShadowCounts,
)
from backend.operators.network.joins.tuned_tables import TunedTables
from backend.operators.network.kinds.joins import JoinOp

_CACHES: Final = "caches"
_SHADOWS: Final = "shadows"
_NUMBERS: Final = "numbers"


class TunedJoin:
    """Of a join of n inputs. regions: the join's. Raises ValueError: a cache does not fit the
    probe orders, or profile probabilities are of another number of pipelines."""

    def __init__(
        self, work: JoinOp, tables: JoinTables, tuning: JoinTuning, regions: Regions
    ) -> None:
        n = tables.n_inputs
        check_caches(tuning.caches, tuning.shadows, work, n)
        if len(tuning.profile_prob) not in (0, n):
            probabilities = f"{len(tuning.profile_prob)} profile probabilities"
            raise ValueError(f"{probabilities} for a join of {n} inputs")
        lists: list[int] = []
        self._join, self._n = tables, n
        self._caches = JoinCaches(regions.scope(_CACHES), tuning.caches, lists)
        self._shadows = _Shadows(regions.scope(_SHADOWS), tuning, lists)
        self._tables = TunedTables(work, tables, tuning, self._shadows.looked_up, lists)
        self._lists = np.array(lists, np.int64)
        self._regions = regions
        self._made_room(tuning)

    def _made_room(self, tuning: JoinTuning) -> None:
        n, n_caches = self._n, len(tuning.caches)
        n_kept = MOST_OBSERVATIONS if any(tuning.profile_prob) else 0
        self._clock = np.zeros(2, np.int64)
        self._state = np.zeros(words.N_STATE, np.int64)
        self._state[words.LEVEL], self._state[words.CLOCK] = -1, self._clock.ctypes.data
        self._state[words.OVERHEAD] = clock_overhead_ns() if n_kept else 0
        self._operations = np.zeros((n, 3), np.int64)
        self._observed = np.zeros((n, n_kept, 3 * n), np.int64)
        self._n_observed, self._due = np.zeros(n, np.int64), np.zeros(n, np.int64)
        values, cursor, starts, chosen = (
            np.zeros(size, np.int64) for size in (self._join.n_groups, n, n, n)
        )
        tally, aside = np.zeros((n - 1, 3), np.int64), np.zeros((n, 3), np.int64)
        levels = np.zeros((n, words.N_LEVEL), np.int64)
        busy = np.zeros((n - 1 + 2 * n_caches, 2), np.int64)
        self._scratch = values, cursor, starts, chosen, tally, aside, levels, self._state, busy

    def probe(
        self,
        at: Addresses,
        progress: Ints,
        counts: Ints,
        elements: tuple[Ints, Ints, Signs, Ints],
        begin: int,
        out: Ints,
        element_of: Ints,
    ) -> tuple[int, int]:
        """Join elements ``begin`` and on with the other inputs, then add them to, or take them
        from, their own. elements: their inputs, numbers, signs and τ.

        out[j, r]: the tuple of input j in result r; element_of[r]: its element. Returns the element
        it stopped at, for want of room in ``out``, and the number of results.
        """
        numbers = self._regions.array(_NUMBERS, "int64", self._n)
        caches = self._caches.take_up()
        for c, walks in enumerate(self._tables.cache_walks):
            caches[c, cache_kernel.WALK : cache_kernel.BINDS_END + 1] = walks
        own = self._tables
        arrays = words.Arrays(
            at.inputs, self._join.keys, at.indexes, self._join.steps, progress,
            own.points, own.pipelines, self._lists, own.bindings, own.walks, own.drops, own.paths,
            caches, self._shadows.take_up(), *self._scratch, counts, self._operations, numbers,
            self._due, self._caches.tallies, self._shadows.sums, self._observed, self._n_observed,
        )  # fmt: skip
        return tuned_kernel.probe_tuned(addressed(arrays), *elements, begin, out, element_of)

    def renumber(self, input: int, lo: int, moved: Ints) -> None:
        """Tuples of an input have new numbers: moved[s - lo] is that of tuple s."""
        self._caches.renumber(input, lo, moved)

    @property
    def operations(self) -> Ints:
        """int64[n, 3]: probes, tuples built and looked at besides those of steps."""
        return self._operations

    def cache_counts(self) -> dict[str, CacheCounts]:
        """By id."""
        return self._caches.counts()

    def shadow_counts(self) -> dict[str, dict[Segment, ShadowCounts]]:
        """By id and segment."""
        return self._shadows.counts()

    def observed(self, port: int) -> Mapping[str, Any]:
        """What was seen of the elements of an input that were profiled, by field."""
        n = self._n
        rows = self._observed[port, : self._n_observed[port]]
        by_step = rows[:, words.ENTERING :]
        return {
            "tau": rows[:, words.TAU],
            "dropped_by": rows[:, words.DROPPED_BY].view(np.uint64),
            "entering": by_step[:, :n],
            "busy_ns": by_step[:, n : 2 * n - 1],
            "scanned": by_step[:, 2 * n - 1 : 3 * n - 2],
        }


class _Shadows:
    """Bitmaps of shadow look-ups, in the regions of a join. lists: it is added to."""

    def __init__(self, regions: Regions, tuning: JoinTuning, lists: list[int]) -> None:
        self.looked_up: list[tuple[CacheSpec, Segment]] = [
            (spec, segment) for spec in tuning.shadows for segment in spec.readers
        ]
        self.sums = np.zeros((len(self.looked_up), 5), np.int64)
        self._scopes = NotedScopes(regions)
        n_bits = max(1, tuning.bitmap_alpha * tuning.block_probes * RUN_BLOCKS)
        notes = {
            _name(spec, segment): f"{spec.key} {n_bits} {tuning.block_probes}"
            for spec, segment in self.looked_up
        }
        before = self._scopes.notes
        for name in notes:
            if before.get(name, notes[name]) != notes[name]:
                self._scopes.drop(name)
        self._scopes.say(notes)
        self._rows = np.zeros((len(self.looked_up), cache_kernel.N_CACHE), np.int64)
        self._rows[:, cache_kernel.N_CELLS] = n_bits
        self._rows[:, cache_kernel.MOST] = max(1, tuning.block_probes)
        self._rows[:, cache_kernel.N_SETS] = tuning.shadow_blocks
        for s, (spec, _) in enumerate(self.looked_up):
            begin = len(lists)
            lists += spec.key
            self._rows[s, cache_kernel.KEY : cache_kernel.KEY_END + 1] = begin, len(lists)

    def take_up(self) -> Ints:
        """Their table, good until an array of the regions grows."""
        for row, (spec, segment) in zip(self._rows, self.looked_up, strict=True):
            scope = self._scopes.scope(_name(spec, segment))
            bits = scope.array("bits", "int64", int(row[cache_kernel.N_CELLS]) // 64 + 1)
            row[cache_kernel.DIRECTORY] = bits.ctypes.data
            row[cache_kernel.FACTS] = scope.array("facts", "int64", words.N_BITMAP).ctypes.data
        return self._rows

    def counts(self) -> dict[str, dict[Segment, ShadowCounts]]:
        """By id and segment, blocks that were finished since they were made."""
        counts: dict[str, dict[Segment, ShadowCounts]] = {}
        for (spec, segment), (probes, misses, blocks, keys, runs) in zip(
            self.looked_up, self.sums.tolist(), strict=True
        ):
            counts.setdefault(spec.id, {})[segment] = ShadowCounts(
                probes, misses / words.MILLION, blocks, keys / words.MILLION, runs
            )
        return counts


def _name(spec: CacheSpec, segment: Segment) -> str:
    return f"{spec.id} {segment.pipeline}.{segment.first}"


def pipeline_profiles(came: Ints, counts: Ints, tuned: TunedJoin) -> tuple[PipelineProfile, ...]:
    """The pipelines of a join in a batch. came: int64[n, 2], elements with sign + and -; counts:
    int64[n, n-1, N_COUNT]."""
    n = len(came)
    sums = counts.sum(axis=1)[:, : join_kernel.PAIRS] + tuned.operations
    return tuple(
        PipelineProfile(*came[port].tolist(), *sums[port].tolist(), **tuned.observed(port))
        for port in range(n)
    )
