"""Values for a whole window from what a sample of it came to, with 95 % intervals. Card B8

Each tuple was kept with a probability π on its own, so x / π for those that are there adds up to
what all come to on average (Horvitz and Thompson), and (1 - π) x² / π² to the variance of that. The
interval is where a value would make what was seen no rarer than 1 in 20, its variance as large as
the value asks for: of equal x, Wilson's for a Poisson variable. It leans to the far side and
keeps its promise for few tuples, where one that is centred does not. Averages are ratios of two
such sums, with the variance of their linear part and Student's quantile.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from backend.adaptive.stats import Z95
from backend.operators.network.core.blocks import Bools, Ints, Values
from backend.operators.network.sampling.student import T95
from backend.operators.selection.bits import called, kernel

#: Functions as calls number them, and the words of a call.
COUNT, SUM, AVG = range(3)
FUNCTION, EXACT, N, TOTAL, SQUARES = range(5)
#: Words of a cell before those of its aggregates: whether it is linked; the next one, + 1.
LINKED, NEXT, FIRST = range(3)
_MOST: Final = 9.2e18


class Cells(NamedTuple):
    """What tuples of a group and a probability came to. keys: int64[slots, words], the probability
    second; words: int64[slots, FIRST + 2 * k], k aggregates, then whether each is known; heads:
    int64[groups], + 1, from the largest probability on. floats: bool[k]."""

    keys: Ints
    words: Ints
    heads: Ints
    floats: Bools


class Estimated(NamedTuple):
    """Of m episodes before and after: values: int64[2, m, calls], bits; ends: float64[2, m, calls,
    2]; is_known, has_ends: bool[2, m, calls]; exists: bool[2, m]."""

    values: Ints
    ends: Values
    is_known: Bools
    has_ends: Bools
    exists: Bools


class Sums(NamedTuple):
    """Of a call: of the whole window how many values, their sum and that of their squares, by what
    was kept; variance: of the sum; kept: values in memory; odds: the largest (1 - π) / π."""

    n: float
    total: float
    squares: float
    variance: float
    kept: int
    odds: float
    is_known: bool


@kernel
def follow(
    group: Ints,
    number: Ints,
    last: Ints,
    slots: Ints,
    signs: Ints,
    given: Ints,
    cells: Cells,
    calls: Ints,
    is_whole: Bools,
    out: Estimated,
) -> None:
    """Take elements, and tell what each group is before and after each of its episodes.

    last: int64[m], the last element of each episode. given: int64[n, 2 * k]: of each element,
    aggregates and whether each is known. is_whole: bool[calls], whether results are integers.
    """
    n_begun = 0
    for i in range(len(slots)):
        episode = number[i]
        if episode == n_begun:
            _estimate(0, episode, group[i], cells, calls, is_whole, out)
            n_begun += 1
        _unlink(group[i], slots[i], cells)
        if signs[i] > 0:
            for word in range(given.shape[1]):
                cells.words[slots[i], FIRST + word] = given[i, word]
            _link(group[i], slots[i], cells)
        if last[episode] == i:
            _estimate(1, episode, group[i], cells, calls, is_whole, out)


@called
def _unlink(group: int, cell: int, cells: Cells) -> None:
    words = cells.words
    if not words[cell, LINKED]:
        return
    words[cell, LINKED] = 0
    before, at = -1, cells.heads[group] - 1
    while at != cell:
        before, at = at, words[at, NEXT] - 1
    if before < 0:
        cells.heads[group] = words[cell, NEXT]
    else:
        words[before, NEXT] = words[cell, NEXT]


@called
def _link(group: int, cell: int, cells: Cells) -> None:
    words, probs = cells.words, cells.keys.view(np.float64)
    before, at = -1, cells.heads[group] - 1
    while at >= 0 and probs[at, 1] > probs[cell, 1]:
        before, at = at, words[at, NEXT] - 1
    words[cell, LINKED], words[cell, NEXT] = 1, at + 1
    if before < 0:
        cells.heads[group] = cell + 1
    else:
        words[before, NEXT] = cell + 1


# ---------------------------------------------------------------------- values


@called
def _estimate(
    side: int,
    episode: int,
    group: int,
    cells: Cells,
    calls: Ints,
    is_whole: Bools,
    out: Estimated,
) -> None:
    head = cells.heads[group] - 1
    out.exists[side, episode] = head >= 0
    is_exact = head < 0
    if head >= 0 and not cells.words[head, NEXT]:
        is_exact = cells.keys.view(np.float64)[head, 1] == 1
    for k in range(len(calls)):
        call, at = calls[k], (side, episode, k)
        if is_exact:
            _tell_exact(head, call, at, cells, out)
            continue
        sums = _sums(head, call, cells)
        value, low, high, is_known = _with_ends(head, call, sums, cells)
        is_number = is_known and not math.isnan(value)
        if is_whole[k]:
            is_known = is_number and abs(value) < _MOST
            out.values[at] = np.int64(round(value)) if is_known else 0
        elif is_known:
            out.values.view(np.float64)[at] = value + 0.0
        out.is_known[at] = is_known
        out.has_ends[at] = is_known and low <= high
        if out.has_ends[at]:
            out.ends[side, episode, k, 0], out.ends[side, episode, k, 1] = low + 0.0, high + 0.0


@called
def _tell_exact(
    head: int, call: Ints, at: tuple[int, int, int], cells: Cells, out: Estimated
) -> None:
    """Nothing was shed: the value itself, and both ends the same."""
    k, is_count = len(cells.floats), call[FUNCTION] == COUNT
    known, value = is_count, np.int64(0)
    if head >= 0:
        value = cells.words[head, FIRST + call[EXACT]]
        known = cells.words[head, FIRST + k + call[EXACT]] != 0
    out.values[at] = value if known else 0
    number = float(value)
    if head >= 0 and cells.floats[call[EXACT]]:
        number = cells.words.view(np.float64)[head, FIRST + call[EXACT]]
    out.is_known[at] = known
    out.has_ends[at] = known and not math.isnan(number)
    if out.has_ends[at]:
        out.ends[at[0], at[1], at[2], 0] = out.ends[at[0], at[1], at[2], 1] = number


@called
def _number(cell: int, place: int, cells: Cells) -> float:
    if cells.floats[place]:
        return float(cells.words.view(np.float64)[cell, FIRST + place])
    return float(cells.words[cell, FIRST + place])


@called
def _sums(head: int, call: Ints, cells: Cells) -> Sums:
    probs, known_at = cells.keys.view(np.float64), FIRST + len(cells.floats)
    n = total = squares = variance = odds = 0.0
    kept, is_known, cell = 0, True, head
    while cell >= 0:
        prob = probs[cell, 1]
        weight = 1 / prob
        own = cells.words[cell, FIRST + call[N]]
        odds = max(odds, (1 - prob) * weight)
        if own:
            square = _number(cell, call[SQUARES], cells)
            n += weight * own
            total += weight * _number(cell, call[TOTAL], cells)
            squares += weight * square
            variance += (1 - prob) * weight * weight * square
            kept += own
            is_known &= cells.words[cell, known_at + call[TOTAL]] != 0
        cell = cells.words[cell, NEXT] - 1
    return Sums(n, total, squares, variance, kept, odds, is_known)


@called
def _with_ends(head: int, call: Ints, sums: Sums, cells: Cells) -> tuple[float, float, float, bool]:
    """A value, the ends of its interval (not in order: it has none), and whether it is known."""
    if call[FUNCTION] == AVG:
        return _average(head, call, sums, cells)
    root = math.sqrt(sums.n * sums.squares)
    each, lean = 0.0 if sums.kept else sums.odds, 1.0
    if root > 0:
        each, lean = sums.variance / root, sums.total / root
    shift = Z95 * Z95 * each / 2
    half = Z95 * math.sqrt(sums.variance + (Z95 * each / 2) ** 2)
    low, high = sums.total + shift * lean - half, sums.total + shift * lean + half
    if call[FUNCTION] == COUNT:
        return sums.n, max(low, float(sums.kept)), high, True
    return sums.total, low, high, sums.is_known and sums.kept > 0


@called
def _average(head: int, call: Ints, sums: Sums, cells: Cells) -> tuple[float, float, float, bool]:
    if not sums.kept or not sums.is_known:
        return 0.0, 1.0, 0.0, False
    mean, spread, cell = sums.total / sums.n, 0.0, head
    if sums.kept < 2:
        return mean, 1.0, 0.0, True
    probs = cells.keys.view(np.float64)
    while cell >= 0:
        weight = 1 / probs[cell, 1]
        own = cells.words[cell, FIRST + call[N]]
        if own:
            total = _number(cell, call[TOTAL], cells)
            off = _number(cell, call[SQUARES], cells) - 2 * mean * total + mean * mean * own
            spread += (1 - probs[cell, 1]) * weight * weight * max(off, 0.0)
        cell = cells.words[cell, NEXT] - 1
    variance = spread / (sums.n * sums.n) * sums.kept / (sums.kept - 1)
    half = T95[min(sums.kept - 1, len(T95) - 1)] * math.sqrt(variance)
    return mean, mean - half, mean + half, True
