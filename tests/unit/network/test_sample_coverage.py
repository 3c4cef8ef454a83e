"""Intervals of estimates hold the exact value in 95 % of the ticks. Card B8"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.operators.network.shedding.options import ShedOptions
from tests.oracles.cql_semantics import Elements
from tests.unit.network.query_runs import Answer
from tests.unit.network.test_samples import LIST, played, relation_of

SEEDS, N_TICKS, SIZE, STEP = 200, 470, 50, 51


def exponential(rng: np.random.Generator) -> float:
    return float(rng.exponential(4))


def normal(rng: np.random.Generator) -> float:
    return float(rng.normal(3, 5))


def shares_and_errors(draw: Any, groups: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Of each call: how often its interval has the exact value; its mean error, in its own standard
    errors. In a window of 1 000 to 1 600 tuples, of which 200 are kept at the most."""
    rng = np.random.default_rng(28)
    rates = [20 + 12 * (tick // 40 % 2) for tick in range(N_TICKS)]
    rows: Elements = [
        ((int(rng.integers(0, 50)), draw(rng), str(rng.choice(["x", "x", "y"]))), tick)
        for tick, rate in enumerate(rates)
        for _ in range(rate)
    ]
    by = ("c, ", " Group By c") if groups else ("", "")
    text = f"Select {by[0]}{LIST} From U [Range {SIZE}]{by[1]}"
    exact = played(text, rows, [N_TICKS])
    true = {tick: by_group(exact, tick, groups) for tick in range(SIZE, N_TICKS, STEP)}
    covered, errors = [], []
    for seed in range(SEEDS):
        off = []
        found = played(text, rows, [N_TICKS], [ShedOptions(memory_tuples=200, seed=seed)])
        for tick, expected in true.items():
            own = by_group(found, tick, groups)
            assert own.keys() == expected.keys()
            pairs = [(own[group], expected[group]) for group in own]
            covered += [covers(*pair) for pair in pairs]
            off += [errors_of(*pair) for pair in pairs]
        errors.append(np.mean(off, axis=0))
    means = np.mean(errors, axis=0) * math.sqrt(SEEDS) / np.std(errors, axis=0)
    return np.mean(covered, axis=0), means


@pytest.mark.parametrize(("draw", "groups"), [(exponential, 0), (normal, 1)])
def test_intervals_cover_exact_aggregates_in_95_per_cent_of_ticks(draw: Any, groups: int) -> None:
    """Over 200 seeds, while the rate changes; no value is off on average."""
    shares, means = shares_and_errors(draw, groups)
    assert ((shares >= 0.93) & (shares <= 0.97)).all(), shares
    assert (abs(means) < 4).all(), means


def by_group(found: Answer, tick: int, groups: int) -> dict[Any, list[Any]]:
    return {row[:groups]: list(row[groups:]) for row in relation_of(found, tick)}


def covers(own: Sequence[float], exact: Sequence[float]) -> list[bool]:
    return [own[k + 1] <= exact[k] <= own[k + 2] for k in range(0, len(own), 3)]


def errors_of(own: Sequence[float], exact: Sequence[float]) -> list[float]:
    return [own[k] - exact[k] for k in range(0, len(own), 3)]
