"""The Runs page of a dashboard whose clock is another than the engine's."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dashboard.base import context as contexts
from dashboard.base.context import Moment
from dashboard.panels.common import runs
from dashboard.panels.contract import PanelScope
from tests.unit.dashboard_server.site import open_site


@pytest.mark.parametrize("ahead_s", [3600.0, -3600.0, 15.0])
def test_a_run_at_work_is_at_work(
    tmp_path: Path, ahead_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = time.time
    with open_site(tmp_path) as site:
        reader = site.services.reader
        reader.runs()
        monkeypatch.setattr(time, "time", lambda: true() + ahead_s)
        site.recording.write(true())
        context = contexts.resolve(reader, Moment())
        (row,) = runs.build(reader, context, PanelScope()).rows
    assert (row.state.word, row.severity) == ("running", "")
    assert row.age_s == pytest.approx(0, abs=2)
    assert row.duration_s == pytest.approx(10, abs=5)
