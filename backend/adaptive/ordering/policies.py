"""The algorithms: which entries of V each keeps, when it reorders, and how. [B05] §4.3-4.6

An algorithm is made anew when it is switched to; its state is its own. What it does differently
from the others is here, and nowhere else is asked for its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Final, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.core import Cooldown
from backend.adaptive.evidence import finite
from backend.adaptive.headroom import saving
from backend.adaptive.ordering.findings import Finding, Situation, look
from backend.adaptive.ordering.orders import (
    cost_after_move,
    cost_of_view,
    greedy_order,
    optimal_order,
    order_cost,
)
from backend.adaptive.ordering.ranks import Picoseconds, ranked_order, ranks_below
from backend.adaptive.ordering.rule import Rule
from backend.adaptive.ordering.view import MatrixView
from backend.model.filters import ProbeRule
from storage.vocabulary.headroom import Headroom
from storage.vocabulary.kinds import Verdict

#: What both sides of a comparison of ranks measure.
RANKS: Final = "drops per us"


class Probe(NamedTuple):
    """Which filters a profile tuple is shown to; filter: an index, for the rule 'one'."""

    rule: ProbeRule
    filter: int | None = None


class PolicyKnobs(Protocol):
    """What algorithms go by: profile tuples of a stage, and that a check takes; tuples of a
    cool-down."""

    @property
    def stage_tuples(self) -> int: ...

    @property
    def least_samples(self) -> int: ...

    @property
    def cooldown_tuples(self) -> int: ...


class ProposedOrder(NamedTuple):
    """An order, and the cost of the old and the new one on the window; None where the window's
    partial bits do not determine it."""

    order: list[int]
    old_ps: Picoseconds | None
    new_ps: Picoseconds | None


class TestedInequality(NamedTuple):
    """What was tested: ``lhs < rhs`` of a metric."""

    lhs: float | None
    rhs: float | None
    metric: str


class Policy(ABC):
    """One algorithm.

    is_partial: it reads tuples that only some of the filters were asked about. race_up_to: it
    races with so many filters in a segment at most; None: with any number.
    """

    name: ClassVar[str]
    invariant: ClassVar[str]
    is_partial: ClassVar[bool] = False
    race_up_to: ClassVar[int | None] = None

    @classmethod
    def of(cls, knobs: PolicyKnobs) -> Self:
        """At its start."""
        return cls()

    def probe(self, view: MatrixView) -> Probe:
        """What is to be asked about the next profile tuples."""
        return Probe("all")

    def kept(self, view: MatrixView) -> NDArray[np.bool_]:
        """bool[n, n]: the entries of V it maintains under the present order."""
        return np.triu(np.ones((view.n, view.n), dtype=np.bool_))

    def find(self, s: Situation) -> Finding | None:
        """The decisive pair, or None when there is nothing to compare."""
        return look(s, self.kept(s.view))

    @abstractmethod
    def propose(self, s: Situation, finding: Finding) -> ProposedOrder:
        """The order that answers a violation; ``s`` is left alone."""

    def considered(self, s: Situation, finding: Finding) -> ProposedOrder:
        """What a check looks at: the proposal, or the present order when nothing is violated."""
        return self.propose(s, finding) if finding.is_violated else _kept_order(s)

    def restarts(self, n_profiled: int, switched: bool) -> bool:
        """After a check over n_profiled new profile tuples: whether the window is to be emptied,
        because other bits are needed from now on."""
        return False

    def verdict(
        self, knobs: PolicyKnobs, held: int, finding: Finding, cooldown: Cooldown
    ) -> Verdict:
        """What a check comes to. held: dropped profile tuples in the window."""
        if held < self.least_window(knobs):
            return "thin"
        if not finding.is_violated:
            return "below_threshold"
        return "cooldown" if cooldown.holds(knobs.cooldown_tuples) else "switched"

    def least_window(self, knobs: PolicyKnobs) -> int:
        """Profile tuples a check takes."""
        return knobs.least_samples

    def inequality(
        self, rule: Rule, finding: Finding, old_us: float | None, new_us: float | None
    ) -> TestedInequality:
        """own rank < α · challenger's rank; by evidence 0 < lower bound of their difference."""
        if rule.by_evidence and finding.interval is not None:
            return TestedInequality(0.0, finding.interval.low, "rank difference, lower bound")
        own, other = finding.ranks
        alpha = float(rule.threshold)
        return TestedInequality(finite(own), finite(alpha * other), RANKS)

    def headroom(
        self, rule: Rule, near: list[Headroom], old_us: float | None, new_us: float | None
    ) -> list[Headroom]:
        """What a check that kept the order fell short of. near: pairs, the nearest first."""
        return near


