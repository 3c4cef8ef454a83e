"""What drops cost once their run has grown into the answer, in arrays: see shedding.growth."""

from __future__ import annotations

from backend.operators.network.core.blocks import Ints
from backend.operators.network.shedding.rules import ShedRules
from backend.operators.network.shedding.words import (
    BESIDE,
    DROPPED,
    END,
    FIRST,
    GROUP,
    HAS_DROPPED,
    IS_BUILT,
    MEMORY,
    POSITION,
    RUN_END,
    START,
    ChargeArrays,
    ShedArrays,
)
from backend.operators.network.temporal.interval_tree import (
    first_head,
    head_of,
    next_head,
)
from backend.operators.network.temporal.shed_charges import book
from backend.operators.network.temporal.shed_runs import takes
from backend.operators.selection.bits import called, inlined


@inlined
def charges_growth(rules: ShedRules, facts: Ints) -> bool:
    """Whether what drops cost depends on what comes behind them."""
    grows = facts[IS_BUILT] and rules.needs_exact and not rules.every_length
    return bool(grows and facts[HAS_DROPPED] and facts[DROPPED] >= facts[FIRST])


@called
def answered_near(
    node: int, end: int, rules: ShedRules, shed: ShedArrays
) -> tuple[int, int, float, int, int]:
    """Of the exact runs that a tuple up to ``end`` lies in or touches: how many are answered, how
    many of their pieces in memory, and what of them is missing: share, extraneous pieces, all."""
    tuples, roots = shed.tuples, shed.roots
    group, start = tuples[node, GROUP], tuples[node, START]
    n_exact, n_pieces, rho, extra, lost = 0, 0, 0.0, 0, 0
    run = head_of(group, start, 1 << 62, BESIDE, tuples, roots)
    if run < 0 or tuples[run, BESIDE + RUN_END] < start:
        run = _head_behind(group, start, run, BESIDE, shed)
    while run >= 0 and tuples[run, START] <= end:
        length = tuples[run, BESIDE + RUN_END] - tuples[run, START]
        if takes(length, rules):
            n, kept = _answered_in(run, rules, shed)
            n_exact, n_pieces, rho = n_exact + 1, n_pieces + n, rho + (1 - kept / length)
            extra, lost = extra + max(1, n) - 1, lost + int(n == 0)
        run = next_head(run, BESIDE, tuples)
    return n_exact, n_pieces, rho, extra, lost


@called
def _head_behind(group: int, start: int, run: int, at: int, shed: ShedArrays) -> int:
    """The next run behind one (-1: there is none before ``start``)."""
    if run >= 0:
        return int(next_head(run, at, shed.tuples))
    return int(first_head(group, start, at, shed.tuples, shed.roots))


@called
def _answered_in(run: int, rules: ShedRules, shed: ShedArrays) -> tuple[int, int]:
    """Pieces in memory of an exact run that are in the answer, and their length."""
    tuples, n, kept = shed.tuples, 0, 0
    low, high = tuples[run, START], tuples[run, BESIDE + RUN_END]
    piece = first_head(tuples[run, GROUP], low, MEMORY, tuples, shed.roots)
    while piece >= 0 and tuples[piece, START] < high:
        length = tuples[piece, MEMORY + RUN_END] - tuples[piece, START]
        if takes(length, rules):
            n, kept = n + 1, kept + length
        piece = next_head(piece, MEMORY, tuples)
    return n, kept


@called
def book_growth(
    node: int,
    before: tuple[int, int, float, int, int],
    rules: ShedRules,
    shed: ShedArrays,
    owing: ChargeArrays,
) -> None:
    """Charge what drops cost only now: their run was too short for the answer when they went, and
    by a tuple that came it no longer is."""
    after = answered_near(node, shed.tuples[node, END], rules, shed)
    if before[0] == after[0] and before[1] == after[1]:
        return
    rho, extra, lost = after[2] - before[2], after[3] - before[3], after[4] - before[4]
    if rho or extra or lost:
        position, debtor = shed.tuples[node, POSITION], 2 * shed.tuples[node, GROUP]
        book(position, rules.width, debtor, (0, extra, lost), rho, owing, shed.facts)
