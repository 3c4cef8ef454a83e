"""What constraints say of tuples that are held: kernels of k-Mon's join ([B05] 6.6 to 6.8, B4)."""

from __future__ import annotations

from backend.operators.network.core.addressing import Pointer
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.arrays import (
    constraints,
    edges,
    facts,
    inputs,
    known,
    link,
    over,
    points,
    settings,
    uses,
    word,
)
from backend.operators.network.kmon.estimates import KEPT, K
from backend.operators.selection.bits import called


@called
def is_active(m: Pointer, c: int) -> bool:
    """Whether tuples are let go by a constraint."""
    if c < 0 or not constraints(m)[c, w.USED]:
        return False
    k, most = known(m)[c, K], settings(m)[w.THRESHOLD]
    return bool(k >= 0 and (most < 0 or k <= most))


@called
def hopeless_by(m: Pointer, e: int, slot: int) -> int:
    """The constraint by which the child of a tuple, which is not there, cannot come; -1: none."""
    c = int(edges(m)[e, w.RIDS_OF])
    if is_over(m, e):
        return c
    if is_active(m, c) and not link(m, slot, w.FACTS) & w.SAMPLED:
        stamp = word(m, slot, int(edges(m)[e, w.WAITS_AT]))
        if stamp + known(m)[c, KEPT] <= inputs(m)[edges(m)[e, w.CHILD], w.COUNT]:
            return c
    for u in range(len(uses(m))):
        c = int(uses(m)[u, w.USE_OF])
        if uses(m)[u, w.USE_EDGE] == e and constraints(m)[c, w.TYPE] == w.OAC and is_active(m, c):
            ring, at = constraints(m)[c, w.RING], newest_point(m, c, int(known(m)[c, K]))
            value = word(m, slot, int(uses(m)[u, w.USE_PARENT_AT]))
            if at >= 0 and value < points(m)[ring, at, 1]:
                return c
    return -1


@called
def is_over(m: Pointer, e: int) -> int:
    """Whether no child comes any more for a join whose constraint is used or watched: 0, FOR_NOW,
    FOR_EVER. Where tuples are replaced what is let go may be asked for again."""
    c = int(edges(m)[e, w.RIDS_OF])
    is_on = (constraints(m)[c, w.USED] | constraints(m)[c, w.WATCHED]) != 0
    ends = int(over(m)[edges(m)[e, w.CHILD]]) if is_on else 0
    return min(ends, w.FOR_NOW) if settings(m)[w.REOPENS] else ends


@called
def newest_point(m: Pointer, c: int, k: int) -> int:
    """Where the running maximum is that there was k arrivals ago: no later value is below; -1: it
    is not known."""
    until = inputs(m)[constraints(m)[c, w.WHOSE], w.COUNT] - k
    n, room, ring = constraints(m)[c, w.N_POINTS], points(m).shape[1], constraints(m)[c, w.RING]
    low, high = 0, int(n)
    while low < high:
        middle = (low + high) >> 1
        at = (constraints(m)[c, w.FIRST_POINT] + middle) % room
        if points(m)[ring, at, 0] <= until:
            low = middle + 1
        else:
            high = middle
    return int((constraints(m)[c, w.FIRST_POINT] + low - 1) % room) if low > 0 else -1


@called
def bound_waiting(m: Pointer) -> None:
    """Look anew at which joins a constraint bounds the waiting, and which inputs store No."""
    for e in range(len(edges(m))):
        bounded = is_active(m, int(edges(m)[e, w.RIDS_OF])) or is_over(m, e) != 0
        for u in range(len(uses(m))):
            c = int(uses(m)[u, w.USE_OF])
            if uses(m)[u, w.USE_EDGE] == e and constraints(m)[c, w.TYPE] == w.OAC:
                bounded = bounded or is_active(m, c)
        edges(m)[e, w.BOUNDED] = bounded
    for port in range(len(inputs(m))):
        stores = False
        for e in range(len(edges(m))):
            if edges(m)[e, w.CHILD] == port and not edges(m)[e, w.BOUNDED]:
                stores = settings(m)[w.KEEPS_NO] != 0
        if inputs(m)[port, w.STORES_NO] and not stores:
            facts(m)[w.HAS_LESS] = 1
        inputs(m)[port, w.STORES_NO] = stores
    facts(m)[w.IS_STALE] = 0


# ---------------------------------------------------------------------- whose fault it is


@called
def blamed_below(m: Pointer, e: int) -> int:
    """The constraint by which parents do not wait for the child of a join; -1: none is used."""
    if is_active(m, int(edges(m)[e, w.RIDS_OF])):
        return int(edges(m)[e, w.RIDS_OF])
    return _used_for(m, e, True)


@called
def blamed_above(m: Pointer, e: int) -> int:
    """The constraint by which children do not wait for parents of a join; -1: none is used."""
    constraint = _used_for(m, e, False)
    return constraint if constraint >= 0 else int(edges(m)[e, w.BACK_OF])


@called
def reason_above(m: Pointer, e: int) -> int:
    """The same; where none is used any more, the one that each join has."""
    constraint = blamed_above(m, e)
    return constraint if constraint >= 0 else int(edges(m)[e, w.RIDS_OF])


@called
def _used_for(m: Pointer, e: int, is_child: bool) -> int:
    for u in range(len(uses(m))):
        c = int(uses(m)[u, w.USE_OF])
        fits = uses(m)[u, w.USE_EDGE] == e and (constraints(m)[c, w.TYPE] == w.OAC) == is_child
        if fits and is_active(m, c):
            return c
    return -1
