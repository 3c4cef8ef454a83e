"""The memory that all joins of a run share for their caches, as introspection shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from backend.model.ids import entity_id
from backend.operators.network.join_tuning import PAGE_BYTES
from backend.operators.network.reports import NetworkReport
from backend.systems.joins.published import BID, PublishedJoin, price_of, used_bytes
from backend.systems.publishing import samples_of
from storage.vocabulary.records import Entity, Sample

ROLE: Final = "run pool"


def run_pool(joins: Sequence[PublishedJoin]) -> list[Entity]:
    """Its entity; none where no join is tuned."""
    if not joins:
        return []
    unit_id = joins[0].unit_id
    facts = {"page_bytes": PAGE_BYTES, "pools": [one.pool for one in joins]}
    return [Entity(_id(unit_id), "pool", "Pool of all joins", facts, unit_id=unit_id, role=ROLE)]


def run_pool_samples(
    joins: Sequence[PublishedJoin], report: NetworkReport, limit_bytes: int
) -> list[Sample]:
    """Of a batch. limit_bytes: 0 for none."""
    if not joins:
        return []
    numbers = [(one, join.share) for join in joins for one in join.numbers]
    profiles = [profile for join in joins if (profile := join.profile(report))]
    return samples_of(
        _id(joins[0].unit_id),
        {
            "pool_bytes": (limit_bytes or None, "bytes"),
            "granted_bytes": (sum(one.granted for one, _ in numbers), "bytes"),
            "used_bytes": (sum(map(used_bytes, profiles)), "bytes"),
            "pool_price": (price_of(numbers) if limit_bytes else None, BID),
        },
    )


def _id(unit_id: str) -> str:
    return entity_id(unit_id, "pool", "all joins")
