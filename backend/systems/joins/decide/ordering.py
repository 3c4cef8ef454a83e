"""The order of one pipeline: A-Greedy on logical filters. [B05] §5.3, card 7

The logical filter of R_j drops an element when nothing joins with it along the path to R_j. Filters
are ordered as pipelined filters are, by the profile window, matrix view and policies of these; the
pipeline is what evaluates them in that order.

A profiled element of a join is always shown to all filters. An algorithm that needs less is told
less: what it would see if filters ran in its order, and profiled ones where it asks for more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.core import Cooldown
from backend.adaptive.evidence import finite
from backend.adaptive.ordering.costing import tuple_costs
from backend.adaptive.ordering.findings import Finding, Situation, describe, near_violations
from backend.adaptive.ordering.headroom import check_headroom, pair_headroom
from backend.adaptive.ordering.orders import (
    cost_after_move,
    greedy_order,
    optimal_order,
    order_cost,
)
from backend.adaptive.ordering.policies import (
    RANKS,
    AGreedy,
    Policy,
    ProposedOrder,
    TestedInequality,
    policy_class,
)
from backend.adaptive.ordering.ranks import (
    Pair,
    Picoseconds,
    picoseconds,
    ranked_order,
    us_per_tuple,
)
from backend.adaptive.ordering.view import MatrixView
from backend.adaptive.ordering.window import ProfileWindow
from backend.model.filters import known_outcomes
from backend.operators.network.joins.join_tuning import PipelineProfile
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.shape import JoinShape
from storage.vocabulary.headroom import Headroom
from storage.vocabulary.kinds import Verdict

#: An input comes more rarely than another if its elements are fewer by this factor.
_RARER: Final = 2.0
#: Filters of a pipeline that all algorithms are tried on.
MOST_ORDERED: Final = 8


class OrderCheck(NamedTuple):
    """One look at the invariant of a pipeline. before, filters: the present order and the one
    proposed, by input; names: of the filters, as the finding numbers them. costs: of looking for
    partners, per element, old and new, in the unit of the settings; None: unknown. lhs, rhs,
    metric: what was tested, lhs < rhs; if for_caches, lhs >= rhs. headroom: what keeping the order
    fell short of. for_caches: the order is about as good as the present one, and rarer inputs go
    first. alpha_power: of α in what was tested. by_algorithm: cost of the order that each would
    have from this window. filters_now: by place in ``names``, drop probability and cost."""

    input: int
    verdict: Verdict
    finding: Finding
    policy: Policy
    before: tuple[int, ...]
    filters: tuple[int, ...]
    names: tuple[str, ...]
    old_cost: float | None
    new_cost: float | None
    lhs: float | None
    rhs: float | None
    metric: str
    n_window: int
    n_tuples: int
    headroom: tuple[Headroom, ...] = ()
    for_caches: bool = False
    alpha_power: float = 1
    by_algorithm: Mapping[str, float] = MappingProxyType({})
    filters_now: tuple[tuple[float, float], ...] = ()


class _Exchange(NamedTuple):
    """Two neighbours that change places, so that the rarer input goes first. finding: on them."""

    order: list[int]
    finding: Finding
    tested: TestedInequality
    new_cost: float | None


class FilterSample(NamedTuple):
    """Profiled elements of a batch. drops: bool[k, filters]; costs: by filter, as exact numbers."""

    drops: NDArray[np.bool_]
    costs: tuple[Picoseconds, ...]


class PipelineOrder:
    """Keeps the logical filters of one input in order.

    targets: the inputs with a filter, names: theirs; those that nothing joins with have none and
    stay behind.
    literally: the pipeline is the planned order as it stands, until another is adopted.
    """

    def __init__(
        self, shape: JoinShape, input: int, planned: Sequence[int], literally: bool = False
    ) -> None:
        self._literal = tuple(planned) if literally else None
        self.shape, self.input = shape, input
        reachable = shape.component(input)
        self.targets = tuple(j for j in planned if j in reachable)
        self.names = tuple(shape.names[j] for j in self.targets)
        self._far = tuple(j for j in planned if j not in reachable)
        paths = [len(shape.path(input, j)) for j in self.targets]
        #: Whether filters in another order are another pipeline: not where each path goes on from
        #: the one before. Without a choice there is nothing to observe.
        self.has_choice = len(set(paths)) < len(paths)
        self._n_new = self._n_dropped = 0  # since the last look
        self._waiting: list[NDArray[np.uint64]] = []
        self._policy: Policy = AGreedy()
        self._algorithm = (AGreedy.name, 0)  # name and stage
        self.view = MatrixView(range(len(self.targets)))
        self.window = ProfileWindow(len(self.targets))
        self.cooldown = Cooldown()
        self._for_caches = False
        self._operators: tuple[int, ...] | None = None

    @property
    def filters(self) -> tuple[int, ...]:
        """The inputs by the place of their filters."""
        return (*(self.targets[x] for x in self.view.order), *self._far)

    @property
    def is_literal(self) -> bool:
        """Whether the pipeline is the planned order itself."""
        return self._literal is not None

    @property
    def operators(self) -> tuple[int, ...]:
        """The pipeline."""
        if self._operators is None:
            self._operators = self._literal or self.shape.operators(self.input, self.filters)
        return self._operators

    @property
    def kept(self) -> NDArray[np.bool_]:
        """bool[targets, targets]: the entries of V that the algorithm maintains."""
        return self._policy.kept(self.view)

    def take(self, profile: PipelineProfile, settings: JoinSettings) -> None:
        """Note the elements of a batch, over which the profile window slides."""
        self._follow(settings)
        self.cooldown.passed(profile.n_plus + profile.n_minus)
        if self.has_choice and len(profile.dropped_by):
            self._waiting.append(profile.dropped_by)
            self._n_new += len(profile.dropped_by)
            if self._n_new > settings.profile_tuples:
                self._slide(settings.profile_tuples)

    def _follow(self, settings: JoinSettings) -> None:
        """Have the algorithm of the settings. Another one begins with the profile tuples that all
        filters were asked about."""
        wanted = settings.order_algorithm, settings.stage_tuples
        if wanted == self._algorithm:
            return
        self._slide(settings.profile_tuples)
        self._policy, self._algorithm = policy_class(wanted[0]).of(settings), wanted
        self._n_dropped = 0
        self.window = self.window.completed()
        self.view.rebuild(self.window.columns)

    def _slide(self, keep: int) -> None:
        """Have what waits in the window, as far as the algorithm may see it. keep: how many of the
        elements that something drops."""
        if not self._waiting:
            return
        order, probe = self.view.order, self._policy.probe(self.view)
        drops = drops_of(np.concatenate(self._waiting), self.targets)
        self._waiting = []
        dropped = drops[drops.any(axis=1)]
        chosen = None if probe.filter is None else order.index(probe.filter)
        outcomes = np.zeros(dropped.shape, np.int8)
        outcomes[:, order] = known_outcomes(dropped[:, order], probe.rule, chosen)
        n_passed, is_complete = len(drops) - len(dropped), probe.rule == "all"
        inserted = self.window.add(outcomes, n_passed, time_s=0.0, is_complete=is_complete)
        self._n_dropped += len(dropped)
        self.view.update(inserted, self.window.expire(keep))

    def is_due(self, settings: JoinSettings, has_moved: bool = False) -> bool:
        """Whether to look: there is a choice, and as many elements came since the last look as one
        takes; or something has changed. A look that finds nothing costs more than its elements."""
        return self.has_choice and self._n_new >= (1 if has_moved else self._needed(settings))

    def check(
        self, costs: Sequence[float], settings: JoinSettings, shares: Sequence[float] = ()
    ) -> OrderCheck | None:
        """One look. costs: by input, of joining with it; shares: of the join's elements, (): not to
        be looked at. None: there is nothing to compare."""
        settings, policy = self._begin_look(settings), self._policy
        situation = self._situation(costs, settings)
        finding = policy.find(situation)
        if finding is None:
            return None
        proposal = policy.considered(situation, finding)
        old, new = (_per_tuple(ps, situation.n_tuples) for ps in proposal[1:])
        new = None if proposal.order == self.view.order else new
        tested = policy.inequality(settings.rule, finding, old, new)
        near, rule = near_violations(situation, policy.kept(situation.view)), settings.rule
        pairs = policy.headroom(rule, pair_headroom(near, self.names, rule), old, new)
        verdict, order = self._verdict(finding, proposal, settings), list(proposal.order)
        looks = verdict == "below_threshold" and shares and self._may_switch(settings)
        rarer = self._rarer_first(situation, settings, shares) if looks else None
        if rarer is not None:
            verdict, (order, finding, tested, new) = "switched", rarer
        order_check = OrderCheck(
            self.input,
            verdict,
            finding,
            policy,
            self.filters,
            (*(self.targets[x] for x in order), *self._far),
            self.names,
            old,
            new,
            *tested,
            len(self.window),
            situation.n_tuples,
            tuple(self._headroom(verdict, pairs, settings)),
            rarer is not None,
            (2 if self._for_caches else 1) / (1 if rarer is None else 2),
            self._by_algorithm(situation),
            self._filters_now(situation),
        )
        self._end_look(verdict == "switched")
        return order_check

    def _filters_now(self, s: Situation) -> tuple[tuple[float, float], ...]:
        drops, places = s.view.counts[0].tolist(), map(s.view.order.index, range(len(s.costs)))
        probs = (drops[place] / s.n_tuples if s.n_tuples else 0.0 for place in places)
        return tuple((prob, ps / 1000) for prob, ps in zip(probs, s.costs, strict=True))

    def _by_algorithm(self, s: Situation) -> dict[str, float]:
        """What each algorithm that sees all of the profile makes of it, planned anew; nothing of a
        window with gaps, or of many filters."""
        order, drops = s.view.order, s.view.counts[0].tolist()
        if not (s.is_complete and s.n_tuples) or len(order) > MOST_ORDERED:
            return {}
        best = optimal_order(s.columns, s.costs, order, s.n_tuples)
        by_filter = [drops[order.index(x)] for x in range(len(order))]
        orders = {
            "a-greedy": greedy_order(s.columns, s.costs, order),
            "independent": ranked_order(by_filter, s.costs, order),
            "optimal": best or order,
        }
        costs = {
            a: order_cost(order, s.columns, s.costs, s.n_tuples) for a, order in orders.items()
        }
        return {a: _per_tuple(ps, s.n_tuples) or 0.0 for a, ps in costs.items()}

    def _end_look(self, switched: bool) -> None:
        """Empty the window where the algorithm asks other filters from now on."""
        n_dropped, self._n_dropped = self._n_dropped, 0
        if self._policy.restarts(n_dropped, switched):
            self.window.clear()
            self.view.rebuild(self.window.columns)

    def _begin_look(self, settings: JoinSettings) -> JoinSettings:
        """Have the window up to date; the settings a look goes by."""
        self._slide(settings.profile_tuples)
        self._n_new = 0
        return replace(settings, alpha=settings.alpha**2) if self._for_caches else settings

    def _may_switch(self, settings: JoinSettings) -> bool:
        is_held = self.cooldown.holds(settings.cooldown_tuples)
        return settings.join_order != "fixed" and settings.caching != "off" and not is_held

    def _rarer_first(
        self, situation: Situation, settings: JoinSettings, shares: Sequence[float]
    ) -> _Exchange | None:
        """The order with the first neighbours exchanged of which the second comes more rarely and
        drops about as much for its cost; None: there are none.

        Deviation: the text orders pipelines without regard to caches. But what is kept of inputs
        that rarely come is cheap to keep and often looked up, and for that their pipelines have to
        begin with each other. The exchange is well inside α, so that it is not taken back.
        """
        order, kept, share = list(self.view.order), self.kept, math.sqrt(settings.alpha)
        for k, (x, y) in enumerate(pairwise(order)):
            is_rarer = shares[self.targets[x]] >= _RARER * shares[self.targets[y]]
            if not (is_rarer and kept[k, k + 1]):
                continue
            finding = describe(situation, Pair(k, k + 1))
            own, other = finding.ranks
            if other >= share * own:
                order[k], order[k + 1] = y, x
                n = situation.n_tuples
                new = _per_tuple(cost_after_move(self.view, situation.costs, n, k + 1, k), n)
                tested = TestedInequality(finite(other), finite(share * own), RANKS)
                return _Exchange(order, finding, tested, new)
        return None

    @property
    def is_for_caches(self) -> bool:
        """Whether the order is in force as rarer inputs go first."""
        return self._for_caches

    def adopt(self, filters: Sequence[int], for_caches: bool = False) -> bool:
        """Another order is in force; whether the pipeline is another. for_caches: it is so as
        rarer inputs go first, and takes a violation by α² to be left."""
        self._for_caches = for_caches
        before, self._literal, self._operators = self.operators, None, None
        order = [self.targets.index(j) for j in filters if j in self.targets]
        self.view.reorder(order, self.window.columns)
        self.cooldown.switched()
        return self.operators != before

    def sample(self, profile: PipelineProfile, costs: Sequence[float]) -> FilterSample:
        """The profiled elements of a batch, to price orders on."""
        return FilterSample(
            drops_of(profile.dropped_by, self.targets),
            tuple(price_of_join(costs[j]) for j in self.targets),
        )

    def price(self, filters: Sequence[int], sample: FilterSample) -> NDArray[np.float64]:
        """float64[k]: what looking for partners in an order costs, in the unit of costs."""
        joined = self.shape.operators(self.input, filters)
        order = [self.targets.index(j) for j in joined if j in self.targets]
        return 1000 * tuple_costs(sample.drops, 0, order, sample.costs).us

    def _situation(self, costs: Sequence[float], settings: JoinSettings) -> Situation:
        prices = tuple(self.price_of(j, costs) for j in self.targets)
        n_tuples = len(self.window) + self.window.n_passed
        rule, is_complete = settings.rule, self.window.is_complete
        return Situation(self.view, self.window.columns, prices, n_tuples, rule, is_complete)

    def price_of(self, target: int, costs: Sequence[float]) -> Picoseconds:
        """Of the filter of an input: all joins of its path."""
        return price_of_join(sum(costs[j] for j in self.shape.path(self.input, target)))

    def _headroom(
        self, verdict: Verdict, pairs: Sequence[Headroom], settings: JoinSettings
    ) -> list[Headroom]:
        needed, held = self._needed(settings), len(self.window)
        spell = settings.cooldown_tuples
        return check_headroom(verdict, pairs, held, needed, self.cooldown, spell)

    def _verdict(
        self, finding: Finding, proposal: ProposedOrder, settings: JoinSettings
    ) -> Verdict:
        verdict = self._policy.verdict(settings, len(self.window), finding, self.cooldown)
        if verdict not in ("switched", "cooldown"):
            return verdict
        if proposal.order == self.view.order:
            return "below_threshold"
        return "pinned" if settings.join_order == "fixed" else verdict

    def _needed(self, settings: JoinSettings) -> int:
        """Profiled elements a check takes."""
        return self._policy.least_window(settings)


def drops_of(dropped_by: NDArray[np.uint64], inputs: Sequence[int]) -> NDArray[np.bool_]:
    """bool[k, inputs]: what of a profile each of these inputs drops."""
    bits = np.array(inputs, dtype=np.uint64)
    drops: NDArray[np.bool_] = (dropped_by[:, None] >> bits[None, :]) & np.uint64(1) == 1
    return drops


def price_of_join(cost: float) -> Picoseconds:
    """A unit of cost counts as a nanosecond."""
    return picoseconds(cost / 1000)


def _per_tuple(total_ps: Picoseconds | None, n_tuples: int) -> float | None:
    """In the unit of costs, as of ``price_of_join``."""
    us = us_per_tuple(total_ps, n_tuples)
    return None if us is None else 1000 * us
