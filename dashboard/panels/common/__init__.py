"""Panels of every run, whatever systems work in it."""

from __future__ import annotations

from typing import Any, Final

from dashboard.panels.common import (
    alerts,
    branch,
    compare,
    compare_logs,
    decisions,
    ending,
    event_time,
    files,
    headroom,
    inputs,
    knobs,
    load,
    log,
    loops,
    market,
    monitor,
    phases,
    planlog,
    planlog_returns,
    postmortem,
    presets,
    regions,
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
    files.PANEL,
    timeline.PANEL,
    regions.PANEL,
    loops.PANEL,
    monitor.PANEL,
    alerts.PANEL,
    alerts.HISTORY,
    tap.PANEL,
    phases.PANEL,
    event_time.PANEL,
    headroom.PANEL,
    load.PANEL,
    log.PANEL,
    *decisions.PANELS,
    headroom.KEPT,
    market.PANEL,
    *planlog.PANELS,
    *planlog_returns.PANELS,
    *knobs.PANELS,
    presets.PANEL,
    *results.PANELS,
    compare.PANEL,
    compare_logs.PANEL,
    branch.PANEL,
    ending.PANEL,
    postmortem.PANEL,
    sql.PANEL,
)
#: Below what systems show.
LAST: Final[tuple[Panel[Any], ...]] = (takes.PANEL,)
