"""Experiments on joins with their controller: what it settles on, and runs it tunes all along."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from backend.operators.network.joins.join_tuning import JoinTuning
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.joins.decide.controller import JoinController
from backend.systems.joins.decide.settings import JoinSettings
from backend.systems.joins.decide.shape import JoinShape
from bench.experiments.join_running import (
    WARM,
    Arrivals,
    BenchJoin,
    Operations,
    SignedElements,
    between,
    elements,
)
from storage.vocabulary.records import Decision


class TunedStretch(NamedTuple):
    """A stretch of a run: where it began, what was done, under what."""

    begin: int
    operations: Operations
    tuning: JoinTuning


class TunedBench:
    """A join and its controller over some arrivals."""

    def __init__(
        self, work: JoinOp, arrivals: Arrivals, settings: JoinSettings, names: Sequence[str] = ()
    ) -> None:
        self.shape = JoinShape.of(work, len(arrivals.sizes), names)
        self.controller = JoinController(self.shape, settings)
        self.join = BenchJoin(work, arrivals.widths)
        self._inputs: list[SignedElements] = elements(arrivals)
        self.n = len(arrivals.streams)
        self.decisions: list[Decision] = []

    def stretches(self, length: int) -> list[TunedStretch]:
        """Run all; the controller decides after each stretch."""
        return [self._stretch(begin, length) for begin in range(0, self.n, length)]

    def _stretch(self, begin: int, length: int) -> TunedStretch:
        tuning = self.controller.tuning
        self.join.tune(tuning)
        self.join.run(between(self._inputs, begin, begin + length))
        outcome = self.controller.observe(begin // length, length, self.join.profile())
        self.decisions += outcome.decisions
        return TunedStretch(begin, self.join.operations(length), tuning)

    def settle(self, length: int, settings: JoinSettings) -> JoinTuning:
        """Run to the end, from ``WARM`` of the tuples on with these settings; what is used then,
        without watching any more."""
        turned = False
        for begin in range(0, self.n, length):
            if not turned and begin >= WARM * self.n:
                self.controller.turn(settings)
                turned = True
            self._stretch(begin, length)
        tuning = self.controller.tuning
        return JoinTuning(orders=tuning.orders, caches=tuning.caches)


def settled(
    work: JoinOp, arrivals: Arrivals, settings: JoinSettings, names: Sequence[str] = ()
) -> JoinTuning:
    """What the controller settles on: caches are selected once, when windows are full and half of
    the tuples were seen since."""
    bench = TunedBench(work, arrivals, replace(settings, caching="off"), names)
    return bench.settle(max(200, bench.n // 40), replace(settings, interval_tuples=bench.n // 2))