class AGreedy(Policy):
    """Keeps all of V; a violation is corrected at once, because the window holds all bits. §4.3"""

    name = "a-greedy"
    invariant = "greedy invariant"

    def propose(self, s: Situation, finding: Finding) -> ProposedOrder:
        """Correct at the smallest violated position until none is left (Fig. 4.7, looped)."""
        view = s.view.copy()
        trial = s._replace(view=view)
        violation: Finding | None = finding
        for _ in range(view.n):
            if violation is None or not violation.is_violated:
                break
            view.correct(violation.pair.position, s.columns, s.costs)
            violation = self.find(trial)
        return _priced(s, view.order)


class Sweep(Policy):
    """The Greedy Invariant for one profiled filter at a time. §4.4, card §4

    Stages: the filter at one position is compared with all before it, then the next one's turn.
    A stage ends with a violation or after ``stage_tuples`` profile tuples; the next one starts with
    an empty window, because it needs other bits. A violation moves the profiled filter to the
    smallest violated position, the others slide right.
    """

    name = "sweep"
    invariant = "sweep invariant"
    is_partial = True

    def __init__(self, stage_tuples: int) -> None:
        self.stage_tuples = stage_tuples
        self._turn = 0
        self._n_stage = 0

    @classmethod
    def of(cls, knobs: PolicyKnobs) -> Self:
        return cls(knobs.stage_tuples)

    def position(self, view: MatrixView) -> int | None:
        """The profiled position (from 0); None when no position has one before it to overtake."""
        turns = [p for p in range(view.n) if view.segment(p).start < p]
        return turns[self._turn % len(turns)] if turns else None

    def probe(self, view: MatrixView) -> Probe:
        position = self.position(view)
        return Probe("none") if position is None else Probe("one", view.order[position])

    def kept(self, view: MatrixView) -> NDArray[np.bool_]:
        cells = np.zeros((view.n, view.n), dtype=np.bool_)
        position = self.position(view)
        if position is not None:
            places = np.arange(position + 1)
            cells[places, places] = True
            cells[: position + 1, position] = True
        return cells

    def propose(self, s: Situation, finding: Finding) -> ProposedOrder:
        source, target = finding.pair.challenger, finding.pair.position
        order = list(s.view.order)
        order.insert(target, order.pop(source))
        return _moved(s, finding, order)

    def restarts(self, n_profiled: int, switched: bool) -> bool:
        self._n_stage += n_profiled
        if not switched and self._n_stage < self.stage_tuples:
            return False
        self._turn, self._n_stage = self._turn + 1, 0
        return True

    def least_window(self, knobs: PolicyKnobs) -> int:
        """A stage shorter than min_samples can never be full enough, so the lesser counts."""
        return min(knobs.least_samples, knobs.stage_tuples)


class Independent(Policy):
    """Filters by unconditional rank, as if they were independent: the first row of V only. §4.5"""

    name = "independent"
    invariant = "independent invariant"

    def kept(self, view: MatrixView) -> NDArray[np.bool_]:
        cells = np.zeros((view.n, view.n), dtype=np.bool_)
        cells[:1] = True
        return cells

    def find(self, s: Situation) -> Finding | None:
        return look(s, super().kept(s.view), flat=True)

    def propose(self, s: Situation, finding: Finding) -> ProposedOrder:
        """Sort by count per cost, stable."""
        by_filter = [0] * s.view.n
        for place, filter_index in enumerate(s.view.order):
            by_filter[filter_index] = int(s.view.counts[0, place])
        return _priced(s, ranked_order(by_filter, s.costs, s.view.order, s.view.n_native))


