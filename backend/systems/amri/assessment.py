"""Assessors: how often each access pattern is asked of a state. [WRA13] §5, card A4

What is counted are probing rows: a batch of n rows counts as n requests, one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from backend.model.draws import draws
from backend.systems.amri.entries import (
    AssessEvent,
    AssessmentReport,
    Guarantees,
    PatternEntry,
)
from storage.vocabulary.amri_patterns import Pattern, parents

Combine: TypeAlias = Literal["highest", "random"]
FoldScope: TypeAlias = Literal["all", "leaf"]
Variant: TypeAlias = Literal["sound", "literal"]


@dataclass(frozen=True, slots=True)
class AssessmentSettings:
    """epsilon: what compaction may err by; theta: what is reported from; both shares of requests.
    variant: 'literal' counts segments from 0 and compares as printed (W3, W6).

    Raises ValueError unless 0 < epsilon < theta.
    """

    epsilon: float = 0.01
    theta: float = 0.02
    combine: Combine = "highest"
    fold_scope: FoldScope = "all"
    variant: Variant = "sound"
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < self.theta:
            raise ValueError(
                f"epsilon = {self.epsilon:g} and theta = {self.theta:g} refused: "
                "allowed 0 < epsilon < theta; lower epsilon or raise theta"
            )

    @property
    def segment(self) -> int:
        """Requests between two compactions."""
        return math.ceil(1 / self.epsilon)


class ExactCounters:
    """SRIA, and DIA: the same table seen as a lattice. Every pattern is counted and reported.

    n: attributes of the state; total: requests; peak: entries it had at most.
    """

    def __init__(self, n: int, settings: AssessmentSettings | None = None) -> None:
        self.n, self.total, self.peak = n, 0, 0
        self.settings = settings or AssessmentSettings()
        self._entries: dict[Pattern, PatternEntry] = {}
        self._folded: dict[Pattern, Pattern | None] = {}

    def observe(self, pattern: Pattern, n_requests: int = 1) -> tuple[AssessEvent, ...]:
        """So many requests of a pattern."""
        if n_requests:
            self._count(pattern, n_requests)
        return ()

    def report(self) -> AssessmentReport:
        """Every pattern that was asked for."""
        root = self._entries.get(0, PatternEntry(0, 0)).n
        exact = Guarantees(none_missed_from=0.0, undercount=0.0, none_below=0.0)
        shown = {p: e.n for p, e in self._entries.items() if p}
        return self._reported(shown, self._entries, root, (), exact)

    def state(self) -> dict[str, Any]:
        """As JSON-typed data."""
        entries = [[pattern, *entry] for pattern, entry in self._entries.items()]
        folded = [[pattern, into] for pattern, into in self._folded.items()]
        return {"total": self.total, "peak": self.peak, "entries": entries, "folded": folded}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where ``state`` was taken."""
        self.total, self.peak = int(state["total"]), int(state["peak"])
        self._entries = {pattern: PatternEntry(*entry) for pattern, *entry in state["entries"]}
        self._folded = {pattern: into for pattern, into in state["folded"]}

    @property
    def _s_id(self) -> int:
        """Of the segment that the last request was in, from 1."""
        return -(-self.total // self.settings.segment)

    def _count(self, pattern: Pattern, n_requests: int) -> None:
        self.total += 1
        old = self._entries.get(pattern) or PatternEntry(0, self._s_id - 1)
        self.total += n_requests - 1
        self._entries[pattern] = old._replace(n=old.n + n_requests)
        self.peak = max(self.peak, len(self._entries))

    def _reported(
        self,
        counts: Mapping[Pattern, int],
        final: Mapping[Pattern, PatternEntry],
        root: int,
        events: tuple[AssessEvent, ...],
        guarantees: Guarantees,
    ) -> AssessmentReport:
        total = max(1, self.total)
        kept, moved = sum(counts.values()) + root, sum(e.folded for e in final.values())
        return AssessmentReport(
            {p: counts[p] / total for p in sorted(counts, reverse=True)},
            self.total,
            dict(self._entries),
            (self.total - kept) / total,
            moved / total,
            root / total,
            events,
            guarantees,
            self._folded | {event.pattern: event.into for event in events},
        )


class CompactCounters(ExactCounters):
    """What CSRIA and CDIA share: a table that is made smaller after every segment."""

    settings: AssessmentSettings

    def observe(self, pattern: Pattern, n_requests: int = 1) -> tuple[AssessEvent, ...]:
        """So many requests of a pattern, one after the other; what compaction took away."""
        events: list[AssessEvent] = []
        while n_requests > 0:
            fits = min(n_requests, self.settings.segment - self.total % self.settings.segment)
            self._count(pattern, fits)
            n_requests -= fits
            if self.total % self.settings.segment == 0:
                events += self._compact(self._entries)
        self._folded |= {event.pattern: event.into for event in events}
        return tuple(events)

    def _compact(self, entries: dict[Pattern, PatternEntry]) -> list[AssessEvent]:
        raise NotImplementedError

    @property
    def _s_id(self) -> int:
        """From 1; as printed, ⌊ε·total⌋, 0 in the first segment, and loses patterns of exactly θ
        (W3)."""
        if self.settings.variant == "literal":
            return math.floor(self.settings.epsilon * self.total)
        return super()._s_id


class CSRIA(CompactCounters):
    """Lossy counting of patterns: rare ones are dropped. [WRA13] §5.3.2"""

    def report(self) -> AssessmentReport:
        """Patterns with (N + δ)/total >= θ - ε."""
        own, total = self.settings, max(1, self.total)
        shown = {
            pattern: entry.n
            for pattern, entry in self._entries.items()
            if pattern and (entry.n + entry.delta) / total >= own.theta - own.epsilon
        }
        root = self._entries.get(0, PatternEntry(0, 0)).n
        promised = Guarantees(own.theta, own.epsilon, own.theta - 2 * own.epsilon)
        nothing = Guarantees(None, None, None)
        sound = own.variant == "sound"
        return self._reported(shown, {}, root, (), promised if sound else nothing)

    def _compact(self, entries: dict[Pattern, PatternEntry]) -> list[AssessEvent]:
        s_id = self._s_id
        gone = [p for p in sorted(entries, reverse=True) if sum(entries[p][:2]) <= s_id]
        return [AssessEvent("drop", p, None, entries.pop(p), s_id) for p in gone]


class CDIA(CompactCounters):
    """Rare patterns are folded into one with an attribute less, which helps them. [WRA13] §5.4.2

    scope 'leaf' judges patterns without a more specific one in the table, as printed; 'all' every
    one (W5: the full pattern is always there, so leaves alone hardly compress).
    """

    def __init__(self, n: int, settings: AssessmentSettings | None = None) -> None:
        super().__init__(n, settings)
        self._n_folds = 0

    def report(self) -> AssessmentReport:
        """From the deepest level up: patterns with N + δ >= θ·total; the others are folded."""
        own, final, n_folds = self.settings, dict(self._entries), self._n_folds
        sound = own.variant == "sound"

        def is_rare(pattern: Pattern) -> bool:
            n, delta, _ = final[pattern]
            return (n + delta if sound else n) < own.theta * self.total

        events = self._fold(final, is_rare)
        self._n_folds = n_folds
        shown = {pattern: entry.n for pattern, entry in final.items() if pattern}
        root = final.get(0, PatternEntry(0, 0)).n
        return self._reported(
            shown, final, root, tuple(events), Guarantees(own.theta if sound else None, None, None)
        )

    def state(self) -> dict[str, Any]:
        return super().state() | {"n_folds": self._n_folds}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self._n_folds = int(state["n_folds"])

    def _compact(self, entries: dict[Pattern, PatternEntry]) -> list[AssessEvent]:
        s_id, own = self._s_id, self.settings

        def is_rare(pattern: Pattern) -> bool:
            n, delta, _ = entries[pattern]
            if own.fold_scope == "leaf" and _has_above(pattern, entries):
                return False
            return n + delta <= s_id if own.variant == "sound" else n + delta < s_id

        return self._fold(entries, is_rare)

    def _fold(
        self, entries: dict[Pattern, PatternEntry], is_rare: Callable[[Pattern], bool]
    ) -> list[AssessEvent]:
        """The deepest level first, in it the largest pattern; a parent is judged in its turn."""
        events = []
        for level in range(self.n, 0, -1):
            for pattern in sorted((p for p in entries if p.bit_count() == level), reverse=True):
                if is_rare(pattern):
                    events.append(self._fold_one(entries, pattern))
        return events

    def _fold_one(self, entries: dict[Pattern, PatternEntry], pattern: Pattern) -> AssessEvent:
        direct = parents(pattern, self.n)
        into = self._chosen([p for p in direct if p in entries] or direct, entries)
        entry, s_id = entries.pop(pattern), self._s_id
        old = entries.get(into) or PatternEntry(0, s_id - 1)
        entries[into] = old._replace(n=old.n + entry.n, folded=old.folded + entry.n)
        self._n_folds += 1
        return AssessEvent("fold", pattern, into, entry, s_id)

    def _chosen(
        self, candidates: Iterable[Pattern], entries: Mapping[Pattern, PatternEntry]
    ) -> Pattern:
        """The one of the highest count, of equal ones the largest; or any of them."""
        among = sorted(candidates, reverse=True)
        if self.settings.combine == "random":
            draw = int(draws(self.settings.seed, np.array([self._n_folds]))[0])
            return among[draw * len(among) >> 32]
        return max(among, key=lambda p: (entries[p].n if p in entries else 0, p))


def _has_above(pattern: Pattern, entries: Iterable[Pattern]) -> bool:
    """Whether a more specific pattern is in the table."""
    return any(other != pattern and other & pattern == pattern for other in entries)


#: By the values of the knob; 'sria' and 'dia' are names of the paper for what is exact.
ASSESSORS: Final[Mapping[str, type[ExactCounters]]] = {
    "exact": ExactCounters,
    "sria": ExactCounters,
    "csria": CSRIA,
    "dia": ExactCounters,
    "cdia": CDIA,
}
