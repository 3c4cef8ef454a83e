"""What joins of several inputs show: their pipelines, the caches in them, the market for memory."""

from __future__ import annotations

from typing import Any, Final

from dashboard.panels.contract import Panel
from dashboard.panels.joins import bids, lanes, ledger, market, pipelines, views

PANELS: Final[tuple[Panel[Any], ...]] = (
    market.PANEL,
    ledger.PANEL,
    bids.PANEL,
    views.PANEL,
    pipelines.PANEL,
    lanes.PANEL,
)
