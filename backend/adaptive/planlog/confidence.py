"""How much one plan surely saves over another, look as often as you like.

Lower bounds are those of the anytime-valid t-test: a confidence sequence for a Gaussian mean with
unknown variance, from a Gaussian mixture over the effect size (H. Wang, A. Ramdas, 2024,
arXiv:2310.03722). With many samples it is the asymptotic confidence sequence of I. Waudby-Smith et
al., 2024, so that normal data are needed for few samples only. A new sequence may begin at every
look: the sum over all that began is an e-detector (J. Shin, A. Ramdas, A. Rinaldo, 2024), whose
first false alarm comes after 1/level looks on average, at least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.planlog.records import LogJson, finite_number, real_number, whole_number

#: Numbers of samples for which bounds are about as tight as can be; they share the level.
TIGHT_AT: Final = (20, 2000)
#: Stretches of one length that are kept apart.
_ALIKE: Final = 2


@dataclass(frozen=True, slots=True)
class PairedSample:
    """What a plan saves over the one in force on tuples that were priced under both.

    n: tuples; mean: of old minus new, in the unit of cost; squares: Σ (x - mean)²; worst: the most
    that a tuple can cost more under the new plan, so that what is rare and dear is not forgotten.
    Tuples of one sample must be in no other: of a sliding window, those since the last look.
    """

    n: int
    mean: float
    squares: float
    worst: float = 0.0

    def merged(self, other: PairedSample) -> PairedSample:
        """Of both together (Chan, Golub, LeVeque, 1979)."""
        n = self.n + other.n
        if not n:
            return self
        apart = other.mean - self.mean
        mean = self.mean + apart * other.n / n
        squares = self.squares + other.squares + apart * apart * self.n * other.n / n
        return PairedSample(n, mean, squares, max(self.worst, other.worst))


def recorded_sample(n: LogJson, mean: LogJson, squares: LogJson, worst: LogJson) -> PairedSample:
    """A sample as it was written down. Raises PlanLogRefused for numbers that cannot be."""
    return PairedSample(
        whole_number(n, "the size of a sample"),
        real_number(mean, "a mean saving"),
        real_number(squares, "a sum of squares", 0.0),
        real_number(worst, "a worst case", 0.0),
    )


def paired_sample(
    old: NDArray[np.float64], new: NDArray[np.float64], worst: float | None = None
) -> PairedSample:
    """float64[T] costs of the same tuples under the plan in force and under another.

    worst: as of a sample; where it is not known it is taken for the dearest of the new costs beside
    the cheapest of the old.
    """
    saved = old - new
    if not len(saved):
        return PairedSample(0, 0.0, 0.0)
    mean = float(saved.mean())
    squares = float(((saved - mean) ** 2).sum())
    if worst is None:
        worst = float(new.max() - old.min())
    return PairedSample(len(saved), mean, squares, max(0.0, worst))


def rounded_sample(sample: PairedSample) -> PairedSample:
    """A sample to the digits that a log keeps. Raises PlanLogRefused for what is NaN."""
    numbers = (sample.mean, sample.squares, sample.worst)
    return PairedSample(sample.n, *(finite_number(each, "a sampled saving") for each in numbers))


def order_worst(old: Sequence[int], new: Sequence[int], costs: Sequence[float]) -> float:
    """The most a tuple can cost more under another order of operators. costs: of each, by number.

    A tuple that is done after some of them is done under the new order once it has come to the last
    of these; that one was asked by then under the old order, too.
    """
    before, after = (
        dict(zip(order, np.cumsum([costs[each] for each in order]).tolist(), strict=True))
        for order in (old, new)
    )
    return max(0.0, *(float(after[each] - before[each]) for each in new))


def lower_bound(sample: PairedSample, level: float) -> float:
    """What the mean saving surely exceeds, -∞ where nothing is sure.

    level: probability that this is ever wrong, over all looks at a growing sample, in (0, 1).
    Beside the t-test: what is as dear as ``worst`` and was not seen may be as frequent as
    log(1/level)/n, the linear term of bounds after Bernstein (A. Maurer, M. Pontil, 2009).
    """
    if sample.n < 2 or level / len(TIGHT_AT) <= 0:
        return -math.inf
    half = min(_half_width(sample, level / len(TIGHT_AT), tight) for tight in TIGHT_AT)
    unseen = (sample.worst + max(0.0, sample.mean)) * -math.log(level) / sample.n
    return sample.mean - half - unseen


def _half_width(sample: PairedSample, level: float, tight: int) -> float:
    """Of the sequence with effect size N(0, ρ²): the m at which the mixed likelihood ratio
    (1 + nρ²)^-½ ((1 + x) / (1 + x / (1 + nρ²)))^(n/2) is 1 / level; x = n (mean - m)² / squares."""
    n, odds = sample.n, -2 * math.log(level)
    spread = 1 + n * (odds + math.log(1 + odds)) / tight
    log_spread = math.log(spread)
    log_ratio = (0.5 * log_spread - math.log(level)) * 2 / n
    if log_ratio >= log_spread:
        return math.inf
    ratio = math.exp(log_ratio)
    if ratio >= spread:
        return math.inf
    return math.sqrt(sample.squares * (ratio - 1) / (1 - ratio / spread) / n)


@dataclass(frozen=True, slots=True)
class SureSaving:
    """A lower bound that holds of a stretch up to now. lower: of the saving a tuple; n_tuples: of
    input that the stretch is long."""

    lower: float
    n_tuples: int


@dataclass(frozen=True, slots=True)
class _LadderStretch:
    n_looks: int
    n_tuples: int
    sample: PairedSample


class SavingLadder:
    """Paired samples of one plan against the one in force, in stretches that double backwards.

    Each end of a stretch is where a sequence began: about 2 log2(looks) of them, whatever the
    data are. The bounds hold of stretches up to now, so that an old regime does not hide a new one.
    """

    def __init__(self) -> None:
        self._stretches: list[_LadderStretch] = []

    def add(self, sample: PairedSample, n_tuples: int) -> None:
        """A look: its sample, and the tuples of input since the look before."""
        stretches = self._stretches
        stretches.append(_LadderStretch(1, n_tuples, sample))
        place = len(stretches) - 1
        while place >= _ALIKE and (stretches[place].n_looks == stretches[place - _ALIKE].n_looks):
            older, newer = stretches[place - _ALIKE], stretches[place - 1]
            merged = older.sample.merged(newer.sample)
            n_tuples = older.n_tuples + newer.n_tuples
            joined = _LadderStretch(older.n_looks + newer.n_looks, n_tuples, merged)
            stretches[place - _ALIKE : place] = [joined]
            place -= _ALIKE

    def bounds(self, level: float) -> list[SureSaving]:
        """Of each stretch up to now, the shortest first; empty before the first look."""
        n_tuples, sample, bounds = 0, PairedSample(0, 0.0, 0.0), []
        for stretch in reversed(self._stretches):
            n_tuples += stretch.n_tuples
            sample = stretch.sample.merged(sample)
            bounds.append(SureSaving(lower_bound(sample, level), n_tuples))
        return bounds

    @property
    def mean(self) -> float:
        """Of all samples together, 0 before the first."""
        sample = PairedSample(0, 0.0, 0.0)
        for stretch in self._stretches:
            sample = sample.merged(stretch.sample)
        return sample.mean

    def state(self) -> LogJson:
        """As JSON."""
        return [[each.n_looks, each.n_tuples, *astuple(each.sample)] for each in self._stretches]

    def restore(self, rows: Sequence[Sequence[LogJson]]) -> None:
        """Take up ``state()``. Raises PlanLogRefused for numbers that cannot be."""
        self._stretches = [
            _LadderStretch(
                whole_number(looks, "the looks of a stretch"),
                whole_number(tuples, "the tuples of a stretch"),
                recorded_sample(*sample),
            )
            for looks, tuples, *sample in rows
        ]
