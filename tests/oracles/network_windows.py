"""Windows by their definitions: the bag at a tick, from all that came before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from backend.operators.network.kinds.windows import WindowOp

Row = tuple[Any, ...]
#: A tuple, its timestamp, whether it lies in this shard.
Arrival = tuple[Row, int, bool]
#: A tuple, a timestamp, +1 or -1.
Signed = tuple[Row, int, int]


def window_at(work: WindowOp, arrivals: Sequence[Arrival], now: int) -> Counter[Row]:
    """The tuples of this shard that are in the window."""
    so_far = [one for one in arrivals if one[1] <= now]
    if work.kind == "range":
        at = now - now % work.slide
        return Counter(row for row, tau, own in so_far if own and at - work.size <= tau <= at)
    if work.kind == "rows":
        so_far = so_far[-work.size :]
    if work.kind != "partition":
        return Counter(row for row, _, own in so_far if own)
    groups: dict[Row, list[Row]] = {}
    for row, _, own in so_far:
        if own:
            groups.setdefault(tuple(row[place] for place in work.by), []).append(row)
    return Counter(row for rows in groups.values() for row in rows[-work.size :])


def bag_at(elements: Sequence[Signed], now: int) -> Counter[Row]:
    """What elements come to at a tick; raises AssertionError if more goes than was there."""
    bag: Counter[Row] = Counter()
    for row, tau, sign in elements:
        if tau <= now:
            bag[row] += sign
    assert all(count >= 0 for count in bag.values()), f"more goes than came by {now}"
    return +bag
