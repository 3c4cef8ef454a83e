"""The memory that all units of a run share: bids in, grants out, and what introspection shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from backend.systems.contract import SystemUnit, WantsMemory
from backend.systems.publishing import samples_of
from storage.vocabulary.market import Consumer, Market, bids_matrix
from storage.vocabulary.memory import PAGE_BYTES, Bid, Grant, MemoryUse, divided
from storage.vocabulary.records import Entity, Matrix, Sample

#: The entity of the pool.
POOL: Final = "pool"
#: Shares of consumers count as before while none has moved by more: pages are not to go to and fro
#: with every batch.
_MOVED: Final = 0.2
_SEPARATOR: Final = " "


class RunPool:
    """The pool of a run."""

    def __init__(self) -> None:
        self._shares: Mapping[str, float] = {}
        self._entities: tuple[Entity, ...] = ()
        self._market = Market(None, {})

    def divide(self, units: Mapping[str, SystemUnit], limit_bytes: int) -> None:
        """Grant every consumer its part. limit_bytes: of all shards together, 0 = no limit."""
        bidding = _bidding(units)
        by_unit = {id: unit.bids() for id, unit in bidding.items()}
        bids = {_key(id, name): bid for id, own in by_unit.items() for name, bid in own.items()}
        shares = self._steady(bids)
        pages: Mapping[str, int | None] = dict.fromkeys(bids)
        weighed = {key: bid._replace(weight=shares[key]) for key, bid in bids.items()}
        if limit_bytes:
            pages = divided(limit_bytes // PAGE_BYTES, weighed)
        consumers = {key: Consumer(key.split(_SEPARATOR)[0], b) for key, b in weighed.items()}
        self._market = Market(limit_bytes or None, consumers)
        for id, own in by_unit.items():
            keys = {name: _key(id, name) for name in own}
            bidding[id].grant({n: Grant(pages[key], shares[key]) for n, key in keys.items()})
        self._show([bid.entity for bid in bids.values()])

    def _steady(self, bids: Mapping[str, Bid]) -> Mapping[str, float]:
        """The share of each consumer in the tuples of all, equal parts before any came; as they
        were while none has moved much."""
        total = sum(bid.weight for bid in bids.values())
        now = {key: bid.weight / total if total else 1 / len(bids) for key, bid in bids.items()}
        before = self._shares
        moved = (abs(n - before[key]) > _MOVED * before[key] for key, n in now.items())
        if now.keys() != before.keys() or any(moved):
            self._shares = now
        return self._shares

    def _show(self, pools: list[str]) -> None:
        facts = {"page_bytes": PAGE_BYTES, "pools": pools}
        shown = self._entities[0].properties if self._entities else None
        if not pools:
            self._entities = ()
        elif shown != facts:
            self._entities = (Entity(POOL, "pool", "Pool of the run", facts, role="run pool"),)

    @property
    def entities(self) -> tuple[Entity, ...]:
        """Its entity, the same object while nothing has changed; none where nobody bids."""
        return self._entities

    def samples(self, units: Mapping[str, SystemUnit]) -> list[Sample]:
        """Of the last batch."""
        if not self._entities:
            return []
        uses, limit = _uses(units), self._market.limit_bytes
        return samples_of(
            POOL,
            {
                "pool_bytes": (limit, "bytes"),
                "granted_bytes": (sum(use.granted_bytes for use in uses.values()), "bytes"),
                "used_bytes": (sum(use.used_bytes for use in uses.values()), "bytes"),
                "pool_price": (self._market.price() if limit else None, "cost/tuple/KB"),
            },
        )

    def matrices(self, units: Mapping[str, SystemUnit]) -> tuple[Matrix, ...]:
        """The bids that it was divided by last, and what their parts used in the last batch; none
        where nobody bids."""
        if not self._entities:
            return ()
        used = {key: use.used for key, use in _uses(units).items()}
        return (bids_matrix(self._market, used),)


def _bidding(units: Mapping[str, SystemUnit]) -> dict[str, WantsMemory]:
    return {id: unit for id, unit in units.items() if isinstance(unit, WantsMemory)}


def _uses(units: Mapping[str, SystemUnit]) -> dict[str, MemoryUse]:
    return {
        _key(id, name): use
        for id, unit in _bidding(units).items()
        for name, use in unit.memory_uses().items()
    }


def _key(unit_id: str, name: str) -> str:
    return f"{unit_id}{_SEPARATOR}{name}"
