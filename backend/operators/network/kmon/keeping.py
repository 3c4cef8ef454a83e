"""Some of the tuples that a join holds, and how its joins are with each: why is it still kept?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from backend.operators.network.core.addressing import addressed
from backend.operators.network.core.blocks import Ints
from backend.operators.network.kinds.kmon import KMonOp
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.kept import KeptJoin, KeptState, KeptTuple
from backend.operators.network.kmon.linking import holds_child
from backend.operators.network.kmon.words import Memory

#: Places of tuples, at most, spread over all.
MOST_LOOKED_AT: Final = 4096
_STATES: Final[dict[KeptState, tuple[int, ...]]] = {
    "yes": (w.YES,),
    "unknown": (w.UNKNOWN,),
    "no": (w.NO,),
    "spilled": (w.SPILLED, w.SPILLED_YES),
}


def kept_tuples(m: Memory, work: KMonOp) -> tuple[KeptTuple, ...]:
    """Of each input and state the oldest, the newest and one between, among ``MOST_LOOKED_AT`` of
    the tuples: it is asked at every batch, however many are held."""
    return tuple(sorted(_kept(m, work), key=lambda kept: kept.input))


def _kept(m: Memory, work: KMonOp) -> Iterator[KeptTuple]:
    n = len(m.entries) // int(m.widths[2])
    looked_at = np.arange(0, n, -(-n // MOST_LOOKED_AT))
    states = m.entry(looked_at, w.STATE)
    for state, codes in _STATES.items():
        here = looked_at[np.isin(states, codes)]
        inputs = m.link(here, w.INPUT)
        for input in range(len(work.inputs)):
            slots = here[inputs == input]
            slots = slots[np.argsort(m.word(slots, w.NUMBER))]
            for place in sorted({0, len(slots) // 2, len(slots) - 1} & {*range(len(slots))}):
                slot = slots[place : place + 1]
                joins = tuple(_joins(m, work, input, slot))
                number, tau = int(m.word(slot, w.NUMBER)[0]), int(m.word(slot, w.TAU)[0])
                yield KeptTuple(input, number, state, tau, joins)


def _joins(m: Memory, work: KMonOp, input: int, slot: Ints) -> Iterator[KeptJoin]:
    """slot: int64[1]."""
    covered, met = int(m.link(slot, w.COVERED)[0]), int(m.link(slot, w.MET)[0])
    for e, edge in enumerate(work.edges):
        if edge.parent == input:
            waited = _since(m, slot, edge.child, int(m.edges[e, w.WAITS_AT]))
            has_child = holds_child(addressed(m), e, int(slot[0]))
            yield KeptJoin(e, True, has_child, waited)
        elif edge.child == input:
            waited = _since(m, slot, edge.parent, int(m.edges[e, w.MEETS_AT]))
            yield KeptJoin(e, False, bool((covered | met) >> e & 1), waited)


def _since(m: Memory, slot: Ints, other: int, at: int) -> int:
    """Arrivals of another input since a tuple's own, -1: not known. at: of its stamp."""
    return -1 if at < 0 else int(m.inputs[other, w.COUNT]) - int(m.word(slot, at)[0])
