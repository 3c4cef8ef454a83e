"""Decisions of our own workloads, as stored, follow from their records alone."""

from __future__ import annotations

import time
from collections import defaultdict
from pathlib import Path

import pytest

from backend.workloads.shipped import shipped_workloads
from storage.vocabulary.records import Decision
from tests.shipped_runs import demo
from tests.systems.test_records import check

#: A run is stopped after so many decisions, or so many batches with one at least.
ENOUGH, BATCHES = 40, 100


def decisions(workload: str, store: Path) -> list[Decision]:
    """The first decisions of a run of it."""
    with demo(workload, store) as (run, reader):
        until = time.monotonic() + 300
        while time.monotonic() < until:
            n = reader.decision_counts(run).stored
            if n >= ENOUGH or (n and (reader.last_batch(run) or 0) >= BATCHES):
                break
            time.sleep(0.5)
        return [entry.decision for entry in reader.decisions(run, limit=10**6)]


@pytest.mark.slow
@pytest.mark.parametrize("workload", sorted(shipped_workloads()))
def test_decisions_of_a_shipped_workload_follow_from_their_records(
    workload: str, tmp_path: Path
) -> None:
    by_unit = defaultdict(list)
    for decision in decisions(workload, tmp_path / "s.db"):
        by_unit[decision.unit_id].append(decision)
    assert by_unit
    for of_unit in by_unit.values():
        check(of_unit)
