"""What is decided on one join that keeps less: how many key groups its windows drop. Card B8"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from backend.adaptive.core import Evaluations
from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.key_groups import N_GROUPS
from backend.operators.network.stores.retaining import RetainProfile, share_of
from backend.systems.retention.planning import RetainedJoin
from storage.vocabulary.records import Decision

#: Of its limit that windows are brought down to; and from which on more values are kept again.
_TARGET: Final = 0.9
_ROOM: Final = 0.7
#: Standard deviations of a 95 % interval.
_SPREAD: Final = 1.96


@dataclass(frozen=True, slots=True)
class SeenJoin:
    """A batch of a join. sizes: int64[N_GROUPS], bytes of its windows by key group; empty: not
    told. n_bytes: of them; growth: since the batch before; counters: of the join."""

    n_bytes: int = 0
    growth: int = 0
    n_missing: int = 0
    sizes: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    counters: Mapping[str, float] = field(default_factory=dict)

    @property
    def estimate(self) -> tuple[float, float, float] | None:
        """Results there would have been, and the 95 % interval; None: nothing was counted."""
        if "estimated_results" not in self.counters:
            return None
        value = self.counters["estimated_results"]
        half = _SPREAD * math.sqrt(self.counters["results_variance"])
        return value, max(self.counters["kept_results"], value - half), value + half


@dataclass
class AdaptedRetention:
    """name: of the join; key, whole: its attributes, and the inputs that are kept whole, for
    people. turned: groups that the share drops; limit_bytes: of its windows, 0 = none; held: groups
    that the limit drops. is_wanted: it is to keep less; else it still lacks tuples."""

    join: RetainedJoin
    name: str = ""
    key: str = ""
    whole: Sequence[str] = ()
    turned: int = 0
    limit_bytes: int = 0
    held: int = 0
    is_wanted: bool = True
    seen: SeenJoin = field(default_factory=SeenJoin)

    @property
    def n_dropped(self) -> int:
        """Key groups."""
        return max(self.turned, self.held if self.limit_bytes else 0)

    @property
    def lacks(self) -> bool:
        """Whether results may be missing."""
        return self.n_dropped > 0 or self.seen.n_missing > 0

    @property
    def inexact(self) -> str:
        """Why its results are not all; '' where they are."""
        if not self.lacks:
            return ""
        share = share_of(max(self.n_dropped, self.seen.n_missing))
        whole = f"; {', '.join(self.whole)} kept whole" if self.whole else ""
        return f"{self.name} has the results of {share:.3g} of the values of {self.key}{whole}"

    def observe(
        self, batch_id: int, seen: SeenJoin, evaluations: Evaluations, version: int
    ) -> list[Decision]:
        """A batch is over: other groups where the limit asks for it, or has room."""
        self.seen, before = seen, self.n_dropped
        if not self.limit_bytes:
            self.held = 0
        elif seen.n_bytes + seen.growth > self.limit_bytes or seen.n_bytes > self.limit_bytes:
            self.held = max(before, self._holding())
        elif seen.n_missing <= before and seen.n_bytes < _ROOM * self.limit_bytes:
            kept = (N_GROUPS - before) * _TARGET * self.limit_bytes / max(1, seen.n_bytes)
            self.held = min(before, N_GROUPS - math.floor(min(N_GROUPS, kept)))
        if self.n_dropped == before:
            return []
        return [self._decision(batch_id, before, evaluations.count(), version)]

    def _holding(self) -> int:
        """The fewest groups without which the windows fit, as they grow; one stays."""
        seen, sizes = self.seen, self.seen.sizes
        if not sizes.any():  # nothing was told yet: as if groups were alike
            sizes = np.full(N_GROUPS, seen.n_bytes / (N_GROUPS - self.n_dropped))
        grown = max(0.0, seen.growth / seen.n_bytes) if seen.n_bytes else 0.0
        left = (1 + grown) * np.cumsum(sizes[::-1])[::-1]
        fits = np.flatnonzero(left <= _TARGET * self.limit_bytes)
        return int(min(fits[0] if len(fits) else N_GROUPS, N_GROUPS - 1))

    def _decision(self, batch_id: int, before: int, seq: int, version: int) -> Decision:
        seen, is_less = self.seen, self.n_dropped > before
        words = f"{share_of(self.n_dropped):.3g} of the values of {self.key} are kept"
        return Decision(
            seq=seq,
            batch=batch_id,
            algorithm="universe",
            kind="retention",
            verdict="acted",
            metric="windows_bytes",
            lhs=seen.n_bytes + max(0, seen.growth) if is_less else seen.n_bytes,
            relation=">" if is_less else "<",
            rhs=self.limit_bytes if is_less else _ROOM * self.limit_bytes,
            n=int(seen.counters.get("kept_results", 0)),
            n_sample=int(seen.counters.get("kept_results", 0)),
            knob_version=version,
            explanation=f"{self.name}: {words}, {share_of(before):.3g} before",
            old=[f"{share_of(before):.3g}"],
            new=[f"{share_of(self.n_dropped):.3g}"],
            detail={"windows_bytes": seen.n_bytes, "limit_bytes": self.limit_bytes},
        )

    def state(self) -> dict[str, Any]:
        """What a run that is resumed goes on with."""
        numbers = {"held": self.held, "bytes": self.seen.n_bytes, "missing": self.seen.n_missing}
        return {**numbers, "windows": [list(window) for window in self.join.windows]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take that up."""
        self.held = state["held"]
        self.seen = SeenJoin(state["bytes"], n_missing=state["missing"])


def seen_join(
    before: SeenJoin,
    windows: Sequence[tuple[bool, int, int, RetainProfile]],
    counters: Mapping[str, float],
) -> SeenJoin:
    """A batch of a join. windows: of each whether it drops tuples, bytes, tuples and profile."""
    n_bytes = sum(n for drops, n, _, _ in windows if drops)
    sizes = np.zeros(N_GROUPS, np.int64)
    for drops, n, n_tuples, profile in windows:
        if drops and len(profile.sizes) and n_tuples:
            sizes += profile.sizes * (n // n_tuples)
    missing = max((profile.n_missing for *_, profile in windows), default=0)
    return SeenJoin(n_bytes, n_bytes - before.n_bytes, missing, sizes, counters)
