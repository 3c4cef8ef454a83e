"""Elements of several lists in order of time."""

from __future__ import annotations

import numpy as np

from backend.operators.network.blocks import Ints
from backend.operators.selection.bits import kernel


def by_time(*taus: Ints) -> Ints:
    """int64[n]: the places of several nondecreasing lists, put one after the other, in τ; those
    with one τ in the order of the lists."""
    order = np.empty(sum(map(len, taus)), np.int64)
    ends = np.cumsum([len(tau) for tau in taus])
    _merge(np.concatenate(taus), ends, np.concatenate([[0], ends[:-1]]), order)
    return order


@kernel
def _merge(tau: Ints, ends: Ints, heads: Ints, order: Ints) -> None:
    """heads: where each list begins; they go on."""
    for i in range(len(order)):
        best = -1
        for k in range(len(ends)):
            at = heads[k]
            if at < ends[k] and (best < 0 or tau[at] < tau[heads[best]]):
                best = k
        order[i] = heads[best]
        heads[best] += 1
