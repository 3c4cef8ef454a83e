"""What is decided on one join that keeps less: how many key groups its windows drop. Card B8"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import numpy as np

from backend.adaptive.core import Evaluations
from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.key_groups import N_GROUPS
from backend.operators.network.kinds.retention import Keyed
from backend.operators.network.stores.retaining import RetainProfile, RetainTuning, share_of
from backend.systems.retention.planning import RetainedJoin
from storage.vocabulary.records import Decision

#: Of its limit that windows are brought down to; and from which on more values are kept again.
_TARGET: Final = 0.9
_ROOM: Final = 0.7
#: Standard deviations of a 95 % interval.
_SPREAD: Final = 1.96


class SeenWindow(NamedTuple):
    """A batch of a window."""

    n_bytes: int
    n_tuples: int
    profile: RetainProfile

    @property
    def tuple_bytes(self) -> float:
        """Of one, with its part of what the window takes."""
        return self.n_bytes / self.n_tuples if self.n_tuples else 0.0


@dataclass(frozen=True, slots=True)
class SeenJoin:
    """A batch of a join. windows: those that drop tuples; sizes: int64[N_GROUPS], their bytes by
    group; empty: not told. n_bytes: of them; growth: since the batch before; lacks: a window lacks
    others than groups say; counters: of the join."""

    n_bytes: int = 0
    growth: int = 0
    n_missing: int = 0
    lacks: bool = False
    windows: Mapping[str, SeenWindow] = field(default_factory=dict)
    sizes: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    counters: Mapping[str, float] = field(default_factory=dict)

    @property
    def estimate(self) -> tuple[float, float | None, float | None] | None:
        """Results there would have been, and the 95 % interval, where it has one; None: nothing was
        counted."""
        if "estimated_results" not in self.counters:
            return None
        value = self.counters["estimated_results"]
        if "results_variance" not in self.counters:
            return value, None, None
        half = _SPREAD * math.sqrt(self.counters["results_variance"])
        return value, max(self.counters["kept_results"], value - half), value + half


class Compared(NamedTuple):
    """Both sides of a choice, on n results or tuples."""

    lhs: float
    relation: str
    rhs: float
    n: int


@dataclass
class AdaptedRetention:
    """name: of the join; key, whole: its attributes, and the inputs that are kept whole, for
    people. rule: universe or rand; spans: how far windows reach back, in ticks or rows. turned:
    groups that the share drops; limit_bytes: of its windows, 0 = none; held: groups that the limit
    drops. is_wanted: it is to keep less; else it still lacks tuples."""

    join: RetainedJoin
    name: str = ""
    key: str = ""
    whole: Sequence[str] = ()
    turned: int = 0
    limit_bytes: int = 0
    held: int = 0
    is_wanted: bool = True
    rule: str = "universe"
    spans: Mapping[str, int] = field(default_factory=dict)
    seen: SeenJoin = field(default_factory=SeenJoin)

    @property
    def n_dropped(self) -> int:
        """Key groups."""
        return max(self.turned, self.held if self.limit_bytes else 0)

    @property
    def lacks(self) -> bool:
        """Whether results may be missing."""
        return self.n_dropped > 0 or self.seen.n_missing > 0 or self.seen.lacks

    @property
    def inexact(self) -> str:
        """Why its results are not all; '' where they are."""
        if not self.lacks:
            return ""
        share = share_of(max(self.n_dropped, self.seen.n_missing))
        whole = f"; {', '.join(self.whole)} kept whole" if self.whole else ""
        if self.seen.lacks:
            return f"{self.name} has some of its results, until its windows are filled anew{whole}"
        if self.rule == "rand":
            return f"{self.name} has the results of {share:.3g} of the tuples of each window{whole}"
        return f"{self.name} has the results of {share:.3g} of the values of {self.key}{whole}"

    @property
    def sample_share(self) -> float | None:
        """Of all results, that are there; None: they are no sample."""
        if self.seen.lacks:
            return None
        return share_of(self.seen.n_missing) ** (len(self.join.windows) if self.by_number else 1)

    @property
    def expected_share(self) -> float | None:
        """Of the combinations of tuples with equal keys that whole windows would hold, as they are
        counted by key groups, those that these hold; None: not counted."""
        return self._share_with(self.seen.windows)

    def lost_share(self, window: str) -> float | None:
        """Of all results, those that lack a tuple of this window, whatever the others keep: by
        groups where these are counted, else of a sample; None: not known."""
        seen = self.seen.windows.get(window)
        if seen is None:
            return None
        share = self._share_with([window])
        if share is None and not seen.profile.lacks:
            share = share_of(seen.profile.n_missing)
        return None if share is None else 1 - share

    def _share_with(self, less: Collection[str]) -> float | None:
        """As ``expected_share``, if these windows alone were as they are. What is there counts as
        having come, also from before tuples were counted."""
        profiles = {id: window.profile for id, window in self.seen.windows.items()}
        if self.by_number or not all(len(own.whole) for own in profiles.values()):
            return None
        every = {id: np.maximum(own.whole, own.sizes) for id, own in profiles.items()}
        kept = [profiles[id].sizes if id in less else whole for id, whole in every.items()]
        held, whole = (
            float(np.prod([np.asarray(own, float) for own in sizes], axis=0).sum())
            for sizes in (kept, [*every.values()])
        )
        return held / whole if profiles and whole else None

    @property
    def by_number(self) -> bool:
        """Whether groups are of the tuples' numbers."""
        return self.rule == "rand"

    def turn(self, share: float, limit_bytes: int) -> None:
        """What the knobs say it may keep."""
        self.turned = min(N_GROUPS - 1, round((1 - share) * N_GROUPS))
        self.limit_bytes = limit_bytes

    def tuned(self, tuning: RetainTuning, keyed: Keyed) -> RetainTuning:
        """How a window of it is executed, that others may have a say in, too."""
        n = max(self.n_dropped, tuning.n_dropped)
        counts = tuning.counts or bool(self.limit_bytes)
        by_number = tuning.by_number or (self.by_number and self.is_wanted)
        return replace(tuning, n_dropped=n, by_number=by_number, counts=counts)

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
        what = "tuples of each window" if self.by_number else f"values of {self.key}"
        words = f"{share_of(self.n_dropped):.3g} of the {what} are kept"
        n = int(seen.counters.get("kept_results", 0))
        compared = Compared(
            lhs=seen.n_bytes + max(0, seen.growth) if is_less else seen.n_bytes,
            relation=">" if is_less else "<",
            rhs=self.limit_bytes if is_less else _ROOM * self.limit_bytes,
            n=n,
        )
        explanation = f"{words}, {share_of(before):.3g} before"
        changed = [f"{share_of(before):.3g}"], [f"{share_of(self.n_dropped):.3g}"]
        return self.recorded(batch_id, compared, explanation, changed, seq, version)

    def recorded(
        self,
        batch_id: int,
        compared: Compared,
        words: str,
        changed: tuple[list[str], list[str]],
        seq: int,
        version: int,
    ) -> Decision:
        """What its windows keep is chosen anew. changed: what was kept, and what is, in short."""
        return Decision(
            seq=seq,
            batch=batch_id,
            algorithm=self.rule,
            kind="retention",
            verdict="acted",
            metric="windows_bytes",
            lhs=compared.lhs,
            relation=compared.relation,
            rhs=compared.rhs,
            n=compared.n,
            n_sample=compared.n,
            knob_version=version,
            explanation=f"{self.name}: {words}",
            old=changed[0],
            new=changed[1],
            detail={"windows_bytes": self.seen.n_bytes, "limit_bytes": self.limit_bytes},
        )

    def state(self) -> dict[str, Any]:
        """What a run that is resumed goes on with."""
        seen = self.seen
        numbers = {"held": self.held, "bytes": seen.n_bytes, "missing": seen.n_missing}
        return {
            **numbers,
            "rule": self.rule,
            "lacks": seen.lacks,
            "windows": [list(window) for window in self.join.windows],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take that up."""
        self.held = state["held"]
        self.seen = SeenJoin(state["bytes"], n_missing=state["missing"], lacks=state["lacks"])


def seen_join(
    before: SeenJoin,
    windows: Mapping[str, SeenWindow],
    drops: Collection[str],
    counters: Mapping[str, float],
) -> SeenJoin:
    """A batch of a join. windows: with its key; drops: those that may drop tuples."""
    dropping = {id: window for id, window in windows.items() if id in drops}
    sizes = np.zeros(N_GROUPS, np.int64)
    for window in dropping.values():
        if len(window.profile.sizes) and window.n_tuples:
            sizes += window.profile.sizes * (window.n_bytes // window.n_tuples)
    n_bytes = sum(window.n_bytes for window in dropping.values())
    return SeenJoin(
        n_bytes=n_bytes,
        growth=n_bytes - before.n_bytes,
        n_missing=max((window.profile.n_missing for window in windows.values()), default=0),
        lacks=any(window.profile.lacks for window in windows.values()),
        windows=dropping,
        sizes=sizes,
        counters=counters,
    )
