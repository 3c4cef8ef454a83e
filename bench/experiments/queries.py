"""Query sets made to the published characteristics: Table 1 of [L12], Table 2 of [L07].

The sets themselves are not published. A query uses one attribute of a hub, which so is a cover of
the published size, and others at random; bounds are quantiles of the attribute's values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from backend.cql import parse_query
from backend.systems.asc.constructs import ConstructSet, build_constructs
from backend.systems.asc.cover import minimum_covers
from bench.experiments.streams import Stream

#: Draws tried until every attribute is used.
_TRIES = 100


class QueryShape(NamedTuple):
    """What is known of a set. cover: size of the minimum cover aimed at. matched_prob: sum of the
    queries' match probabilities if attributes were independent. lean: share of one-sided
    predicates that want low values: near 0.5 regions pass about equally many queries, so that the
    standard deviation of Table 1 is met. hub_weight: how much of a query's filtering its hub
    attribute does, relative to another. spread: standard deviation of the logarithm of the queries'
    match probabilities; with narrow and wide queries together tuples die early, or match."""

    n_queries: int
    n_predicates: int
    n_attributes: int
    cover: int = 3
    matched_prob: float = 0.4
    lean: float = 0.6
    hub_weight: float = 2.0
    spread: float = 2.0


Q1 = QueryShape(50, 204, 10)
Q2 = QueryShape(50, 173, 15, lean=0.9)
Q3 = (
    QueryShape(30, 78, 6, lean=0.5),
    QueryShape(30, 81, 7, lean=0.5),
    QueryShape(35, 98, 8, lean=0.8),
    QueryShape(40, 138, 10),
    QueryShape(50, 173, 15, lean=0.95),
)
Q4 = QueryShape(50, 362, 10)
#: [L07] Table 2.
CENSUS_2007 = QueryShape(30, 104, 7, cover=2)
PRUNING_2007 = QueryShape(40, 236, 20, cover=5)


def query_set(shape: QueryShape, seed: int, stream: Stream) -> ConstructSet:
    """The constructs of a seeded set on the first n_attributes of the stream.

    Raises ValueError when the predicates do not suffice to use every attribute.
    """
    names = stream.schema.names[: shape.n_attributes]
    for attempt in range(_TRIES):
        texts = _texts(shape, np.random.default_rng([seed, attempt]), names, stream.grids)
        queries = [parse_query(n, text, {"S": stream.schema}) for n, text in texts.items()]
        constructs = build_constructs(queries, stream.schema)
        if len(constructs.attributes) == shape.n_attributes:
            return constructs
    raise ValueError(
        f"{shape.n_predicates} predicates do not reach {shape.n_attributes} attributes"
    )


def described(shape: QueryShape, constructs: ConstructSet) -> str:
    """The set in one line, with its minimum covers."""
    covers = list(minimum_covers(constructs))
    return (
        f"{shape.n_queries} queries, {shape.n_predicates} predicates, {shape.n_attributes}"
        f" p-attributes; minimum covers: {len(covers)} of size {len(covers[0])};"
        f" std of ones per region {ones_std(constructs):.2f}"
    )


def ones_std(constructs: ConstructSet) -> float:
    """Mean over the constructs of the standard deviation over their regions (NULL left out) of
    the share of using queries a region does not refute (erratum 21)."""
    stds = []
    for construct in constructs.constructs.values():
        used = construct.qub & constructs.initial
        ones = np.bitwise_count(construct.qrb[1:] & used).sum(axis=1)
        stds.append(float(np.std(ones / np.bitwise_count(used).sum())))
    return float(np.mean(stds))


def _texts(
    shape: QueryShape,
    rng: np.random.Generator,
    names: Sequence[str],
    grids: Mapping[str, NDArray[Any]],
) -> dict[str, str]:
    k = shape.n_queries
    sizes = np.full(k, shape.n_predicates // k)
    sizes[rng.permutation(k)[: shape.n_predicates - int(sizes.sum())]] += 1
    weights = np.exp(shape.spread * rng.standard_normal(k))
    targets = shape.matched_prob * weights / weights.sum()
    return {
        f"q{j:02}": "Select * From S Where "
        + _condition(shape, rng, names, grids, int(size), float(target))
        for j, (size, target) in enumerate(zip(sizes, targets, strict=True), start=1)
    }


def _condition(
    shape: QueryShape,
    rng: np.random.Generator,
    names: Sequence[str],
    grids: Mapping[str, NDArray[Any]],
    size: int,
    target: float,
) -> str:
    hub = str(rng.choice(names[: shape.cover]))
    others = [str(name) for name in rng.permutation(names) if name != hub]
    chosen = [hub, *others][:size]
    predicates = []
    if len(chosen) > 2 and rng.random() < 0.25:
        grid = grids[chosen[-1]]
        value = grid[int(rng.uniform(0.2, 0.8) * len(grid))]
        predicates.append(f"{chosen.pop()} = {value}")
        target /= max(float(np.mean(grid == value)), target)
    shares = rng.dirichlet([3.0 * shape.hub_weight, *[3.0] * (len(chosen) - 1)])
    for name, share in zip(chosen, shares, strict=True):
        passed = min(1.0, target) ** float(share)
        predicates.append(_one_sided(rng, name, grids[name], passed, rng.random() < shape.lean))
    return " and ".join(predicates)


def _one_sided(
    rng: np.random.Generator, name: str, grid: NDArray[Any], passed: float, wants_low: bool
) -> str:
    """A comparison about the share ``passed`` of the values satisfies."""
    n = len(grid)
    place = int(np.clip(round(n * passed), 0.03 * n, 0.97 * n))
    value = grid[min(place, n - 1)] if wants_low else grid[max(n - place - 1, 0)]
    strict = rng.random() < 0.5
    return f"{name} {'<' if wants_low else '>'}{'' if strict else '='} {value}"
