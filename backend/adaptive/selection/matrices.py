"""Matrices for people: regions x queries per construct, and conditional selectivities.

Pure functions of constructs and a sample; the data has the fields of the store's Matrix record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.selection.construct import bitmap
from backend.adaptive.selection.constructs import ConstructSet, Words
from backend.adaptive.selection.matching import Regions


@dataclass(frozen=True, slots=True)
class MatrixData:
    """A named matrix: values row by row (None = unknown), labels, named vectors along the rows."""

    name: str
    kind: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    unit: str = ""
    n: int = 0
    row_stats: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    column_stats: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)


def region_matrices(constructs: ConstructSet, regions: Regions) -> tuple[MatrixData, ...]:
    """One ``regions:<attribute>`` matrix per p-attribute, in schema order.

    Rows are regions, NULL first; columns the queries using the attribute; 1 = a value of the
    region does not refute the query (for a query of several slots: not all of them). hit_prob:
    share of the sample in the region, None without a sample. regions: intp[T, n].
    """
    return tuple(
        _region_matrix(constructs, attribute, regions[:, column])
        for column, attribute in enumerate(constructs.constructs)
    )


def _region_matrix(constructs: ConstructSet, attribute: str, hits: NDArray[np.intp]) -> MatrixData:
    construct = constructs.constructs[attribute]
    names = constructs.users_of(attribute)
    passed = _alive_by_query(constructs, construct.qrb[:], names)
    counts = np.bincount(hits, minlength=construct.n_regions)
    shares = tuple((counts / len(hits)).tolist()) if len(hits) else (None,) * len(counts)
    return MatrixData(
        name=f"regions:{attribute}",
        kind="regions",
        rows=construct.region_labels(),
        columns=names,
        values=tuple(tuple(row) for row in passed.astype(int).tolist()),
        unit="bit",
        n=len(hits),
        row_stats={"hit_prob": shares},
    )


def selectivity_matrix(
    constructs: ConstructSet, regions: Regions, order: Sequence[str]
) -> MatrixData:
    """The matrix ``selectivity``: P(query not refuted by this construct | by no earlier one).

    Rows: attributes in ``order``; columns: all queries; None where the query does not use the
    attribute, or where no sampled tuple got that far. row_stats: drop_prob = P(no query is left
    after this construct | one was left before). regions: intp[T, n], schema order.
    """
    names = constructs.names
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
        users = set(constructs.users_of(attribute))
        values.append(tuple(s if n in users else None for n, s in zip(names, shares, strict=True)))
        n_before = int(any_before.sum())
        dropped.append(1 - int(grb.any(axis=1).sum()) / n_before if n_before else None)
        before = after
    return MatrixData(
        name="selectivity",
        kind="selectivity",
        rows=tuple(order),
        columns=names,
        values=tuple(values),
        unit="prob",
        n=len(regions),
        row_stats={"drop_prob": tuple(dropped)},
    )


def _alive_by_query(
    constructs: ConstructSet, words: Words, names: Sequence[str]
) -> NDArray[np.bool_]:
    """bool[rows, queries]: whether any slot of the query has its bit set in uint64[rows, W]."""
    masks = [bitmap(constructs.slots_of(name), constructs.n_words) for name in names]
    columns = [np.any(words & mask, axis=1) for mask in masks]
    return np.column_stack(columns) if columns else np.zeros((len(words), 0), dtype=np.bool_)


def _ratios(part: NDArray[np.intp], whole: NDArray[np.intp]) -> list[float | None]:
    pairs = zip(part.tolist(), whole.tolist(), strict=True)
    return [p / w if w else None for p, w in pairs]
