"""k from censored distances, by definition over plain lists: the slow twin of its estimator."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from backend.operators.network.kmon.tuning import KMonTuning

#: The largest distance of each bin.
ENDS: tuple[int, ...] = (*range(16), *((9 + m << e) - 1 for e in range(1, 19) for m in range(8)))
_SLIGHTLY_MORE = 1 + 1e-9


class Seen(NamedTuple):
    """A pair that joined, and at which arrival."""

    distance: int
    weight: float
    arrival: int


class Exposed(NamedTuple):
    """A tuple that did not join at ages above ``begin`` up to ``end``."""

    begin: int
    end: int
    weight: float


def bin_of(distance: int) -> int:
    """0 to 15 each its own, then 8 to an octave."""
    return next((bin for bin, end in enumerate(ENDS) if distance <= end), len(ENDS) - 1)


def survival(
    events: Sequence[tuple[int, float]], exposed: Iterable[Exposed], times: Sequence[int]
) -> list[float]:
    """Kaplan-Meier: P(T > t) of each t of ``times``. Whoever is censored at t is at risk at t."""
    rates: dict[int, float] = {}
    others = list(exposed)
    for t in sorted({at for at, _ in events}):
        at_risk = sum(w for at, w in events if at >= t)
        at_risk += sum(one.weight for one in others if one.begin < t <= one.end)
        rates[t] = min(sum(w for at, w in events if at == t) / at_risk, 1.0)
    return [math.prod(1 - rate for at, rate in rates.items() if at <= t) for t in times]


class CensoredTwin:
    """One constraint. k, kept, estimate, low, high: None where none is known."""

    def __init__(self, tuning: KMonTuning) -> None:
        self.tuning, self.patience = tuning, 1
        self.least, self.step = max(1, tuning.window // 4), max(1, tuning.window // 8)
        is_seen = tuning.loss == "never" or tuning.sample_prob >= 1
        self.alarm = math.inf if is_seen else math.log(20 * tuning.window)
        self._begin(None)

    def _begin(self, before: int | None) -> None:
        self.k: int | None = None
        self.kept: int | None = None
        self.estimate: int | None = None
        self.low: int | None = None
        self.high: int | None = None
        self.before = before
        self.seen: list[Seen] = []
        self.waiting: list[Exposed] = []
        self.gone: list[Exposed] = []
        self.n_arrivals = self.changed = self.n_unlooked = 0
        self.lost = self.level = self.block = self.if_released = self.if_joined = self.credit = 0.0
        self.is_open = False

    @property
    def window(self) -> list[Seen]:
        return self.seen[-self.tuning.window :]

    def above(self, k: int) -> float:
        return sum(one.weight for one in self.window if one.distance > k)

    # ------------------------------------------------------------------ what is told

    def arrived(self) -> None:
        self.n_arrivals += 1

    def observed(self, distance: int, weight: float) -> None:
        self.seen.append(Seen(distance, weight, self.n_arrivals))
        self.n_unlooked += 1
        if self.k is None or self.kept is None:
            return
        if weight == 1:
            self._end_block()
            self.block = max(self.block + self.if_joined, -self.credit - self.level)
        elif distance > self.kept or distance <= self.n_arrivals:
            self.lost += weight
        if distance <= self.k and weight == 1:
            return
        allowed = self.tuning.loss_budget * sum(s.weight for s in self.window) * _SLIGHTLY_MORE
        if self.lost > allowed:
            self._begin(None)
        elif self.above(self.k) > allowed:
            distances = sorted({s.distance for s in self.window})
            self._adopt(next(d for d in distances if d > self.k and self.above(d) <= allowed))
            self.block += min(math.log((len(self.window) + 2) / 4), self.alarm / 8)

    def released(self, age: int) -> None:
        self.gone.append(self._exposed(age, 1.0))
        since = self.n_arrivals - self.changed
        if self.kept is not None and age - since < self.kept:
            self.is_open = True
            self.block += self.if_released
            if self.level + self.block > self.alarm * self.patience:
                self._begin(self.kept)

    def waits(self, age: int, weight: float) -> None:
        self.waiting.append(self._exposed(age, weight))

    def _exposed(self, age: int, weight: float) -> Exposed:
        is_full = len(self.seen) >= self.tuning.window
        span = self.n_arrivals - (self.window[0].arrival if is_full else 0)
        return Exposed(bin_of(age - span) if age > span else -1, bin_of(age), weight)

    def _end_block(self) -> None:
        if self.is_open:
            self.level, self.block, self.is_open = max(0.0, self.level + self.block), 0.0, False

    # ------------------------------------------------------------------ the estimate

    def wants_look(self) -> bool:
        enough = self.k is not None or len(self.window) >= self.least
        return enough and self.n_unlooked >= self.step

    def look(self) -> None:
        events = [(bin_of(s.distance), s.weight) for s in self.window]
        left = survival(events, self.waiting + self.gone, range(len(ENDS)))
        joining = 1 - left[-1]
        self._measure([(one - left[-1]) / joining for one in left])
        estimate = self.estimate or 0
        if self.k is None:
            if len(self.window) >= self.least and self.n_arrivals >= 2 * estimate:
                self._adopt(estimate)
                self._learn()
        elif estimate > self.k or estimate + self.tuning.slack <= self.k:
            self._adopt(estimate)
        if self.kept is not None:
            self._expect(left[bin_of(self.kept)])
        stays = 1 - min(1.0, self.n_unlooked / self.tuning.window)
        self.lost *= stays
        self.gone = [one._replace(weight=one.weight * stays) for one in self.gone]
        self.waiting, self.n_unlooked = [], 0

    def _measure(self, tails: Sequence[float]) -> None:
        """tails: share of joining pairs above each bin."""
        weights = [one.weight for one in self.window]
        n, share = sum(weights) ** 2 / sum(w * w for w in weights), self.tuning.loss_budget
        root = math.sqrt(share * n + 0.375)
        most = math.floor((root + 0.98) ** 2 - 0.375)
        least = math.floor(max(root - 0.98, 0.0) ** 2 - 0.375)
        self.estimate = self._largest(tails, share)
        bin = _at_tail(tails, most / n)
        self.low = next(d for d in range(2**22) if bin_of(d) == bin)
        if least >= 1:
            self.high = ENDS[_at_tail(tails, (least - 1) / n)]
        else:
            self.high = self._upper_end(tails, n)

    def _largest(self, tails: Sequence[float], share: float) -> int:
        bin = _at_tail(tails, share)
        return max((s.distance for s in self.window if bin_of(s.distance) == bin), default=0)

    def _upper_end(self, tails: Sequence[float], n: float) -> int | None:
        if self.tuning.loss_budget <= 0:
            return None
        base = _at_tail(tails, 1 / math.sqrt(n))
        above = tails[base]
        if not above > 1e-12:
            return ENDS[base]
        steps = zip(tails, ENDS, ENDS[1:], strict=False)
        mean = sum(tail * (end - last) for tail, last, end in list(steps)[base:]) / above
        far = math.log(max(above / self.tuning.loss_budget, 1.0))
        spread = 1.96 * math.sqrt((1 + far * far) / (above * n))
        return ENDS[base] + math.ceil(mean * (far + spread))

    def _adopt(self, k: int) -> None:
        kept = max(math.floor(self.tuning.factor * k), k + self.tuning.slack)
        if self.kept is None or kept < self.kept:
            self.changed = self.n_arrivals
        self.k, self.kept = k, kept

    def _learn(self) -> None:
        if self.before is not None and self.kept is not None:
            self.patience = min(2 * self.patience, 64) if self.kept <= self.before else 1
        self.before = None

    def _expect(self, left: float) -> None:
        never = min(max(left, 1 / (len(self.window) + 2)), 1 - 1e-6)
        more = never + (1 - never) / 4
        self.if_released = min(math.log(more / never), self.alarm / 8)
        self.if_joined = math.log((1 - more) / (1 - never))
        self.credit = self.tuning.window * never / (1 - never) * self.if_released


def _at_tail(tails: Sequence[float], share: float) -> int:
    return next(b for b, tail in enumerate(tails) if tail <= share * _SLIGHTLY_MORE + 1e-12)
