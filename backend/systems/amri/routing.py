"""In which order an origin's elements visit the other states. [WRA13] §3, card A9, C1

A router is a pure function of the fan-outs observed per (state, pattern). An order lists the other
states; Cartesian steps come last, as late as the join graph allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from backend.model.draws import draws, seed_of
from backend.systems.amri.sides import Sides
from storage.vocabulary.amri_patterns import JoinAttribute, Pattern, access_pattern

Order: TypeAlias = tuple[int, ...]
#: Other states up to which all orders are priced; of more the greedy one is taken.
MOST_PRICED: Final = 6
#: The last batch counts so much in a fan-out.
NEWEST: Final = 0.3
#: Elements that an order is taken to have cost as expected.
EXPECTED: Final = 10
#: A fan-out below this one has as many tickets in the lottery.
LEAST_FAN_OUT: Final = 0.01


class FanOuts:
    """What comes out of a state for each composite that goes in, by (state, pattern): composites,
    or tuples that are compared for them; a mean over batches in which the last one counts
    ``NEWEST``."""

    def __init__(self) -> None:
        self._means: dict[tuple[int, Pattern], float] = {}

    def observe(self, state: int, pattern: Pattern, rows_in: int, rows_out: int) -> None:
        """Counts of a batch; none went in: it says nothing."""
        if rows_in:
            now = rows_out / rows_in
            before = self._means.get((state, pattern), now)
            self._means[state, pattern] = before + NEWEST * (now - before)

    def of(self, state: int, pattern: Pattern) -> float:
        """As observed; else the least of patterns that ask for less, which lets as much through;
        else 1."""
        known = self._means.get((state, pattern))
        if known is not None:
            return known
        wider = (f for (s, p), f in self._means.items() if s == state and p & pattern == p)
        return min(wider, default=1.0)

    def state(self) -> list[list[Any]]:
        """As JSON-typed data."""
        return [[*key, mean] for key, mean in self._means.items()]

    def restore(self, state: Sequence[Sequence[Any]]) -> None:
        """Go on where ``state`` was taken."""
        self._means = {(of, pattern): mean for of, pattern, mean in state}


@dataclass(frozen=True)
class RouteGraph:
    """The states of a join and what each can be asked for. values_first: a step by order alone is
    as late as a Cartesian one, for it lets through about half of what that does (ours)."""

    attributes: tuple[tuple[JoinAttribute, ...], ...]
    values_first: bool = False
    _orders: dict[int, tuple[Order, ...]] = field(default_factory=dict, repr=False, compare=False)
    _patterns: dict[tuple[frozenset[int], int], Pattern] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def n(self) -> int:
        return len(self.attributes)

    def pattern(self, composite: Sequence[int], state: int) -> Pattern:
        """What a composite specifies of a state."""
        asked = frozenset(composite), state
        if asked not in self._patterns:
            self._patterns[asked] = access_pattern(self.attributes[state], composite)
        return self._patterns[asked]

    def next_states(self, composite: Sequence[int]) -> tuple[int, ...]:
        """The states that may follow, ascending: joined to the composite, or, if none is, all."""
        others = [state for state in range(self.n) if state not in composite]
        joined = [s for s in others if self.pattern(composite, s)] or others
        by_value = [s for s in joined if self._has_value(composite, s)] if self.values_first else []
        return tuple(by_value or joined)

    def _has_value(self, composite: Sequence[int], state: int) -> bool:
        """Whether a composite specifies an attribute of a state by a value."""
        return any(not of.equal.isdisjoint(composite) for of in self.attributes[state])

    def orders(self, origin: int) -> tuple[Order, ...]:
        """All orders without an avoidable Cartesian step, lexicographically."""
        if origin not in self._orders:
            others = [state for state in range(self.n) if state != origin]
            self._orders[origin] = tuple(
                order
                for order in permutations(others)
                if all(s in self.next_states((origin, *order[:k])) for k, s in enumerate(order))
            )
        return self._orders[origin]


class Flow(NamedTuple):
    """A step of an order: the state, what is asked of it, requests for each element of the
    origin."""

    state: int
    pattern: Pattern
    requests: float


def flows(graph: RouteGraph, fan_outs: FanOuts, origin: int, order: Order) -> list[Flow]:
    """What an element of the origin does on its way."""
    steps, composites = list[Flow](), 1.0
    for place, state in enumerate(order):
        pattern = graph.pattern((origin, *order[:place]), state)
        steps.append(Flow(state, pattern, composites))
        composites *= fan_outs.of(state, pattern)
    return steps


#: What one request costs: state, pattern -> cost (C_h N_AP + what it compares).
ProbeCost: TypeAlias = Callable[[int, Pattern], float]


class RouteCosts:
    """What elements of an origin were measured to cost on an order, for what they were expected to
    (ours): which composites come to a state depends on the way they came, so that fan-outs by
    pattern alone make other orders look cheaper than they are. Sums over batches of which the
    last one counts most, as in ``FanOuts``, beside ``EXPECTED`` elements as expected."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, Order], tuple[float, float]] = {}

    def observe(self, origin: int, order: Order, cost: float, expected: float) -> None:
        """What the elements of a batch cost, and were expected to cost, in all."""
        if expected > 0:
            before, before_expected = self._sums.get((origin, order), (0.0, 0.0))
            left = 1 - NEWEST
            sums = left * before + cost, left * before_expected + expected
            self._sums[origin, order] = sums

    def corrected(self, origin: int, order: Order, price: float) -> float:
        """The price of an element, as orders were measured."""
        cost, expected = self._sums.get((origin, order), (0.0, 0.0))
        prior = EXPECTED * price
        return price * (cost + prior) / (expected + prior) if prior else price

    def state(self) -> list[list[Any]]:
        """As JSON-typed data."""
        return [[origin, list(order), *sums] for (origin, order), sums in self._sums.items()]

    def restore(self, state: Sequence[Sequence[Any]]) -> None:
        """Go on where ``state`` was taken."""
        self._sums = {
            (origin, tuple(order)): (cost, expected) for origin, order, cost, expected in state
        }


