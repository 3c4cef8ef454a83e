"""What another k would do, from the distances on record: what would be lost, what would wait."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from dashboard.systems.kmon.ledger_view import ConstraintLine
from dashboard.views.numbers import share_interval
from storage.vocabulary.records import Knob

#: The share of results that may be lost: k is estimated for it.
BUDGET_KNOB: Final = "loss_budget"
#: Between constraint and k in the address.
AT: Final = "@"
ENDLESS: Final = "∞"


class TriedK(NamedTuple):
    """A k that could be used, None = ∞. above: distances on record that are larger, at most; share:
    of all, with its 95 % interval; waits: what would wait, in times of what waits at ``base``, None
    where that is not bounded by k."""

    k: float | None
    above: int
    share: float | None
    low: float
    high: float
    waits: float | None


class WhatIfView(NamedTuple):
    """A constraint and what other k would do. names: all that have distances on record. n: of its
    distances, in batches first to last. bins: (above, up to, how many); the first one begins below
    0. base: k in use, else the estimate, None = neither. tried: of the address, '' = none."""

    line: ConstraintLine
    names: tuple[str, ...]
    n: int
    first: int
    last: int
    bins: tuple[tuple[float, float, int], ...]
    rows: tuple[TriedK, ...]
    base: float | None
    tried: str
    budget: Knob | None


def build_whatif(
    lines: Sequence[ConstraintLine],
    counts: Mapping[str, Mapping[float, int]],
    batches: tuple[int, int],
    asked: str,
    budget: Knob | None,
) -> WhatIfView | None:
    """None without distances. lines: of the ledger; counts: constraint -> bins in order; asked: of
    the address, ``name`` or ``name@k``."""
    having = [line for line in lines if sum(counts.get(line.id, {}).values())]
    if not having:
        return None
    name, _, tried = asked.rpartition(AT) if AT in asked else (asked, "", "")
    line = next((line for line in having if line.name == name), having[0])
    own = counts[line.id]
    base = line.estimate if line.used is None else line.used
    tried = tried if line.name == name else ""
    names = tuple(sorted(line.name for line in having))
    return WhatIfView(
        line,
        names,
        sum(own.values()),
        *batches,
        _bins(own),
        tried_ks(own, (line.used, line.safe, line.estimate), base),
        base,
        tried,
        budget,
    )


def _bins(counts: Mapping[float, int]) -> tuple[tuple[float, float, int], ...]:
    """Those with distances in them."""
    ends = list(counts)
    return tuple(
        (below, end, counts[end])
        for below, end in zip([-1.0, *ends], ends, strict=False)
        if counts[end]
    )


def tried_ks(
    counts: Mapping[float, int], others: Sequence[float | None], base: float | None
) -> tuple[TriedK, ...]:
    """What each k that makes a difference would do, the smallest first, ∞ last. others: further k
    to tell of. Distances of a bin that k lies in count as above it."""
    whole = sum(counts.values())
    up_to = dict(zip(counts, accumulate(counts.values()), strict=True))
    ends = {end for end, n in counts.items() if n and math.isfinite(end)}
    ks = sorted({0.0, *ends, *(float(k) for k in others if k is not None)})
    rows = []
    for k in ks:
        above = whole - max((n for end, n in up_to.items() if end <= k), default=0)
        waits = None if base is None else (k + 1) / (base + 1)
        share = above / whole if whole else None
        rows.append(TriedK(k, above, share, *share_interval(above, whole), waits))
    return (*rows, TriedK(None, 0, 0.0, 0.0, 0.0, None))
