"""Memory that the choice of constraints keeps, beside the best set of each phase of a stream.

Bytes are of the tuples held, and of what constraints in use take themselves, as it is priced. Each
set is run by itself over a whole stream, k estimated, nothing lost: all sets of four constraints;
of more those that a climb comes by, one constraint more or less at a time, from all and from what
was chosen. The best of each phase are then run in turns, at the moments that nobody but the bench
knows. Each change is then left out by itself: the set before it stays until the next. Time counts
nothing here: bytes are the same in every run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from backend.adaptive.core import Evaluations
from backend.operators.network.core.blocks import Block
from backend.operators.network.kmon.tuning import ConstraintTuning, KMonTuning
from backend.systems.kmon.candidates import ConstrainedJoin
from backend.systems.kmon.evidence import Evidence
from backend.systems.kmon.join import AdaptedKMon
from backend.systems.kmon.pricing import Pricing
from backend.workloads.adhering import (
    S1,
    ArrivingTuples,
    Floats,
    clustered,
    clustered_and_referring,
    grouped_and_scrambled,
    referring,
    scrambled,
    varying,
)
from bench.experiments.kmon_combining import LINKS, links_rates, links_trace
from bench.experiments.kmon_monitoring import KNOTS
from bench.experiments.kmon_running import (
    GRAPH_A,
    GRAPH_B,
    GRAPH_C,
    JOIN,
    BenchKMon,
    BenchQuery,
    StretchOutcome,
    stretches,
)
from bench.experiments.kmon_sizes import KMonSizes

Set = frozenset[str]
#: Tuples of a window and of a stream, and its batches; those of the start, in which windows fill
#: and nothing is known; k of what does not change.
_WINDOW: Final = 5_000
_TUPLES: Final = 180_000
_BATCHES, _START = 60, 10
_K: Final = 500
#: k of RIDS in turns, on either side of where RIDS beside CA stops paying (Fig. 6.18); shares of
#: the children that pass the filter in turns; so many phases.
_KS: Final = (20, 800)
_SHARES: Final = (0.95, 0.05)
_PHASES: Final = 6
#: Where k of Fig. 6.11 begins to rise, or drop, or stays.
_ENDS: Final = (0.2, 0.35, 0.45, 0.6, 0.7, 0.85, 1.0)
#: Changes of a stream that are printed.
_TOLD: Final = 3
#: Constraints of which all sets are run.
_ALL_SETS: Final = 4
#: The most of which a climb is made; of more the sets that were chosen are run, and no change is
#: left out.
_CLIMBED: Final = 8


class ChoiceStream(NamedTuple):
    """A stream to choose on. ends: of its phases, shares of it, the last one 1."""

    name: str
    query: BenchQuery
    trace: ArrivingTuples
    ends: tuple[float, ...] = (1.0,)


class SetChange(NamedTuple):
    """A set that was taken up at a batch. kept: bytes held more, in all of the stream, than with
    the set before until the next change; a share of what the best sets hold."""

    batch: int
    before: Set
    after: Set
    kept: float


class ChosenSets(NamedTuple):
    """What was chosen, by batch. held: bytes at its end; tunings: what was used and watched."""

    held: Floats
    sets: list[Set]
    tunings: list[KMonTuning]


class _Run:
    """A stream under sets. n_bytes: at the end of each batch."""

    def __init__(self, query: BenchQuery) -> None:
        self._join = BenchKMon(query, KMonTuning())
        self.view = ConstrainedJoin.of(self._join.plan, JOIN)
        self._seen, self.n_bytes = Evidence.of(self.view), list[float]()

    def step(
        self, until: int, inputs: Sequence[Block], tuning: KMonTuning, used: Set
    ) -> StretchOutcome:
        """A batch."""
        self._join.tuning = tuning
        ran = self._join.stretch(inputs, until)
        self._seen.take(self.view, ran.profile, {}, tuning.window)
        kept = {
            key: ran.profile.constraints[candidate.id].kept
            for key, candidate in self.view.candidates.items()
            if key in used and candidate.id in ran.profile.constraints
        }
        pricing = Pricing(self.view, self._seen, used, frozenset(), kept, "never")
        self.n_bytes.append(ran.n_bytes + sum(map(pricing.bookkeeping, used)))
        return ran


class ChoiceBench:
    """Runs over one stream. phase: of each batch; held: by set, bytes at the end of each batch."""

    def __init__(self, stream: ChoiceStream) -> None:
        self._query, n = stream.query, len(stream.trace.streams)
        self._batches = list(stretches(stream.trace, stream.query.graph.n, -(-n // _BATCHES)))
        ends = np.array([until for until, _ in self._batches])
        self.phase = np.searchsorted(np.round(np.array(stream.ends) * n), ends)
        self.view = _Run(stream.query).view
        self.held: dict[Set, Floats] = {}

    def mean(self, held: Floats, phase: int) -> float:
        """Of bytes, in a phase."""
        return float(held[self.phase == phase].mean())

    def under(self, sets: Sequence[Set]) -> Floats:
        """Bytes held with a set in each batch, all of them being watched."""
        watched = frozenset[str]().union(*sets)
        ids = tuple(self.view.candidates[key].id for key in watched)
        tuning = KMonTuning(tuple(ConstraintTuning(id, is_used=False) for id in ids))
        return self._tuned([self._using(tuning, used) for used in sets], sets)

    def _using(self, tuning: KMonTuning, used: Set) -> KMonTuning:
        """With a set, which is watched; others as they were."""
        ids = {self.view.candidates[key].id for key in used}
        constraints = (
            replace(each, is_used=each.id in ids, is_watched=each.id in ids or each.is_watched)
            for each in tuning.constraints
        )
        return replace(tuning, constraints=tuple(constraints))

    def _tuned(self, tunings: Sequence[KMonTuning], sets: Sequence[Set]) -> Floats:
        run = _Run(self._query)
        for (until, inputs), tuning, used in zip(self._batches, tunings, sets, strict=True):
            run.step(until, inputs, tuning, used)
        return np.array(run.n_bytes)

    def always(self, used: Collection[str]) -> Floats:
        """Bytes held with one set."""
        key = frozenset(used)
        if key not in self.held:
            self.held[key] = self.under([key] * len(self._batches))
        return self.held[key]

    def chosen(self) -> ChosenSets:
        """The choice at work."""
        run, join = _Run(self._query), AdaptedKMon(self.view, Evaluations())
        sets, tunings = [], []
        for batch, (until, inputs) in enumerate(self._batches):
            sets.append(join.used)
            tunings.append(join.tuning)
            ran = run.step(until, inputs, join.tuning, join.used)
            join.observe(batch, replace(ran.profile, monitor_ns=0))
        return ChosenSets(np.array(run.n_bytes), sets, tunings)

    def changes(self, chosen: ChosenSets, least: float) -> Iterator[SetChange]:
        """What each change but the first did. least: bytes that the best sets hold, of all
        batches."""
        sets, tunings = chosen.sets, chosen.tunings
        at = changed_at(sets)
        for begin, end in pairwise([*at[1:], len(sets)]):
            before = sets[begin - 1]
            kept = [self._using(tuning, before) for tuning in tunings[begin:end]]
            without = self._tuned(
                [*tunings[:begin], *kept, *tunings[end:]],
                [*sets[:begin], *[before] * (end - begin), *sets[end:]],
            )
            more = float(chosen.held.sum() - without.sum())
            yield SetChange(begin, before, sets[begin], more / least)

    def best(self, phase: int, starts: Sequence[Collection[str]]) -> Set:
        """The set that keeps least in a phase."""
        keys = list(self.view.candidates)
        if len(keys) <= _ALL_SETS:
            places = range(len(keys))
            every = (
                frozenset(keys[k] for k in places if n >> k & 1) for n in range(1 << len(keys))
            )
            return min(every, key=lambda used: self._worth(used, phase))
        tops = [frozenset(start) for start in starts]
        if len(keys) <= _CLIMBED:
            tops = [self._climbed(start, phase) for start in tops]
        return min(tops, key=lambda used: self._worth(used, phase))

    def _climbed(self, used: Set, phase: int) -> Set:
        while True:
            near = [used, *(used ^ {key} for key in self.view.candidates)]
            better = min(near, key=lambda other: self._worth(other, phase))
            if better == used:
                return used
            used = better

    def _worth(self, used: Set, phase: int) -> tuple[float, int]:
        return round(self.mean(self.always(used), phase), 3), len(used)


def changed_at(sets: Sequence[Set]) -> list[int]:
    """The batches from which another set was used."""
    return [k for k in range(1, len(sets)) if sets[k] != sets[k - 1]]


def streams(tuples: int = _TUPLES, seed: int = 1) -> Iterator[ChoiceStream]:
    """Those of Fig. 6.11 to 6.18: k that changes, k that stays, constraints that get in each
    other's way in turns, filters that change; the links of §6.1."""
    rng = np.random.default_rng(seed)
    trace = referring(tuples, varying(KNOTS, tuples / 7), rng)
    yield ChoiceStream("RIDS, k changes", BenchQuery(GRAPH_A, _WINDOW), trace, _ENDS)
    for name, in_order in (("CA, k changes", False), ("OAP, k changes", True)):
        trace = clustered(tuples, varying(KNOTS, tuples / 11), rng, in_order)
        yield ChoiceStream(name, BenchQuery(GRAPH_B, _WINDOW), trace, _ENDS)
    yield ChoiceStream("OAC", BenchQuery(GRAPH_C, _WINDOW), scrambled(tuples, _K, rng))
    grouped = grouped_and_scrambled(tuples, _K, rng)
    yield ChoiceStream("CA and OAC", BenchQuery(GRAPH_A, _WINDOW), grouped)
    turns = tuple((k + 1) / _PHASES for k in range(_PHASES))
    few = BenchQuery(GRAPH_C, _WINDOW, passing=0.1)
    yield ChoiceStream("CA and RIDS in turns", few, _joined(tuples, _KS, rng), turns)
    filtered = _filtered(_joined(tuples, (200,), rng), rng)
    yield ChoiceStream("filters in turns", BenchQuery(GRAPH_C, _WINDOW), filtered, turns)
    rates = links_rates(KMonSizes(scale=0))
    yield ChoiceStream("links", LINKS, links_trace(seed, rates))


