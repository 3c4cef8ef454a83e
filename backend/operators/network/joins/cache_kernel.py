"""The compiled part of caches in pipelines: entries of keys and the tuples found by them (card 9).

A cache is a directory of sets of ``ways`` entries, the last used in front, over a pool of cells of
equal size. An entry is a cell with its key and a chain of cells, each with the numbers of a tuple
of every window of the segment: tuples stay in the stores. Where the pool has no cell left, other
entries go, set by set; dropping an entry is always consistent.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from backend.operators.network.core.addressing import Pointer, words_at, words_of
from backend.operators.network.core.blocks import Ints
from backend.operators.network.joins.join_tuning import REUSE_BINS
from backend.operators.network.stores.store_kernels import mixed
from backend.operators.selection.bits import called, inlined, kernel

#: Columns of the table of caches: addresses of directory, cells, facts, keys that were sampled and
#: entries to be settled; sizes; from where to where its windows and its key stand in the lists; the
#: most tuples of an entry; the walk over its witnesses, and what binds the classes of its windows.
DIRECTORY, CELLS, FACTS, SAMPLED, OPENED = range(5)
N_SETS, N_WAYS, N_CELLS, CELL_WORDS, MOST = range(5, 10)
WINDOWS, WINDOWS_END, KEY, KEY_END, KIND, DROPS_EMPTY = range(10, 16)
WALK, WALK_END, BINDS, BINDS_END = range(16, 20)
N_CACHE: Final = 20
#: Their rows are handed on as addresses: calls with arrays are dear, and so is compiling them.
#: Kinds. Counted: every tuple has its number of witnesses; keyed: every entry has one.
PLAIN, COUNTED, KEYED = range(3)
#: Facts of a cache: the first free cell and how many there are, the first that was never used; what
#: it holds; the slot from where entries go to make room.
FREE, N_FREE, FRESH, N_ENTRIES, N_REFS, HAND = range(6)
N_FACT: Final = 6
#: Words of an entry: its first tuple, how many, its place among those opened or 0, its key. Of a
#: tuple: the next one, its numbers, its witnesses.
FIRST, N_TUPLES, PLACE, KEY_WORDS = range(4)
NEXT, NUMBERS = range(2)
#: What is counted of a cache.
PROBES, HITS, CREATES, INSERTS, DELETES, EVICTIONS, LOOKUPS_TIMED, LOOKUP_NS = range(8)
UPDATES_TIMED, UPDATE_NS, REUSE = 8, 9, 10
#: Of so many keys one is sampled; so many are remembered.
SAMPLE_EVERY: Final = 32
MOST_SAMPLED: Final = 512
#: Entries whose witnesses are to be counted when an element is done, at most.
MOST_OPENED: Final = 1024

_SHIFT: Final = np.uint64(20)
_SAMPLE_SHIFT: Final = np.uint64(52)


@inlined
def row_of(table: Ints, place: int) -> Any:
    """A row of a table as its address."""
    return words_at(np.int64(table.ctypes.data) + place * table.shape[1] * 8)


@inlined
def key_hash(cache: Pointer, lists: Pointer, values: Pointer) -> Any:
    """A hash (uint64) of the values of a cache's key."""
    hash = np.uint64(0)
    for k in range(cache[KEY], cache[KEY_END]):
        hash = mixed(hash, values[lists[k]])
    return hash


@inlined
def slot_of(cache: Pointer, lists: Pointer, values: Pointer, hash: Any) -> Any:
    """Where in the directory the entry of a key is, -1: there is none."""
    if cache[N_SETS] == 0:
        return np.int64(-1)
    directory, cells = words_at(cache[DIRECTORY]), words_at(cache[CELLS])
    begin = np.int64((hash >> _SHIFT) & np.uint64(cache[N_SETS] - 1)) * cache[N_WAYS]
    for slot in range(begin, begin + cache[N_WAYS]):
        entry = directory[slot]
        if entry >= 0:
            word, same = entry * cache[CELL_WORDS] + KEY_WORDS - cache[KEY], True
            for k in range(cache[KEY], cache[KEY_END]):
                same &= cells[word + k] == values[lists[k]]
            if same:
                return slot
    return np.int64(-1)


