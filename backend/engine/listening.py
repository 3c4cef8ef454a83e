"""Queries over SysStream: a small network in this process, fed with what a batch recorded.

The samples of a batch enter with the one after it, so that a record never depends on itself. State
is in memory: of a run that goes on, windows over SysStream fill again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import pyarrow as pa

from backend.operators.contract import BatchResult, UnitResult
from backend.operators.network.homes import MemoryShard
from backend.operators.network.input_manager import Arrived
from backend.operators.network.job import NetworkJob
from backend.operators.network.shard import NetworkTask, run_shard
from backend.operators.network.shard_reports import merged_shards
from backend.systems.stream.sysstream import sys_tuples
from backend.workloads.sysstream import SYSSTREAM
from storage.vocabulary.records import Entity, Sample


class Listening:
    """Runs the networks that read SysStream (unit -> job), while there are any."""

    def __init__(self) -> None:
        self.networks: dict[str, NetworkJob] = {}
        self._waiting: dict[str, pa.Table] = {}
        self._listeners: dict[str, _Listener] = {}
        self._last = 0

    def joined(self, result: BatchResult) -> BatchResult:
        """The result of a batch, with what the networks made of the samples of the one before."""
        units = {}
        for unit, job in self.networks.items():
            listener = self._listeners.setdefault(unit, _Listener(unit))
            units[unit] = listener.ran(job, result.batch_id, self._waiting.pop(unit, None))
        return replace(result, units={**result.units, **units}) if units else result

    def recorded(
        self, samples: Iterable[Sample], entities: Callable[[], Mapping[str, Entity]], time: float
    ) -> None:
        """Samples of a batch; time: Unix seconds. Nothing is done when nobody listens."""
        if not self.networks:
            self._waiting, self._listeners = {}, {}
            return
        self._last, known, told = max(self._last, int(time)), entities(), list(samples)
        for unit in self.networks:
            self._waiting[unit] = sys_tuples(told, known, unit, self._last)


class _Listener:
    """A unit's network over SysStream, in shards of this process."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._shards: dict[int, MemoryShard] = {}
        #: The one that ran last, and the one before: state is of either.
        self._jobs: dict[str, NetworkJob] = {}
        self._version = "odd"

    def ran(self, job: NetworkJob, batch_id: int, told: pa.Table | None) -> UnitResult:
        """A batch. told: its tuples; None when the unit has just begun to listen."""
        if self._jobs.get(self._version) is not job:
            self._version = "even" if self._version == "odd" else "odd"
            self._jobs[self._version] = job
        arrived = {SYSSTREAM: [] if told is None else [Arrived(told)]}
        task = NetworkTask(self._unit, batch_id, job, self._version, frozenset(), "", "")
        reports = [
            run_shard(task, shard, self._home(shard), arrived, ()) for shard in range(job.n_shards)
        ]
        return merged_shards(reports).result

    def _home(self, shard: int) -> MemoryShard:
        return self._shards.setdefault(shard, MemoryShard(self._jobs.__getitem__))
