"""Which caches a join uses, from profiling to selection and back. [B05] §5.5, card 10.4

Candidates are profiled until W observations of everything are there; then caches are selected, if
something moved since the last time; after an interval all begins anew. A cache in use whose benefit
falls below its cost goes at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from backend.operators.network.joins.join_tuning import CacheSpec, JoinTuning, Segment
from backend.systems.joins.decide.activity import Activity
from backend.systems.joins.decide.cache_pages import CachePages
from backend.systems.joins.decide.candidates import CacheCandidate, candidates
from backend.systems.joins.decide.changes import (
    CacheChange,
    PricedCandidate,
    benefit_and_cost,
    largest_change,
)
from backend.systems.joins.decide.costs import bare_costs
from backend.systems.joins.decide.estimates import CacheEstimate, JoinStatistics
from backend.systems.joins.decide.patience import Patience
from backend.systems.joins.decide.profiling import profile_share, steadied
from backend.systems.joins.decide.selecting import SELECTORS, better_of, chosen
from backend.systems.joins.decide.selection import CacheSelection, Choice, outlasting
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.shape import JoinShape, Orders
from backend.systems.joins.decide.states import CacheState, CacheStates, Transition
from storage.vocabulary.kinds import Verdict
from storage.vocabulary.memory import PAGE_BYTES, Tier


class CacheKeeper:
    """The caches of one join, under the present orders."""

    def __init__(self, shape: JoinShape, orders: Orders, settings: JoinSettings) -> None:
        self._shape, self._settings = shape, settings
        self._orders: Orders = ()
        self.states = CacheStates()
        self.candidates: dict[str, CacheCandidate] = {}
        #: What is in use. While a cache is profiled anew it is not, but was selected last.
        self.choice: dict[str, tuple[Segment, ...]] = {}
        self._selected: dict[str, tuple[Segment, ...]] = {}
        self.pages = CachePages(settings)
        self.is_profiling = True
        self._waited = self._elements = 0
        self.is_new = False
        self._compared: dict[str, tuple[float, float]] = {}
        self._shares: tuple[float, ...] = ()
        self._asked = bool(settings.pinned)
        self._patience = Patience()
        self.reordered(orders)

    # ------------------------------------------------------------------ what is in force

    def specs(self) -> tuple[CacheSpec, ...]:
        """Caches in use that have pages."""
        held, ways = self.pages.held, self._settings.cache_ways
        return tuple(
            self.candidates[id].spec(readers, held[id] * PAGE_BYTES, ways)
            for id, readers in self.in_force.items()
        )

    @property
    def in_force(self) -> Choice:
        """What is chosen and has pages."""
        held = self.pages.held
        return {id: readers for id, readers in self.choice.items() if held.get(id)}

    def shadows(self, known: JoinStatistics) -> tuple[CacheSpec, ...]:
        """Candidates that are profiled, with the readers not enough is known of."""
        if self._settings.caching == "off" or (known.waits_for_bare and not self.in_force):
            return ()
        shadows = []
        for id in self.states.which("profiled"):
            cache = self.candidates[id]
            open = [reader for reader in cache.readers if not known.is_shadowed(cache, reader)]
            if open:
                shadows.append(cache.spec(open, PAGE_BYTES, self._settings.cache_ways))
        return tuple(shadows)

    def used(self) -> dict[str, CacheCandidate]:
        """Caches in use, by id."""
        return {id: self.candidates[id] for id in self.choice}

    def profile_prob(self, known: JoinStatistics) -> tuple[float, ...]:
        """By pipeline; candidates wait for observations, and so does all when something changed."""
        if not self._settings.join_profile_prob or self._settings.caching == "off":
            return (self._settings.join_profile_prob,) * self._shape.n
        is_pressed = self.is_profiling or self.is_new
        waits = [is_pressed and not is_done for is_done in known.profiled()]
        pairs = zip(known.shares, waits, strict=True)
        self._shares = steadied(self._shares, [profile_share(self._settings, *p) for p in pairs])
        return self._shares

    # ------------------------------------------------------------------ changes from outside

    def reordered(self, orders: Orders) -> list[Transition]:
        """Other orders: other candidates. A cache in use goes on where its prefix set and segments
        are what they were, whatever stands inside a prefix (erratum 4)."""
        if orders != self._orders:
            self._patience.replanned()
        self._orders = orders
        return self._offer()

    def turn(self, settings: JoinSettings) -> list[Transition]:
        """Other settings. What is pinned is looked at with the next batch."""
        is_other_unit = settings.join_costs != self._settings.join_costs
        self._settings, self._shares = settings, ()
        self.pages.turn(settings)
        offer = self._offer()
        if is_other_unit:
            self.weigh_anew()
        self._asked = not settings.pinned <= self.choice.keys()
        return offer

    def weigh_anew(self) -> None:
        """Nothing is known of what anything costs. Where time counts, that has to be seen without
        caches first, so that none but those that are pinned stays in use."""
        self.choice = {id: r for id, r in self.choice.items() if id in self._settings.pinned}
        for id in (*self.states.which("unused"), *self.states.which("used")):
            if id not in self.choice:
                self.states.step(id, "re-optimization")
        self.pages.keep(self.choice)
        self._compared = {}
        self._patience.replanned()
        self._begin_profiling()

    def _offer(self) -> list[Transition]:
        """The candidates there are now; those that were there keep their state."""
        before, offered = self.candidates, self.offered(self._orders)
        now = {candidate.id: candidate for candidate in offered}
        same = outlasting(self._selected, offered)
        gone = [
            id for id, old in before.items() if id not in now or (now[id] != old and id not in same)
        ]
        offer = [self.states.step(id, "removed") for id in gone]
        new = [id for id in now if id not in self.states]
        offer += [self.states.step(id, "new") for id in new]
        self.candidates, self._selected = now, same
        self.choice = {id: readers for id, readers in same.items() if id in self.choice}
        self.pages.keep(self.choice)
        if new:
            self._compared = {id: of for id, of in self._compared.items() if id not in new}
            self._begin_profiling()
        return offer

    def offered(self, orders: Orders) -> list[CacheCandidate]:
        """The candidates under some orders."""
        settings = self._settings
        if settings.caching == "off":
            return []
        offered = candidates(self._shape, orders, settings.candidates)
        return [candidate for candidate in offered if candidate.id not in settings.forbidden]

    # ------------------------------------------------------------------ the loop

    def passed(
        self,
        n_tuples: int,
        n_elements: int,
        activity: Activity,
        tuning: JoinTuning,
        known: JoinStatistics,
    ) -> None:
        """A batch ran, that ``known`` has taken in. n_tuples: of the batch; n_elements: of the
        join; tuning: it was executed by. ``is_new`` tells whether something changed, until all is
        observed anew."""
        self._waited += n_tuples
        self._elements += n_elements
        is_watched = self.is_new or (self.is_profiling and bool(self.candidates))
        executed = None if is_watched else tuning
        has_moved = bool(n_elements) and self._patience.look(activity, executed, self._settings)
        if has_moved:
            known.begin_profiling()
        self.is_new = has_moved or (self.is_new and not all(known.profiled()))

    def is_due(self, known: JoinStatistics) -> bool:
        """Whether a cache is to go, or something is to be profiled or chosen."""
        if self._settings.caching == "off" or not self.candidates:
            return False
        return bool(self._next(known) or self._losing(known))

    def observe(self, known: JoinStatistics) -> list[CacheChange]:
        """Look at the batches that ``known`` has taken in."""
        changes = self._monitored(known)
        match self._next(known):
            case "selection":
                changes.append(self._select(known, is_forced=self._asked))
            case "profiling":
                self._reprofile(known)
        return changes

    def _next(self, known: JoinStatistics) -> Literal["selection", "profiling", ""]:
        """What is to be done."""
        if self._asked:
            return "selection"
        if self.is_profiling:
            return "selection" if self._is_ready(known) else ""
        is_due = self._patience.is_due(self._waited, self._settings.interval_tuples)
        return "profiling" if is_due else ""

    def problem(self, known: JoinStatistics) -> CacheSelection:
        """All candidates at the moment, whatever their state."""
        return CacheSelection(bare_costs(known.flows()), known.priced(self.candidates.values()))

    def _monitored(self, known: JoinStatistics) -> list[CacheChange]:
        """Drop caches whose benefit fell below their cost."""
        changes = []
        for id in self._losing(known):
            estimates, old, before = self._estimates(known), dict(self.choice), self.states.all()
            problem = self.problem(known)
            step = self.states.step(id, "benefit below cost")
            del self.choice[id], self._selected[id]
            self._patience.selected(True)
            self._claim_pages(estimates, known)
            change = self._change("monitor", "switched", estimates, problem, old, before)
            changes.append(change._replace(dropped=id, transitions=(step,)))
        return changes

    def _losing(self, known: JoinStatistics) -> list[str]:
        """Caches in use whose benefit is below their cost; equal is enough to stay. Where too
        little was observed of pipelines nobody knows."""
        if not known.are_full():
            return []
        return [
            id
            for id in self.states.which("used")
            if id not in self._settings.pinned
            and known.is_observed(id)
            and known.net(self.candidates[id], self.choice[id]) < 0
        ]

    def _is_ready(self, known: JoinStatistics) -> bool:
        """W observations of everything; or as many as an interval gave."""
        if not known.are_full() or (known.waits_for_bare and not self.in_force):
            return False
        is_profiled = all(known.profiled())
        watched = [*self.states.which("profiled"), *self.states.which("used")]
        return self._waited >= self._settings.interval_tuples or (
            is_profiled
            and all(known.is_watched(self.candidates[id], self.choice) for id in watched)
        )

    def _begin_profiling(self) -> None:
        self.is_profiling, self._waited = True, 0

    def _reprofile(self, known: JoinStatistics) -> None:
        """Begin anew: what is profiled is seen as if for the first time."""
        hidden_too = self._patience.looks_behind()
        for step in self.states.reoptimize(self.candidates.values(), hidden_too):
            known.forget(step.cache)
            known.forget_shadows(step.cache)
            self.choice.pop(step.cache, None)
        self.pages.keep(self.choice)
        known.begin_profiling()
        self._begin_profiling()

    # ------------------------------------------------------------------ going on

    def state(self) -> dict[str, Any]:
        """As JSON-typed data."""
        return {
            "states": self.states.all(),
            "selected": {id: [list(r) for r in readers] for id, readers in self._selected.items()},
            "is_profiling": self.is_profiling,
            "waited": self._waited,
            "pages": self.pages.held,
            "compared": {id: list(pair) for id, pair in self._compared.items()},
            "patience": self._patience.state(),
        }

    def restore(self, state: Mapping[str, Any], orders: Orders) -> None:
        """Go on where ``state`` was taken; candidates that are not there under these orders and
        settings are gone, new ones are profiled."""
        self._orders = orders
        offered = {candidate.id: candidate for candidate in self.offered(orders)}
        states = {id: now for id, now in state["states"].items() if id in offered}
        self.states = CacheStates(states)
        self.candidates = {id: offered[id] for id in states}
        self._selected = {
            id: tuple(Segment(*reader) for reader in readers)
            for id, readers in state["selected"].items()
            if id in states
        }
        self.choice = {id: r for id, r in self._selected.items() if states[id] == "used"}
        self.is_profiling, self._waited = bool(state["is_profiling"]), int(state["waited"])
        self._compared = {id: (old[0], old[1]) for id, old in state.get("compared", {}).items()}
        self._patience.restore(state.get("patience", {}))
        self._offer()
        held = {id: int(state["pages"].get(id, 0)) for id in self.choice}
        self.pages.want({id: [Tier(n, 0.0)] for id, n in held.items() if n})

    # ------------------------------------------------------------------ selection

    def _select(self, known: JoinStatistics, is_forced: bool = False) -> CacheChange:
        """Choose among candidates that are used or profiled. is_forced: only make room for pinned
        ones, at once; what is profiled goes on being so."""
        estimates, before = self._estimates(known), self.states.all()
        old = dict(self.choice if is_forced else self._selected)
        open = {id: estimate for id, estimate in estimates.items() if before[id] != "unused"}
        moved = largest_change(self._compared, open)
        is_new = is_forced or moved is None or moved > self._settings.change_share
        problem = self._problem(known, is_forced)  # with the misses that adopting forgets
        selected = new = old
        if is_new:
            select = SELECTORS[self._settings.caching]
            gain = known.least_gain(problem.cost({}))
            selected = dict(select(problem)) if is_forced else chosen(problem, select, gain, old)
            new = better_of(problem, selected, old)
        steps = self._adopt(new, known, is_forced)
        if not is_forced:
            self.is_profiling, self._waited = False, 0
            if is_new:
                self._compared = {id: benefit_and_cost(of) for id, of in estimates.items()}
        self._asked = False
        self._claim_pages(estimates, known)
        has_changed = new != old
        self._patience.selected(has_changed)
        verdict: Verdict = "switched" if has_changed else "below_threshold"
        change = self._change("selection", verdict, estimates, problem, old, before)
        change = change._replace(is_chosen=is_new, moved=moved, transitions=tuple(steps))
        is_kept = new == old != selected
        return change._replace(verdict="kept", new=selected) if is_kept else change

    def _adopt(self, new: Choice, known: JoinStatistics, is_forced: bool) -> list[Transition]:
        """Candidates become what was selected; a cache in use that is not steps back first."""
        steps, cause = [], self.states.step
        for id, state in self.states.all().items():
            if (state == "used") != (id in new) and state != "profiled":
                steps.append(cause(id, "re-optimization"))
            if self.states[id] == "profiled" and (id in new or not is_forced):
                steps.append(cause(id, "selected" if id in new else "not selected"))
                known.forget(id)
        self._selected, self.choice = dict(new), dict(new)
        return steps

    def _problem(self, known: JoinStatistics, is_forced: bool) -> CacheSelection:
        """What is used, pinned and (unless forced) profiled."""
        pinned = self._settings.pinned & self.candidates.keys()
        states = ("used",) if is_forced else ("used", "profiled")
        caches = self.candidates.items()
        open = [cache for id, cache in caches if self.states[id] in states or id in pinned]
        return CacheSelection(bare_costs(known.flows()), known.priced(open), frozenset(pinned))

    # ------------------------------------------------------------------ parts

    def _estimates(self, known: JoinStatistics) -> dict[str, CacheEstimate]:
        flows, units = known.flows(), known.units
        return {id: known.estimate(cache, flows, units) for id, cache in self.candidates.items()}

    def _places(self, id: str, readers: Sequence[Segment]) -> tuple[int, ...]:
        """The places of readers among all of a candidate."""
        return tuple(self.candidates[id].readers.index(reader) for reader in readers)

    def _claim_pages(self, estimates: Mapping[str, CacheEstimate], known: JoinStatistics) -> None:
        self.pages.want(
            {
                id: known.tiers(self.candidates[id], estimates[id], self._places(id, readers))
                for id, readers in self.choice.items()
            }
        )

    def _change(
        self,
        cause: str,
        verdict: Verdict,
        estimates: Mapping[str, CacheEstimate],
        problem: CacheSelection,
        old: Choice,
        before: Mapping[str, CacheState],
    ) -> CacheChange:
        """What is told of a look at the caches."""
        held, caches, n_elements = self.pages.held, [], self._elements
        for id, estimate in estimates.items():
            readers = self.choice.get(id) or old.get(id, ())
            pays = [p for p, reader in enumerate(estimate.readers) if reader.benefit > 0]
            places = self._places(id, readers) or tuple(pays)
            caches.append(
                PricedCandidate(
                    self.candidates[id],
                    estimate,
                    places,
                    old.get(id, ()),
                    self.choice.get(id, ()),
                    before[id],
                    self.states[id],
                    held.get(id, 0),
                )
            )
        self._elements = 0
        new = dict(self.choice)
        return CacheChange(cause, verdict, tuple(caches), problem, old, new, None, n_elements)
