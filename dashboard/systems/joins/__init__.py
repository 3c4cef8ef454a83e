"""What joins of several inputs show: their pipelines, the caches in them, the market for memory."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dashboard.base.face import Face
from dashboard.systems.joins import (
    caches,
    changes,
    lanes,
    ledger,
    ledger_view,
    matrices,
    pipelines,
    words,
)

FACE: Final = Face(
    folder=Path(__file__).parent,
    panels=(
        caches.PANEL,
        ledger.PANEL,
        matrices.BIDS_PANEL,
        matrices.VIEWS_PANEL,
        pipelines.PANEL,
        lanes.PANEL,
    ),
    words=words.WORDS,
    needs=words.NEEDS,
    kept=words.KEPT,
    first=words.FIRST,
    unreplayed=words.UNREPLAYED,
    chosen=words.CHOSEN,
    gains=words.GAINS,
    verdict=ledger_view.VERDICT,
    changes=(changes.cache_changes, changes.order_changes),
    spoken=frozenset({"cache"}),
)
