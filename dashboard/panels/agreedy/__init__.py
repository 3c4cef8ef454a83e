"""What pipelined filters show: the matrix view, its last check, the race, what profiling costs."""

from __future__ import annotations

from typing import Any, Final

from dashboard.panels.agreedy import check, overhead, race, view
from dashboard.panels.contract import Panel

PANELS: Final[tuple[Panel[Any], ...]] = (
    view.PANEL,
    race.PANEL,
    check.CHECK,
    check.NEAR,
    overhead.PANEL,
)
