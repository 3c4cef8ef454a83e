"""An adaptive run over recorded tuples, as the papers' experiments have it. [L12] §6, [L07] §5.2

No contest, no sampling, no 'no early drop': every tuple is executed under the plan in force and
counted; each λ the trigger compares the stretch with the baselines; when it fires, the plan of the
strategy is built and installed. With monitoring by period the next n-1 periods of τ tuples build
it while the old plan runs on and the trigger waits (erratum 19); with one sample the last τ tuples
do, at once. The monitor's own evaluations are no cost (erratum 23) and counted apart: every
monitored tuple is looked up in all n constructs, once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Protocol

import numpy as np

from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.cost import CostModel, PlanShape, route
from backend.systems.asc.cover import static_order
from backend.systems.asc.hybrid import Compare, Rules
from backend.systems.asc.matching import Regions, StopRule
from backend.systems.asc.monitoring import Monitoring
from backend.systems.asc.orderings import Ordering, propose
from backend.systems.asc.ticket import Lottery, ticket_trace
from backend.systems.asc.walk import Walked
from storage.vocabulary.asc_rule import relative_change


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is simulated.

    strategy: as the ``ordering`` knob; None keeps ``first`` for good. first: the order to begin
    with, that of the queries alone when None. mu: math.inf never fires. trigger: which change is
    compared with μ. tau_tuples, lambda_tuples: τ and λ. interval_tuples: of the report. seed: of
    the lottery. measure_first: build a plan from the first tuples, without waiting for λ.
    """

    strategy: Ordering | None
    tau_tuples: int
    lambda_tuples: int
    mu: float = 0.0
    stop_rule: StopRule = "drop"
    trigger: Literal["visits", "dropping ratio"] = "visits"
    by_period: bool = True
    compare: Compare = "local"
    min_support: int = 10
    interval_tuples: int = 10_000
    seed: int = 1
    first: tuple[str, ...] | None = None
    measure_first: bool = True


class Executed(NamedTuple):
    """Exact counts of some tuples under a plan: constructs visited, tuples that satisfy no query,
    transitions along micro- and macro-arrows."""

    visits: int
    n_unmatched: int
    n_micro: int = 0
    n_macro: int = 0


class Executor(Protocol):
    """Runs tuples, regions intp[T, n] in schema order, under a plan; a lottery goes on from call
    to call."""

    def __call__(
        self, constructs: ConstructSet, regions: Regions, shape: PlanShape, stop_rule: StopRule
    ) -> Executed: ...


class ReferenceExecutor:
    """The executor made of the decision core's own simulations (slow for lotteries)."""

    def __init__(self, seed: int) -> None:
        self._lottery = Lottery(seed)
        self._tickets: dict[str, int] = {}

    def __call__(
        self, constructs: ConstructSet, regions: Regions, shape: PlanShape, stop_rule: StopRule
    ) -> Executed:
        """Counts of the tuples."""
        if shape.kind == "ticket":
            held = [self._tickets.get(a, 1) for a in shape.order]
            drawn = ticket_trace(constructs, regions, shape.order, stop_rule, self._lottery, held)
            self._tickets = dict(zip(shape.order, drawn.tickets, strict=True))
            return Executed(int(drawn.visits.sum()), drawn.n_unmatched)
        routed = route(constructs, regions, shape, stop_rule)
        micro, macro = (routed.n_micro, routed.n_macro) if isinstance(routed, Walked) else (0, 0)
        return Executed(int(routed.visits.sum()), routed.n_unmatched, micro, macro)


