"""The decision core of pipelined filters: events in, instructions out. [B05] §4.3-4.6

No clock, no I/O, no random numbers: the same events give the same decisions. ``lap`` is told when
one part of the work is done, so that somebody else can look at a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.core import Cooldown, Evaluations, FollowUp
from backend.adaptive.ordering.changes import ChangeDetector, DropProbChange
from backend.adaptive.ordering.orders import cost_of_view, order_cost
from backend.adaptive.ordering.policies import Policy, policy_class
from backend.adaptive.ordering.ranks import PS_PER_US, Picoseconds
from backend.adaptive.ordering.view import MatrixView
from backend.adaptive.planlog.logged import Weighed
from backend.adaptive.words import REFILLED, arrows
from backend.model.conditions import ContinuousQuery
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.filters import (
    AdoptFilters,
    BatchFiltered,
    Filter,
    FilterInstruction,
    FilterPlan,
    Probing,
)
from backend.model.knobs import KnobSettings
from backend.systems.agreedy.boost import Boost
from backend.systems.agreedy.checks import Check, examine, order_gap
from backend.systems.agreedy.explain import change_words
from backend.systems.agreedy.knobs import AgreedyKnobs
from backend.systems.agreedy.matrices import view_matrices
from backend.systems.agreedy.monitor import PipelineMonitor
from backend.systems.agreedy.overhead import OverheadMeter
from backend.systems.agreedy.pipeline import pipeline_of
from backend.systems.agreedy.profiler import Profiler, Taken
from backend.systems.agreedy.race import Race, RaceStep, Standing
from backend.systems.agreedy.sparing import KnownSample, sample_prices
from backend.systems.agreedy.steering import FilterPilot, look_record, spent_us, weighed_check
from storage.vocabulary.records import Decision, DecisionOutcome, Event, Json, Matrix

FilterEvent: TypeAlias = BatchFiltered | KnobsChanged | QueriesChanged
#: The parts of the work, as ``lap`` is told them.
LAPS: Final = ("window", "view", "violations", "race")


class Seen(NamedTuple):
    """V at one moment, with what is shown beside it; costs by filter."""

    view: MatrixView
    kept: NDArray[np.bool_]
    costs: tuple[Picoseconds, ...]
    n_tuples: int


class _Profiled(NamedTuple):
    """Profile tuples of a batch that orders can be priced on; costs by filter."""

    sample: KnownSample
    costs: tuple[Picoseconds, ...]


def _price(order: Sequence[int], of: _Profiled) -> NDArray[np.float64]:
    return sample_prices(of.sample, order, of.costs)


class FiltersReOptimizer:
    """Keeps the order of one query's filters or replaces it, with the evidence.

    Each batch slides the profile window, brings V up to date and checks the algorithm's invariant
    once (batch rule). Without a query there is nothing to order. weighed: the check of the last
    batch, for the plan log.
    """

    def __init__(
        self,
        query: ContinuousQuery | None,
        settings: KnobSettings,
        lap: Callable[[str], None] = lambda part: None,
    ) -> None:
        self.knobs = AgreedyKnobs.of(settings)
        self._lap = lap
        self._query = query
        self._profiler = Profiler(pipeline_of(query) if query else ())
        self._version = 1
        self._first = list(self._profiler.view.order)
        self._policy = self._new_policy()
        self._detector, self._boost, self._meter = ChangeDetector(), Boost(), OverheadMeter()
        self._follow_up: FollowUp[Sequence[int], _Profiled] = FollowUp()
        self._n_followed = 0
        self._judged: Seen | None = None
        self.weighed: Weighed | None = None
        self._race = Race()
        self._gap: float | None = None
        self._since_check = 0
        self._cooldown = Cooldown()
        self._evaluations = Evaluations()
        self.pilot = self._new_pilot()
        self._line_up()

    def _new_policy(self) -> Policy:
        """The algorithm of the knobs, at its start."""
        return policy_class(self.knobs.filter_algorithm).of(self.knobs)

    def _new_pilot(self, t: int = 0) -> FilterPilot:
        """With an empty log, so that nothing speaks for the order in force."""
        pilot = FilterPilot(self._profiler.names, t)
        pilot.settle(self.knobs.settling_tuples)
        return pilot

    # ------------------------------------------------------------------ what is in force

    @property
    def query(self) -> ContinuousQuery | None:
        return self._query

    @property
    def filters(self) -> tuple[Filter, ...]:
        """The query's filters, native ones first, as written."""
        return self._profiler.filters

    @property
    def plan(self) -> FilterPlan:
        """The plan in force (or adopted for the next batch)."""
        return FilterPlan(self._version, self._profiler.order, self._profiler.n_native)

    @property
    def probing(self) -> Probing:
        """What the next batch's profile tuples are to be asked; a race needs everything."""
        if self._race.is_on or self.knobs.is_piloted:
            return Probing("all", spared=frozenset() if self._race.is_on else self.pilot.spared)
        probe = self._policy.probe(self._profiler.view)
        name = None if probe.filter is None else self._profiler.names[probe.filter]
        return Probing(probe.rule, name)

    @property
    def profile_prob(self) -> float:
        """p for the next batch: the knob's, or the boosted one."""
        return self._boost.prob(self.knobs)

    @property
    def algorithm(self) -> str:
        return self._policy.name

    @property
    def monitor(self) -> PipelineMonitor:
        """The watched quantities, for display."""
        profiler, n = self._profiler, self._profiler.n_tuples
        costs, window = profiler.prices(self.knobs), profiler.window
        known = bool(n and profiler.names)
        first = None
        if known and window.is_complete:
            first = order_cost(self._first, window.columns, costs, n) / n / PS_PER_US
        expected = cost_of_view(profiler.view, costs, n) / n / PS_PER_US if known else None
        saved = first - expected if first is not None and expected is not None else 0.0
        drops = window.drops().sum(axis=0).tolist() if known and window.is_complete else ()
        return PipelineMonitor(
            len(window),
            window.n_passed,
            self.profile_prob,
            expected,
            first,
            self._gap,
            {name: d / n for name, d in zip(profiler.names, drops, strict=False)},
            profiler.price_us(self.knobs),
            profiler.call_us(),
            self._meter.overhead,
            self._meter.break_even(saved),
        )

    def matrices(self) -> tuple[Matrix, ...]:
        """V as the last check saw it, in the order of its batch: counts, probabilities, ratios to
        cost."""
        if self._query is None:
            return ()
        seen = self._judged or self._seen()
        return view_matrices(self._query.name, self._profiler.names, *seen)

    def spent_us(self, event: BatchFiltered) -> float:
        """What the filters of a batch cost, at the prices of now."""
        return spent_us(event, self._profiler, self.knobs)

    def _seen(self) -> Seen:
        profiler = self._profiler
        kept, costs = self._policy.kept(profiler.view), profiler.prices(self.knobs)
        return Seen(profiler.view.copy(), kept, costs, profiler.n_tuples)

    @property
    def standings(self) -> tuple[Standing, ...]:
        """The algorithms that race; nobody while the knob is off."""
        return self._race.standings

    # ------------------------------------------------------------------ events

    def start(self, batch_id: int = 0) -> list[FilterInstruction]:
        """Version 1: the order as written, native filters first."""
        reason = f"first order, as written: {arrows(self.plan.order)}; no tuple was seen yet"
        return [AdoptFilters(self.plan, batch_id, reason)]

    def resume(
        self,
        order: Sequence[str],
        version: int,
        n_decisions: int,
        batch_id: int,
        looks: Sequence[Mapping[str, Json]] = (),
        n_tuples: int = 0,
    ) -> list[FilterInstruction]:
        """Go on with an order that was in force when the run was ended from outside; what was
        profiled is gone. n_decisions: checks so far; looks: of the autopilot, as recorded;
        n_tuples: of input so far, 0 = not known."""
        instructions = [REFILLED, *self.pilot.resume(looks, n_tuples)]
        profiler = self._profiler
        profiler.adopt(profiler.ordered_like(order))
        self._evaluations.seq, self._version = n_decisions, version
        self._line_up()
        if profiler.order == tuple(order):
            return list[FilterInstruction](instructions)
        self._version += 1
        reason = f"the run went on with other filters; order {arrows(profiler.order)}"
        return [AdoptFilters(self.plan, batch_id, reason), *instructions]

    def handle(self, event: FilterEvent) -> list[FilterInstruction]:
        """The instructions an event calls for."""
        self._judged = self.weighed = None
        if isinstance(event, BatchFiltered):
            return self._on_batch(event)
        if isinstance(event, KnobsChanged):
            return self._on_knobs(event)
        return self._on_queries(event)

    def _on_batch(self, event: BatchFiltered) -> list[FilterInstruction]:
        is_current = event.plan_version == self._version
        partial = is_current and self._policy.is_partial and not self.knobs.is_piloted
        taken = self._profiler.take(event, self.knobs, partial)
        self._lap("window")
        self._profiler.refresh(taken)
        self._lap("view")
        self._meter.add(event.spent, event.n_tuples, event.profile_prob)
        self._boost.profiled(taken.n_new)
        self._since_check += event.n_tuples
        if self.knobs.is_piloted:
            self.pilot.taken(event.n_tuples, taken)
        else:
            self.pilot.passed(event.n_tuples)
        instructions: list[FilterInstruction] = []
        held = len(self._profiler.window)
        if is_current:
            self._cooldown.passed(event.n_tuples)
            if self.knobs.is_piloted:
                self.pilot.filtered(event, self._profiler, self.knobs)
            instructions += self._follow(event, taken)
            instructions += self._on_change(self._detector.add(event.evaluated, event.dropped))
        flushed = held > len(self._profiler.window)
        if self.knobs.is_piloted:
            instructions += self._look(event.batch_id)
        elif taken.n_new or taken.n_expired:
            instructions += self._check(event.batch_id, taken.n_new)
        self._lap("violations")
        if self._race.is_on:
            costs = self._profiler.prices(self.knobs)
            outcomes, n_passed = taken.outcomes, taken.n_passed
            step = RaceStep(event.n_tuples, outcomes, n_passed, event.time_s, costs, flushed)
            self._race.follow(step, self.knobs)
        self._lap("race")
        return instructions

    def _line_up(self) -> None:
        """The race starts anew from where the algorithm in force stands."""
        self._race.begin(self.knobs, self._profiler, self._policy, self._cooldown.waited)

    def _follow(self, event: BatchFiltered, taken: Taken) -> list[DecisionOutcome]:
        """What the last switch came to, once enough tuples were profiled, complete or not."""
        if not self._follow_up.is_on:
            return []
        costs = self._profiler.prices(self.knobs)
        asked = (event.evaluated.get(name, 0) for name in self._profiler.names)
        spent = sum(n * cost for n, cost in zip(asked, costs, strict=True)) / PS_PER_US
        self._follow_up.follow(event.n_tuples, spent, _Profiled(taken.priceable, costs))
        self._n_followed += len(taken.sample)
        if self._n_followed < self.knobs.least_samples:
            return []
        return self._follow_up.end(event.batch_id)

    def _on_change(self, change: DropProbChange | None) -> list[FilterInstruction]:
        """The stream changed: say so, and profile more if that is the policy."""
        if change is None:
            return []
        self.pilot.settle(self.knobs.settling_tuples)
        sentence = change_words(change)
        policy = self.knobs.profile_policy
        if policy != "fixed":
            self._boost.begin(self.knobs)
            sentence += f"; profile probability {self.profile_prob:g} until the window is new"
        if policy == "boost and flush":
            sentence += f"; {self._profiler.empty()} profile tuples flushed"
        return [Event("change", "stream changed", sentence)]

    # ------------------------------------------------------------------ the check

    def _check(self, batch_id: int, n_new: int) -> list[FilterInstruction]:
        """One look at the invariant; a violation is answered at once unless something forbids."""
        situation = self._profiler.situation(self.knobs)
        finding = self._policy.find(situation)
        if finding is None:
            return []
        held = len(self._profiler.window)
        verdict = self._policy.verdict(self.knobs, held, finding, self._cooldown)
        switched = verdict == "switched"
        if switched or self._policy.is_partial:
            self._judged = self._seen()
        seq, names = self._evaluations.count(), self._profiler.names
        since, wait = self._since_check, self._cooldown
        check = Check(seq, batch_id, self._version, since, names, self.knobs, wait)
        order, decision = examine(
            check, situation, self._profiler.window, self._policy, finding, verdict
        )
        self._since_check = 0
        self.weighed = weighed_check(decision, self._profiler, situation)
        instructions: list[FilterInstruction] = []
        if switched or self._evaluations.is_stored(verdict, self.knobs.reject_sample_every):
            instructions = self._switch(decision, order) if switched else [decision]
        self._gap = order_gap(situation)
        if self._policy.restarts(n_new, switched):
            self._profiler.empty()
        return instructions

    def _look(self, batch_id: int) -> list[FilterInstruction]:
        """A look of the autopilot, when one is due."""
        look = self.pilot.look_at(self._profiler, self.knobs)
        if look is None:
            return []
        seq = self._evaluations.count()
        decision = look_record(look, seq, batch_id, self._version, self.knobs)
        if not look.verdict.is_switch:
            return [decision]
        return self._switch(decision, [self._profiler.names.index(name) for name in look.plan])

    def _switch(self, decision: Decision, order: Sequence[int]) -> list[FilterInstruction]:
        ended = self._follow_up.end(decision.batch)
        self._follow_up.begin(decision.seq, self._profiler.view.order, order, _price)
        self._n_followed = 0
        self._profiler.adopt(order)
        self._detector.reset()
        self._cooldown.switched()
        self._version += 1
        reason, predicted = decision.explanation, decision.predicted_new
        adopted = AdoptFilters(self.plan, decision.batch + 1, reason, decision.seq, predicted)
        return [*ended, decision, adopted]

    # ------------------------------------------------------------------ changes from outside

    def _on_knobs(self, event: KnobsChanged) -> list[FilterInstruction]:
        before, self.knobs = self.knobs, AgreedyKnobs.of(event.settings)
        if before.native_cost_us != self.knobs.native_cost_us:
            self.pilot = self._new_pilot(self.pilot.t)
        if before.filter_algorithm == self.knobs.filter_algorithm:
            restaged = before.stage_tuples != self.knobs.stage_tuples
            if restaged:
                self._policy = self._new_policy()
            if restaged or before.race != self.knobs.race:
                self._line_up()
            return []
        self._policy = self._new_policy()
        gone = self._profiler.keep_complete()
        self._line_up()
        kept = len(self._profiler.window)
        sentence = (
            f"order {arrows(self.plan.order)} and costs kept; {kept} profile tuples kept, {gone} "
            "flushed because not every filter was asked about them"
        )
        title = f"algorithm {before.filter_algorithm} → {self.knobs.filter_algorithm}"
        return [Event("algorithm", title, sentence)]

    def _on_queries(self, event: QueriesChanged) -> list[FilterInstruction]:
        """Another set of filters: common ones keep their order; the window stays if it can."""
        query = event.queries[0] if event.queries else None
        if query == self._query:
            return []
        ended = self._follow_up.end(event.batch_id)
        self._query = query
        self._profiler, kept = self._profiler.carried_to(pipeline_of(query) if query else ())
        self._version += 1
        self._first = list(self._profiler.view.order)
        self._policy = self._new_policy()
        self.pilot = self._new_pilot(self.pilot.t)
        self._detector.reset()
        self._gap, self._cooldown = None, Cooldown()
        self._line_up()
        reason = f"{event.reason}; {kept}; order {arrows(self.plan.order)}"
        return [*ended, AdoptFilters(self.plan, event.batch_id, reason)]
