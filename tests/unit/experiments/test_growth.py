"""What the bench of growth measures: the store by the minute, and an export of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.workloads.spec import load_workload, shipped_workloads
from bench import growth


def test_the_store_grows_minute_by_minute_and_an_export_is_what_its_tables_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growth, "_BATCHES_A_MINUTE", 15)
    hour = growth.measured(load_workload(shipped_workloads()["drift"]), 3, tmp_path)
    assert len(hour.by_minute) == 4
    assert hour.by_minute == sorted(hour.by_minute)
    assert 0 < hour.packed < hour.plain < hour.by_minute[-1]
    sizes = dict(hour.tables)
    assert sum(sizes.values()) <= hour.plain
    grows = [name for name, _ in hour.tables if name != "results"]  # those are as many for ever
    assert grows[0] == "samples"
