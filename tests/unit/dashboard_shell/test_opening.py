"""What a page opens on, while a run is being started and otherwise."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from backend.workloads.shipped import shipped_workloads
from backend.workloads.spec import load_workload
from dashboard.base.opening import Opening, build_opening, default_run
from run import RECORDING, RECORDINGS, begin_store
from storage.errors import StoreMissing
from storage.exchange import recordings
from storage.exchange.recordings import lay_recording
from storage.store import open_reader
from storage.vocabulary.openings import about_of, opens_at
from storage.vocabulary.records import Run
from tests.unit.dashboard_shell.samples import run

OLD, NEW = run("old", "ended", 1.0), run("new", "ended", 5.0)
STARTING, RUNNING = run("starting", "starting", 9.0), run("running", "running", 8.0)


def opening(runs: list[Run], empty: set[str], awaits_since: float | None = None) -> Opening:
    return build_opening(runs, lambda run_id: run_id not in empty, awaits_since)


def chosen(runs: list[Run], empty: set[str]) -> Run | None:
    return default_run(runs, lambda run_id: run_id not in empty)


def test_the_default_run_is_one_with_something_to_see() -> None:
    assert chosen([OLD, NEW, STARTING, RUNNING], set()) is STARTING
    assert chosen([OLD, NEW, STARTING, RUNNING], {"starting"}) is RUNNING
    assert chosen([OLD, NEW, STARTING], {"starting"}) is NEW
    assert chosen([OLD, NEW, STARTING], {"starting", "new"}) is OLD
    assert chosen([OLD, STARTING], {"starting", "old"}) is STARTING
    assert chosen([], set()) is None


def test_a_recording_plays_only_while_a_run_is_awaited() -> None:
    assert opening([OLD, NEW], set()) == Opening()
    assert opening([OLD, NEW], set(), awaits_since=7.0) == Opening(recording="new")
    assert opening([OLD, NEW, STARTING], {"starting"}) == Opening(recording="new")
    assert opening([OLD, NEW, STARTING], set()) == Opening(live="starting")
    assert opening([NEW, STARTING], {"starting", "new"}, 7.0) == Opening()
    assert opening([], set(), 7.0) == Opening()


def test_a_run_that_came_and_went_is_awaited_no_longer() -> None:
    failed = run("failed", "failed", 8.0)
    assert opening([OLD, failed], {"failed"}, awaits_since=7.0) == Opening()


def test_a_new_store_begins_with_the_recording_and_an_old_one_is_left_alone(tmp_path: Path) -> None:
    store = tmp_path / "new" / "runs.db"
    assert lay_recording(RECORDING, f"sqlite:///{store}")
    with open_reader(str(store)) as reader:
        (recorded,) = reader.runs()
        n_batches = reader.last_batch(recorded.id)
        plans = reader.plans(recorded.id)
    assert recorded.state == "ended"
    assert n_batches is not None
    assert n_batches > 40
    assert len(plans) > 5, "something happens in it"
    before = store.read_bytes()
    assert not lay_recording(RECORDING, str(store))
    assert store.read_bytes() == before
    assert not lay_recording(RECORDING, "postgresql://me@host/name")
    with pytest.raises(StoreMissing, match="nowhere"):
        lay_recording(tmp_path / "nowhere", str(tmp_path / "other.db"))
    assert [path.name for path in store.parent.iterdir()] == ["runs.db"]


ALL_RECORDINGS = sorted((*RECORDINGS.glob("*.gz"), *RECORDINGS.glob("*.xz")))


@pytest.mark.parametrize("path", ALL_RECORDINGS, ids=lambda path: path.name)
def test_a_recording_is_of_a_shipped_workload_and_opens_where_a_plan_has_changed(
    path: Path, tmp_path: Path
) -> None:
    workload = path.name.partition(".")[0]
    assert lay_recording(path, str(tmp_path / "runs.db"))
    with open_reader(str(tmp_path / "runs.db")) as reader:
        (recorded,) = reader.runs()
        last, at = reader.last_batch(recorded.id), opens_at(recorded)
        assert any(plan.batch <= (at or 0) for plan in reader.plans(recorded.id)[1:])
    assert recorded.workload == workload
    assert recorded.host == "recorded"
    assert about_of(recorded) == load_workload(shipped_workloads()[workload]).about
    assert 0 < (at or 0) <= (last or 0)


@pytest.mark.parametrize("reads_xz", [True, False])
def test_a_demo_begins_with_the_recording_of_its_workload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reads_xz: bool
) -> None:
    monkeypatch.setattr(recordings, "READS_XZ", reads_xz)
    for workload in (None, "joins", "temporal"):
        plays = workload if workload and reads_xz else "flights"
        options = argparse.Namespace(workload=workload, store=str(tmp_path / f"{workload}.db"))
        begin_store(options)
        with open_reader(options.store) as reader:
            assert [run.workload for run in reader.runs()] == [plays]


def test_the_recordings_are_small() -> None:
    assert sum(path.stat().st_size for path in ALL_RECORDINGS) <= 4_700_000
