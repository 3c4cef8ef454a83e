"""The pages of the caches of one join: what they want, and what they have. [B05] §5.5.6"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from backend.systems.joins.decide.settings import JoinSettings
from storage.vocabulary.memory import PAGE_BYTES, Bid, Tier, served


class CachePages:
    """Pages of each shard, by cache. wants: of caches in use, tier by tier. allowed: how many there
    may be of those that joins share; None: they share none."""

    def __init__(self, settings: JoinSettings) -> None:
        self._settings = settings
        self.allowed: int | None = None
        self.wants: Mapping[str, list[Tier]] = {}

    def turn(self, settings: JoinSettings) -> None:
        """Other settings."""
        self._settings = settings

    def want(self, wants: Mapping[str, list[Tier]]) -> None:
        """What caches want from now on; those that are pinned are served before all others."""
        pinned = self._settings.pinned
        self.wants = {
            id: [tier._replace(priority=math.inf) for tier in tiers] if id in pinned else tiers
            for id, tiers in wants.items()
        }

    def keep(self, caches: Collection[str]) -> None:
        """Other caches want none."""
        self.wants = {id: tiers for id, tiers in self.wants.items() if id in caches}

    @property
    def held(self) -> dict[str, int]:
        """What each has."""
        allowed = self._own if self.allowed is None else min(self._own, self.allowed)
        return served(allowed, self.wants)

    def bid(self, n_elements: float, entity: str, caches: Mapping[str, str]) -> Bid:
        """What the join wants of the memory of a run. n_elements: of a batch, lately; entity: its
        pool; caches: the entity of each."""
        unit = "probes" if self._settings.join_costs == "counted" else "ns"
        return Bid(
            self.wants,
            self._own,
            self._settings.n_shards,
            n_elements,
            entity,
            caches,
            unit,
            "pool_bytes",
        )

    @property
    def _own(self) -> int:
        """By the join's own pool."""
        return self._settings.pool_bytes // (PAGE_BYTES * self._settings.n_shards)
