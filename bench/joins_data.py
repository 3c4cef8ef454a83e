"""Tuples for the bench of adaptive joins: chains of streams in phases, and every fixed plan.

A chain R1(A) ⋈ R2(A, B) ⋈ R3(B, C) ⋈ ... has one attribute between neighbours; how many values it
has, and how often each stream comes, is what phases differ in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, permutations, product
from typing import Final, NamedTuple

import numpy as np

from backend.operators.network.joins.join_tuning import JoinTuning
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.joins.decide.candidates import CacheCandidate, candidates, conflicts
from backend.systems.joins.decide.shape import JoinShape, Orders
from bench.experiments.join_caching import nested_orders
from bench.experiments.join_data import THREE_WAY, THREE_WAY_ORDERS, on_one_attribute, rounds
from bench.experiments.join_running import Arrivals

#: Room for all entries of a cache.
CACHE_BYTES: Final = 1 << 24


class ChainPhase(NamedTuple):
    """A part of a stream. rates: of the streams, relative; values: of each attribute between
    neighbours, drawn evenly. hot: the last stream draws from so many of them only; 0: from all."""

    name: str
    rates: tuple[float, ...]
    values: tuple[int, ...]
    hot: int = 0


class JoinCase(NamedTuple):
    """A workload by itself. orders: of all pipelines; pool_bytes: that caches may have."""

    name: str
    work: JoinOp
    arrivals: Arrivals
    orders: Orders
    pool_bytes: int = 1 << 24


def chained(n_streams: int) -> JoinOp:
    """R1(A) ⋈ R2(A, B) ⋈ ... ⋈ Rn."""
    return JoinOp(tuple(((i, int(i > 0)), (i + 1, 0)) for i in range(n_streams - 1)))


def phased(
    phases: Sequence[ChainPhase], n_each: int, windows: tuple[int, ...], rng: np.random.Generator
) -> Arrivals:
    """n_each tuples of each phase. windows: tuples in the row window of each stream."""
    parts = [_phase(phase, n_each, rng) for phase in phases]
    streams, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    widths = tuple(1 if i in (0, len(windows) - 1) else 2 for i in range(len(windows)))
    return Arrivals(streams, values, windows, widths)


def _phase(phase: ChainPhase, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    rates = np.array(phase.rates)
    streams, last = rng.choice(len(rates), n, p=rates / rates.sum()), len(rates) - 1
    values = np.zeros((n, 2), np.int64)
    for i in range(len(rates)):
        own = np.flatnonzero(streams == i)
        for column, k in enumerate(range(max(0, i - 1), min(i + 1, last))):
            n_values = phase.hot if i == last and phase.hot else phase.values[k]
            values[own, column] = rng.integers(0, n_values, len(own))
    return streams, values


def connected_orders(shape: JoinShape) -> Iterator[Orders]:
    """All orders of all pipelines in which every input shares a class with one before it."""
    by_pipeline = []
    for i in range(shape.n):
        others = [j for j in range(shape.n) if j != i]
        orders = [order for order in permutations(others) if _is_connected(shape, (i, *order))]
        by_pipeline.append(orders)
    yield from product(*by_pipeline)


def _is_connected(shape: JoinShape, inputs: Sequence[int]) -> bool:
    return all(
        set(shape.neighbours(input)) & set(inputs[:place])
        for place, input in enumerate(inputs)
        if place
    )


def fixed_plans(shape: JoinShape, quota: int) -> dict[str, JoinTuning]:
    """Every connected order with every set of caches that go together, the empty one included.
    quota: m, as many candidates as that are looked at."""
    plans = {}
    for k, orders in enumerate(connected_orders(shape)):
        offered = candidates(shape, orders, quota)
        sets = chain.from_iterable(combinations(offered, n) for n in range(len(offered) + 1))
        for chosen in sets:
            if not any(
                conflicts([(cache, reader) for cache in chosen for reader in cache.readers])
            ):
                names = ", ".join(cache.said(shape) for cache in chosen)
                name = f"orders {k + 1}, {names}" if names else f"orders {k + 1}, no cache"
                plans[name] = with_caches(orders, chosen)
    return plans


def with_caches(orders: Orders, chosen: Sequence[CacheCandidate]) -> JoinTuning:
    """Caches with all their readers, and room for all they may hold."""
    return JoinTuning(
        orders=orders, caches=tuple(cache.spec(cache.readers, CACHE_BYTES) for cache in chosen)
    )


#: Of chains whose last stream comes often: the others are joined with each other first, so that
#: their join can be kept.
_THREE: Final[Orders] = ((1, 2), (0, 2), (1, 0))
_FOUR: Final[Orders] = ((1, 2, 3), (0, 2, 3), (1, 0, 3), (2, 1, 0))


def join_cases(n: int, beyond: int) -> Iterator[JoinCase]:
    """Workloads of about n tuples: of the text, and those in which time is spent elsewhere. beyond:
    tuples in windows that no processor's cache holds."""
    three, six = chained(3), on_one_attribute(6)
    for name, repeats in (
        ("default data, multiplicity 5 (5.11)", (1, 1, 5)),
        ("multiplicity 1", (1, 1, 1)),
        ("updates more frequent than look-ups (5.15)", (1, 1, 0.3125)),
    ):
        n_rounds = round(n / sum(repeats))
        arrivals = rounds(n_rounds, 1000, repeats, np.random.default_rng(11))
        yield JoinCase(name, THREE_WAY, arrivals, THREE_WAY_ORDERS)
    arrivals = rounds(n // 60, 20, (1, 1, 1, 5, 5, 5), np.random.default_rng(12))
    yield JoinCase("six streams (5.17)", six, arrivals, nested_orders(6))
    deep = ChainPhase("", (1, 1, 1, 20), (50_000, 500, 200))
    arrivals = phased([deep], n, (1000,) * 4, np.random.default_rng(13))
    yield JoinCase("deep pipeline, large fan-out, few results", chained(4), arrivals, _FOUR)
    hot = ChainPhase("", (1, 1, 20), (beyond, beyond), beyond // 20)
    arrivals = phased([hot], 4 * n, (beyond, beyond, 1000), np.random.default_rng(14))
    yield JoinCase("windows beyond the caches, hot keys", three, arrivals, _THREE, 1 << 26)
    apart = ChainPhase("", (1, 1, 5), (10_000_000, 1000))
    arrivals = phased([apart], n, (1000,) * 3, np.random.default_rng(15))
    yield JoinCase("nothing joins (D7)", three, arrivals, _THREE)
