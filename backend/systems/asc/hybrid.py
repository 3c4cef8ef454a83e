"""The hybrid-sequence: micro-arrows on top of a macro-sequence. [L12] §4.3, §5.1

Built level by level. At level l every monitored tuple that is not done stands at its l-th
construct, in some region of it; a region enough tuples stand in, and that has no decision yet,
gets one: a micro-arrow to the best of the constructs its bitmap names (cab), or none. The metric
is the conditional selectivity while the visited set is no cover, the tuple dropping ratio after.

Decisions where the text is open (docs/papers.md): one arrow a region, the first decision stands
(erratum 13); a region visited along different paths is in phase 1 while any visitor's set is no
cover; equal to the macro-arrow is established (erratum 11); with compare = local all candidates
and the macro-arrow are compared on the same tuples, those that have no use for a candidate taking
their macro successor (erratum 12); compare = global reads the text literally. Errata 8, 9 and 16.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.model.bits import n_bits
from backend.model.events import MicroArrow
from backend.systems.asc.constructs import ConstructSet, Words
from backend.systems.asc.matching import Regions, StopRule
from backend.systems.asc.walk import NOWHERE, Walk, jump_tables

#: 'local': against the macro-arrow on the same tuples. 'global': against what the macro step of
#: that level achieves over all monitored tuples, the literal reading of the text.
Compare: TypeAlias = Literal["local", "global"]
Metric: TypeAlias = Literal["selectivity", "dropping ratio"]


@dataclass(frozen=True, slots=True)
class Rules:
    """How micro-arrows are decided. min_support: sampled tuples a decision takes, at least 1."""

    stop_rule: StopRule
    compare: Compare = "local"
    min_support: int = 10


@dataclass(frozen=True, slots=True)
class ArrowDecision:
    """What was decided for one region.

    level: visits made when it was decided, from 1. support: tuples it was decided on. score:
    metric of the best candidate, macro_score: of the macro-arrow, both in [0, 1]; None without
    candidates. target: where the micro-arrow leads; None when none was established.
    """

    attribute: str
    region: int
    level: int
    metric: Metric
    support: int
    score: float | None
    macro_score: float
    target: str | None

    @property
    def gain(self) -> float:
        """By how much the best candidate's metric beats the macro-arrow's."""
        if self.score is None:
            return 0.0
        gain = self.macro_score - self.score
        return gain if self.metric == "selectivity" else -gain


@dataclass(frozen=True, slots=True)
class HybridSequence:
    """Micro-arrows beside a macro order, and every decision, in the order taken.

    n_thin: regions visited that were left undecided, with fewer tuples than min_support.
    """

    order: tuple[str, ...]
    decisions: tuple[ArrowDecision, ...]
    n_thin: int

    @property
    def arrows(self) -> tuple[MicroArrow, ...]:
        """The micro-arrows established, in the order decided."""
        return tuple(
            MicroArrow(d.attribute, d.region, d.target, d.support, max(0.0, d.gain))
            for d in self.decisions
            if d.target is not None
        )


def hybrid_sequence_by_period(
    constructs: ConstructSet, periods: Sequence[Regions], order: Sequence[str], rules: Rules
) -> HybridSequence:
    """The hybrid-sequence when level l is decided on its own period, as in the paper.

    periods: at least n-1 samples intp[T_l, n]; order: a complete macro order. Tuples of a period
    walk under the arrows established so far. Raises ValueError when there are fewer periods.
    """
    needed = len(constructs.attributes) - 1
    if len(periods) < needed:
        raise ValueError(f"{len(periods)} periods given; {needed} are needed (one a level)")
    build = _HybridConstruction(constructs, tuple(order), rules)
    for level in range(1, needed + 1):
        build.level(level, periods[level - 1])
    return HybridSequence(tuple(order), tuple(build.decisions), len(build.thin))


def candidate_arrows(constructs: ConstructSet, attribute: str, region: int) -> NDArray[np.bool_]:
    """cab, bool[n] in schema order: the other constructs used by a query the region lets pass."""
    left = constructs.constructs[attribute].qrb[region] & constructs.initial
    uses = {a: bool((left & c.qub).any()) for a, c in constructs.constructs.items()}
    return np.array([used and a != attribute for a, used in uses.items()], dtype=np.bool_)


class _Region(NamedTuple):
    """Tuples standing in an undecided region: sums over them, per candidate (schema order).

    can_target: bool[n], named by cab and of use to some visitor. passed: live bits left (on U)
    after the candidate, dead: tuples with none left; the macro_ ones after the macro successor.
    """

    column: int
    region: int
    support: int
    is_covered: bool
    can_target: NDArray[np.bool_]
    live: int
    passed: NDArray[np.int64]
    dead: NDArray[np.int64]
    macro_passed: int
    macro_dead: int


class _HybridConstruction:
    """The decisions so far, and the walk of the sample they are taken on."""

    def __init__(self, constructs: ConstructSet, order: tuple[str, ...], rules: Rules) -> None:
        self.constructs, self.order, self.rules = constructs, order, rules
        self.attributes = constructs.attributes
        self.usage: Words = np.zeros((len(self.attributes), constructs.n_words), dtype=np.uint64)
        for column, construct in enumerate(constructs.constructs.values()):
            self.usage[column] = construct.qub
        self.jumps = jump_tables(constructs, ())
        self.decisions: list[ArrowDecision] = []
        self.decided: set[tuple[int, int]] = set()
        self.thin: set[tuple[int, int]] = set()
        self._walk: Walk | None = None
        self._walked = 0

    def level(self, level: int, regions: Regions) -> None:
        """Decide for the regions the tuples of a sample hit with their ``level``-th visit."""
        walk = self._at_level(level, regions)
        decisions = [self._decide(level, at, regions) for at in self._undecided(walk)]
        late = False
        for decision in decisions:
            key = self.attributes.index(decision.attribute), decision.region
            late = late or key in self.thin
            self.thin.discard(key)
            self.decided.add(key)
            self.decisions.append(decision)
            if decision.target is not None:
                target = self.attributes.index(decision.target)
                self.jumps[decision.attribute][decision.region] = target
        if late:  # an arrow that tuples would have followed before: walk them anew
            self._walk = None

    def _at_level(self, level: int, regions: Regions) -> Walk:
        """The sample after ``level`` visits: one visit on, or from the start when it is new."""
        walk = self._walk
        if walk is None or walk.regions is not regions:
            walk = Walk(self.constructs, regions, self.order, self.rules.stop_rule)
            walk.visit()
            self._walk, self._walked = walk, 1
        while self._walked < level:
            walk.advance(self.jumps)
            walk.visit()
            self._walked += 1
        return walk

    def _undecided(self, walk: Walk) -> Iterator[_Region]:
        """The regions to decide on, by schema order of their constructs, then region."""
        for column, standing in walk.standing():
            left = walk.grb[standing] & self.constructs.covered
            rows = standing[left.any(axis=1) & (walk.successors(standing) != NOWHERE)]
            regions, inverse, counts = np.unique(
                walk.regions[rows, column], return_inverse=True, return_counts=True
            )
            keys = [(column, int(region)) for region in regions]
            is_thin = counts < self.rules.min_support
            self.thin |= {k for k, t in zip(keys, is_thin, strict=True) if t} - self.decided
            chosen = [i for i, k in enumerate(keys) if not is_thin[i] and k not in self.decided]
            if chosen:
                wanted = np.isin(inverse, chosen)
                yield from self._sums(walk, column, rows[wanted])

    def _sums(self, walk: Walk, column: int, rows: NDArray[np.intp]) -> Iterator[_Region]:
        """Sums over the visitors of each region among ``rows``, which stand at ``column``."""
        regions, group = np.unique(walk.regions[rows, column], return_inverse=True)
        useful, passed = self._prospects(walk, rows)
        successor = walk.successors(rows)
        macro = passed[np.arange(len(rows)), successor]
        passed = np.where(useful, passed, macro[:, None])
        covered = self._is_cover(walk.geb[rows])
        live = np.bitwise_count(walk.grb[rows] & self.constructs.covered).sum(axis=1)
        for i, region in enumerate(regions.tolist()):
            at = group == i
            named = candidate_arrows(self.constructs, self.attributes[column], region)
            yield _Region(
                column=column,
                region=region,
                support=int(np.count_nonzero(at)),
                is_covered=bool(covered[at].all()),
                can_target=named & useful[at].any(axis=0),
                live=int(live[at].sum()),
                passed=passed[at].sum(axis=0),
                dead=(passed[at] == 0).sum(axis=0),
                macro_passed=int(macro[at].sum()),
                macro_dead=int(np.count_nonzero(macro[at] == 0)),
            )

    def _prospects(
        self, walk: Walk, rows: NDArray[np.intp]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Per tuple and construct: of use to it, and the live bits (on U) it would leave."""
        useful = np.zeros((len(rows), len(self.attributes)), dtype=np.bool_)
        passed = np.zeros(useful.shape, dtype=np.int64)
        left = walk.grb[rows] & self.constructs.covered
        for column, construct in enumerate(self.constructs.constructs.values()):
            useful[:, column] = walk.is_useful(rows, column)
            after = left & construct.qrb[walk.regions[rows, column]]
            passed[:, column] = np.bitwise_count(after).sum(axis=1)
        return useful, passed

    def _is_cover(self, geb: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """bool[T]: whether the constructs visited use every slot of U."""
        used = np.zeros((len(geb), self.constructs.n_words), dtype=np.uint64)
        for column, usage in enumerate(self.usage):
            used[geb[:, column]] |= usage
        missing = self.constructs.covered & ~used
        is_cover: NDArray[np.bool_] = np.all(missing == 0, axis=1)
        return is_cover

    def _decide(self, level: int, at: _Region, regions: Regions) -> ArrowDecision:
        metric: Metric = "dropping ratio" if at.is_covered else "selectivity"
        best = self._best(at, metric)
        if metric == "selectivity":
            scores, macro = at.passed / at.live, at.macro_passed / at.live
        else:
            scores, macro = at.dead / at.support, at.macro_dead / at.support
        if self.rules.compare == "global":
            macro = self._macro_step(level, metric, regions)
        score = None if best is None else float(scores[best])
        attribute = self.attributes[at.column]
        decision = ArrowDecision(
            attribute, at.region, level, metric, at.support, score, macro, target=None
        )
        if best is None or decision.gain < 0:
            return decision
        return replace(decision, target=self.attributes[best])

    def _best(self, at: _Region, metric: Metric) -> int | None:
        """The candidate of least s, or of greatest d (then least alive share); then macro order."""

        def rank(column: int) -> tuple[int, int, int]:
            dead = 0 if metric == "selectivity" else -int(at.dead[column])
            return dead, int(at.passed[column]), self.order.index(self.attributes[column])

        return min(np.flatnonzero(at.can_target).tolist(), key=rank, default=None)

    def _macro_step(self, level: int, metric: Metric, regions: Regions) -> float:
        """The metric of the macro-arrow out of the order's first ``level`` constructs, over all
        monitored tuples: live bits left of those there were, or the dropping ratio (eq. 3)."""
        columns = {attribute: i for i, attribute in enumerate(self.attributes)}
        left = np.repeat(self.constructs.covered[None, :], len(regions), axis=0)
        for attribute in self.order[: level + 1]:
            before = left
            left = left & self.constructs.constructs[attribute].qrb[regions[:, columns[attribute]]]
        if metric == "dropping ratio":
            return float(np.count_nonzero(~left.any(axis=1)) / len(regions))
        live = n_bits(before)
        return n_bits(left) / live if live else 1.0
