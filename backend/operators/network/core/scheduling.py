"""Which operator runs next: FIFO, round robin, Greedy, Chain (card A8; thesis, section 2.3.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from backend.operators.network.core.job import Policy


class Ready(NamedTuple):
    """An operator that could run. place: in topological order, from 0; head: age of the oldest
    element that waits for it, as any number that grows with time (τ)."""

    place: int
    head: int


def choose(
    policy: Policy, ready: Sequence[Ready], slopes: Mapping[int, tuple[float, int]], last: int
) -> Ready:
    """The next of some operators; at least one.

    fifo: the one with the oldest element, the furthest downstream of those. round_robin: the next
    behind ``last``, the one that ran before. greedy: the one that removes most elements per time;
    chain: one of the steepest chain, the oldest element first inside it; ties by age, too. slopes:
    place -> slope and chain number.
    """
    if policy == "round_robin":
        return min(ready, key=lambda candidate: (candidate.place <= last, candidate.place))
    return min(ready, key=rank(policy, slopes))


def rank(
    policy: Policy, slopes: Mapping[int, tuple[float, int]]
) -> Callable[[Ready], tuple[float, int, int]]:
    """The least of it goes first under a policy that does not ask who ran before: fifo, greedy,
    chain."""
    known, none = {} if policy == "fifo" else slopes, (0.0, 0)
    return lambda candidate: (
        -known.get(candidate.place, none)[0],
        candidate.head,
        -candidate.place,
    )
