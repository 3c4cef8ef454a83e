"""The best orders and caches of a join by looking at all of them. Slow and obvious."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

from backend.systems.joins.decide.candidates import prefix_candidates
from backend.systems.joins.decide.costs import bare_costs, maintenance_cost, reader_costs
from backend.systems.joins.decide.join_model import JoinModel
from backend.systems.joins.decide.selection import CacheSelection, PricedCache
from backend.systems.joins.decide.shape import Orders
from tests.oracles.cache_choices import best_value


def all_orders(model: JoinModel) -> Iterator[Orders]:
    """All pipelines without products that could be avoided."""
    n = model.shape.n
    each = []
    for i in range(n):
        orders = permutations([j for j in range(n) if j != i])
        each.append(
            [
                one
                for one in orders
                if all(model.may_follow((i, *one[:k]), one[k]) for k in range(n - 1))
            ]
        )
    return product(*each)


def least_cost(model: JoinModel) -> float:
    """Of all orders with all choices of caches."""
    problems = (priced_by(model, orders) for orders in all_orders(model))
    return min(sum(map(sum, one.bare)) - best_value(one) for one in problems)


def priced_by(model: JoinModel, orders: Orders) -> CacheSelection:
    """The prefix candidates of some orders and all costs, by the model."""
    flows = [model.flow(i, order) for i, order in enumerate(orders)]
    found = []
    for one in prefix_candidates(model.shape, orders):
        procs = []
        for at in one.readers:
            joined = frozenset((at.pipeline, *orders[at.pipeline][: at.first]))
            miss = model.miss_prob((at.pipeline, joined, one.key))
            procs.append(reader_costs(flows[at.pipeline], at, model.units, miss, 1).proc)
        found.append(PricedCache(one, maintenance_cost(one, flows, model.units), tuple(procs)))
    return CacheSelection(bare_costs(flows), tuple(found))
