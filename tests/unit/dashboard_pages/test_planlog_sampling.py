"""What each statistic of the plan log drives and how often it is sampled, as its page shows it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backend.model.filters import WHOLE_EVERY
from dashboard.base import context as contexts
from dashboard.base.context import Moment
from dashboard.panels.common import planlog
from dashboard.panels.contract import PanelScope, Sheet
from dashboard.views.planlog_importance import permutation_importance
from storage.reader import open_reader
from tests.web import recorded_filters
from tests.web.recorded_filters import FilterRecording


def test_a_statistic_has_the_share_of_the_sample_that_it_is_taken_of(tmp_path: Path) -> None:
    path = tmp_path / "filters.db"
    run = FilterRecording(path, "r1")
    for knob, value in {"policy": "autopilot", "window_tuples": 5000}.items():
        run.ask("knob", {"knob": knob, "value": value, "scope": recorded_filters.UNIT})
    for _ in range(60):
        run.write()
    run.close()
    with open_reader(str(path)) as reader:
        context = contexts.resolve(reader, Moment(run="r1"))
        scope = PanelScope(recorded_filters.UNIT, reader.units("r1", None))
        drivers = planlog.build_drivers(reader, context, scope)
        assert drivers is not None
        shares = {
            row.name: row.share for row in drivers.drivers.statistics if row.share is not None
        }
        assert set(shares) == {f"drop {name}" for name in recorded_filters.PRICES}
        assert shares["drop n_bytes"] == 1.0
        assert 1 / WHOLE_EVERY < shares["drop slow"] < 0.9
        sheet = Sheet(context, "dark")
        assert "· sampled " in str(planlog.draw_drivers(drivers, sheet).body)
        early = contexts.resolve(reader, Moment(run="r1", at=0))
        before = planlog.build_drivers(reader, early, scope)
        assert before is None or all(row.share in (None, 1.0) for row in before.drivers.statistics)


def test_shuffles_that_cancel_are_no_importance() -> None:
    """They left 1e-17, of which the longest bar was drawn, beside '0.0 %'."""
    statistics = np.random.default_rng(1).normal(size=(5, 40))
    plans = [str(i % 2) for i in range(5)]

    def predict(points: NDArray[np.float64]) -> list[str]:
        return [plans[i] if p > 0 else "" for i, p in enumerate(points.sum(axis=1))]

    falls = permutation_importance(statistics, plans, predict, 3)
    assert not any(0 < fall < 1e-3 for fall in falls)
