"""How near coalesced tuples of what was kept are to the exact ones: R1, R2, R3. Card B2

[AL11] has lost its equations 2 to 5; all of this is reconstructed. R1 is the likeliest reading of
equation 5, R2 and R3 are others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from backend.operators.network.shedding.temporal import (
    EVERY_LENGTH,
    RunSpan,
    ValidCondition,
    Values,
)

AccuracyMetric: TypeAlias = Literal["R1", "R2", "R3"]
#: Accuracy is the product of these: (numerator, denominator).
Ratios: TypeAlias = tuple[tuple[float, float], ...]


class NotBounded(ValueError):
    """A kept coalesced tuple lies in no exact one: answers were invented, which must not be."""


class AccuracyParts(NamedTuple):
    """Sums over exact coalesced tuples of the answer, k_i being the number of kept pieces in one.

    exact: how many; surviving: Σ min(1, k_i); pieces: Σ max(1, k_i); stray: pieces in the answer
    whose exact tuple is not; reduction: Σ IS_i, IS_i the share of its length that is kept; divided:
    Σ IS_i / max(1, k_i). unchanged + shortened + split + lost = exact; extraneous: Σ max(0, k_i-1).
    """

    exact: int = 0
    surviving: int = 0
    pieces: int = 0
    stray: int = 0
    reduction: float = 0.0
    divided: float = 0.0
    unchanged: int = 0
    shortened: int = 0
    split: int = 0
    lost: int = 0
    extraneous: int = 0

    @property
    def value_similarity(self) -> float:
        """Eq. 2: multiset Jaccard of exact and kept coalesced tuples."""
        if not self.exact + self.stray:
            return 1.0
        return self.surviving / (self.pieces + self.stray)

    @property
    def interval_similarity(self) -> float:
        """Mean of Eq. 4 over exact coalesced tuples."""
        return self.reduction / self.exact if self.exact else 1.0

    def ratios(self, metric: AccuracyMetric) -> Ratios:
        """What the accuracy is the product of, for estimates of its spread."""
        if metric == "R1":
            return ((self.reduction, self.pieces + self.stray),)
        if metric == "R2":
            return (self.surviving, self.pieces + self.stray), (self.reduction, self.exact)
        return ((self.divided, self.exact),)

    def accuracy(self, metric: AccuracyMetric = "R1") -> float:
        """In [0, 1]. 1 where nothing exact and nothing stray is in the answer; 0 where only stray
        tuples are."""
        if not self.exact:
            return float(not self.stray)
        product = 1.0
        for above, below in self.ratios(metric):
            product *= above / below
        return product


def total(parts: Iterable[AccuracyParts]) -> AccuracyParts:
    """Of value groups apart, together."""
    columns = list(zip(*parts, strict=True))
    return AccuracyParts(*map(sum, columns)) if columns else AccuracyParts()


def overlap(span: tuple[int, int], other: tuple[int, int]) -> float:
    """Eq. 3: |x ∩ y| / |x| in [0, 1], the valued indifference of PQI interval orders."""
    common = min(span[1], other[1]) - max(span[0], other[0])
    return max(0.0, min(1.0, common / (span[1] - span[0])))


def accuracy_parts(
    exact: Iterable[RunSpan], kept: Iterable[RunSpan], condition: ValidCondition = EVERY_LENGTH
) -> AccuracyParts:
    """Compare coalesced tuples of the whole window with those of what was kept, after a condition
    on their lengths. Raises NotBounded.

    Of a run [0, 6) its last sixth is shed, two others stay whole: 17/18. Without its middle [2, 5)
    the run is in two pieces: 5/8.

    >>> whole = [RunSpan((80,), 0, 6), RunSpan((90,), 6, 10), RunSpan((85,), 10, 12)]
    >>> round(accuracy_parts(whole, [RunSpan((80,), 0, 5), *whole[1:]]).accuracy() * 18, 9)
    17.0
    >>> pieces = [RunSpan((80,), 0, 2), RunSpan((80,), 5, 6)]
    >>> accuracy_parts(whole, [*pieces, *whole[1:]]).accuracy()
    0.625
    """
    return total(parts_by_group(exact, kept, condition).values())


def parts_by_group(
    exact: Iterable[RunSpan], kept: Iterable[RunSpan], condition: ValidCondition = EVERY_LENGTH
) -> dict[Values, AccuracyParts]:
    """The same, value group by value group. Raises NotBounded."""
    runs: dict[Values, list[RunSpan]] = defaultdict(list)
    pieces: dict[Values, list[RunSpan]] = defaultdict(list)
    for run in exact:
        runs[run.values].append(run)
    for piece in kept:
        pieces[piece.values].append(piece)
    strangers = pieces.keys() - runs.keys()
    if strangers:
        raise NotBounded(f"{len(strangers)} values were kept that are not in the window")
    return {values: _of_group(group, pieces[values], condition) for values, group in runs.items()}


def _of_group(
    exact: Sequence[RunSpan], kept: Sequence[RunSpan], condition: ValidCondition
) -> AccuracyParts:
    exact = sorted(exact)
    starts = [run.start for run in exact]
    inside: dict[int, list[int]] = defaultdict(list)
    for piece in kept:
        place = bisect_right(starts, piece.start) - 1
        if place < 0 or piece.end > exact[place].end:
            raise NotBounded(f"{piece} lies in no exact tuple")
        if condition.holds(piece.length):
            inside[place].append(piece.length)
    answered = [condition.holds(run.length) for run in exact]
    stray = sum(len(lengths) for place, lengths in inside.items() if not answered[place])
    parts = [
        _of_run(run.length, inside[place]) for place, run in enumerate(exact) if answered[place]
    ]
    return total([AccuracyParts(stray=stray), *parts])


def _of_run(length: int, lengths: Sequence[int]) -> AccuracyParts:
    k, whole = len(lengths), sum(lengths) == length
    reduction = sum(lengths) / length
    return AccuracyParts(
        exact=1,
        surviving=min(1, k),
        pieces=max(1, k),
        reduction=reduction,
        divided=reduction / max(1, k),
        unchanged=int(k == 1 and whole),
        shortened=int(k == 1 and not whole),
        split=int(k > 1),
        lost=int(k == 0),
        extraneous=max(0, k - 1),
    )
