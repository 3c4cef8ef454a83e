"""What became of changes of access methods and of routes, in counted work. (ours)

A change of access methods is judged pattern by pattern: the requests that came since, at what they
took, against what requests of their pattern took while the methods before were in force. A change
of a route is judged by exploration: a share of the elements still takes the route before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

from backend.operators.network.joins.join_kernel import PROBES
from backend.systems.amri.mixing import AccessMethods
from backend.systems.amri.routing import NOT_TAKEN, Order, route_work
from backend.systems.amri.states import StateIndex
from storage.vocabulary.amri_costs import REFINED
from storage.vocabulary.amri_counts import StateCounts, searched
from storage.vocabulary.amri_patterns import Pattern, pattern_of
from storage.vocabulary.records import DecisionOutcome

#: What grows with the tuples that are stored, and what does not.
_GROWING: Final = replace(REFINED, bucket=0.0)
_STAYING: Final = replace(REFINED, compare=0.0, code=0.0)
#: Requests of a pattern from which what they took says something.
LEAST_REQUESTS: Final = 30
#: Elements on the route before that tell what it would cost; elements on the new one after which it
#: is judged by those there were.
EXPLORED, MOST_ELEMENTS = 100, 500_000


class SearchedStretch(NamedTuple):
    """A state while its access methods stay. stored: tuples that a request found, of all requests
    added up."""

    access: AccessMethods
    counts: StateCounts = StateCounts()
    stored: float = 0.0

    @classmethod
    def of(cls, access: AccessMethods, state: StateIndex) -> Self:
        """Of a batch, in which a state was searched by these."""
        last = state.last
        return cls(access, last, last.requests * state.report.n_searched)

    def is_under(self, access: AccessMethods) -> bool:
        """Whether these are its bits and modules."""
        return self.access[:2] == access[:2]

    def plus(self, batch: SearchedStretch) -> SearchedStretch:
        """With a batch; under other methods the stretch begins anew."""
        if not self.is_under(batch.access):
            return batch
        counts = self.counts.plus(batch.counts.arrivals, batch.counts.by_pattern)
        return SearchedStretch(batch.access, counts, self.stored + batch.stored)

    @property
    def mean_stored(self) -> float:
        """Tuples that a request found, on average."""
        return self.stored / max(1, self.counts.requests)

    @property
    def work(self) -> dict[Pattern, tuple[int, float, float]]:
        """By pattern: requests, what comparing tuples and reading codes took them, and what hashing
        attributes and visiting buckets did."""
        bits, _, serves = self.access
        indexed = pattern_of([k for k, n in enumerate(bits) if n], len(bits))
        work = {}
        for pattern, row in self.counts.by_pattern.items():
            module = serves.get(pattern)
            hashed = (pattern & indexed if module is None else module).bit_count()
            work[pattern] = (
                row[PROBES],
                searched(row, _GROWING),
                searched(row, _STAYING) + row[PROBES] * hashed,
            )
        return work

    @property
    def spent(self) -> tuple[int, float]:
        """Requests, and all that they took."""
        work = self.work.values()
        return sum(n for n, *_ in work), sum(compared + rest for _, compared, rest in work)

    def state(self) -> list[Any]:
        """As JSON-typed data."""
        bits, modules, serves = self.access
        served = [[p, module] for p, module in serves.items()]
        return [list(bits), list(modules), served, self.counts.state(), self.stored]

    @classmethod
    def restored(cls, state: Sequence[Any]) -> Self:
        """As ``state`` has it."""
        bits, modules, serves, counts, stored = state
        access = AccessMethods(tuple(bits), tuple(modules), {p: m for p, m in serves})
        return cls(access, StateCounts.restored(counts), stored)


class FollowedSearches(NamedTuple):
    """A change of the access methods of states. least: requests that it is followed for; changed:
    by state the stretch before, and the methods since."""

    decision: int
    least: int
    changed: Mapping[int, tuple[SearchedStretch, AccessMethods]]

    def is_over(
        self, stretches: Sequence[SearchedStretch], batch: Sequence[SearchedStretch]
    ) -> bool:
        """Whether it was followed for long enough, or a batch ran under other methods."""
        n = sum(stretches[port].counts.requests for port in self.changed)
        stay = all(batch[port].is_under(access) for port, (_, access) in self.changed.items())
        return not stay or (self._has_run(stretches) and n >= self.least)

    def _has_run(self, stretches: Sequence[SearchedStretch]) -> bool:
        return all(stretches[port].is_under(new) for port, (_, new) in self.changed.items())

    def outcome(self, batch: int, stretches: Sequence[SearchedStretch]) -> list[DecisionOutcome]:
        """Of a request: of all since, and of those whose pattern was asked for before, too, at what
        they would have taken then. Tuples compared, and codes read, grow with those that are stored
        (Eq. 1)."""
        n, n_alike, cost, new, old = 0, 0, 0.0, 0.0, 0.0
        for port, (before, _) in self.changed.items() if self._has_run(stretches) else ():
            since, known = stretches[port], before.work
            grown = since.mean_stored / before.mean_stored if before.stored else 1.0
            for pattern, (requests, compared, rest) in since.work.items():
                n, cost = n + requests, cost + compared + rest
                n_before, compared_before, rest_before = known.get(pattern, (0, 0, 0))
                if n_before >= LEAST_REQUESTS:
                    n_alike, new = n_alike + requests, new + compared + rest
                    old += requests * (grown * compared_before + rest_before) / n_before
        if not n:
            return []
        of_alike, was = (new / n_alike, old / n_alike) if n_alike else (None, None)
        return [DecisionOutcome(self.decision, batch, cost / n, n, of_alike, was, n_alike)]


@dataclass(slots=True)
class FollowedRoute:
    """A change of the route of an origin. n, cost: of elements that took the new one since; n_old,
    cost_old: of those that explored the one before."""

    decision: int
    origin: int
    old: Order
    new: Order
    n: int = 0
    cost: float = 0.0
    n_old: int = 0
    cost_old: float = 0.0

    def take(self, taken: Mapping[Order, Sequence[int]]) -> None:
        """A batch. taken: by route of the origin its elements, and the work of ``route_work``."""
        n, *work = taken.get(self.new, NOT_TAKEN)
        self.n, self.cost = self.n + n, self.cost + route_work(*work)
        n, *work = taken.get(self.old, NOT_TAKEN)
        self.n_old, self.cost_old = self.n_old + n, self.cost_old + route_work(*work)

    @property
    def is_over(self) -> bool:
        """Whether enough elements explored the route before."""
        return self.n_old >= EXPLORED or self.n >= MOST_ELEMENTS

    def outcome(self, batch: int) -> list[DecisionOutcome]:
        """Of an element."""
        if not self.n:
            return []
        new, old = self.cost / self.n, self.cost_old / self.n_old if self.n_old else None
        return [DecisionOutcome(self.decision, batch, new, self.n, new, old, self.n_old)]


class FollowedChanges:
    """All changes of an eddy that are followed. access: of its states."""

    def __init__(self, access: Sequence[AccessMethods]) -> None:
        self._stretches = [SearchedStretch(methods) for methods in access]
        self._searches: list[FollowedSearches] = []
        self._routes: list[FollowedRoute] = []

    def begin(self, decision: int, access: Mapping[int, AccessMethods], least: int) -> None:
        """Follow a change for so many requests. access: of states since."""
        changed = {
            port: (self._stretches[port], new)
            for port, new in access.items()
            if not self._stretches[port].is_under(new)
        }
        if changed:
            self._searches.append(FollowedSearches(decision, least, changed))

    def begin_route(self, decision: int, origin: int, old: Order, new: Order) -> None:
        """Follow a change of a route."""
        self._routes.append(FollowedRoute(decision, origin, old, new))

    def take(
        self,
        batch: int,
        states: Sequence[SearchedStretch],
        taken: Sequence[Mapping[Order, Sequence[int]]],
    ) -> list[DecisionOutcome]:
        """A batch ran. states: what it asked of each; taken: by origin, the route in force first. A
        change is judged once it was followed for long enough, or when there is another one."""
        outcomes, searches, routes = list[DecisionOutcome](), self._searches, self._routes
        self._searches = []
        for change in searches:
            if change.is_over(self._stretches, states):
                outcomes += change.outcome(batch, self._stretches)
            else:
                self._searches.append(change)
        self._routes = []
        for route in routes:
            is_in_force = next(iter(taken[route.origin])) == route.new
            if is_in_force:
                route.take(taken[route.origin])
            if is_in_force and not route.is_over:
                self._routes.append(route)
            else:
                outcomes += route.outcome(batch)
        pairs = zip(self._stretches, states, strict=True)
        self._stretches = [stretch.plus(state) for stretch, state in pairs]
        return outcomes

    def state(self) -> list[Any]:
        """As JSON-typed data."""
        searches = [
            [change.decision, change.least,
             [[port, before.state(), SearchedStretch(new).state()]
              for port, (before, new) in change.changed.items()]]
            for change in self._searches
        ]  # fmt: skip
        routes = [
            [route.decision, route.origin, list(route.old), list(route.new), route.n, route.cost,
             route.n_old, route.cost_old]
            for route in self._routes
        ]  # fmt: skip
        return [[stretch.state() for stretch in self._stretches], searches, routes]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on where ``state`` was taken."""
        stretches, searches, routes = state
        self._stretches = [*map(SearchedStretch.restored, stretches)]
        self._searches = [
            FollowedSearches(decision, least, {
                port: (SearchedStretch.restored(before), SearchedStretch.restored(new).access)
                for port, before, new in changed
            })
            for decision, least, changed in searches
        ]  # fmt: skip
        self._routes = [
            FollowedRoute(decision, origin, tuple(old), tuple(new), *sums)
            for decision, origin, old, new, *sums in routes
        ]
