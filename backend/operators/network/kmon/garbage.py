"""Tuples that constraints make needless: kernels of k-Mon's join ([B05] Fig. 6.8 to 6.10, card B4).

Looked for every so many arrivals, in the one order that reaches a fixpoint in one pass (Example
6.10.1 iii): parents that wait in vain, No that nobody asks for, children that no parent joins.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from backend.operators.network.core.addressing import Pointer
from backend.operators.network.core.hashing import FACTORS
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.arrays import (
    aux,
    aux_heads,
    constraints,
    edges,
    entry,
    facts,
    inputs,
    known,
    link,
    past,
    points,
    set_link,
    settings,
    uses,
    word,
)
from backend.operators.network.kmon.components import drain, let_go
from backend.operators.network.kmon.estimates import KEPT, K
from backend.operators.network.kmon.letting_go import (
    bound_waiting,
    hopeless_by,
    is_active,
    newest_point,
)
from backend.operators.network.kmon.linking import child_of, free, next_parent, push
from backend.operators.network.kmon.watching import aux_of, aux_place, past_place
from backend.operators.selection.bits import called

#: Arrivals from one collection to the next, at least, where the state's size says; and for so many
#: tuples held one arrival.
_LEAST: Final = 16
_PER_TUPLE: Final = 4


@called
def collect(m: Pointer) -> None:
    """All garbage of the moment."""
    every = settings(m)[w.EVERY]
    facts(m)[w.TO_GARBAGE] = every or max(
        _LEAST, (facts(m)[w.N_LIVE] + facts(m)[w.N_AUX]) // _PER_TUPLE
    )
    if facts(m)[w.IS_STALE]:
        bound_waiting(m)
    _waiting_in_vain(m)
    if facts(m)[w.HAS_LESS]:
        _forget_no(m)
    for c in range(len(constraints(m))):
        if constraints(m)[c, w.TYPE] == w.CA:
            _clustered(m, c)
        elif constraints(m)[c, w.TYPE] == w.OAP and is_active(m, c):
            _ordered(m, c)
    _covered(m)
    drain(m)
    for e in range(len(edges(m))):
        if is_active(m, int(edges(m)[e, w.BACK_OF])):
            _met(m, e)
            drain(m)


@called
def _forget_no(m: Pointer) -> None:
    """No of inputs that do not store it any more."""
    for port in range(len(inputs(m))):
        slot = -1 if inputs(m)[port, w.STORES_NO] else int(inputs(m)[port, w.OLDEST])
        while slot >= 0:
            beyond = link(m, slot, w.AFTER)
            if entry(m, slot, w.STATE) == w.NO:
                free(m, slot)
            slot = beyond
    facts(m)[w.HAS_LESS] = 0


@called
def _waiting_in_vain(m: Pointer) -> None:
    """Parents in Unknown whose child cannot come any more (RIDS, OAC)."""
    for e in range(len(edges(m))):
        if not edges(m)[e, w.BOUNDED]:
            continue
        slot = int(inputs(m)[edges(m)[e, w.PARENT], w.OLDEST])
        while slot >= 0:
            beyond = link(m, slot, w.AFTER)
            if entry(m, slot, w.STATE) == w.UNKNOWN and child_of(m, e, slot) < 0:
                reason = hopeless_by(m, e, slot)
                if reason >= 0:
                    let_go(m, e, slot, reason)
            slot = beyond
        drain(m)


# ---------------------------------------------------------------------- CA, OAP


@called
def _clustered(m: Pointer, c: int) -> None:
    """Values that come no more: children that have them are covered, then they are forgotten."""
    count, kept = inputs(m)[constraints(m)[c, w.WHOSE], w.COUNT], constraints(m)[c, w.CAP]
    acts, k, now = is_active(m, c), known(m)[c, K], facts(m)[w.ARRIVALS]
    if acts:
        kept = min(kept, max(k, known(m)[c, KEPT]))
        _cover_clustered(m, c)
    for cell in range(facts(m)[w.AUX_USED]):
        if aux(m)[cell, w.AUX_STATE] == w.AUX_FREE or aux(m)[cell, w.AUX_OF] != c:
            continue
        others = count - aux(m)[cell, w.AUX_COUNT]
        if acts and others > k and aux(m)[cell, w.AUX_WAITS] != now:
            aux(m)[cell, w.AUX_STATE] = w.AUX_DONE
        is_over = others > kept and (not acts or aux(m)[cell, w.AUX_STATE] == w.AUX_DONE)
        if is_over and (others > constraints(m)[c, w.CAP] or not _is_sampled(m, c, cell)):
            _forget_value(m, c, cell)


@called
def _is_sampled(m: Pointer, c: int, cell: int) -> bool:
    """Whether a value is kept beyond k_e to be observed: with the share of the draw, until each of
    its children that is there now has left its window."""
    mixed = np.uint64(aux(m)[cell, w.VALUE]) + np.uint64(settings(m)[w.SEED] + c + 1) * FACTORS[1]
    mixed = (mixed ^ mixed >> np.uint64(32)) * FACTORS[0]
    mixed = (mixed ^ mixed >> np.uint64(29)) * FACTORS[1]
    if int(mixed >> np.uint64(32)) >= settings(m)[w.DRAW]:
        return False
    e = 0
    for u in range(len(uses(m))):
        if uses(m)[u, w.USE_OF] == c:
            e = int(uses(m)[u, w.USE_EDGE])
    child = edges(m)[e, w.CHILD]
    window = inputs(m)[child, w.WINDOW]
    now = facts(m)[w.NOW] if window == w.RANGE else inputs(m)[child, w.COUNT]
    if aux(m)[cell, w.AUX_UNTIL] == 0:
        aux(m)[cell, w.AUX_UNTIL] = now + inputs(m)[child, w.SIZE] + 1
    return bool(window == w.UNBOUNDED or now < aux(m)[cell, w.AUX_UNTIL])


@called
def _cover_clustered(m: Pointer, c: int) -> None:
    """Mark children whose value no later parent has, where none waits that has it."""
    count = inputs(m)[constraints(m)[c, w.WHOSE], w.COUNT]
    k, now = known(m)[c, K], facts(m)[w.ARRIVALS]
    slot = int(inputs(m)[constraints(m)[c, w.WHOSE], w.OLDEST])
    while slot >= 0:
        if entry(m, slot, w.STATE) == w.UNKNOWN:
            cell = aux_of(m, c, word(m, slot, int(constraints(m)[c, w.AT])))
            if cell >= 0:
                aux(m)[cell, w.AUX_WAITS] = now
        slot = link(m, slot, w.AFTER)
    for u in range(len(uses(m))):
        if uses(m)[u, w.USE_OF] != c:
            continue
        e, at = int(uses(m)[u, w.USE_EDGE]), int(uses(m)[u, w.USE_CHILD_AT])
        slot = int(inputs(m)[edges(m)[e, w.CHILD], w.OLDEST])
        while slot >= 0:
            cell = aux_of(m, c, word(m, slot, at)) if is_open(m, e, slot) else -1
            if cell >= 0 and aux(m)[cell, w.AUX_STATE] == w.AUX_LIVE:
                waits = aux(m)[cell, w.AUX_WAITS] == now and entry(m, slot, w.STATE) != w.NO
                if count - aux(m)[cell, w.AUX_COUNT] > k and not waits:
                    _cover(m, c, e, slot)
            slot = link(m, slot, w.AFTER)


@called
def _forget_value(m: Pointer, c: int, cell: int) -> None:
    """Take a value out of CA-Aux; should it come again, that is noticed for a while."""
    at = past_place(m, c, int(aux(m)[cell, w.VALUE]))
    past(m)[c, at, w.PAST_VALUE] = aux(m)[cell, w.VALUE]
    past(m)[c, at, w.PAST_COUNT] = aux(m)[cell, w.AUX_COUNT]
    place, beyond = aux_place(m, c, int(aux(m)[cell, w.VALUE])), aux(m)[cell, w.AUX_NEXT]
    before = int(aux_heads(m)[place]) - 1
    if before == cell:
        aux_heads(m)[place] = beyond + 1
    else:
        while aux(m)[before, w.AUX_NEXT] != cell:
            before = int(aux(m)[before, w.AUX_NEXT])
        aux(m)[before, w.AUX_NEXT] = beyond
    aux(m)[cell, w.AUX_STATE] = w.AUX_FREE
    aux(m)[cell, w.AUX_NEXT] = facts(m)[w.AUX_HEAD]
    facts(m)[w.AUX_HEAD] = cell
    facts(m)[w.N_AUX] -= 1


@called
def _ordered(m: Pointer, c: int) -> None:
    """Mark children below all that may come of an ordered attribute of their parents; those that
    may be in a result, where no parent waits that joins them (exactly, erratum D18)."""
    point = newest_point(m, c, int(known(m)[c, K]))
    if point < 0:
        return
    least = points(m)[constraints(m)[c, w.RING], point, 1]
    for u in range(len(uses(m))):
        if uses(m)[u, w.USE_OF] != c:
            continue
        e, at = int(uses(m)[u, w.USE_EDGE]), int(uses(m)[u, w.USE_CHILD_AT])
        slot = int(inputs(m)[edges(m)[e, w.CHILD], w.OLDEST])
        while slot >= 0:
            is_past = is_open(m, e, slot) and word(m, slot, at) < least
            is_no = entry(m, slot, w.STATE) == w.NO
            if is_past and (is_no or not _has_parent(m, e, slot, w.UNKNOWN, w.UNKNOWN)):
                _cover(m, c, e, slot)
            slot = link(m, slot, w.AFTER)


@called
def is_open(m: Pointer, e: int, slot: int) -> bool:
    """Whether a child that is held has still to be covered by the parents of a join."""
    held = entry(m, slot, w.STATE) in (w.YES, w.UNKNOWN, w.NO)
    return held and not link(m, slot, w.COVERED) >> e & 1


@called
def _cover(m: Pointer, c: int, e: int, slot: int) -> None:
    set_link(m, slot, w.COVERED, link(m, slot, w.COVERED) | 1 << e)
    facts(m)[w.N_COVERED] += 1
    constraints(m)[c, w.EVICTED] += is_covered(m, slot)


@called
def is_covered(m: Pointer, slot: int) -> bool:
    """Whether no parent joins a child any more: of one in No all of them; else of all roots, all of
    which are its parents (theorem 6.7.1)."""
    port = link(m, slot, w.INPUT)
    parents = inputs(m)[port, w.PARENTS]
    whole = link(m, slot, w.COVERED) & parents == parents
    return bool(whole and (entry(m, slot, w.STATE) == w.NO or inputs(m)[port, w.MEETS_ROOTS] != 0))


@called
def _covered(m: Pointer) -> None:
    """Let go the children that were covered."""
    if not facts(m)[w.N_COVERED]:
        return
    facts(m)[w.N_COVERED] = 0
    for port in range(len(inputs(m))):
        slot = int(inputs(m)[port, w.OLDEST]) if inputs(m)[port, w.PARENTS] else -1
        while slot >= 0:
            if entry(m, slot, w.STATE) in (w.YES, w.UNKNOWN, w.NO) and is_covered(m, slot):
                push(m, w.DROP, slot)
            slot = link(m, slot, w.AFTER)


# ---------------------------------------------------------------------- one-one joins


@called
def _met(m: Pointer, e: int) -> None:
    """Children of a one-one join whose only parent has come and is held no more, or cannot come any
    more (card F1): each result with them has a parent of this join."""
    c, count = int(edges(m)[e, w.BACK_OF]), inputs(m)[edges(m)[e, w.PARENT], w.COUNT]
    slot = int(inputs(m)[edges(m)[e, w.CHILD], w.OLDEST])
    while slot >= 0:
        beyond = link(m, slot, w.AFTER)
        has_met = link(m, slot, w.MET) >> e & 1 != 0
        late = word(m, slot, int(edges(m)[e, w.MEETS_AT])) + known(m)[c, KEPT] <= count
        is_over = has_met or (late and not link(m, slot, w.FACTS) & w.SAMPLED)
        is_over = is_over and entry(m, slot, w.STATE) in (w.YES, w.UNKNOWN, w.NO)
        if is_over and not _has_parent(m, e, slot, w.YES, w.UNKNOWN):
            constraints(m)[c, w.EVICTED] += 1
            if has_met and not _has_parent(m, e, slot, w.SPILLED_YES, w.SPILLED):
                free(m, slot)
            else:
                push(m, w.DROP, slot)
        slot = beyond


@called
def _has_parent(m: Pointer, e: int, slot: int, state: int, other_state: int) -> bool:
    """Whether a parent of a child is held in one of two states."""
    parent = next_parent(m, e, slot, -1)
    while parent >= 0:
        if entry(m, parent, w.STATE) in (state, other_state):
            return True
        parent = next_parent(m, e, slot, parent)
    return False
