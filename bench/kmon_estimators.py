"""The estimators of k beside each other, on a join distance that rises, falls and jumps.

The changing k of Fig. 6.11 [B05]: five parents to a child, k 50 and 200 child arrivals, distances
uniform from 0 to k. Parents wait for their child, are let go at k_e unless they are sampled, and
what a child misses is lost. Everything is replayed arrival by arrival through the kernels.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backend.operators.network.kmon.estimates import KEPT, Estimates, K, fresh
from backend.operators.network.kmon.estimating import (
    arrived,
    look,
    observed,
    released,
    waits,
    wants_look,
)
from backend.operators.network.kmon.tuning import KMonTuning

MULTIPLICITY: Final = 5
#: Tuples of both streams to a block whose losses are told.
BLOCK: Final = 4000
PER_BLOCK: Final = BLOCK // (MULTIPLICITY + 1)
#: Child arrivals after which a parent leaves its window.
STAYS: Final = 10 * PER_BLOCK
SEEDS: Final = (1, 2, 3)
Ints = NDArray[np.int64]


def changing_k(n: int) -> Ints:
    """int64[n], of parents by time: 50, slowly to 200, 200, slowly back, 50, and at once 200."""
    parts = [(50, 50, 3), (50, 200, 2), (200, 200, 3), (200, 50, 2), (50, 50, 3), (200, 200, 4)]
    places = np.cumsum([0, *(length for *_, length in parts)]) / 17 * n
    ks = np.empty(n, np.int64)
    for (low, high, _), begin, end in zip(parts, places, places[1:], strict=False):
        ks[int(begin) : int(end)] = np.linspace(low, high, int(end) - int(begin))
    return ks


@dataclass(frozen=True, slots=True)
class ReplayedTrace:
    """Parents by the child arrival that they come before: the child of each, -1: none."""

    n: int
    parents: Sequence[Sequence[int]]

    @classmethod
    def of(cls, ks: Ints, dangling: float, seed: int) -> ReplayedTrace:
        """dangling: share of parents without a child."""
        rng = np.random.default_rng(seed)
        stamps = np.repeat(np.arange(len(ks)), MULTIPLICITY)
        child = stamps - 1 + rng.integers(0, ks[stamps] + 1)
        child[(rng.random(len(child)) < dangling) | (child >= len(ks))] = -1
        return cls(len(ks), child.reshape(-1, MULTIPLICITY).tolist())


@dataclass(slots=True)
class _Parent:
    stamp: int
    child: int
    is_sampled: bool
    is_overdue: bool = False


@dataclass(slots=True)
class Replay:
    """A run of one estimator over a trace. gc: child arrivals from collection to collection. ks:
    k after each child; pairs, lost: by block of their child; held: parents that wait, by child."""

    trace: ReplayedTrace
    tuning: KMonTuning
    seed: int = 0
    gc: int = 1
    ks: list[int] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    pairs: Ints = field(default_factory=lambda: np.zeros(64, np.int64))
    lost: Ints = field(default_factory=lambda: np.zeros(64, np.int64))
    _waiting: dict[int, _Parent] = field(default_factory=dict)
    _due: deque[int] = field(default_factory=deque)
    _of_child: dict[int, list[int]] = field(default_factory=dict)
    _n: int = 0

    def run(self) -> Replay:
        e, rng = fresh(1, self.tuning), random.Random(self.seed)
        for at in range(self.trace.n):
            for child in self.trace.parents[at]:
                if 0 <= child < at:
                    self.pairs[child // PER_BLOCK] += 1
                    observed(e, 0, 0, 1.0)
                else:
                    self._wait(_Parent(at, child, rng.random() < self.tuning.sample_prob))
            self._child(e, at)
            if at % self.gc == 0:
                self._let_go(e, at + 1)
            if wants_look(e, 0):
                for parent in self._waiting.values():
                    waits(e, 0, at + 1 - parent.stamp, 1.0)
                look(e, 0)
            self.ks.append(int(e.rows[0, K]))
            self.held.append(len(self._waiting))
        return self

    def _wait(self, parent: _Parent) -> None:
        self._n += 1
        self._waiting[self._n] = parent
        self._due.append(self._n)
        self._of_child.setdefault(parent.child, []).append(self._n)

    def _child(self, e: Estimates, at: int) -> None:
        greatest = 0
        for name in self._of_child.pop(at, ()):
            self.pairs[at // PER_BLOCK] += 1
            parent = self._waiting.pop(name, None)
            if parent is None:
                self.lost[at // PER_BLOCK] += 1
            else:
                greatest = max(greatest, at + 1 - parent.stamp)
                weight = 1 / self.tuning.sample_prob if parent.is_overdue else 1.0
                observed(e, 0, at + 1 - parent.stamp, weight)
        arrived(e, 0, greatest)

    def _let_go(self, e: Estimates, now: int) -> None:
        while self._due:
            name, parent = self._due[0], self._waiting.get(self._due[0])
            if parent is not None:
                kept, age = int(e.rows[0, KEPT]), now - parent.stamp
                if age < (STAYS if kept < 0 else min(kept, STAYS)):
                    break
                if parent.is_sampled and age < STAYS:
                    parent.is_overdue = True
                else:
                    del self._waiting[name]
                    released(e, 0, age)
            self._due.popleft()


def lost_shares(run: Replay) -> list[float]:
    """Of the pairs of each block, in per cent."""
    n = -(-run.trace.n // PER_BLOCK)
    return [
        100 * lost / max(pairs, 1) for lost, pairs in zip(run.lost[:n], run.pairs, strict=False)
    ]


def told(name: str, run: Replay) -> str:
    """A line: losses, time without a k, parents that wait, and k after each block."""
    shares = lost_shares(run)
    none = 100 * sum(k < 0 for k in run.ks) / len(run.ks)
    total = 100 * run.lost.sum() / run.pairs.sum()
    ks = " ".join("∞" if k < 0 else str(k) for k in run.ks[PER_BLOCK - 1 :: PER_BLOCK])
    figures = f"{total:6.2f} {max(shares):6.2f} {none:6.1f} {np.mean(run.held):7.0f}"
    return f"{name:34} {figures}  {ks}"


def main(n_blocks: int = 17) -> None:
    """Losses and k of both estimators, three seeds, without and with parents that never join."""
    budget = KMonTuning(loss="budget", window=500, sample_prob=0.01)
    variants = {
        "literal c=1 p=.01": replace(budget, estimator="literal", factor=1.0),
        "literal c=1.2 p=.01": replace(budget, estimator="literal"),
        "literal c=1.2 p=.05": replace(budget, estimator="literal", sample_prob=0.05),
        "censored c=1.2 p=.01": budget,
        "censored c=1.2 p=.05": replace(budget, sample_prob=0.05),
    }
    ks = changing_k(n_blocks * PER_BLOCK)
    print(
        "lost %: of all pairs, of the worst block of 4000 tuples; none %: of the time without a k"
    )
    print(f"{'':34} {'lost':>6} {'worst':>6} {'none':>6} {'waiting':>7}  k after each block")
    for dangling in (0.0, 0.25):
        for name, tuning in variants.items():
            for seed in SEEDS:
                run = Replay(ReplayedTrace.of(ks, dangling, seed), tuning, seed).run()
                print(told(f"{name}, {dangling:.0%} dangling, {seed}", run))


if __name__ == "__main__":
    main()
