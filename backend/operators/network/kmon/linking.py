"""Slots in their indexes and in the order they came: kernels of k-Mon's join."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from backend.operators.network.core.addressing import Pointer, words_of
from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.hashing import FACTORS
from backend.operators.network.kmon.arrays import (
    edges,
    entry,
    facts,
    freed,
    heads,
    indexes,
    inputs,
    link,
    set_entry,
    set_link,
    stack,
    word,
)
from backend.operators.network.kmon.words import (
    AFTER,
    BEFORE,
    CHILD_INDEX,
    END_LINK,
    FACTS,
    FREE,
    INPUT,
    LINK,
    LINK_BITS,
    LINKS,
    N_FREED,
    N_LIVE,
    N_STACK,
    N_STATES,
    N_WORDS,
    NEW,
    NEWEST,
    NEXT,
    NUMBER,
    OF_INPUT,
    OLDEST,
    OLDEST_ASIDE,
    PARENT_INDEX,
    PREVIOUS,
    SPILLED,
    SPILLED_YES,
    STATE,
    TAG,
    UNLINKED,
    WORDS,
)
from backend.operators.selection.bits import called, inlined, kernel

#: From where the order of tuples in memory is told to that of those aside.
ASIDE: Final = OLDEST_ASIDE - OLDEST
#: Of a key's hash an entry has so many; numbers of indexes are spread over them.
_TAG_BITS: Final = (1 << 31) - 1
_SALT: Final = 0x9E3779B1


@inlined
def push(m: Pointer, action: int, slot: int) -> None:
    """Lay an action on the stack."""
    stack(m)[facts(m)[N_STACK]] = slot * 8 + action
    facts(m)[N_STACK] += 1


@called
def hashed(m: Pointer, slot: int, reads: int) -> Any:
    """A number of 64 bits for a slot's key, by the words of index ``reads``."""
    key_hash = np.uint64(indexes(m)[reads, N_WORDS])
    for k in range(indexes(m)[reads, N_WORDS]):
        key_hash = (
            key_hash ^ np.uint64(word(m, slot, int(indexes(m)[reads, WORDS + k])))
        ) * FACTORS[0]
        key_hash ^= key_hash >> np.uint64(32)
    return key_hash * FACTORS[1]


@inlined
def _salt(index: int) -> int:
    """Keys of different indexes lie in different buckets."""
    return (index * _SALT) & _TAG_BITS


@inlined
def _link_at(m: Pointer, index: int) -> int:
    """Where an entry has its link of an index."""
    return LINKS + END_LINK * int(indexes(m)[index, LINK])


@inlined
def _place(own: int) -> int:
    """Where an entry has a link of it."""
    return LINKS + END_LINK * (own & ((1 << LINK_BITS) - 1))


@inlined
def _is_linked(m: Pointer, slot: int, index: int) -> bool:
    return not link(m, slot, FACTS) & (UNLINKED << indexes(m)[index, LINK])


@called
def _is_equal(m: Pointer, slot: int, reads: int, link_of: int, index: int) -> bool:
    """Whether the tuple of a link is in an index, with the key that ``slot`` has by index
    ``reads``."""
    other, own = link_of >> LINK_BITS, link_of & ((1 << LINK_BITS) - 1)
    if own != indexes(m)[index, LINK] or link(m, other, INPUT) != indexes(m)[index, OF_INPUT]:
        return False
    for k in range(indexes(m)[index, N_WORDS]):
        mine = word(m, slot, int(indexes(m)[reads, WORDS + k]))
        if mine != word(m, other, int(indexes(m)[index, WORDS + k])):
            return False
    return True


@called
def next_equal(m: Pointer, slot: int, reads: int, index: int, before: int) -> int:
    """The slots in an index with the key that ``slot`` has by index ``reads``, the newest first:
    the one after ``before``, which is -1 at first; -1: no more. What lies aside is looked at only
    where 31 bits of its key are the same."""
    if not _is_linked(m, slot, reads):
        return -1
    tag = entry(m, slot, _link_at(m, reads) + TAG) ^ _salt(reads) ^ _salt(index)
    if before < 0:
        beyond = int(heads(m)[tag & (len(heads(m)) - 1)]) - 1
    else:
        beyond = entry(m, before, _link_at(m, index) + NEXT)
    while beyond >= 0:
        other, at = beyond >> LINK_BITS, _place(beyond)
        if entry(m, other, at + TAG) == tag and _is_equal(m, slot, reads, beyond, index):
            return other
        beyond = entry(m, other, at + NEXT)
    return -1


@called
def next_parent(m: Pointer, e: int, slot: int, before: int) -> int:
    """The tuples that a child is joined by, likewise."""
    reads, index = int(edges(m)[e, CHILD_INDEX]), int(edges(m)[e, PARENT_INDEX])
    return next_equal(m, slot, reads, index, before)


@called
def child_of(m: Pointer, e: int, slot: int) -> int:
    """The tuple that a parent joins; -1: it is not there."""
    reads, index = int(edges(m)[e, PARENT_INDEX]), int(edges(m)[e, CHILD_INDEX])
    return next_equal(m, slot, reads, index, -1)


