"""Networks that read what the run records: in this process, with state and sink as all others."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import pyarrow as pa

from backend.hosts.networks import Networks
from backend.hosts.publish import FolderSink
from backend.operators.contract import UnitResult
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.shards.homes import MemoryShard, ShardHome
from backend.operators.network.shards.shard import NetworkTask, run_shard
from backend.operators.network.shards.timed import Arrived

_NOTHING: Final[tuple[str, ...]] = ()


class Listener:
    """Runs them; see backend.engine.listening.RunsListening. networks: versions their jobs and
    publishes their answers; its places say where their state is."""

    def __init__(self, networks: Networks) -> None:
        self._networks = networks
        #: Units that ran in the last batch.
        self.ran: tuple[str, ...] = ()
        self._shards: dict[tuple[str, int], MemoryShard] = {}

    @property
    def sinks(self) -> Collection[FolderSink]:
        """Of the answers that were published."""
        return self._networks.sinks

    def run(
        self,
        batch_id: int,
        jobs: Mapping[str, NetworkJob],
        arrived: Mapping[str, pa.Table],
        taps: Mapping[str, frozenset[str]],
    ) -> dict[str, UnitResult]:
        """A batch: what each unit did. arrived: unit -> the tuples that are new to it; taps:
        as ``BatchPlan`` has them."""
        self.ran = tuple(jobs)
        self._shards = {key: shard for key, shard in self._shards.items() if key[0] in jobs}
        tasks = self._networks.tasks(batch_id, jobs, taps)
        reports = []
        for task in tasks:
            new = [Arrived(arrived[task.unit])] if task.unit in arrived else []
            inputs = {name: [*new] for name in task.job.streams}
            for shard in range(task.job.n_shards):
                reports.append(run_shard(task, shard, self._home(task, shard), inputs, _NOTHING))
        networks = self._networks.merge(reports)
        self._networks.publish(tasks, networks)
        return {unit: network.result for unit, network in networks.items()}

    def _home(self, task: NetworkTask, shard: int) -> ShardHome:
        places = self._networks.places
        if places is not None:
            return places.shard(task.unit, shard, task.job.n_shards)
        home = MemoryShard(self._networks.job)
        return self._shards.setdefault((task.unit, shard), home)

    def close(self) -> None:
        """Leave no staging folders behind."""
        self._networks.close()
