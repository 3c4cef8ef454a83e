"""Accuracy over memory: what the answer of a window would be with fewer tuples. Card C2, issue §4

A sample of the window's runs, as they are, is shed tuple by tuple by the algorithm in force, from
all of its tuples on and from those that are in memory, and the answer is looked at after each drop.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np

from backend.model.draws import seeds_of
from backend.operators.network.core.blocks import Bools, Ints
from backend.operators.network.shedding import curve_kernel
from backend.operators.network.shedding.curve_kernel import (
    RUN_WORDS,
    DropRule,
    DropWork,
    Floats,
    LookedAt,
)
from backend.operators.network.shedding.options import ShedAlgorithm, ShedOptions
from backend.operators.network.shedding.temporal import ValidCondition, Values

#: Tuples that are looked at, about, and of one run, at most.
MOST_LOOKED, MOST_OF_RUN = 512, 128
#: Parts that the axis of memory is divided into.
N_PARTS: Final = 24
#: Values that are told of by how many of their tuples would go.
MOST_GOING: Final = 8
_KINDS: Final[Mapping[ShedAlgorithm, int]] = {
    "cals": curve_kernel.BOTH,
    "cals-v": curve_kernel.PIECES,
    "cals-i": curve_kernel.SHARE,
    "rand": curve_kernel.GIVEN,
    "oldest": curve_kernel.GIVEN,
    "cals-m": curve_kernel.ACCURATE,
    "reach": curve_kernel.REACH,
}
_METRICS: Final = {"R1": 1, "R2": 2, "R3": 3}
_MIX, _MASK = 2_654_435_761, (1 << 31) - 1


class CurvePoint(NamedTuple):
    """tuples: kept of the window; accuracy: R1 of the answer once the window holds no others;
    at_once: of those in memory, were the limit turned now, None: there are fewer; going: of each
    value of the curve tuples that would go then."""

    tuples: float
    accuracy: float
    at_once: float | None
    going: tuple[float, ...] = ()


class AccuracyCurve(NamedTuple):
    """A(M) of a window. n_window: tuples that it would hold; n_looked: that the curve was made of;
    points: by tuples, from none to all; values: of which most would go, those first. is_new: it was
    made after the last batch."""

    n_window: float
    n_looked: int
    points: tuple[CurvePoint, ...]
    values: tuple[Values, ...] = ()
    is_new: bool = True

    def between(self, tuples: float) -> CurvePoint:
        """With so many tuples: between two points as on a line."""
        axis = [point.tuples for point in self.points]
        above = min(bisect_left(axis, tuples), len(axis) - 1)
        low, high = self.points[max(0, above - 1)], self.points[above]
        apart = high.tuples - low.tuples
        share = min(1.0, max(0.0, (tuples - low.tuples) / apart)) if apart else 1.0

        def mixed(below: float, above: float) -> float:
            return below + share * (above - below)

        at_once = None
        if low.at_once is not None and high.at_once is not None:
            at_once = mixed(low.at_once, high.at_once)
        going = tuple(map(mixed, low.going, high.going))
        return CurvePoint(tuples, mixed(low.accuracy, high.accuracy), at_once, going)

    @property
    def is_whole(self) -> bool:
        """Whether all tuples of the window were in memory."""
        return self.points[-1].at_once is not None

    @property
    def envelope(self) -> tuple[tuple[float, float], ...]:
        """The least concave curve above it, as (tuples, accuracy): each further tuple adds no more
        than the one before."""
        hull: list[tuple[float, float]] = []
        for new in self.rising:
            while len(hull) > 1 and _slope(hull[-2], new) >= _slope(hull[-2], hull[-1]):
                hull.pop()
            hull.append(new)
        return tuple(hull)

    @property
    def rising(self) -> tuple[tuple[float, float], ...]:
        """The points, as (tuples, accuracy), none below the one before."""
        most = accumulate((point.accuracy for point in self.points), max)
        return tuple((point.tuples, own) for point, own in zip(self.points, most, strict=True))


def _slope(left: tuple[float, float], right: tuple[float, float]) -> float:
    run = right[0] - left[0]
    return (right[1] - left[1]) / run if run > 0 else 0.0


class SampledWindow(NamedTuple):
    """A window, of which runs are looked at. n_tuples: that it would hold without a limit, as far
    as is known; is_whole: it lacks none of them; expected: accuracy, by what drops were expected to
    cost."""

    n_tuples: float
    n_memory: int
    is_whole: bool
    expected: float


class RunSample(NamedTuple):
    """Some runs of a window. looked: their tuples, by run, start and number; values, in_memory: of
    each; is_exact: runs are as long as without a limit."""

    looked: LookedAt
    values: Sequence[Values]
    in_memory: Bools
    is_exact: bool
    window: SampledWindow

    @property
    def share(self) -> float:
        """Of the window's tuples."""
        n = self.window.n_tuples
        return min(1.0, len(self.values) / n) if n else 1.0