@inlined
def to_front(cache: Pointer, slot: int) -> Any:
    """Make an entry the last used of its set; its slot then."""
    directory, begin = words_at(cache[DIRECTORY]), slot - slot % cache[N_WAYS]
    entry = directory[slot]
    for other in range(slot, begin, -1):
        directory[other] = directory[other - 1]
    directory[begin] = entry
    return begin


@inlined
def give_back(cache: Pointer, cell: int) -> None:
    """A cell is free."""
    facts, cells = words_at(cache[FACTS]), words_at(cache[CELLS])
    cells[cell * cache[CELL_WORDS] + NEXT] = facts[FREE]
    facts[FREE] = cell
    facts[N_FREE] += 1


@called
def give_back_chain(cache: Pointer, cell: int) -> None:
    """All tuples from one on are given up."""
    cells = words_at(cache[CELLS])
    while cell >= 0:
        next = cells[cell * cache[CELL_WORDS] + NEXT]
        give_back(cache, cell)
        cell = next


@called
def drop_entry(cache: Pointer, slot: int) -> None:
    """Forget the entry in a slot."""
    directory, facts = words_at(cache[DIRECTORY]), words_at(cache[FACTS])
    cells, entry = words_at(cache[CELLS]), directory[slot]
    word = entry * cache[CELL_WORDS]
    if cells[word + PLACE]:
        words_at(cache[OPENED])[cells[word + PLACE]] = -1
    facts[N_ENTRIES] -= 1
    facts[N_REFS] -= cells[word + N_TUPLES]
    give_back_chain(cache, cells[word + FIRST])
    give_back(cache, entry)
    directory[slot] = -1


@called
def taken_cell(cache: Pointer, keep: int, counts: Pointer) -> Any:
    """A cell to be filled, -1: there is none, though all entries but ``keep`` went."""
    facts, directory = words_at(cache[FACTS]), words_at(cache[DIRECTORY])
    n_slots, tries = cache[N_SETS] * cache[N_WAYS], 0
    while facts[FREE] < 0 and facts[FRESH] == cache[N_CELLS] and tries < n_slots:
        slot = (facts[HAND] + 1) % n_slots
        facts[HAND] = slot
        tries += 1
        if directory[slot] >= 0 and directory[slot] != keep:
            drop_entry(cache, slot)
            counts[EVICTIONS] += 1
    cell = facts[FREE]
    if cell >= 0:
        facts[FREE] = words_at(cache[CELLS])[cell * cache[CELL_WORDS] + NEXT]
        facts[N_FREE] -= 1
    elif facts[FRESH] < cache[N_CELLS]:
        cell = facts[FRESH]
        facts[FRESH] += 1
    return cell


@called
def linked(
    cache: Pointer, lists: Pointer, chosen: Pointer, next: int, keep: int, counts: Pointer
) -> Any:
    """A cell with the tuple that is chosen, before others; -1: there is no room."""
    cell = taken_cell(cache, keep, counts)
    if cell >= 0:
        cells, word = words_at(cache[CELLS]), cell * cache[CELL_WORDS]
        cells[word + NEXT] = next
        for k in range(cache[WINDOWS], cache[WINDOWS_END]):
            cells[word + NUMBERS + k - cache[WINDOWS]] = chosen[lists[k]]
        if cache[KIND] == COUNTED:
            cells[word + NUMBERS + cache[WINDOWS_END] - cache[WINDOWS]] = 1
    return cell


