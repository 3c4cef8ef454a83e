"""Drops: what goes, its receipt, and what it is expected to cost. Card B3"""

from __future__ import annotations

from backend.operators.network.shedding.rules import ONE_STEP, ShedRules
from backend.operators.network.shedding.words import (
    ANSWERED_BESIDE,
    ANSWERED_MEMORY,
    ASKS,
    BESIDE,
    CHARGES_FREE,
    CHARGES_USED,
    CHOICE,
    DROPPED,
    END,
    FLAGS,
    GROUP,
    GROUP_USES,
    HAS_DROPPED,
    IN_BESIDE,
    IN_MEMORY,
    IS_BUILT,
    LAST,
    LIMIT,
    LOST,
    MEMORY,
    N_ALONE,
    N_CHANGED,
    N_MEMORY,
    N_RECEIPTS,
    N_SPANS,
    N_TOLD,
    NEWEST,
    NEXT,
    NUMBER,
    OLDEST,
    POSITION,
    PREV,
    R_DELTA,
    R_END,
    R_EXTRA,
    R_FROM,
    R_GROUP,
    R_LOSS,
    R_LOST,
    R_NUMBER,
    R_PIECES,
    R_REASON,
    R_RHO,
    R_SHARE,
    R_SPANS,
    R_START,
    R_UNTIL,
    RUN_BYTES,
    RUN_END,
    SHEDDING,
    START,
    SUM_EXTRA,
    SUM_LOST,
    UNUSED,
    ChargeArrays,
    ShedArrays,
    ShedTold,
)
from backend.operators.network.temporal.interval_tree import first_head, head_of, next_head
from backend.operators.network.temporal.shed_charges import book, expected_loss
from backend.operators.network.temporal.shed_choice import (
    by_number,
    choose,
    leave_candidates,
    look_around,
)
from backend.operators.network.temporal.shed_coded import added_bytes
from backend.operators.network.temporal.shed_runs import leave, loss_of, takes
from backend.operators.selection.bits import called, inlined


@called
def shed_down(rules: ShedRules, shed: ShedArrays, owing: ChargeArrays, out: ShedTold) -> bool:
    """Drop until there is as much as there may be; False: there was no room to tell of it."""
    facts = shed.facts
    while facts[rules.held] > rules.target and facts[N_MEMORY] > 1:
        if facts[CHARGES_USED] == len(owing.charges) and not facts[CHARGES_FREE]:
            return False
        if rules.algorithm == ONE_STEP and not out.done[CHOICE]:
            out.done[ASKS] = 1
            return False
        node = out.done[CHOICE] - 1 if rules.algorithm == ONE_STEP else choose(rules, shed)
        if node < 0:
            break
        pieces, length = loss_of(node, MEMORY, shed.tuples, shed.roots)
        if not has_room(pieces + 2, out):
            return False
        _drop(node, pieces, length, rules, shed, owing, out)
        out.done[CHOICE] = 0
    facts[SHEDDING] = out.done[CHOICE] = 0
    return True


@inlined
def has_room(n: int, out: ShedTold) -> bool:
    """For so many changes, a receipt, and as many pieces."""
    done = out.done
    return bool(
        done[N_TOLD] + n <= len(out.changes)
        and done[N_RECEIPTS] < len(out.receipts)
        and done[N_SPANS] + n <= len(out.spans)
    )


@called
def has_room_among(
    n: int, group: int, start: int, end: int, shed: ShedArrays, owing: ChargeArrays, out: ShedTold
) -> bool:
    """For so many changes, those of all runs in memory that begin from a start to an end, and for a
    charge."""
    tuples, facts = shed.tuples, shed.facts
    if facts[CHARGES_USED] == len(owing.charges) and not facts[CHARGES_FREE]:
        return False
    head = first_head(group, start, MEMORY, tuples, shed.roots)
    while head >= 0 and tuples[head, START] <= end:
        n += 1
        head = next_head(head, MEMORY, tuples)
    return bool(has_room(n, out))


@called
def _drop(
    node: int,
    pieces: int,
    length: int,
    rules: ShedRules,
    shed: ShedArrays,
    owing: ChargeArrays,
    out: ShedTold,
) -> None:
    """Take a tuple from memory, and write its receipt."""
    tuples, facts = shed.tuples, shed.facts
    group, number = tuples[node, GROUP], tuples[node, NUMBER]
    head = head_of(group, tuples[node, START], number, MEMORY, tuples, shed.roots)
    low, high = tuples[head, START], tuples[head, MEMORY + RUN_END]
    known = high - low + tuples[head, LOST]
    is_beside, is_answered, base = False, True, known
    if rules.needs_exact:
        exact = head_of(group, tuples[node, START], number, BESIDE, tuples, shed.roots)
        first, last = tuples[exact, START], tuples[exact, BESIDE + RUN_END]
        base, is_answered = last - first, takes(last - first, rules)
        is_beside = is_answered and _has_others(group, first, last, head, rules, shed)
    row = out.done[N_RECEIPTS]
    _write(row, node, head, pieces, shed, out)
    out.shares[row, R_RHO] = length / (base if rules.on_exact else high - low)
    forget_in_memory(node, known, rules, shed, out)
    n_left, left = _left(group, low, high, pieces, rules, shed, out)
    was = high - low if takes(high - low, rules) else 0
    rho, extra, lost = 0.0, 0, 0
    if is_answered:
        k, k_left = int(is_beside) + int(was > 0), int(is_beside) + n_left
        rho, extra = (was - left) / base, max(1, k_left) - max(1, k)
        lost = min(1, k) - min(1, k_left)
    out.shares[row, R_SHARE] = rho
    out.receipts[row, R_EXTRA], out.receipts[row, R_LOST] = extra, lost
    out.shares[row, R_LOSS] = _booked(node, (1, extra, lost), rho, rules, shed, owing)
    out.done[N_RECEIPTS] = row + 1
    facts[N_CHANGED] += 1
    if not tuples[node, FLAGS] & IN_BESIDE:
        let_go(node, shed, owing)
    else:
        facts[N_ALONE] += 1


