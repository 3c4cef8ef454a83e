"""Queries over SysStream: a small network in this process, fed with what a batch recorded.

The samples of a batch enter with the one after it, so that a record never depends on itself. State
is in memory: of a run that goes on, windows over SysStream fill again.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import pyarrow as pa

from backend.operators.contract import BatchResult, UnitResult
from backend.operators.network.homes import MemoryShard
from backend.operators.network.input_manager import Arrived
from backend.operators.network.job import NetworkJob
from backend.operators.network.shard import NetworkTask, run_shard
from backend.systems.stream.sysstream import sys_tuples
from backend.workloads.sysstream import SYSSTREAM
from storage.vocabulary.records import Entity, Sample


class Listening:
    """Runs the networks that read SysStream (unit -> job), while there are any."""

    def __init__(self) -> None:
        self.networks: dict[str, NetworkJob] = {}
        self._waiting: dict[str, pa.Table] = {}
        self._shards: dict[str, MemoryShard] = {}
        self._jobs: dict[str, NetworkJob] = {}
        self._last = 0

    def joined(self, result: BatchResult) -> BatchResult:
        """The result of a batch, with what the networks made of the samples of the one before."""
        units = {unit: self._ran(unit, job, result.batch_id) for unit, job in self.networks.items()}
        return replace(result, units={**result.units, **units}) if units else result

    def recorded(
        self, samples: Iterable[Sample], entities: Callable[[], Mapping[str, Entity]], time: float
    ) -> None:
        """Samples of a batch; time: Unix seconds. Nothing is done when nobody listens."""
        if not self.networks:
            self._waiting, self._shards = {}, {}
            return
        self._last, known, told = max(self._last, int(time)), entities(), list(samples)
        for unit in self.networks:
            self._waiting[unit] = sys_tuples(told, known, unit, self._last)

    def _ran(self, unit: str, job: NetworkJob, batch_id: int) -> UnitResult:
        """A batch of a unit; without samples when it has just begun to listen."""
        version = hashlib.sha256(pickle.dumps(job.plan)).hexdigest()[:16]
        self._jobs[version] = job
        home = self._shards.setdefault(unit, MemoryShard(self._jobs.__getitem__))
        told = self._waiting.pop(unit, None)
        arrived = {SYSSTREAM: [] if told is None else [Arrived(told)]}
        task = NetworkTask(unit, batch_id, job, version, frozenset(), "", "")
        report = run_shard(task, 0, home, arrived, ())
        matched = {query: n for query, n in report.network.answers.items() if n}
        return UnitResult(report.n_tuples, sum(matched.values()), matched, report.network)