@called
def made_entry(
    cache: Pointer, lists: Pointer, values: Pointer, first: int, n: int, counts: Pointer
) -> Any:
    """Have an entry of a key that has none, with a chain of n tuples: its slot, -1: no room, and
    the chain is given up."""
    entry = taken_cell(cache, -1, counts)
    if entry < 0:
        give_back_chain(cache, first)
        return np.int64(-1)
    directory, cells = words_at(cache[DIRECTORY]), words_at(cache[CELLS])
    word = entry * cache[CELL_WORDS]
    cells[word + FIRST], cells[word + N_TUPLES], cells[word + PLACE] = first, n, 0
    for k in range(cache[KEY], cache[KEY_END]):
        cells[word + KEY_WORDS + k - cache[KEY]] = values[lists[k]]
    hash = key_hash(cache, lists, values)
    begin = np.int64((hash >> _SHIFT) & np.uint64(cache[N_SETS] - 1)) * cache[N_WAYS]
    slot = begin + cache[N_WAYS] - 1
    for other in range(begin, slot):
        if directory[other] < 0:
            slot = other
            break
    if directory[slot] >= 0:
        drop_entry(cache, slot)
        counts[EVICTIONS] += 1
    directory[slot] = entry
    facts = words_at(cache[FACTS])
    facts[N_ENTRIES] += 1
    facts[N_REFS] += n
    counts[CREATES] += 1
    return to_front(cache, slot)


@called
def add_tuple(cache: Pointer, lists: Pointer, chosen: Pointer, slot: int, counts: Pointer) -> None:
    """Have the tuple that is chosen in an entry; one that grows too large goes."""
    directory, cells = words_at(cache[DIRECTORY]), words_at(cache[CELLS])
    entry = directory[slot]
    word, cell = entry * cache[CELL_WORDS], np.int64(-1)
    if cells[word + N_TUPLES] < cache[MOST]:
        cell = linked(cache, lists, chosen, cells[word + FIRST], entry, counts)
    if cell < 0:
        drop_entry(cache, slot)
        counts[EVICTIONS] += 1
        return
    cells[word + FIRST] = cell
    cells[word + N_TUPLES] += 1
    words_at(cache[FACTS])[N_REFS] += 1
    counts[INSERTS] += 1


@called
def remove_tuple(cache: Pointer, entry: int, before: int, cell: int) -> None:
    """Take a tuple out of an entry. before: the one that leads to it, -1: the entry."""
    cells = words_at(cache[CELLS])
    next = cells[cell * cache[CELL_WORDS] + NEXT]
    if before < 0:
        cells[entry * cache[CELL_WORDS] + FIRST] = next
    else:
        cells[before * cache[CELL_WORDS] + NEXT] = next
    give_back(cache, cell)
    cells[entry * cache[CELL_WORDS] + N_TUPLES] -= 1
    words_at(cache[FACTS])[N_REFS] -= 1


@called
def place_of(cache: Pointer, lists: Pointer, chosen: Pointer, slot: int) -> Any:
    """Where in an entry the tuple that is chosen is: the cell before it, and its own or -1."""
    cells, before = words_at(cache[CELLS]), np.int64(-1)
    cell = cells[words_at(cache[DIRECTORY])[slot] * cache[CELL_WORDS] + FIRST]
    while cell >= 0:
        word, same = cell * cache[CELL_WORDS] + NUMBERS - cache[WINDOWS], True
        for k in range(cache[WINDOWS], cache[WINDOWS_END]):
            same &= cells[word + k] == chosen[lists[k]]
        if same:
            break
        before, cell = cell, cells[cell * cache[CELL_WORDS] + NEXT]
    return before, cell


@called
def update(
    cache: Pointer, lists: Pointer, sign: int, values: Pointer, chosen: Pointer, counts: Pointer
) -> None:
    """Tell a cache of a tuple that its segment's join gains or loses; with witnesses, of a tuple
    and one of its witnesses. Keys without an entry, and those to be settled later, ignore it."""
    slot = slot_of(cache, lists, values, key_hash(cache, lists, values))
    if slot < 0:
        return
    cells, directory = words_at(cache[CELLS]), words_at(cache[DIRECTORY])
    entry = directory[slot] * cache[CELL_WORDS]
    if cells[entry + PLACE]:
        return
    kind, nowhere = cache[KIND], np.int64(-1)
    before: Any = nowhere
    cell: Any = nowhere
    if sign < 0 or kind != PLAIN:
        before, cell = place_of(cache, lists, chosen, slot)
    if cell < 0:
        if sign > 0:
            add_tuple(cache, lists, chosen, slot, counts)
        return
    n_witnesses = np.int64(0)
    if kind == COUNTED:
        word = cell * cache[CELL_WORDS] + NUMBERS + cache[WINDOWS_END] - cache[WINDOWS]
        cells[word] += sign
        n_witnesses = cells[word]
    if sign < 0 and n_witnesses == 0:
        remove_tuple(cache, directory[slot], before, cell)
        counts[DELETES] += 1
        if cache[DROPS_EMPTY] and cells[entry + FIRST] < 0:
            drop_entry(cache, slot)


