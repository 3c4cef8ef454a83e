"""Joins of windows that keep some key groups, by their definition: the join of the tuples kept.

A tuple is kept at a tick if its group was not dropped from the tick it came at until then; a
window of rows counts all tuples of its stream, those that are not kept, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.windows import WindowOp
from tests.oracles.cql_semantics import Elements, Row
from tests.oracles.network_joins import join_at
from tests.oracles.network_windows import window_at

#: A stream that is joined without a window.
_ALL = WindowOp("unbounded")
#: How many groups are dropped at a tick.
Dropped = Callable[[int], int]


def retained_join_at(
    plan: NetworkPlan,
    inputs: Mapping[str, Elements],
    places: Mapping[str, int],
    group: Callable[[Any], int],
    dropped: Dropped,
    now: int,
) -> Counter[Row]:
    """The bag of the plan's only join, of windows. places: window -> its column with the key, of
    those that drop tuples; group: of a key."""
    ((joined, work),) = plan.working(JoinOp)
    bags = [_kept_at(plan, id, inputs, places.get(id), group, dropped, now) for id in joined.inputs]
    return join_at(work, bags)


def _kept_at(
    plan: NetworkPlan,
    id: str,
    inputs: Mapping[str, Elements],
    place: int | None,
    group: Callable[[Any], int],
    dropped: Dropped,
    now: int,
) -> Counter[Row]:
    window = plan.operator(id)
    below = plan.operator(window.inputs[0]) if window.inputs else window
    of = window.work if isinstance(window.work, WindowOp) else _ALL
    assert isinstance(below.work, StreamInput)
    every: Sequence[Any] = inputs[below.work.stream]
    rows = [(tuple(row[k] for k in below.work.columns), tau) for row, tau in every]
    numbered = [((n,), tau, True) for n, (_, tau) in enumerate(rows)]
    kept: Counter[Row] = Counter()
    for (n,), count in window_at(of, numbered, now).items():
        row, came = rows[n]
        worst = max(dropped(tick) for tick in range(came, now + 1))
        if place is None or worst == 0 or group(row[place]) >= worst:
            kept[row] += count
    return kept
