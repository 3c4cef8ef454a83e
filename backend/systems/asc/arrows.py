"""The micro-arrows of a plan as a matrix for people; plans and arrows when the queries change."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Final

import numpy as np

from backend.model.events import MicroArrow, SelectionPlan
from backend.systems.asc.construct import Construct
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.cost import PlanShape
from backend.systems.asc.cover import static_order
from backend.systems.asc.matching import Regions, StopRule
from backend.systems.asc.walk import walk_plan
from storage.vocabulary.records import Matrix

#: Of more regions only those with a micro-arrow or a sampled tuple are shown.
_MOST_ROWS: Final = 1000


def arrow_matrix(
    constructs: ConstructSet, regions: Regions, shape: PlanShape, stop_rule: StopRule
) -> Matrix:
    """The matrix ``arrows`` of a hybrid plan, regions intp[T, n] being the sample.

    Rows: the regions of all constructs in macro order, ``<attribute>: <region>``. Columns: the
    attributes in macro order; the cell of a micro-arrow's target holds its gain, others None.
    row_stats: place (of the construct in the macro order), row (of qrb), support (sampled tuples
    it was decided on) and gain, None without an arrow; hit_prob, share of the sample that visits
    the region under the plan, and followed_prob, share that takes the arrow; None without a sample.
    """
    walked = walk_plan(constructs, regions, shape.order, shape.arrows, stop_rule)
    arrows = {(a.attribute, a.region): a for a in shape.arrows}
    followed = dict(zip(arrows, walked.followed.tolist(), strict=True))
    rows, cells, stats = [], [], []
    for place, attribute in enumerate(shape.order):
        construct = constructs.constructs[attribute]
        hits = regions[walked.visited[:, place], constructs.attributes.index(attribute)]
        counts = np.bincount(hits, minlength=construct.n_regions).tolist()
        labels = construct.region_labels()
        for region, n in enumerate(counts):
            arrow = arrows.get((attribute, region))
            rows.append(f"{attribute}: {labels[region]}")
            cells.append(_cells(shape, arrow))
            taken = followed.get((attribute, region), 0)
            stats.append((place, region, arrow, *_shares(n, taken, len(regions))))
    kept = [i for i, s in enumerate(stats) if len(rows) <= _MOST_ROWS or s[2] or s[3]]
    return Matrix(
        name="arrows",
        kind="arrows",
        rows=tuple(rows[i] for i in kept),
        columns=shape.order,
        values=tuple(cells[i] for i in kept),
        unit="",
        n=len(regions),
        row_stats={
            "place": tuple(stats[i][0] for i in kept),
            "row": tuple(stats[i][1] for i in kept),
            "support": tuple(a.support if (a := stats[i][2]) else None for i in kept),
            "gain": tuple(a.gain if (a := stats[i][2]) else None for i in kept),
            "hit_prob": tuple(stats[i][3] for i in kept),
            "followed_prob": tuple(stats[i][4] for i in kept),
        },
    )


def arrow_matrices(
    constructs: ConstructSet, regions: Regions, plan: SelectionPlan, stop_rule: StopRule
) -> tuple[Matrix, ...]:
    """The matrix ``arrows`` of a hybrid plan; nothing of another."""
    if plan.kind != "hybrid":
        return ()
    return (arrow_matrix(constructs, regions, PlanShape.of(plan), stop_rule),)


def _cells(shape: PlanShape, arrow: MicroArrow | None) -> tuple[float | None, ...]:
    return tuple(arrow.gain if arrow and a == arrow.target else None for a in shape.order)


def _shares(n: int, taken: int, n_sample: int) -> tuple[float | None, float | None]:
    return (n / n_sample, taken / n_sample) if n_sample else (None, None)


def carried_plan(
    shape: PlanShape, old: ConstructSet, new: ConstructSet
) -> tuple[PlanShape, tuple[str, ...]]:
    """A plan over other constructs: what is gone leaves, what is new is appended (and named)."""
    order, appended = _carried_order(shape, new)
    return PlanShape(shape.kind, order, carried_arrows(shape.arrows, old, new)), appended


def fitted_plan(shape: PlanShape, constructs: ConstructSet) -> PlanShape:
    """The same when nothing is known of the constructs of before: arrows stay if all attributes
    do, and have the regions."""
    order, _ = _carried_order(shape, constructs)
    known = constructs.constructs
    fits = order == shape.order and all(
        a.region < known[a.attribute].n_regions and a.target in known for a in shape.arrows
    )
    return PlanShape(shape.kind, order, shape.arrows if fits else ())


def _carried_order(
    shape: PlanShape, constructs: ConstructSet
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    kept = tuple(a for a in shape.order if a in constructs.constructs)
    appended = tuple(a for a in constructs.attributes if a not in kept)
    return (kept + appended if kept else static_order(constructs)), appended


def carried_arrows(
    arrows: Iterable[MicroArrow], old: ConstructSet, new: ConstructSet
) -> tuple[MicroArrow, ...]:
    """The micro-arrows after queries changed. (edge cases of docs/papers.md)

    The parts of a split region inherit its arrow; a region merged from several loses theirs, and
    arrows from and to constructs that are gone are dropped.
    """
    known = {(a.attribute, a.region): a for a in arrows if a.target in new.constructs}
    if not known:
        return ()
    pairs = [
        (attribute, region, known.get((attribute, origin)))
        for attribute, construct in new.constructs.items()
        if attribute in old.constructs
        for region, origin in enumerate(_origins(old.constructs[attribute], construct))
    ]
    return tuple(
        MicroArrow(attribute, region, arrow.target, arrow.support, arrow.gain)
        for attribute, region, arrow in pairs
        if arrow is not None
    )


def _origins(old: Construct, new: Construct) -> list[int]:
    """For each region of ``new`` the region of ``old`` it lies in, -1 when it is in several."""
    at = [old.region_of(constant) for constant in new.constants]
    lower = [1, *(region if region % 2 else region + 1 for region in at)]
    upper = [*(region if region % 2 else region - 1 for region in at), 2 * len(old.constants) + 1]
    between = [a if a == b else -1 for a, b in zip(lower, upper, strict=True)]
    return [0, between[0], *chain.from_iterable(zip(at, between[1:], strict=True))]