@called
def sample(cache: Pointer, hash: Any, counts: Pointer) -> None:
    """Note after how many distinct keys a key that is sampled comes again."""
    if (hash >> _SAMPLE_SHIFT) % np.uint64(SAMPLE_EVERY):
        return
    seen, key, place = words_at(cache[SAMPLED]), np.int64(hash), np.int64(1)
    while place <= seen[0] and seen[place] != key:
        place += 1
    bin = REUSE_BINS - 1
    if place <= seen[0]:
        distance, bin = (place - 1) * SAMPLE_EVERY, 0
        while distance > 1:
            distance >>= 1
            bin += 1
    elif seen[0] < MOST_SAMPLED:
        seen[0] += 1
    counts[REUSE + bin] += 1
    for other in range(min(place, seen[0]), 1, -1):
        seen[other] = seen[other - 1]
    seen[1] = key


@kernel
def carry(caches: Ints, listed: Ints, of_classes: Ints, of_inputs: Ints, counted: Ints) -> None:
    """Have the entries of the first cache in the second, as far as those find room."""
    lists, counts = words_of(listed), words_of(counted)
    values, chosen = words_of(of_classes), words_of(of_inputs)
    old, new = row_of(caches, 0), row_of(caches, 1)
    directory, cells, facts = words_at(old[DIRECTORY]), words_at(old[CELLS]), words_at(new[FACTS])
    n_windows = old[WINDOWS_END] - old[WINDOWS]
    for slot in range(old[N_SETS] * old[N_WAYS] - 1, -1, -1):
        if directory[slot] < 0:
            continue
        word = directory[slot] * old[CELL_WORDS]
        n, left = cells[word + N_TUPLES], new[N_CELLS] - facts[FRESH] + facts[N_FREE]
        if new[N_SETS] == 0 or n > new[MOST] or n + 1 > left:
            continue
        for k in range(old[KEY], old[KEY_END]):
            values[lists[k]] = cells[word + KEY_WORDS + k - old[KEY]]
        first: Any = np.int64(-1)
        cell = cells[word + FIRST]
        while cell >= 0:
            base = cell * old[CELL_WORDS] + NUMBERS
            for k in range(n_windows):
                chosen[lists[old[WINDOWS] + k]] = cells[base + k]
            first = linked(new, lists, chosen, first, -1, counts)
            if old[KIND] == COUNTED:
                at = first * new[CELL_WORDS] + NUMBERS + n_windows
                words_at(new[CELLS])[at] = cells[base + n_windows]
            cell = cells[base - NUMBERS + NEXT]
        made_entry(new, lists, values, first, n, counts)


@kernel
def renumber(caches: Ints, c: int, place: int, lo: int, moved: Ints) -> None:
    """Tuples of a window have new numbers: moved[s - lo] is that of tuple s. place: the window's
    among those of cache c."""
    cache = row_of(caches, c)
    directory, cells = words_at(cache[DIRECTORY]), words_at(cache[CELLS])
    for slot in range(cache[N_SETS] * cache[N_WAYS]):
        if directory[slot] >= 0:
            cell = cells[directory[slot] * cache[CELL_WORDS] + FIRST]
            while cell >= 0:
                word = cell * cache[CELL_WORDS]
                cells[word + NUMBERS + place] = moved[cells[word + NUMBERS + place] - lo]
                cell = cells[word + NEXT]
