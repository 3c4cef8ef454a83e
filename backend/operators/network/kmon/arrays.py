"""The arrays of ``Memory`` as kernels take them, by their addresses: ``facts(m)``."""

from __future__ import annotations

from typing import Any, Final

from numba import types

from backend.operators.network.core.addressing import (
    RowsAside,
    array_in,
    arrays_in,
    field_in,
    field_set_in,
)
from backend.operators.network.kmon.estimates import Estimates
from backend.operators.network.kmon.words import ASIDE, M

_SHORT: Final = types.int32
_FLOATS: Final = (types.float64,)

widths: Any = array_in(M.widths, 1)
heads: Any = array_in(M.heads, 1, _SHORT)
inputs: Any = array_in(M.inputs, 2)
edges: Any = array_in(M.edges, 2)
indexes: Any = array_in(M.indexes, 2)
uses: Any = array_in(M.uses, 2)
constraints: Any = array_in(M.constraints, 2)
steps: Any = array_in(M.steps, 3)
points: Any = array_in(M.points, 3)
aux: Any = array_in(M.aux, 2)
aux_heads: Any = array_in(M.aux_heads, 1, _SHORT)
facts: Any = array_in(M.facts, 1)
settings: Any = array_in(M.settings, 1)
stack: Any = array_in(M.stack, 1)
out: Any = array_in(M.out, 2, _SHORT)
taus: Any = array_in(M.taus, 1)
freed: Any = array_in(M.freed, 1, _SHORT)
thinned: Any = array_in(M.thinned, 1, _SHORT)
moved: Any = array_in(M.moved, 1, _SHORT)
repeated: Any = array_in(M.repeated, 1, _SHORT)
removed: Any = array_in(M.removed, 2)
over: Any = array_in(M.over, 1)
cursors: Any = array_in(M.cursors, 2)
changes: Any = array_in(M.changes, 2)
seen: Any = array_in(M.seen, 3)
bins: Any = array_in(M.bins, 2)
ghosts: Any = array_in(M.ghosts, 3)
past: Any = array_in(M.past, 3)
keys: Any = array_in(M.keys, 3)
known: Any = array_in(M.known, 2)
#: What k is made of.
estimates: Any = arrays_in(
    M.known,
    Estimates,
    (2, 2, 2, 2, 2, 2, 2, 2, 2, 1),
    (types.int64, *_FLOATS, types.int64, types.int64, *_FLOATS * 6),
)
_ASIDE: Final = RowsAside(M.entries, ASIDE, M.aside_words - M.words)
#: Numbers of a tuple, of 64 and of 32 bits: word(m, tuple, k), set_word(m, tuple, k, value); those
#: that are in memory wherever it lies.
word: Any = field_in(M.words, M.widths, aside=_ASIDE)
set_word: Any = field_set_in(M.words, M.widths, aside=_ASIDE)
link: Any = field_in(M.links, M.widths, _SHORT, _ASIDE)
set_link: Any = field_set_in(M.links, M.widths, _SHORT, _ASIDE)
entry: Any = field_in(M.entries, M.widths, _SHORT)
set_entry: Any = field_set_in(M.entries, M.widths, _SHORT)
