"""Queries over SysStream and SysPlanLog: networks fed with what a batch recorded.

The record of a batch enters with the one after it, so that a record never depends on itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

import pyarrow as pa

from backend.operators.contract import BatchResult, UnitResult
from backend.operators.network.core.job import NetworkJob
from backend.systems.stream.sysstream import RecordedBatch, sys_tuples
from storage.vocabulary.records import BatchRecord, Entity


class RunsListening(Protocol):
    """Runs networks that read what the run records, beside those of the host."""

    def run(
        self,
        batch_id: int,
        jobs: Mapping[str, NetworkJob],
        arrived: Mapping[str, pa.Table],
        taps: Mapping[str, frozenset[str]],
    ) -> dict[str, UnitResult]:
        """A batch: what each unit did, its answers published. arrived: unit -> the tuples that are
        new to it; taps: as ``BatchPlan`` has them. A batch that comes again replaces what it did
        before."""


class Listening:
    """Feeds the networks that read what the run records (unit -> job), while there are any. taps:
    theirs among others. listener: runs them; None: they do not run."""

    def __init__(self) -> None:
        self.networks: dict[str, NetworkJob] = {}
        self.taps: Mapping[str, frozenset[str]] = {}
        self.listener: RunsListening | None = None
        self._waiting: dict[str, pa.Table] = {}
        self._last = self._ahead = 0.0  # the time of day, and what these streams are ahead of it

    def joined(self, result: BatchResult) -> BatchResult:
        """The result of a batch, with what the networks made of the record of the one before."""
        if not self.networks or self.listener is None:
            return result
        waiting, self._waiting = self._waiting, {}
        units = self.listener.run(result.batch_id, self.networks, waiting, self.taps)
        return replace(result, units={**result.units, **units})

    def recorded(
        self, record: BatchRecord, entities: Callable[[], Mapping[str, Entity]], started_at: float
    ) -> None:
        """The record of a batch; started_at: when the run began, Unix seconds. Nothing is done when
        nobody listens. Where the clock is put back, the time of these streams goes on from where it
        was."""
        time = record.batch.time
        self._ahead, self._last = self._ahead + max(0.0, self._last - time), time
        if not self.networks:
            self._waiting = {}
            return
        batch, seconds = RecordedBatch(record, entities(), started_at), int(time + self._ahead)
        for unit, job in self.networks.items():
            (stream,) = job.streams
            self._waiting[unit] = sys_tuples(stream, batch, unit, seconds)
