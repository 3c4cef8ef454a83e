"""How much a run adds to the introspection store in an hour, and what an export of it takes.

Live batches of the shipped demos at five a second, an hour of them, with made-up times and the
upkeep an engine does every minute; no Spark. Bytes, not speeds: what else runs does not matter.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from sqlite3 import connect
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from backend.hosts.contract import InputSource
from backend.hosts.local import LocalHost
from backend.workloads.sources import open_source
from backend.workloads.spec import SinkSpec, Workload, load_workload, shipped_workloads
from bench.fastpath_lanes import Noted
from storage.tables.database import open_for_writing, parse_url
from storage.tables.migrations import prepare
from storage.vocabulary.records import BatchRecord
from storage.writer import EngineWriter

WORKLOADS: Final = ("flights", "drift")
BATCHES_PER_S: Final = 5
#: Rolled up so soon that an hour shows what later hours of a long run take.
KEPT_S: Final = 300.0
MINUTES: Final = 60
EXPORT: Final = "export.planwatch"
_BATCHES_A_MINUTE: Final = 60 * BATCHES_PER_S
_MB: Final = 1e6
#: Tables and indexes that are listed.
_LISTED: Final = 8


class Dated(EngineWriter):
    """A writer whose batches come five a second. start: Unix s of the first."""

    n_batches = 0
    start = time.time()

    @property
    def now(self) -> float:
        """When the newest batch ended (Unix s)."""
        return self.start + self.n_batches / BATCHES_PER_S

    def write_batch(self, record: BatchRecord) -> bool:
        """As every batch is written, at its time."""
        if record.batch.id is not None:
            self.n_batches = record.batch.id + 1
        return super().write_batch(replace(record, batch=replace(record.batch, time=self.now)))


class Hour(NamedTuple):
    """Bytes of the store by the minute, from its beginning; of the export, plain and packed; of
    tables and indexes of the export."""

    by_minute: list[int]
    plain: int
    packed: int
    tables: list[tuple[str, int]]


def main() -> None:
    """Print a table for each workload."""
    for name in WORKLOADS:
        workload = load_workload(shipped_workloads()[name])
        with TemporaryDirectory() as folder:
            _print(name, measured(workload, MINUTES, Path(folder)))


def measured(workload: Workload, minutes: int, folder: Path, kept_s: float = KEPT_S) -> Hour:
    """A run of a workload with one stream for so many minutes of its own time, left in ``folder``
    as a store and as an export; kept_s: how long raw values stay."""
    (stream,) = workload.streams
    source = open_source(stream, folder / "cache")
    assert source is not None
    path = folder / "store.db"
    address = parse_url(str(path))
    engine = open_for_writing(address, create=True)
    prepare(engine, str(path))
    with closing(Dated(engine, str(path))) as writer:
        input = InputSource(stream, source)
        loop = Noted(workload, input, folder, writer)
        host = LocalHost(loop, [input], SinkSpec(None), int((stream.rate or 1000) / BATCHES_PER_S))
        by_minute = [*_minutes(host, loop, writer, minutes, kept_s)]
        host.close()
        for name in (EXPORT, f"{EXPORT}.gz"):
            writer.export_run(loop.run.id, folder / name)
    plain, packed = ((folder / name).stat().st_size for name in (EXPORT, f"{EXPORT}.gz"))
    return Hour(by_minute, plain, packed, _tables(folder / EXPORT))


def _minutes(
    host: LocalHost, loop: Noted, writer: Dated, minutes: int, kept_s: float
) -> Iterator[int]:
    """The size of the store after each, tidied."""
    yield writer.n_bytes or 0
    for _ in range(minutes):
        for _ in range(_BATCHES_A_MINUTE):
            assert host.step()
        loop.results.clear()
        writer.retention(loop.run.id, writer.now, keep_raw_s=kept_s)
        while writer.give_back():
            pass
        yield writer.n_bytes or 0


def _tables(path: Path) -> list[tuple[str, int]]:
    """Bytes of tables and indexes, most first."""
    with closing(connect(path)) as connection:
        sql = "SELECT name, sum(pgsize) AS size FROM dbstat GROUP BY name ORDER BY size DESC"
        return [(name, size) for name, size in connection.execute(sql)]


def _print(name: str, hour: Hour) -> None:
    n_raw = int(KEPT_S) // 60
    first, last = hour.by_minute[1], hour.by_minute[-1]  # the log is as large as it gets by then
    early = (hour.by_minute[n_raw] - first) / (n_raw - 1) * 60
    middle = len(hour.by_minute) // 2
    late = (last - hour.by_minute[middle]) / (len(hour.by_minute) - 1 - middle) * 60
    n_batches = (len(hour.by_minute) - 1) * _BATCHES_A_MINUTE
    print(f"\n{name}: {n_batches} batches, {BATCHES_PER_S} a second")
    for words, size in (
        ("before anything is rolled up, an hour", early),
        ("later, an hour", late),
        ("store after the run, with its log", last),
        ("export", hour.plain),
        ("export, packed", hour.packed),
    ):
        print(f"  {words:40}{size / _MB:8.1f} MB")
    for table, size in hour.tables[:_LISTED]:
        print(f"    {table:38}{size / n_batches:8.0f} bytes a batch of the export")