class LocalSwaps(Policy):
    """Neighbours only: two diagonals of V. §4.6, card §4

    After a swap the window is emptied: bits of the pairs that are neighbours now were never asked
    for.
    """

    name = "local swaps"
    invariant = "local swaps invariant"
    is_partial = True

    def probe(self, view: MatrixView) -> Probe:
        return Probe("next")

    def kept(self, view: MatrixView) -> NDArray[np.bool_]:
        cells = np.eye(view.n, dtype=np.bool_) | np.eye(view.n, k=1, dtype=np.bool_)
        return cells & (view.comparable() | np.eye(view.n, dtype=np.bool_))

    def propose(self, s: Situation, finding: Finding) -> ProposedOrder:
        source, target = finding.pair.challenger, finding.pair.position
        order = list(s.view.order)
        order[source], order[target] = order[target], order[source]
        return _moved(s, finding, order)

    def restarts(self, n_profiled: int, switched: bool) -> bool:
        return switched


class Optimal(Policy):
    """The cheapest order on the window, found by looking at all subsets of up to 14 filters.

    Beyond 14 native or 14 other filters it is the greedy order. It acts when the cheapest order
    costs less than α of the present one (by evidence: less at all).
    """

    name = "optimal"
    invariant = "cheapest order"
    race_up_to = 10

    def find(self, s: Situation) -> Finding | None:
        nearest = super().find(s)
        if nearest is None or not s.n_tuples:
            return nearest
        best = order_cost(self._best(s), s.columns, s.costs, s.n_tuples)
        now = order_cost(s.view.order, s.columns, s.costs, s.n_tuples)
        cheaper = ranks_below(best, 1, now, 1, s.rule.threshold) if now else False
        return nearest._replace(is_violated=cheaper, violated=())

    def propose(self, s: Situation, finding: Finding) -> ProposedOrder:
        return _priced(s, self._best(s))

    def considered(self, s: Situation, finding: Finding) -> ProposedOrder:
        """Always the cheapest order, whatever it saves."""
        return self.propose(s, finding)

    def inequality(
        self, rule: Rule, finding: Finding, old_us: float | None, new_us: float | None
    ) -> TestedInequality:
        """Best cost < α · present cost. new_us: None where the present order is the best."""
        rhs = None if old_us is None else float(rule.threshold) * old_us
        return TestedInequality(
            old_us if new_us is None else new_us, rhs, "predicted cost per tuple"
        )

    def headroom(
        self, rule: Rule, near: list[Headroom], old_us: float | None, new_us: float | None
    ) -> list[Headroom]:
        """It looks at orders as a whole, not at pairs."""
        if old_us is None or new_us is None:
            return []
        least = 1 - float(rule.threshold)
        return [saving("another order", old_us, new_us, least, "us/tuple")]

    def _best(self, s: Situation) -> list[int]:
        view = s.view
        order = optimal_order(s.columns, s.costs, view.order, s.n_tuples, view.n_native)
        return order or greedy_order(s.columns, s.costs, view.order, view.n_native)


class StaticOrder(Policy):
    """Keeps the order; A-Greedy's checks go on, so that one sees what it costs."""

    name = "static"
    invariant = "fixed order"

    def propose(self, s: Situation, finding: Finding) -> ProposedOrder:
        return _priced(s, list(s.view.order))

    def verdict(
        self, knobs: PolicyKnobs, held: int, finding: Finding, cooldown: Cooldown
    ) -> Verdict:
        verdict = super().verdict(knobs, held, finding, cooldown)
        return "pinned" if verdict in ("cooldown", "switched") else verdict


_POLICIES: Final = {
    policy.name: policy
    for policy in (AGreedy, Sweep, Independent, LocalSwaps, Optimal, StaticOrder)
}


def policy_class(name: str) -> type[Policy]:
    """The algorithm of that name. Raises KeyError."""
    return _POLICIES[name]


def _priced(s: Situation, order: list[int]) -> ProposedOrder:
    """The order with both costs, from complete bits."""
    old = order_cost(s.view.order, s.columns, s.costs, s.n_tuples)
    return ProposedOrder(order, old, order_cost(order, s.columns, s.costs, s.n_tuples))


def _moved(s: Situation, finding: Finding, order: list[int]) -> ProposedOrder:
    """The order once the challenger stands where the other did, costed from its column of V."""
    source, target = finding.pair.challenger, finding.pair.position
    old = cost_of_view(s.view, s.costs, s.n_tuples)
    return ProposedOrder(order, old, cost_after_move(s.view, s.costs, s.n_tuples, source, target))


def _kept_order(s: Situation) -> ProposedOrder:
    return ProposedOrder(list(s.view.order), cost_of_view(s.view, s.costs, s.n_tuples), None)
