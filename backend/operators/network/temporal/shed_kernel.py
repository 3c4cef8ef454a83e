"""A window under a limit, event by event: what comes, leaves and is dropped. Card B3

The slow form is ``shedding.SheddingWindow``: it drops the same tuples, with the same receipts.
Where nothing that was dropped would be in the window there are no candidates, and nothing is kept
beside: both are built when the limit is met.
"""

from __future__ import annotations

from backend.operators.network.core.blocks import FOREVER, Ints
from backend.operators.network.shedding.rules import ShedRules
from backend.operators.network.shedding.words import (
    DIRTY,
    END,
    EVENT,
    FIRST,
    FLAGS,
    GOES_ON,
    GROUP,
    GROUP_USES,
    HAS_FIRST,
    IN_BESIDE,
    IN_MEMORY,
    IS_BUILT,
    IS_OVER,
    LAST,
    LIMIT,
    MEMORY,
    N_ALONE,
    N_CHANGED,
    N_MEMORY,
    NEWEST,
    NEXT,
    NUMBER,
    OLDEST,
    OPEN,
    OPENS,
    POSITION,
    PREV,
    RUN_BYTES,
    SHEDDING,
    SIZE,
    START,
    TAKEN,
    TICKED,
    TUPLE_WORDS,
    UNUSED,
    USED,
    ChargeArrays,
    ShedArrays,
    ShedArrivals,
    ShedTold,
)
from backend.operators.network.temporal.shed_built import (
    build,
    enter_beside,
    is_beside,
    leave_beside,
)
from backend.operators.network.temporal.shed_charges import release
from backend.operators.network.temporal.shed_choice import (
    by_number,
    look_around,
    reach_to,
    set_free,
)
from backend.operators.network.temporal.shed_coded import added_bytes
from backend.operators.network.temporal.shed_drops import (
    forget_in_memory,
    has_room,
    has_room_among,
    let_go,
    shed_down,
)
from backend.operators.network.temporal.shed_growth import (
    answered_near,
    book_growth,
    charges_growth,
)
from backend.operators.network.temporal.shed_open import is_open, lengthen
from backend.operators.network.temporal.shed_runs import enter, loss_of
from backend.operators.selection.bits import called, kernel


@kernel
def play(
    arrivals: ShedArrivals,
    heartbeat: int,
    rules: ShedRules,
    shed: ShedArrays,
    owing: ChargeArrays,
    out: ShedTold,
) -> None:
    """All that happens until before the heartbeat, as far as there is room to tell of it."""
    facts, done = shed.facts, out.done
    while True:
        if facts[HAS_FIRST] and not _expire(rules, shed, owing, out):
            return
        if facts[SHEDDING] and not shed_down(rules, shed, owing, out):
            return
        i, limit = done[TAKEN], heartbeat
        has_arrival = i < len(arrivals.taus)
        if has_arrival:
            limit = arrivals.taus[i]
        leaving = _next_leaving(arrivals, rules, shed, done)
        if leaving < limit:
            facts[EVENT] = max(facts[EVENT], leaving)
            position = leaving
            if rules.by_rows:
                position = arrivals.positions[done[TICKED]]
                done[TICKED] += 1
            _advance(position, rules, facts)
        elif not has_arrival:
            if not rules.by_rows and facts[HAS_FIRST] and _advance(heartbeat - 1, rules, facts):
                continue
            done[IS_OVER] = 1
            return
        else:
            facts[EVENT] = max(facts[EVENT], limit)
            position = arrivals.numbers[i] if rules.by_rows else limit
            if _advance(position, rules, facts):
                continue
            if not _came(arrivals, i, position, rules, shed, owing, out):
                return
            done[TAKEN] = i + 1


