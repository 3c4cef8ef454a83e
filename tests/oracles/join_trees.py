"""The best orders and caches of a join by looking at all of them. Slow and obvious."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

from backend.systems.joins.join_model import JoinModel
from backend.systems.joins.joint import priced_by
from backend.systems.joins.shape import Orders
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
