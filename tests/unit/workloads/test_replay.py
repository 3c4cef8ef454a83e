"""Replay sources, and the feeder that publishes them as files."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from backend.model.schema import Schema
from backend.workloads.contract import CORRUPT, arrow_schema, told_schema
from backend.workloads.drift import DRIFT_SCHEMA, Phase
from backend.workloads.file_source import FileSource
from backend.workloads.flights import FLIGHTS_SCHEMA
from backend.workloads.replay import (
    DriftSource,
    Feeder,
    FileTimes,
    FlightsSource,
    MemorySource,
    ReplaySource,
    mark_end,
    open_source,
    read_spooled,
)
from backend.workloads.spec import SourceSpec, StreamSpec
from tests.unit.workloads.feeding import SCHEMA, Speed, numbers, wait


def published(feeder: Feeder) -> pa.Table:
    """Everything published; checks the names of the files on the way."""
    tables = []
    n = 0
    for path in sorted(feeder.directory.glob("*.ipc")):
        assert path.name == f"{n:012d}.ipc"
        tables.append(read_spooled(path))
        n += tables[-1].num_rows
    return pa.concat_tables(tables)


@pytest.mark.parametrize(
    "make",
    [
        lambda cache: FlightsSource(cache),
        lambda cache: DriftSource(3, [Phase("uniform", 9000), Phase("bell", 500)]),
        lambda cache: MemorySource([[i, "a"] for i in range(50)] + [["x", "b"]], SCHEMA),
        lambda cache: numbers(100),
    ],
    ids=["flights", "drift", "memory", "table"],
)
def test_a_source_can_be_cut_anywhere(
    make: Callable[[Path], ReplaySource], flights_cache: Path
) -> None:
    source = make(flights_cache)
    n = source.n_tuples
    assert n is not None
    assert source.slice(0, 0).schema in (arrow_schema(source.schema), told_schema(source.schema))
    for start, count in ((0, 5), (n // 2, 7), (n - 3, 3)):
        parts = [source.slice(start + i, 1) for i in range(count)]
        assert pa.concat_tables(parts).to_pylist() == source.slice(start, count).to_pylist()
    assert source.slice(n - 3, 10).num_rows == 3
    assert source.slice(n, 10).num_rows == 0


def test_open_source_chooses_by_format(flights_cache: Path) -> None:
    def opened(source: SourceSpec, schema: Schema) -> ReplaySource | None:
        return open_source(StreamSpec("S", schema, source), flights_cache)

    narrow = Schema.parse("origin string, dep_delay int")
    flights = opened(SourceSpec("flights"), narrow)
    assert isinstance(flights, FlightsSource)
    assert flights.slice(0, 1).column_names == ["origin", "dep_delay", CORRUPT]
    phases = '[{"n_tuples": 5}]'
    drift = opened(SourceSpec("drift", {"phases": phases, "seed": "9"}), Schema.parse("a7 int"))
    assert isinstance(drift, DriftSource)
    assert (drift.seed, drift.n_tuples) == (9, 5)
    assert drift.slice(0, 5).column_names == ["a7", CORRUPT]
    memory = opened(SourceSpec("memory", {}, ([1, "a"], [2])), SCHEMA)
    assert memory is not None
    assert memory.slice(0, 9).column(CORRUPT).to_pylist() == [None, "[2]"]
    assert isinstance(opened(SourceSpec("csv", {"path": "/x"}), SCHEMA), FileSource)
    assert opened(SourceSpec("orc", {"path": "/x"}), SCHEMA) is None
    assert FLIGHTS_SCHEMA.names[0] == "sched_dep"
    assert DRIFT_SCHEMA.names[0] == "a1"


class Growing:
    """A source that has more from time to time, and says when there will be no more."""

    schema = SCHEMA

    def __init__(self) -> None:
        self.n_there, self.n_asked = 5, 0
        self.n_tuples: int | None = None

    def slice(self, start: int, count: int) -> pa.Table:
        self.n_asked += 1
        return numbers(100).slice(start, min(count, self.n_there - start))


def test_a_source_without_a_known_end_is_asked_again_and_not_all_the_time(
    feeders: Callable[..., Feeder],
) -> None:
    source = Growing()
    feeder = feeders(source, Speed(0))
    wait(lambda: feeder.published == 5)
    n_asked = source.n_asked
    time.sleep(0.2)
    assert 0 < source.n_asked - n_asked <= 15
    assert not feeder.finished
    source.n_there = 9
    wait(lambda: feeder.published == 9)
    source.n_tuples = 9
    wait(lambda: feeder.finished)
    assert published(feeder).column("id").to_pylist() == list(range(9))


def test_as_fast_as_possible_publishes_all_of_it_in_order(
    feeders: Callable[..., Feeder],
) -> None:
    source = MemorySource([[i, "a"] for i in range(95)] + [["x", "b"]] * 5, SCHEMA)
    feeder = feeders(source, Speed(0), slice_tuples=30)
    wait(lambda: feeder.finished)
    table = published(feeder)
    assert table.schema.remove_metadata() == told_schema(SCHEMA)
    assert table.column("id").to_pylist() == [*range(95), *[None] * 5]
    assert table.column(CORRUPT).to_pylist() == [None] * 95 + ['["x", "b"]'] * 5
    assert (feeder.published, feeder.backlog) == (100, 100)
    files = sorted(feeder.directory.iterdir())
    assert [file.name[:12] for file in files] == [f"{n:012d}" for n in (0, 30, 60, 90)]
    times = [file.stat().st_mtime_ns // 1_000_000 for file in files]
    assert times == sorted(set(times))


def test_backpressure_holds_the_race_until_tuples_are_consumed(
    feeders: Callable[..., Feeder],
) -> None:
    feeder = feeders(numbers(1000), Speed(0), slice_tuples=40, ahead_tuples=100)
    wait(lambda: feeder.published == 100)
    time.sleep(0.1)
    assert feeder.published == 100
    feeder.consumed_to(70)
    wait(lambda: feeder.published == 170)
    feeder.consumed_to(970)
    wait(lambda: feeder.finished)
    assert (feeder.published, feeder.backlog) == (1000, 30)


def test_while_a_batch_runs_the_next_one_is_made_and_no_more(
    feeders: Callable[..., Feeder],
) -> None:
    feeder = feeders(numbers(1000), Speed(0), slice_tuples=40, ahead_tuples=100)
    wait(lambda: feeder.published == 100)
    for _ in range(3):
        begun = feeder.published
        feeder.batch_begins()
        wait(lambda: feeder.backlog == 200)
        time.sleep(0.05)
        assert (feeder.published, feeder.backlog) == (begun + 100, 200)
        feeder.consumed_to(begun)
    feeder.keep_ahead(500)
    wait(lambda: feeder.published == 800)
    assert feeder.backlog == 500


def test_the_rate_is_kept_and_may_be_changed_while_running(
    feeders: Callable[..., Feeder],
) -> None:
    speed = Speed(200)
    begun = time.monotonic()
    feeder = feeders(numbers(10**5), speed)
    wait(lambda: feeder.published >= 60)
    assert feeder.published <= 200 * (time.monotonic() - begun) + 1
    speed.rate = 5000
    slow, begun = feeder.published, time.monotonic()
    wait(lambda: feeder.published >= slow + 500)
    assert time.monotonic() - begun < 2.4  # at 200 a second it would take 2.5
    speed.rate = 0.5
    time.sleep(0.05)
    before = feeder.published
    time.sleep(0.2)
    assert feeder.published - before <= 1


def test_a_rate_below_one_per_tick_adds_up(feeders: Callable[..., Feeder]) -> None:
    begun = time.monotonic()
    feeder = feeders(numbers(100), Speed(20))
    wait(lambda: feeder.published >= 5)
    assert feeder.published <= 20 * (time.monotonic() - begun) + 1


def test_the_end_stops_until_it_is_told_to_loop(feeders: Callable[..., Feeder]) -> None:
    speed = Speed(0, "stop")
    feeder = feeders(numbers(10), speed, ahead_tuples=25, slice_tuples=4)
    wait(lambda: feeder.finished)
    assert feeder.published == 10
    speed.at_end = "loop"
    wait(lambda: feeder.published == 25)
    assert not feeder.finished
    speed.at_end = "stop"
    feeder.consumed_to(25)
    wait(lambda: feeder.finished)
    assert published(feeder).column("id").to_pylist() == [*range(10)] * 3


def test_an_empty_source_is_finished_at_once(feeders: Callable[..., Feeder]) -> None:
    feeder = feeders(numbers(0), Speed(0, "loop"))
    wait(lambda: feeder.finished)
    assert feeder.published == 0


def test_it_goes_on_from_a_given_arrival_number(feeders: Callable[..., Feeder]) -> None:
    feeder = feeders(numbers(10), Speed(0), start=7)
    wait(lambda: feeder.finished)
    (path,) = feeder.directory.iterdir()
    assert path.name == f"{7:012d}.ipc"
    assert read_spooled(path).column("id").to_pylist() == [7, 8, 9]


def test_files_are_deleted_when_what_came_behind_them_was_taken_too(
    feeders: Callable[..., Feeder],
) -> None:
    feeder = feeders(numbers(100), Speed(0), slice_tuples=10)
    wait(lambda: feeder.finished)
    for taken, first in ((55, 0), (0, 0), (70, 50), (70, 50), (100, 70)):
        feeder.consumed_to(taken)
        assert sorted(p.name for p in feeder.directory.iterdir())[0] == f"{first:012d}.ipc"
    assert feeder.backlog == 0


def test_it_goes_on_behind_what_a_killed_process_published(
    feeders: Callable[..., Feeder],
) -> None:
    first = feeders(numbers(100), Speed(0), slice_tuples=10, ahead_tuples=35)
    wait(lambda: first.published == 35)
    first.stop()
    last_change = max(path.stat().st_mtime_ns for path in first.directory.iterdir())
    half = first.directory / f".{35:012d}.ipc"
    half.write_bytes(b"PAR1")
    second = feeders(numbers(100), Speed(0), slice_tuples=40, start=20)
    wait(lambda: second.finished)
    assert published(second).column("id").to_pylist() == list(range(100))
    assert not half.exists()
    assert second.backlog == 80
    later = [path for path in second.directory.iterdir() if int(path.stem) >= 35]
    assert all(path.stat().st_mtime_ns > last_change for path in later)


def test_files_grow_later_when_the_clock_is_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes them, and also behind those of a process that has ended."""
    clock, set_back_s = time.time_ns, [0, 3600, 7200, 7200]
    files: list[Path] = []
    times = FileTimes(tmp_path)
    for number, back_s in enumerate(set_back_s):
        monkeypatch.setattr(time, "time_ns", lambda back_s=back_s: clock() - back_s * 10**9)
        mark_end(tmp_path, "AB"[number % 2], times if number < 3 else FileTimes(tmp_path))
        files += set(tmp_path.iterdir()) - set(files)
    changed = [file.stat().st_mtime_ns for file in files]
    assert len(changed) == 4
    assert changed == sorted(set(changed))


def test_a_reader_never_sees_half_a_file(feeders: Callable[..., Feeder]) -> None:
    feeder = feeders(DriftSource(1, [Phase("uniform", 60_000)]), Speed(0), slice_tuples=2000)
    seen: set[str] = set()
    while not feeder.finished:
        for path in feeder.directory.glob("0*.ipc"):
            if path.name not in seen:
                assert read_spooled(path).num_rows == 2000
                seen.add(path.name)


def test_stop_is_prompt_and_leaves_no_thread(feeders: Callable[..., Feeder]) -> None:
    feeder = feeders(numbers(10**5), Speed(10))
    begun = time.monotonic()
    feeder.stop()
    assert time.monotonic() - begun < 1
    assert not any(thread.name == "feeder" for thread in threading.enumerate())
    feeder.stop()
