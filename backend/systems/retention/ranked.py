"""Joins that keep tuples by partners, life or age: no samples, but more results. Card B8

PROB keeps the keys that the other inputs have most of; LIFE the tuples whose partners, by their
key, times the time they have left are most; both after Das, Gehrke and Riedewald (SIGMOD 2003).
Oldest keeps what came last.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from zlib import compress, decompress

import numpy as np
from numpy.typing import NDArray

from backend.adaptive.core import Evaluations
from backend.operators.network.core.blocks import FOREVER, Ints
from backend.operators.network.core.key_groups import N_GROUPS
from backend.operators.network.kinds.retention import Keyed
from backend.operators.network.stores.retaining import RetainProfile, RetainTuning
from backend.systems.retention.join import AdaptedRetention, Compared, SeenJoin, SeenWindow
from backend.systems.retention.planning import RetainedJoin
from storage.vocabulary.records import Decision

Floats = NDArray[np.float64]
#: Of its limit that a window is brought down to; by life less, as all that stay come again.
_TARGETS: Final = {"prob": 0.9, "oldest": 0.9, "life": 0.75}
#: What a batch brings is made room for up to here.
_LEAST: Final = 0.3
#: Halvings until the least worth is known that a tuple has to have.
_HALVINGS: Final = 60


@dataclass
class RankedRetention(AdaptedRetention):
    """share: of the tuples of each window, that are kept. cuts: of each window, as RetainTuning has
    them; none: all are kept. decided: where windows were at the last decision. is_turned: a knob
    is another one since."""

    rule: str = "prob"
    share: float = 1.0
    cuts: dict[str, Ints] = field(default_factory=dict)
    decided: dict[str, int] = field(default_factory=dict)
    is_turned: bool = False

    @property
    def lacks(self) -> bool:
        return bool(self.cuts) or super().lacks

    @property
    def inexact(self) -> str:
        if not self.lacks:
            return ""
        return f"{self.name} has some of its results, nobody knows of how many: kept by {self.rule}"

    def turn(self, share: float, limit_bytes: int) -> None:
        self.is_turned |= (share, limit_bytes) != (self.share, self.limit_bytes)
        self.share, self.limit_bytes = share, limit_bytes
        if share == 1 and not limit_bytes:
            self.cuts = {}

    def tuned(self, tuning: RetainTuning, keyed: Keyed) -> RetainTuning:
        if not self.is_wanted:
            return tuning
        cuts = self.cuts.get(keyed.window)
        if cuts is not None and tuning.cuts:
            cuts = np.maximum(cuts, np.frombuffer(tuning.cuts, np.int64))
        return replace(tuning, cuts=tuning.cuts if cuts is None else cuts.tobytes(), counts=True)

    def observe(
        self, batch_id: int, seen: SeenJoin, evaluations: Evaluations, version: int
    ) -> list[Decision]:
        self.seen = seen
        windows = {id: window for id, window in seen.windows.items() if len(window.profile.whole)}
        budgets = self._budgets(windows)
        if not budgets:
            return []
        came = {id: w.profile.n_arrived - w.profile.n_refused for id, w in windows.items()}
        used = sum((w.n_tuples + came[id]) * w.tuple_bytes for id, w in windows.items())
        limit = sum(budgets[id] * w.tuple_bytes for id, w in windows.items())
        is_old = any(
            w.profile.last - self.decided[id] >= self.spans[id]
            for id, w in windows.items()
            if id in self.decided
        )
        if used <= limit and not is_old and not (self.is_turned and self.cuts):
            return []
        worth = partners({id: window.profile.whole for id, window in windows.items()})
        for id, window in windows.items():
            room = max(_TARGETS[self.rule] * budgets[id] - came[id], _LEAST * budgets[id])
            before = self.cuts.get(id, np.zeros(N_GROUPS, np.int64))
            state = WindowState(window.profile, self.spans[id], before, worth[id], room)
            self.cuts[id], self.decided[id] = CUTS[self.rule](state), window.profile.last
        if not any(cuts.any() for cuts in self.cuts.values()):
            self.cuts = {}
        self.is_turned = False
        return [self._ranked(batch_id, used, limit, evaluations.count(), version)]

    def _budgets(self, windows: Mapping[str, SeenWindow]) -> dict[str, float]:
        """Tuples that each window may have: its share, or what of the limit its part is."""
        whole = {id: int(window.profile.whole.sum()) for id, window in windows.items()}
        n_bytes = sum(whole[id] * window.tuple_bytes for id, window in windows.items())
        if not n_bytes or (self.share == 1 and not self.limit_bytes):
            return {}
        part = min(self.share, self.limit_bytes / n_bytes if self.limit_bytes else 1.0)
        return {id: part * whole[id] for id in windows}

    def _ranked(self, batch_id: int, used: float, limit: float, seq: int, version: int) -> Decision:
        """used: bytes that windows hold and expect."""
        is_over, kept = used > limit, self.expected_share
        held = sum(window.n_tuples for window in self.seen.windows.values())
        why = "" if is_over else ", as the last choice is as old as the windows, or a knob is new"
        compared = Compared(used, ">" if is_over else "<=", limit, held)
        explanation = f"tuples of {self.key} are chosen anew by {self.rule}{why}"
        changed = [] if kept is None else [f"{kept:.3g}"], [self.rule]
        return self.recorded(batch_id, compared, explanation, changed, seq, version)

    def state(self) -> dict[str, Any]:
        cuts = {id: b64encode(compress(own.tobytes())).decode() for id, own in self.cuts.items()}
        ranked = {"cuts": cuts, "decided": self.decided, "turned": self.is_turned}
        return {**super().state(), "ranked": ranked}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        if "ranked" in state:
            ranked = state["ranked"]
            self.decided, self.is_turned = dict(ranked["decided"]), ranked["turned"]
            self.cuts = {
                id: np.frombuffer(decompress(b64decode(own)), np.int64)
                for id, own in ranked["cuts"].items()
            }


def adapted_join(
    join: RetainedJoin, rule: str, before: AdaptedRetention | None = None
) -> AdaptedRetention:
    """A join by a rule, as it was before under the same one."""
    if before is not None and before.rule == rule:
        return before
    kind = RankedRetention if rule in CUTS else AdaptedRetention
    return kind(join, rule=rule, seen=SeenJoin() if before is None else before.seen)


@dataclass(frozen=True, slots=True, eq=False)
class WindowState:
    """Of which a window's cuts follow. before: its cuts so far; worth: float64[N_GROUPS], partners
    of a tuple by key group; room: for tuples."""

    profile: RetainProfile
    span: int
    before: Ints
    worth: Floats
    room: float

    @property
    def ages(self) -> Ints:
        """How old the oldest tuple of each key group may be, ticks or rows, from 1; 0: none is."""
        last = self.profile.last
        oldest = np.minimum(self.before, last + 1)
        ages: Ints = np.minimum(last + 1 - oldest, min(self.span, last + 1))
        return ages

    def kept(self, ages: Floats) -> Ints:
        """Cuts by which tuples may be so old; all that may be as old as the window reaches stay."""
        first = self.profile.last + 1 - np.floor(ages).astype(np.int64)
        return np.where(ages >= self.span, 0, np.where(ages < 1, FOREVER, np.maximum(first, 0)))


def partners(whole: Mapping[str, Ints]) -> dict[str, Floats]:
    """For a tuple of each window, by key group: combinations of tuples that the others hold."""
    return {
        id: np.prod([n.astype(float) for other, n in whole.items() if other != id], axis=0)
        * np.ones(N_GROUPS)
        for id in whole
    }


def by_partners(state: WindowState) -> Ints:
    """PROB: the keys with most partners, as many as find room in a whole window; of the last of
    them its newest tuples."""
    order = np.lexsort((-np.arange(N_GROUPS), -state.worth))
    sizes = state.profile.whole[order]
    before = np.cumsum(sizes) - sizes
    ages = np.empty(N_GROUPS)
    ages[order] = state.span * np.clip((state.room - before) / np.maximum(sizes, 1), 0, 1)
    return state.kept(ages)


def by_age(state: WindowState) -> Ints:
    """Oldest: as many ticks or rows of the newest as find room, if they are evenly dense."""
    ages, n = state.ages, int(state.profile.sizes.sum())
    age = float(ages.max()) * min(1.0, state.room / max(1, n))
    return state.kept(np.full(N_GROUPS, max(1.0, age)))


def by_life(state: WindowState) -> Ints:
    """LIFE: tuples with partners times ticks or rows left of at least so much, for which there is
    room, if the tuples of a key are evenly old."""
    held = state.ages.astype(float)
    density = state.profile.sizes / np.maximum(held, 1)
    if state.profile.sizes.sum() <= state.room:
        return np.zeros(N_GROUPS, np.int64)
    low, high = 0.0, float(state.span * state.worth.max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        kept = density * np.clip(_living(state, middle), 0, held)
        low, high = (middle, high) if kept.sum() > state.room else (low, middle)
    return state.kept(_living(state, high))


def _living(state: WindowState, least: float) -> Floats:
    """How old tuples of each group may be that are worth at least so much."""
    left = np.divide(least, state.worth, out=np.full(N_GROUPS, np.inf), where=state.worth > 0)
    living: Floats = np.maximum(state.span - left, 0)
    return living


CUTS: Final = {"prob": by_partners, "oldest": by_age, "life": by_life}
