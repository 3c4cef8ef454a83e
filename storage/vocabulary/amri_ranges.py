"""What share of a state's tuples lies in the ranges that requests ask for, as they measured it.

Codes of an attribute that is compared by order save what is out of range, so narrow ranges deserve
bits and wide ones none (ours).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from storage.vocabulary.amri_costs import ORDERED_BITS, Bits, SearchLoad
from storage.vocabulary.amri_counts import AGREED, IN_RANGE, PatternCounts, StateCounts
from storage.vocabulary.amri_patterns import Pattern, attributes_of, pattern_of

#: Requests of a pattern from which what they compared says something.
LEAST_MEASURED: Final = 200


def range_shares(
    load: SearchLoad, counts: StateCounts, bits: Bits, by_modules: Collection[Pattern] = ()
) -> dict[int, float]:
    """Of attributes that are asked for by order alone the share of the tuples that is in range; of
    several patterns the mean, each weighing as much as it compared. Attributes of which nothing is
    known are left out. bits: that requests were measured with; by_modules: patterns that hash
    modules served."""
    sums, weights = [0.0] * load.n, [0] * load.n
    for pattern, row in counts.by_pattern.items() if load.ordered else ():
        own = (0,) * load.n if pattern in by_modules else bits
        weight = max(1, row[2] - row[4])
        by_order = attributes_of(pattern & load.ordered, load.n)
        for a in by_order if row[0] >= LEAST_MEASURED else ():
            share = _share(load, pattern, row, a, own[a])
            if share is not None:
                sums[a] += weight * share
                weights[a] += weight
    return {a: sums[a] / weights[a] for a in range(load.n) if weights[a]}


def _share(
    load: SearchLoad, pattern: Pattern, row: PatternCounts, attribute: int, bits: int
) -> float | None:
    """As requests of a pattern saw it under so many bits of the attribute. None: they did not.

    Where it alone is asked for the matches are all that is in range. Else these are a share of the
    tuples that agree by value, of which codes have left out some: of those that are out of range
    the code that the range ends in was met alone, 1 of 2^bits."""
    requests, matched = row[:2]
    if matched and pattern == pattern_of([attribute], load.n):
        return min(1.0, matched / (requests * load.arrivals * load.window))
    if len(row) <= IN_RANGE or not row[AGREED]:
        return None
    met = (row[IN_RANGE + attribute] + 1) / (row[AGREED] + 2)
    of_end = _of_end(bits)
    return met * of_end / (met * of_end + 1 - met)


def chain_lengths(
    load: SearchLoad, counts: StateCounts, bits: Bits, by_modules: Collection[Pattern] = ()
) -> dict[Pattern, float]:
    """By pattern that was asked for how many tuples agreed with a request in all it specifies by a
    value. Of one that was never asked for without ranges: those that were met, by the share that
    codes of these left, or where that was not counted the matches, by the share in range."""
    shares = range_shares(load, counts, bits, by_modules)
    asked = [p for p in counts.by_pattern if p & ~load.ordered]
    chains: dict[Pattern, float] = {}
    for p in sorted(asked, key=lambda p: -(p & load.ordered).bit_count()):
        row = counts.by_pattern[p]
        ranges = attributes_of(p & load.ordered, load.n)
        in_range = [shares.get(a, 0.5) for a in ranges]
        if ranges and len(row) > IN_RANGE and row[AGREED]:
            left = [_of_end(0 if p in by_modules else bits[a]) for a in ranges]
            met = [share + (1 - share) * end for share, end in zip(in_range, left, strict=True)]
            chains[p & ~load.ordered] = row[AGREED] / row[0] / math.prod(met)
        else:
            chains[p & ~load.ordered] = row[1] / row[0] / math.prod(in_range)
    return chains


def _of_end(bits: int) -> float:
    """Of the tuples those in the code that a range ends in."""
    return math.exp2(-min(bits, ORDERED_BITS))
