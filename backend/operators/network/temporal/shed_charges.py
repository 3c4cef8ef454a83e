"""What drops are expected to cost, by part of the window and value group, in arrays. Card B3"""

from __future__ import annotations

import numpy as np

from backend.operators.network.core.blocks import Ints
from backend.operators.network.shedding.words import (
    CHARGE_WORDS,
    CHARGES_FREE,
    CHARGES_USED,
    DEBTOR,
    DROPS,
    EXTRA,
    FIRST_CHARGE,
    GONE,
    GROUP_CHARGES,
    GROUP_DROPS,
    GROUP_EXTRA,
    LAST_CHARGE,
    MOST_PARTS,
    N_CHARGES,
    NEXT_HASHED,
    NEXT_OF_PART,
    OLDEST_PART,
    PART,
    SUM_DROPS,
    SUM_EXTRA,
    SUM_LOST,
    ChargeArrays,
)
from backend.operators.selection.bits import called, inlined, kernel


@inlined
def _bucket(part: int, debtor: int, buckets: Ints) -> int:
    mixed = np.uint64(part) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(debtor)
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    return int((mixed >> np.uint64(33)) % np.uint64(len(buckets)))


@called
def book(
    position: int,
    width: int,
    debtor: int,
    counts: tuple[int, int, int],
    rho: float,
    owing: ChargeArrays,
    facts: Ints,
) -> None:
    """Charge a debtor, 2 · group + reason - 1, for a tuple at a position. counts: drops, extraneous
    pieces, exact tuples lost. There is room for a charge."""
    part, charges = position // width, owing.charges
    if not facts[N_CHARGES]:
        facts[OLDEST_PART] = part
    facts[OLDEST_PART] = min(facts[OLDEST_PART], part)
    bucket = _bucket(part, debtor, owing.buckets)
    row = owing.buckets[bucket] - 1
    while row >= 0 and not (charges[row, PART] == part and charges[row, DEBTOR] == debtor):
        row = charges[row, NEXT_HASHED] - 1
    if row < 0:
        row = _new_charge(part, debtor, bucket, owing, facts)
    charges[row, DROPS] += counts[0]
    charges[row, EXTRA] += counts[1]
    charges[row, GONE] += counts[2]
    owing.rhos[row] += rho
    _add(debtor >> 1, counts, rho, owing, facts)


@called
def _new_charge(part: int, debtor: int, bucket: int, owing: ChargeArrays, facts: Ints) -> int:
    charges, parts = owing.charges, owing.parts
    row = facts[CHARGES_FREE] - 1
    if row >= 0:
        facts[CHARGES_FREE] = charges[row, NEXT_HASHED]
    else:
        row = facts[CHARGES_USED]
        facts[CHARGES_USED] += 1
    facts[N_CHARGES] += 1
    for word in range(CHARGE_WORDS):
        charges[row, word] = 0
    charges[row, PART] = part
    charges[row, DEBTOR] = debtor
    owing.rhos[row] = 0.0
    charges[row, NEXT_HASHED] = owing.buckets[bucket]
    owing.buckets[bucket] = row + 1
    place = part % MOST_PARTS
    last = parts[place, LAST_CHARGE] - 1
    if last < 0:
        parts[place, FIRST_CHARGE] = row + 1
    else:
        charges[last, NEXT_OF_PART] = row + 1
    parts[place, LAST_CHARGE] = row + 1
    owing.groups[debtor >> 1, GROUP_CHARGES] += 1
    return int(row)


@called
def _add(
    group: int, counts: tuple[int, int, int], rho: float, owing: ChargeArrays, facts: Ints
) -> None:
    owing.groups[group, GROUP_DROPS] += counts[0]
    owing.groups[group, GROUP_EXTRA] += counts[1]
    owing.owed[group] += rho
    facts[SUM_DROPS] += counts[0]
    facts[SUM_EXTRA] += counts[1]
    facts[SUM_LOST] += counts[2]
    owing.total[0] += rho


@called
def release(first: int, width: int, owing: ChargeArrays, facts: Ints) -> None:
    """The window needs nothing before ``first`` any more."""
    first_part = first // width
    if not facts[N_CHARGES] or facts[OLDEST_PART] >= first_part:
        return
    for part in range(facts[OLDEST_PART], min(first_part, facts[OLDEST_PART] + MOST_PARTS)):
        place = part % MOST_PARTS
        row = owing.parts[place, FIRST_CHARGE] - 1
        while row >= 0:
            after = owing.charges[row, NEXT_OF_PART] - 1
            _forget(row, owing, facts)
            row = after
        owing.parts[place, FIRST_CHARGE] = owing.parts[place, LAST_CHARGE] = 0
    facts[OLDEST_PART] = first_part
    if not facts[N_CHARGES]:
        facts[SUM_DROPS] = facts[SUM_EXTRA] = facts[SUM_LOST] = 0
        owing.total[0] = 0.0


@called
def _forget(row: int, owing: ChargeArrays, facts: Ints) -> None:
    charges, group = owing.charges, owing.charges[row, DEBTOR] >> 1
    counts = -charges[row, DROPS], -charges[row, EXTRA], -charges[row, GONE]
    _add(group, counts, -owing.rhos[row], owing, facts)
    bucket = _bucket(charges[row, PART], charges[row, DEBTOR], owing.buckets)
    at = owing.buckets[bucket] - 1
    if at == row:
        owing.buckets[bucket] = charges[row, NEXT_HASHED]
    else:
        while charges[at, NEXT_HASHED] != row + 1:
            at = charges[at, NEXT_HASHED] - 1
        charges[at, NEXT_HASHED] = charges[row, NEXT_HASHED]
    charges[row, NEXT_HASHED] = facts[CHARGES_FREE]
    facts[CHARGES_FREE] = row + 1
    facts[N_CHARGES] -= 1
    owing.groups[group, GROUP_CHARGES] -= 1
    if not owing.groups[group, GROUP_CHARGES]:
        owing.owed[group] = 0.0


@called
def expected_loss(n_exact: int, owing: ChargeArrays, facts: Ints) -> float:
    """1 - A as expected, of a window of so many exact coalesced tuples; in [0, 1]."""
    below = n_exact + facts[SUM_EXTRA]
    if not n_exact or below <= 0:
        return 0.0
    return float(max(0.0, min(1.0, (owing.total[0] + facts[SUM_EXTRA]) / below)))


@kernel
def link_again(owing: ChargeArrays) -> None:
    """Buckets are others: there are more of them."""
    for bucket in range(len(owing.buckets)):
        owing.buckets[bucket] = 0
    for place in range(MOST_PARTS):
        row = owing.parts[place, FIRST_CHARGE] - 1
        while row >= 0:
            bucket = _bucket(owing.charges[row, PART], owing.charges[row, DEBTOR], owing.buckets)
            owing.charges[row, NEXT_HASHED] = owing.buckets[bucket]
            owing.buckets[bucket] = row + 1
            row = owing.charges[row, NEXT_OF_PART] - 1
