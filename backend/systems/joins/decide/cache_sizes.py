"""What caches are expected to hold, and the pages they want for it. [B05] §5.5.6, card 15.9"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.joins.join_tuning import (
    FIRST_BLOCKS,
    RUN_BLOCKS,
    CacheCounts,
    Segment,
    ShadowCounts,
)
from backend.systems.joins.decide.candidates import CacheCandidate
from backend.systems.joins.decide.costs import ReaderCosts
from backend.systems.joins.decide.memory import (
    MissRatioCurve,
    keys_behind,
    pages,
    single_tier,
)
from backend.systems.joins.decide.settings import JoinSettings
from storage.vocabulary.memory import PAGE_BYTES, Tier

#: Words of 8 bytes of a cell besides a key, besides references; an entry takes a cell for itself
#: and one for each tuple of its segment, each with a word of the directory.
_KEY_WORDS, _REFERENCE_WORDS = 3, 1
#: Keys in each shard; bytes in each shard.
Size: TypeAlias = tuple[float, float]


class CacheSizes:
    """Of the caches of one join."""

    def __init__(self, settings: JoinSettings) -> None:
        self._settings = settings
        self._shadow_keys: dict[tuple[str, Segment], float] = {}
        self._reuse: dict[str, deque[NDArray[np.int64]]] = {}
        self._counts: dict[str, CacheCounts] = {}

    def add_shadow(self, cache: str, reader: Segment, counts: ShadowCounts) -> None:
        """A reader of a candidate was looked up in the shadow in a batch."""
        if counts.n_runs:
            self._shadow_keys[cache, reader] = counts.n_keys / counts.n_runs

    def add_used(self, cache: str, counts: CacheCounts) -> None:
        """A cache was in use in a batch."""
        self._counts[cache] = counts
        keep = self._settings.window_observations
        self._reuse.setdefault(cache, deque(maxlen=keep)).append(counts.reuse)

    def forget(self, cache: str) -> None:
        """A cache is looked up in another way from now on."""
        self._reuse.pop(cache, None)
        self._counts.pop(cache, None)

    def forget_shadows(self, cache: str) -> None:
        """A candidate is profiled anew."""
        self._shadow_keys = {key: n for key, n in self._shadow_keys.items() if key[0] != cache}

    def of(self, candidate: CacheCandidate, readers: Sequence[ReaderCosts]) -> Size:
        """Keys and bytes of each shard: as held where a cache is in use and nothing was evicted,
        else by the keys behind its look-ups and the tuples of its segment for each."""
        counts, n_shards = self._counts.get(candidate.id), self._settings.n_shards
        cell = max(_KEY_WORDS + len(candidate.key), _REFERENCE_WORDS + len(candidate.windows))
        refs = max(
            (reader.leaving / reader.lookups for reader in readers if reader.lookups), default=0.0
        )
        key_bytes = 8 * (cell + 1) * (1 + refs)
        expected = [
            self._keys(self._shadow_keys.get((candidate.id, reader)), costs)
            for reader, costs in zip(candidate.readers, readers, strict=True)
        ]
        n_keys = max(expected, default=0.0)
        if counts is None or not counts.n_entries:
            return n_keys, n_keys * key_bytes
        key_bytes, held = counts.n_bytes / counts.n_entries, counts.n_entries / n_shards
        n_keys = max(n_keys, held) if counts.evictions else held
        return n_keys, max(n_keys * key_bytes, counts.n_bytes / n_shards)

    def _keys(self, of_run: float | None, reader: ReaderCosts) -> float:
        """Behind the look-ups of a reader: as many as whole runs of blocks say; of a part of one,
        the first blocks of which only filled the bitmap, as its misses say, of which half a one is
        as few as none. of_run: different ones in a whole run; None: there was none."""
        block = self._settings.block_probes
        if of_run is not None:
            return keys_behind(of_run / (RUN_BLOCKS * block), RUN_BLOCKS * block)
        if not reader.n_probes:
            return keys_behind(1.0, block)
        misses = max(0.5, reader.miss_prob * reader.n_probes)
        return keys_behind(misses / reader.n_probes, reader.n_probes, FIRST_BLOCKS * block)

    def tiers(self, cache: str, size: Size, gain: float, net: float) -> list[Tier]:
        """The pages of each shard a cache wants, along its miss-ratio curve where reuse was seen.
        gain: what it saves if all look-ups hit instead of none; net: its benefit less cost."""
        (n_keys, n_bytes), room = size, self._room
        curve = None
        if cache in self._reuse:
            curve = MissRatioCurve.of(np.sum(self._reuse[cache], axis=0))
        tiers: list[Tier] = []
        if curve is not None:
            tiers = curve.tiers(gain, room * n_bytes / max(1.0, n_keys), PAGE_BYTES)
        return tiers or single_tier(net, pages(room * n_bytes, PAGE_BYTES))

    @property
    def _room(self) -> float:
        """How much more than its entries a cache wants, so that keys rarely collide: the number of
        sets is a power of two, perhaps half of what there is room for, and of four ways as many
        sets as keys are to be there."""
        return 2 * (1 + 1 / self._settings.cache_ways)
