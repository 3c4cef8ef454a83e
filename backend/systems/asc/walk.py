"""How tuples move from construct to construct under micro- and macro-arrows. [L12] §4.3, §5.1

A micro-arrow belongs to a region of one construct and names the construct to visit next. A tuple
follows it when that construct is still of use to it, and the macro order otherwise (erratum 13).
Of use is, under the 'drop' rule, every construct not yet visited (GEB); under 'resolved' one that
can, besides, clear a live bit: a micro-arrow to a useless construct is passed over, and so are
useless constructs of the macro order. The result is that of any fixed order (F1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.model.events import MicroArrow
from backend.systems.asc.constructs import ConstructSet, Words
from backend.systems.asc.matching import Regions, StopRule

#: Where a tuple stands that visits nothing any more; a region without a micro-arrow.
NOWHERE: Final = -1
#: Per attribute intp[n_regions]: schema position of the micro-arrow's target, or NOWHERE.
Jumps = Mapping[str, NDArray[np.intp]]


@dataclass(frozen=True, slots=True)
class Routed:
    """What T tuples did that need not all take the same way through n constructs.

    grb: uint64[T, W], final. visited: bool[T, n], columns in the plan's order. dropped: intp[n],
    in the plan's order, tuples whose GRB became 0 there.
    """

    grb: Words
    visited: NDArray[np.bool_]
    dropped: NDArray[np.intp]

    @property
    def visits(self) -> NDArray[np.intp]:
        """intp[T]: constructs visited by each tuple."""
        visits: NDArray[np.intp] = self.visited.sum(axis=1, dtype=np.intp)
        return visits

    @property
    def reached(self) -> NDArray[np.intp]:
        """intp[n], in the plan's order: tuples that visited the construct."""
        reached: NDArray[np.intp] = self.visited.sum(axis=0, dtype=np.intp)
        return reached

    @property
    def n_unmatched(self) -> int:
        """Tuples that satisfy no query."""
        return int(len(self.grb) - self.grb.any(axis=1).sum())


@dataclass(frozen=True, slots=True)
class Walked(Routed):
    """What T tuples did under a macro order with micro-arrows.

    alive: intp[n], tuples with GRB != 0 when every tuple has made 1, 2, ... visits (or is done).
    followed: intp[A], tuples that took each micro-arrow, in the order given. n_macro: transitions
    along the macro order.
    """

    alive: NDArray[np.intp]
    followed: NDArray[np.intp]
    n_macro: int

    @property
    def n_micro(self) -> int:
        """Transitions along micro-arrows, those that coincide with the macro-arrow included."""
        return int(self.followed.sum())

    @property
    def micro_ratio(self) -> float | None:
        """ξ: micro-arrows among all arrows followed; None when no tuple made two visits."""
        total = self.n_micro + self.n_macro
        return self.n_micro / total if total else None


def jump_tables(constructs: ConstructSet, arrows: Iterable[MicroArrow]) -> Jumps:
    """The micro-arrows as look-up tables. Raises ValueError for an arrow that fits no construct
    or a second one on a region."""
    columns = {attribute: i for i, attribute in enumerate(constructs.attributes)}
    tables = {
        a: np.full(c.n_regions, NOWHERE, dtype=np.intp) for a, c in constructs.constructs.items()
    }
    for arrow in arrows:
        known = arrow.attribute in tables and arrow.target in tables
        if not known or not 0 <= arrow.region < len(tables[arrow.attribute]):
            raise ValueError(f"{arrow} fits none of the constructs {', '.join(columns)}")
        if tables[arrow.attribute][arrow.region] != NOWHERE or arrow.target == arrow.attribute:
            raise ValueError(f"{arrow}: one micro-arrow a region, to another construct")
        tables[arrow.attribute][arrow.region] = columns[arrow.target]
    return tables


