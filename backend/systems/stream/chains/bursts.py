"""What a schedule keeps in queues while it works off a burst: the prediction behind a decision."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Final

from backend.operators.network.core.job import Policy
from backend.operators.network.core.scheduling import Ready, rank
from backend.systems.stream.chains.progress import Step

#: A burst is worked off in so many blocks a path.
N_BLOCKS: Final = 8


def waiting(
    policy: Policy,
    paths: Sequence[Sequence[Step]],
    arrivals: Mapping[str, float],
    slopes: Mapping[str, tuple[float, int]],
) -> float:
    """Elements in queues for each element of a burst, on average over the time it takes.

    All of the burst is there at once. policy: not round_robin. arrivals: first operator of a path
    -> its share of the burst; slopes: by operator, as in a Schedule. Elements to queues of other
    paths go on from there with the elements of these, so they are left out. 0 when there is nothing
    to do.
    """
    steps = [step for path in paths for step in path]
    by_place = {place: slopes[s.id] for place, s in enumerate(steps) if s.id in slopes}
    queues: list[deque[tuple[int, float]]] = [deque() for _ in steps]
    last_of_path = _fill(paths, arrivals, queues)
    held, spent, area = sum(n for q in queues for _, n in q), 0.0, 0.0
    begun, of = held, rank(policy, by_place)
    ready = [(of(Ready(place, q[0][0])), place) for place, q in enumerate(queues) if q]
    heapify(ready)
    while ready:
        _, place = heappop(ready)
        head, n = queues[place].popleft()
        time, left = n * steps[place].cost, n * steps[place].passed
        spent += time
        area += time * (held + held - n + left) / 2
        held += left - n
        if queues[place]:
            heappush(ready, (of(Ready(place, queues[place][0][0])), place))
        if left > 0 and place not in last_of_path:
            if not queues[place + 1]:
                heappush(ready, (of(Ready(place + 1, head)), place + 1))
            queues[place + 1].append((head, left))
    return area / spent / begun if spent > 0 and begun > 0 else 0.0


def _fill(
    paths: Sequence[Sequence[Step]],
    arrivals: Mapping[str, float],
    queues: Sequence[deque[tuple[int, float]]],
) -> set[int]:
    """Put the burst into the first queues; the places of the paths' last operators."""
    place, ends = 0, set()
    for path in paths:
        size = arrivals.get(path[0].id, 0.0) / N_BLOCKS
        if size > 0:
            queues[place].extend((block, size) for block in range(N_BLOCKS))
        place += len(path)
        ends.add(place - 1)
    return ends
