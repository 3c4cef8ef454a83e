"""A window of which a probability sample is kept, and aggregates of it, by their definitions. B8"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import Any, NamedTuple

from backend.model.draws import seed_of
from backend.operators.network.shedding.options import ShedOptions

Row = tuple[Any, ...]
Z = NormalDist().inv_cdf(0.975)
#: Of 1 to 12 degrees of freedom, from a table.
STUDENT = (
    *(12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469),
    *(2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788),
)


class Kept(NamedTuple):
    """A tuple in memory. position: its tick, or its number; shown: the tick from which on it is in
    the window."""

    row: Row
    rank: float
    prob: float
    position: int
    shown: int


@dataclass
class SlowSample:
    """kind 'range' or 'rows'. reads: whether a tuple belongs to the window at all."""

    kind: str
    size: int
    slide: int = 1
    reads: Callable[[Row], bool] = lambda row: True
    kept: list[Kept] = field(default_factory=list)
    level: int = 0
    last: int = -1
    dropped: int = 0

    def batch(
        self,
        rows: Sequence[tuple[Row, int]],
        first: int,
        ticks: Iterable[int],
        options: ShedOptions,
    ) -> dict[int, list[tuple[Row, float]]]:
        """The window at each tick: rows and probabilities. rows: of the batch, with ticks, numbered
        from ``first``, from 0 on."""
        found = {}
        if options.memory_tuples and len(self.kept) > options.memory_tuples:
            self._lower(options)
        for tick in ticks:
            if self.kind == "range":
                self.kept = [one for one in self.kept if self._gone(one.position) > tick]
            now = [number for number, (_, at) in enumerate(rows, first + 1) if at == tick]
            for number in now:
                if self.reads(row := rows[number - first - 1][0]):
                    self._arrive(row, tick, number, options)
            for number in now[-1:]:
                self._count(number)
            found[tick] = [(one.row, one.prob) for one in self.kept if one.shown <= tick]
        return found

    def _shown(self, tick: int) -> int:
        return math.ceil(Fraction(tick, self.slide)) * self.slide

    def _gone(self, tick: int) -> int:
        """The first time the window moves to where a tick is too old."""
        at = self._shown(tick)
        while at - self.size <= tick:
            at += self.slide
        return at

    def _count(self, number: int) -> None:
        if self.kind == "rows":
            self.kept = [one for one in self.kept if one.position > number - self.size]

    def _arrive(self, row: Row, tick: int, number: int, options: ShedOptions) -> None:
        if tick != self.last:
            self.last = tick
            self._rise(options)
        self._count(number)
        position, shown = (number, tick) if self.kind == "rows" else (tick, self._shown(tick))
        if self.kind == "range" and self._gone(tick) <= shown:
            return
        rank, prob = (seed_of(options.seed, number - 1) >> 11) / 2**53, self._prob(options)
        if rank >= prob:
            self.dropped += 1
            return
        self.kept.append(Kept(row, rank, prob, position, shown))
        if options.memory_tuples and len(self.kept) > options.memory_tuples:
            self._lower(options)

    def _prob(self, options: ShedOptions, level: int | None = None) -> float:
        prob = 2 ** (-(self.level if level is None else level) / 4)
        return min(options.sample_prob or 1.0, prob)

    def _rise(self, options: ShedOptions) -> None:
        if not options.memory_tuples:
            self.level = 0
        stands_for, room = sum(1 / one.prob for one in self.kept), 0.85 * options.target_tuples
        while self.level and stands_for * self._prob(options, self.level - 1) <= room:
            self.level -= 1

    def _lower(self, options: ShedOptions) -> None:
        while len(self.kept) > options.target_tuples:
            self.level += 1
            prob, before = self._prob(options), len(self.kept)
            self.kept = [
                one._replace(prob=min(prob, one.prob)) for one in self.kept if one.rank < prob
            ]
            self.dropped += before - len(self.kept)


def estimated(values: Sequence[tuple[Any, float]], function: str) -> tuple[Any, Any, Any]:
    """A value and the ends of its interval. values: of a group, each with its probability; None is
    NULL, and any value counts for count(*)."""
    known = [(value, prob) for value, prob in values if value is not None]
    if all(prob == 1 for _, prob in values):
        exact = _exact([value for value, _ in known], function)
        return exact, exact, exact
    if function == "count":
        value, low, high = _total([(1, prob) for _, prob in known], values)
        return round(value), max(low, len(known)), high
    if not known:
        return None, None, None
    if function == "avg":
        return _mean(known)
    value, low, high = _total(known, values)
    return round(value) if isinstance(known[0][0], int) else value, low, high


def _exact(values: Sequence[Any], function: str) -> Any:
    if function == "count":
        return len(values)
    if not values:
        return None
    return math.fsum(values) / (len(values) if function == "avg" else 1)


def _total(known: Sequence[tuple[Any, float]], values: Any) -> tuple[float, float, float]:
    """Where a total T is in: |T - total| <= z sqrt(variance for T), that of equal values; others
    lean to the far side by how alike they are."""
    total = sum(value / prob for value, prob in known)
    variance = sum(value**2 * (1 - prob) / prob**2 for value, prob in known)
    root = math.sqrt(sum(1 / p for _, p in known) * sum(v**2 / p for v, p in known))
    each, lean = 0.0 if known else max((1 - prob) / prob for _, prob in values), 1.0
    if root:
        each, lean = variance / root, total / root
    half = Z * math.sqrt(variance + (Z * each / 2) ** 2)
    middle = total + Z**2 * each / 2 * lean
    return total, middle - half, middle + half


def _mean(known: Sequence[tuple[Any, float]]) -> tuple[Any, Any, Any]:
    n = sum(1 / prob for _, prob in known)
    mean = sum(value / prob for value, prob in known) / n
    if len(known) < 2:
        return mean, None, None
    spread = sum((value - mean) ** 2 * (1 - prob) / prob**2 for value, prob in known)
    degrees = len(known) - 1
    quantile = STUDENT[degrees - 1] if degrees <= len(STUDENT) else expansion(degrees)
    half = quantile * math.sqrt(spread / n**2 * len(known) / degrees)
    return mean, mean - half, mean + half


def expansion(degrees: int) -> float:
    """Student's quantile of more degrees of freedom, by the first terms of its expansion."""
    return Z + (Z**3 + Z) / (4 * degrees) + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * degrees**2)


def estimates(
    window: Sequence[tuple[Row, float]], groups: Sequence[int], calls: Sequence[tuple[str, Any]]
) -> Mapping[Row, list[Any]]:
    """Group -> of each call value, low, high. calls: functions and places, None: count(*)."""
    by_group: dict[Row, list[tuple[Row, float]]] = {} if groups else {(): []}
    for row, prob in window:
        by_group.setdefault(tuple(row[place] for place in groups), []).append((row, prob))
    return {
        group: [
            number
            for function, place in calls
            for number in estimated(
                [(0 if place is None else row[place], prob) for row, prob in rows], function
            )
        ]
        for group, rows in by_group.items()
    }
