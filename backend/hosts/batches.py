"""From a batch's plan to its tasks' job, and from their reports to its result: on every host."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from backend.hosts.contract import InputSource
from backend.hosts.publish import StreamSink
from backend.operators.contract import BatchPlan, BatchResult, InputResult, UnitResult
from backend.operators.reports import Merged, TaskReport, merged
from backend.operators.task import TaskInput, TaskJob
from backend.workloads.spec import SinkSpec

#: Seeds what is sampled; results do not depend on it.
SEED = 1


class Batches:
    """The batches of a run: what its tasks do, and the sink their results are published to.

    sink: its path is the run's own folder.
    """

    def __init__(self, inputs: Sequence[InputSource], sink: SinkSpec) -> None:
        self._inputs, self._spec = tuple(inputs), sink
        self._sinks = {
            one.name: StreamSink(sink.path, sink.format, one.name, one.stream.schema, sink.compact)
            for one in inputs
            if sink.path
        }

    def job(self, plan: BatchPlan) -> TaskJob:
        """What the tasks of a batch have in common."""
        inputs = {
            one.name: TaskInput(
                number, one.stream.schema, one.stream.timestamp, plan.operators.get(one.name, {})
            )
            for number, one in enumerate(self._inputs)
        }
        return TaskJob(plan.batch_id, SEED, inputs, self._spec.path or "", self._spec.format)

    def merge(self, job: TaskJob, told: Sequence[bytes]) -> dict[str, Merged]:
        """By input what the tasks took from it."""
        tasks = [TaskReport.unpacked(data) for data in told]
        return {
            name: merged(tasks, name, one.schema, one.timestamp, one.operators)
            for name, one in job.inputs.items()
        }

    def publish(self, job: TaskJob, found: Mapping[str, Merged]) -> None:
        """Put the files of the batch into place, once and for all."""
        for name, sink in self._sinks.items():
            if job.inputs[name].operators or found[name].parts:
                sink.publish(job.batch_id, found[name].parts)

    def close(self) -> None:
        """Leave no staging folders behind."""
        for sink in self._sinks.values():
            sink.close()


class Timings:
    """What the parts of a batch took."""

    def __init__(self) -> None:
        self._last = self._started = time.perf_counter()
        self.ms: dict[str, float] = {}

    def lap(self, part: str) -> None:
        """The part is over."""
        now = time.perf_counter()
        self.ms[part] = (now - self._last) * 1e3
        self._last = now

    @property
    def total_ms(self) -> float:
        """Since the batch began."""
        return (time.perf_counter() - self._started) * 1e3


def batch_result(
    batch_id: int,
    found: Mapping[str, Merged],
    facts: Mapping[str, Mapping[str, object]],
    timings: Timings,
) -> BatchResult:
    """The result of a batch. facts: what the host knows of an input: backlog_tuples, failure,
    ended."""
    inputs: dict[str, InputResult] = {
        name: replace(one.result, **facts.get(name, {}))  # type: ignore[arg-type]  # by name
        for name, one in found.items()
    }
    units: dict[str, UnitResult] = {}
    for one in found.values():
        units |= one.units
    return BatchResult(batch_id, inputs, units, timings.total_ms, timings.ms)
