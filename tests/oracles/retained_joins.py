"""Joins of windows that keep some of their tuples, by definition: the join of the tuples kept.

A tuple is kept at a tick if it was to be from the tick it came at until then; a window of rows
counts all tuples of its stream, those that are not kept, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.windows import WindowOp
from tests.oracles.cql_semantics import Elements, Row
from tests.oracles.network_joins import join_at
from tests.oracles.network_windows import window_at

#: A stream that is joined without a window.
_ALL = WindowOp("unbounded")


class Came(NamedTuple):
    """A tuple of a window: its key, its number in the stream, and when it came."""

    window: str
    key: Any
    number: int
    tau: int


#: Whether a tuple is to be kept at a tick.
Keeps = Callable[[Came, int], bool]


def retained_join_at(
    plan: NetworkPlan,
    inputs: Mapping[str, Elements],
    places: Mapping[str, int],
    keeps: Keeps,
    now: int,
) -> Counter[Row]:
    """The bag of the plan's only join, of windows. places: window -> its column with the key, of
    those that drop tuples."""
    ((joined, work),) = plan.working(JoinOp)
    bags = [_kept_at(plan, id, inputs, places.get(id), keeps, now) for id in joined.inputs]
    return join_at(work, bags)


def _kept_at(
    plan: NetworkPlan,
    id: str,
    inputs: Mapping[str, Elements],
    place: int | None,
    keeps: Keeps,
    now: int,
) -> Counter[Row]:
    window = plan.operator(id)
    below = plan.operator(window.inputs[0]) if window.inputs else window
    of = window.work if isinstance(window.work, WindowOp) else _ALL
    assert isinstance(below.work, StreamInput)
    every: Sequence[Any] = inputs[below.work.stream]
    rows = [(tuple(row[k] for k in below.work.columns), tau) for row, tau in every]
    numbered = [((*row, n), tau, True) for n, (row, tau) in enumerate(rows)]
    kept: Counter[Row] = Counter()
    for (*_, n), count in window_at(of, numbered, now).items():
        row, came = rows[n]
        if place is None or all(
            keeps(Came(id, row[place], n, came), tick) for tick in range(came, now + 1)
        ):
            kept[row] += count
    return kept
