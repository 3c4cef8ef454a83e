"""Both sides of what is decided, as decision records hold them; and how sure differences are.

A decision compares two numbers; whichever way it falls, both are told, with the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from backend.adaptive.stats import Mean, quantile
from storage.vocabulary.amri_costs import Floats
from storage.vocabulary.headroom import Headroom
from storage.vocabulary.kinds import Verdict

#: Of intervals, unless another one is asked for.
CONFIDENCE: Final = 0.95


class Sides(NamedTuple):
    """``lhs relation rhs`` of a metric was tested. interval: of lhs, where it is an estimate; n:
    requests behind it. headroom: what another verdict would take."""

    metric: str
    lhs: float
    relation: str
    rhs: float
    verdict: Verdict
    interval: tuple[float, float] | None = None
    n: int = 0
    headroom: tuple[Headroom, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the change is made."""
        return self.verdict == "switched"


def compared(metric: str, lhs: float, rhs: float, n: int = 0) -> Sides:
    """Two known numbers: the change is made if lhs > rhs."""
    return Sides(metric, lhs, ">", rhs, "switched" if lhs > rhs else "below_threshold", n=n)


def estimated(metric: str, value: Mean, rhs: float) -> Sides:
    """An estimate against a number: the change is made if all of the interval is above it; 'thin':
    only the estimate is."""
    verdict: Verdict = "thin" if value.value > rhs else "below_threshold"
    verdict = "switched" if value.low > rhs else verdict
    return Sides(metric, value.value, ">", rhs, verdict, (value.low, value.high), value.n)


def variance_of(frequencies: Floats, differences: Floats) -> Floats:
    """Of one request's difference: Σ F d² - (Σ F d)² (card A14.12), of each row of differences by
    pattern. Frequencies are shares of the requests; if they sum to less, the rest differs by 0."""
    mean = differences @ frequencies
    around = (differences - mean[..., None]) ** 2 @ frequencies
    variance: Floats = np.maximum(0.0, around + (1 - frequencies.sum()) * mean**2)
    return variance


def difference(
    frequencies: Floats,
    differences: Floats,
    n_requests: int,
    slack: float = 0.0,
    confidence: float = CONFIDENCE,
) -> Mean:
    """Mean cost difference Σ F d of a request with its interval: F from n requests is multinomial.
    slack: what compaction may hide (card A6); it lowers the low end only."""
    mean = float(differences @ frequencies)
    spread = math.sqrt(float(variance_of(frequencies, differences)) / max(1, n_requests))
    half = quantile(confidence) * spread
    return Mean(mean, mean - half - slack, mean + half, n_requests)


def pattern_headroom(
    names: Sequence[str], differences: Sequence[float], mean: float, needed: float
) -> tuple[Headroom, ...]:
    """Which patterns would have to be asked for how much more for the mean difference to become
    ``needed``, the others less in proportion; nearest first. names: of the patterns."""
    nearest = []
    for name, difference in zip(names, differences, strict=True):
        if mean < needed < difference:
            nearest.append(asked_more(name, (needed - mean) / (difference - mean)))
    return tuple(sorted(nearest, key=lambda near: -near.near))


def asked_more(name: str, share: float) -> Headroom:
    """A pattern that more of the requests would have to ask for."""
    words = f"{name} would have to be asked for by {100 * share:.1f} % more of the requests"
    return Headroom(words, share, "prob", 1 - share, name)
