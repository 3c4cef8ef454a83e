"""What operator networks show: what waited in their queues within a batch, and their chains."""

from __future__ import annotations

from typing import Any, Final

from dashboard.panels.contract import Panel
from dashboard.panels.stream import chains, curves

PANELS: Final[tuple[Panel[Any], ...]] = (curves.PANEL, chains.PANEL)
