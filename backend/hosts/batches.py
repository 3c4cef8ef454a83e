"""From a batch's plan to its tasks' job, and from their reports to its result: on every host."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from backend.hosts.compact import compact_one
from backend.hosts.contract import InputSource
from backend.hosts.late import with_late
from backend.hosts.listening import Listener
from backend.hosts.networks import HostJob, Networks
from backend.hosts.publish import FolderSink
from backend.operators.contract import BatchPlan, BatchResult, InputResult, UnitResult
from backend.operators.network.shards.redo_log import Pack
from backend.operators.network.shards.shard import Places
from backend.operators.network.shards.shard_reports import MergedShards, ShardReport
from backend.operators.parts import sink_schema
from backend.operators.reports import Merged, TaskReport, merged
from backend.operators.task import TaskInput, TaskJob, stream_folder
from backend.workloads.spec import SinkSpec
from storage.vocabulary.kinds import Phase

#: Seeds what is sampled; results do not depend on it.
SEED = 1


@dataclass(frozen=True)
class BatchFound:
    """What a batch came to: by input, and by unit with a network. partitions: tuples by task."""

    inputs: Mapping[str, Merged]
    networks: Mapping[str, MergedShards]
    partitions: tuple[int, ...]


class Batches:
    """The batches of a run: what its tasks do, and the sink their results are published to.

    sink: its path is the run's own folder. places: where networks keep state, None: in memory;
    pack: pickles their jobs for that.
    """

    def __init__(
        self,
        inputs: Sequence[InputSource],
        sink: SinkSpec,
        places: Places | None = None,
        pack: Pack = pickle.dumps,
    ) -> None:
        self._inputs, self._spec = tuple(inputs), sink
        self.networks = Networks(inputs, sink, places, pack)
        #: Runs the networks that read SysStream.
        self.listener = Listener(Networks((), sink, places, pack))
        self._sinks = {
            input.name: FolderSink(
                stream_folder(sink.path, input.name),
                sink.format,
                sink_schema(input.stream.schema),
                sink.compact,
                sink.durable,
            )
            for input in inputs
            if sink.path
        }

    def job(self, plan: BatchPlan) -> HostJob:
        """What the tasks of a batch have in common."""
        inputs = {
            input.name: TaskInput(
                number,
                input.stream.schema,
                input.stream.timestamp,
                plan.operators.get(input.name, {}),
            )
            for number, input in enumerate(self._inputs)
        }
        tasks = TaskJob(plan.batch_id, SEED, inputs, self._spec.path or "", self._spec.format)
        networks = self.networks.tasks(plan.batch_id, plan.networks, plan.taps)
        return HostJob(tasks, networks, self.networks.places)

    def merge(self, job: HostJob, packed: Sequence[bytes]) -> BatchFound:
        """What the tasks did. packed: reports of tasks and of shards, in any order."""
        reports = [pickle.loads(data) for data in packed]
        tasks = [report for report in reports if isinstance(report, TaskReport)]
        networks = self.networks.merge(
            [report for report in reports if isinstance(report, ShardReport)]
        )
        inputs = {
            name: merged(tasks, name, input.schema, input.timestamp, input.operators)
            for name, input in job.tasks.inputs.items()
        }
        tasks.sort(key=lambda report: report.partition)
        partitions = tuple(task.n_rows for task in tasks)
        return BatchFound(with_late(job, inputs, networks), networks, partitions)

    def publish(self, job: HostJob, batch: BatchFound) -> None:
        """Put the files of the batch into place, once and for all."""
        for name, sink in self._sinks.items():
            own = batch.inputs[name]
            if job.tasks.inputs[name].operators or own.parts or own.unwanted:
                sink.publish(job.tasks.batch_id, own.parts, own.unwanted)
        self.networks.publish(job.networks, batch.networks)
        sinks = (*self._sinks.values(), *self.networks.sinks, *self.listener.sinks)
        compact_one([sink.compactor for sink in sinks if sink.compactor], job.tasks.batch_id)

    def close(self) -> None:
        """Leave no staging folders behind."""
        for sink in self._sinks.values():
            sink.close()
        self.networks.close()
        self.listener.close()


#: What follows a part of a batch.
_PHASES: Final[Mapping[str, Phase]] = {"plan_ms": "its job runs", "job_ms": "results are written"}


class Timings:
    """What the parts of a batch took. begins: is told which one begins."""

    def __init__(self, begins: Callable[[Phase], None] = lambda phase: None) -> None:
        self._last = self._started = time.perf_counter()
        self.ms: dict[str, float] = {}
        self._begins = begins
        begins("the batch is planned")

    def lap(self, part: str) -> None:
        """The part is over."""
        now = time.perf_counter()
        self.ms[part] = (now - self._last) * 1e3
        self._last = now
        if part in _PHASES:
            self._begins(_PHASES[part])

    @property
    def total_ms(self) -> float:
        """Since the batch began."""
        return (time.perf_counter() - self._started) * 1e3


def batch_result(
    batch_id: int,
    batch: BatchFound,
    facts: Mapping[str, Mapping[str, object]],
    timings: Timings,
) -> BatchResult:
    """The result of a batch. facts: what the host knows of an input: backlog_tuples, failure,
    ended, rounds."""
    inputs: dict[str, InputResult] = {
        name: replace(input.result, **facts.get(name, {}))  # type: ignore[arg-type]  # by name
        for name, input in batch.inputs.items()
    }
    units: dict[str, UnitResult] = {
        unit: network.result for unit, network in batch.networks.items()
    }
    for input in batch.inputs.values():
        units |= input.units
    return BatchResult(batch_id, inputs, units, timings.total_ms, timings.ms, batch.partitions)
