"""Ways of executing a join, in turns over the same elements: fixed plans, trees, the adaptive one.

No host and no network: the join operator itself, and what decides on it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from backend.operators.network.joins.join_kernel import PROBES
from backend.operators.network.joins.join_tuning import JoinTuning
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.joins.decide.controller import JoinController
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.shape import JoinShape
from bench.experiments.join_running import (
    Arrivals,
    BenchJoin,
    Operations,
    SignedElements,
    between,
    elements,
)
from bench.experiments.join_trees import JoinTree, TreeJoin
from bench.stream_data import Answered, DifferentResults, Ints, answered


class JoinStretch(NamedTuple):
    """Some tuples by one lane. cpu_s: processor time of it all; decide_s: of it, decisions;
    answered: results, signs included; tuning: what was in force, None: a tree; dropping: index
    probes beside those of pipelines."""

    cpu_s: float
    decide_s: float
    answered: Answered
    operations: Operations
    tuning: JoinTuning | None = None
    dropping: int = 0


class JoinLane(Protocol):
    """One way."""

    def step(self, part: Sequence[SignedElements], n_arrivals: int) -> JoinStretch:
        """Join the elements that so many tuples bring."""


class FixedLane:
    """One tuning all along."""

    def __init__(self, work: JoinOp, widths: Sequence[int], tuning: JoinTuning) -> None:
        self._join, self._tuning = BenchJoin(work, widths), tuning

    def step(self, part: Sequence[SignedElements], n_arrivals: int) -> JoinStretch:
        """See ``JoinLane``."""
        began = time.process_time()
        self._join.tune(self._tuning)
        block = self._join.run(part)
        cpu_s = time.process_time() - began
        results = answer(block.sign, [column.values for column in block.columns])
        operations = self._join.operations(n_arrivals)
        dropping = operations.probes - int(operations.steps[:, :, PROBES].sum())
        return JoinStretch(cpu_s, 0.0, results, operations, self._tuning, dropping)


class TreeLane:
    """A tree of binary joins."""

    def __init__(self, work: JoinOp, widths: Sequence[int], tree: JoinTree) -> None:
        self._tree = TreeJoin(tree, work, widths)
        starts = np.cumsum([0, *(widths[leaf] for leaf in self._tree.leaves)])
        by_input = np.argsort(self._tree.leaves)
        self._columns = [k for at in by_input for k in range(starts[at], starts[at + 1])]

    def step(self, part: Sequence[SignedElements], n_arrivals: int) -> JoinStretch:
        """See ``JoinLane``."""
        began = time.process_time()
        self._tree.begin_counting()
        block = self._tree.run(part)
        cpu_s = time.process_time() - began
        results = answer(block.signs, [block.values[:, k] for k in self._columns])
        return JoinStretch(cpu_s, 0.0, results, self._tree.operations(n_arrivals))


class AdaptiveLane:
    """Tuned by its controller, which looks at every stretch."""

    def __init__(self, work: JoinOp, widths: Sequence[int], settings: JoinSettings) -> None:
        self._join = BenchJoin(work, widths)
        self.controller = JoinController(JoinShape.of(work, len(widths)), settings)
        self._n = 0

    def step(self, part: Sequence[SignedElements], n_arrivals: int) -> JoinStretch:
        """See ``JoinLane``."""
        tuning = self.controller.tuning
        began = time.process_time()
        self._join.tune(tuning)
        block = self._join.run(part)
        ran = time.process_time()
        self.controller.observe(self._n, n_arrivals, self._join.profile())
        done = time.process_time()
        self._n += 1
        results = answer(block.sign, [column.values for column in block.columns])
        operations = self._join.operations(n_arrivals)
        return JoinStretch(done - began, done - ran, results, operations, tuning)


def answer(signs: np.ndarray, columns: Sequence[Ints]) -> Answered:
    """Results of both signs, told from others."""
    return answered([signs.astype(np.int64), *columns])


def join_turns(
    lanes: Mapping[str, JoinLane], arrivals: Arrivals, length: int
) -> dict[str, list[JoinStretch]]:
    """What each lane took, stretch by stretch; in another order each time, as what a lane leaves
    behind in memory and caches is at the cost of the next one. Raises DifferentResults."""
    inputs, n, rng = elements(arrivals), len(arrivals.streams), np.random.default_rng(0)
    took: dict[str, list[JoinStretch]] = {name: [] for name in lanes}
    for turn, begin in enumerate(range(0, n, length)):
        part, n_arrivals = between(inputs, begin, begin + length), min(length, n - begin)
        for name in rng.permutation([*lanes]).tolist():
            took[name].append(lanes[name].step(part, n_arrivals))
        _same(turn, {name: stretches[-1].answered for name, stretches in took.items()})
    return took


def _same(turn: int, answers: Mapping[str, Answered]) -> None:
    (first, expected), *others = answers.items()
    for name, results in others:
        if results != expected:
            raise DifferentResults(f"stretch {turn}: {name} found {results}, {first} {expected}")
