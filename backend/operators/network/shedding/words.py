"""Words of the arrays of a window that sheds, and the rules it is shed by.

A tuple is a row of ``tuples``; it is a node of the tree of those in memory, of the tree of those
kept beside, or of both. The first tuple of a run holds what is known of the run. Numbers of rows
are stored plus one: 0 is none.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.core.blocks import Ints

Floats: TypeAlias = NDArray[np.float64]

#: Of a tuple: its arrival, value group, valid time, where it is in the window, what it is, and its
#: neighbours by arrival; NEXT of a free row is the next free one.
NUMBER, GROUP, START, END, POSITION, FLAGS, NEXT, PREV = range(8)
#: The words of both trees begin here.
MEMORY: Final = 8
BESIDE: Final = 14
#: Instead of one of these.
NEITHER: Final = -1
#: Of a node: its neighbours in the tree; the largest end below and in it; whether runs begin
#: there; and, where it begins one, the end of that run.
LEFT, RIGHT, PARENT, TOP, HEADS, RUN_END = range(6)
#: Of what is in memory: what its loss makes and takes, the best candidates below and in it that
#: make none and one, how many make more, and how many tuples there are.
DELTA, LENGTH, BEST, BEST_ONE, MANY, SIZE = range(20, 26)
#: Of a run: the length that went from it; of a run or tuple on heaps: its place, the tuple that is
#: to go, its place by end; the number of equal scores.
LOST, PLACE, CHOSEN, OPENED, TIE = range(26, 31)
TUPLE_WORDS: Final = 31

#: Bits of FLAGS. FREE: it may be dropped; HEAD: a run begins with it; DIRTY: to be looked at; OPEN:
#: it goes on, and is no candidate until its end is known.
IN_MEMORY, IN_BESIDE, FREE, HEAD_MEMORY, HEAD_BESIDE, DIRTY, OPEN = (1 << bit for bit in range(7))

#: Of ``facts``. RUN_BYTES: of what is in memory, as runs; IS_CODED: rows are kept as runs, so many
#: bytes and value groups of those in memory and beside, and lengths that went from so many runs.
(
    USED,
    UNUSED,
    OLDEST,
    LAST,
    NEWEST,
    N_MEMORY,
    N_BESIDE,
    N_ALONE,
    RUNS_MEMORY,
    RUNS_BESIDE,
    ANSWERED_MEMORY,
    ANSWERED_BESIDE,
    HAS_FIRST,
    FIRST,
    HAS_REACHED,
    REACHED,
    HAS_DROPPED,
    DROPPED,
    HAS_UNSEEN,
    UNSEEN,
    EVENT,
    NUMBERED,
    IS_BUILT,
    SHEDDING,
    N_HEAP,
    N_OPEN,
    N_DIRTY,
    SUM_DROPS,
    SUM_EXTRA,
    SUM_LOST,
    CHARGES_USED,
    CHARGES_FREE,
    N_CHARGES,
    OLDEST_PART,
    N_PENDING,
    N_TEXT,
    RUN_BYTES,
    N_CHANGED,
    IS_CODED,
    CODED_BYTES,
    CODED_GROUPS,
    BESIDE_BYTES,
    BESIDE_GROUPS,
    N_LOST,
) = range(44)
N_FACTS: Final = 44

#: Reasons, as receipts number them; 0 of SHEDDING: nothing is to go.
LIMIT, TURNED = 1, 2
#: Of a charge: the part of the window, who is charged (group and reason), drops, extraneous pieces,
#: exact tuples lost; the next of its bucket, and of its part.
PART, DEBTOR, DROPS, EXTRA, GONE, NEXT_HASHED, NEXT_OF_PART = range(7)
CHARGE_WORDS: Final = 7
#: Parts of a window that may be charged at once.
MOST_PARTS: Final = 1024
#: Of a part: its first and last charge.
FIRST_CHARGE, LAST_CHARGE = range(2)
#: Of a value group: tuples and changes that name it, its charges, drops and extraneous pieces of
#: these; whether it is audited: 0: not known, 1: no, 2: yes.
GROUP_USES, GROUP_CHARGES, GROUP_DROPS, GROUP_EXTRA, GROUP_AUDITED = range(5)
GROUP_WORDS: Final = 5

#: Of what is told: tick, value group, start, end, sign.
TOLD_WORDS: Final = 5
#: Of a receipt: arrival, group, valid time, the run before, pieces left, δ⁺, reason, extraneous
#: pieces, exact tuples lost, where its pieces begin. Beside it: ρ⁻, the share lost, loss expected.
(
    R_NUMBER,
    R_GROUP,
    R_START,
    R_END,
    R_FROM,
    R_UNTIL,
    R_PIECES,
    R_DELTA,
    R_REASON,
    R_EXTRA,
    R_LOST,
    R_SPANS,
) = range(12)
RECEIPT_WORDS: Final = 12
R_RHO, R_SHARE, R_LOSS = range(3)
RECEIPT_SHARES: Final = 3

#: Of ``done``: arrivals and ticks taken, rows told, receipts, spans; all that there is to do is; a
#: tuple to drop is asked for, and which it is, -1: none may be.
TAKEN, TICKED, N_TOLD, N_RECEIPTS, N_SPANS, IS_OVER, ASKS, CHOICE = range(8)
N_DONE: Final = 8

#: What an arrival is: a tuple; one that goes on; how long that one is valid so far; until when it
#: was.
CAME, OPENS, GOES_ON, ENDS = range(4)


class ShedArrays(NamedTuple):
    """tuples: int64[n, TUPLE_WORDS]; roots: int64[groups, 2], of both trees; heap, opens, dirty:
    int64[n]; scores: float64[n], by tuple."""

    tuples: Ints
    roots: Ints
    heap: Ints
    scores: Floats
    opens: Ints
    dirty: Ints
    facts: Ints


class ChargeArrays(NamedTuple):
    """charges: int64[n, CHARGE_WORDS]; rhos: float64[n]; buckets: int64[2n]; parts:
    int64[MOST_PARTS, 2]; groups: int64[groups, GROUP_WORDS]; owed: float64[groups], Σρ of each;
    total: float64[1], of all."""

    charges: Ints
    rhos: Floats
    buckets: Ints
    parts: Ints
    groups: Ints
    owed: Floats
    total: Floats


class ShedTold(NamedTuple):
    """What is told: changes, receipts with their shares, pieces that runs fell into; done: how far
    it got."""

    changes: Ints
    receipts: Ints
    shares: Floats
    spans: Ints
    done: Ints


class ShedArrivals(NamedTuple):
    """Arrivals in order, their timestamps, what they are, numbers, groups, valid times; and, for
    windows of rows, ticks at which tuples of the stream come, and the last arrival at each."""

    taus: Ints
    kinds: Ints
    numbers: Ints
    groups: Ints
    starts: Ints
    ends: Ints
    ticks: Ints
    positions: Ints
