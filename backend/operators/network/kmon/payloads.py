"""Columns of the tuples that are held: kernels never look at them.

What lies aside because a constraint let it go (card F5) is in arrays of its own, which are not
touched until it is needed: they lie in a mapped file, whose pages the machine takes away when
memory is short. What it is found by, its entry, stays. Tuples in No have no columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from backend.operators.network.core.blocks import Block, Bools, Column64, Ints
from backend.operators.network.core.regions import Regions
from backend.operators.network.kmon import words as w
from backend.operators.network.kmon.holding import RowStore
from backend.operators.network.kmon.words import Memory
from backend.operators.network.relational.packing import pack, unpack

#: States of tuples whose columns are in memory, and of those that lie aside.
_WITH_COLUMNS: Final = (w.YES, w.UNKNOWN)
_ASIDE: Final = (w.SPILLED, w.SPILLED_YES)
_FIRST: Final = 64


class Payloads:
    """dtypes: of the columns of each input. A tuple says where its columns are: their place in
    memory, -1 nowhere, -2 - row in the block that brought it. Those aside are where it lies."""

    def __init__(self, regions: Regions, dtypes: Sequence[Sequence[np.dtype[Any]]]) -> None:
        self._regions, self._dtypes = regions, dtypes
        self._stores = [
            RowStore(regions.scope(f"rows {port}"), own) for port, own in enumerate(dtypes)
        ]
        self._width = max(store.width for store in self._stores)
        self._aside = regions.array("rows aside", "int64", _FIRST * self._width)

    def row_bytes(self, port: int) -> int:
        """Of the columns of a tuple."""
        return 8 * self._stores[port].width

    def rows(self, m: Memory, slots: Ints, port: int, block: Block) -> Ints:
        """int64[n, width]: packed columns of some tuples of an input. block: that brought those
        which are new."""
        store, at = self._stores[port], m.link(slots, w.PAY)
        rows = np.empty((len(slots), store.width), np.int64)
        rows[at >= 0] = store.rows(at[at >= 0])
        aside = lies_aside(m, slots)
        places = m.entry(slots[aside], w.PLACE) - w.ASIDE
        rows[aside] = self._aside.reshape(-1, self._width)[places, : store.width]
        news = at <= -2
        if news.any():
            rows[news] = pack(block.take(-2 - at[news]).columns, int(news.sum()))
        return rows

    def columns(self, m: Memory, slots: Ints, port: int, block: Block) -> tuple[Column64, ...]:
        """The same as columns."""
        return unpack(self.rows(m, slots, port, block), self._dtypes[port])

    def settle(
        self, m: Memory, slots: Ints, inputs: Sequence[Block], leaving: Ints, places: Ints
    ) -> None:
        """Put columns where they belong by the states of tuples. slots: all that changed; leaving:
        those of them that are about to lie aside, and at which places there."""
        needed = self._width * (int(places.max(initial=0)) + 1)
        if needed > len(self._aside):
            self._aside = self._regions.resized("rows aside", 2 * needed)
        ports, going = m.link(slots, w.INPUT), m.link(leaving, w.INPUT)
        for port, block in enumerate(inputs):
            rows = self.rows(m, leaving[going == port], port, block)
            aside = self._aside.reshape(-1, self._width)
            aside[places[going == port], : rows.shape[1]] = rows
            own = slots[ports == port]
            has_columns = np.isin(m.entry(own, w.STATE), _WITH_COLUMNS)
            wanted = own[has_columns & (m.link(own, w.PAY) < 0)]
            rows = self.rows(m, wanted, port, block)
            self._forget(m, own[~has_columns], port)
            m.set_links(wanted, w.PAY, self._stores[port].put(rows))

    def _forget(self, m: Memory, slots: Ints, port: int) -> None:
        at = m.link(slots, w.PAY)
        self._stores[port].places.give(at[at >= 0])
        m.set_links(slots, w.PAY, np.full(len(slots), -1))


def changed(m: Memory, arrived: Ints) -> Ints:
    """Tuples of a call whose state may be another, each once: its arrivals, and those that the
    kernels tell."""
    lists = [m.moved[: m.facts[w.N_MOVED]], m.thinned[: m.facts[w.N_THINNED]]]
    lists += [m.freed[: m.facts[w.N_FREED]], arrived.astype(np.int32)]
    return np.unique(np.concatenate(lists)).astype(np.int64)


def unmark_moved(m: Memory) -> None:
    """Have tuples that moved in a call listed again when they move in the next one."""
    slots = m.moved[: m.facts[w.N_MOVED]].astype(np.int64)
    m.set_links(slots, w.FACTS, m.link(slots, w.FACTS) & ~w.MOVED)


def misplaced(m: Memory, slots: Ints) -> tuple[Ints, Ints]:
    """Those of some tuples that belong aside, and those that belong in memory."""
    states, aside = m.entry(slots, w.STATE), lies_aside(m, slots)
    belongs_aside = np.isin(states, _ASIDE)
    return slots[belongs_aside & ~aside], slots[~belongs_aside & (states != w.FREE) & aside]


def lies_aside(m: Memory, slots: Ints) -> Bools:
    """Which of some tuples do."""
    is_aside: Bools = m.entry(slots, w.PLACE) >= w.ASIDE
    return is_aside


def relocate(m: Memory, slots: Ints, places: Ints) -> Ints:
    """Have some tuples, but for their entries, at other places: from memory to aside, or back.
    Where they lay."""
    old, out = m.entry(slots, w.PLACE).astype(np.int64), places >= w.ASIDE
    for inside, aside, width in (
        (m.words, m.aside_words, m.widths[0]),
        (m.links, m.aside_links, m.widths[1]),
    ):
        here, there = inside.reshape(-1, width), aside.reshape(-1, width)
        there[places[out] - w.ASIDE] = here[old[out]]
        here[places[~out]] = there[old[~out] - w.ASIDE]
    m.entries.reshape(-1, m.widths[2])[slots, w.PLACE] = places
    return old
