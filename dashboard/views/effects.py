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
from dashboard.views.ghost import GhostComparison, MeanInterval, compare
from dashboard.views.regret import Z_95
from dashboard.views.whatif import Trial, redecide

#: Values a comparison before and after takes on each side at least.
FEWEST: Final = 5


class KnobEffect(NamedTuple):
    """What became of visits per tuple, as a share of those before (-0.08 = 8 % fewer).

    share: None with too few samples. switches: rearrangements with the value before and with the
    new one, None = unknown. n: sampled tuples (or batches) behind it. paired: on the same tuples.
    """

    share: MeanInterval | None
    switches: tuple[int, int] | None
    n: int
    paired: bool

    @property
    def words(self) -> str:
        """``visits −8.0 % ± 3.0, switches 14 → 3``."""
        if self.share is None:
            return f"not enough samples yet (n = {show(self.n, 'int')})"
        found = f"visits {_percent(self.share)}"
        if self.switches is not None:
            found += f", switches {self.switches[0]} → {self.switches[1]}"
        return found if self.paired else f"{found}, before and after (not paired)"

    @property
    def tone(self) -> str:
        """ok: it helped; warning: it hurt; quiet: neither can be told."""
        if self.share is None or not self.paired or self.share.low <= 0 <= self.share.high:
            return "quiet"
        return "ok" if self.share.mean < 0 else "warning"


def preview(trials: Sequence[Trial], knobs: Mapping[str, Any], min_samples: int) -> KnobEffect:
    """What the recorded evaluations would have become with other values."""
    found = compare(redecide(trials, knobs), min_samples)
    return _effect(found, found.real.visits, -1, (found.real.switched, found.ghost.switched))


def judged(trials: Sequence[Trial], before: Mapping[str, Any], min_samples: int) -> KnobEffect:
    """What a turn brought. trials: since it took effect. before: the value it replaced."""
    found = compare(redecide(trials, before), min_samples)
    return _effect(found, found.ghost.visits, +1, (found.ghost.switched, found.real.switched))


def _effect(
    found: GhostComparison, base: float | None, sign: int, switches: tuple[int, int]
) -> KnobEffect:
    """sign: of what the ghost saves in the change that is told."""
    if found.saved is None or not base:
        return KnobEffect(None, switches, found.n, True)
    ends = sorted(sign * end / base for end in (found.saved.low, found.saved.high))
    return KnobEffect(MeanInterval(sign * found.saved.mean / base, *ends), switches, found.n, True)


def before_and_after(before: Sequence[float], after: Sequence[float]) -> KnobEffect:
    """The means of both sides, one value a batch; their difference with a 95 % interval."""
    n = min(len(before), len(after))
    base = float(np.mean(before)) if len(before) else 0.0
    if n < FEWEST or not base:
        return KnobEffect(None, None, n, False)
    sides = (np.asarray(before), np.asarray(after))
    half = Z_95 * math.sqrt(sum(float(np.var(one, ddof=1)) / len(one) for one in sides)) / base
    mean = float(np.mean(after)) / base - 1
    return KnobEffect(MeanInterval(mean, mean - half, mean + half), None, n, False)


def _percent(share: MeanInterval) -> str:
    half = 100 * (share.high - share.low) / 2
    return f"{100 * share.mean:+.1f}{THIN}% ± {half:.1f}".replace("-", "−")
