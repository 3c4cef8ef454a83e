"""Places in the arrays that kernels of k-Mon's join work on.

Every tuple that is held has an entry, whose number is its slot, and there what it is found by; the
rest, numbers of 64 and of 32 bits, lies in memory or aside, where the entry says. Those of all
inputs lie together; ``Memory`` has them, and what a call leaves behind.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Ints
from backend.operators.network.kmon.estimates import Estimates

Ints32: TypeAlias = NDArray[np.int32]

#: Of an entry, 32 bits: where the rest is, from ASIDE on aside; state. Of each index of its input
#: follow the entries behind it and before it in a bucket, by ``LINK_BITS`` with the number of the
#: index there, -1 none; and 31 bits of its key.
PLACE, STATE, LINKS = range(3)
NEXT, PREVIOUS, TAG, END_LINK = range(4)
LINK_BITS: Final = 4
ASIDE: Final = 1 << 30
#: Of a slot, 32 bits: its input; facts (below); place of its columns, -1 none, below that the row
#: -2 - place of the block; the tuples of its input that came after and before it; edges no parent
#: of which joins it any more; edges whose one partner has come.
INPUT, FACTS, PAY, AFTER, BEFORE, COVERED, MET, END_SLOT = range(8)
#: Of a slot, 64 bits: its timestamp; which arrival of its input it was, from 1. Stamps (arrivals of
#: the other input at its own) and words of join attributes follow.
TAU, NUMBER, STAMPS = range(3)
#: Whether an input has no more arrivals: a stream that ended may begin anew, a relation does not.
FOR_NOW, FOR_EVER = 1, 2
#: States. SPILLED ones lie aside: they were in Yes, or waited.
FREE, YES, UNKNOWN, NO, SPILLED_YES, SPILLED, NEW = range(7)
#: Facts of a slot: in no result whatever comes; kept to be observed; moved in this call; not in
#: index k (bit 3 + k); takes an equal tuple away; NULL in its word k (bit 16 + k); is one of the
#: two elements of a tuple that is renewed.
FAILS, SAMPLED, MOVED, UNLINKED, TAKES, NULLS, RENEWS = 1, 2, 4, 1 << 3, 1 << 15, 1 << 16, 1 << 30
#: Of an input: kind and size of its window; arrivals; oldest and newest slot in memory, and aside;
#: whether it is a root, stores No, has all roots as parents; joins it is the child of; how many
#: tuples are in each state.
(
    WINDOW, SIZE, COUNT, OLDEST, NEWEST, OLDEST_ASIDE, NEWEST_ASIDE, IS_ROOT, STORES_NO,
    MEETS_ROOTS, PARENTS, N_STATES
) = range(12)  # fmt: skip
END_INPUT: Final = N_STATES + 7
RANGE, ROWS, UNBOUNDED, CHANGING = range(4)
#: Of a join: inputs; indexes on parent and child; stamps in rows of parent and of child (-1: none);
#: constraints RIDS on it and the other way round, -1: none; whether a constraint bounds waiting.
(
    PARENT,
    CHILD,
    PARENT_INDEX,
    CHILD_INDEX,
    WAITS_AT,
    MEETS_AT,
    RIDS_OF,
    BACK_OF,
    BOUNDED,
    END_EDGE,
) = range(10)
#: Of an index: its input, its links in slots, how many words its key has, and where they are.
OF_INPUT, LINK, N_WORDS, WORDS = range(4)
MOST_WORDS: Final = 8
#: Of a constraint: type; whose arrivals it is of; where its attribute is in rows of that input;
#: whether it may let tuples go; is observed; its declared k, -1; what is known at most; counts; its
#: row of points.
(
    TYPE, WHOSE, AT, USED, WATCHED, DECLARED, CAP, EVICTED, LOST, RETURNED, VIOLATED, N_SEEN,
    LARGEST, EDGE, N_POINTS, FIRST_POINT, N_OBSERVED, RING, END_CONSTRAINT
) = range(19)  # fmt: skip
RIDS, CA, OAP, OAC = range(4)
#: Of a use of CA, OAP or OAC for a join: the constraint, the join, and where the attribute is in
#: rows of parent and child.
USE_OF, USE_EDGE, USE_PARENT_AT, USE_CHILD_AT, END_USE = range(5)
#: Of a value in CA-Aux: it; C_v of the card; constraint; state; next in its bucket or free list;
#: when a parent with it waited last, in arrivals of the join; where it is sampled, until when it is
#: kept beyond k_e, in what windows of its children count: 0, that is not known yet.
VALUE, AUX_COUNT, AUX_OF, AUX_STATE, AUX_NEXT, AUX_WAITS, AUX_UNTIL, END_AUX = range(8)
AUX_FREE, AUX_LIVE, AUX_DONE = range(3)
#: Of a value that was forgotten: it, and C_v of the card, 0 nothing.
PAST_VALUE, PAST_COUNT, END_PAST = range(3)
#: Of a key that came: its hash, 0 nothing; time or number of the tuple, as its window counts.
KEY_TAG, KEY_AT, END_KEY = range(3)
#: Of the key of tuples that were dropped: its hash, 0 nothing; how many; the least of their stamps;
#: the constraint that let the last of them go. Of a child that waited itself: the join it waited
#: on + 1, and the hash of its key there. Of parents: whether the child has come.
(
    GONE_TAG, GONE_COUNT, GONE_STAMP, GONE_BY, GONE_EDGE, GONE_WAITS, GONE_CAME, END_GONE
) = range(8)  # fmt: skip
#: Facts of the join: arrivals of all inputs; the time it is; arrivals until garbage is collected;
#: what lies on the stack; results in the buffer; slots freed, thinned and moved in this call;
#: whether an element is half done; level of the results that are being made, -1: none; free and
#: used entries of CA-Aux; whether what constraints bound is to be looked at; tuples of known keys;
#: changes of k; marks of children; tuples held in memory; values in CA-Aux;
#: whether an input stores No no more; room for a reading of the clock, what a reading takes, and
#: what watching took of the arrivals that are timed.
(
    ARRIVALS, NOW, TO_GARBAGE, N_STACK, N_OUT, N_FREED, N_THINNED, N_MOVED, PHASE, LEVEL, AUX_HEAD,
    AUX_USED, IS_STALE, REPEATED, N_CHANGES, N_COVERED, N_LIVE, N_AUX, HAS_LESS,
    CLOCK_AT, CLOCK_NS, WATCH_NS, END_FACTS
) = range(23)  # fmt: skip
#: Settings of a call: exact (what is let go lies aside); garbage is collected every so many
#: arrivals, 0 = by size; No of non-roots is kept; largest k that is used, -1 any; seed and
#: limit of the draw of tuples to observe, and for how many one that is drawn stands; Yes of the
#: root is not kept; tuples wait anew for a child that leaves.
(
    EXACT, EVERY, KEEPS_NO, THRESHOLD, SEED, DRAW, DRAW_WEIGHT, SINGLE_ROOT, REOPENS, END_SETTINGS
) = range(10)  # fmt: skip
#: Of a change of k: the constraint; arrival; time; before, after; distance; observations.
CHANGE_WIDTH: Final = 7
#: One of so many arrivals is timed; a reading above so many nanoseconds has others' work in it.
TIMED, DISTURBED = 32, 1_000_000
#: Actions on the stack, in its lowest three bits.
INSERT, PUT_YES, PUT_NO, DROP, RESTORE, EMIT, REOPEN = range(7)


class Memory(NamedTuple):
    """words: int64[places * width]; links: int32[places * n]; entries: int32[capacity * n]; widths:
    of these three, where words of attributes begin, and where that of the whole tuple is (-1: there
    is none). aside_words, aside_links: the same of what
    lies aside. heads: int32[buckets] of all indexes, link + 1. inputs, edges, indexes, uses,
    constraints: int64[., END_...]. steps: int64[n, n-1, 4], for each root the way through the
    others: join, whether down it, from, to. points: int64[rings, p, 2], running maxima: when, and
    what. aux: int64[m, END_AUX], aux_heads: CA-Aux. facts, settings. stack; out: int32[n, results];
    taus: their times; freed, thinned, moved, repeated: slots. removed: int64[1 + n, 3], tuples of
    Yes that were taken away: input, number, τ; the first row says how many. over: int64[n],
    whether inputs have no more arrivals, FOR_NOW or FOR_EVER. cursors: int64[2, n].
    changes: of k. seen: int64[constraints, m, 2], bins: distances of the batch. ghosts: int64[2
    joins, g, END_GONE], keys of what was dropped: parents of join e in row 2 e, children in 2 e +
    1. past: int64[constraints, p, END_PAST], values that CA forgot. keys: int64[indexes, q,
    END_KEY], those that may come once. The rest is ``Estimates``."""

    words: Any
    links: Any
    entries: Any
    aside_words: Any
    aside_links: Any
    widths: Any
    heads: Any
    inputs: Any
    edges: Any
    indexes: Any
    uses: Any
    constraints: Any
    steps: Any
    points: Any
    aux: Any
    aux_heads: Any
    facts: Any
    settings: Any
    stack: Any
    out: Any
    taus: Any
    freed: Any
    thinned: Any
    moved: Any
    repeated: Any
    removed: Any
    over: Any
    cursors: Any
    changes: Any
    seen: Any
    bins: Any
    ghosts: Any
    past: Any
    keys: Any
    known: Any
    sums: Any
    ring: Any
    came: Any
    weights: Any
    events: Any
    shares: Any
    waiting: Any
    gone: Any
    estimating: Any

    def entry(self, slots: Ints, k: int) -> Ints32:
        """A number of some entries, int32[n]."""
        numbers: Ints32 = self.entries[slots * self.widths[2] + k]
        return numbers

    def word(self, slots: Ints, k: int) -> Ints:
        """A number of 64 bits of some tuples, wherever they lie."""
        return self._lying(slots, self.words, self.aside_words, int(self.widths[0]), k)

    def link(self, slots: Ints, k: int) -> Ints:
        """One of 32 bits."""
        return self._lying(slots, self.links, self.aside_links, int(self.widths[1]), k)

    def set_links(self, slots: Ints, k: int, values: Ints) -> None:
        """The same, written."""
        places, width = self.entry(slots, PLACE).astype(np.int64), int(self.widths[1])
        is_aside = places >= ASIDE
        self.links[places[~is_aside] * width + k] = values[~is_aside]
        self.aside_links[(places[is_aside] - ASIDE) * width + k] = values[is_aside]

    def _lying(self, slots: Ints, inside: Any, aside: Any, width: int, k: int) -> Ints:
        places = self.entry(slots, PLACE).astype(np.int64)
        numbers, is_aside = np.empty(len(slots), np.int64), places >= ASIDE
        numbers[~is_aside] = inside[places[~is_aside] * width + k]
        numbers[is_aside] = aside[(places[is_aside] - ASIDE) * width + k]
        return numbers

    @property
    def estimates(self) -> Estimates:
        """The estimates of k of all constraints."""
        return Estimates(*self[-len(Estimates._fields) :])


#: The place of each array in the table that kernels are given.
M: Final[Any] = Memory(*range(len(Memory._fields)))
