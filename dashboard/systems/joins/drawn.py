"""The market of caches, drawn by modules/market.js."""

from __future__ import annotations

from dashboard.components.drawn import NAMESPACE, Drawn


class CacheMarket(Drawn):
    """Pools of memory with an edge to drag, the bids for them, and what a turn would do.

    run: id of the run. markets: as dashboard.systems.joins.market writes them. disabled: why knobs
    cannot be turned now, or ''.
    """

    _namespace = NAMESPACE
    _type = "CacheMarket"
    _names = ("id", "run", "markets", "disabled")

    def __init__(self, id: str) -> None:
        super().__init__(id=id, run="", markets=[], disabled="")
