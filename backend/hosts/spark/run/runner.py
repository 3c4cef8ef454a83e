"""A run on Spark: one streaming query over all inputs, one job a batch; workers do the work."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from backend.hosts.agreement import Mark
from backend.hosts.batches import BatchFound, Timings, batch_result
from backend.hosts.contract import BatchLoop, InputsFailed, InputSource, cause
from backend.hosts.growing import GrowingBatches, most_tuples
from backend.hosts.spark.run.causes import worker_cause
from backend.hosts.spark.run.inputs import Inputs
from backend.hosts.spark.run.jobs import BatchJobs
from backend.hosts.spark.run.left_behind import LeftBehind
from backend.hosts.spark.run.source_log import CHECKPOINT, COMPACTED_EVERY, forget_gone
from backend.hosts.spark.run.taken import TakenSoFar, flush_plan
from backend.hosts.spark.run.tasks import tag_of
from backend.hosts.spark.session.remote import is_remote, unseen_by_workers
from backend.hosts.spark.session.session import hush
from backend.operators.network.shards.shard import Places
from backend.operators.reports import Merged
from backend.workloads.replay import AHEAD_TUPLES, TAKEN, Feeder, FileTimes, mark_end
from backend.workloads.spec import SinkSpec
from storage.vocabulary.kinds import Phase

__all__ = ["RunFailed", "RunHost"]

log = logging.getLogger(__name__)
#: From the beginning of a batch to that of the next one, at least; the floor of an empty one is
#: about as long. Spark's own trigger goes by the time of day, and where that is set back by an hour
#: waits for an hour.
BATCH_EVERY_S = 0.2
POLL_S = 0.1
#: What takes so long between batches, Spark is asked about.
STATUS_S = 1.0
#: A batch in flight may finish for so long when the run is stopped.
STOP_GRACE_S = 4.0
_CHECKPOINTS = "spark.sql.streaming.checkpoint"
#: For checkpoints on this machine: renames without a program forked for each, no checksum files.
LOCAL_CHECKPOINTS = {
    f"{_CHECKPOINTS}FileManagerClass": "org.apache.spark.sql.execution.streaming.checkpointing."
    "FileSystemBasedCheckpointFileManager",
    f"{_CHECKPOINTS}.fileChecksum.enabled": "false",
}


#: What Spark says that it does, by how it begins (MicroBatchExecution).
_STATUS: Mapping[str, Phase] = {
    "Initializing": "Spark starts the query",
    "Getting offsets": "the source is asked for tuples",
    "Waiting": "waits for input",
}


class RunFailed(Exception):
    """A batch, or Spark itself, failed; the message says the cause."""


class RunHost:
    """Executes one run. A killed one goes on in the same folder.

    inputs: what it reads; sink: its path is the run's own folder. folder: the run's own, on every
    machine with workers, for checkpoint, spool and state. once: take what is there, and end.
    keeps_rate: its streams come at their rates, else as fast as possible. Raises RunFailed where
    workers do not see the folder.
    """

    def __init__(
        self,
        session: SparkSession,
        loop: BatchLoop,
        inputs: Sequence[InputSource],
        sink: SinkSpec,
        folder: Path,
        once: bool,
        keeps_rate: bool = True,
    ) -> None:
        self.stopping = threading.Event()
        _check_workers(session, folder)
        self._keeps_rate, self._is_durable = keeps_rate, sink.durable
        self._session, self._loop, self._once = session, loop, once
        self._sources, self._folder = tuple(inputs), folder
        self._spool = folder / "spool"
        self._times = FileTimes(self._spool)
        self._arenas = _arenas(session, folder.name)
        places = Places(str(folder / "state"), str(self._arenas / uuid.uuid4().hex), sink.durable)
        self._jobs = BatchJobs(session, inputs, sink, places)
        loop.listens(self._jobs.listener)
        self._taken = TakenSoFar(self._spool / TAKEN, sink.durable)
        self._jobs.networks.ended = self._taken.ended
        self._rooms: Mapping[str, int] = {}
        most = most_tuples([input.stream.schema for input in inputs])
        self._growing = GrowingBatches(AHEAD_TUPLES, most)
        self._left = LeftBehind(self._sources, self._spool, self._times)
        self._read = self._taken.read
        self._feeders = {
            input.name: self._feeder(input) for input in inputs if input.replay is not None
        }
        self._inputs = Inputs(session, inputs, self._spool, once)
        self._failures = dict(self._inputs.failures)
        self._jobs.networks.ended |= self._failures.keys()
        self._error: BaseException | None = None
        self._last_batch, self._asks_at = -1, 0.0

    @property
    def failures(self) -> dict[str, str]:
        """Inputs that have failed, and why."""
        return dict(self._failures)

    def run(self) -> str:
        """Run to the end of the inputs or a stop; why it ended. Raises InputsFailed, RunFailed."""
        if self._inputs.frame is None:
            raise InputsFailed("; ".join(self._reasons()))
        query = self._start(self._inputs.frame)
        try:
            self._attend(query)
            if self._mark_ends(query):
                query = self._writer(self._inputs.frame).trigger(availableNow=True).start()
                self._attend(query)
        finally:
            self._stop(query)
        failure = self._error or (None if self._is_stopped else query.exception())
        if failure is not None:
            raise RunFailed(worker_cause(failure)) from failure
        if self._loop.stop_requested.is_set():
            return "stopped by command"
        if self.stopping.is_set():
            return "stopped"
        self._note_failures()
        if len(self._failures) == len(self._sources):
            raise InputsFailed("; ".join(self._reasons()))
        return "; ".join(["the stream reached its end", *self._reasons()])

    def _attend(self, query: StreamingQuery) -> None:
        """Until the query or the run is over."""
        self._begins("Spark starts the query")
        while query.isActive and not self._is_over():
            if time.monotonic() >= self._asks_at and not self._loop.in_batch:
                self._begins(self._phase_between(query))
            self._loop.idle()
            self._loop.between_batches()
            self._left.mark(self._read - self._jobs.networks.ended)
            time.sleep(POLL_S)

    def _begins(self, phase: Phase) -> None:
        """The engine does this from now on; when it lasts, Spark is asked what it does."""
        self._asks_at = time.monotonic() + STATUS_S
        self._loop.begins(phase)

    def _phase_between(self, query: StreamingQuery) -> Phase:
        """What Spark does while no batch is under way."""
        status = str(query.status["message"])
        for begin, phase in _STATUS.items():
            if status.startswith(begin):
                return phase
        progress = query.lastProgress
        done = -1 if progress is None else progress.batchId
        return "Spark plans the batch" if done >= self._last_batch else "Spark commits the batch"

    def _mark_ends(self, query: StreamingQuery) -> bool:
        """Tell networks that native sources, all of whose tuples were taken, have ended; whether
        there was one to tell of. The marks are taken by one batch more."""
        is_done = self._takes_what_is_there and not self._is_stopped and self._error is None
        if not is_done or query.exception() is not None:
            return False
        waiting = self._read - self._jobs.networks.ended
        names = [name for name in self._inputs.rows.native if name in waiting]
        for name in names:
            mark_end(self._spool, tag_of(name), self._times)
        return bool(names)

    def _feeder(self, source: InputSource) -> Feeder:
        loop, name = self._loop, source.name
        assert source.replay is not None
        return Feeder(
            source.replay,
            self._spool,
            lambda: float(loop.input_knob(name, "rate")) if self._keeps_rate else 0.0,
            lambda: "stop" if self._once else str(loop.input_knob(name, "at_end")),
            start=max(source.start, self._taken.through.get(name, 0)),
            prefix=tag_of(name),
            limit=lambda: self._limit(name),
            marks_end=lambda: name in self._read or self._takes_what_is_there,
            rests=lambda: loop.input_knob(name, "intake") != "on",
            durable=self._is_durable,
            times=self._times,
        )

    def _limit(self, name: str) -> int | None:
        """Tuples of an input that may wait to be taken."""
        most = int(self._loop.input_knob(name, "max_batch_tuples"))
        limits = [
            *([most] if most > 0 else []),
            *([self._rooms[name]] if name in self._rooms else []),
        ]
        return min(limits, default=None)

    def _start(self, frame: DataFrame) -> StreamingQuery:
        for feeder in self._feeders.values():
            feeder.start()
        for key, value in LOCAL_CHECKPOINTS.items():
            self._session.conf.set(key, value)
        writer = self._writer(frame)
        if self._takes_what_is_there:
            self._spool_all()
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime="0 seconds").start()

    def _writer(self, frame: DataFrame) -> DataStreamWriter:
        writer = frame.writeStream.foreachBatch(self._batch).queryName(self._folder.name)
        return writer.option("checkpointLocation", str(self._folder / CHECKPOINT))

    @property
    def _takes_what_is_there(self) -> bool:
        """The query takes what is there when it starts, and ends."""
        return self._once and bool(self._inputs.rows.native)

    def _spool_all(self) -> None:
        """Wait until all that such a query takes is there."""
        for feeder in self._feeders.values():
            feeder.ahead_tuples = None
        while any(starmap(self._is_awaited, self._feeders.items())) and not self._is_stopped:
            self._loop.between_batches()
            self.stopping.wait(POLL_S)

    def _is_awaited(self, name: str, feeder: Feeder) -> bool:
        """Tuples of the stream are still to come; not so while it is paused."""
        is_on = self._loop.input_knob(name, "intake") == "on"
        return is_on and not feeder.finished and feeder.error is None

    def _batch(self, frame: DataFrame, batch_id: int) -> None:
        while not self._loop.may_begin():
            if self._is_stopped:
                raise RunFailed("the run was stopped while paused")  # the batch is not done
            self._left.silences.hold()
            time.sleep(POLL_S)
        begun, timings = time.monotonic(), Timings(self._begins)
        plan = self._loop.begin_batch(batch_id)
        for feeder in self._feeders.values():
            feeder.batch_begins()
        self._read = frozenset(
            name for network in plan.networks.values() for name in network.streams
        )
        try:
            batch = self._jobs.run(frame, self._inputs.rows, plan, timings)
            self._note_time(batch)
            if self._is_durable:
                flush_plan(self._folder)
            facts = {
                source.name: self._facts(source, batch.inputs[source.name])
                for source in self._sources
            }
            result = batch_result(batch_id, batch, facts, timings)
            self._loop.end_batch(result)
            consumed = {n: f.n_consumed for n, f in self._feeders.items()}
            ran = (*plan.networks, *self._jobs.listener.ran)
            mark = Mark(batch_id, ran)
            self._taken.write(mark, consumed, self._jobs.networks.ended, self._read)
            if batch_id % COMPACTED_EVERY == 0:
                forget_gone(self._folder / CHECKPOINT, self._spool)
            self._last_batch = batch_id
            self._begins("Spark commits the batch")
            if not self._grow(result.n_tuples) and not self._takes_what_is_there:
                self.stopping.wait(max(0.0, begun + BATCH_EVERY_S - time.monotonic()))
        except BaseException as error:
            self._loop.abandon_batch()
            if not self._is_stopped:
                self._error = error
            raise  # also when it was cut off by a stop: Spark would commit what was not done

    def _grow(self, n_tuples: int) -> bool:
        """Larger batches while a backlog is worked off; whether one is."""
        is_behind = any(feeder.races for feeder in self._feeders.values())
        resized = self._growing.after(n_tuples, is_behind)
        if resized is not None:
            self._loop.tell(resized.event)
            for feeder in self._feeders.values():
                feeder.keep_ahead(resized.after)
        return is_behind

    def _note_time(self, batch: BatchFound) -> None:
        """Which streams are ahead of others that a network reads, and which have ended."""
        self._rooms = self._jobs.networks.rooms(batch.networks)
        inputs = batch.inputs.items()
        again = {name for name, merged in inputs if merged.through or merged.result.n_tuples}
        ended = {name for name, merged in inputs if merged.ended or merged.result.failure}
        held = {name for name, room in self._rooms.items() if not room}
        off = {n for n in self._read if self._loop.input_knob(n, "intake") != "on"}
        self._left.silences.heard(again | held | off)
        before = self._jobs.networks.ended - again
        self._jobs.networks.ended = before | ended | self._failures.keys()

    def _facts(self, source: InputSource, merged: Merged) -> dict[str, object]:
        """What is known of an input beside what tasks told; a failed one is read no more."""
        name = source.name
        feeder = self._feeders.get(name)
        if merged.result.failure:
            self._failures.setdefault(name, merged.result.failure)
            if feeder is not None:
                feeder.stop()
        if feeder is not None:
            feeder.consumed_to(merged.through)
        self._note_failures()
        facts: dict[str, object] = {"failure": self._failures.get(name, "")}
        facts |= {"ended": False} if name in self._left.names else {}
        if feeder is not None:
            is_over = feeder.finished and feeder.backlog == 0
            facts |= {"backlog_tuples": feeder.backlog, "ended": is_over, "files": source.files}
            begun = max(source.start, self._taken.through.get(name, 0))
            facts["rounds"] = replace(source, start=begun).rounds(feeder.n_consumed)
        return facts

    def _note_failures(self) -> None:
        for name, feeder in self._feeders.items():
            if feeder.error is not None:
                self._failures.setdefault(name, cause(feeder.error))

    def _reasons(self) -> list[str]:
        return [f"{name}: {why}" for name, why in self._failures.items()]

    @property
    def _is_stopped(self) -> bool:
        return self.stopping.is_set() or self._loop.stop_requested.is_set()

    def _is_over(self) -> bool:
        if self._is_stopped:
            return True
        if self._inputs.rows.native or self._loop.in_batch:
            return False
        self._note_failures()
        return all(self._is_done(name, feeder) for name, feeder in self._feeders.items())

    def _is_done(self, name: str, feeder: Feeder) -> bool:
        """The input's tuples were all taken, or those that there will be."""
        if feeder.failed:
            return True
        if name in self._read and name not in self._jobs.networks.ended:
            return False
        if self._loop.input_knob(name, "intake") == "removed":
            return feeder.backlog == 0
        if feeder.error is not None:
            return feeder.backlog == 0
        return name in self._failures or (feeder.finished and feeder.backlog == 0)

    def _stop(self, query: StreamingQuery) -> None:
        if self._is_stopped:
            hush(self._session)
        for feeder in self._feeders.values():
            feeder.stop()
        deadline = time.monotonic() + STOP_GRACE_S
        while query.isActive and self._loop.in_batch and time.monotonic() < deadline:
            time.sleep(0.02)
        if self.stopping.is_set():
            self._loop.ending("stopped")
        try:
            if query.isActive:
                query.stop()
        except (PySparkException, Py4JError) as error:
            # the JVM may be gone already: a terminal sends its signal to the whole group
            log.info("Spark had stopped before the query: %s", type(error).__name__)
        self._jobs.close()
        if self._arenas.is_absolute():
            shutil.rmtree(self._arenas, ignore_errors=True)


def _check_workers(session: SparkSession, folder: Path) -> None:
    """Workers on other machines run our code, and see the folder. Raises RunFailed."""
    try:
        unseen = unseen_by_workers(session, folder)
    except (PySparkException, Py4JError) as error:
        raise RunFailed(f"workers cannot run our code: {worker_cause(error)}") from error
    if unseen:
        raise RunFailed("; ".join(unseen))


def _arenas(session: SparkSession, run_id: str) -> Path:
    """Where the arenas of a run are, on each machine that works: what an earlier incarnation of the
    run left here goes. On other machines relative to a folder that Spark removes with its
    executor."""
    if is_remote(str(session.sparkContext.master)):
        return Path("planwatch-arenas") / run_id
    local = str(session.conf.get("spark.local.dir", tempfile.gettempdir()))
    arenas = Path(local) / "planwatch-arenas" / run_id
    shutil.rmtree(arenas, ignore_errors=True)
    return arenas
