"""Heaps of runs and tuples in arrays: the lowest score on top, or the earliest end. Card B3"""

from __future__ import annotations

from typing import Final

from backend.operators.network.core.blocks import Ints
from backend.operators.network.shedding.words import (
    DIRTY,
    FLAGS,
    MEMORY,
    N_DIRTY,
    N_HEAP,
    N_OPEN,
    OPENED,
    PLACE,
    RUN_END,
    TIE,
    Floats,
    ShedArrays,
)
from backend.operators.selection.bits import called, inlined

_RUN_END: Final = MEMORY + RUN_END


@inlined
def _is_lower(this: int, other: int, scores: Floats, tuples: Ints) -> bool:
    if scores[this] == scores[other]:
        return bool(tuples[this, TIE] < tuples[other, TIE])
    return bool(scores[this] < scores[other])


@called
def _rise(place: int, item: int, heap: Ints, scores: Floats, tuples: Ints) -> int:
    while place:
        above = (place - 1) >> 1
        if not _is_lower(item, heap[above], scores, tuples):
            break
        heap[place] = heap[above]
        tuples[heap[place], PLACE] = place + 1
        place = above
    heap[place] = item
    tuples[item, PLACE] = place + 1
    return int(place)


@called
def _sink(place: int, item: int, n: int, heap: Ints, scores: Floats, tuples: Ints) -> None:
    while True:
        below = 2 * place + 1
        if below >= n:
            break
        if below + 1 < n and _is_lower(heap[below + 1], heap[below], scores, tuples):
            below += 1
        if not _is_lower(heap[below], item, scores, tuples):
            break
        heap[place] = heap[below]
        tuples[heap[place], PLACE] = place + 1
        place = below
    heap[place] = item
    tuples[item, PLACE] = place + 1


@called
def publish(item: int, score: float, tie: int, shed: ShedArrays) -> None:
    """A run or tuple has this score; ties to the lowest."""
    tuples, heap, scores, facts = shed.tuples, shed.heap, shed.scores, shed.facts
    place = tuples[item, PLACE] - 1
    if place >= 0 and scores[item] == score and tuples[item, TIE] == tie:
        return
    scores[item] = score
    tuples[item, TIE] = tie
    if place < 0:
        place = facts[N_HEAP]
        facts[N_HEAP] += 1
    if _rise(place, item, heap, scores, tuples) == place:
        _sink(place, item, facts[N_HEAP], heap, scores, tuples)


@called
def withdraw(item: int, shed: ShedArrays) -> None:
    """It has no candidate, if it had."""
    tuples, heap, scores, facts = shed.tuples, shed.heap, shed.scores, shed.facts
    place = tuples[item, PLACE] - 1
    if place < 0:
        return
    tuples[item, PLACE] = 0
    facts[N_HEAP] -= 1
    n = facts[N_HEAP]
    last = heap[n]
    if last != item and _rise(place, last, heap, scores, tuples) == place:
        _sink(place, last, n, heap, scores, tuples)


@called
def mark(item: int, shed: ShedArrays) -> None:
    """Its best candidate may be another now."""
    tuples, facts = shed.tuples, shed.facts
    if item >= 0 and not tuples[item, FLAGS] & DIRTY:
        tuples[item, FLAGS] |= DIRTY
        shed.dirty[facts[N_DIRTY]] = item
        facts[N_DIRTY] += 1


@called
def watch(item: int, shed: ShedArrays) -> None:
    """Look at a run in memory again once nothing can lengthen it; its end may have changed."""
    tuples, opens, facts = shed.tuples, shed.opens, shed.facts
    place = tuples[item, OPENED] - 1
    if place < 0:
        place = facts[N_OPEN]
        facts[N_OPEN] += 1
    _settle(place, item, facts[N_OPEN], opens, tuples)


@called
def unwatch(item: int, shed: ShedArrays) -> None:
    """It is looked at anyway, or is gone."""
    tuples, opens, facts = shed.tuples, shed.opens, shed.facts
    place = tuples[item, OPENED] - 1
    if place < 0:
        return
    tuples[item, OPENED] = 0
    facts[N_OPEN] -= 1
    last = opens[facts[N_OPEN]]
    if last != item:
        _settle(place, last, facts[N_OPEN], opens, tuples)


@called
def _settle(place: int, item: int, n: int, opens: Ints, tuples: Ints) -> None:
    """Where a run belongs by its end; it comes to ``place``."""
    end = tuples[item, _RUN_END]
    while place and end < tuples[opens[(place - 1) >> 1], _RUN_END]:
        opens[place] = opens[(place - 1) >> 1]
        tuples[opens[place], OPENED] = place + 1
        place = (place - 1) >> 1
    while 2 * place + 1 < n:
        below = 2 * place + 1
        if below + 1 < n and (tuples[opens[below + 1], _RUN_END] < tuples[opens[below], _RUN_END]):
            below += 1
        if tuples[opens[below], _RUN_END] >= end:
            break
        opens[place] = opens[below]
        tuples[opens[place], OPENED] = place + 1
        place = below
    opens[place] = item
    tuples[item, OPENED] = place + 1