@dataclass(frozen=True, slots=True)
class CountedTuples:
    """Counts of the tuples begin .. begin + n_tuples - 1.

    visits: constructs visited. n_unmatched: tuples that satisfy no query. monitor_visits: look-ups
    of the monitor, no part of visits. n_rearranged: plans installed within the interval.
    """

    begin: int
    n_tuples: int = 0
    visits: int = 0
    n_unmatched: int = 0
    monitor_visits: int = 0
    n_micro: int = 0
    n_macro: int = 0
    n_rearranged: int = 0

    @property
    def visits_per_tuple(self) -> float:
        """Mean cost; the interval is never empty."""
        return self.visits / self.n_tuples

    def plus(self, n_tuples: int, done: Executed) -> CountedTuples:
        """The interval with more tuples."""
        return replace(
            self,
            n_tuples=self.n_tuples + n_tuples,
            visits=self.visits + done.visits,
            n_unmatched=self.n_unmatched + done.n_unmatched,
            n_micro=self.n_micro + done.n_micro,
            n_macro=self.n_macro + done.n_macro,
        )


class Installed(NamedTuple):
    """A plan was installed before tuple ``at``."""

    at: int
    shape: PlanShape


@dataclass(frozen=True, slots=True)
class Simulated:
    """The run so far: its intervals, the last one perhaps shorter, and the plans installed."""

    intervals: tuple[CountedTuples, ...]
    plans: tuple[Installed, ...]

    def visits_per_tuple(self, since: int = 0) -> float | None:
        """Mean cost of the intervals that begin at or after tuple ``since``; None without any."""
        return self._per_tuple(since, [i.visits for i in self._from(since)])

    def monitor_visits_per_tuple(self, since: int = 0) -> float | None:
        """Look-ups of the monitor per tuple, likewise."""
        return self._per_tuple(since, [i.monitor_visits for i in self._from(since)])

    def dropping_ratio(self, since: int = 0) -> float | None:
        """Share of tuples that satisfy no query, likewise."""
        return self._per_tuple(since, [i.n_unmatched for i in self._from(since)])

    def micro_ratio(self, since: int = 0) -> float | None:
        """ξ: micro-arrows among all arrows, likewise; None when there was no transition."""
        micro = sum(i.n_micro for i in self._from(since))
        total = micro + sum(i.n_macro for i in self._from(since))
        return micro / total if total else None

    def _from(self, since: int) -> list[CountedTuples]:
        return [i for i in self.intervals if i.begin >= since]

    def _per_tuple(self, since: int, counts: list[int]) -> float | None:
        n = sum(i.n_tuples for i in self._from(since))
        return sum(counts) / n if n else None


