"""The decision core of pipelined filters: events in, instructions out. [B05] §4.3-4.6

No clock, no I/O, no random numbers: the same events give the same decisions. ``lap`` is told when
one part of the work is done, so that somebody else can look at a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.words import REFILLED
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
from backend.systems.agreedy.changes import Change, ChangeDetector
from backend.systems.agreedy.checks import examine, order_gap
from backend.systems.agreedy.evidence import Check, decision_record
from backend.systems.agreedy.exact import PS_PER_US, Picoseconds
from backend.systems.agreedy.explain import arrows, change_words
from backend.systems.agreedy.knobs import Settings
from backend.systems.agreedy.matrices import view_matrices
from backend.systems.agreedy.orders import cost_of_view, order_cost
from backend.systems.agreedy.overhead import Overhead, OverheadMeter
from backend.systems.agreedy.pipeline import pipeline_of
from backend.systems.agreedy.profiler import Profiler, Taken
from backend.systems.agreedy.race import Race, Standing, Step
from backend.systems.agreedy.registry import PARTIAL, make_policy
from backend.systems.agreedy.requery import carried_over
from backend.systems.agreedy.shadow import Shadow
from backend.systems.agreedy.verdicts import verdict_of
from backend.systems.agreedy.view import MatrixView
from storage.vocabulary.records import Event, Matrix

FilterEvent: TypeAlias = BatchFiltered | KnobsChanged | QueriesChanged
#: The parts of the work, as ``lap`` is told them.
LAPS: Final = ("window", "view", "violations", "race")


class Monitor(NamedTuple):
    """What is watched at the moment; None = not known yet.

    window_tuples: dropped profile tuples in the window; n_passed: passes sampled with them.
    expected_us, first_us: cost per tuple of the present and the first order, on the window.
    order_gap: by what share the present order is dearer than the best one on the window.
    drop_prob: absolute drop probability by filter, on the window. cost_us: by filter.
    """

    window_tuples: int
    n_passed: int
    profile_prob: float
    expected_us: float | None
    first_us: float | None
    order_gap: float | None
    drop_prob: dict[str, float]
    cost_us: dict[str, float]
    overhead: Overhead | None
    break_even_prob: float | None


class Seen(NamedTuple):
    """V at one moment, with what is shown beside it; costs by filter."""

    view: MatrixView
    kept: NDArray[np.bool_]
    costs: tuple[Picoseconds, ...]
    n_tuples: int


class FiltersReOptimizer:
    """Keeps the order of one query's filters or replaces it, with the evidence.

    Each batch slides the profile window, brings V up to date and checks the algorithm's invariant
    once (batch rule). Without a query there is nothing to order.
    """

    def __init__(
        self,
        query: ContinuousQuery | None,
        settings: KnobSettings,
        lap: Callable[[str], None] = lambda part: None,
    ) -> None:
        self._settings = Settings.of(settings)
        self._lap = lap
        self._query = query
        self._profiler = Profiler(pipeline_of(query) if query else ())
        self._version = 1
        self._first = list(self._profiler.view.order)
        self._policy = make_policy(self._settings)
        self._detector, self._boost, self._meter = ChangeDetector(), Boost(), OverheadMeter()
        self._shadow: Shadow | None = None
        self._judged: Seen | None = None
        self._race = Race()
        self._gap: float | None = None
        self._since_check = 0
        self._since_switch: int | None = None
        self._seq = self._n_rejected = 0
        self._line_up()

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
        if self._race.is_on:
            return Probing("all")
        probe = self._policy.probe(self._profiler.view)
        name = None if probe.filter is None else self._profiler.names[probe.filter]
        return Probing(probe.rule, name)

    @property
    def profile_prob(self) -> float:
        """p for the next batch: the knob's, or the boosted one."""
        return self._boost.prob(self._settings)

    @property
    def algorithm(self) -> str:
        return self._policy.name

    @property
    def monitor(self) -> Monitor:
        """The watched quantities, for display."""
        profiler, n = self._profiler, self._profiler.n_tuples
        costs, window = profiler.prices(self._settings), profiler.window
        known = bool(n and profiler.names)
        first = None
        if known and window.is_complete:
            first = order_cost(self._first, window.columns, costs, n) / n / PS_PER_US
        expected = cost_of_view(profiler.view, costs, n) / n / PS_PER_US if known else None
        saved = first - expected if first is not None and expected is not None else 0.0
        drops = window.drops().sum(axis=0).tolist() if known and window.is_complete else ()
        return Monitor(
            len(window),
            window.n_passed,
            self.profile_prob,
            expected,
            first,
            self._gap,
            {name: d / n for name, d in zip(profiler.names, drops, strict=False)},
            profiler.price_us(self._settings),
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

    def _seen(self) -> Seen:
        profiler = self._profiler
        kept, costs = self._policy.kept(profiler.view), profiler.prices(self._settings)
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
        self, order: Sequence[str], version: int, n_decisions: int, batch_id: int
    ) -> list[FilterInstruction]:
        """Go on with an order that was in force when the run was ended from outside; what was
        profiled is gone. n_decisions: checks so far."""
        profiler, place = self._profiler, {name: i for i, name in enumerate(order)}
        last = len(place)
        profiler.adopt(
            sorted(
                profiler.view.order,
                key=lambda x: (x >= profiler.n_native, place.get(profiler.names[x], last)),
            )
        )
        self._seq, self._version = n_decisions, version
        self._line_up()
        if profiler.order == tuple(order):
            return [REFILLED]
        self._version += 1
        reason = f"the run went on with other filters; order {arrows(profiler.order)}"
        return [AdoptFilters(self.plan, batch_id, reason), REFILLED]

    def handle(self, event: FilterEvent) -> list[FilterInstruction]:
        """The instructions an event calls for."""
        self._judged = None
        if isinstance(event, BatchFiltered):
            return self._on_batch(event)
        if isinstance(event, KnobsChanged):
            return self._on_knobs(event)
        return self._on_queries(event)

    def _on_batch(self, event: BatchFiltered) -> list[FilterInstruction]:
        is_current = event.plan_version == self._version
        partial = is_current and self._settings.algorithm in PARTIAL
        taken = self._profiler.take(event, self._settings, partial)
        self._lap("window")
        self._profiler.refresh(taken)
        self._lap("view")
        self._meter.add(event.spent, event.n_tuples, event.profile_prob)
        self._boost.profiled(taken.n_new)
        self._since_check += event.n_tuples
        found: list[FilterInstruction] = []
        held = len(self._profiler.window)
        if is_current:
            if self._since_switch is not None:
                self._since_switch += event.n_tuples
            found += self._follow_shadow(event, taken)
            found += self._on_change(self._detector.add(event.evaluated, event.dropped))
        flushed = held > len(self._profiler.window)
        if taken.n_new or taken.n_expired:
            found += self._check(event.batch_id, taken.n_new)
        self._lap("violations")
        if self._race.is_on:
            costs = self._profiler.prices(self._settings)
            step = Step.of(event.n_tuples, taken, event.time_s, costs)
            self._race.follow(step._replace(flush=flushed), self._settings)
        self._lap("race")
        return found

    def _line_up(self) -> None:
        """The race starts anew from where the algorithm in force stands."""
        self._race.begin(self._settings, self._profiler, self._policy, self._since_switch)

    def _follow_shadow(self, event: BatchFiltered, taken: Taken) -> list[FilterInstruction]:
        if self._shadow is None:
            return []
        names = self._profiler.names
        asked = [event.evaluated.get(name, 0) for name in names]
        costs = self._profiler.prices(self._settings)
        drops, n_passed = taken.drops, taken.n_passed
        if not taken.is_complete:
            drops, n_passed = drops[:0], 0
        self._shadow.follow(event.n_tuples, asked, drops, n_passed, costs)
        self._shadow.n_profiled += taken.n_new + taken.n_passed
        if self._shadow.n_profiled < self._settings.min_samples:
            return []
        return self._end_shadow(event.batch_id)

    def _end_shadow(self, batch_id: int) -> list[FilterInstruction]:
        shadow, self._shadow = self._shadow, None
        return list(shadow.outcome(batch_id)) if shadow else []

    def _on_change(self, change: Change | None) -> list[FilterInstruction]:
        """The stream changed: say so, and profile more if that is the policy."""
        if change is None:
            return []
        said = change_words(change)
        policy = self._settings.profile_policy
        if policy != "fixed":
            self._boost.begin(self._settings)
            said += f"; profile probability {self.profile_prob:g} until the window is new"
        if policy == "boost and flush":
            said += f"; {self._profiler.empty()} profile tuples flushed"
        return [Event("change", "stream changed", said)]

    # ------------------------------------------------------------------ the check

    def _check(self, batch_id: int, n_new: int) -> list[FilterInstruction]:
        """One look at the invariant; a violation is answered at once unless something forbids."""
        situation = self._profiler.situation(self._settings)
        finding = self._policy.find(situation)
        if finding is None:
            return []
        names, settings = self._profiler.names, self._settings
        held, waited = len(self._profiler.window), self._since_switch
        verdict = verdict_of(settings, held, finding.is_violated, waited)
        if verdict == "switched" or settings.algorithm in PARTIAL:
            self._judged = self._seen()
        examined = examine(
            situation, self._profiler.window, self._policy, finding, verdict, names, settings
        )
        order, old = examined.order, self._profiler.order
        check = Check(
            batch_id=batch_id,
            verdict=verdict,
            finding=finding,
            explanation=examined.explanation,
            names=names,
            order=old,
            new=tuple(names[x] for x in order) if verdict == "switched" else None,
            n=self._since_check,
            n_sample=situation.n_tuples,
            old_us=examined.old_us,
            new_us=examined.new_us,
            detail=examined.detail,
        )
        self._since_check = 0
        switched = verdict == "switched"
        found = self._switch(check, order) if switched else self._reject(check)
        self._gap = order_gap(situation)
        if self._policy.settle(self._profiler.view, n_new, switched) is not None:
            self._profiler.empty()
        return found

    def _reject(self, check: Check) -> list[FilterInstruction]:
        """Count a check without consequence; record it unless the knob samples it away."""
        self._seq += 1
        if check.verdict != "cooldown":
            self._n_rejected += 1
            if (self._n_rejected - 1) % self._settings.reject_sample_every:
                return []
        versions = (self._version, None)
        return [decision_record(self._seq, self._settings, self._policy, versions, check)]

    def _switch(self, check: Check, order: Sequence[int]) -> list[FilterInstruction]:
        self._seq += 1
        ended = self._end_shadow(check.batch_id)
        self._shadow = Shadow(self._seq, self._profiler.view.order, order)
        self._profiler.adopt(order)
        self._detector.reset()
        self._since_switch = 0
        self._version += 1
        versions = (self._version - 1, self._version)
        record = decision_record(self._seq, self._settings, self._policy, versions, check)
        adopted = AdoptFilters(
            self.plan, check.batch_id + 1, check.explanation, self._seq, check.new_us
        )
        return [*ended, record, adopted]

    # ------------------------------------------------------------------ changes from outside

    def _on_knobs(self, event: KnobsChanged) -> list[FilterInstruction]:
        before, self._settings = self._settings, Settings.of(event.settings)
        if before.algorithm == self._settings.algorithm:
            restaged = before.stage_tuples != self._settings.stage_tuples
            if restaged:
                self._policy = make_policy(self._settings)
            if restaged or before.race != self._settings.race:
                self._line_up()
            return []
        self._policy = make_policy(self._settings)
        gone = self._profiler.keep_complete()
        self._line_up()
        kept = len(self._profiler.window)
        said = (
            f"order {arrows(self.plan.order)} and costs kept; {kept} profile tuples kept, {gone} "
            "flushed because not every filter was asked about them"
        )
        title = f"algorithm {before.algorithm} → {self._settings.algorithm}"
        return [Event("algorithm", title, said)]

    def _on_queries(self, event: QueriesChanged) -> list[FilterInstruction]:
        """Another set of filters: common ones keep their order; the window stays if it can."""
        query = event.queries[0] if event.queries else None
        if query == self._query:
            return []
        ended = self._end_shadow(event.batch_id)
        self._query = query
        carried = carried_over(self._profiler, pipeline_of(query) if query else ())
        self._profiler, self._version = carried.profiler, self._version + 1
        self._first = list(self._profiler.view.order)
        self._policy = make_policy(self._settings)
        self._detector.reset()
        self._gap = self._since_switch = None
        self._line_up()
        reason = f"{event.reason}; {carried.words}; order {arrows(self.plan.order)}"
        return [*ended, AdoptFilters(self.plan, event.batch_id, reason)]
