"""The bids for the memory of a run as they are recorded, and what they come to under any limit.

The engine records them and the dashboard divides them again: by the same functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from storage.vocabulary.memory import PAGE_BYTES, Bid, Tier, divided, served, wanted
from storage.vocabulary.records import Matrix

#: The kind, and the name, of the matrix.
BIDS: Final = "memory bids"
_COLUMNS: Final = ("asked_bytes", "granted_bytes", "used_bytes")
_KIB: Final = 1024

#: Consumer -> part -> bytes of all shards.
Bytes = Mapping[str, Mapping[str, int]]


class Consumer(NamedTuple):
    """Who bids. scope: its unit; bid: weighed by its share of the tuples of all."""

    scope: str
    bid: Bid

    @property
    def page_bytes(self) -> int:
        """Bytes that one of its pages takes in all shards."""
        return PAGE_BYTES * self.bid.n_shards

    def gain(self, tier: Tier) -> float | None:
        """What a KiB saves for each tuple of all consumers; None: it is served before all bids."""
        if math.isinf(tier.priority):
            return None
        return self.bid.in_run(tier.priority) / PAGE_BYTES * _KIB

    def served(self, part: str, n_bytes: int) -> list[tuple[Tier, int]]:
        """The tiers of a part with the bytes that each has, of so many."""
        tiers, left = [], n_bytes
        for tier in self.bid.wants[part]:
            own = min(left, tier.n_pages * self.page_bytes)
            tiers.append((tier, own))
            left -= own
        return tiers


class Market(NamedTuple):
    """Bids and what they are divided by. limit_bytes: of all together, None = no limit."""

    limit_bytes: int | None
    consumers: Mapping[str, Consumer]

    def granted(self) -> Bytes:
        """What each part has."""
        bids = {name: consumer.bid for name, consumer in self.consumers.items()}
        pages = {name: bid.n_pages for name, bid in bids.items()}
        if self.limit_bytes is not None:
            pages = divided(self.limit_bytes // PAGE_BYTES, bids)
        return {
            name: {
                part: n * consumer.page_bytes
                for part, n in served(pages[name], consumer.bid.wants).items()
            }
            for name, consumer in self.consumers.items()
        }

    def turned(self, knob: str, scope: str, value: float) -> Market:
        """With another limit, or price, of those that a knob of a unit sets."""
        consumers = {
            name: consumer._replace(bid=_turned(consumer.bid, knob, value))
            if consumer.scope == scope
            else consumer
            for name, consumer in self.consumers.items()
        }
        return self._replace(consumers=consumers)

    def saved(self) -> dict[str, float]:
        """What all that is granted saves for each tuple of all consumers, by unit; what is served
        before all bids counts nothing."""
        total: dict[str, float] = {}
        for name, parts in self.granted().items():
            consumer = self.consumers[name]
            tiers = [
                tier for part, n_bytes in parts.items() for tier in consumer.served(part, n_bytes)
            ]
            gains = sum((consumer.gain(tier) or 0.0) * n / _KIB for tier, n in tiers)
            total[consumer.bid.unit] = total.get(consumer.bid.unit, 0.0) + gains
        return total

    def price(self) -> float | None:
        """The lowest bid that is served, saving for each tuple of all consumers and KiB; None where
        nobody is short, or nothing but what comes before all bids is served."""
        gains, is_short = [], False
        for name, parts in self.granted().items():
            consumer = self.consumers[name]
            for part, n_bytes in parts.items():
                is_short = is_short or n_bytes < asked(consumer, part)
                gains += [consumer.gain(tier) for tier, n in consumer.served(part, n_bytes) if n]
        return min((gain for gain in gains if gain is not None), default=None) if is_short else None


def _turned(bid: Bid, knob: str, value: float) -> Bid:
    if knob and knob == bid.priced:
        return bid._replace(rate=value)
    return bid.limited(int(value)) if knob == bid.limit else bid


def asked(consumer: Consumer, part: str) -> int:
    """Bytes that a part wants."""
    return wanted({part: consumer.bid.wants[part]}) * consumer.page_bytes


def bids_matrix(market: Market, used: Bytes) -> Matrix:
    """A row for each part: what it asked for, has from the next batch on, and used in the last."""
    given = market.granted()
    parts = [
        (name, consumer, part)
        for name, consumer in market.consumers.items()
        for part in consumer.bid.wants
    ]
    cells = [
        [asked(consumer, part), given[name][part], used.get(name, {}).get(part)]
        for name, consumer, part in parts
    ]
    rows = tuple(consumer.bid.parts.get(part, consumer.bid.entity) for _, consumer, part in parts)
    facts = [_told(name, consumer, part) for name, consumer, part in parts]
    stats = {key: [row[key] for row in facts] for key in (facts[0] if facts else ())}
    return Matrix(BIDS, BIDS, rows, _COLUMNS, cells, "bytes", row_stats=stats)


def _told(name: str, consumer: Consumer, part: str) -> dict[str, Any]:
    scope, bid = consumer
    tiers = [[n, None if math.isinf(first) else first] for n, first in bid.wants[part]]
    facts = {key: fact for key, fact in bid._asdict().items() if key not in ("wants", "parts")}
    return {"consumer": name, "part": part, "scope": scope, "tiers": tiers, **facts}


def consumers_in(matrix: Matrix) -> dict[str, Consumer]:
    """Those whose bids a matrix records; what asked for nothing is not among them."""
    consumers: dict[str, Consumer] = {}
    stats = matrix.row_stats
    rows = [dict(zip(stats, row, strict=True)) for row in zip(*stats.values(), strict=True)]
    for entity, row in zip(matrix.rows, rows, strict=True):
        tiers = [Tier(n, math.inf if first is None else first) for n, first in row["tiers"]]
        facts = {name: row[name] for name in Bid._fields if name in row}
        known = consumers.get(row["consumer"], Consumer(row["scope"], Bid({}, **facts)))
        bid = known.bid._replace(
            wants={**known.bid.wants, row["part"]: tiers},
            parts={**known.bid.parts, row["part"]: entity},
        )
        consumers[row["consumer"]] = known._replace(bid=bid)
    return consumers