class Simulation:
    """One run; feed it tuples in any portions, then read ``result``."""

    def __init__(
        self, constructs: ConstructSet, scenario: Scenario, executor: Executor | None = None
    ) -> None:
        """executor: the core's own when None; a faster one must count the same."""
        self._constructs, self._scenario = constructs, scenario
        self._execute = executor or ReferenceExecutor(scenario.seed)
        first = scenario.first or static_order(constructs)
        is_ticket = scenario.strategy == "ticket"
        self._shape = PlanShape("ticket" if is_ticket else "early drop", first)
        self._adapts = scenario.strategy is not None and not is_ticket
        self._plans = [Installed(0, self._shape)]
        self._intervals: list[CountedTuples] = []
        self._at = 0
        self._baseline: Executed | None = None
        self._n_baseline = 0
        self._stretch, self._n_stretch = Executed(0, 0), 0
        self._monitoring: Monitoring | None = None
        self._recent: list[Regions] = []
        if self._adapts and scenario.measure_first:
            self._monitoring = self._new_monitoring()

    def feed(self, regions: Regions) -> Simulation:
        """Run tuples, integers[T, n] in schema order, and return the simulation."""
        for piece in self._pieces(regions):
            part = np.asarray(piece, dtype=np.intp)
            done = self._execute(self._constructs, part, self._shape, self._scenario.stop_rule)
            self._count(len(part), done)
            if self._adapts:
                self._adapt(part)
        return self

    @property
    def result(self) -> Simulated:
        """What happened so far."""
        return Simulated(tuple(self._intervals), tuple(self._plans))

    def _pieces(self, regions: Regions) -> Iterator[Regions]:
        """The tuples cut where something may happen: intervals, periods, checks end."""
        start = 0
        while start < len(regions):
            end = min(len(regions), start + self._until_next())
            yield regions[start:end]
            start = end

    def _until_next(self) -> int:
        interval = self._scenario.interval_tuples
        ends = [interval - self._at % interval]
        if self._monitoring is not None:
            ends.append(self._monitoring.n_missing(self._scenario.tau_tuples))
        elif self._adapts:
            ends.append(self._scenario.lambda_tuples - self._n_stretch)
        return max(1, min(ends))

    def _count(self, n_tuples: int, done: Executed) -> None:
        if self._at % self._scenario.interval_tuples == 0:
            self._intervals.append(CountedTuples(self._at))
        self._at += n_tuples
        self._intervals[-1] = self._intervals[-1].plus(n_tuples, done)
        total = zip(self._stretch, done, strict=True)
        self._stretch = Executed(*(a + b for a, b in total))
        self._n_stretch += n_tuples

    def _adapt(self, part: Regions) -> None:
        """Monitor, or evaluate the trigger when λ tuples are over."""
        tau = self._scenario.tau_tuples
        if not self._scenario.by_period:
            self._recent = _last([*self._recent, part], tau)
        if self._monitoring is not None:
            self._monitoring.add(part, tau)
            self._note_monitored(len(part))
            if self._monitoring.is_complete:
                periods, self._monitoring = self._monitoring.periods, None
                self._install(periods)
        elif self._n_stretch >= self._scenario.lambda_tuples:
            if self._fires():
                self._rearrange()
            else:
                self._stretch, self._n_stretch = Executed(0, 0), 0

    def _rearrange(self) -> None:
        if self._scenario.by_period and len(self._constructs.attributes) > 1:
            self._monitoring = self._new_monitoring()
            return
        sample = np.concatenate(self._recent) if self._recent else None
        if sample is not None:
            self._note_monitored(len(sample))
            self._install([sample])

    def _new_monitoring(self) -> Monitoring:
        n_periods = len(self._constructs.attributes) - 1 if self._scenario.by_period else 1
        return Monitoring("simulated", None, max(1, n_periods))

    def _note_monitored(self, n_tuples: int) -> None:
        looked = n_tuples * len(self._constructs.attributes)
        last = self._intervals[-1]
        self._intervals[-1] = replace(last, monitor_visits=last.monitor_visits + looked)

    def _install(self, periods: list[Regions]) -> None:
        """Build the plan; its baselines are those of the monitored tuples (erratum 18)."""
        scenario = self._scenario
        assert scenario.strategy is not None
        rules = Rules(scenario.stop_rule, scenario.compare, scenario.min_support)
        model = CostModel(scenario.stop_rule, 1.0)
        proposed = propose(scenario.strategy, self._constructs, periods, model, rules)
        self._shape = proposed.shape
        self._plans.append(Installed(self._at, proposed.shape))
        last = self._intervals[-1]
        self._intervals[-1] = replace(last, n_rearranged=last.n_rearranged + 1)
        seen = np.concatenate(periods)
        ran = route(self._constructs, seen, proposed.shape, scenario.stop_rule)
        self._baseline = Executed(int(ran.visits.sum()), ran.n_unmatched)
        self._n_baseline = len(seen)
        self._stretch, self._n_stretch = Executed(0, 0), 0

    def _fires(self) -> bool:
        """Eq. 5 on the stretch; without a baseline the first check always fires."""
        if self._baseline is None:
            return True
        by_visits = self._scenario.trigger == "visits"
        now, init = self._stretch, self._baseline
        counts = (now.visits, init.visits) if by_visits else (now.n_unmatched, init.n_unmatched)
        change = relative_change(counts[0] / self._n_stretch, counts[1] / self._n_baseline)
        return change >= self._scenario.mu


def _last(parts: list[Regions], n: int) -> list[Regions]:
    """The last n tuples of the parts."""
    together = np.concatenate(parts)
    return [together[-n:]]
