"""What share of the elements of a pipeline is profiled. [B05] §5.5.2 leaves it open, card 12"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from backend.systems.joins.decide.settings import JoinSettings

#: Profiling takes no more than this share of an interval, by sampling slow inputs more.
_PROFILING_SHARE: Final = 0.5


def profile_share(settings: JoinSettings, share: float, waits: bool) -> float:
    """Of an input: so many that W observations are made in one or two intervals, but no more than
    the share that is set; in half an interval, and whatever that takes, where something waits for
    them.

    share: of the input in the elements of the join; 0: nothing came.
    """
    wanted = settings.keep_elements / (settings.interval_tuples * (share or 1.0))
    if waits:
        return _rounded(wanted / _PROFILING_SHARE)
    return min(settings.join_profile_prob, _rounded(wanted / 2))


def steadied(before: Sequence[float], now: Sequence[float]) -> tuple[float, ...]:
    """By pipeline: as before where that is no more than twice what is wanted now, as a join that is
    executed in another way is prepared anew, and its counts compare with nothing before. before:
    (): none."""
    pairs = zip(before or now, now, strict=True)
    return tuple(old if new <= old <= 2 * new else new for old, new in pairs)


def _rounded(prob: float) -> float:
    """Up to a power of two, so that it does not change with every batch; at most 1."""
    return min(1.0, 2.0 ** math.ceil(math.log2(prob)))
