"""Shared cases: the joins of the text, random joins, random problems of selection."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import strategies as st

from backend.operators.network.kinds.joins import JoinOp
from backend.systems.joins.decide.candidates import candidates
from backend.systems.joins.decide.selection import CacheSelection, PricedCache
from backend.systems.joins.decide.shape import JoinShape, Orders


def numbered(*orders: str) -> Orders:
    """``"23456"`` of R1 and so on: inputs as in the text, from 1."""
    return tuple(tuple(int(name) - 1 for name in order) for order in orders)


def shape_of(n: int, *classes: str) -> JoinShape:
    """``"123"``: a class of R1, R2, R3."""
    return JoinShape(
        n,
        tuple(frozenset(int(name) - 1 for name in one) for one in classes),
        tuple(f"R{i + 1}" for i in range(n)),
    )


def on_one_attribute(n: int) -> JoinShape:
    """R1 ⋈ ... ⋈ Rn on A."""
    return JoinShape.of(JoinOp((tuple((i, 0) for i in range(n)),)), n)


def chain(n: int) -> JoinShape:
    """R1.A = R2.A, R2.B = R3.B and so on."""
    return JoinShape.of(JoinOp(tuple(((i, 1), (j, 0)) for i, j in pairwise(range(n)))), n)


#: Example 5.5.1.
SIX_WAY = numbered("23456", "13546", "21456", "51236", "42316", "21453")


@st.composite
def orders_of(draw: st.DrawFn, n: int) -> Orders:
    """Any pipelines of n inputs."""
    return tuple(tuple(draw(st.permutations([j for j in range(n) if j != i]))) for i in range(n))


@st.composite
def laminar_orders(draw: st.DrawFn, n: int) -> Orders:
    """Pipelines with many prefix sets: inputs are merged like clusters, each pipeline begins with
    the rest of its own cluster."""
    clusters: list[list[int]] = [[i] for i in range(n)]
    orders: list[list[int]] = [[] for _ in range(n)]
    while len(clusters) > 1:
        a, b = draw(st.permutations(range(len(clusters))))[:2]
        for mine, theirs in ((a, b), (b, a)):
            for i in clusters[mine]:
                orders[i] += draw(st.permutations(clusters[theirs]))
        merged = clusters[a] + clusters[b]
        clusters = [one for k, one in enumerate(clusters) if k not in (a, b)] + [merged]
    return tuple(map(tuple, orders))


@st.composite
def shapes(draw: st.DrawFn, n: int) -> JoinShape:
    """One attribute, a chain, or any classes."""
    kind = draw(st.sampled_from(["one", "chain", "any"]))
    if kind == "one":
        return on_one_attribute(n)
    if kind == "chain":
        return chain(n)
    members = st.lists(st.integers(0, n - 1), min_size=2, max_size=n, unique=True)
    classes = draw(st.lists(members, max_size=4))
    return JoinShape.of(JoinOp(tuple(tuple((i, 0) for i in one) for one in classes)), n)


@st.composite
def problems(draw: st.DrawFn, most: int = 5, quota: int = 0) -> CacheSelection:
    """Costs of operators and caches at random, ties among them; some caches pay, some do not."""
    n = draw(st.integers(3, most))
    shape = draw(shapes(n))
    orders = draw(laminar_orders(n) if draw(st.booleans()) else orders_of(n))
    return draw(priced(shape, orders, quota))


@st.composite
def priced(draw: st.DrawFn, shape: JoinShape, orders: Orders, quota: int = 0) -> CacheSelection:
    """The candidates of orders at random costs."""
    costs = st.integers(0, 8).map(float)
    steps = shape.n - 1
    bare = tuple(tuple(draw(costs) for _ in range(steps)) for _ in range(shape.n))
    found = []
    for one in candidates(shape, orders, quota):
        procs = tuple(draw(costs) * draw(st.sampled_from([0.5, 1.0, 2.0])) for _ in one.readers)
        found.append(PricedCache(one, draw(costs), procs))
    return CacheSelection(bare, tuple(found))


def words(found: Sequence[frozenset[int]]) -> list[str]:
    """Sets of inputs as in the text: ``"12"``."""
    return ["".join(str(i + 1) for i in sorted(one)) for one in found]
