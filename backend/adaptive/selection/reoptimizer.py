"""The decision core of adaptive selection: events in, instructions out. [L12] §4.2 and §5.2

No clock, no I/O, no random numbers: the same events give the same decisions. Deviations from the
paper are those of docs/papers.md: visits as trigger, one sample for all steps, 'no early drop'.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from backend.adaptive.selection.constructs import ConstructSet, build_constructs
from backend.adaptive.selection.cost import Mean, PlanChoice, choose_plan, expected_visits
from backend.adaptive.selection.cover import EXACT_UP_TO, cover_prefix, static_order
from backend.adaptive.selection.evidence import (
    Evaluation,
    Verdict,
    choice_detail,
    decision_record,
    mean_detail,
)
from backend.adaptive.selection.explain import (
    arrows,
    change_sentence,
    choice_sentence,
    count,
    plan_text,
)
from backend.adaptive.selection.knobs import Settings
from backend.adaptive.selection.macro import macro_sequence
from backend.adaptive.selection.matching import Regions
from backend.adaptive.selection.shadow import Shadow
from backend.adaptive.selection.trigger import DROPPING, VISITS, Baseline, Reading, Watched
from backend.adaptive.selection.windows import BatchCounts, CountWindow, ProfileWindow
from backend.model.conditions import ContinuousQuery
from backend.model.events import (
    AdoptPlan,
    BatchExecuted,
    Event,
    Instruction,
    KnobsChanged,
    QueriesChanged,
    SelectionPlan,
)
from backend.model.knobs import KnobSettings
from backend.model.schema import Schema

#: Kinds of evaluation that need no trigger, and how their explanations begin.
_UNTRIGGERED: Final = {
    "initial order": "first measured order",
    "queries changed": "first measured order since the queries changed",
    "stop rule changed": "first measured order since the stop rule changed",
    "visit cost changed": "the cost of a branch-free visit was changed",
}


class Monitor(NamedTuple):
    """What is watched at the moment; None = not known yet.

    n_window, d_window, visits_window: tuples of the running λ window, their tuple dropping ratio
    and visits per tuple (with 'no early drop': of its reference order, from the sample). d_init,
    visits_init: the baselines. window_tuples: sampled tuples in the profile window.
    """

    n_window: int
    d_window: float | None
    visits_window: float | None
    d_init: float | None
    visits_init: float | None
    window_tuples: int


class SelectionReOptimizer:
    """Keeps a visit order or replaces it, with the evidence.

    Every λ tuples the trigger is evaluated; when it fires, a macro-sequence is built from the
    sample, the incumbent, the new order and 'no early drop' are costed on it, and the cheapest
    is adopted from the next batch on. Without a measured baseline (at the start, after a change
    of queries, stop rule or visit cost) the same happens as soon as ``min_samples`` are there.
    """

    def __init__(
        self, queries: Sequence[ContinuousQuery], schema: Schema, settings: KnobSettings
    ) -> None:
        """Raises QueryError as build_constructs does."""
        self._schema = schema
        self._settings = Settings.of(settings)
        self._constructs = build_constructs(queries, schema)
        self._plan = SelectionPlan(1, "early drop", static_order(self._constructs))
        self._profile = ProfileWindow(self._constructs)
        self._window = CountWindow()
        self._baseline: Baseline | None = None
        self._pending: str | None = "initial order"
        self._shadow: Shadow | None = None
        self._n_seen = self._since_check = 0
        self._since_switch: int | None = None
        self._seq = self._n_rejected = 0

    @property
    def plan(self) -> SelectionPlan:
        """The plan in force (or adopted for the next batch)."""
        return self._plan

    @property
    def constructs(self) -> ConstructSet:
        """The constructs of the active queries."""
        return self._constructs

    @property
    def profile_regions(self) -> Regions:
        """intp[T, n]: regions of the profile window's tuples, for the matrices."""
        return self._profile.regions()

    @property
    def monitor(self) -> Monitor:
        """The watched quantities, for display."""
        baseline = self._baseline
        return Monitor(
            n_window=self._window.n_tuples,
            d_window=self._window.dropping_ratio,
            visits_window=self._visits_now(),
            d_init=baseline.d_init if baseline else None,
            visits_init=baseline.visits_init if baseline else None,
            window_tuples=len(self._profile),
        )

    def start(self, batch_id: int = 0) -> list[Instruction]:
        """Version 1: an order from the queries alone, to run until tuples have been sampled."""
        cover = cover_prefix(self._constructs, self._plan.order)
        exact = "minimum" if len(self._plan.order) <= EXACT_UP_TO else "small"
        reason = (
            f"first order, from the queries alone: {exact} cover {arrows(cover)}, least estimated "
            "selectivity first, then schema order; no tuple was seen yet"
        )
        return [AdoptPlan(self._plan, batch_id, reason)]

    def handle(self, event: Event) -> list[Instruction]:
        """The instructions an event calls for. Raises QueryError for queries that cannot be."""
        if isinstance(event, BatchExecuted):
            return self._on_batch(event)
        if isinstance(event, KnobsChanged):
            return self._on_knobs(event)
        return self._on_queries(event)

    # ------------------------------------------------------------------ batches

    def _on_batch(self, event: BatchExecuted) -> list[Instruction]:
        self._n_seen += event.n_tuples
        regions = self._profile.add(event.sample, self._n_seen, self._settings.tau_tuples)
        found: list[Instruction] = []
        if event.plan_version == self._plan.version:
            self._account(event)
            found += self._follow_shadow(event, regions)
        is_due = self._since_check >= self._settings.lambda_tuples
        self._since_check %= self._settings.lambda_tuples
        if self._pending is not None and len(self._profile) >= self._settings.min_samples:
            return [*found, *self._rearrange(self._pending, event.batch_id, None)]
        return [*found, *self._check(event.batch_id)] if is_due else found

    def _account(self, event: BatchExecuted) -> None:
        counts = BatchCounts(event.n_tuples, event.n_matched, event.visits)
        self._window.add(counts, self._settings.lambda_tuples)
        self._since_check += event.n_tuples
        if self._since_switch is not None:
            self._since_switch += event.n_tuples

    def _follow_shadow(self, event: BatchExecuted, regions: Regions) -> list[Instruction]:
        if self._shadow is None:
            return []
        self._shadow.follow(self._constructs, event.n_tuples, event.visits, regions)
        if self._shadow.n_tuples < self._settings.lambda_tuples:
            return []
        return self._end_shadow(event.batch_id)

    def _end_shadow(self, batch_id: int) -> list[Instruction]:
        shadow, self._shadow = self._shadow, None
        return list(shadow.outcome(batch_id)) if shadow else []

    # ------------------------------------------------------------------ the trigger

    def _visits_now(self) -> float | None:
        """Visits per tuple over the window: exact with early drop; without it they are constant,
        so those its order would need with early drop, from the sample."""
        if self._plan.kind == "early drop":
            return self._window.visits
        regions, _ = self._sample()
        return self._expected(regions).value if self._is_enough(regions) else None

    def _reading(self) -> Reading:
        d_now, visits_now, base = self._window.dropping_ratio, self._visits_now(), self._baseline
        if base is None:
            return Reading(self._window.n_tuples, None, None)
        return Reading(
            self._window.n_tuples,
            None if visits_now is None else Watched(VISITS, visits_now, base.visits_init),
            None if d_now is None else Watched(DROPPING, d_now, base.d_init),
        )

    def _check(self, batch_id: int) -> list[Instruction]:
        """One evaluation of the trigger, every λ tuples."""
        settings, reading = self._settings, self._reading()
        watched = reading.decisive(settings.trigger)
        if watched is None:
            return self._reject(batch_id, reading, "thin", self._thin_sentence())
        said = self._change_explanation(watched, reading)
        if watched.change < settings.mu:
            return self._reject(batch_id, reading, "below_threshold", f"{said}; plan kept")
        waited = self._since_switch
        if waited is not None and waited < settings.cooldown_tuples:
            spell = f"{count(waited)} of {count(settings.cooldown_tuples)} cool-down tuples"
            rest = f"not acted on, only {spell} have passed since the last switch"
            return self._reject(batch_id, reading, "cooldown", f"{said}; {rest}")
        if not self._is_enough(self._sample()[0]):
            return self._reject(batch_id, reading, "thin", f"{said}; {self._thin_sentence()}")
        return self._rearrange("rearrangement", batch_id, reading)

    def _is_enough(self, regions: Regions) -> bool:
        return len(regions) >= self._settings.min_samples

    def _expected(self, regions: Regions) -> Mean:
        """Visits per tuple of the running order with early drop on a non-empty sample."""
        order, rule = self._plan.order, self._settings.stop_rule
        return expected_visits(self._constructs, regions, order, rule)

    def _thin_sentence(self) -> str:
        have, need = count(len(self._profile)), count(self._settings.min_samples)
        return f"not acted on, {have} sampled tuples of the {need} needed"

    def _reject(
        self, batch_id: int, reading: Reading, verdict: Verdict, sentence: str
    ) -> list[Instruction]:
        """Count a rejected evaluation; record it unless the knob samples it away."""
        self._seq += 1
        if verdict != "cooldown":
            self._n_rejected += 1
            if (self._n_rejected - 1) % self._settings.reject_sample_every:
                return []
        regions, source = self._sample()
        interval = mean_detail(self._expected(regions)) if len(regions) else None
        detail = {"sample": source, "visits_ci": interval}
        found = Evaluation(
            "rearrangement", verdict, batch_id, reading, len(regions), sentence, detail
        )
        return [decision_record(self._seq, self._settings, self._plan, None, found)]

    # ------------------------------------------------------------------ a new plan

    def _sample(self) -> tuple[Regions, str]:
        """Sampled tuples of the last λ, whatever plan they ran under, when they are enough, else
        the whole profile window."""
        recent = self._profile.regions(self._n_seen - self._settings.lambda_tuples)
        if self._is_enough(recent):
            return recent, "last λ tuples"
        return self._profile.regions(), "profile window"

    def _rearrange(self, kind: str, batch_id: int, reading: Reading | None) -> list[Instruction]:
        """Build a macro-sequence, cost the plans on the same sample, adopt the cheapest."""
        self._seq += 1
        self._pending = None
        old, settings = self._plan, self._settings
        regions, source = self._sample()
        macro = macro_sequence(self._constructs, regions)
        choice = choose_plan(
            self._constructs, regions, (old.kind, old.order), macro.order, settings.cost_model
        )
        said = self._choice_explanation(kind, choice, reading)
        detail = choice_detail(choice, macro, source)
        verdict: Verdict = "switched" if choice.switches else "kept"
        found = Evaluation(kind, verdict, batch_id, reading, len(regions), said, detail, choice)
        ended = self._end_shadow(batch_id) if choice.switches else []
        adopted = [self._switch(choice, batch_id + 1, said)] if choice.switches else []
        self._baseline = Baseline(choice.d_init, choice.visits_init)
        new = self._plan if choice.switches else None
        return [*ended, decision_record(self._seq, settings, old, new, found), *adopted]

    def _choice_explanation(self, kind: str, choice: PlanChoice, reading: Reading | None) -> str:
        said = choice_sentence(choice, self._settings.no_drop_visit_cost)
        watched = reading.decisive(self._settings.trigger) if reading else None
        if reading is None or watched is None:
            return f"{_UNTRIGGERED[kind]}: {said}"
        return f"{self._change_explanation(watched, reading)}; {said}"

    def _change_explanation(self, watched: Watched, reading: Reading) -> str:
        said = change_sentence(watched, self._settings.mu, reading.n_tuples)
        if self._plan.kind == "early drop" or watched.metric != VISITS:
            return said
        return f"{said}, as its order would need with early drop"

    def _switch(self, choice: PlanChoice, batch_id: int, reason: str) -> AdoptPlan:
        old = self._plan
        self._plan = SelectionPlan(old.version + 1, choice.best.kind, choice.best.order)
        self._shadow = Shadow(self._seq, old, self._plan, self._settings.cost_model)
        self._restart_clocks()
        self._since_switch = 0
        return AdoptPlan(self._plan, batch_id, reason, self._seq, choice.best.cost.value)

    def _restart_clocks(self) -> None:
        """A new plan version: the λ clock starts at its installation (erratum 19)."""
        self._window.clear()
        self._since_check = 0

    # ------------------------------------------------------------------ changes from outside

    def _on_knobs(self, event: KnobsChanged) -> list[Instruction]:
        before, self._settings = self._settings, Settings.of(event.settings)
        self._profile.trim(self._settings.tau_tuples)
        if before.cost_model == self._settings.cost_model:
            return []
        self._pending = self._pending or "visit cost changed"
        if before.stop_rule == self._settings.stop_rule:
            return []
        self._await("stop rule changed")
        found = self._end_shadow(event.batch_id)
        self._plan = SelectionPlan(self._plan.version + 1, self._plan.kind, self._plan.order)
        self._restart_clocks()
        reason = f"stop rule changed from {before.stop_rule} to {self._settings.stop_rule}"
        return [*found, AdoptPlan(self._plan, event.batch_id, f"{reason}; order kept")]

    def _await(self, kind: str) -> None:
        """Measure anew as soon as the sample suffices."""
        self._baseline = None
        if self._pending != "initial order":
            self._pending = kind

    def _on_queries(self, event: QueriesChanged) -> list[Instruction]:
        constructs = build_constructs(event.queries, self._schema)
        found = self._end_shadow(event.batch_id)
        self._constructs = constructs
        self._profile.rebuild(constructs)
        old = self._plan
        kept = tuple(a for a in old.order if a in constructs.constructs)
        appended = tuple(a for a in constructs.attributes if a not in kept)
        order = kept + appended if kept else static_order(constructs)
        self._plan = SelectionPlan(old.version + 1, old.kind, order)
        self._restart_clocks()
        self._await("queries changed")
        added = f" ({', '.join(appended)} newly used)" if appended else ""
        reason = f"{event.reason}; {plan_text(old.kind, order)}{added}"
        return [*found, AdoptPlan(self._plan, event.batch_id, reason)]
