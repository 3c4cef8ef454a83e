"""The input manager by its definition: whole streams, one tuple after the other."""

from __future__ import annotations

from collections.abc import Sequence

from backend.operators.network.core.job import StreamTime

#: Ticks end here.
END = 2**61


def in_time(
    raw: Sequence[int], time: StreamTime
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """A stream's tuples as (τ, arrival): those taken in, in order, and those kept aside.

    raw: the timestamp attribute of each tuple, in ticks.
    """
    taken, late = [], []
    high, offset, turn = -1, 0, -1
    for arrival, tick in enumerate(raw):
        if time.timestamp is None:
            taken.append((arrival, arrival))
            continue
        if not 0 <= tick < END:
            late.append((tick, arrival))
            continue
        own = arrival // time.n_tuples if time.n_tuples else 0
        if own != turn:
            offset = 0 if turn < 0 else high + 1 - (tick - time.disorder)
            turn = own
        tau = tick + offset
        if tau >= END or (high >= 0 and tau > high + time.max_leap):
            late.append((tau, arrival))
            continue
        (late if tau < max(0, high - time.disorder) else taken).append((tau, arrival))
        high = max(high, tau)
    return sorted(taken), late
