"""What a turn of a knob did: the rule decided again with the value before, on the same samples.

Both runs are costed on the same sampled tuples of each evaluation, so their difference is paired.
A knob the rule cannot be replayed with is compared before and after, which is no proof.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dashboard.components.formats import THIN, show
from dashboard.views.choices import RecordedChoices
from dashboard.views.ghost import MeanInterval, mean_interval
from dashboard.views.regret import Z_95
from dashboard.views.reorder import ProfileStep, reorder
from dashboard.views.whatif import Trial, redecide

#: What is told of: mean visits of a selection, expected time of a chain of filters.
VISITS: Final = "visits"
AT_MEASURED: Final = "visits, branch-free ones at the measured price,"
COST: Final = "cost"
ANEW: Final = "planned anew at each evaluation (paired)"
HELD: Final = "against the plan of before, kept (paired)"
#: Values a comparison before and after takes on each side at least.
FEWEST: Final = 5


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
        found = f"{self.quantity} {_percent(self.share)}"
        if self.switches is not None:
            found += f", switches {self.switches[0]} → {self.switches[1]}"
        if not self.paired:
            return f"{found}, before and after (not paired)"
        return f"{found}, {self.against}" if self.against else found

    @property
    def tone(self) -> str:
        """ok: it helped; warning: it hurt; quiet: neither can be told."""
        if self.share is None or not self.paired or self.share.low <= 0 <= self.share.high:
            return "quiet"
        return "ok" if self.share.mean < 0 else "warning"


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
        pairs = [(one.real, one.ghost, one.weight) for one in self.both]
        return self._effect(pairs, self.switches, min_samples)

    def judged(self, min_samples: int) -> KnobEffect:
        """What the record made of the ghost, which has the value before."""
        pairs = [(one.ghost, one.real, one.weight) for one in self.both]
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
            share = MeanInterval(*(one / (paid / total) for one in change))
        return KnobEffect(share, switches, self.n, True, self.quantity, self.against)


def of_trials(trials: Sequence[Trial], knobs: Mapping[str, Any]) -> Evaluated:
    """Evaluations of a selection decided again with other values."""
    steps = redecide(trials, knobs)
    both, n = [], 0
    apart = sum(a.n_sample != step.trial.n_sample for a, step in zip(trials, steps, strict=True))
    for step in steps:
        if step.real_cost is not None and step.ghost_cost is not None:
            both.append(Both(step.real_cost, step.ghost_cost, step.n_tuples))
            n += step.trial.n
    went = sum(s.real == "switched" for s in steps), sum(s.ghost == "switched" for s in steps)
    quantity = AT_MEASURED if "no_drop_visit_cost" in knobs else VISITS
    against = f"{apart} of {len(steps)} times on other samples than it would read" if apart else ""
    return Evaluated(both, went, n, quantity, against)


def of_plan_held(trials: Sequence[Trial]) -> Evaluated:
    """The plans in force since the first evaluation, beside the one in force there, kept."""
    held, both, n = trials[0].running, [], 0
    for trial in trials:
        real, ghost = trial.cost(trial.running), trial.cost(held)
        if real is not None and ghost is not None:
            both.append(Both(real.cost, ghost.cost, 1.0))
            n += trial.n
    return Evaluated(both, None, n, VISITS, HELD)


def of_steps(steps: Sequence[ProfileStep], knobs: Mapping[str, Any], since: int = 0) -> Evaluated:
    """Checks of filters decided again with other values from batch ``since`` on."""
    found = reorder(steps, knobs, since)
    both = [Both(one.real_us, one.ghost_us, one.n) for one in found if one.n]
    went = sum(one.real_switched for one in found), sum(one.ghost_switched for one in found)
    return Evaluated(both, went, sum(one.n for one in found), COST)


def of_choices(choices: Sequence[RecordedChoices], value: str, quantity: str) -> Evaluated:
    """Evaluations that tell what another value would have planned."""
    told = [one for one in choices if value in one.costs]
    both = [Both(one.now, one.costs[value], 1.0) for one in told]
    return Evaluated(both, None, sum(one.n for one in told), quantity, ANEW)


def before_and_after(
    before: Sequence[float], after: Sequence[float], quantity: str = VISITS
) -> KnobEffect:
    """The means of both sides, one value a batch; their difference with a 95 % interval."""
    n = min(len(before), len(after))
    base = float(np.mean(before)) if len(before) else 0.0
    if n < FEWEST or not base:
        return KnobEffect(None, None, n, False, quantity)
    sides = (np.asarray(before), np.asarray(after))
    half = Z_95 * math.sqrt(sum(float(np.var(one, ddof=1)) / len(one) for one in sides)) / base
    mean = float(np.mean(after)) / base - 1
    return KnobEffect(MeanInterval(mean, mean - half, mean + half), None, n, False, quantity)


def _percent(share: MeanInterval) -> str:
    half = 100 * (share.high - share.low) / 2
    return f"{100 * share.mean:+.1f}{THIN}% ± {half:.1f}".replace("-", "−")
