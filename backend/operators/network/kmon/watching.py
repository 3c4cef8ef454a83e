"""Distances of what arrives: kernels of k-Mon's join ([B05] 6.5 and 6.9, cards B1, B6).

A distance is a number of arrivals of one input. Estimates are made of them arrival by arrival, so
that k does not depend on where batches are cut.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from backend.operators.network.core.addressing import Pointer
from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.hashing import FACTORS
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.arrays import (
    aux,
    aux_heads,
    bins,
    changes,
    constraints,
    edges,
    entry,
    estimates,
    facts,
    ghosts,
    inputs,
    known,
    link,
    past,
    points,
    seen,
    set_link,
    set_word,
    settings,
    widths,
    word,
)
from backend.operators.network.kmon.estimates import KEPT, K
from backend.operators.network.kmon.estimating import arrived, look, observed, waits, wants_look
from backend.operators.network.kmon.linking import child_of, next_parent
from backend.operators.network.kmon.losing import child_came, gone, parent_came
from backend.operators.network.kmon.survival import distance_bin
from backend.operators.network.kmon.words import Ints32
from backend.operators.selection.bits import called, kernel

#: Tuples that wait are looked at in an estimate, at most.
_MOST_LOOKED_AT: Final = 256


@called
def watch(m: Pointer, slot: int) -> None:
    """Distances that an arrival shows, of all constraints; stamps of the tuple. It is not inserted
    yet, but counted."""
    port = link(m, slot, w.INPUT)
    for e in range(len(edges(m))):
        if edges(m)[e, w.PARENT] == port:
            _met_below(m, e, slot)
        if edges(m)[e, w.CHILD] == port:
            _met_above(m, e, slot)
    for c in range(len(constraints(m))):
        if constraints(m)[c, w.WHOSE] == port and constraints(m)[c, w.AT] >= 0 and is_on(m, c):
            _watch_value(m, c, slot)


@called
def is_on(m: Pointer, c: int) -> bool:
    """Whether a constraint is used or watched."""
    return c >= 0 and (constraints(m)[c, w.USED] | constraints(m)[c, w.WATCHED]) != 0


@called
def note(m: Pointer, c: int, distance: int, kept: bool) -> None:
    """A distance that says something was observed. kept: the tuple was kept to be observed only."""
    if not is_on(m, c):
        return
    rows = known(m)
    k, limit = rows[c, K], rows[c, KEPT]
    tell_distance(m, c, distance)
    if constraints(m)[c, w.DECLARED] >= 0 or not constraints(m)[c, w.WATCHED]:
        return
    weight = settings(m)[w.DRAW_WEIGHT] if kept and 0 <= limit < distance else 1
    observed(estimates(m), c, distance, float(weight))
    _changed(m, c, k, distance)


@called
def tell_distance(m: Pointer, c: int, distance: int) -> None:
    """Count a distance in what is told of the batch. Those of tuples that were let go are told, but
    nothing is estimated of them: sampled ones stand for these."""
    if not is_on(m, c):
        return
    constraints(m)[c, w.VIOLATED] += 0 <= known(m)[c, K] < distance
    constraints(m)[c, w.LARGEST] = max(constraints(m)[c, w.LARGEST], distance)
    constraints(m)[c, w.N_OBSERVED] += 1
    bins(m)[c, distance_bin(distance)] += 1
    if distance > 0 or constraints(m)[c, w.N_OBSERVED] & 15 == 0:
        at = constraints(m)[c, w.N_SEEN] % seen(m).shape[1]
        seen(m)[c, at, 0], seen(m)[c, at, 1] = facts(m)[w.NOW], distance
        constraints(m)[c, w.N_SEEN] += 1


@called
def _changed(m: Pointer, c: int, before: int, distance: int) -> None:
    """Tell of another k, if it is another."""
    after = known(m)[c, K]
    if after == before:
        return
    facts(m)[w.IS_STALE] = 1
    n = facts(m)[w.N_CHANGES]
    if n < len(changes(m)):
        changes(m)[n, 0], changes(m)[n, 1] = c, facts(m)[w.ARRIVALS]
        changes(m)[n, 2], changes(m)[n, 3] = facts(m)[w.NOW], before
        changes(m)[n, 4], changes(m)[n, 5] = after, distance
        changes(m)[n, 6] = constraints(m)[c, w.N_OBSERVED]
    facts(m)[w.N_CHANGES] += 1


@called
def _passed(m: Pointer, c: int, distance: int) -> None:
    """One more arrival at the place where a constraint is observed, with the distance of the text:
    0 where there is none; and a look at what waits, when it is time."""
    if constraints(m)[c, w.DECLARED] >= 0 or not constraints(m)[c, w.WATCHED]:
        return
    before = known(m)[c, K]
    arrived(estimates(m), c, distance)
    if wants_look(estimates(m), c):
        if constraints(m)[c, w.TYPE] == w.RIDS:
            _look_at_waiting(m, c)
        look(estimates(m), c)
    _changed(m, c, before, distance)


# ---------------------------------------------------------------------- referential integrity


@called
def _met_below(m: Pointer, e: int, slot: int) -> None:
    """A parent has come: its stamp, and the child that is there."""
    counted, at = int(edges(m)[e, w.PARENT]), int(edges(m)[e, w.WAITS_AT])
    set_word(m, slot, at, int(inputs(m)[edges(m)[e, w.CHILD], w.COUNT]))
    c, back = int(edges(m)[e, w.RIDS_OF]), int(edges(m)[e, w.BACK_OF])
    if back < 0 and settings(m)[w.EXACT] and not is_on(m, c):
        return
    child, distance = child_of(m, e, slot), 0
    if child >= 0:
        note(m, c, 0, False)
        if back >= 0 and not link(m, child, w.MET) >> e & 1:
            waited = int(inputs(m)[counted, w.COUNT]) - word(m, child, int(edges(m)[e, w.MEETS_AT]))
            is_kept = link(m, child, w.FACTS) & w.SAMPLED != 0
            note(m, back, waited, is_kept)
            distance = waited
        set_link(m, child, w.MET, link(m, child, w.MET) | 1 << e)
    if not settings(m)[w.EXACT]:
        parent_came(m, e, slot, child)
        if back >= 0 and child < 0:
            _since_gone(m, e, 1, slot, back)
    if back >= 0:
        _passed(m, back, distance)


@called
def _met_above(m: Pointer, e: int, slot: int) -> None:
    """A child has come: how long the parents that are there have waited."""
    c, back = int(edges(m)[e, w.RIDS_OF]), int(edges(m)[e, w.BACK_OF])
    count, largest = int(inputs(m)[edges(m)[e, w.CHILD], w.COUNT]), 0
    asks = back >= 0 or is_on(m, c)
    parent = next_parent(m, e, slot, -1) if asks else -1
    if back >= 0:
        above = int(inputs(m)[edges(m)[e, w.PARENT], w.COUNT])
        set_word(m, slot, int(edges(m)[e, w.MEETS_AT]), above)
        if parent >= 0:
            note(m, back, 0, False)
            set_link(m, slot, w.MET, link(m, slot, w.MET) | 1 << e)
    while parent >= 0:
        state = entry(m, parent, w.STATE)
        if state in (w.UNKNOWN, w.SPILLED):
            distance = count - word(m, parent, int(edges(m)[e, w.WAITS_AT]))
            note(m, c, distance, link(m, parent, w.FACTS) & w.SAMPLED != 0)
            largest = max(largest, distance)
        parent = next_parent(m, e, slot, parent) if is_on(m, c) else -1
    if not settings(m)[w.EXACT]:
        _since_gone(m, e, 0, slot, c)
        child_came(m, e, slot)
    _passed(m, c, largest)


@called
def _since_gone(m: Pointer, e: int, side: int, slot: int, c: int) -> None:
    """The distance of a pair whose first tuple was let go: it violates k, and is told."""
    at = gone(m, e, side, slot)
    if at >= 0:
        counted = int(edges(m)[e, w.PARENT if side == 1 else w.CHILD])
        stamp = int(ghosts(m)[2 * e + side, at, w.GONE_STAMP])
        tell_distance(m, c, int(inputs(m)[counted, w.COUNT]) - stamp)


@called
def _look_at_waiting(m: Pointer, c: int) -> None:
    """Tell an estimate of tuples whose partner has not come: some of them, evenly, from the oldest
    on."""
    e = int(constraints(m)[c, w.EDGE])
    is_back = edges(m)[e, w.BACK_OF] == c
    port = int(edges(m)[e, w.CHILD if is_back else w.PARENT])
    other = int(edges(m)[e, w.PARENT if is_back else w.CHILD])
    at = int(edges(m)[e, w.MEETS_AT if is_back else w.WAITS_AT])
    n = inputs(m)[port, w.N_STATES + w.UNKNOWN]
    n += inputs(m)[port, w.N_STATES + w.YES] if is_back else 0
    stride, k = max(1, int(n) // _MOST_LOOKED_AT), 0
    slot = int(inputs(m)[port, w.OLDEST])
    while slot >= 0:
        state = entry(m, slot, w.STATE)
        if state == w.UNKNOWN or (is_back and state == w.YES):
            if k % stride == 0 and _is_waiting(m, e, slot, is_back):
                age = int(inputs(m)[other, w.COUNT]) - word(m, slot, at)
                waits(estimates(m), c, age, float(stride))
            k += 1
        slot = link(m, slot, w.AFTER)


@called
def _is_waiting(m: Pointer, e: int, slot: int, is_back: bool) -> bool:
    if is_back:
        return not link(m, slot, w.MET) >> e & 1
    return child_of(m, e, slot) < 0


# ---------------------------------------------------------------------- clustered, ordered arrival


@called
def _watch_value(m: Pointer, c: int, slot: int) -> None:
    """CA-Aux, or the running maxima, of an attribute; NULL takes no part (erratum D16)."""
    at = int(constraints(m)[c, w.AT])
    if link(m, slot, w.FACTS) & (w.NULLS << (at - int(widths(m)[3]))):
        return
    value = word(m, slot, at)
    is_kept = False
    if constraints(m)[c, w.TYPE] == w.CA:
        distance = _clustered(m, c, value)
        # where nothing is lost it is no reason to give k up
        is_kept = not settings(m)[w.EXACT] and aux(m)[aux_of(m, c, value), w.AUX_UNTIL] > 0
    else:
        distance = _scrambled(m, c, value)
    note(m, c, distance, is_kept)
    _passed(m, c, distance)


@called
def _clustered(m: Pointer, c: int, value: int) -> int:
    """Arrivals of other values since the first of this one; C_v of the card goes on."""
    count = int(inputs(m)[constraints(m)[c, w.WHOSE], w.COUNT])
    place, cell = aux_place(m, c, value), aux_of(m, c, value)
    if cell >= 0:
        aux(m)[cell, w.AUX_COUNT] += 1
        if aux(m)[cell, w.AUX_STATE] == w.AUX_DONE:  # children that came back are covered anew
            aux(m)[cell, w.AUX_STATE] = w.AUX_LIVE
        return count - int(aux(m)[cell, w.AUX_COUNT])
    _came_again(m, c, value, count)
    cell = int(facts(m)[w.AUX_HEAD])
    if cell >= 0:
        facts(m)[w.AUX_HEAD] = aux(m)[cell, w.AUX_NEXT]
    else:
        cell = int(facts(m)[w.AUX_USED])
        facts(m)[w.AUX_USED] += 1
    aux(m)[cell, w.VALUE], aux(m)[cell, w.AUX_COUNT], aux(m)[cell, w.AUX_OF] = value, count, c
    aux(m)[cell, w.AUX_STATE], aux(m)[cell, w.AUX_WAITS] = w.AUX_LIVE, -1
    aux(m)[cell, w.AUX_UNTIL] = 0
    aux(m)[cell, w.AUX_NEXT] = aux_heads(m)[place] - 1
    aux_heads(m)[place] = cell + 1
    facts(m)[w.N_AUX] += 1
    return 0


@called
def _came_again(m: Pointer, c: int, value: int, count: int) -> None:
    """A value that was forgotten violates k; it begins anew."""
    at = past_place(m, c, value)
    if past(m)[c, at, w.PAST_COUNT] > 0 and past(m)[c, at, w.PAST_VALUE] == value:
        tell_distance(m, c, count - int(past(m)[c, at, w.PAST_COUNT]) - 1)
        past(m)[c, at, w.PAST_COUNT] = 0


@called
def past_place(m: Pointer, c: int, value: int) -> int:
    """Where a value is that CA forgot."""
    return _bucket_of(c, value, past(m).shape[1])


@called
def aux_place(m: Pointer, c: int, value: int) -> int:
    """The bucket of a value in CA-Aux."""
    return _bucket_of(c, value, len(aux_heads(m)))


@called
def _bucket_of(c: int, value: int, n: int) -> int:
    mixed = (np.uint64(value) ^ np.uint64(c + 1)) * FACTORS[0]
    mixed = (mixed ^ mixed >> np.uint64(32)) * FACTORS[1]
    return int(mixed >> np.uint64(32)) & (n - 1)


@kernel
def link_values(aux: Ints, heads: Ints32, n: int) -> None:
    """Fill the buckets of CA-Aux anew, there are more now."""
    heads[:] = 0
    for cell in range(n):
        if aux[cell, w.AUX_STATE] != w.AUX_FREE:
            place = _bucket_of(int(aux[cell, w.AUX_OF]), int(aux[cell, w.VALUE]), len(heads))
            aux[cell, w.AUX_NEXT] = heads[place] - 1
            heads[place] = cell + 1


@called
def aux_of(m: Pointer, c: int, value: int) -> int:
    """The cell of a value in CA-Aux; -1: none."""
    cell = int(aux_heads(m)[aux_place(m, c, value)]) - 1
    while cell >= 0 and (aux(m)[cell, w.VALUE] != value or aux(m)[cell, w.AUX_OF] != c):
        cell = int(aux(m)[cell, w.AUX_NEXT])
    return cell


@called
def _scrambled(m: Pointer, c: int, value: int) -> int:
    """How far behind the first greater value it comes, of those remembered; the running maxima go
    on."""
    count = int(inputs(m)[constraints(m)[c, w.WHOSE], w.COUNT])
    first, n = constraints(m)[c, w.FIRST_POINT], constraints(m)[c, w.N_POINTS]
    room, ring = points(m).shape[1], constraints(m)[c, w.RING]
    if n == 0 or value >= points(m)[ring, (first + n - 1) % room, 1]:
        if n == 0 or value > points(m)[ring, (first + n - 1) % room, 1]:
            while (
                n > 1 and points(m)[ring, (first + 1) % room, 0] <= count - constraints(m)[c, w.CAP]
            ):
                first, n = (first + 1) % room, n - 1
            constraints(m)[c, w.FIRST_POINT] = first
            at = (first + n) % room
            points(m)[ring, at, 0], points(m)[ring, at, 1] = count, value
            constraints(m)[c, w.N_POINTS] = n + 1
        return 0
    low, high = 0, int(n) - 1
    while low < high:
        middle = (low + high) >> 1
        if points(m)[ring, (first + middle) % room, 1] > value:
            high = middle
        else:
            low = middle + 1
    return count - int(points(m)[ring, (first + low) % room, 0])