@called
def link_slot(m: Pointer, slot: int) -> None:
    """Have a tuple in all indexes of its input, and as the newest of it."""
    order(m, slot, 0)
    link_indexes(m, slot)


@called
def order(m: Pointer, slot: int, aside: int) -> None:
    """Have a tuple where it belongs in the order its input came, of those in memory or aside."""
    port, after = link(m, slot, INPUT), -1
    before = int(inputs(m)[port, NEWEST + aside])
    while before >= 0 and word(m, before, NUMBER) > word(m, slot, NUMBER):
        after = before
        before = link(m, before, BEFORE)
    set_link(m, slot, BEFORE, before)
    set_link(m, slot, AFTER, after)
    if before >= 0:
        set_link(m, before, AFTER, slot)
    else:
        inputs(m)[port, OLDEST + aside] = slot
    if after >= 0:
        set_link(m, after, BEFORE, slot)
    else:
        inputs(m)[port, NEWEST + aside] = slot
    facts(m)[N_LIVE] += aside == 0


@kernel
def holds_child(memory: Ints, e: int, slot: int) -> bool:
    """Whether the tuple that a parent joins is there."""
    return bool(child_of(words_of(memory), e, slot) >= 0)


@called
def leave_order(m: Pointer, slot: int, aside: int) -> None:
    """Take a tuple out of that order."""
    port = link(m, slot, INPUT)
    beyond, before = link(m, slot, AFTER), link(m, slot, BEFORE)
    if before >= 0:
        set_link(m, before, AFTER, beyond)
    else:
        inputs(m)[port, OLDEST + aside] = beyond
    if beyond >= 0:
        set_link(m, beyond, BEFORE, before)
    else:
        inputs(m)[port, NEWEST + aside] = before
    facts(m)[N_LIVE] -= aside == 0


@called
def unlink_index(m: Pointer, slot: int, index: int) -> None:
    """Take a tuple out of an index; once."""
    if not _is_linked(m, slot, index):
        return
    at = _link_at(m, index)
    beyond, before = entry(m, slot, at + NEXT), entry(m, slot, at + PREVIOUS)
    if before >= 0:
        set_entry(m, before >> LINK_BITS, _place(before) + NEXT, beyond)
    else:
        heads(m)[entry(m, slot, at + TAG) & (len(heads(m)) - 1)] = beyond + 1
    if beyond >= 0:
        set_entry(m, beyond >> LINK_BITS, _place(beyond) + PREVIOUS, before)
    set_link(m, slot, FACTS, link(m, slot, FACTS) | (UNLINKED << indexes(m)[index, LINK]))


@called
def free(m: Pointer, slot: int) -> None:
    """Forget a tuple. Its slot is used again after the call."""
    port = link(m, slot, INPUT)
    for index in range(len(indexes(m))):
        if indexes(m)[index, OF_INPUT] == port:
            unlink_index(m, slot, index)
    leave_order(m, slot, ASIDE if entry(m, slot, STATE) in (SPILLED, SPILLED_YES) else 0)
    turn(m, slot, FREE)
    freed(m)[facts(m)[N_FREED]] = slot
    facts(m)[N_FREED] += 1


@called
def turn(m: Pointer, slot: int, state: int) -> None:
    """A tuple is in another state."""
    port, before = link(m, slot, INPUT), entry(m, slot, STATE)
    if before not in (FREE, NEW):
        inputs(m)[port, N_STATES + before] -= 1
    set_entry(m, slot, STATE, state)
    if state not in (FREE, NEW):
        inputs(m)[port, N_STATES + state] += 1


@called
def link_indexes(m: Pointer, slot: int) -> None:
    """Have a tuple in all indexes of its input that it has a key for, as the newest of its key."""
    port = link(m, slot, INPUT)
    for index in range(len(indexes(m))):
        if indexes(m)[index, OF_INPUT] == port and _is_linked(m, slot, index):
            tag = int(hashed(m, slot, index) >> np.uint64(33)) ^ _salt(index)
            set_entry(m, slot, _link_at(m, index) + TAG, tag)
            _put_first(m, slot << LINK_BITS | int(indexes(m)[index, LINK]))


@called
def _put_first(m: Pointer, own: int) -> None:
    """Have a link as the first of its bucket."""
    slot, at = own >> LINK_BITS, _place(own)
    bucket = entry(m, slot, at + TAG) & (len(heads(m)) - 1)
    beyond = int(heads(m)[bucket]) - 1
    set_entry(m, slot, at + NEXT, beyond)
    set_entry(m, slot, at + PREVIOUS, -1)
    if beyond >= 0:
        set_entry(m, beyond >> LINK_BITS, _place(beyond) + PREVIOUS, own)
    heads(m)[bucket] = own + 1


@kernel
def spread_buckets(memory: Ints, before: int) -> None:
    """There were but so many buckets: tuples of equal keys stay in their order."""
    m = words_of(memory)
    for bucket in range(before):
        own, last = int(heads(m)[bucket]) - 1, -1
        heads(m)[bucket] = 0
        while own >= 0:
            last = own
            own = entry(m, own >> LINK_BITS, _place(own) + NEXT)
        while last >= 0:
            own = last
            last = entry(m, own >> LINK_BITS, _place(own) + PREVIOUS)
            _put_first(m, own)
