"""How a feeder ends: errors, the end of its source, and going on after it."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from backend.workloads.replay import (
    Feeder,
)
from tests.unit.workloads.feeding import Speed, numbers, wait


def test_an_error_ends_the_thread_and_is_kept(tmp_path: Path) -> None:
    feeder = Feeder(numbers(10), tmp_path, lambda: 1 / 0, lambda: "stop")
    feeder.start()
    wait(lambda: feeder.error is not None)
    assert isinstance(feeder.error, ZeroDivisionError)
    feeder.stop()


def test_an_error_is_seen_when_the_end_was_told_and_where_it_could_not_be_it_is_later(
    tmp_path: Path,
) -> None:
    spool, errors = tmp_path / "spool", list[Exception | None]()

    def marks_end() -> bool:
        errors.append(feeder.error)
        return True

    feeder = Feeder(numbers(10), spool, lambda: 1 / 0, lambda: "stop", marks_end=marks_end)
    feeder.start()
    wait(lambda: feeder.error is not None)
    feeder.stop()
    assert errors[0] is None
    assert [path.name for path in spool.iterdir()] == [f"{0:012d}.end"]
    shutil.rmtree(spool)
    feeder = Feeder(numbers(10), spool, lambda: gone(spool), lambda: "stop", marks_end=lambda: True)
    feeder.start()
    wait(lambda: feeder.error is not None)
    spool.mkdir()
    wait(lambda: bool(list(spool.glob("*.end"))))
    feeder.stop()


def test_a_feeder_has_failed_when_nothing_of_it_can_be_taken_any_more(tmp_path: Path) -> None:
    rates = iter([0.0, 0.0])  # then it raises
    feeder = Feeder(numbers(10), tmp_path, lambda: next(rates), lambda: "stop")
    feeder.start()
    wait(lambda: feeder.error is not None)
    assert feeder.backlog == 10
    assert not feeder.failed
    for path in tmp_path.iterdir():
        path.unlink()
    assert feeder.failed
    feeder.stop()


def test_a_feeder_whose_end_was_told_has_not_failed(tmp_path: Path) -> None:
    feeder = Feeder(numbers(10), tmp_path, lambda: 1 / 0, lambda: "stop", marks_end=lambda: True)
    feeder.start()
    wait(lambda: feeder.error is not None)
    assert not feeder.failed
    feeder.stop()


def gone(folder: Path) -> float:
    """As on a disk that takes nothing any more."""
    folder.rmdir()
    raise OSError(28, "No space left on device")


def test_an_end_is_told_once_where_that_is_wanted(feeders: Callable[..., Feeder]) -> None:
    speed, wanted = Speed(0, "stop"), threading.Event()
    feeder = feeders(numbers(10), speed, marks_end=wanted.is_set)
    wait(lambda: feeder.finished)
    ends = feeder.directory.glob
    time.sleep(0.1)
    assert not list(ends("*.end"))
    wanted.set()
    wait(lambda: bool(list(ends("*.end"))))
    time.sleep(0.1)
    assert [path.name for path in ends("*.end")] == [f"{10:012d}.end"]
    last = max(feeder.directory.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    assert last.suffix == ".end"
    speed.at_end = "loop"
    wait(lambda: feeder.published > 30)
    speed.at_end = "stop"
    wait(lambda: (feeder.directory / f"{feeder.published:012d}.end").exists())
    assert len(list(ends("*.end"))) == 2


def test_the_end_that_a_killed_process_told_is_not_told_again(
    feeders: Callable[..., Feeder],
) -> None:
    first = feeders(numbers(10), Speed(0), marks_end=lambda: True)
    wait(lambda: bool(list(first.directory.glob("*.end"))))
    first.stop()
    told = (first.directory / f"{10:012d}.end").stat().st_mtime_ns
    second = feeders(numbers(10), Speed(0), marks_end=lambda: True)
    wait(lambda: second.finished)
    time.sleep(0.1)
    assert (first.directory / f"{10:012d}.end").stat().st_mtime_ns == told


def test_what_was_passed_over_before_a_kill_stays_so(
    feeders: Callable[..., Feeder], tmp_path: Path
) -> None:
    """A pause is marked where it began to be noticed, which may be before any batch."""
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / f"{8:012d}.end").write_text("end")
    feeder = feeders(numbers(20), Speed(0), marks_end=lambda: True)
    wait(lambda: feeder.finished)
    (path,) = feeder.directory.glob("*.ipc")
    assert path.name == f"{8:012d}.ipc"
    wait(lambda: (feeder.directory / f"{20:012d}.end").exists())


@pytest.mark.parametrize("rate", [0, 100_000])
def test_no_more_waits_than_the_limit_allows(feeders: Callable[..., Feeder], rate: float) -> None:
    limit: list[int | None] = [30]
    feeder = feeders(numbers(1000), Speed(rate), slice_tuples=8, limit=lambda: limit[0])
    wait(lambda: feeder.published == 30)
    time.sleep(0.1)
    assert feeder.published == 30
    feeder.consumed_to(16)
    wait(lambda: feeder.published == 46)
    limit[0] = 0
    feeder.consumed_to(46)
    time.sleep(0.1)
    assert feeder.published == 46
    limit[0] = None
    wait(lambda: feeder.finished)
    assert feeder.published == 1000