class Walk:
    """T tuples under way, regions intp[T, n] in schema order.

    at: intp[T], schema position of the construct a tuple stands at and visits next, NOWHERE when
    it is done. grb: uint64[T, W]. geb: bool[T, n], schema order, constructs visited.
    """

    def __init__(
        self,
        constructs: ConstructSet,
        regions: Regions,
        order: Sequence[str],
        stop_rule: StopRule,
    ) -> None:
        self.constructs, self.regions, self.stop_rule = constructs, regions, stop_rule
        self.attributes = constructs.attributes
        columns = {attribute: i for i, attribute in enumerate(self.attributes)}
        self.order = [columns[attribute] for attribute in order]
        self.grb: Words = np.repeat(constructs.initial[None, :], len(regions), axis=0)
        self.geb = np.zeros((len(regions), len(columns)), dtype=np.bool_)
        self.at = self.successors(np.arange(len(regions)))

    def standing(self) -> Iterable[tuple[int, NDArray[np.intp]]]:
        """(schema position, rows of the tuples that stand at it), for each occupied construct."""
        for column in range(len(self.attributes)):
            rows = np.flatnonzero(self.at == column)
            if len(rows):
                yield column, rows

    def visit(self) -> None:
        """Every tuple visits the construct it stands at."""
        for column, rows in self.standing():
            construct = self.constructs.constructs[self.attributes[column]]
            self.grb[rows] &= construct.qrb[self.regions[rows, column]]
            self.geb[rows, column] = True

    def is_useful(self, rows: NDArray[np.intp], column: int) -> NDArray[np.bool_]:
        """bool[len(rows)]: whether the construct is of use to each tuple."""
        left = self.grb[rows]
        if self.stop_rule == "resolved":
            left = left & self.constructs.constructs[self.attributes[column]].qub
        useful: NDArray[np.bool_] = np.any(left, axis=1) & ~self.geb[rows, column]
        return useful

    def successors(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """intp[len(rows)]: the first useful construct of the macro order, or NOWHERE."""
        successors = np.full(len(rows), NOWHERE, dtype=np.intp)
        for column in self.order:
            open_ = np.flatnonzero(successors == NOWHERE)
            if not len(open_):
                break
            successors[open_[self.is_useful(rows[open_], column)]] = column
        return successors

    def advance(self, jumps: Jumps) -> NDArray[np.bool_]:
        """After a visit every tuple moves on; bool[T]: which of them along a micro-arrow."""
        targets = np.full(len(self.at), NOWHERE, dtype=np.intp)
        for column, rows in self.standing():
            targets[rows] = jumps[self.attributes[column]][self.regions[rows, column]]
        under_way = self.at != NOWHERE
        for column in set(targets.tolist()) - {NOWHERE}:
            rows = np.flatnonzero(targets == column)
            targets[rows[~self.is_useful(rows, column)]] = NOWHERE
        is_micro: NDArray[np.bool_] = targets != NOWHERE
        others = np.flatnonzero(under_way & ~is_micro)
        targets[others] = self.successors(others)
        self.at = targets
        return is_micro


def walk_plan(
    constructs: ConstructSet,
    regions: Regions,
    order: Sequence[str],
    arrows: Sequence[MicroArrow],
    stop_rule: StopRule,
) -> Walked:
    """Match T tuples, regions intp[T, n], under a complete macro order with micro-arrows."""
    jumps = jump_tables(constructs, arrows)
    walk = Walk(constructs, regions, order, stop_rule)
    position = {(a.attribute, a.region): i for i, a in enumerate(arrows)}
    followed = np.zeros(len(arrows), dtype=np.intp)
    dropped = np.zeros(len(order), dtype=np.intp)
    alive = np.zeros(len(order), dtype=np.intp)
    n_macro = 0
    for level in range(len(order)):
        before = walk.at
        walk.visit()
        is_alive = walk.grb.any(axis=1)
        alive[level] = np.count_nonzero(is_alive)
        died = before[(before != NOWHERE) & ~is_alive]
        dropped += np.bincount(died, minlength=len(order))[walk.order]
        is_micro = walk.advance(jumps)
        n_macro += int(np.count_nonzero((walk.at != NOWHERE) & ~is_micro))
        rows = np.flatnonzero(is_micro)
        _count(followed, position, walk, before[rows], rows)
    return Walked(walk.grb, walk.geb[:, walk.order], dropped, alive, followed, n_macro)


def _count(
    followed: NDArray[np.intp],
    position: Mapping[tuple[str, int], int],
    walk: Walk,
    columns: NDArray[np.intp],
    rows: NDArray[np.intp],
) -> None:
    """Add the tuples ``rows``, which left the constructs ``columns`` along micro-arrows."""
    for column in set(columns.tolist()):
        hit = walk.regions[rows[columns == column], column]
        for region, n in zip(*np.unique(hit, return_counts=True), strict=True):
            followed[position[walk.attributes[column], int(region)]] += n
