"""The host in this process: replayed inputs cut into batches, no Spark, no Java, no threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from backend.hosts.batches import Batches, Timings, batch_result
from backend.hosts.contract import BatchLoop, InputsFailed, InputSource, cause
from backend.operators.task import CHUNK_TUPLES, BatchTask
from backend.workloads.sources import ReplaySource
from backend.workloads.spec import SinkSpec


class LocalHost:
    """Runs the batches of a run. batch_tuples: of each input in a batch; rates are not kept.

    sink: its path is the run's own folder; None: nothing is written. once: inputs that would begin
    anew at their end do not. first_batch: the id to go on with.
    """

    def __init__(
        self,
        loop: BatchLoop,
        inputs: Sequence[InputSource],
        sink: SinkSpec,
        batch_tuples: int = 10_000,
        once: bool = False,
        first_batch: int = 0,
    ) -> None:
        self.stopping = threading.Event()
        self._loop, self._batches = loop, Batches(inputs, sink)
        self._cursors = {one.name: _Cursor(one, loop, once) for one in inputs}
        self._batch_tuples, self._next = batch_tuples, first_batch

    def run(self) -> str:
        """Run to the end of the inputs or a stop; why it ended. Raises InputsFailed."""
        try:
            while not self._is_over():
                self._loop.between_batches()
                self._loop.idle()
                if not self._is_over():
                    self._batch(self._next)
                    self._next += 1
        finally:
            self._batches.close()
        if self._loop.stop_requested.is_set():
            return "stopped by command"
        if self.stopping.is_set():
            self._loop.ending("stopped")
            return "stopped"
        failures = [f"{name}: {c.failure}" for name, c in self._cursors.items() if c.failure]
        if failures and len(failures) == len(self._cursors):
            raise InputsFailed("; ".join(failures))
        return "; ".join(["the stream reached its end", *failures])

    def _is_over(self) -> bool:
        if self.stopping.is_set() or self._loop.stop_requested.is_set():
            return True
        return all(cursor.ended for cursor in self._cursors.values())

    def _batch(self, batch_id: int) -> None:
        timings = Timings()
        plan = self._loop.begin_batch(batch_id)
        try:
            job = self._batches.job(plan)
            timings.lap("plan_ms")
            task = BatchTask(job, 0)
            for cursor in self._cursors.values():
                cursor.feed(task, self._batch_tuples)
            found = self._batches.merge(job, [task.report()])
            timings.lap("job_ms")
            self._batches.publish(job, found)
            timings.lap("publish_ms")
            facts = {name: cursor.facts() for name, cursor in self._cursors.items()}
            self._loop.end_batch(batch_result(batch_id, found, facts, timings))
        except BaseException:
            self._loop.abandon_batch()
            raise


class _Cursor:
    """Where an input stands."""

    def __init__(self, input: InputSource, loop: BatchLoop, once: bool) -> None:
        self._name, self._loop, self._once = input.name, loop, once
        self._source: ReplaySource | None = input.replay
        self._position = input.start
        self.failure = "" if input.replay is not None else "this host reads replayed streams only"

    @property
    def ended(self) -> bool:
        """It gives no more tuples."""
        if self.failure or self._source is None:
            return True
        n = self._source.n_tuples
        if n is None or (self._position < n):
            return False
        is_at_end = n == 0 or self._position % n == 0
        loops = not self._once and self._loop.input_knob(self._name, "at_end") == "loop"
        return is_at_end and (n == 0 or not loops)

    def feed(self, task: BatchTask, n_tuples: int) -> None:
        """Give a task the next tuples."""
        left = n_tuples
        while left > 0 and not self.ended:
            assert self._source is not None
            n = self._source.n_tuples
            at = self._position if n is None else self._position % n
            count = min(left, CHUNK_TUPLES, left if n is None else n - at)
            try:
                table = self._source.slice(at, count)
            except Exception as error:
                self.failure = cause(error)
                task.fail(self._name, self.failure)
                return
            for rows in table.combine_chunks().to_batches():
                end = self._position + len(rows)
                task.take(self._name, rows, np.arange(self._position, end))
                self._position = end
            left -= count

    def facts(self) -> dict[str, object]:
        """What InputResult says of the source."""
        return {"failure": self.failure, "ended": self.ended, "backlog_tuples": 0}
