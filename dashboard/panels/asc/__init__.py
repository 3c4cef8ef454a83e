"""What adaptive selection constructs show: regions, selectivities, hybrid plans, what μ does."""

from __future__ import annotations

from typing import Any, Final

from dashboard.panels.asc import hybrid, ledger, matrices, whatif
from dashboard.panels.contract import Panel

PANELS: Final[tuple[Panel[Any], ...]] = (
    hybrid.PANEL,
    matrices.SELECTIVITY_PANEL,
    matrices.REGIONS_PANEL,
    whatif.PANEL,
    ledger.PANEL,
)