@dataclass(frozen=True, slots=True)
class RouteRequest:
    """What a router decides on: the route of an origin for one batch. current: the order in force;
    hysteresis: share by which another one has to be cheaper; number: of the batch, seed: of all
    draws. measured: what orders were seen to cost."""

    graph: RouteGraph
    fan_outs: FanOuts
    origin: int
    current: Order
    probe_cost: ProbeCost = lambda state, pattern: 1.0
    hysteresis: float = 0.1
    number: int = 0
    seed: int = 0
    measured: RouteCosts = field(default_factory=RouteCosts)

    def price(self, order: Order) -> float:
        """What is expected of an element, as orders were measured."""
        return self.measured.corrected(self.origin, order, self.expected(order))

    def expected(self, order: Order) -> float:
        """Σ over the steps (Π of earlier fan-outs) times the cost of a request (card C1)."""
        steps = flows(self.graph, self.fan_outs, self.origin, order)
        return sum(step.requests * self.probe_cost(step.state, step.pattern) for step in steps)

    def draw(self, n: int, place: int) -> int:
        """A number below n."""
        return int(self.random(place) * n)

    def random(self, place: int) -> float:
        """In [0, 1)."""
        seed = seed_of(self.seed, self.origin, self.number)
        return float(draws(seed, np.array([place]))[0]) / 2.0**32


class RouteChoice(NamedTuple):
    """The order to take, and what it was chosen by. prices: of the orders compared, cheapest
    first; () where none were. sides: price of the order in force against the cheapest one's, raised
    by the hysteresis; None: the router does not compare."""

    order: Order
    prices: tuple[tuple[Order, float], ...] = ()
    sides: Sides | None = None


def fixed(request: RouteRequest) -> RouteChoice:
    """The order in force."""
    return RouteChoice(request.current)


def round_robin(request: RouteRequest) -> RouteChoice:
    """Each order in its turn, batch by batch."""
    orders = request.graph.orders(request.origin)
    return RouteChoice(orders[request.number % len(orders)])


def random(request: RouteRequest) -> RouteChoice:
    """Any order."""
    orders = request.graph.orders(request.origin)
    return RouteChoice(orders[request.draw(len(orders), 0)])


def greedy(request: RouteRequest) -> RouteChoice:
    """Next the state of the lowest fan-out, of equal ones the first."""
    return _step_by_step(request, lambda of, place: min(of, key=lambda s: (of[s], s)))


def lottery(request: RouteRequest) -> RouteChoice:
    """Next a state drawn by its tickets, of which it has the more the less it lets through."""

    def drawn(of: Mapping[int, float], place: int) -> int:
        tickets = {state: 1 / max(LEAST_FAN_OUT, fan_out) for state, fan_out in of.items()}
        left = request.random(place) * sum(tickets.values())
        for state, n in tickets.items():
            left -= n
            if left < 0:
                return state
        return next(reversed(tickets))

    return _step_by_step(request, drawn)


def cheapest(request: RouteRequest) -> RouteChoice:
    """The cheapest of all orders, of equal ones the first, if it is cheaper than the one in force
    by more than the hysteresis. Of more than ``MOST_PRICED`` states the greedy one is compared."""
    graph, origin, current = request.graph, request.origin, request.current
    many = graph.n - 1 > MOST_PRICED
    orders = {greedy(request).order, current} if many else {*graph.orders(origin), current}
    prices = sorted(((order, request.price(order)) for order in orders), key=lambda x: (x[1], x[0]))
    (best, low), old = prices[0], dict(prices)[current]
    least = (1 - request.hysteresis) * old
    is_better = best != current and low < least
    sides = Sides(
        "price of the order in force, less the hysteresis, and of the cheapest",
        least,
        ">",
        low,
        "switched" if is_better else "kept" if best == current else "below_threshold",
    )
    return RouteChoice(best if is_better else current, tuple(prices), sides)


ROUTERS: Final[Mapping[str, Callable[[RouteRequest], RouteChoice]]] = {
    "cheapest": cheapest,
    "greedy": greedy,
    "lottery": lottery,
    "round_robin": round_robin,
    "random": random,
    "fixed": fixed,
}


def predicted_frequencies(
    graph: RouteGraph,
    fan_outs: FanOuts,
    routes: Sequence[tuple[int, Order, float]],
) -> dict[int, dict[Pattern, float]]:
    """By state F of its patterns under these routes, before a request was seen (card A14.6).
    routes: origin, order, elements that take it."""
    by_state: dict[int, dict[Pattern, float]] = {}
    for origin, order, elements in routes:
        for step in flows(graph, fan_outs, origin, order):
            of = by_state.setdefault(step.state, {})
            of[step.pattern] = of.get(step.pattern, 0.0) + elements * step.requests
    return {
        state: {pattern: n / total for pattern, n in sorted(of.items(), reverse=True)}
        for state, of in by_state.items()
        if (total := sum(of.values())) > 0
    }


def _step_by_step(
    request: RouteRequest, choose: Callable[[Mapping[int, float], int], int]
) -> RouteChoice:
    """An order made state by state. choose: from fan-outs by state, and the place of the step."""
    order: Order = ()
    for place in range(request.graph.n - 1):
        composite = (request.origin, *order)
        fan_outs = {
            state: request.fan_outs.of(state, request.graph.pattern(composite, state))
            for state in request.graph.next_states(composite)
        }
        order = (*order, choose(fan_outs, place))
    return RouteChoice(order)
