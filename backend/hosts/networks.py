"""The networks of a batch: tasks of their shards, and what their reports come to."""

from __future__ import annotations

import logging
import pickle
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from backend.hosts.contract import InputSource
from backend.hosts.publish import FolderSink
from backend.model.schema import Attribute
from backend.operators.network.core.contract import Watch
from backend.operators.network.core.job import NetworkJob
from backend.operators.network.expressions.arrow import answer_schema, with_accuracy
from backend.operators.network.shards.homes import ShardHome
from backend.operators.network.shards.redo_log import Pack, RedoLog
from backend.operators.network.shards.shard import NetworkTask, Places, run_shard
from backend.operators.network.shards.shard_reports import MergedShards, ShardReport, merged_shards
from backend.operators.network.shards.timed import Arrived
from backend.operators.task import Arrivals, TaskJob, typed, unfit
from backend.workloads.spec import SinkSpec
from storage.vocabulary.names import answer_folder

log = logging.getLogger(__name__)
#: A stream may be so many tuples ahead of the slowest that queries read together with it.
AHEAD_OF_OTHERS: Final = 20_000
#: And so many where other queries wait for nothing but this stream, and would have to wait, too.
AHEAD_OF_SOME: Final = 1_000_000


@dataclass(frozen=True)
class HostJob:
    """What the tasks of a batch have in common: those of units without state, those of networks.
    places: where state is kept; None: in memory."""

    tasks: TaskJob
    networks: tuple[NetworkTask, ...] = ()
    places: Places | None = None

    @property
    def n_shards(self) -> int:
        """Of the network with most."""
        return max((network.job.n_shards for network in self.networks), default=0)

    @property
    def streams(self) -> frozenset[str]:
        """Those that networks read."""
        return frozenset(name for network in self.networks for name in network.job.streams)


class Gathered:
    """The tuples of a batch as shards take them: all that fit, by input, in order of arrival."""

    def __init__(self, job: HostJob) -> None:
        self._job = job
        self.arrived: dict[str, list[Arrived]] = {name: [] for name in job.streams}
        self._ended: set[str] = set()

    def take(self, input: str, rows: pa.RecordBatch, arrivals: Arrivals | None = None) -> None:
        """Tuples of an input; columns and numbers as ``BatchTask.take`` has them."""
        if input not in self.arrived or not len(rows):
            return
        own = self._job.tasks.inputs[input]
        bad, tuples = unfit(rows, own.timestamp), typed(rows, own.schema)
        self._ended.discard(input)
        if bad is not None:
            fits = ~bad.to_numpy(zero_copy_only=False)
            tuples = tuples.filter(pa.array(fits))
            arrivals = None if arrivals is None else arrivals[fits]
        self.arrived[input].append(Arrived(pa.Table.from_batches([tuples]), arrivals))

    def end(self, input: str) -> None:
        """An input gives no more tuples after these."""
        self._ended.add(input)

    def ended(self, before: Collection[str]) -> frozenset[str]:
        """Inputs that have given their last tuple. before: those that had before the batch."""
        again = {name for name, chunks in self.arrived.items() if chunks}
        return frozenset(self._ended | (set(before) - again))

    def run(
        self, task: NetworkTask, shard: int, home: ShardHome, watch: Watch | None = None
    ) -> ShardReport:
        """A shard's part of the batch. watch: told of every scheduling decision."""
        arrived = {name: self.arrived[name] for name in task.job.streams}
        return run_shard(task, shard, home, arrived, self.ended(task.ended), watch)


