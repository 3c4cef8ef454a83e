"""A plan ready to match: the kernels with their room, called block of tuples by block."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from backend.operators.selection.layout import (
    NONE,
    Found,
    HitRegions,
    Layout,
    Matches,
    counts_for,
    scratch_for,
)
from backend.operators.selection.single import visit_all_words, walk_word
from backend.operators.selection.walks import draw, visit_all, walk
from backend.operators.selection.whole import visit_all_whole, walk_in_order, walk_whole

#: Room for matches to begin with; doubled as often as needed.
FIRST_ROOM: Final = 1 << 14
#: Tuples whose one-word bitmaps go together: they stay in the first-level cache.
BLOCK_TUPLES: Final = 1024


class Matcher:
    """One plan over any number of blocks; ``counts`` adds up over them.

    kind: of the plan ('early drop', 'no early drop', 'hybrid', 'ticket'). resolved: the stop rule
    is 'resolved', not 'drop'. tickets: what each construct of a lottery starts with. seed: of the
    lottery. Not to be shared between threads.
    """

    def __init__(
        self, layout: Layout, kind: str, resolved: bool, tickets: int = 1, seed: int = 0
    ) -> None:
        self._kernel, self._own = _kernel(layout, kind)
        self._resolved = resolved
        self.counts = counts_for(layout, tickets, seed)
        self._found = _room(FIRST_ROOM)

    def match(self, regions: HitRegions) -> Matches:
        """The matches of a block of tuples, valid until the next call."""
        self._found.n[0] = 0
        done = 0
        while True:
            matches = self._found
            arguments = (regions, self._resolved, done, self.counts, matches)
            done = self._kernel(*self._own, *arguments)
            n = int(matches.n[0])
            if done == regions.shape[1]:
                return Matches(matches.tuples[:n], matches.slots[:n])
            self._found = _room(2 * len(matches.slots))
            self._found.tuples[:n] = matches.tuples[:n]
            self._found.slots[:n] = matches.slots[:n]
            self._found.n[0] = n


def _kernel(layout: Layout, kind: str) -> tuple[Any, tuple[Any, ...]]:
    """The kernel for a plan, and the arguments that stay the same."""
    if len(layout.initial) == 1 and layout.n_constructs <= 64 and kind != "ticket":
        words = layout.pool[layout.row_at]
        if kind == "no early drop":
            return visit_all_words, (layout, words, np.empty(BLOCK_TUPLES, dtype=np.uint64))
        return walk_word, (layout, words)
    return _kernel_of_words(layout, kind), (layout, scratch_for(layout))


def _kernel_of_words(layout: Layout, kind: str) -> Any:
    """The kernel for bitmaps of any number of words."""
    is_whole = len(layout.tile_starts) == 2
    if kind == "ticket":
        return draw
    if kind == "no early drop":
        return visit_all_whole if is_whole else visit_all
    if not is_whole:
        return walk
    return walk_whole if np.any(layout.arrows != NONE) else walk_in_order


def _room(n: int) -> Found:
    pairs = np.empty((2, n), dtype=np.int32)
    return Found(pairs[0], pairs[1], np.zeros(1, dtype=np.int64))
