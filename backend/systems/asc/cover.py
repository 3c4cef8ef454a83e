"""Covers: sets of constructs whose usage bitmaps together name every slot. [L12] Def. 2

Defined on U = OR of all qub over live slots, so predicate-free and contradictory queries do not
stand in the way. A tuple can only be dropped after a cover has been visited (F3).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

import numpy as np

from backend.model.bits import n_bits
from backend.systems.asc.constructs import ConstructSet, Words

#: Up to this many p-attributes the minimum cover is exact (erratum 4); above it greedy.
EXACT_UP_TO: Final = 20


def is_cover(constructs: ConstructSet, attributes: Iterable[str]) -> bool:
    """Whether the constructs of ``attributes`` together use every slot of U."""
    usage = _usage(constructs)
    missing = _as_int(constructs.covered)
    for attribute in attributes:
        missing &= ~usage[attribute]
    return missing == 0


def cover_prefix(constructs: ConstructSet, order: Sequence[str]) -> tuple[str, ...]:
    """The shortest prefix of a complete order that is a cover: 'MCS' of [L12], erratum 4.

    Raises ValueError when the order holds no cover.
    """
    for length in range(len(order) + 1):
        if is_cover(constructs, order[:length]):
            return tuple(order[:length])
    raise ValueError(f"order {', '.join(order)} is no cover: it lacks p-attributes")


def minimum_covers(constructs: ConstructSet) -> Iterator[tuple[str, ...]]:
    """All covers of the smallest size, each in schema order, lexicographically by schema order.

    Tries sets by growing size; attributes that alone use some slot are in every cover.

    Example 3 of [L12], whose text lists two of these four:

    >>> from backend.model.conditions import And, Comparison, ContinuousQuery
    >>> from backend.model.schema import Schema
    >>> from backend.systems.asc.constructs import build_constructs
    >>> both = {"q1": "A1 A3", "q2": "A2 A4", "q3": "A1 A3", "q4": "A2 A4"}
    >>> queries = [
    ...     ContinuousQuery(q, "S", "", And(tuple(Comparison(a, "<", 50) for a in names.split())))
    ...     for q, names in both.items()
    ... ]
    >>> constructs = build_constructs(queries, Schema.parse("A1 int, A2 int, A3 int, A4 int"))
    >>> list(minimum_covers(constructs))
    [('A1', 'A2'), ('A1', 'A4'), ('A2', 'A3'), ('A3', 'A4')]
    """
    usage = _usage(constructs)
    wanted = _as_int(constructs.covered)
    forced = [a for a in usage if wanted & usage[a] & ~_union(usage, skip=a)]
    free = [a for a in usage if a not in forced]
    held = 0
    for attribute in forced:
        held |= usage[attribute]
    for extra in range(len(free) + 1):
        has_cover = False
        for chosen in combinations(free, extra):
            union = held
            for attribute in chosen:
                union |= usage[attribute]
            if wanted & ~union == 0:
                has_cover = True
                yield tuple(a for a in usage if a in forced or a in chosen)
        if has_cover:
            return


def minimum_cover(constructs: ConstructSet, weight: Mapping[str, float]) -> tuple[str, ...]:
    """The minimum cover of the smallest total weight, in schema order; ties lexicographic.

    Exact up to EXACT_UP_TO p-attributes; above, greedy (most uncovered slots, then weight, then
    schema order), which is within ln k of the minimum.
    """
    if len(constructs.attributes) <= EXACT_UP_TO:
        covers = minimum_covers(constructs)
        return min(covers, key=lambda cover: sum(weight[a] for a in cover))
    usage = _usage(constructs)
    missing = _as_int(constructs.covered)
    chosen: set[str] = set()
    while missing:
        best = min(usage, key=lambda a: (-(missing & usage[a]).bit_count(), weight[a]))
        chosen.add(best)
        missing &= ~usage[best]
    return tuple(a for a in usage if a in chosen)


def static_selectivity(constructs: ConstructSet) -> dict[str, float]:
    """P(a slot using the attribute is not refuted by it), as if all non-NULL regions were hit
    equally often: an estimate from the queries alone, for the first order. In [0, 1].
    """
    estimate: dict[str, float] = {}
    for attribute, construct in constructs.constructs.items():
        used = construct.qub & constructs.initial
        passed = np.bitwise_count(construct.qrb[1:] & used).sum()
        estimate[attribute] = float(passed / ((construct.n_regions - 1) * n_bits(used)))
    return estimate


def static_order(constructs: ConstructSet) -> tuple[str, ...]:
    """An order from the queries alone: a minimum cover, most selective estimate first, then the
    other p-attributes in schema order.
    """
    estimate = static_selectivity(constructs)
    cover = sorted(minimum_cover(constructs, estimate), key=lambda a: estimate[a])
    return (*cover, *(a for a in constructs.attributes if a not in cover))


def _as_int(words: Words) -> int:
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


def _usage(constructs: ConstructSet) -> dict[str, int]:
    """Attribute -> qub as one integer, in schema order."""
    return {a: _as_int(c.qub) for a, c in constructs.constructs.items()}


def _union(usage: Mapping[str, int], skip: str) -> int:
    union = 0
    for attribute, bits in usage.items():
        if attribute != skip:
            union |= bits
    return union
