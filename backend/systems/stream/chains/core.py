"""Scheduling of a network as an operator core: which operators run together, and which first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

from backend.adaptive.core import Evaluations
from backend.adaptive.planlog.logged import Weighed
from backend.model.knobs import KnobSettings, KnobSpec
from backend.operators.network.core.job import NetworkJob, Policy
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.reports import NetworkReport
from backend.operators.network.core.tuning import Tuning
from backend.systems.contract import Refusal, UnitState
from backend.systems.cores import (
    CoreKind,
    CoreNews,
    LaidOutNetwork,
    NetworkRan,
    OperatorCore,
)
from backend.systems.stream.chains.chaining import (
    BY_CHAINS,
    Chaining,
    ChainWatch,
    chain_statistics,
)
from backend.systems.stream.chains.knobs import ChainKnobs
from backend.systems.stream.chains.measured import NetworkProfile
from backend.systems.stream.chains.progress import Paths, slopes_of, steps_of
from backend.systems.stream.chains.published import (
    chain_samples,
    mean_waiting,
    progress_matrix,
    with_chains,
)
from storage.vocabulary.graph import PlanGraph
from storage.vocabulary.properties import Vocabulary
from storage.vocabulary.records import Decision, DecisionOutcome, Json, Matrix, Sample

#: A schedule counts with other costs when the work of a tuple has changed by this share.
COSTS_CHANGED: Final = 0.25
#: In the plan log: what is decided, and the unit of what chains are judged by.
SUBJECT: Final = "chains"
WAITING_UNIT: Final = "elements/tuple"


class Scheduling(OperatorCore):
    """The policy of a network, and its chains as they were last measured."""

    def __init__(self, evaluations: Evaluations) -> None:
        self.chaining = Chaining()
        self._watch, self._profile = ChainWatch(evaluations), NetworkProfile()
        self._knobs = ChainKnobs()
        self._network: LaidOutNetwork | None = None
        self._costs: Mapping[str, float] = {}
        self._work_us = 0.0

    @property
    def _policy(self) -> Policy:
        return cast(Policy, self._knobs.scheduler)

    @property
    def _laid_out(self) -> LaidOutNetwork:
        assert self._network is not None
        return self._network

    @property
    def _steps(self) -> Paths:
        profile = self._profile
        return steps_of(self._laid_out.plan, profile.selectivities, profile.costs)

    def lay_out(self, network: LaidOutNetwork, settings: KnobSettings) -> str:
        before, self._knobs = self._knobs, ChainKnobs.of(settings)
        is_new = self._network is None or network.plan != self._network.plan
        self._network = network
        is_other = before.scheduler != self._knobs.scheduler
        if is_new or is_other:
            self._chain_anew()
        return f"the scheduler is {self._knobs.scheduler}" if is_other else ""

    def _chain_anew(self) -> None:
        """Another network or policy is in force; its chains are those of what is known so far."""
        self._watch.forget()
        self._profile.only(self._laid_out.plan)
        slopes = {}
        if self._policy in BY_CHAINS and self._profile.costs:
            slopes = slopes_of(self._policy, self._steps)
        self.chaining = Chaining(slopes)
        self._recalibrate()

    def _recalibrate(self) -> bool:
        """Schedule with the costs that were measured, once they differ from those in use; whether
        they do."""
        work = self._profile.work_us(self._laid_out.plan)
        is_other = bool(work) and abs(work - self._work_us) > COSTS_CHANGED * self._work_us
        if is_other:
            self._work_us, self._costs = work, self._profile.costs
        return is_other

    def tuned(self, job: NetworkJob) -> NetworkJob:
        schedule = replace(
            job.schedule,
            policy=self._policy,
            slopes=self.chaining.slopes,
            costs=self._costs,
            work=self._work_us,
            load=self._knobs.load,
        )
        return replace(job, schedule=schedule)

    def observe(self, ran: NetworkRan) -> CoreNews:
        batch_id, n_tuples, report = ran.batch_id, ran.n_tuples, ran.report
        self._profile.ran(report.operators)
        is_new = self._recalibrate()
        if not n_tuples:
            return CoreNews((), is_new)
        profile, policy, steps = self._profile, self._policy, self._steps
        waited = mean_waiting(report) / n_tuples
        outcomes = self._watch.outcomes(batch_id, n_tuples, steps, profile, policy, waited)
        names, version = self._laid_out.names, self._knobs.version
        check = self._watch.check(
            batch_id, n_tuples, steps, profile, policy, self.chaining, names, version
        )
        if check.adopted is not None:
            self.chaining, is_new = check.adopted, True
        records: tuple[Decision | DecisionOutcome, ...] = (*outcomes, check.decision)
        statistics = chain_statistics(steps, profile, names)
        weighed = Weighed(check.decision, SUBJECT, WAITING_UNIT, statistics, deciding=0)
        taken = {SUBJECT: (n_tuples, waited * n_tuples)} if policy in BY_CHAINS else {}
        return CoreNews(records, is_new, taken, (weighed,))

    def drawn(self, graph: PlanGraph) -> PlanGraph:
        return with_chains(graph, self._laid_out, self.chaining)

    def samples(self, report: NetworkReport) -> Sequence[Sample]:
        return chain_samples(self._laid_out, self.chaining)

    def matrices(self) -> Sequence[Matrix]:
        return (progress_matrix(self._laid_out, self._steps, self.chaining),)

    def state(self) -> Mapping[str, Json]:
        return {
            "chains": {
                "slopes": self.chaining.state(),
                "profile": self._profile.state(),
                "costs": dict(self._costs),
                "work_us": self._work_us,
                "watch": self._watch.state(),
            }
        }

    def restore(self, state: UnitState) -> None:
        """Chains are taken up while the operators are those they were made of; what was measured of
        others is of use all the same."""
        known = state.facts.get("chains")
        if known is None:
            return
        self._profile = NetworkProfile.restored(known["profile"])
        if known["slopes"].keys() != {step.id for path in self._steps for step in path}:
            self._chain_anew()
            return
        self.chaining = Chaining.restored(known["slopes"])
        self._costs, self._work_us = known["costs"], known["work_us"]
        self._watch.restore(known["watch"])


class SchedulingCores:
    """Which operator of a network runs next; how one runs is up to others."""

    name = "chains"
    title = "Scheduling"
    vocabulary = Vocabulary((), (), {})
    knobs: tuple[KnobSpec, ...] = ChainKnobs.specs()

    def claims(self, plan: NetworkPlan) -> frozenset[str] | Refusal:
        return frozenset()

    def core(self, evaluations: Evaluations) -> OperatorCore:
        return Scheduling(evaluations)

    def rehearsals(self, plan: NetworkPlan) -> Sequence[Mapping[str, Tuning]]:
        return ()


CHAINS: Final[CoreKind] = SchedulingCores()
