"""The thesis's model of scheduling: blocks of elements, and memory at every unit of time (card A8).

A block of size 1 goes through a path of operators. An operator takes a whole number of units for a
block, whatever its size, and turns size s into s x selectivity; behind the last one it is gone.
Memory at a time is the size of all queued blocks after the arrivals of that time. The scheduler and
the chains are the engine's own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from backend.operators.network.core.job import Policy
from backend.operators.network.core.scheduling import Ready, choose
from backend.systems.stream.chains.progress import Step, slopes_of

_NEXT_TO_NOTHING: Final = 1e-9


class Path(NamedTuple):
    """Operators one behind the other. selectivities: each in [0, 1]; units: of time a block takes,
    whole, >= 1."""

    selectivities: tuple[float, ...]
    units: tuple[int, ...]

    @property
    def sizes(self) -> tuple[float, ...]:
        """Of a block in front of each operator."""
        return tuple(accumulate(self.selectivities[:-1], lambda a, b: a * b, initial=1.0))

    def steps(self) -> list[Step]:
        """As the chains are made from: a unit of time for a block is 1 / size for an element. Empty
        blocks take their time, too, so their size is next to nothing there; the last operator's
        output leaves."""
        passed = [*(max(share, _NEXT_TO_NOTHING) for share in self.selectivities[:-1]), 0.0]
        size, steps = 1.0, []
        for k, (selectivity, units) in enumerate(zip(passed, self.units, strict=True)):
            steps.append(Step(str(k), selectivity, cost=units / size))
            size *= selectivity
        return steps

    def slopes(self, policy: Policy) -> dict[int, tuple[float, int]]:
        """Place of an operator -> slope and number of its chain."""
        if policy not in ("greedy", "chain"):
            return {}
        slopes = slopes_of(policy, [self.steps()])
        return {int(id): slope for id, slope in slopes.items()}


def memory(path: Path, arrivals: Sequence[int], policy: Policy) -> list[float]:
    """Size of all queued blocks at each time. arrivals: blocks that come at each time."""
    slopes, sizes = path.slopes(policy), path.sizes
    queues: list[deque[int]] = [deque() for _ in sizes]
    totals: list[float] = []
    running, left, last = -1, 0, -1
    for time, n_blocks in enumerate(arrivals):
        queues[0].extend([time] * n_blocks)
        if running >= 0 and left == 0:
            running = _done(queues, running)
        totals.append(sum(len(queue) * size for queue, size in zip(queues, sizes, strict=True)))
        if running < 0:
            ready = [Ready(place, queue[0]) for place, queue in enumerate(queues) if queue]
            if not ready:
                continue
            running = last = choose(policy, ready, slopes, last).place
            left = path.units[running]
        left -= 1
    return totals


def _done(queues: list[deque[int]], place: int) -> int:
    """A block goes on; no operator runs then."""
    block = queues[place].popleft()
    if place + 1 < len(queues):
        queues[place + 1].append(block)
    return -1


def least_memory(path: Path, arrivals: Sequence[int]) -> list[float]:
    """The least memory at each time that any schedule of the arrivals reaches, each time by itself:
    who knows the future and cares for that time alone. All states that can be reached are tried."""
    n = len(path.sizes)
    idle = (-1, 0)
    states = {((0,) * n, idle)}
    totals: list[float] = []
    for n_blocks in arrivals:
        arrived = set()
        for counts, (running, left) in states:
            now = list(counts)
            now[0] += n_blocks
            if running >= 0 and left == 0:
                now[running] -= 1
                if running + 1 < n:
                    now[running + 1] += 1
                running = -1
            arrived.add((tuple(now), (running, left)))
        totals.append(min(_size(counts, path) for counts, _ in arrived))
        states = {choice for state in arrived for choice in _choices(state, path)}
    return totals


State = tuple[tuple[int, ...], tuple[int, int]]


def _size(counts: Sequence[int], path: Path) -> float:
    return sum(count * size for count, size in zip(counts, path.sizes, strict=True))


def _choices(state: State, path: Path) -> list[State]:
    """What a unit of time may be spent on; who has work does not rest."""
    counts, (running, left) = state
    if running >= 0:
        return [(counts, (running, left - 1))]
    started = [(counts, (k, path.units[k] - 1)) for k, count in enumerate(counts) if count]
    return started or [state]
