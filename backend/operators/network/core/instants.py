"""The instants of a batch: which tuples are due at each, and what its queues held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from backend.operators.network.core.blocks import Block
from backend.operators.network.core.job import Schedule
from backend.operators.network.core.queues import Queue
from backend.operators.network.core.reports import QueueCurve

#: Instants of a batch, at most, and tuples of one, on average and at least.
MOST_INSTANTS: Final = 32
INSTANT_TUPLES: Final = 2048


class Instant(NamedTuple):
    """An instant. end: the first tick after it; due: input -> elements that come in; work: what the
    processor does until its end, in units of ``Schedule.costs``; inf: without limit."""

    end: int
    due: dict[str, Block]
    work: float


def instants(
    arrivals: Mapping[str, Block], heartbeat: int, schedule: Schedule
) -> Iterator[Instant]:
    """Equal parts of the event time from the first tuple to the heartbeat; at least one."""
    n = sum(map(len, arrivals.values()))
    first = min(
        (int(arrived.tau[0]) for arrived in arrivals.values() if len(arrived)), default=heartbeat
    )
    n_parts = max(1, min(MOST_INSTANTS, n // INSTANT_TUPLES, heartbeat - first))
    ends = [first + (heartbeat - first) * k // n_parts for k in range(1, n_parts + 1)]
    work = n / n_parts * schedule.work / schedule.load if schedule.work > 0 else float("inf")
    taken = dict.fromkeys(arrivals, 0)
    for end in ends:
        due = {}
        for input, block in arrivals.items():
            until = int(np.searchsorted(block.tau, end))
            due[input] = block.take(slice(taken[input], until))
            taken[input] = until
        yield Instant(end, due, work)


class Curves:
    """What the queues held at the instants of a batch."""

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        self._queues = queues
        self._times: list[int] = []
        self._lengths: list[list[int]] = []

    def sample(self, time: int) -> None:
        """Note how many elements wait now."""
        self._times.append(time)
        self._lengths.append([len(queue) for queue in self._queues.values()])

    def told(self) -> dict[str, QueueCurve]:
        """By id of the queue."""
        times = np.array(self._times, np.int64)
        lengths = np.array(self._lengths, np.int64).reshape(len(times), len(self._queues))
        return {
            id: QueueCurve(times, lengths[:, k], queue.high, queue.n_passed, queue.element_bytes)
            for k, (id, queue) in enumerate(self._queues.items())
        }
