"""The decision core of adaptive selection: events in, instructions out. [L12] §4.2, §4.3, §5.2

No clock, no I/O, no random numbers: the same events give the same decisions. Deviations from the
paper are those of docs/papers.md: visits as trigger, one sample for all steps, 'no early drop'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from backend.adaptive.core import Evaluations, FollowUp
from backend.adaptive.headroom import recorded
from backend.adaptive.planlog.records import LogJson
from backend.adaptive.words import REFILLED, arrows, count, too_thin
from backend.model.conditions import ContinuousQuery
from backend.model.events import (
    AdoptPlan,
    BatchExecuted,
    Instruction,
    KnobsChanged,
    QueriesChanged,
    SelectionEvent,
    SelectionPlan,
)
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema
from backend.systems.asc.arrows import carried_plan, fitted_plan
from backend.systems.asc.choices import OtherValues
from backend.systems.asc.constructs import ConstructSet, ConstructStore, Progress
from backend.systems.asc.cost import CostModel, PlanShape, executed_cost, sample_costs
from backend.systems.asc.cover import EXACT_UP_TO, cover_prefix, static_order
from backend.systems.asc.evidence import choice_detail, cooldown_detail, decision_record
from backend.systems.asc.explain import change_sentence, plan_text, rearrangement_sentence
from backend.systems.asc.headroom import choice_headroom, rejection_headroom
from backend.systems.asc.knobs import AscKnobs
from backend.systems.asc.matching import Regions, StopRule
from backend.systems.asc.memory import check_memory, taken_in
from backend.systems.asc.monitoring import Monitoring
from backend.systems.asc.orderings import Ordering
from backend.systems.asc.paths import N_PATHS, PathFinder
from backend.systems.asc.rearrange import normalised, rearrange
from backend.systems.asc.regret import RegretLedger, Saved
from backend.systems.asc.steering import SelectionPilot, look_record
from backend.systems.asc.trials import Trials
from backend.systems.asc.trigger import Baseline, Reading
from backend.systems.asc.watch import EvaluationMoment, SelectionMonitor, Watch
from storage.vocabulary.asc_rule import rejection
from storage.vocabulary.kinds import Verdict
from storage.vocabulary.planlog import LOOK
from storage.vocabulary.records import Decision, DecisionOutcome

#: What evidence is counted in.
SAMPLED: Final = "sampled tuples"


class SelectionReOptimizer:
    """Keeps a plan or replaces it, with the evidence.

    Every λ tuples the trigger is evaluated; when it fires, the plan the ``ordering`` knob names is
    built from the sample, it and the incumbent and 'no early drop' are costed on it, and the
    cheapest is adopted from the next batch on. Without a measured baseline (at the start, after a
    change of queries or stop rule) and when knobs that concern plans are turned, the same happens
    as soon as ``min_samples`` are there. With monitoring 'by period' the n-1 periods come first.
    """

    def __init__(
        self,
        queries: Sequence[ContinuousQuery],
        schema: Schema,
        settings: KnobSettings,
        progress: Progress | None = None,
    ) -> None:
        """Raises QueryError as build_constructs does, and for bitmaps above ``bitmap_memory``."""
        self.knobs = AscKnobs.of(settings)
        self._store = ConstructStore(schema, queries, progress)
        self._constructs = self._store.snapshot()
        check_memory(self._constructs, self.knobs.bitmap_bytes)
        self._plan = SelectionPlan(1, "early drop", static_order(self._constructs))
        self._built_by: Ordering = "macro"
        self._watch = Watch(self._constructs)
        self._ledger = RegretLedger(PlanShape.of(self._plan))
        self._finder = PathFinder(self._constructs)
        self.trials, self._others = Trials(), OtherValues()
        self._pending: str | None = "initial order"
        self._monitoring: Monitoring | None = None
        self._follow_up: FollowUp[PlanShape, Regions] = FollowUp()
        self._measured: dict[str, float] = {}
        self._evaluations = Evaluations()
        self.pilot = SelectionPilot(self._constructs)

    @property
    def plan(self) -> SelectionPlan:
        """The plan in force (or adopted for the next batch)."""
        return self._plan

    @property
    def constructs(self) -> ConstructSet:
        """The constructs of the active queries."""
        return self._constructs

    @property
    def stop_rule(self) -> StopRule:
        """The stop rule in force."""
        return self.knobs.stop_rule

    @property
    def profile_regions(self) -> Regions:
        """intp[T, n]: regions of the profile window's tuples, for the matrices."""
        return self._watch.profile.regions()

    @property
    def monitor(self) -> SelectionMonitor:
        """The watched quantities, for display."""
        return self._watch.monitor(self._plan, self.knobs, self._ledger.entry)

    def start(self, batch_id: int = 0) -> list[Instruction]:
        """Version 1: an order from the queries alone, to run until tuples have been sampled."""
        cover = cover_prefix(self._constructs, self._plan.order)
        exact = "minimum" if len(self._plan.order) <= EXACT_UP_TO else "small"
        reason = (
            f"first order, from the queries alone: {exact} cover {arrows(cover)}, least estimated "
            "selectivity first, then schema order; no tuple was seen yet"
        )
        return [AdoptPlan(self._plan, batch_id, reason)]

    def resume(
        self,
        shape: PlanShape,
        version: int,
        n_decisions: int,
        batch_id: int,
        saved: Saved,
        looks: Sequence[Mapping[str, LogJson]] = (),
        n_tuples: int = 0,
    ) -> list[Instruction]:
        """Go on with a plan that was in force when the run was ended from outside; everything that
        was sampled is gone. n_decisions: evaluations so far. saved: what the ledger had come to.
        looks: of the autopilot, as recorded; n_tuples: of input so far, 0 = not known."""
        instructions = [REFILLED, *self.pilot.resume(looks, n_tuples)]
        fitted = fitted_plan(shape, self._constructs)
        first = fitted_plan(saved.first, self._constructs)
        self._evaluations.seq, self._built_by = n_decisions, self.knobs.ordering
        # the autopilot goes on looking; thresholds have to measure what they compare with
        self._pending = None if self.knobs.is_piloted and n_decisions else "run resumed"
        self._ledger = RegretLedger(first, saved.total, saved.se)
        self._plan = fitted.versioned(version)
        if fitted == shape:
            return list[Instruction](instructions)
        self._plan = fitted.versioned(version + 1)
        reason = f"the run went on with other queries; {plan_text(fitted)}"
        return [AdoptPlan(self._plan, batch_id, reason), *instructions]

    def handle(self, event: SelectionEvent) -> list[Instruction]:
        """The instructions an event calls for. Raises QueryError for queries that cannot be."""
        if isinstance(event, BatchExecuted):
            return self._on_batch(event)
        if isinstance(event, KnobsChanged):
            return self._on_knobs(event)
        return self._on_queries(event)

    # ------------------------------------------------------------------ batches

    def _on_batch(self, event: BatchExecuted) -> list[Instruction]:
        knobs = self.knobs
        self._store.settle()
        self._measured = dict(event.visit_costs) or self._measured
        regions = self._watch.sampled(event, knobs.tau_tuples)
        self.pilot.sampled(event.n_tuples, regions if knobs.is_piloted else None)
        instructions: list[Instruction] = []
        if event.plan_version == self._plan.version:
            self._watch.count(event, knobs.lambda_tuples)
            self._ledger.add(event.n_tuples, regions)
            instructions += self._follow(event, regions)
            if knobs.is_piloted:
                self.pilot.executed(event, self._plan, self.cost_model())
        is_due = self._watch.is_due(knobs.lambda_tuples)
        if is_due:
            self._settle()
        return [*instructions, *self._evaluate(event.batch_id, regions, is_due)]

    def _evaluate(self, batch_id: int, regions: Regions, is_due: bool) -> list[Instruction]:
        """What is due after a batch: a period to collect, a plan to build, or the trigger."""
        knobs = self.knobs
        enough = len(self._watch.profile) >= knobs.least_samples
        if self._pending is not None and self._monitoring is None and enough:
            kind, self._pending = self._pending, None
            return self._call_for(kind, batch_id, None)
        if self._monitoring is not None:
            self._monitoring.add(regions, knobs.tau_tuples)
            if not self._monitoring.is_complete:
                return []
            done, self._monitoring = self._monitoring, None
            self._watch.restart()
            return self._rearrange(done.kind, batch_id, done.reading, done.periods)
        if knobs.is_piloted:
            return self._look(batch_id)
        return self._check(batch_id) if is_due else []

    def _call_for(self, kind: str, batch_id: int, reading: Reading | None) -> list[Instruction]:
        """A rearrangement: at once, or after its monitoring periods."""
        n_periods = len(self._constructs.attributes) - 1
        if self.knobs.by_period and n_periods > 0:
            self._monitoring = Monitoring(kind, reading, n_periods)
            return []
        return self._rearrange(kind, batch_id, reading, [])

    def _follow(self, event: BatchExecuted, regions: Regions) -> list[DecisionOutcome]:
        """What the last switch came to, once λ tuples have passed."""
        if not self._follow_up.is_on:
            return []
        plan = PlanShape.of(self._plan)
        spent = executed_cost(plan, self._followed_model, event.visits, event.reached)
        self._follow_up.follow(event.n_tuples, spent, regions)
        if self._follow_up.n_tuples < self.knobs.lambda_tuples:
            return []
        return self._follow_up.end(event.batch_id)

    def _settle(self) -> None:
        """An entry of the regret ledger."""
        self._ledger.settle(self._constructs, PlanShape.of(self._plan), self.cost_model())

    def _weights(self) -> Mapping[str, float] | None:
        return normalised(self._measured, self._constructs.attributes)

    def cost_model(self) -> CostModel:
        """What visits cost now."""
        return self.knobs.cost_model(self._weights(), self._constructs.n_words)

    # ------------------------------------------------------------------ the trigger

    def _check(self, batch_id: int) -> list[Instruction]:
        """One evaluation of the trigger, every λ tuples."""
        knobs, watch = self.knobs, self._watch
        reading = watch.reading(self._plan, knobs)
        watched = reading.decisive(knobs.trigger)
        change = watched.change if watched else None
        cools_down, sample = watch.cooldown.holds(knobs.cooldown_tuples), watch.sample(knobs)[0]
        verdict = rejection(change, knobs.mu, cools_down, len(sample), knobs.least_samples)
        if verdict is None:
            return self._call_for("rearrangement", batch_id, reading)
        why = too_thin(len(watch.profile), knobs.least_samples, SAMPLED)
        if verdict == "below_threshold":
            why = "plan kept"
        elif verdict == "cooldown":
            spell = f"{count(watch.cooldown.waited or 0)} of {count(knobs.cooldown_tuples)}"
            why = f"not acted on, only {spell} cool-down tuples have passed since the last switch"
        return self._reject(batch_id, reading, verdict, why)

    def _reject(
        self, batch_id: int, reading: Reading, verdict: Verdict, why: str
    ) -> list[Instruction]:
        """Count a rejected evaluation; record it unless the knob samples it away."""
        moment = self._moment("rearrangement", batch_id, reading)
        self.trials.rejected(moment, verdict)
        if not self._evaluations.is_stored(verdict, self.knobs.reject_sample_every):
            return []
        visits = None
        if len(moment.sample):
            visits = self._watch.expected_visits(self._plan, moment.sample, self.knobs).detail()
        detail: dict[str, Any] = {"sample": moment.source, "visits_ci": visits}
        detail |= {"paths": self._paths(), **cooldown_detail(moment, verdict)}
        detail |= self.trials.taken() | self._others.at(moment)
        detail |= recorded(rejection_headroom(moment, verdict, len(self._watch.profile), SAMPLED))
        watched = moment.watched
        sentence = why if watched is None else f"{change_sentence(moment, watched)}; {why}"
        return [decision_record(moment, verdict, sentence, detail)]

    def _moment(self, kind: str, batch_id: int, reading: Reading | None) -> EvaluationMoment:
        """One more evaluation, before anything changes."""
        sample, source = self._watch.sample(self.knobs)
        return EvaluationMoment(
            seq=self._evaluations.count(),
            batch_id=batch_id,
            kind=kind,
            plan=self._plan,
            built_by=self._built_by,
            watch=self._watch,
            knobs=self.knobs,
            model=self.cost_model(),
            constructs=self._constructs,
            sample=sample,
            source=source,
            reading=reading,
            ratios=self._ledger.ratios,
            weights=self._weights(),
        )

    def _paths(self) -> list[dict[str, object]]:
        """Ways of the last sampled tuples under the plan in force."""
        values, regions = self._watch.profile.recent(N_PATHS)
        return self._finder.paths(PlanShape.of(self._plan), self.stop_rule, values, regions)

    # ------------------------------------------------------------------ the autopilot

    def _look(self, batch_id: int) -> list[Instruction]:
        """A look of the autopilot, when one is due."""
        look = self.pilot.look_at(self._plan, self.cost_model(), self.knobs)
        if look is None:
            return []
        moment = self._moment(LOOK, batch_id, None)
        decision, best = look_record(look, moment)
        return [decision] if best is None else self._switch(moment, best, decision)

    # ------------------------------------------------------------------ a new plan

    def _rearrange(
        self, kind: str, batch_id: int, reading: Reading | None, periods: Sequence[Regions]
    ) -> list[Instruction]:
        """Build a plan, cost it and others on the same sample, adopt the cheapest."""
        moment, paths = self._moment(kind, batch_id, reading), self._paths()
        rearrangement = rearrange(moment, periods)
        choice = rearrangement.choice
        self.trials.rebuilt(moment, rearrangement.proposal.shape, choice)
        sentence = rearrangement_sentence(moment, rearrangement)
        detail = {**choice_detail(moment, rearrangement), "paths": paths, **self.trials.taken()}
        detail |= self._others.at(moment) | recorded(choice_headroom(moment, choice))
        verdict: Verdict = "switched" if choice.switches else "kept"
        decision = decision_record(moment, verdict, sentence, detail, choice)
        self._built_by = self.knobs.ordering
        self._watch.baseline = Baseline(choice.d_init, choice.visits_init)
        if not choice.switches:
            return [decision]
        return self._switch(moment, choice.best.shape, decision)

    def _switch(
        self, moment: EvaluationMoment, best: PlanShape, decision: Decision
    ) -> list[Instruction]:
        ended, self._followed_model = self._follow_up.end(moment.batch_id), moment.model
        reason, cost = decision.explanation, decision.predicted_new
        self._settle()
        self._ledger.switched(moment.shape)
        self._plan = best.versioned(self._plan.version + 1)
        price = partial(sample_costs, self._constructs, moment.model)
        self._follow_up.begin(moment.seq, moment.shape, best, price)
        self._watch.restart()
        self._watch.cooldown.switched()
        adopted = AdoptPlan(self._plan, moment.batch_id + 1, reason, moment.seq, cost)
        return [*ended, decision, adopted]

    # ------------------------------------------------------------------ changes from outside

    def _on_knobs(self, event: KnobsChanged) -> list[Instruction]:
        before, now = self.knobs, AscKnobs.of(event.settings)
        if before.stop_rule != now.stop_rule:
            self._settle()
        self.knobs = now
        self._watch.profile.trim(now.tau_tuples)
        if before.monitoring != now.monitoring and self._monitoring is not None:
            self._await(self._monitoring.kind)
        costs = ("no_drop_visit_cost", "visit_costs", "stop_rule")
        if any(getattr(before, name) != getattr(now, name) for name in costs):
            self._pending = self._pending or "visit cost changed"
            self.pilot = SelectionPilot(self._constructs, self.pilot.t)
        if now.ordering == "hybrid" and before.rules != now.rules:
            self._pending = self._pending or "arrow rules changed"
        if before.ordering != now.ordering:
            self._await("ordering changed")
        if before.is_piloted and not now.is_piloted:
            self._await("policy changed")
        if before.stop_rule == now.stop_rule:
            return []
        self._watch.baseline = None
        self._await("stop rule changed")
        self.trials.restart()
        instructions = self._follow_up.end(event.batch_id)
        self._plan = replace(self._plan, version=self._plan.version + 1)
        self._watch.restart()
        reason = f"stop rule changed from {before.stop_rule} to {now.stop_rule}"
        return [*instructions, AdoptPlan(self._plan, event.batch_id, f"{reason}; order kept")]

    def _await(self, kind: str) -> None:
        """Measure anew as soon as the sample suffices; monitoring under way is given up."""
        self._monitoring = None
        if self._pending != "initial order" and kind != "rearrangement":
            self._pending = kind

    def _on_queries(self, event: QueriesChanged) -> list[Instruction]:
        old = self._constructs
        constructs = taken_in(self._store, event.queries, self.knobs.bitmap_bytes)
        self._settle()
        instructions = self._follow_up.end(event.batch_id)
        self._constructs = constructs
        self._finder = PathFinder(constructs)
        self.trials.restart()
        self._watch.rebuild(constructs)
        self.pilot = SelectionPilot(constructs, self.pilot.t)
        shape, appended = carried_plan(PlanShape.of(self._plan), old, constructs)
        first = carried_plan(self._ledger.first, old, constructs)[0]
        before = self._ledger.previous
        self._ledger.rebuild(first, carried_plan(before, old, constructs)[0] if before else None)
        self._plan = shape.versioned(self._plan.version + 1)
        self._watch.restart()
        self._watch.baseline = None
        self._await("queries changed")
        added = f" ({', '.join(appended)} newly used)" if appended else ""
        reason = f"{event.reason}; {plan_text(shape)}{added}"
        return [*instructions, AdoptPlan(self._plan, event.batch_id, reason)]