class Networks:
    """The networks of a run. inputs: of the run; sink: its path is the run's own folder; places:
    where state is kept, None: in memory. pack: pickles their jobs for that."""

    def __init__(
        self,
        inputs: Sequence[InputSource],
        sink: SinkSpec,
        places: Places | None,
        pack: Pack = pickle.dumps,
    ) -> None:
        self.places, self._sink, self._pack = places, sink, pack
        self._lengths = {input.name: input.replay for input in inputs}
        self._known: dict[str, tuple[NetworkJob, NetworkJob, str]] = {}
        self._jobs: dict[str, NetworkJob] = {}
        self._held: set[str] = set()
        self._logs: dict[str, RedoLog] = {}
        self._sinks: dict[str, FolderSink] = {}
        #: Inputs that have given their last tuple.
        self.ended: frozenset[str] = frozenset()

    def tasks(
        self,
        batch_id: int,
        networks: Mapping[str, NetworkJob],
        taps: Mapping[str, frozenset[str]] | None = None,
    ) -> tuple[NetworkTask, ...]:
        """What the shards of a batch do. taps: as ``BatchPlan`` has them."""
        self._known = {unit: known for unit, known in self._known.items() if unit in networks}
        self._jobs = {known[2]: self._jobs[known[2]] for known in self._known.values()}
        folder, format = self._sink.path or "", self._sink.format
        return tuple(
            NetworkTask(
                unit,
                batch_id,
                *self._versioned(unit, asked),
                self.ended,
                folder,
                format,
                accuracy=self._sink.accuracy,
                taps=(taps or {}).get(unit, frozenset()),
            )
            for unit, asked in networks.items()
        )

    def job(self, version: str) -> NetworkJob:
        """A job of this batch or of the one before."""
        return self._jobs[version]

    def _versioned(self, unit: str, asked: NetworkJob) -> tuple[NetworkJob, str]:
        """The job, knowing how long its streams are by now, and what tells it from others."""
        known = self._known.get(unit)
        streams = {
            name: replace(time, n_tuples=self._length(name)) for name, time in asked.streams.items()
        }
        if known is not None and known[0] is asked and known[1].streams == streams:
            return known[1], known[2]
        job = replace(asked, streams=streams)
        lasting = job.lasting
        if known is not None and lasting == known[1].lasting:
            version = known[2]
        else:
            version = self._kept(unit, lasting)
            self._jobs[version] = lasting
        self._known[unit] = (asked, job, version)
        return job, version

    def _kept(self, unit: str, job: NetworkJob) -> str:
        """What tells a job from others; it is kept where state outlives this process."""
        if self.places is None:
            return uuid.uuid4().hex
        log = self._logs.setdefault(unit, self.places.log_of(unit))
        return log.keep_job(job, self._pack)

    def _length(self, stream: str) -> int | None:
        replay = self._lengths.get(stream)
        return None if replay is None else replay.n_tuples

    def merge(self, shard_reports: Sequence[ShardReport]) -> dict[str, MergedShards]:
        """By unit what its shards did."""
        by_unit: dict[str, list[ShardReport]] = {}
        for report in sorted(shard_reports, key=lambda report: report.shard):
            by_unit.setdefault(report.unit, []).append(report)
        return {unit: merged_shards(reports) for unit, reports in by_unit.items()}

    def rooms(self, merged: Mapping[str, MergedShards]) -> dict[str, int]:
        """As ``rooms``; streams that are held although some queries wait for nothing else are told
        of, once."""
        pending = [unit.result.report.pending for unit in merged.values()]
        held = {name for own in pending for name, n in own.items() if n >= AHEAD_OF_SOME}
        for name in sorted(held - self._held):
            log.warning(
                "stream %s is held: %d of its tuples wait for other streams that some queries read "
                "beside it; all queries that read it wait until these go on",
                name,
                AHEAD_OF_SOME,
            )
        self._held = held
        return rooms(merged)

    def publish(self, tasks: Sequence[NetworkTask], merged: Mapping[str, MergedShards]) -> None:
        """Put the files of answers into place, once and for all."""
        if not self._sink.path:
            return
        for task in tasks:
            fields = {operator.id: operator.fields for operator in task.job.plan.operators}
            for query, answer in task.job.plan.answers.items():
                sink = self._sink_of(answer_folder(query, answer.since), fields[answer.operator])
                sink.publish(task.batch_id, merged[task.unit].parts.get(query, ()))

    @property
    def sinks(self) -> list[FolderSink]:
        """Of the answers that were published."""
        return [*self._sinks.values()]

    def _sink_of(self, folder: str, fields: tuple[Attribute, ...]) -> FolderSink:
        """Of an answer with these columns."""
        if folder not in self._sinks:
            spec, schema = self._sink, answer_schema(fields)
            schema = with_accuracy(schema) if spec.accuracy else schema
            whole = f"{spec.path}/{folder}"
            sink = FolderSink(whole, spec.format, schema, spec.compact, spec.durable)
            self._sinks[folder] = sink
        return self._sinks[folder]

    def close(self) -> None:
        """Leave no staging folders behind."""
        for sink in self.sinks:
            sink.close()


def rooms(networks: Mapping[str, MergedShards]) -> dict[str, int]:
    """Tuples that may come from streams which are ahead of others, before these have caught up."""
    stream_rooms: dict[str, int] = {}
    for unit in networks.values():
        for name, n_pending in unit.result.report.pending.items():
            clocks = unit.result.report.clocks.items()
            waited_for = [name in own.slowest for clock, own in clocks if name in clock]
            if not all(waited_for):
                most = AHEAD_OF_SOME if any(waited_for) else AHEAD_OF_OTHERS
                room = max(0, most - n_pending)
                stream_rooms[name] = min(room, stream_rooms.get(name, room))
    return stream_rooms
