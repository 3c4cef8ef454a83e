"""What the decision core watches: samples, counts of the λ window, baselines and clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from backend.adaptive.core import Cooldown
from backend.adaptive.stats import Mean, mean_of
from backend.model.events import BatchExecuted, SelectionPlan
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.cost import CostModel, PlanShape, route
from backend.systems.asc.knobs import AscKnobs
from backend.systems.asc.matching import Regions
from backend.systems.asc.orderings import Ordering
from backend.systems.asc.regret import Regret
from backend.systems.asc.trigger import DROPPING, VISITS, Baseline, Reading, Watched
from backend.systems.asc.windows import BatchCounts, CountWindow, SampleWindow


class SelectionMonitor(NamedTuple):
    """What is watched at the moment; None = not known yet.

    n_window, d_window, visits_window: tuples of the running λ window, their tuple dropping ratio
    and visits per tuple (with 'no early drop': of its reference order, from the sample). d_init,
    visits_init: the baselines. window_tuples: sampled tuples in the profile window. regret: the
    last entry of the ledger.
    """

    n_window: int
    d_window: float | None
    visits_window: float | None
    d_init: float | None
    visits_init: float | None
    window_tuples: int
    regret: Regret = Regret()


class Watch:
    """The windows and clocks behind the trigger."""

    def __init__(self, constructs: ConstructSet) -> None:
        self.profile = SampleWindow(constructs)
        self.window = CountWindow()
        self.baseline: Baseline | None = None
        self.cooldown = Cooldown()
        self._constructs = constructs
        self.n_seen = self._since_check = 0

    def sampled(self, event: BatchExecuted, tau: int) -> Regions:
        """Take in a batch's sample; its regions."""
        self.n_seen += event.n_tuples
        return self.profile.add(event.sample, self.n_seen, tau)

    def count(self, event: BatchExecuted, lambda_tuples: int) -> None:
        """Account for a batch that ran under the plan in force."""
        counts = BatchCounts(event.n_tuples, event.n_matched, event.visits)
        self.window.add(counts, lambda_tuples)
        self._since_check += event.n_tuples
        self.cooldown.passed(event.n_tuples)

    def is_due(self, lambda_tuples: int) -> bool:
        """Whether λ tuples have passed since the last evaluation (true once)."""
        due = self._since_check >= lambda_tuples
        self._since_check %= lambda_tuples
        return due

    def restart(self) -> None:
        """A new plan version: the λ clock starts at its installation (erratum 19)."""
        self.window.clear()
        self._since_check = 0

    def rebuild(self, constructs: ConstructSet) -> None:
        """Go over to other constructs."""
        self._constructs = constructs
        self.profile.rebuild(constructs)

    def sample(self, knobs: AscKnobs) -> tuple[Regions, str]:
        """Sampled tuples of the last λ, whatever plan they ran under, when they are enough, else
        the whole profile window; and which of the two."""
        recent = self.profile.regions(self.n_seen - knobs.lambda_tuples)
        if len(recent) >= knobs.least_samples:
            return recent, "last λ tuples"
        return self.profile.regions(), "profile window"

    def held(self, knobs: AscKnobs) -> tuple[int, int]:
        """How many sampled tuples there are of the last λ, and in the whole profile window."""
        return self.profile.count(self.n_seen - knobs.lambda_tuples), len(self.profile)

    def visits_now(self, plan: SelectionPlan, knobs: AscKnobs) -> float | None:
        """Visits per tuple over the window: exact with early drop; without it they are constant,
        so those its order would need with early drop, from the sample."""
        if plan.kind != "no early drop":
            return self.window.visits
        regions, _ = self.sample(knobs)
        if len(regions) < knobs.least_samples:
            return None
        return self.expected_visits(plan, regions, knobs).value

    def expected_visits(self, plan: SelectionPlan, regions: Regions, knobs: AscKnobs) -> Mean:
        """Visits per tuple under the plan (with early drop) on a non-empty sample."""
        routed = route(self._constructs, regions, PlanShape.of(plan), knobs.stop_rule)
        return mean_of(routed.visits)

    def reading(self, plan: SelectionPlan, knobs: AscKnobs) -> Reading:
        """Both watched quantities against their baselines."""
        d_now, visits_now = self.window.dropping_ratio, self.visits_now(plan, knobs)
        base = self.baseline
        if base is None:
            return Reading(self.window.n_tuples, None, None)
        return Reading(
            self.window.n_tuples,
            None if visits_now is None else Watched(VISITS, visits_now, base.visits_init),
            None if d_now is None else Watched(DROPPING, d_now, base.d_init),
        )

    def monitor(self, plan: SelectionPlan, knobs: AscKnobs, regret: Regret) -> SelectionMonitor:
        """The watched quantities, for display."""
        return SelectionMonitor(
            n_window=self.window.n_tuples,
            d_window=self.window.dropping_ratio,
            visits_window=self.visits_now(plan, knobs),
            d_init=self.baseline.d_init if self.baseline else None,
            visits_init=self.baseline.visits_init if self.baseline else None,
            window_tuples=len(self.profile),
            regret=regret,
        )


@dataclass(frozen=True, slots=True)
class EvaluationMoment:
    """The state of the core at an evaluation: the trigger read, or a plan to be built without it.

    plan, built_by: in force until now. watch: with the baseline and the clocks as they were then.
    sample: intp[T, n], what plans are compared on; source: which tuples these are. reading: None
    when no trigger called for it. ratios: ω of hybrid plans as last measured; others are unknown.
    weights: of visits of constructs as measured, mean 1; None while they are not.
    """

    seq: int
    batch_id: int
    kind: str
    plan: SelectionPlan
    built_by: Ordering
    watch: Watch
    knobs: AscKnobs
    model: CostModel
    constructs: ConstructSet
    sample: Regions
    source: str
    reading: Reading | None
    ratios: Mapping[PlanShape, float]
    weights: Mapping[str, float] | None

    @property
    def shape(self) -> PlanShape:
        """The plan in force, without its version."""
        return PlanShape.of(self.plan)

    @property
    def watched(self) -> Watched | None:
        """The quantity that called for the evaluation, if one did."""
        return self.reading.decisive(self.knobs.trigger) if self.reading else None
