"""The host in this process: replayed inputs cut into batches, no Spark, no Java.

One thread does all; another gives signs of life while it is in a batch.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import pyarrow as pa

from backend.hosts.agreement import Mark, Upcoming, check_agreement, check_state
from backend.hosts.batches import Batches, Timings, batch_result
from backend.hosts.contract import BatchLoop, InputsFailed, InputSource
from backend.hosts.cursors import InputCursor, Taking
from backend.hosts.growing import GrowingBatches, most_tuples
from backend.hosts.lanes import Lanes
from backend.hosts.networks import Gathered, HostJob
from backend.hosts.pacing import Pacing
from backend.hosts.refuting import refuting
from backend.hosts.silence import Silences
from backend.operators.network.core.contract import Watch
from backend.operators.network.shards.homes import MemoryShard, ShardHome
from backend.operators.network.shards.shard import NetworkTask, Places
from backend.operators.network.shards.shard_reports import ShardReport
from backend.operators.task import CHUNK_TUPLES, Arrivals
from backend.workloads.spec import SinkSpec

#: How often a held run looks whether it goes on.
POLL_S: Final = 0.02
#: How often a batch is looked at from outside.
BEAT_S: Final = 0.25
#: A batch of fewer tuples a core is one task's work.
TASK_TUPLES: Final = CHUNK_TUPLES


class LocalHost:
    """Runs the batches of a run. batch_tuples: of each input in a batch, at most. keeps_rate: its
    streams come at their rates, else as fast as possible.

    sink: its path is the run's own folder; None: nothing is written. once: inputs that would begin
    anew at their end do not. first_batch: the id to go on with. folder: where networks keep their
    state, for a run that goes on; None: in memory. cuts: how many tuples of which inputs a batch
    takes, whatever knobs of the inputs say; None: batch_tuples of each. cores: that work off a
    backlog, in batches which grow; 0: batches do not grow. Raises Refused where folder and sink do
    not belong to the first batch.
    """

    def __init__(
        self,
        loop: BatchLoop,
        inputs: Sequence[InputSource],
        sink: SinkSpec,
        batch_tuples: int = 10_000,
        once: bool = False,
        first_batch: int = 0,
        folder: Path | None = None,
        cuts: Callable[[int], Mapping[str, int]] | None = None,
        keeps_rate: bool = False,
        cores: int = 0,
    ) -> None:
        self.stopping = threading.Event()
        places = self._mark = None
        self._is_durable = sink.durable
        if folder is not None:
            arenas = folder / "arenas"
            places = Places(str(folder / "state"), str(arenas / uuid.uuid4().hex), sink.durable)
            self._mark = folder / "mark.json"
            upcoming, mark = Upcoming(first_batch, True), Mark.read(self._mark) or Mark()
            newest = {f"the folder {folder}": mark.batch}
            check_agreement(folder.name, "the store", upcoming, newest, sink.path)
            check_state(folder.name, places, mark, upcoming)
            shutil.rmtree(arenas, ignore_errors=True)  # of a process that was killed
        self._loop, self._batches = loop, Batches(inputs, sink, places)
        loop.listens(self._batches.listener)
        self._cursors = {input.name: InputCursor(input, loop, once) for input in inputs}
        self._next, self._cuts = first_batch, cuts
        most = most_tuples([input.stream.schema for input in inputs]) if cores else batch_tuples
        self._growing, self._is_behind = GrowingBatches(batch_tuples, most), False
        self._pools = [ThreadPoolExecutor(1, f"planwatch-task-{core}") for core in range(cores)]
        paced = list(self._cursors) if keeps_rate and cuts is None else []
        self._silences = Silences(inputs if cuts is None else ())
        self._pacing = Pacing({name: partial(_rate, loop, name) for name in paced})
        self._shards: dict[tuple[str, int], MemoryShard] = {}
        self._read: frozenset[str] = frozenset()
        self._rooms: Mapping[str, int] = {}

    def run(self) -> str:
        """Run to the end of the inputs or a stop; why it ended. Raises InputsFailed."""
        try:
            with self._beating():
                while self.step():
                    pass
        finally:
            self.close()
        if self._loop.stop_requested.is_set():
            return "stopped by command"
        if self.stopping.is_set():
            self._loop.ending("stopped")
            return "stopped"
        failures = [f"{name}: {why}" for name, why in self.failures.items()]
        if failures and len(failures) == len(self._cursors):
            raise InputsFailed("; ".join(failures))
        return "; ".join(["the stream reached its end", *failures])

    @contextmanager
    def _beating(self) -> Iterator[None]:
        """Signs of life go on while a batch runs."""
        over = threading.Event()

        def beat() -> None:
            while not over.wait(BEAT_S):
                self._loop.between_batches()

        thread = threading.Thread(target=beat, name="planwatch-beat", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    @property
    def failures(self) -> dict[str, str]:
        """Inputs that have failed, and why."""
        return {name: cursor.failure for name, cursor in self._cursors.items() if cursor.failure}

    def step(self) -> bool:
        """Run one batch; False: there was none to run, and will be none."""
        if self._is_over():
            return False
        self._loop.between_batches()
        self._loop.idle()
        while (is_held := not self._loop.may_begin()) or self._is_idle or self._is_early:
            if self._is_over():
                break
            if is_held:
                self._pacing.hold()
                self._silences.hold()
            time.sleep(POLL_S)
            self._loop.between_batches()
            self._loop.idle()
        if self._is_over():
            return False
        self._batch(self._next)
        self._next += 1
        return True

    def close(self) -> None:
        """Leave no staging folders behind."""
        self._batches.close()
        for pool in self._pools:
            pool.shutdown()

    @property
    def _is_stopped(self) -> bool:
        return self.stopping.is_set() or self._loop.stop_requested.is_set()

    def _is_over(self) -> bool:
        if self._is_stopped:
            return True
        all_ended = all(
            cursor.ended or cursor.intake == "removed" for cursor in self._cursors.values()
        )
        return all_ended and self._read <= self._batches.networks.ended

    @property
    def _is_idle(self) -> bool:
        """No stream gives tuples at the moment, and networks know which rest."""
        if self._cuts is not None or not all(map(self._is_quiet, self._cursors)):
            return False
        return self._read & self._resting <= self._batches.networks.ended

    @property
    def _resting(self) -> frozenset[str]:
        """Inputs that give no tuples, or have given none for so long that nobody waits for them."""
        return self._silences.over().union(n for n, c in self._cursors.items() if c.rests)

    def _is_quiet(self, name: str) -> bool:
        """The input has no tuples by now, or networks take none before other streams speak."""
        waits_for_others = self._rooms.get(name) == 0 and not self._loop.is_changed
        return waits_for_others or self._cursors[name].is_quiet

    @property
    def _is_early(self) -> bool:
        """Streams keep their rates, and hardly a tuple is due."""
        return self._pacing.is_early(self._giving)

    @property
    def _giving(self) -> list[str]:
        """The inputs that are read and have not ended."""
        return [name for name, cursor in self._cursors.items() if not cursor.rests]

    def _batch(self, batch_id: int) -> None:
        self._pacing.begin(self._giving)
        timings = Timings(self._loop.begins)
        plan = self._loop.begin_batch(batch_id)
        try:
            job = self._batches.job(plan)
            timings.lap("plan_ms")
            reports = self._run(job)
            batch = self._batches.merge(job, reports)
            self._rooms = self._batches.networks.rooms(batch.networks)
            timings.lap("job_ms")
            self._batches.publish(job, batch)
            timings.lap("publish_ms")
            if self._mark is not None:
                Mark(batch_id, tuple(plan.networks)).write(self._mark, self._is_durable)
            facts = {
                name: {**cursor.facts(), "backlog_tuples": self._pacing.backlog(name)}
                for name, cursor in self._cursors.items()
            }
            result = batch_result(batch_id, batch, facts, timings)
            self._loop.end_batch(result)
            self._grow(result.n_tuples)
        except BaseException:
            self._loop.abandon_batch()
            raise
        finally:
            self._loop.begins("waits for input")

    def _grow(self, n_tuples: int) -> None:
        """Larger batches while a backlog is worked off."""
        resized = self._growing.after(n_tuples, self._is_behind)
        if resized is not None:
            self._loop.tell(resized.event)

    def _run(self, job: HostJob) -> list[bytes]:
        """The work of a batch; the reports of its tasks."""
        is_large = self._growing.size >= len(self._pools) * TASK_TUPLES
        tasks, gathered = Lanes(job.tasks, self._pools if is_large else []), Gathered(job)
        self._read, self._is_behind = job.streams, False

        def take(input: str, rows: pa.RecordBatch, arrivals: Arrivals) -> None:
            tasks.take(input, rows, arrivals)
            gathered.take(input, rows, arrivals)

        for name, cursor in self._cursors.items():
            cursor.skip(refuting(job, name), tasks.pass_over)
        cuts = None if self._cuts is None else self._cuts(job.tasks.batch_id)
        for name, cursor in self._cursors.items():
            had_failed = bool(cursor.failure)
            if cuts is None:
                self._feed(name, cursor, take)
            else:
                cursor.feed_exactly(take, cuts.get(name, 0))
            if cursor.failure and not had_failed:
                tasks.fail(name, cursor.failure)
        self._batches.networks.ended = self._resting
        for name in self._batches.networks.ended:
            gathered.end(name)
        networks = [report.packed() for report in self._run_networks(job, gathered)]
        return [*tasks.reports(), *networks]

    def _feed(self, name: str, cursor: InputCursor, take: Taking) -> None:
        """Have the tuples of an input taken that a batch has room for, and that are due."""
        size = self._growing.size
        most, due = min(size, self._rooms.get(name, sys.maxsize)), self._pacing.due(name)
        taken = cursor.feed(take, most if due is None else min(most, due))
        self._is_behind |= taken == size
        self._pacing.took(name, taken)
        if taken or not most or cursor.rests:
            self._silences.heard([name])

    def _run_networks(self, job: HostJob, gathered: Gathered) -> list[ShardReport]:
        return [
            gathered.run(task, shard, self._home(task, shard), self._watch(task.unit))
            for task in job.networks
            for shard in range(task.job.n_shards)
        ]

    def _watch(self, unit: str) -> Watch:
        """Lets scheduling decisions of a unit wait while they are stepped."""

        def watch(operator: str, waiting: Mapping[str, int]) -> None:
            self._loop.decided(unit, operator, waiting)
            while not self._loop.may_decide() and not self.stopping.is_set():
                time.sleep(POLL_S)
                self._loop.between_batches()

        return watch

    def _home(self, task: NetworkTask, shard: int) -> ShardHome:
        places = self._batches.networks.places
        if places is not None:
            return places.shard(task.unit, shard, task.job.n_shards)
        home = MemoryShard(self._batches.networks.job)
        return self._shards.setdefault((task.unit, shard), home)


def _rate(loop: BatchLoop, name: str) -> float:
    return float(loop.input_knob(name, "rate"))