def _joined(tuples: int, ks: Sequence[int], rng: np.random.Generator) -> ArrivingTuples:
    units = tuples // 3
    of_phase = np.arange(units) * _PHASES // units
    return clustered_and_referring(tuples, _K, np.array(ks, np.float64)[of_phase % len(ks)], rng)


def _filtered(trace: ArrivingTuples, rng: np.random.Generator) -> ArrivingTuples:
    n, values = len(trace.streams), trace.values.copy()
    of_phase = np.arange(n) * _PHASES // n
    passes = rng.random(n) < np.array(_SHARES)[of_phase % len(_SHARES)]
    marks = np.where(passes, rng.integers(0, 500, n), rng.integers(500, 1000, n))
    values[:, 2] = np.where(trace.streams == S1, values[:, 2], marks)
    return trace._replace(values=values)


def main(tuples: int = _TUPLES) -> None:
    """Print a line for each stream."""
    print(
        "\nThe choice: bytes over those of the best set of each phase, in all and after the start; "
        "changes, and those that kept more than the set before would have"
    )
    for stream in streams(tuples):
        tell_choice(stream.name, ChoiceBench(stream))


def tell_choice(name: str, bench: ChoiceBench) -> None:
    """Print the line of a stream, and its worst changes."""
    chosen = bench.chosen()
    held, sets, _ = chosen
    is_small = len(bench.view.candidates) <= _CLIMBED
    phases = range(1 + int(bench.phase[-1]))
    ends = [sets[np.flatnonzero(bench.phase == phase)[-1]] for phase in phases]
    starts = [[end] if is_small else [*set(sets)] for end in ends]
    best = [bench.best(k, [bench.view.candidates, *starts[k]]) for k in phases]
    least = np.diagonal(np.stack([bench.always(best[phase]) for phase in bench.phase]))
    late = slice(_START, None)
    single = min(bench.held.values(), key=lambda of: float(of[late].sum()))
    of = {
        "chosen": held,
        "in turns": bench.under([best[phase] for phase in bench.phase]),
        "one set": single,
        "none": bench.always(()),
    }
    ratios = ", ".join(
        f"{way} {held.sum() / least.sum():.3f} {held[late].sum() / least[late].sum():.3f}"
        for way, held in of.items()
    )
    changes = list(bench.changes(chosen, float(least.sum()))) if is_small else []
    lost = sorted((each for each in changes if each.kept > 0), key=lambda each: -each.kept)
    print(
        f"{name:22} {ratios}; {len(changed_at(sets)[1:])} changes of {len(held)} batches, "
        f"{len(lost)} kept more: {sum(each.kept for each in lost):.3f}"
    )
    for each in lost[:_TOLD]:
        before, after = (" ".join(sorted(used)) or "none" for used in (each.before, each.after))
        print(f"{'':22} {each.kept:.3f} at batch {each.batch}: {before} -> {after}")