@called
def _write(row: int, node: int, head: int, pieces: int, shed: ShedArrays, out: ShedTold) -> None:
    """A receipt for what a tuple is, and the run that it is in."""
    tuples, receipts = shed.tuples, out.receipts
    receipts[row, R_NUMBER], receipts[row, R_GROUP] = tuples[node, NUMBER], tuples[node, GROUP]
    receipts[row, R_START], receipts[row, R_END] = tuples[node, START], tuples[node, END]
    receipts[row, R_FROM], receipts[row, R_UNTIL] = (
        tuples[head, START],
        tuples[head, MEMORY + RUN_END],
    )
    receipts[row, R_PIECES], receipts[row, R_DELTA] = pieces, max(0, pieces - 1)
    receipts[row, R_REASON] = shed.facts[SHEDDING]


@called
def _has_others(
    group: int, first: int, last: int, head: int, rules: ShedRules, shed: ShedArrays
) -> bool:
    """Whether another piece of an exact run is in the answer."""
    tuples = shed.tuples
    piece = first_head(group, first, MEMORY, tuples, shed.roots)
    while piece >= 0 and tuples[piece, START] < last:
        if piece != head and takes(tuples[piece, MEMORY + RUN_END] - tuples[piece, START], rules):
            return True
        piece = next_head(piece, MEMORY, tuples)
    return False


@called
def _left(
    group: int,
    low: int,
    high: int,
    pieces: int,
    rules: ShedRules,
    shed: ShedArrays,
    out: ShedTold,
) -> tuple[int, int]:
    """Pieces of a run that are left and in the answer, and their length; all are told."""
    tuples, n, length = shed.tuples, 0, 0
    out.receipts[out.done[N_RECEIPTS], R_SPANS] = out.done[N_SPANS]
    piece = first_head(group, low, MEMORY, tuples, shed.roots) if pieces else -1
    while piece >= 0 and tuples[piece, START] < high:
        start, end = tuples[piece, START], tuples[piece, MEMORY + RUN_END]
        out.spans[out.done[N_SPANS], 0], out.spans[out.done[N_SPANS], 1] = start, end
        out.done[N_SPANS] += 1
        if takes(end - start, rules):
            n, length = n + 1, length + end - start
        piece = next_head(piece, MEMORY, tuples)
    return n, length


@called
def _booked(
    node: int,
    counts: tuple[int, int, int],
    rho: float,
    rules: ShedRules,
    shed: ShedArrays,
    owing: ChargeArrays,
) -> float:
    """Charge a drop; the accuracy it is expected to cost."""
    facts, position = shed.facts, shed.tuples[node, POSITION]
    if not facts[HAS_DROPPED] or position > facts[DROPPED]:
        facts[HAS_DROPPED], facts[DROPPED] = 1, position
    before = expected_loss(n_exact(rules, shed), owing, facts)
    debtor = 2 * shed.tuples[node, GROUP] + facts[SHEDDING] - LIMIT
    book(position, rules.width, debtor, counts, rho, owing, facts)
    return expected_loss(n_exact(rules, shed), owing, facts) - before


@inlined
def n_exact(rules: ShedRules, shed: ShedArrays) -> int:
    """Exact coalesced tuples of the answer: counted, or what drops tell of them."""
    facts = shed.facts
    if rules.needs_exact:
        return int(facts[ANSWERED_BESIDE])
    return int(max(0, facts[ANSWERED_MEMORY] - facts[SUM_EXTRA] + facts[SUM_LOST]))


@called
def forget_in_memory(
    node: int, known: int, rules: ShedRules, shed: ShedArrays, out: ShedTold
) -> None:
    """A tuple leaves memory, dropped or with its window."""
    tuples, facts = shed.tuples, shed.facts
    tuples[node, FLAGS] &= ~IN_MEMORY
    if facts[NEWEST] == node + 1:
        facts[NEWEST] = 0
    facts[N_MEMORY] -= 1
    if facts[IS_BUILT]:
        leave_candidates(node, rules, shed)
    if rules.held == RUN_BYTES:
        facts[RUN_BYTES] -= added_bytes(node, rules, shed)
    leave(node, known, MEMORY, rules, shed, out)
    if facts[IS_BUILT] and not by_number(rules):
        look_around(node, rules, shed)


@called
def let_go(node: int, shed: ShedArrays, owing: ChargeArrays) -> None:
    """A tuple is nowhere any more: its row is free."""
    tuples, facts = shed.tuples, shed.facts
    before, after = tuples[node, PREV], tuples[node, NEXT]
    if before:
        tuples[before - 1, NEXT] = after
    else:
        facts[OLDEST] = after
    if after:
        tuples[after - 1, PREV] = before
    else:
        facts[LAST] = before
    owing.groups[tuples[node, GROUP], GROUP_USES] -= 1
    tuples[node, NEXT] = facts[UNUSED]
    facts[UNUSED] = node + 1