def chosen_runs(n_tuples: int, firsts: Ints) -> Bools:
    """Which runs are looked at: of long ones the first tuples, by a hash of the number that a run
    begins with. firsts: these numbers; n_tuples: of all runs."""
    n = min(n_tuples, len(firsts) * MOST_OF_RUN)
    chosen: Bools = (firsts * _MIX >> 7) % max(1, -(-n // MOST_LOOKED)) == 0
    return chosen


def looked_at(
    numbers: Ints, starts: Ints, ends: Ints, firsts: Ints, options: ShedOptions
) -> LookedAt:
    """Tuples by run, start and number. firsts: of each run its first tuple, then how many there
    are."""
    bases = np.maximum.reduceat(ends, firsts[:-1]) - starts[firsts[:-1]] if len(ends) else ends
    order = np.argsort(numbers * _MIX & _MASK, kind="stable")
    if options.shed_algorithm == "rand":  # as drop_rank
        order = np.argsort(~seeds_of(options.seed, numbers), kind="stable")
    ranks = np.empty(len(numbers), np.int64)
    ranks[order] = np.arange(len(numbers))
    return LookedAt(starts, ends, numbers, ranks, firsts, bases)


class Shadow(NamedTuple):
    """What shedding of a sample came to. kept: of its tuples; order: those that went, as they did;
    accuracy: with so many kept; runs: of each what RUN_WORDS says."""

    kept: Bools
    order: Ints
    accuracy: Floats
    runs: Floats


def shed(
    sample: RunSample,
    options: ShedOptions,
    lengths: ValidCondition,
    kept: Bools,
    n_left: int = 0,
) -> Shadow:
    """Drop tuples of those that are kept until so many are left. lengths: that are answered."""
    n, kept, looked = len(sample.values), kept.copy(), sample.looked
    if options.shed_algorithm == "oldest":
        looked = looked._replace(ranks=looked.numbers)
    held = np.zeros(n, np.bool_)
    if options.newest_protected and options.shed_algorithm != "rand" and n:
        held[np.argmax(np.where(kept, looked.numbers, -1))] = True
    n_runs = len(looked.bases)
    lengths_lost, pieces, run_of, order = (np.zeros(n, np.int64) for _ in range(4))
    runs, accuracy = np.zeros((n_runs, RUN_WORDS)), np.zeros(n + 1)
    work = DropWork(
        np.zeros(n), lengths_lost, pieces, run_of, runs, np.zeros(n_runs, np.int64), np.zeros(3)
    )
    rule = _rule(options, lengths, sample.is_exact, int(looked.starts.max()) if n else 0)
    n_gone = curve_kernel.drop(looked, rule, kept, held, n_left, work, order, accuracy)
    is_lost = bool(work.runs[:, curve_kernel.ANSWERED].any())
    accuracy[: int(kept.sum())] = 0.0 if is_lost else 1.0
    return Shadow(kept, order[:n_gone], accuracy, work.runs)


def _rule(options: ShedOptions, lengths: ValidCondition, is_exact: bool, reached: int) -> DropRule:
    gaps = np.array(lengths.gaps, np.int64).reshape(-1, 2)
    most = -1 if lengths.most is None else lengths.most
    return DropRule(
        _KINDS[options.shed_algorithm],
        float(options.delta_weight),
        is_exact and options.rho_basis == "exact",
        _METRICS[options.accuracy_metric],
        lengths.least,
        most,
        gaps,
        reached,
    )


def curve_of(
    sample: RunSample, options: ShedOptions, lengths: ValidCondition
) -> AccuracyCurve | None:
    """Of what is in the window now; None: nothing is. lengths: that are answered.

    Where runs are not known without a limit, what is in memory is as accurate as drops are expected
    to have left it, and A(M) is a share of that.
    """
    n, window = len(sample.values), sample.window
    if not n:
        return None
    everything = np.ones(n, np.bool_)
    settled = now = shed(sample, options, lengths, everything)
    if not sample.in_memory.all():
        now = shed(sample, options, lengths, sample.in_memory)
    scale = 1.0 if sample.is_exact else window.expected
    n_known = window.n_tuples if sample.is_exact else window.n_memory
    values, going = _going(sample, now.order)
    n_now = int(sample.in_memory.sum())
    points = []
    for part in range(N_PARTS + 1):
        m = round(part * n / N_PARTS)
        at_once = None
        if m <= n_now and (m < n or window.is_whole or not sample.is_exact):
            at_once = scale * float(now.accuracy[m])
        gone = tuple(own[max(0, n_now - m)] * n_known / n for own in going)
        points.append(
            CurvePoint(m * n_known / n, scale * float(settled.accuracy[m]), at_once, gone)
        )
    if n_known < window.n_tuples:
        points.append(CurvePoint(window.n_tuples, 1.0, None, (0.0,) * len(values)))
    return AccuracyCurve(window.n_tuples, n, tuple(points), values)


def _going(sample: RunSample, order: Ints) -> tuple[tuple[Values, ...], list[list[int]]]:
    """Values of which most would go while half of what is in memory does, and of each how many are
    among the first to go: of none, of one, and so on."""
    gone = [sample.values[place] for place in order.tolist()]
    most = Counter(gone[: len(gone) // 2 + 1]).most_common(MOST_GOING)
    values = tuple(each for each, _ in most)
    running = [[0] for _ in values]
    for each in gone:
        for own, known in zip(running, values, strict=True):
            own.append(own[-1] + (each == known))
    n = int(sample.in_memory.sum())
    return values, [own + [own[-1]] * (n + 1 - len(own)) for own in running]


def read_curve(saved: Sequence[Any] | None) -> AccuracyCurve | None:
    """What a curve became as JSON."""
    if saved is None:
        return None
    n_window, n_looked, points, values, _ = saved
    read = [CurvePoint(n, own, now, tuple(going)) for n, own, now, going in points]
    return AccuracyCurve(n_window, n_looked, tuple(read), tuple(map(tuple, values)), False)


def merged(curves: Iterable[tuple[AccuracyCurve, float]]) -> AccuracyCurve | None:
    """Of shards under the same limits, at the same shares of their windows; accuracies by what they
    are shares of, which is given with each. None: there is none."""
    known = list(curves)
    if len(known) < 2:
        return known[0][0] if known else None
    whole, total = sum(curve.n_window for curve, _ in known), sum(n for _, n in known) or 1.0
    values = tuple(dict.fromkeys(each for curve, _ in known for each in curve.values))
    points = []
    for part in range(N_PARTS + 1):
        share = part / N_PARTS
        own = [(curve.between(share * curve.n_window), n / total) for curve, n in known]
        now = [each.at_once for each, _ in own]
        at_once = None
        if None not in now:
            at_once = sum((each.at_once or 0.0) * weight for each, weight in own)
        going = [
            sum(
                each.going[curve.values.index(value)]
                for (each, _), (curve, _) in zip(own, known, strict=True)
                if value in curve.values
            )
            for value in values
        ]
        accuracy = sum(each.accuracy * weight for each, weight in own)
        points.append(CurvePoint(share * whole, accuracy, at_once, tuple(going)))
    looked, is_new = sum(c.n_looked for c, _ in known), any(c.is_new for c, _ in known)
    return AccuracyCurve(whole, looked, tuple(points), values, is_new)
