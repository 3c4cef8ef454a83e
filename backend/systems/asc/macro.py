"""The macro-sequence: one visit order for all tuples, built greedily. [L12] §4.2, eq. 1-4

Phase 1, until the prefix is a cover: append the construct of least conditional selectivity (eq. 1
and 2). Phase 2: append the construct of the greatest tuple dropping ratio (eq. 3). Deviation: all
steps may use one sample instead of n-1 successive periods (docs/papers.md). Errata 4, 6, 7, 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from backend.model.bits import n_bits
from backend.systems.asc.constructs import ConstructSet, Words
from backend.systems.asc.matching import Regions

#: 'joint selectivity' is that of [L07] (joint.py).
Phase: TypeAlias = Literal["selectivity", "dropping ratio", "joint selectivity", "last"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An attribute considered at a step.

    score: phase 1 s(ρ→A|ρ), phase 2 d(ρ→A), both in [0, 1]; None for the last attribute, which
    needs no measurement. individual: s(A) of the first step. newly_covered: slots (queries) the
    attribute would add to the covered ones.
    """

    attribute: str
    score: float | None
    individual: float
    newly_covered: int


@dataclass(frozen=True, slots=True)
class MacroStep:
    """One step of the construction: all candidates, the winner and the sample it was taken on."""

    phase: Phase
    chosen: str
    candidates: tuple[Candidate, ...]
    n_sample: int

    @property
    def winner(self) -> Candidate:
        """The candidate that was chosen."""
        return next(c for c in self.candidates if c.attribute == self.chosen)

    def sentence(self) -> str:
        """The step for people: ``dep_delay: least selectivity 0.120 (next best origin 0.300)``."""
        if self.phase == "last":
            return f"{self.chosen}: the last one left"
        is_dropping = self.phase == "dropping ratio"
        rank = _rank_dropping if is_dropping else _rank_selectivity
        word = "greatest" if is_dropping else "least"
        text = f"{self.chosen}: {word} {self.phase} {self.winner.score or 0.0:.3f}"
        others = [c for c in self.candidates if c.attribute != self.chosen]
        if not others:
            return text
        second = min(others, key=rank)
        return f"{text} (next best {second.attribute} {second.score or 0.0:.3f})"


@dataclass(frozen=True, slots=True)
class MacroSequence:
    """An order and how it came about, step by step."""

    order: tuple[str, ...]
    steps: tuple[MacroStep, ...]

    @property
    def n_comparisons(self) -> int:
        """Candidates looked at: n(n+1)/2. [L12] eq. 4"""
        return sum(len(step.candidates) for step in self.steps)

    @property
    def cover_prefix(self) -> tuple[str, ...]:
        """The cover phase 1 arrived at; not always a minimum one (erratum 4)."""
        return tuple(
            step.chosen
            for step in self.steps
            if step.phase == "selectivity" or (step.phase == "last" and step.winner.newly_covered)
        )


def macro_sequence(constructs: ConstructSet, regions: Regions) -> MacroSequence:
    """The macro-sequence of ONE sample, regions intp[T, n] in schema order, for all steps.

    Ties: phase 1 (s, more newly covered slots, individual s, schema order); phase 2 (d,
    individual s, schema order). An empty sample gives s = 1 and d = 0 throughout.
    """
    return macro_sequence_by_period(constructs, [regions] * len(constructs.attributes))


def macro_sequence_by_period(constructs: ConstructSet, periods: Sequence[Regions]) -> MacroSequence:
    """The macro-sequence when step i is measured on its own period, as in the paper.

    periods: at least n-1 samples intp[T_i, n]; the last attribute needs none. Raises ValueError
    when there are fewer.
    """
    needed = len(constructs.attributes) - 1
    if len(periods) < needed:
        raise ValueError(f"{len(periods)} periods given; {needed} are needed (one a step)")
    build = _MacroConstruction(constructs)
    while len(build.left) > 1:
        build.step(periods[len(build.order)])
    if build.left:
        build.append_last()
    return MacroSequence(tuple(build.order), tuple(build.steps))


class StandingPlace(NamedTuple):
    """A place of an order that stands, looked at as if it were being built: the step, whose chosen
    attribute is the one that stands there, and the share of the sample alive before it (of queries
    all attributes together cover)."""

    step: MacroStep
    alive_prob: float


