"""The panels of all pages: a system adds its module here, and its panels their place there."""

from __future__ import annotations

from typing import Any, Final

from dashboard.panels import agreedy, asc, common, joins, stream
from dashboard.panels.contract import Panel

PANELS: Final[tuple[Panel[Any], ...]] = (
    *common.PANELS,
    *asc.PANELS,
    *agreedy.PANELS,
    *stream.PANELS,
    *joins.PANELS,
    *common.LAST,
)
