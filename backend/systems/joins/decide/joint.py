"""Orders and caches searched together: trees of MJoins. Card 8, 15.7

The text orders pipelines first and then looks for caches, so that an order may leave nothing to
cache. Here a tree is chosen: a laminar family of inputs' sets whose joins are kept, each a cache
that all pipelines which need it read. Given the sets that are paid for, pipelines are independent:
each is a shortest way through the sets of inputs joined so far, by single joins and by look-ups,
that passes through every kept set it belongs to. No kept set is an MJoin, a nest of them a linear
tree, two apart a bushy one (XJoin).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, product
from typing import Final, NamedTuple, TypeAlias

from backend.operators.network.joins.join_tuning import Segment
from backend.systems.joins.decide.candidates import CacheCandidate
from backend.systems.joins.decide.costs import maintenance_cost, reader_costs
from backend.systems.joins.decide.join_model import JoinModel
from backend.systems.joins.decide.shape import Orders

#: Joins of more inputs are ordered pipeline by pipeline.
JOINT_UP_TO_INPUTS: Final = 4

Joined: TypeAlias = frozenset[int]
#: A kept subresult: its inputs, and the key it is read by.
Kept: TypeAlias = tuple[Joined, tuple[int, ...]]


class JoinTree(NamedTuple):
    """orders: of all pipelines. kept: the joins that are kept. cost: per element of the join."""

    orders: Orders
    kept: tuple[Kept, ...]
    cost: float


class _Way(NamedTuple):
    """From one set of joined inputs to another: what it costs, inputs in order."""

    cost: float
    order: tuple[int, ...]


def best_tree(model: JoinModel) -> JoinTree:
    """The cheapest; of equally cheap ones that which keeps least."""
    tree: JoinTree | None = None
    ways = [_Pipeline(model, i) for i in range(model.shape.n)]
    for kept in _families(model):
        upkeep = sum(_upkeep(model, join) for join in kept)
        if tree is not None and upkeep >= tree.cost:
            continue
        paths = [path for pipeline in ways if (path := pipeline.shortest(kept)) is not None]
        cost = upkeep + sum(path.cost for path in paths)
        if len(paths) == len(ways) and (tree is None or cost < tree.cost):
            tree = JoinTree(tuple(path.order for path in paths), kept, cost)
    assert tree is not None  # nothing may always be kept
    return tree


def _families(model: JoinModel) -> Iterator[tuple[Kept, ...]]:
    """Every laminar family of 2..n-1 inputs, with any of the keys of its sets; smallest first."""
    n = model.shape.n
    sets = [
        frozenset(combination)
        for size in range(2, n)
        for combination in combinations(range(n), size)
    ]
    most = max(0, n - 2)
    for family in chain.from_iterable(combinations(sets, k) for k in range(most + 1)):
        if all(a <= b or b <= a or not a & b for a, b in combinations(family, 2)):
            choices = [_some_keys(model, inside) for inside in family]
            for keys in product(*choices):
                yield tuple((a, key) for a, some in zip(family, keys, strict=True) for key in some)


def _some_keys(model: JoinModel, inside: Joined) -> list[tuple[tuple[int, ...], ...]]:
    """All nonempty sets of keys by which pipelines may read a join."""
    outside = [i for i in range(model.shape.n) if i not in inside]
    prefixes = chain.from_iterable(combinations(outside, k) for k in range(1, len(outside) + 1))
    keys = sorted({model.shape.key(prefix, inside) for prefix in prefixes})
    return [some for k in range(1, len(keys) + 1) for some in combinations(keys, k)]


def _upkeep(model: JoinModel, kept: Kept) -> float:
    """An update for each tuple of the kept join that comes or goes."""
    inside, key = kept
    some = {i: (*sorted(inside - {i}), *sorted(set(range(model.shape.n)) - inside)) for i in inside}
    others = {i: tuple(j for j in range(model.shape.n) if j != i) for i in range(model.shape.n)}
    flows = [model.flow(i, order) for i, order in {**others, **some}.items()]
    cache = CacheCandidate(tuple(sorted(inside)), key, ())
    return maintenance_cost(cache, flows, model.units)


class _Pipeline:
    """All ways of the elements of one input."""

    def __init__(self, model: JoinModel, input: int) -> None:
        self._model, self._input = model, input
        self._all = frozenset(range(model.shape.n))
        self._bare: dict[tuple[Joined, Joined], _Way | None] = {}
        self._lookups: dict[tuple[Joined, Joined], _Way | None] = {}

    def shortest(self, kept: tuple[Kept, ...]) -> _Way | None:
        """Through all kept sets that the input belongs to, with look-ups of the others; None: only
        with a product that could be avoided."""
        own = [inside for inside, _ in kept if self._input in inside]
        best: dict[Joined, _Way] = {frozenset({self._input}): _Way(0.0, ())}
        for size in range(1, len(self._all)):
            for joined in [inputs for inputs in best if len(inputs) == size]:
                for after, way in self._steps(joined, kept):
                    if all(after <= inside or joined >= inside for inside in own):
                        total = best[joined].cost + way.cost
                        if after not in best or total < best[after].cost:
                            best[after] = _Way(total, best[joined].order + way.order)
        return best.get(self._all)

    def _steps(self, joined: Joined, kept: tuple[Kept, ...]) -> Iterator[tuple[Joined, _Way]]:
        for j in sorted(self._all - joined):
            after = joined | {j}
            if (way := self._joins(joined, after)) is not None:
                yield after, way
        for inside, key in kept:
            after = joined | inside
            if not joined & inside and self._model.shape.key(joined, inside) == key:
                way = self._looks_up(joined, inside)
                if way is not None:
                    yield after, way

    def _joins(self, before: Joined, after: Joined) -> _Way | None:
        """The cheapest order of joins one by one; None: there is none without a product."""
        if (before, after) not in self._bare:
            self._bare[before, after] = self._joined_one_by_one(before, after)
        return self._bare[before, after]

    def _joined_one_by_one(self, before: Joined, after: Joined) -> _Way | None:
        if before == after:
            return _Way(0.0, ())
        model, i, best = self._model, self._input, None
        for j in sorted(after - before):
            middle = before | {j}
            rest = self._joins(middle, after) if model.may_follow(before, j) else None
            if rest is not None:
                made = model.tuples(i, before) + model.tuples(i, middle)
                cost = model.shares[i] * model.probe_cost * made + rest.cost
                if best is None or cost < best.cost:
                    best = _Way(cost, (j, *rest.order))
        return best

    def _looks_up(self, before: Joined, inside: Joined) -> _Way | None:
        """A look-up of a kept join; its misses are joined one by one."""
        if (before, inside) not in self._lookups:
            self._lookups[before, inside] = self._looked_up(before, inside)
        return self._lookups[before, inside]

    def _looked_up(self, before: Joined, inside: Joined) -> _Way | None:
        model, i = self._model, self._input
        segment = self._joins(before, before | inside)
        if segment is None:
            return None
        ahead = tuple(sorted(before - {i}))
        rest = tuple(sorted(self._all - before - inside))
        flow = model.flow(i, (*ahead, *segment.order, *rest))
        reader = Segment(i, len(ahead), len(ahead) + len(inside) - 1)
        miss = model.miss_prob((i, before, model.shape.key(before, inside)))
        costs = reader_costs(flow, reader, model.units, miss, 1)
        return _Way(costs.proc, segment.order)
