"""Routers against orders written out, and what they do with what they know."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.draws import draws, seed_of
from backend.systems.amri.routing import (
    ROUTERS,
    FanOuts,
    RouteCosts,
    RouteGraph,
    RouteRequest,
    cheapest,
    flows,
    greedy,
    predicted_frequencies,
)
from storage.vocabulary.amri_patterns import join_attribute_sets
from tests.oracles import amri_routes as twin
from tests.oracles.amri_patterns import Predicate
from tests.unit.amri.cases import as_predicates, clique, predicate_sets

N = 4


def graph_of(predicates: list[Predicate], n: int = N, values_first: bool = False) -> RouteGraph:
    return RouteGraph(join_attribute_sets(as_predicates(predicates), n), values_first)


def known(values: dict[tuple[int, int], float]) -> FanOuts:
    found = FanOuts()
    for (state, pattern), fan_out in values.items():
        found.observe(state, pattern, 1000, round(1000 * fan_out))
    return found


#: Of every state and pattern, drawn by one seed.
ALL_FAN_OUTS = st.integers(0, 2**32 - 1).map(
    lambda seed: {
        (state, pattern): draw % 4001 / 1000
        for state in range(N)
        for pattern, draw in enumerate(draws(seed_of(seed, state), np.arange(16)).tolist())
    }
)


@given(
    predicate_sets(), st.booleans(), ALL_FAN_OUTS, st.integers(0, N - 1), st.floats(0, 0.9),
    st.data(),
)  # fmt: skip
def test_orders_prices_and_choices_are_those_of_the_twin(
    predicates: list[Predicate],
    values_first: bool,
    values: dict[tuple[int, int], float],
    origin: int,
    hysteresis: float,
    data: st.DataObject,
) -> None:
    graph = graph_of(predicates, values_first=values_first)
    orders = twin.allowed(predicates, N, origin, values_first)
    assert graph.orders(origin) == tuple(orders)
    current = data.draw(st.sampled_from(orders))

    def probe(state: int, pattern: int) -> float:
        return 1.0 + state + pattern

    request = RouteRequest(graph, known(values), origin, current, probe, hysteresis)
    prices = {one: twin.price(predicates, values, origin, one, probe) for one in orders}
    found = cheapest(request)
    assert dict(found.prices) == pytest.approx(prices)
    best = found.prices[0][0]
    assert prices[best] == pytest.approx(min(prices.values()))
    assert found.sides is not None
    assert found.sides.lhs == pytest.approx((1 - hysteresis) * prices[current])
    assert found.sides.rhs == pytest.approx(prices[best])
    better = best != current and found.sides.lhs > found.sides.rhs
    assert found.order == (best if better else current)
    assert found.sides.holds == better
    if not values_first:
        assert list(greedy(request).order) == twin.greedy(predicates, values, N, origin)


@given(
    predicate_sets(), st.booleans(), st.sampled_from([*ROUTERS]), st.integers(0, 99),
    st.integers(0, N - 1),
)  # fmt: skip
def test_every_router_gives_an_order_without_avoidable_cartesian_steps(
    predicates: list[Predicate], values_first: bool, name: str, number: int, origin: int
) -> None:
    graph = graph_of(predicates, values_first=values_first)
    orders = graph.orders(origin)
    request = RouteRequest(graph, known({(1, 1): 0.5}), origin, orders[0], number=number, seed=3)
    found = ROUTERS[name](request)
    assert found.order in orders
    assert found == ROUTERS[name](request)


def test_round_robin_takes_each_order_in_its_turn() -> None:
    graph = graph_of(clique(4))
    request = RouteRequest(graph, FanOuts(), 0, (1, 2, 3))
    orders = [
        ROUTERS["round_robin"](RouteRequest(graph, FanOuts(), 0, (1, 2, 3), number=k)).order
        for k in range(7)
    ]
    assert orders == [*graph.orders(0), graph.orders(0)[0]]
    assert len(graph.orders(0)) == 6
    assert ROUTERS["fixed"](request).order == (1, 2, 3)


def test_a_step_by_order_alone_comes_late_where_values_go_first() -> None:
    """S.a = T.a, T.b = U.b and S.c < U.c: from S to U first, half of U goes on."""
    predicates: list[Predicate] = [((0, 0), "=", (1, 0)), ((1, 1), "=", (2, 1))]
    predicates.append(((0, 2), "<", (2, 2)))
    states = join_attribute_sets(as_predicates(predicates), 3)
    assert RouteGraph(states).orders(0) == ((1, 2), (2, 1))
    assert RouteGraph(states, values_first=True).orders(0) == ((1, 2),)
    apart = join_attribute_sets(as_predicates([predicates[0], ((0, 2), "<", (2, 2))]), 4)
    assert RouteGraph(apart, values_first=True).orders(0) == ((1, 2, 3),)


def test_where_orders_alone_hold_states_together_they_are_followed() -> None:
    """S.a < T.a, T.b <= U.b and U.c > V.c: from T either neighbour, V behind U alone."""
    chain: list[Predicate] = [((0, 0), "<", (1, 0)), ((1, 1), "<=", (2, 1)), ((2, 2), ">", (3, 2))]
    graph = graph_of(chain, values_first=True)
    assert graph.orders(0) == ((1, 2, 3),)
    assert graph.orders(1) == ((0, 2, 3), (2, 0, 3), (2, 3, 0))
    fan_outs = known({(0, 1): 9.0, (2, 2): 2.0, (3, 1): 0.5})
    found = cheapest(RouteRequest(graph, fan_outs, 1, (0, 2, 3)))
    assert found.order == (2, 3, 0)
    assert dict(found.prices)[2, 3, 0] == pytest.approx(1 + 2 + 2 * 0.5)


def test_tickets_are_as_many_as_a_state_lets_little_through() -> None:
    graph = graph_of([((0, 0), "=", (1, 0)), ((0, 1), "=", (2, 0))], 3)
    fan_outs = known({(1, 1): 0.5, (2, 1): 2.0})
    drawn = Counter(
        ROUTERS["lottery"](RouteRequest(graph, fan_outs, 0, (1, 2), number=k)).order[0]
        for k in range(4000)
    )
    assert drawn[1] / 4000 == pytest.approx(0.8, abs=0.03)
    random = Counter(
        ROUTERS["random"](RouteRequest(graph, fan_outs, 0, (1, 2), number=k)).order
        for k in range(4000)
    )
    assert random[1, 2] / 4000 == pytest.approx(0.5, abs=0.03)
    free = known({(1, 1): 0.0, (2, 1): 1.0})
    assert ROUTERS["lottery"](RouteRequest(graph, free, 0, (1, 2))).order in graph.orders(0)


def test_fan_outs_are_means_in_which_the_last_batch_counts_most() -> None:
    one = FanOuts()
    assert one.of(0, 3) == 1.0
    one.observe(0, 1, 100, 50)
    assert one.of(0, 1) == 0.5
    one.observe(0, 1, 10, 15)
    assert one.of(0, 1) == pytest.approx(0.8)
    one.observe(0, 1, 0, 0)
    one.observe(0, 2, 10, 7)
    assert one.of(0, 3) == pytest.approx(0.7)
    assert one.of(1, 3) == 1.0
    one.observe(2, 6, 10, 1)
    assert one.of(2, 3) == 1.0
    other = FanOuts()
    other.restore(one.state())
    assert other.of(0, 3) == pytest.approx(0.7)


def test_a_little_cheaper_is_not_enough() -> None:
    graph = graph_of([((0, 0), "=", (1, 0)), ((0, 1), "=", (2, 0))], 3)
    for second, verdict in [(0.79, "switched"), (0.81, "below_threshold"), (1.5, "kept")]:
        request = RouteRequest(graph, known({(1, 1): 1.0, (2, 1): second}), 0, (1, 2))
        found = cheapest(request)
        assert found.sides is not None
        assert found.sides.verdict == verdict
        assert found.order == ((2, 1) if verdict == "switched" else (1, 2))


def test_of_many_states_the_greedy_order_is_compared() -> None:
    star = [((0, k - 1), "=", (k, 0)) for k in range(1, 9)]
    graph = graph_of(star, 9)
    values = {(k, 1): 1.1 - k / 10 for k in range(1, 9)}
    current = tuple(range(1, 9))
    found = cheapest(RouteRequest(graph, known(values), 0, current))
    assert found.order == tuple(range(8, 0, -1))
    assert len(found.prices) == 2


def test_one_route_for_each_stream_asks_a_state_for_three_patterns() -> None:
    """Card A9: of the 7 of a 4-way clique, one for each other stream."""
    graph = graph_of(clique(4))
    routes = [(origin, graph.orders(origin)[0], 1.0) for origin in range(4)]
    found = predicted_frequencies(graph, FanOuts(), routes)
    assert all(len(of) <= 3 for of in found.values())
    every = [(o, order, 1.0) for o in range(4) for order in graph.orders(o)]
    assert all(len(of) == 7 for of in predicted_frequencies(graph, FanOuts(), every).values())


@given(predicate_sets(), ALL_FAN_OUTS)
def test_predicted_frequencies_are_those_of_the_requests(
    predicates: list[Predicate], values: dict[tuple[int, int], float]
) -> None:
    graph, fan_outs = graph_of(predicates), known(values)
    routes = [(o, graph.orders(o)[-1], 1.0 + o) for o in range(N)]
    found = predicted_frequencies(graph, fan_outs, routes)
    asked: defaultdict[tuple[int, int], float] = defaultdict(float)
    for origin, order, elements in routes:
        for one in flows(graph, fan_outs, origin, order):
            asked[one.state, one.pattern] += elements * one.requests
    for state, of in found.items():
        total = sum(n for (s, _), n in asked.items() if s == state)
        assert sum(of.values()) == pytest.approx(1)
        assert of == pytest.approx({p: n / total for (s, p), n in asked.items() if s == state})


def test_orders_are_priced_as_they_were_measured() -> None:
    """Beside ten elements as expected; the last batch counts most; others stay as expected."""
    costs = RouteCosts()
    assert costs.corrected(0, (1, 2), 5.0) == 5.0
    costs.observe(0, (1, 2), 400.0, 200.0)
    assert costs.corrected(0, (1, 2), 5.0) == pytest.approx(5.0 * 450 / 250)
    costs.observe(0, (1, 2), 0.0, 0.0)
    costs.observe(0, (1, 2), 100.0, 100.0)
    assert costs.corrected(0, (1, 2), 5.0) == pytest.approx(5.0 * (380 + 50) / (240 + 50))
    assert costs.corrected(0, (2, 1), 5.0) == costs.corrected(1, (1, 2), 5.0) == 5.0
    again = RouteCosts()
    again.restore(costs.state())
    assert again.corrected(0, (1, 2), 7.0) == costs.corrected(0, (1, 2), 7.0)
    for _ in range(30):
        costs.observe(0, (1, 2), 300.0, 100.0)
    assert costs.corrected(0, (1, 2), 1.0) == pytest.approx(3.0, rel=0.1)
