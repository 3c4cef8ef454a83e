"""One eddy: which routes its elements take, and how each state is indexed. [W13]"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import contains
from typing import Any, Final, cast

from backend.adaptive.core import Evaluations
from backend.operators.network.eddy.tuning import EddyProfile, EddyTuning
from backend.operators.network.joins.join_kernel import MATCHES, PROBES
from backend.systems.amri import schedule, telling
from backend.systems.amri.division import divided_bits
from backend.systems.amri.entries import AssessmentReport
from backend.systems.amri.following import FollowedChanges, SearchedStretch
from backend.systems.amri.knobs import AmriKnobs
from backend.systems.amri.memory import IndexPool
from backend.systems.amri.migration import measure
from backend.systems.amri.mixing import AccessMethods, ChosenMix
from backend.systems.amri.overdue import ended_early, is_overdue
from backend.systems.amri.routing import (
    ROUTERS,
    FanOuts,
    Order,
    RouteChoice,
    RouteCosts,
    RouteRequest,
    route_work,
)
from backend.systems.amri.schedule import ScheduleEvent, ScheduleSettings, TuningSchedule
from backend.systems.amri.states import StateIndex
from backend.systems.amri.steering import IndexPilot, index_pilots
from backend.systems.amri.telling import EddyLook
from backend.systems.amri.view import EddyView
from storage.vocabulary.amri_costs import REFINED, Bits
from storage.vocabulary.amri_counts import AGREED, IN_RANGE, PatternCounts, searched
from storage.vocabulary.amri_patterns import Pattern
from storage.vocabulary.memory import Bid, MemoryUse
from storage.vocabulary.records import Decision, DecisionOutcome

#: Batches after a change of a route in which no other one changes.
SETTLING: Final = 2
#: Routes of an origin that elements take, those that are explored among them.
MOST_ROUTES: Final = 24
#: Of what is kept of an eddy between runs; one of another form says nothing to this one.
FORM: Final = 7


class AdaptedEddy:
    """An eddy with its decisions. name: what people call it; n_shards: that it runs in; profile: of
    the last batch; taken: by origin and route, the one in force first, what was counted in it."""

    def __init__(self, view: EddyView, evaluations: Evaluations) -> None:
        self.view, self._evaluations = view, evaluations
        self.name, self.query, self.is_one_of_many, self.n_shards = "", "", False, 1
        self.knobs = AmriKnobs()
        self.states = [
            StateIndex(*of) for of in zip(view.attributes, view.graph.attributes, strict=True)
        ]
        self._log_of: tuple[str, tuple[object, ...]] | None = None
        self.pilots: list[IndexPilot] = []
        self.fan_outs, self.searched, self.measured = FanOuts(), FanOuts(), RouteCosts()
        self.orders: list[Order] = [view.graph.orders(port)[0] for port in range(view.n)]
        self.routes: list[RouteChoice | None] = [None] * view.n
        self.pinned_routes: Mapping[int, Order] = {}
        self.profile: EddyProfile | None = None
        self.taken: list[dict[Order, list[int]]] = [{} for _ in view.names]
        self._following = FollowedChanges([state.in_force for state in self.states])
        self.pool = IndexPool()
        self._schedule: TuningSchedule | None = None
        self._number = self._settling = self._arrivals = 0

    # ------------------------------------------------------------------ what is in force

    def turn(
        self,
        knobs: AmriKnobs,
        pinned: Mapping[str, Bits],
        pinned_routes: Mapping[int, Order] | None = None,
    ) -> None:
        """Other knobs. pinned: bits by state; pinned_routes: by origin."""
        self.knobs, self.pinned_routes = knobs, pinned_routes or {}
        self._pin_routes()
        if self._log_of != (self.name, knobs.priced_by):
            self._log_of, begins = (self.name, knobs.priced_by), self._evaluations.begins
            self.pilots = index_pilots(self.view, self.name, begins, self.pilots)
        for name, state in zip(self.view.names, self.states, strict=True):
            state.turn(knobs, pinned.get(name))
        settings = self._settings
        known = self._schedule
        begun, events = (
            schedule.begin(settings, self.view.n)
            if known is None
            else schedule.turned(settings, known)
        )
        self._schedule = begun
        self._follow(events)
        self.pool.limit_bytes, self.pool.n_shards = knobs.index_pool_bytes, self.n_shards
        self._share_pages()

    def _pin_routes(self) -> None:
        self.orders = [
            self.pinned_routes.get(port, order) for port, order in enumerate(self.orders)
        ]

    def _follow(self, events: Sequence[ScheduleEvent]) -> None:
        """Assessments of slots that are there no more end, without a selection; those that are
        under way go on."""
        assert self._schedule is not None
        assessed = self._schedule.assessed(self._settings.method)
        for port, state in enumerate(self.states):
            if port not in assessed and not is_overdue(state):
                state.assessor = None
        for event in events:
            if self.states[event.state].assessor is None:
                self.states[event.state].begin()

    @property
    def _settings(self) -> ScheduleSettings:
        knobs = self.knobs
        return ScheduleSettings(
            cast(Any, knobs.tuning_schedule), knobs.period_requests, knobs.trigger_requests
        )

    @property
    def tuning(self) -> EddyTuning:
        """How the eddy is to be executed."""
        routes = tuple(map(self._routes_of, range(self.view.n)))
        return EddyTuning(
            routes,
            self.knobs.exploration,
            tuple(state.tuning for state in self.states),
            self.knobs.migration_us,
        )

    def _request(self, port: int) -> RouteRequest:
        return RouteRequest(
            self.view.graph,
            self.fan_outs,
            port,
            self.orders[port],
            self._probe_cost,
            self.knobs.route_hysteresis,
            self._number,
            measured=self.measured,
        )

    def _probe_cost(self, state: int, pattern: Pattern) -> float:
        """What a request of a pattern takes under the bits in force, else as was lately seen; and
        the request itself."""
        expected = self.states[state].expected_cost(pattern)
        return 1.0 + (self.searched.of(state, pattern) if expected is None else expected)

    def grant(self, n_pages: int | None) -> None:
        """So many pages of the pool of the run in each shard; None: as many as it wants."""
        self.pool.granted = n_pages
        self._share_pages()

    def _share_pages(self) -> None:
        """Between the states, by what they want now."""
        named = zip(self.view.names, self.states, strict=True)
        self.pool.wants = {name: state.wanted for name, state in named}
        given = self.pool.bytes_by_state
        for name, state in zip(self.view.names, self.states, strict=True):
            state.n_bytes = given[name]

    def bid(self, entity: str, indexes: Mapping[str, str]) -> Bid:
        """Memory for the indexes of its states. indexes: the entity of each."""
        self._share_pages()
        return self.pool.bid(self._arrivals, entity, indexes)

    @property
    def memory_use(self) -> MemoryUse:
        """Of the last batch."""
        named = zip(self.view.names, self.states, strict=True)
        return self.pool.use({name: state.report.index_bytes for name, state in named})

    # ------------------------------------------------------------------ a batch is over

    def observe(self, batch: int, profile: EddyProfile) -> list[Decision | DecisionOutcome]:
        """What a batch led to."""
        self.profile, self._arrivals = profile, int(profile.came[:, 0].sum())
        self.taken = [
            dict(zip(self._routes_of(port), of, strict=False))
            for port, of in enumerate(profile.routes.tolist())
        ]
        n = int(profile.came.sum())
        if not n:
            return []
        self._number, knobs = self._number + 1, self.knobs
        n_requests = int(profile.requests[:, :, PROBES].sum())
        about = f"{self.name}: " if self.is_one_of_many else ""
        look = EddyLook(batch, n, n_requests, knobs, self._evaluations, self.view, self.name, about)
        counts = [self._counts(profile, port) for port in range(self.view.n)]
        access = [state.in_force for state in self.states]
        for port, state in enumerate(self.states):
            for pattern, row in counts[port].items():
                self.fan_outs.observe(port, pattern, row[PROBES], row[MATCHES])
                self.searched.observe(port, pattern, row[PROBES], searched(row, REFINED))
            state.observe(int(profile.came[port, 0]), counts[port], profile.states[port])
        self._measure(profile)
        stretches = [*map(SearchedStretch.of, access, self.states)]
        outcomes = self._following.take(batch, stretches, self.taken)
        of_states = (
            self._piloted(look, access) if knobs.is_piloted else self._scheduled(look, counts)
        )
        decisions = [*of_states, *self._routed(look)]
        self._share_pages()
        return [*outcomes, *decisions]

    def _measure(self, profile: EddyProfile) -> None:
        """What the routes of the batch cost, beside what the fan-outs say of them, where a router
        asks for that."""
        for port, taken in enumerate(self.taken if self.knobs.router == "cheapest" else ()):
            expected = self._request(port).expected(tuple(taken))
            for (route, (n, *work)), of_one in zip(taken.items(), expected, strict=True):
                if n:
                    self.measured.observe(port, route, route_work(*work), n * of_one)
        if self.knobs.index_costs == "measured":
            measure([state.took for state in self.states], profile)

    def _routes_of(self, port: int) -> tuple[Order, ...]:
        """Of an origin, the order in force first."""
        orders = (self.orders[port], *self.view.graph.orders(port))
        return tuple(dict.fromkeys(orders))[:MOST_ROUTES]

    def _counts(self, profile: EddyProfile, port: int) -> dict[Pattern, PatternCounts]:
        n = len(self.view.attributes[port])
        n_counts = IN_RANGE + n if self.states[port].ordered else AGREED
        rows = profile.requests[port, : 1 << n, :n_counts]
        return {pattern: tuple(row) for pattern, row in enumerate(rows.tolist()) if row[PROBES]}

    def _scheduled(
        self, look: EddyLook, counts: list[dict[Pattern, PatternCounts]]
    ) -> Iterator[Decision]:
        """Assessments that end and begin with the requests of a batch, which come to all states
        side by side. What happens inside of a batch takes effect at its end, and once: the last
        look for changed states, then selections, then assessments that are under way."""
        assert self._schedule is not None
        requests = [sum(row[PROBES] for row in of.values()) for of in counts]
        for pilot, n in zip(self.pilots, requests, strict=True):
            pilot.passed(n)
        self._schedule, events = schedule.after_batch(self._settings, self._schedule, requests)
        for event in [event for event in events if event.sides is not None][-1:]:
            yield telling.schedule_decision(look, event)
        ended = [event.state for event in events if event.kind == "select"]
        for port in dict.fromkeys([*ended, *ended_early(self.states)]):
            yield from self._selected(look, port)
        for port in sorted(self._schedule.assessed(self._settings.method)):
            if self.states[port].assessor is None:
                self.states[port].begin()

    def _piloted(self, look: EddyLook, access: Sequence[AccessMethods]) -> Iterator[Decision]:
        """Looks of the autopilots of states, which were searched by some methods in the batch."""
        for port, (pilot, state) in enumerate(zip(self.pilots, self.states, strict=True)):
            seen = pilot.batch(state, access[port], self.knobs)
            if seen is not None:
                made = telling.look_decision(look, seen.look)
                if seen.look.verdict.is_switch:
                    self._follow_change(made, [port])
                yield made
                if seen.moved:
                    yield telling.slices_decision(look, port, seen.moved, state.migrating)

    def _selected(self, look: EddyLook, port: int) -> Iterator[Decision]:
        """The assessment of a state is over."""
        state = self.states[port]
        if state.assessor is None:
            state.begin()
        chosen = state.select()
        if chosen is None:
            return
        self._share_pages()
        if isinstance(chosen, AssessmentReport):
            yield telling.thin_decision(look, port, chosen, state.access)
            return
        if isinstance(chosen, ChosenMix):
            made = telling.mix_decision(look, port, chosen)
        else:
            made = telling.selection_decision(look, port, chosen)
        if chosen.sides.holds:
            self._follow_change(made, [port])
        yield telling.with_note(made, telling.shortage(state))
        if chosen.moved:
            yield telling.slices_decision(look, port, chosen.moved, state.migrating)
        if self.knobs.bit_division == "shared" and self.knobs.access == "bitmap":
            yield from self._divided(look)

    def _divided(self, look: EddyLook) -> Iterator[Decision]:
        """The bits of all states that are not pinned, together, once each was assessed."""
        states = [state for state in self.states if state.pinned is None]
        priced = [state.priced for state in states if state.priced is not None]
        if len(priced) < len(states):
            return
        budget = self.knobs.index_bits * len(states)
        now = [state.budget for state in states]
        division = divided_bits(priced, now, budget, self.knobs.min_gain)
        names = [self.view.names[self.states.index(state)] for state in states]
        if division.sides.holds:
            for state, bits, taken in zip(states, division.new, division.bits, strict=True):
                state.give(bits, taken)
        made = telling.division_decision(look, names, division)
        if division.sides.holds:
            self._follow_change(made, range(self.view.n))
        yield made

    def _follow_change(self, made: Decision, ports: Iterable[int]) -> None:
        """For as many requests as lie between two turns."""
        access = {port: self.states[port].in_force for port in ports}
        self._following.begin(made.seq, access, self.knobs.period_requests)

    def _routed(self, look: EddyLook) -> Iterator[Decision]:
        """The order of each origin for the next batch; a decision where another one is cheaper.

        Of origins whose orders are compared the one that saves most changes, and then none until
        indexes have followed: if all changed at once, each would for what the others just left."""
        choices = [self._choice(port) for port in range(self.view.n)]
        changing = self._changing(choices)
        self._settling = SETTLING if changing is not None else max(0, self._settling - 1)
        for port, choice in enumerate(choices):
            if choice.sides is not None and choice.sides.holds and port != changing:
                sides = choice.sides._replace(verdict="cooldown")
                choice = RouteChoice(self.orders[port], choice.prices, sides)
            before, self.routes[port] = self.orders[port], choice
            self.orders[port] = choice.order
            if choice.sides is not None and choice.sides.verdict != "kept":
                made = telling.route_decision(look, port, before, choice)
                if choice.sides.holds:
                    self._following.begin_route(made.seq, port, before, choice.order)
                yield made

    def _choice(self, port: int) -> RouteChoice:
        """Of the router; of an origin whose route is pinned that one, whatever is cheaper."""
        choice, pinned = ROUTERS[self.knobs.router](self._request(port)), port in self.pinned_routes
        sides = choice.sides
        if pinned and sides is not None and sides.holds:
            sides = sides._replace(verdict="pinned")
        return RouteChoice(self.orders[port], choice.prices, sides) if pinned else choice

    def _changing(self, choices: Sequence[RouteChoice]) -> int | None:
        """The origin that takes another order."""
        assert self.profile is not None
        came = self.profile.came.sum(axis=1).tolist()
        saved = {
            port: came[port] * (dict(choice.prices)[self.orders[port]] - choice.prices[0][1])
            for port, choice in enumerate(choices)
            if choice.sides is not None and choice.sides.holds and not self._settling
        }
        return max(saved, key=lambda port: saved[port], default=None)

    # ------------------------------------------------------------------ a run that is resumed

    def state(self) -> dict[str, Any]:
        """As JSON-typed data."""
        known = self._schedule
        return {
            "form": FORM,
            "orders": [list(order) for order in self.orders],
            "fan_outs": self.fan_outs.state(),
            "searched": self.searched.state(),
            "measured": self.measured.state(),
            "states": [state.state() for state in self.states],
            "number": self._number,
            "settling": self._settling,
            "arrivals": self._arrivals,
            "granted": self.pool.granted,
            "schedule": None if known is None else list(known),
            "following": self._following.state(),
        }

    def restore(self, state: Mapping[str, Any], totals: None = None) -> None:
        """Go on where ``state`` was taken; one of another form or of another eddy: begin anew."""
        orders = [tuple(order) for order in state.get("orders", ())]
        if state.get("form") != FORM or not self._can_take(orders):
            return
        self.orders, self._number, self.pool.granted = orders, state["number"], state["granted"]
        self._pin_routes()
        self._settling, self._arrivals = state["settling"], state["arrivals"]
        self.fan_outs.restore(state["fan_outs"])
        self.searched.restore(state["searched"])
        self.measured.restore(state["measured"])
        for index, known in zip(self.states, state["states"], strict=True):
            index.restore(known)
        for pilot in self.pilots:
            pilot.forget()
        if "following" in state:
            self._following.restore(state["following"])
        if state["schedule"] is not None:
            known = TuningSchedule.restored(state["schedule"])
            self._schedule, events = schedule.turned(self._settings, known)
            self._follow(events)
        self._share_pages()

    def _can_take(self, orders: Sequence[Order]) -> bool:
        """Whether these are orders of this eddy, one for each origin."""
        every = map(self.view.graph.orders, range(self.view.n))
        return len(orders) == self.view.n and all(map(contains, every, orders))