def standing_places(
    constructs: ConstructSet, regions: Regions, order: Sequence[str]
) -> list[StandingPlace]:
    """What the rule says of each place of an order but the last, regions intp[T, n] in schema
    order: scores of the attribute there and of all behind it."""
    build = _MacroConstruction(constructs)
    places = []
    for chosen in order[:-1]:
        alive = build.alive_prob(regions)
        build.step(regions, chosen)
        places.append(StandingPlace(build.steps[-1], alive))
    return places


class _MacroConstruction:
    """The growing prefix ρ and what is known so far."""

    def __init__(self, constructs: ConstructSet) -> None:
        self.constructs = constructs
        self.left = list(constructs.attributes)
        self.columns = {a: i for i, a in enumerate(self.left)}
        self.order: list[str] = []
        self.steps: list[MacroStep] = []
        self.uncovered = constructs.covered.copy()
        self.individual: dict[str, float] = {}

    def step(self, regions: Regions, chosen: str | None = None) -> None:
        """Measure every remaining attribute on one sample and append the best, or the chosen."""
        if self.uncovered.any():
            phase: Phase = "selectivity"
            scores = {a: self._selectivity(a, regions) for a in self.left}
            self.individual = self.individual or scores
        else:
            phase = "dropping ratio"
            prefix = self._prefix_bitmaps(regions)
            scores = {a: self._dropping_ratio(a, regions, prefix) for a in self.left}
        candidates = self._candidates(scores)
        rank = _rank_selectivity if phase == "selectivity" else _rank_dropping
        best = chosen or min(candidates, key=rank).attribute
        self._append(phase, candidates, best, len(regions))

    def alive_prob(self, regions: Regions) -> float:
        """Share of the sample no prefix has dropped; 1 without a sample."""
        if not len(regions):
            return 1.0
        return float(np.any(self._prefix_bitmaps(regions), axis=1).mean())

    def append_last(self) -> None:
        """The last attribute is appended without measurement."""
        name = self.left[0]
        candidate = Candidate(name, None, self.individual.get(name, 1.0), self._gain(name))
        self._append("last", (candidate,), name, 0)

    def _append(
        self, phase: Phase, candidates: tuple[Candidate, ...], chosen: str, n_sample: int
    ) -> None:
        self.steps.append(MacroStep(phase, chosen, candidates, n_sample))
        self.order.append(chosen)
        self.left.remove(chosen)
        self.uncovered &= ~self.constructs.constructs[chosen].qub

    def _candidates(self, scores: dict[str, float]) -> tuple[Candidate, ...]:
        return tuple(
            Candidate(a, score, self.individual[a], self._gain(a)) for a, score in scores.items()
        )

    def _gain(self, attribute: str) -> int:
        return n_bits(self.constructs.constructs[attribute].qub & self.uncovered)

    def _selectivity(self, attribute: str, regions: Regions) -> float:
        """Eq. 1 and 2. The prefix has not touched the uncovered queries, so their bits after
        ρ→A are those of A's own qrb (F6): a histogram of its regions suffices."""
        if not len(regions):
            return 1.0
        construct = self.constructs.constructs[attribute]
        hits = np.bincount(regions[:, self.columns[attribute]], minlength=construct.n_regions)
        passed = np.bitwise_count(construct.qrb & self.uncovered).sum(axis=1, dtype=np.int64)
        return int(hits @ passed) / (n_bits(self.uncovered) * len(regions))

    def _prefix_bitmaps(self, regions: Regions) -> Words:
        """uint64[T, W]: GRB after ρ, restricted to U."""
        grb = np.repeat(self.constructs.covered[None, :], len(regions), axis=0)
        for attribute in self.order:
            column = regions[:, self.columns[attribute]]
            grb &= self.constructs.constructs[attribute].qrb[column]
        return grb

    def _dropping_ratio(self, attribute: str, regions: Regions, prefix: Words) -> float:
        """Eq. 3: share of the sample with GRB = 0 (on U) after ρ→A."""
        if not len(regions):
            return 0.0
        column = regions[:, self.columns[attribute]]
        alive = np.any(prefix & self.constructs.constructs[attribute].qrb[column], axis=1)
        return (len(regions) - int(np.count_nonzero(alive))) / len(regions)


def _rank_selectivity(candidate: Candidate) -> tuple[float, float, float]:
    return candidate.score or 0.0, -candidate.newly_covered, candidate.individual


def _rank_dropping(candidate: Candidate) -> tuple[float, float]:
    return -(candidate.score or 0.0), candidate.individual
