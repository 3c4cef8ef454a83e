"""Panels of every run, whatever systems work in it."""

from __future__ import annotations

from typing import Any, Final

from dashboard.panels.common import (
    alerts,
    branch,
    compare,
    decisions,
    headroom,
    inputs,
    knobs,
    load,
    loops,
    market,
    monitor,
    phases,
    planlog,
    planlog_returns,
    postmortem,
    presets,
    results,
    runs,
    sql,
    takes,
    tap,
    timeline,
)
from dashboard.panels.contract import Panel

PANELS: Final[tuple[Panel[Any], ...]] = (
    runs.PANEL,
    inputs.PANEL,
    timeline.PANEL,
    loops.PANEL,
    monitor.PANEL,
    alerts.PANEL,
    tap.PANEL,
    phases.PANEL,
    headroom.PANEL,
    load.PANEL,
    *decisions.PANELS,
    headroom.KEPT,
    market.PANEL,
    *planlog.PANELS,
    *planlog_returns.PANELS,
    *knobs.PANELS,
    presets.PANEL,
    *results.PANELS,
    compare.PANEL,
    branch.PANEL,
    postmortem.PANEL,
    sql.PANEL,
)
#: Below what systems show.
LAST: Final[tuple[Panel[Any], ...]] = (takes.PANEL,)
