"""Readings of keys, tick by tick: each is valid until the next one of its key. [AL11], card B1"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Ints, Signs
from backend.operators.selection.bits import called, inlined, kernel

#: Of each key: its first, its last and its open reading, each plus one; 0: none.
KEY_WORDS: Final = 3
_HEAD, _TAIL, _OPEN = range(KEY_WORDS)
#: Of ``facts``: rows of readings ever used, the row given back last plus one, rows given back,
#: open readings, the next tick to look at.
USED, FREE, N_FREE, N_OPEN, NEXT = range(5)
N_FACTS: Final = 5
#: Of ``done``: elements taken, changes changes, 1 when all ticks are done.
TAKEN, TOLD, OVER = range(3)
#: What is told behind the words of a reading: its end, the tick, the sign.
TOLD_WORDS: Final = 3
#: Changes that one element comes to at most.
MOST_TOLD: Final = 3


@inlined
def _end_of(tick: int, times: int, over: int) -> int:
    """The end of a tick in the unit of times."""
    if over == 1:
        return (tick + 1) * times
    return tick * times // over + 1


class ReadingArrays(NamedTuple):
    """The readings of a window. keys: int32[keys, KEY_WORDS]; words: int64[n, words of a tuple],
    links: int32[n], the next reading of the same key, plus one; shown: int64[n], the ends they were
    told with; facts: int64[N_FACTS]; n_keys: above all slots of keys; start: the word of a tuple
    with its time, behind which those of a stream have their number and tick."""

    keys: NDArray[np.int32]
    words: Ints
    links: NDArray[np.int32]
    shown: Ints
    facts: Ints
    n_keys: int
    start: int


class ReadingElements(NamedTuple):
    """Elements: τ, signs, slots of their keys, packed tuples."""

    tau: Ints
    signs: Signs
    slots: Ints
    packed: Ints


class TickUnit(NamedTuple):
    """A tick is times / over in the unit of times; open readings are looked at every so many; of a
    stream they go on for ``lasts`` ticks, 0: they are in a window."""

    times: int
    over: int
    every: int
    lasts: int


@kernel
def play_readings(
    elements: ReadingElements,
    heartbeat: int,
    unit: TickUnit,
    readings: ReadingArrays,
    changes: Ints,
    done: Ints,
) -> None:
    """Elements and open readings of ticks before ``heartbeat``, as far as ``changes`` has room."""
    done[TOLD] = 0
    facts, tau = readings.facts, elements.tau
    tick = facts[NEXT]
    while tick < heartbeat:
        i = done[TAKEN]
        while i < len(tau) and tau[i] <= tick:
            if done[TOLD] + MOST_TOLD > len(changes):
                return
            tuple_words, slot = elements.packed[i], elements.slots[i]
            if elements.signs[i] > 0:
                end = _end_of(tick, unit.times, unit.over)
                _close(tuple_words, slot, tick, unit.lasts, readings, changes, done)
                _open(tuple_words, slot, tick, end, readings, changes, done)
            else:
                _leave(tuple_words, slot, tick, readings, changes, done)
            i += 1
            done[TAKEN] = i
        if facts[N_OPEN] and tick % unit.every == 0:
            if done[TOLD] + 2 * facts[N_OPEN] > len(changes):
                return
            _go_on(tick, _end_of(tick, unit.times, unit.over), unit.lasts, readings, changes, done)
        after = tau[i] if i < len(tau) else heartbeat
        tick = min(after, (tick // unit.every + 1) * unit.every) if facts[N_OPEN] else after
        facts[NEXT] = tick
    done[OVER] = 1


@called
def _tell(
    reading: int, end: int, tick: int, sign: int, words: Ints, changes: Ints, done: Ints
) -> None:
    width, row = words.shape[1], done[TOLD]
    for place in range(width):
        changes[row, place] = words[reading, place]
    changes[row, width] = end
    changes[row, width + 1] = tick
    changes[row, width + 2] = sign
    done[TOLD] = row + 1


@called
def _close(
    tuple_words: Ints,
    slot: int,
    tick: int,
    lasts: int,
    readings: ReadingArrays,
    changes: Ints,
    done: Ints,
) -> None:
    """The open reading of a key ends where the next one begins."""
    reading = int(readings.keys[slot, _OPEN]) - 1
    if reading < 0:
        return
    readings.facts[N_OPEN] -= 1
    start, words, shown = tuple_words[readings.start], readings.words, readings.shown
    if lasts:
        _tell(reading, start, tick, -1, words, changes, done)
        _forget(slot, reading, readings)
    elif shown[reading] != start:
        began = words[reading, readings.start]
        if start > began:
            _tell(reading, start, tick, 1, words, changes, done)
        if shown[reading] > began:
            _tell(reading, shown[reading], tick, -1, words, changes, done)
        shown[reading] = start


@called
def _open(
    tuple_words: Ints,
    slot: int,
    tick: int,
    end: int,
    readings: ReadingArrays,
    changes: Ints,
    done: Ints,
) -> None:
    """A reading comes in as the last one of its key. end: of the tick."""
    facts, links, keys = readings.facts, readings.links, readings.keys
    reading = facts[FREE] - 1
    if reading >= 0:
        facts[FREE] = links[reading]
        facts[N_FREE] -= 1
    else:
        reading = facts[USED]
        facts[USED] += 1
    for place in range(readings.words.shape[1]):
        readings.words[reading, place] = tuple_words[place]
    links[reading] = 0
    readings.shown[reading] = end
    if keys[slot, _TAIL]:
        links[keys[slot, _TAIL] - 1] = reading + 1
    else:
        keys[slot, _HEAD] = reading + 1
    keys[slot, _TAIL] = keys[slot, _OPEN] = reading + 1
    facts[N_OPEN] += 1
    if end > tuple_words[readings.start]:
        _tell(reading, end, tick, 1, readings.words, changes, done)


@inlined
def _is_same(words: Ints, reading: int, tuple_words: Ints) -> bool:
    for place in range(words.shape[1]):  # noqa: SIM110 -- numba compiles no generators
        if words[reading, place] != tuple_words[place]:
            return False
    return True


@called
def _leave(
    tuple_words: Ints, slot: int, tick: int, readings: ReadingArrays, changes: Ints, done: Ints
) -> None:
    """The first reading that is this tuple leaves the window with the interval it was given."""
    facts, links, keys = readings.facts, readings.links, readings.keys
    words, shown = readings.words, readings.shown
    before, reading = -1, int(keys[slot, _HEAD]) - 1
    while reading >= 0 and not _is_same(words, reading, tuple_words):
        before, reading = reading, int(links[reading]) - 1
    if reading < 0:
        return
    if shown[reading] > words[reading, readings.start]:
        _tell(reading, shown[reading], tick, -1, words, changes, done)
    if before < 0:
        keys[slot, _HEAD] = links[reading]
    else:
        links[before] = links[reading]
    if keys[slot, _TAIL] == reading + 1:
        keys[slot, _TAIL] = before + 1
    if keys[slot, _OPEN] == reading + 1:
        keys[slot, _OPEN] = 0
        facts[N_OPEN] -= 1
    _give_back(reading, readings)


@inlined
def _give_back(reading: int, readings: ReadingArrays) -> None:
    """The row of a reading is free."""
    readings.links[reading] = readings.facts[FREE]
    readings.facts[FREE] = reading + 1
    readings.facts[N_FREE] += 1


@called
def _forget(slot: int, reading: int, readings: ReadingArrays) -> None:
    """The only reading of a key is there no more."""
    for word in range(KEY_WORDS):
        readings.keys[slot, word] = 0
    _give_back(reading, readings)


@called
def _go_on(
    tick: int, end: int, lasts: int, readings: ReadingArrays, changes: Ints, done: Ints
) -> None:
    """Open readings are valid to the end of the tick."""
    words, shown, born = readings.words, readings.shown, readings.start + 2
    for slot in range(readings.n_keys):
        reading = int(readings.keys[slot, _OPEN]) - 1
        if reading < 0:
            continue
        if lasts and tick > words[reading, born] + lasts:
            readings.facts[N_OPEN] -= 1
            _forget(slot, reading, readings)
        elif shown[reading] < end:
            _tell(reading, end, tick, 1, words, changes, done)
            if not lasts:
                _tell(reading, shown[reading], tick, -1, words, changes, done)
            shown[reading] = end
