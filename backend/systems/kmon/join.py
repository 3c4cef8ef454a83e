"""One join under k-constraints: which are used, what is told of them, and what it may keep.

The estimator of the operator finds k, arrival by arrival; here it is decided between batches which
constraints are to be used, by what they save and cost, and which wait because they proved wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from backend.adaptive.core import Evaluations
from backend.adaptive.words import count
from backend.operators.network.kmon.tuning import (
    UNKNOWN_K,
    ConstraintProfile,
    ConstraintTuning,
    Estimator,
    KMonProfile,
    KMonTuning,
)
from backend.systems.kmon.candidates import ConstrainedJoin
from backend.systems.kmon.choosing import CHOOSERS
from backend.systems.kmon.evidence import Evidence
from backend.systems.kmon.following import Followed, FollowedDecisions, adjustments
from backend.systems.kmon.memory import PoolPart
from backend.systems.kmon.pricing import Pricing
from backend.systems.kmon.remarks import Remarks
from backend.systems.kmon.settings import KMonSettings
from backend.systems.kmon.standing import LOST_TIMES, ConstraintStanding
from backend.systems.kmon.telling import (
    HYSTERESIS,
    Choice,
    Look,
    budget_decision,
    changed_decision,
    cooldown_decision,
    k_decision,
    kept_decision,
    refuted_decision,
    resumed_decision,
    thin_decision,
    thrash_decision,
    threshold_decision,
    waiting_decision,
)
from backend.systems.kmon.totals import JoinTotals
from storage.vocabulary.records import Decision, DecisionOutcome, Event

#: Changes of k of a constraint in a batch that are decisions of their own.
MOST_CHANGES: Final = 16
Record = Decision | DecisionOutcome | Event


class AdaptedKMon:
    """A join with its decisions. name: what people call it; is_one_of_many: others are in the unit,
    too; profile: what it told of the last batch; held_bytes: at its end."""

    def __init__(self, view: ConstrainedJoin, evaluations: Evaluations) -> None:
        self.view, self._evaluations = view, evaluations
        self.name, self.query, self.is_one_of_many = "", "", False
        self.settings = KMonSettings()
        self.standings = {key: ConstraintStanding() for key in view.candidates}
        self.seen, self.totals, self.profile = Evidence.of(view), JoinTotals(), KMonProfile()
        self._followed, self._remarks = FollowedDecisions(), Remarks(view)
        #: Of the run's pool, granted; None: without limit.
        self.n_pages: int | None = None
        self._is_resumed, self.held_bytes = False, 0
        #: As it was last weighed; None: it was not.
        self.chosen: Choice | None = None
        #: Names of constraints by which results of the last batch may be lost.
        self.risks: list[str] = []

    @property
    def arrival(self) -> int:
        """Arrivals since the run began, over all inputs."""
        return sum(self.profile.arrivals or self.seen.arrivals)

    # ------------------------------------------------------------------ what is in force

    def turn(self, settings: KMonSettings) -> str:
        """Other settings; what becomes of constraints by them, '' where nothing does."""
        before, known = self.used, self.settings.declared
        self.settings = settings
        for key, k in settings.declared.items():
            if known.get(key) != k:
                self.standings[key].refuted = UNKNOWN_K
                self.standings[key].use(self.arrival)
        self._settle_choice()
        gone, come = (
            [candidate.name for key, candidate in self.view.candidates.items() if key in keys]
            for keys in (before - self.used, self.used - before)
        )
        uses = {"used from now on": come, "no longer used": gone}
        return "; ".join(f"{words}: {', '.join(names)}" for words, names in uses.items() if names)

    def _settle_choice(self) -> list[str]:
        """What settings say about each constraint, whatever it saves; those taken up by that."""
        taken_up = []
        for key, standing in self.standings.items():
            may = self.settings.may_use(key, standing.refuted)
            takes_all = self.settings.takes_all and not standing.waits(self.arrival)
            if may and not standing.is_used and (key in self.settings.pinned or takes_all):
                standing.use(self.arrival)
                taken_up.append(key)
            elif not may:
                standing.is_used = False
        return taken_up

    @property
    def used(self) -> frozenset[str]:
        """Constraints that tuples are let go by once their k is known."""
        return frozenset(key for key, standing in self.standings.items() if standing.is_used)

    @property
    def working(self) -> frozenset[str]:
        """Of these, those whose k is known and small enough."""
        return frozenset(k for k in self.used if self.settings.is_within(self.standings[k].k))

    @property
    def tuning(self) -> KMonTuning:
        """How the join is to be executed."""
        knobs, constraints = self.settings.knobs, []
        for key, standing in self.standings.items():
            if self.settings.is_offered(key):
                is_away = standing.is_away(self.arrival) and key not in self.settings.forbidden
                k = self.fixed_k(key)
                id = self.view.candidates[key].id
                constraints.append(
                    ConstraintTuning(id, standing.is_used, standing.is_used or not is_away, k)
                )
        return KMonTuning(
            tuple(constraints),
            self.settings.loss,
            knobs.loss_budget,
            knobs.k_factor,
            knobs.k_slack,
            knobs.sample_prob,
            knobs.window_arrivals,
            knobs.k_threshold,
            cast(Estimator, knobs.estimator),
            knobs.gc_arrivals,
        )

    def _risks(self, profile: KMonProfile) -> list[str]:
        """The constraints by which results of a batch may be lost: those in use whose k nobody
        declared, and others that lost some."""
        profiles = profile.constraints
        return [
            candidate.name
            for key, candidate in self.view.candidates.items()
            if candidate.id in profiles
            and self.settings.loss == "budget"
            and self.standings[key].is_used
            and profiles[candidate.id].k != UNKNOWN_K
            and (self.fixed_k(key) == UNKNOWN_K or profiles[candidate.id].n_lost)
        ]

    def fixed_k(self, key: str) -> int:
        """k of a constraint that is not estimated; -1: it is."""
        return self.settings.fixed_k(key, self.standings[key].refuted)

    # ------------------------------------------------------------------ a batch is over

    def observe(self, batch: int, profile: KMonProfile) -> list[Record]:
        """What a batch led to."""
        before, self.profile = self.arrival, profile
        n, self.risks = self.arrival - before, self._risks(profile)
        self.held_bytes = sum(part.n_bytes for part in profile.components)
        self.totals.take(profile)
        declared = {key: self.fixed_k(key) for key in self.standings}
        self.seen.take(self.view, profile, declared, self.settings.window)
        if n <= 0:
            return []
        look = Look(
            batch=batch,
            n=n,
            arrival=self.arrival,
            knobs=self.settings.knobs,
            evaluations=self._evaluations,
            candidates=self.view.candidates,
            join=self.name,
            about=f"{self.query}: " if self.is_one_of_many else "",
        )
        records: list[Record] = [*self._resumed(), *self._measured(batch, n, profile)]
        for key, standing in self.standings.items():
            constraint = profile.constraints.get(self.view.candidates[key].id)
            standing.k, standing.kept = (
                (constraint.k, constraint.kept) if constraint else (UNKNOWN_K, UNKNOWN_K)
            )
            if constraint is not None:
                records += self._noted(look, key, constraint)
        records += self._remarks.of(profile, self.seen, self.working, self.settings.unmet)
        records += self._chosen(look)
        for key in self._settle_choice():
            made = resumed_decision(look, key, self.standings[key].until)
            records += self._made(look, key, made)
        return records

    def _resumed(self) -> Iterator[Event]:
        """Once after a restart: how old the estimates are that go on."""
        each = zip(self.view.candidates.values(), self.standings.values(), strict=True)
        known = [
            f"{candidate.name} (k {count(status.k)} since {count(self.arrival - status.k_since)})"
            for candidate, status in each
            if status.k != UNKNOWN_K
        ]
        if self._is_resumed and known:
            words = "they were made before the run stopped, so many arrivals ago: "
            yield Event("run", "estimates of k go on", words + ", ".join(known))
        self._is_resumed = False

    def _measured(self, batch: int, n: int, profile: KMonProfile) -> list[DecisionOutcome]:
        """What became of earlier decisions."""
        saved = {
            key: self.seen.saved_bytes(candidate, constraint.saved_tuples, self.settings.loss)
            for key, candidate in self.view.candidates.items()
            if (constraint := profile.constraints.get(candidate.id)) is not None
        }
        return self._followed.take(batch, n, self.held_bytes, saved, self.settings.window)

    def _noted(self, look: Look, key: str, constraint: ConstraintProfile) -> Iterator[Record]:
        """What a constraint in use told: changes of k, and what they lead to."""
        standing, changes = self.standings[key], adjustments(constraint.changes)
        if not standing.is_used:
            return
        if changes:
            standing.k_since = changes[-1].arrival
        shown = (
            changes if len(changes) < MOST_CHANGES else [*changes[: MOST_CHANGES - 1], changes[-1]]
        )
        for change in shown:
            n_left = len(changes) - len(shown) if change is shown[-1] else 0
            yield from self._made(look, key, k_decision(look, key, change, n_left))
        lost = [
            change for change in constraint.changes if change.after == UNKNOWN_K != change.before
        ]
        n_lost = max(
            (standing.lose(change.arrival, self.settings.window) for change in lost), default=0
        )
        may_wait = key not in self.settings.pinned
        if may_wait and n_lost >= LOST_TIMES:
            wait = standing.give_up(look.arrival, self.settings.window)
            made = thrash_decision(look, key, n_lost, LOST_TIMES, wait)
            yield from self._made(look, key, made)
        elif may_wait and constraint.n_lost and self._is_over_budget():
            wait = standing.give_up(look.arrival, self.settings.window)
            lost_so_far, results = self.totals.n_lost, self.totals.n_results
            made = budget_decision(look, key, lost_so_far, results, wait)
            yield from self._made(look, key, made)
        yield from self._checked(look, key, constraint)

    def _is_over_budget(self) -> bool:
        """Whether more results were lost than may be, with loss = budget."""
        allowed = self.settings.knobs.loss_budget * self.totals.n_results
        return self.settings.loss == "budget" and self.totals.n_lost > allowed

    def _checked(self, look: Look, key: str, constraint: ConstraintProfile) -> Iterator[Record]:
        """A declared k against the distances of the batch."""
        standing, declared = self.standings[key], self.fixed_k(key)
        is_known = declared == UNKNOWN_K or standing.refuted != UNKNOWN_K
        if is_known or not constraint.n_violations or constraint.largest <= declared:
            return
        standing.refuted = constraint.largest
        then = "it is estimated from now on"
        if self.settings.knobs.constraints == "declared":
            standing.is_used &= self.settings.may_use(key, standing.refuted)
            then = "nothing is lost by it" if standing.is_used else "it is not used any more"
        made = refuted_decision(look, key, declared, constraint.largest, then)
        yield from self._made(look, key, made)

    def _made(self, look: Look, key: str, decision: Decision) -> Iterator[Record]:
        """A decision, and the end of what was followed before."""
        followed = Followed(decision.seq, key, self.held_bytes, self.standings[key].is_used)
        yield from self._followed.begin(look.batch, followed)
        yield decision

    # ------------------------------------------------------------------ the choice

    def _priced(self, *, with_waiting: bool) -> list[str]:
        """Constraints to choose from: those that may be used, with a k that is known."""
        return [
            key
            for key, standing in self.standings.items()
            if self.settings.may_use(key, standing.refuted)
            and self.settings.is_within(self.seen.constraints[key].k)
            and (with_waiting or standing.is_used or not standing.waits(self.arrival))
        ]

    def choice(self, *, with_waiting: bool = False) -> Choice:
        """The best set at the moment; used constraints without a known k stay. with_waiting: as if
        none had to wait."""
        used, at, window = self.used, self.arrival, self.settings.window
        settled = frozenset(k for k in used if self.standings[k].has_settled(at, window))
        kept = {
            key: standing.kept
            for key, standing in self.standings.items()
            if standing.kept != UNKNOWN_K
        }
        pricing = Pricing(
            self.view, self.seen, used, settled, kept, self.settings.loss, self.pool.time_weight
        )
        priced = self._priced(with_waiting=with_waiting)
        problem = pricing.problem(priced, self.settings.pinned | (used - settled))
        weights = {key: 1 - HYSTERESIS if key in used else 1 + HYSTERESIS for key in priced}
        find = CHOOSERS[self.settings.knobs.constraint_choice]
        best = find(problem.weighed(weights)) | (used - set(priced))
        held = self.seen.held_bytes
        return Choice(problem, used, best, used - settled, weights, held)

    def _chosen(self, look: Look) -> Iterator[Record]:
        """Look at the choice; each constraint that is taken up or dropped is a decision."""
        self.chosen = None
        if self.settings.takes_all:
            yield threshold_decision(look, self.working, self.standings)
            return
        choice = self.chosen = self.choice()
        if not choice.problem.costs:
            yield self._idle(look)
            return
        for key in choice.changed:
            standing, wait = self.standings[key], 0
            if key in choice.after:
                standing.use(look.arrival)
            else:
                wait = standing.give_up(look.arrival, self.settings.window)
            yield from self._made(look, key, changed_decision(look, choice, key, wait))
        resting = self._rested(choice)
        if resting:
            yield kept_decision(look, choice, resting)
        elif not choice.changed:
            yield kept_decision(look, choice)
        yield from self._held_back(look)

    def _rested(self, choice: Choice) -> dict[str, int]:
        """Constraints that were not worth it for long, which are not watched for a while: for how
        many arrivals. They can be chosen all the same, by what is known of them."""
        at, window = self.arrival, self.settings.window
        idle = choice.problem.costs.keys() - choice.after
        rests = {key: self.standings[key].idle(at, window) for key in sorted(idle)}
        return {key: rest for key, rest in rests.items() if rest}

    def _waiting(self) -> dict[str, ConstraintStanding]:
        """Those that were given up not long ago."""
        return {key: s for key, s in self.standings.items() if s.waits(self.arrival)}

    def _idle(self, look: Look) -> Decision:
        """There is nothing to choose from."""
        if waiting := self._waiting():
            key = min(waiting, key=lambda key: waiting[key].until)
            return waiting_decision(look, key, waiting[key].until)
        observed = [constraint.n_window for constraint in self.profile.constraints.values()]
        return thin_decision(look, max(observed, default=0))

    def _held_back(self, look: Look) -> Iterator[Record]:
        """Constraints that would be used if they did not wait, each told once in a wait."""
        untold = {key for key, standing in self._waiting().items() if not standing.is_told}
        if not untold:
            return
        choice = self.choice(with_waiting=True)
        for key in sorted(untold & set(choice.changed) & choice.after):
            self.standings[key].is_told = True
            left = self.standings[key].until - look.arrival
            yield cooldown_decision(look, choice, key, left)

    # ------------------------------------------------------------------ memory

    @property
    def pool(self) -> PoolPart:
        """What it has of the memory of the run."""
        arrivals = sum(input.arrivals for input in self.seen.inputs)
        return PoolPart(self.held_bytes, self.n_pages, arrivals)

    # ------------------------------------------------------------------ a run that is resumed

    def state(self) -> dict[str, Any]:
        """As JSON-typed data."""
        return {
            "standings": {key: standing.to_json() for key, standing in self.standings.items()},
            "seen": self.seen.to_json(),
            "followed": self._followed.to_json(),
            "remarks": self._remarks.to_json(),
            "held_bytes": self.held_bytes,
            "risks": self.risks,
        }

    def restore(self, state: Mapping[str, Any], totals: JoinTotals) -> None:
        """Go on where ``state`` was taken; k itself is in the state of the operator."""
        known = state["standings"]
        for key, standing in self.standings.items():
            if key in known:
                self.standings[key] = replace(standing, **known[key])
        self.seen = Evidence.from_json(self.view, state["seen"])
        self._followed, self.totals = FollowedDecisions(state["followed"]), totals
        self._remarks = Remarks(self.view, state["remarks"])
        self.held_bytes, self.risks = state["held_bytes"], state["risks"]
        self._is_resumed = True
        self._settle_choice()
