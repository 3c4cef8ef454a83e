"""How a window that sheds is to be executed, and what it tells of that."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from backend.adaptive.stats import Mean
from backend.operators.network.core.tuning import Limit
from backend.operators.network.core.work import OperatorWork
from backend.operators.network.kinds.sampling import SampleOp
from backend.operators.network.kinds.shedding import ShedOp
from backend.operators.network.shedding.accuracy import AccuracyParts, total
from backend.operators.network.shedding.audits import MeasuredAccuracy
from backend.operators.network.shedding.candidates import drop_rank
from backend.operators.network.shedding.curve import AccuracyCurve, merged
from backend.operators.network.shedding.options import ShedOptions
from backend.operators.network.shedding.race import Raced
from backend.operators.network.shedding.race import merged as merged_races
from backend.operators.network.shedding.receipts import ShedReceipt
from backend.operators.network.shedding.temporal import EVERY_LENGTH, ValidCondition
from backend.operators.network.temporal.shed_groups import ShedGroup, bounded

#: Receipts of a batch that are changes, the lowest hashes of numbers.
MOST_RECEIPTS: Final = 50


@dataclass(frozen=True, slots=True)
class ShedTuning(Limit):
    """options: what is dropped, and when. lengths: the condition on valid times of the answer.
    Answers are the exact ones where options have no limit; else nothing is in them that is in no
    exact one."""

    options: ShedOptions = field(default_factory=ShedOptions)
    lengths: ValidCondition = EVERY_LENGTH

    def planned(self, work: OperatorWork) -> ShedOp | SampleOp:
        """The work as it is. Raises TypeError: the operator does not shed."""
        if not isinstance(work, ShedOp | SampleOp):
            raise TypeError(f"{type(work).__name__} does not shed")
        return work


@dataclass(frozen=True, slots=True)
class ShedProfile:
    """What a window did in a batch, and what it holds at its end.

    n_arrived, n_dropped: tuples; n_resident: in memory; n_window: in the window, as far as known,
    None: it is not; n_runs: in memory; tuple_bytes, run_bytes: of both forms; audit_bytes: of what
    is kept beside; expected: accuracy (R1) by receipts, of n_expected coalesced tuples; measured:
    None: nothing was compared.
    is_whole: nothing that was dropped would be in the window still. receipts: of some drops;
    groups: those of which most was dropped; values of both as people read them. curve: accuracy
    over memory, and race: of the algorithms, as they were made last. inclusion: of a sample, the
    probability with which the next tuple is kept. whole_from: the tick, or of a window of rows the
    arrival, with which it is whole again if nothing more is dropped, None: it is.
    """

    n_arrived: int = 0
    n_dropped: int = 0
    n_resident: int = 0
    n_window: int | None = None
    n_runs: int = 0
    tuple_bytes: int = 0
    run_bytes: int = 0
    audit_bytes: int = 0
    expected: float = 1.0
    n_expected: int = 0
    measured: MeasuredAccuracy | None = None
    is_whole: bool = True
    receipts: tuple[ShedReceipt, ...] = ()
    groups: tuple[ShedGroup, ...] = ()
    curve: AccuracyCurve | None = None
    race: tuple[Raced, ...] = ()
    inclusion: float | None = None
    whole_from: int | None = None

    @property
    def accuracy(self) -> float | None:
        """As expected; 1 where the window lacks nothing."""
        return 1.0 if self.is_whole else self.expected

    @property
    def parts(self) -> AccuracyParts:
        """Of the exact tuples that were compared."""
        return AccuracyParts() if self.measured is None else self.measured.parts

    @property
    def remainder(self) -> Mean | None:
        """Expected less measured accuracy, both R1: what no drop is charged for. None: nothing was
        compared."""
        if self.measured is None:
            return None
        expected, alike = self.expected, self.measured.alike
        low, high = expected - alike.high, expected - alike.low
        return Mean(expected - alike.value, low, high, alike.n)

    def merged(self, others: Sequence[ShedProfile]) -> ShedProfile:
        """With those of other shards; expected accuracies by what they are shares of."""
        every = [self, *others]
        windows = [profile.n_window for profile in every if profile.n_window is not None]
        n_expected = sum(profile.n_expected for profile in every)
        kept = sum(profile.expected * profile.n_expected for profile in every)
        return ShedProfile(
            n_arrived=sum(profile.n_arrived for profile in every),
            n_dropped=sum(profile.n_dropped for profile in every),
            n_resident=sum(profile.n_resident for profile in every),
            n_window=sum(windows) if len(windows) == len(every) else None,
            n_runs=sum(profile.n_runs for profile in every),
            tuple_bytes=sum(profile.tuple_bytes for profile in every),
            run_bytes=sum(profile.run_bytes for profile in every),
            audit_bytes=sum(profile.audit_bytes for profile in every),
            expected=kept / n_expected if n_expected else 1.0,
            n_expected=n_expected,
            measured=_merged([shard.measured for shard in every if shard.measured is not None]),
            is_whole=all(profile.is_whole for profile in every),
            receipts=sampled_receipts([each for profile in every for each in profile.receipts]),
            groups=bounded([group for profile in every for group in profile.groups]),
            curve=merged(
                (shard.curve, shard.n_expected) for shard in every if shard.curve is not None
            ),
            race=merged_races([(shard.race, shard.n_expected) for shard in every]),
            inclusion=min(
                (shard.inclusion for shard in every if shard.inclusion is not None), default=None
            ),
            whole_from=max(
                (shard.whole_from for shard in every if shard.whole_from is not None), default=None
            ),
        )


def sampled_receipts(receipts: Iterable[ShedReceipt]) -> tuple[ShedReceipt, ...]:
    """Those of the lowest hashes of arrival numbers: the same ones whatever the shards."""
    ranked = sorted(receipts, key=lambda receipt: drop_rank(receipt.dropped.number, 0))
    return tuple(ranked[:MOST_RECEIPTS])


def _merged(measured: Sequence[MeasuredAccuracy]) -> MeasuredAccuracy | None:
    """Of value groups in several shards, none of which is in two: weighed by the exact tuples that
    were compared."""
    if len(measured) < 2:
        return measured[0] if measured else None
    weights = [max(1, each.parts.exact) for each in measured]
    pairs = [(each, weight / sum(weights)) for each, weight in zip(measured, weights, strict=True)]
    return MeasuredAccuracy(
        total(each.parts for each in measured),
        _weighed([(each.accuracy, share) for each, share in pairs]),
        sum(each.n_groups for each in measured),
        _weighed([(each.alike, share) for each, share in pairs]),
    )


def _weighed(means: Sequence[tuple[Mean, float]]) -> Mean:
    """Of independent ones, by their shares."""
    value = sum(mean.value * share for mean, share in means)
    below, above = (
        math.sqrt(sum((share * width) ** 2 for share, width in widths))
        for widths in (
            [(share, mean.value - mean.low) for mean, share in means],
            [(share, mean.high - mean.value) for mean, share in means],
        )
    )
    return Mean(value, value - below, value + above, sum(mean.n for mean, _ in means))
