"""What the choice of constraints keeps in memory, beside the best set of each phase of a stream.

Each set is run by itself over a whole stream, k estimated, nothing lost: all sets of four
constraints; of more those that a climb comes by, one constraint more or less at a time, from none,
from all and from what was chosen. The best of each phase are then run in turns, at the moments that
nobody but the bench knows. Time counts nothing here: bytes are the same in every run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from backend.adaptive.core import Evaluations
from backend.operators.network.kmon.tuning import ConstraintTuning, KMonTuning
from backend.systems.kmon.candidates import ConstrainedJoin
from backend.systems.kmon.join import AdaptedKMon
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
from bench.experiments.kmon_monitoring import KNOTS
from bench.experiments.kmon_running import (
    GRAPH_A,
    GRAPH_B,
    GRAPH_C,
    JOIN,
    BenchKMon,
    BenchQuery,
    stretches,
)

Set = frozenset[str]
#: Tuples of a window, of a batch, and of a stream; k of what does not change.
_WINDOW: Final = 5_000
_BATCH: Final = 4_000
_TUPLES: Final = 360_000
_K: Final = 500
#: k of RIDS in turns, on either side of where RIDS beside CA stops paying (Fig. 6.18); shares of
#: the children that pass the filter in turns; so many phases.
_KS: Final = (20, 800)
_SHARES: Final = (0.95, 0.05)
_PHASES: Final = 6
#: Where k of Fig. 6.11 begins to rise, or drop, or stays.
_ENDS: Final = (0.2, 0.35, 0.45, 0.6, 0.7, 0.85, 1.0)
#: Constraints of which all sets are run.
_ALL_SETS: Final = 4


class ChoiceStream(NamedTuple):
    """A stream to choose on. ends: of its phases, shares of it, the last one 1."""

    name: str
    query: BenchQuery
    trace: ArrivingTuples
    ends: tuple[float, ...] = (1.0,)


class ChoiceBench:
    """Runs over one stream. phase: of each batch; held: by set, bytes at the end of each batch."""

    def __init__(self, stream: ChoiceStream) -> None:
        self._query, n = stream.query, len(stream.trace.streams)
        self._batches = list(stretches(stream.trace, stream.query.graph.n, _BATCH))
        ends = np.array([until for until, _ in self._batches])
        self.phase = np.searchsorted(np.round(np.array(stream.ends) * n), ends)
        self.view = ConstrainedJoin.of(BenchKMon(stream.query, KMonTuning()).plan, JOIN)
        self._weights = np.diff(ends, prepend=0)
        self.held: dict[Set, Floats] = {}

    def mean(self, held: Floats, phase: int | None = None) -> float:
        """Of bytes, in a phase or in all of the stream."""
        which = np.ones(len(held), bool) if phase is None else self.phase == phase
        return float(np.average(held[which], weights=self._weights[which]))

    def in_turns(self, sets: Sequence[Set]) -> Floats:
        """Bytes held with a set in each phase, all of them being watched."""
        bench, held = BenchKMon(self._query, KMonTuning()), []
        watched = frozenset[str]().union(*sets)
        ids = {key: self.view.candidates[key].id for key in watched}
        for (until, inputs), phase in zip(self._batches, self.phase, strict=True):
            constraints = [ConstraintTuning(id, key in sets[phase]) for key, id in ids.items()]
            bench.tuning = KMonTuning(tuple(constraints))
            held.append(bench.stretch(inputs, until).n_bytes)
        return np.array(held, np.float64)

    def always(self, used: Collection[str]) -> Floats:
        """Bytes held with one set."""
        key = frozenset(used)
        if key not in self.held:
            self.held[key] = self.in_turns([key] * (1 + int(self.phase[-1])))
        return self.held[key]

    def chosen(self) -> tuple[Floats, list[Set]]:
        """Bytes held with what was chosen, and the set of each batch, and of the one to come."""
        bench, held = BenchKMon(self._query, KMonTuning()), []
        join = AdaptedKMon(self.view, Evaluations())
        sets = [join.used]
        for batch, (until, inputs) in enumerate(self._batches):
            bench.tuning = join.tuning
            ran = bench.stretch(inputs, until)
            held.append(ran.n_bytes)
            join.observe(batch, replace(ran.profile, monitor_ns=0))
            sets.append(join.used)
        return np.array(held, np.float64), sets

    def best(self, phase: int, starts: Sequence[Collection[str]]) -> Set:
        """The set that keeps least in a phase."""
        keys = list(self.view.candidates)
        if len(keys) <= _ALL_SETS:
            places = range(len(keys))
            every = (
                frozenset(keys[k] for k in places if n >> k & 1) for n in range(1 << len(keys))
            )
            return min(every, key=lambda used: self._worth(used, phase))
        return min(
            (self._climbed(frozenset(start), phase) for start in starts),
            key=lambda used: self._worth(used, phase),
        )

    def _climbed(self, used: Set, phase: int) -> Set:
        while True:
            near = [used, *(used ^ {key} for key in self.view.candidates)]
            better = min(near, key=lambda other: self._worth(other, phase))
            if better == used:
                return used
            used = better

    def _worth(self, used: Set, phase: int) -> tuple[float, int]:
        return round(self.mean(self.always(used), phase), 3), len(used)


def streams(tuples: int = _TUPLES, seed: int = 1) -> Iterator[ChoiceStream]:
    """Those of Fig. 6.11 to 6.18: k that changes, k that stays, constraints that get in each
    other's way in turns, filters that change."""
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
    print("\nThe choice: bytes over those of the best set of each phase, whenever it was taken up")
    for stream in streams(tuples):
        bench = ChoiceBench(stream)
        held, sets = bench.chosen()
        phases = range(1 + int(bench.phase[-1]))
        ends = [sets[np.flatnonzero(bench.phase == phase)[-1]] for phase in phases]
        best = [bench.best(k, [(), bench.view.candidates, ends[k]]) for k in phases]
        least = np.stack([bench.always(best[phase]) for phase in bench.phase])
        free = bench.mean(np.diagonal(least))
        single = min(bench.mean(of) for of in bench.held.values())
        ratios = {
            "chosen": bench.mean(held),
            "in turns": bench.mean(bench.in_turns(best)),
            "one set": single,
            "none": bench.mean(bench.always(())),
        }
        told = ", ".join(f"{name} {value / free:.3f}" for name, value in ratios.items())
        n = sum(old != new for old, new in pairwise(sets))
        print(f"{stream.name:22} {told}; {n} switches of {len(held)} batches")
