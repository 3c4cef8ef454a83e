"""What a turn of a knob did: the rule decided again with the value before, on the same samples.

Both runs are costed on the same sampled tuples of each evaluation, so their difference is paired.
A knob the rule cannot be replayed with is compared before and after, which is no proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from dashboard.components.formats import THIN, show
from dashboard.views.choices import RecordedChoices
from dashboard.views.decisions import MIN_SAMPLES
from dashboard.views.numbers import MeanInterval, mean_interval
from storage.reader import Reader

#: What is told of where nothing else is said: mean visits of a tuple.
VISITS: Final = "visits"
ANEW: Final = "planned anew at each evaluation (paired)"


class KnobEffect(NamedTuple):
    """What became of a cost, as a share of what it was before (-0.08 = 8 % less).

    share: None with too few samples. switches: changes of plan with the value before and with the
    new one, None = not counted. n: sampled tuples (or batches) behind it. paired: on the same
    tuples. quantity: what the cost is. against: what it is compared with, where that is not the
    rule with the value before.
    """

    share: MeanInterval | None
    switches: tuple[int, int] | None
    n: int
    paired: bool
    quantity: str = VISITS
    against: str = ""

    @property
    def words(self) -> str:
        """``visits −8.0 % ± 3.0, switches 14 → 3``."""
        if self.share is None:
            return f"not enough samples yet (n = {show(self.n, 'int')})"
        text = f"{self.quantity} {_percent(self.share)}"
        if self.switches is not None:
            text += f", switches {self.switches[0]} → {self.switches[1]}"
        if not self.paired and self.share.low <= 0 <= self.share.high:
            return f"no measurable effect: {text}, before and after (not paired)"
        if not self.paired:
            return f"{text}, before and after (not paired)"
        return f"{text}, {self.against}" if self.against else text

    @property
    def tone(self) -> str:
        """ok: it helped; warning: it hurt; quiet: neither can be told."""
        if self.share is None or not self.paired or self.share.low <= 0 <= self.share.high:
            return "quiet"
        return "ok" if self.share.mean < 0 else "warning"


class KnobAsked(NamedTuple):
    """Of which knob the record is asked: of a unit (None = the engine), up to a batch (None = now),
    from ``first`` on, before ``end`` where there is one."""

    reader: Reader
    run: str
    until: int | None
    unit: str | None
    knob: str
    first: int = 0
    end: int | None = None

    @property
    def last(self) -> float:
        """Before which batch records count."""
        return math.inf if self.end is None else self.end


class Both(NamedTuple):
    """One evaluation under two rules: the cost per tuple as recorded and of the ghost, and what
    they weigh."""

    real: float
    ghost: float
    weight: float


class Evaluated(NamedTuple):
    """A stretch of the record under two rules. switches: of the record and of the ghost; n: sampled
    tuples behind the costs."""

    both: list[Both]
    switches: tuple[int, int] | None
    n: int
    quantity: str
    against: str = ""

    def preview(self, min_samples: int) -> KnobEffect:
        """What the ghost would have made of the record."""
        pairs = [(pair.real, pair.ghost, pair.weight) for pair in self.both]
        return self._effect(pairs, self.switches, min_samples)

    def judged(self, min_samples: int) -> KnobEffect:
        """What the record made of the ghost, which has the value before."""
        pairs = [(pair.ghost, pair.real, pair.weight) for pair in self.both]
        turned = None if self.switches is None else (self.switches[1], self.switches[0])
        return self._effect(pairs, turned, min_samples)

    def _effect(
        self,
        pairs: Sequence[tuple[float, float, float]],
        switches: tuple[int, int] | None,
        min_samples: int,
    ) -> KnobEffect:
        """pairs: before, after, weight."""
        share, total = None, sum(weight for *_, weight in pairs)
        paid = sum(before * weight for before, _, weight in pairs)
        change = mean_interval([(after - before, weight) for before, after, weight in pairs])
        if change is not None and paid > 0 and self.n >= min_samples:
            share = MeanInterval(*(part / (paid / total) for part in change))
        return KnobEffect(share, switches, self.n, True, self.quantity, self.against)


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """What is on record of the rule behind a knob, oldest first."""

    asked: KnobAsked

    def cut(self) -> tuple[RuleRecord, bool]:
        """As much as a verdict takes, and whether there is more."""
        return self, False

    def again(self, value: Any) -> Evaluated | None:
        """The record under another value; None where it does not tell that."""
        return None

    def preview(self, value: Any) -> KnobEffect | None:
        """What it would have become under another value."""
        evaluated = self.again(value)
        return evaluated and evaluated.preview(MIN_SAMPLES)

    def judge(self, old: Any) -> KnobEffect | None:
        """What it came to after a turn from that value."""
        evaluated = self.again(old)
        return evaluated and evaluated.judged(MIN_SAMPLES)


#: How a system reads what is on record of the rule behind a knob; None: that is no knob of it.
Replay: TypeAlias = Callable[[KnobAsked], RuleRecord | None]


def of_choices(choices: Sequence[RecordedChoices], value: str, quantity: str) -> Evaluated:
    """Evaluations that tell what another value would have planned."""
    evaluations = [choice for choice in choices if value in choice.costs]
    both = [Both(choice.now, choice.costs[value], 1.0) for choice in evaluations]
    return Evaluated(both, None, sum(choice.n for choice in evaluations), quantity, ANEW)


def before_and_after(
    before: Sequence[float], after: Sequence[float], quantity: str = VISITS
) -> KnobEffect:
    """The means of both sides, one value a batch; their difference with a 95 % interval."""
    old, new = (mean_interval([(value, 1.0) for value in side]) for side in (before, after))
    return changed(old, new, min(len(before), len(after)), quantity)


def changed(
    before: MeanInterval | None, after: MeanInterval | None, n: int, quantity: str = VISITS
) -> KnobEffect:
    """By what share a mean changed, both sides being independent; n: values behind the fewer."""
    if before is None or after is None or not before.mean:
        return KnobEffect(None, None, n, False, quantity)
    half = math.hypot(*(side.high - side.mean for side in (before, after))) / before.mean
    mean = after.mean / before.mean - 1
    return KnobEffect(MeanInterval(mean, mean - half, mean + half), None, n, False, quantity)


def _percent(share: MeanInterval) -> str:
    half = 100 * (share.high - share.low) / 2
    return f"{100 * share.mean:+.1f}{THIN}% ± {half:.1f}".replace("-", "−")
