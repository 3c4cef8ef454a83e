"""Matrices for people: regions x queries per construct, and conditional selectivities.

Pure functions of constructs and a sample.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.stats import thinned
from backend.systems.asc.constructs import ConstructSet, Words
from backend.systems.asc.matching import Regions
from storage.vocabulary.records import Matrix

#: Queries and regions of a matrix, at most: more cannot be read, nor recorded at every decision.
MOST_COLUMNS: Final = 100
MOST_ROWS: Final = 300
#: Sampled tuples by which they are chosen, and that shares are taken of when bitmaps are wide.
_SAMPLE: Final = 500
#: Words the bitmaps of a sample take for shares, about.
_MOST_WORDS: Final = 1 << 17


def region_matrices(constructs: ConstructSet, regions: Regions) -> tuple[Matrix, ...]:
    """One ``regions:<attribute>`` matrix per p-attribute, in schema order.

    Rows are regions, NULL first; columns the queries using the attribute; 1 = a value of the
    region does not refute the query (for a query of several slots: not all of them). hit_prob:
    share of the sample in the region, None without a sample. regions: intp[T, n].
    Of more than MOST_COLUMNS queries those with the most matches in the sample are shown, of more
    than MOST_ROWS regions those hit most.
    """
    matches = _sampled_matches(constructs, regions)
    return tuple(
        _region_matrix(constructs, attribute, regions[:, column], matches)
        for column, attribute in enumerate(constructs.constructs)
    )


def _region_matrix(
    constructs: ConstructSet,
    attribute: str,
    hits: NDArray[np.intp],
    matches: Mapping[str, int] | None,
) -> Matrix:
    construct = constructs.constructs[attribute]
    names = _most_matched(constructs.users_of(attribute), matches)
    counts = np.bincount(hits, minlength=construct.n_regions)
    rows = np.arange(construct.n_regions)
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.argsort(-counts, kind="stable")[:MOST_ROWS])
    passed = _alive_by_query(constructs, construct.qrb[rows], names)
    labels = construct.region_labels()
    shares = (counts[rows] / len(hits)).tolist() if len(hits) else [None] * len(rows)
    return Matrix(
        name=f"regions:{attribute}",
        kind="regions",
        rows=tuple(labels[row] for row in rows),
        columns=names,
        values=tuple(tuple(row) for row in passed.astype(int).tolist()),
        unit="bit",
        n=len(hits),
        row_stats={"hit_prob": tuple(shares)},
    )


def selectivity_matrix(constructs: ConstructSet, regions: Regions, order: Sequence[str]) -> Matrix:
    """The matrix ``selectivity``: P(query not refuted by this construct | by no earlier one).

    Rows: attributes in ``order``; columns: all queries, of more than MOST_COLUMNS those with the
    most matches in the sample; None where the query does not use the attribute, or where no
    sampled tuple got that far. row_stats: drop_prob = P(no query is left after this construct |
    one was left before). regions: intp[T, n], schema order.
    """
    regions = thinned(regions, max(_SAMPLE, _MOST_WORDS // constructs.n_words))
    names = _most_matched(constructs.names, _sampled_matches(constructs, regions))
    used = [set(constructs.uses(name)) for name in names]
    position = {attribute: i for i, attribute in enumerate(constructs.constructs)}
    grb = np.repeat(constructs.initial[None, :], len(regions), axis=0)
    before = _alive_by_query(constructs, grb, names)
    values: list[tuple[float | None, ...]] = []
    dropped: list[float | None] = []
    for attribute in order:
        any_before = grb.any(axis=1)
        grb = grb & constructs.constructs[attribute].qrb[regions[:, position[attribute]]]
        after = _alive_by_query(constructs, grb, names)
        shares = _ratios(after.sum(axis=0), before.sum(axis=0))
        values.append(
            tuple(s if attribute in u else None for u, s in zip(used, shares, strict=True))
        )
        n_before = int(any_before.sum())
        dropped.append(1 - int(grb.any(axis=1).sum()) / n_before if n_before else None)
        before = after
    return Matrix(
        name="selectivity",
        kind="selectivity",
        rows=tuple(order),
        columns=names,
        values=tuple(values),
        unit="prob",
        n=len(regions),
        row_stats={"drop_prob": tuple(dropped)},
    )


def _sampled_matches(constructs: ConstructSet, regions: Regions) -> dict[str, int] | None:
    """Query -> sampled tuples that satisfy it (for one of several slots, summed over them); None
    when there is nothing to choose."""
    if len(constructs.names_slots) <= MOST_COLUMNS:
        return None
    sample = thinned(regions, _SAMPLE)
    grb = np.repeat(constructs.initial[None, :], len(sample), axis=0)
    for column, construct in enumerate(constructs.constructs.values()):
        grb &= construct.qrb[sample[:, column]]
    bits = np.unpackbits(grb.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    counts = bits.sum(axis=0, dtype=np.intp).tolist()
    return {name: sum(counts[s] for s in slots) for name, slots in constructs.names_slots.items()}


def _most_matched(names: tuple[str, ...], matches: Mapping[str, int] | None) -> tuple[str, ...]:
    """At most MOST_COLUMNS of the names, as they were ordered."""
    if matches is None or len(names) <= MOST_COLUMNS:
        return names
    chosen = set(heapq.nlargest(MOST_COLUMNS, names, key=matches.__getitem__))
    return tuple(name for name in names if name in chosen)


def _alive_by_query(
    constructs: ConstructSet, words: Words, names: Sequence[str]
) -> NDArray[np.bool_]:
    """bool[rows, queries]: whether any slot of the query has its bit set in uint64[rows, W]."""
    alive_by_query = np.zeros((len(words), len(names)), dtype=np.bool_)
    for place, name in enumerate(names):
        for slot in constructs.slots_of(name):
            alive_by_query[:, place] |= (
                words[:, slot // 64] >> np.uint64(slot % 64) & np.uint64(1)
            ) != 0
    return alive_by_query


def _ratios(part: NDArray[np.intp], whole: NDArray[np.intp]) -> list[float | None]:
    pairs = zip(part.tolist(), whole.tolist(), strict=True)
    return [p / w if w else None for p, w in pairs]
