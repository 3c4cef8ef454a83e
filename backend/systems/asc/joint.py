"""The orders of 2007: MACS, SAS and MACSSAS, by joint selectivity. [L07] §4, erratum 30

s(ρ) is the share of (query, tuple) pairs the whole prefix ρ lets pass, over all queries; the
[L12] measure counts only the queries ρ does not cover. SAS appends the construct of least s(ρ→A).
MACS visits a minimum cover first and says nothing of the order inside; MACSSAS orders both parts
by SAS. Ties: schema order. Theorem 4: the last choice of each part needs no measurement, so
MACSSAS takes |A_p|-2 periods, or |A_p|-1 when the minimum cover is everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

import numpy as np

from backend.model.bits import n_bits
from backend.systems.asc.constructs import ConstructSet, Words
from backend.systems.asc.cover import (
    EXACT_UP_TO,
    minimum_cover,
    minimum_covers,
)
from backend.systems.asc.macro import Candidate, MacroSequence, MacroStep
from backend.systems.asc.matching import Regions

_MOST_COVERS: Final = 256


def joint_selectivity(
    constructs: ConstructSet, regions: Regions, attributes: Sequence[str]
) -> float:
    """s(ρ): passed (slot, tuple) pairs of live slots after a set of constructs, as a share of all;
    1 for an empty sample or no live slot."""
    grb = _after(constructs, regions, attributes)
    pairs = n_bits(constructs.initial) * len(regions)
    return n_bits(grb) / pairs if pairs else 1.0


def sas(constructs: ConstructSet, regions: Regions) -> MacroSequence:
    """SAS on ONE sample, regions intp[T, n], for all steps."""
    return sas_by_period(constructs, [regions] * len(constructs.attributes))


def sas_by_period(constructs: ConstructSet, periods: Sequence[Regions]) -> MacroSequence:
    """SAS when step i is measured on its own period. Raises ValueError below n-1 periods."""
    return _Greedy(constructs, periods).append(constructs.attributes).result()


def macs(constructs: ConstructSet, regions: Regions) -> MacroSequence:
    """MACS: a minimum cover (of least joint selectivity on the sample), then the rest; both in
    schema order."""
    cover = chosen_cover(constructs, regions)
    rest = [a for a in constructs.attributes if a not in cover]
    return MacroSequence((*cover, *rest), ())


def macssas(constructs: ConstructSet, regions: Regions) -> MacroSequence:
    """MACSSAS on ONE sample for the choice of the cover and all steps."""
    return macssas_by_period(constructs, [regions] * len(constructs.attributes))


def macssas_by_period(constructs: ConstructSet, periods: Sequence[Regions]) -> MacroSequence:
    """MACSSAS when each measured step has its own period (the cover is chosen on the first,
    without any the first minimum cover).

    Raises ValueError when there are fewer periods than steps to measure (Theorem 4).
    """
    build = _Greedy(constructs, periods)
    nothing = np.zeros((0, len(constructs.attributes)), dtype=np.intp)
    cover = chosen_cover(constructs, periods[0] if periods else nothing)
    rest = [a for a in constructs.attributes if a not in cover]
    return build.append(cover).append(rest).result()


def chosen_cover(constructs: ConstructSet, regions: Regions) -> tuple[str, ...]:
    """The minimum cover of least joint selectivity on the sample, then lexicographic; schema order.

    Of more than _MOST_COVERS the first ones; above EXACT_UP_TO constructs the greedy cover.
    """
    if len(constructs.attributes) > EXACT_UP_TO:
        alone = {a: joint_selectivity(constructs, regions, [a]) for a in constructs.attributes}
        return minimum_cover(constructs, alone)
    covers = islice(minimum_covers(constructs), _MOST_COVERS)
    return min(covers, key=lambda cover: joint_selectivity(constructs, regions, cover))


class _Greedy:
    """A growing prefix; parts are appended one after the other."""

    def __init__(self, constructs: ConstructSet, periods: Sequence[Regions]) -> None:
        self._constructs, self._periods = constructs, periods
        self._order: list[str] = []
        self._steps: list[MacroStep] = []
        self._measured = 0

    def append(self, part: Sequence[str]) -> _Greedy:
        """Order the constructs of ``part`` by SAS behind what is there."""
        left = list(part)
        while len(left) > 1:
            if self._measured == len(self._periods):
                raise ValueError(f"{len(self._periods)} periods given; one a measured step needed")
            regions = self._periods[self._measured]
            self._measured += 1
            before = _after(self._constructs, regions, self._order)
            scores = {a: self._score(before, regions, a) for a in left}
            best = min(left, key=lambda a: scores[a])
            candidates = tuple(Candidate(a, s, s, 0) for a, s in scores.items())
            self._steps.append(MacroStep("joint selectivity", best, candidates, len(regions)))
            self._order.append(best)
            left.remove(best)
        if left:
            self._steps.append(MacroStep("last", left[0], (Candidate(left[0], None, 1.0, 0),), 0))
            self._order += left
        return self

    def result(self) -> MacroSequence:
        """The order and its steps."""
        return MacroSequence(tuple(self._order), tuple(self._steps))

    def _score(self, before: Words, regions: Regions, attribute: str) -> float:
        pairs = n_bits(self._constructs.initial) * len(regions)
        column = self._constructs.attributes.index(attribute)
        after = before & self._constructs.constructs[attribute].qrb[regions[:, column]]
        return n_bits(after) / pairs if pairs else 1.0


def _after(constructs: ConstructSet, regions: Regions, attributes: Sequence[str]) -> Words:
    """uint64[T, W]: GRB after a set of constructs."""
    grb: Words = np.repeat(constructs.initial[None, :], len(regions), axis=0)
    for attribute in attributes:
        column = constructs.attributes.index(attribute)
        grb &= constructs.constructs[attribute].qrb[regions[:, column]]
    return grb
