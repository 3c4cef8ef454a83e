"""The work of a batch on several cores of this process: a task each, chunks in turns."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

import pyarrow as pa

from backend.operators.task import Arrivals, BatchTask, TaskJob

#: Chunks that wait for a task at most.
WAITING: Final = 2


class Lanes:
    """Tasks of one batch: chunk i goes to task i modulo n, in a thread of its own, so which task
    takes which tuples depends on the chunks alone. pools: of one thread each; none: one task, in
    the caller's thread."""

    def __init__(self, job: TaskJob, pools: list[ThreadPoolExecutor]) -> None:
        self._pools = pools
        self._tasks = [BatchTask(job, partition) for partition in range(max(1, len(pools)))]
        self._waiting: deque[Future[None]] = deque()
        self._n_taken = 0

    def take(self, input: str, rows: pa.RecordBatch, arrivals: Arrivals) -> None:
        """Process tuples, now or soon. Raises what an earlier chunk raised."""
        lane = self._n_taken % len(self._tasks)
        self._n_taken += 1
        task = self._tasks[lane]
        if not self._pools:
            task.take(input, rows, arrivals)
            return
        self._waiting.append(self._pools[lane].submit(task.take, input, rows, arrivals))
        while len(self._waiting) > WAITING * len(self._tasks):
            self._waiting.popleft().result()

    def pass_over(self, input: str, n_tuples: int, times: pa.Array[Any] | None) -> None:
        """Count tuples that are not read, now or soon."""
        task = self._tasks[0]
        if not self._pools:
            task.pass_over(input, n_tuples, times)
            return
        self._waiting.append(self._pools[0].submit(task.pass_over, input, n_tuples, times))

    def fail(self, input: str, why: str) -> None:
        """An input cannot be read on."""
        self._finish()
        self._tasks[0].fail(input, why)

    def reports(self) -> list[bytes]:
        """Finish the files, and tell what was done."""
        self._finish()
        if not self._pools:
            return [self._tasks[0].report()]
        pairs = zip(self._pools, self._tasks, strict=True)
        futures = [pool.submit(task.report) for pool, task in pairs]
        return [report.result() for report in futures]

    def _finish(self) -> None:
        while self._waiting:
            self._waiting.popleft().result()