@called
def _next_leaving(arrivals: ShedArrivals, rules: ShedRules, shed: ShedArrays, done: Ints) -> int:
    """The next tick at which tuples leave, or may."""
    if rules.by_rows:
        if done[TICKED] < len(arrivals.ticks):
            return int(arrivals.ticks[done[TICKED]])
        return FOREVER
    oldest = shed.facts[OLDEST] - 1
    if oldest < 0:
        return FOREVER
    return int(-(-(shed.tuples[oldest, POSITION] + rules.size + 1) // rules.slide) * rules.slide)


@called
def _advance(position: int, rules: ShedRules, facts: Ints) -> bool:
    """The window moves to where an arrival, or the time, has come to; whether it does."""
    first = position // rules.slide * rules.slide - rules.size + int(rules.by_rows)
    if facts[HAS_FIRST] and first <= facts[FIRST]:
        return False
    facts[HAS_FIRST], facts[FIRST] = 1, first
    return True


@called
def _expire(rules: ShedRules, shed: ShedArrays, owing: ChargeArrays, out: ShedTold) -> bool:
    """Tuples that the window needs no more leave; False: there was no room to tell of it."""
    tuples, facts = shed.tuples, shed.facts
    while facts[OLDEST] and tuples[facts[OLDEST] - 1, POSITION] < facts[FIRST]:
        node = facts[OLDEST] - 1
        if tuples[node, FLAGS] & IN_MEMORY:
            if not _can_tell(node, shed, out):
                return False
            forget_in_memory(node, -1, rules, shed, out)
        elif tuples[node, FLAGS] & IN_BESIDE:
            facts[N_ALONE] -= 1
        if tuples[node, FLAGS] & IN_BESIDE:
            leave_beside(node, rules, shed, out)
        let_go(node, shed, owing)
        facts[N_CHANGED] += 1
    release(facts[FIRST], rules.width, owing, facts)
    return True


@called
def _can_tell(node: int, shed: ShedArrays, out: ShedTold) -> bool:
    """Whether there is room to tell what the run of a tuple falls into: at most as many pieces as
    it has instants, and as its group has tuples."""
    tuples = shed.tuples
    root = shed.roots[tuples[node, GROUP], 0] - 1
    most = min(tuples[node, END] - tuples[node, START], tuples[root, SIZE])
    return bool(has_room(most + 3, out)) or bool(
        has_room(loss_of(node, MEMORY, tuples, shed.roots)[0] + 2, out)
    )


# ---------------------------------------------------------------------- arrivals


@called
def _came(
    arrivals: ShedArrivals,
    i: int,
    position: int,
    rules: ShedRules,
    shed: ShedArrays,
    owing: ChargeArrays,
    out: ShedTold,
) -> bool:
    """A tuple comes, or goes on; False: there was no room to tell of it."""
    facts, start, end = shed.facts, arrivals.starts[i], arrivals.ends[i]
    if arrivals.kinds[i] >= GOES_ON:
        if not lengthen(arrivals, i, rules, shed, owing, out):
            return False
    elif not has_room_among(3, arrivals.groups[i], start, end, shed, owing, out):
        return False
    else:
        _arrive(arrivals, i, position, rules, shed, owing, out)
    if rules.limit and facts[rules.held] > rules.limit:
        if not facts[IS_BUILT]:
            build(rules, shed, owing, out)
        facts[SHEDDING] = LIMIT
    return True


@called
def _arrive(
    arrivals: ShedArrivals,
    i: int,
    position: int,
    rules: ShedRules,
    shed: ShedArrays,
    owing: ChargeArrays,
    out: ShedTold,
) -> None:
    facts = shed.facts
    reach_to(arrivals.starts[i], shed)
    before = facts[NEWEST] - 1
    if facts[IS_BUILT] and rules.protects and before >= 0 and not is_open(before, shed):
        set_free(before, rules, shed)
    facts[NEWEST] = 0
    facts[N_CHANGED] += 1
    if position < facts[FIRST]:
        return
    node = _new_tuple(arrivals, i, position, shed, owing)
    grows = charges_growth(rules, facts)
    answered = (0, 0, 0.0, 0, 0)
    if grows:
        answered = answered_near(node, shed.tuples[node, END], rules, shed)
    facts[NEWEST] = node + 1
    _take(node, rules, shed, owing, out)
    if grows:
        book_growth(node, answered, rules, shed, owing)
    if facts[IS_BUILT] and not rules.protects and not is_open(node, shed):
        set_free(node, rules, shed)


@called
def _new_tuple(
    arrivals: ShedArrivals, i: int, position: int, shed: ShedArrays, owing: ChargeArrays
) -> int:
    """A row for an arrival; there is one."""
    tuples, facts = shed.tuples, shed.facts
    node = facts[UNUSED] - 1
    if node >= 0:
        facts[UNUSED] = tuples[node, NEXT]
    else:
        node = facts[USED]
        facts[USED] += 1
    flags = tuples[node, FLAGS] & DIRTY | (OPEN if arrivals.kinds[i] == OPENS else 0)
    for word in range(TUPLE_WORDS):
        tuples[node, word] = 0
    tuples[node, FLAGS] = flags
    tuples[node, NUMBER] = arrivals.numbers[i]
    tuples[node, GROUP] = arrivals.groups[i]
    tuples[node, START] = arrivals.starts[i]
    tuples[node, END] = arrivals.ends[i]
    tuples[node, POSITION] = position
    tuples[node, PREV] = facts[LAST]
    if facts[LAST]:
        tuples[facts[LAST] - 1, NEXT] = node + 1
    else:
        facts[OLDEST] = node + 1
    facts[LAST] = node + 1
    owing.groups[arrivals.groups[i], GROUP_USES] += 1
    return int(node)


@called
def _take(
    node: int, rules: ShedRules, shed: ShedArrays, owing: ChargeArrays, out: ShedTold
) -> None:
    """A tuple comes into memory, and beside."""
    tuples, facts = shed.tuples, shed.facts
    if facts[IS_BUILT] and is_beside(node, rules, shed, owing):
        enter_beside(node, rules, shed, out)
    tuples[node, FLAGS] |= IN_MEMORY
    facts[N_MEMORY] += 1
    enter(node, MEMORY, rules, shed, out)
    if rules.held == RUN_BYTES:
        facts[RUN_BYTES] += added_bytes(node, rules, shed)
    if facts[IS_BUILT] and not by_number(rules):
        look_around(node, rules, shed)
