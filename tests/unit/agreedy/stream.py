"""A stream of known drops through the decision core: seeded, counted, no Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.model.conditions import (
    And,
    Comparison,
    Condition,
    ContinuousQuery,
    FunctionPredicate,
    Reference,
)
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.filters import (
    WHOLE_EVERY,
    AdoptFilters,
    BatchFiltered,
    CostSample,
    FilterInstruction,
    Shares,
)
from backend.model.knobs import KnobSettings
from backend.systems.agreedy.knobs import AgreedyKnobs
from backend.systems.agreedy.reoptimizer import FiltersReOptimizer
from bench.counted import run_counted
from storage.vocabulary.records import Decision

Drops = NDArray[np.bool_]


def query_of(n: int, n_native: int = 0, name: str = "q") -> ContinuousQuery:
    """Filters F1..Fn: calls of functions of these names; the first n_native compare a1, a2, …"""
    parts: list[Condition] = [Comparison(f"a{i}", ">", 0) for i in range(1, n_native + 1)]
    calls = tuple(FunctionPredicate(f"F{i}", (Reference("s"),)) for i in range(n_native + 1, n + 1))
    return ContinuousQuery(name, "S", "", And(tuple(parts)), calls)


def settings(**values: Any) -> KnobSettings:
    """The filter knobs with some values set; by default thresholds, all profiled, unit costs."""
    chosen = {"profile_prob": 1.0, "min_samples": 1, "alpha": 1.0, "native_cost_us": 1.0}
    return KnobSettings.defaults(AgreedyKnobs.specs(), {"policy": "thresholds", **chosen, **values})


class Stream:
    """Feeds tuples of known drops to a core, batch by batch, and keeps all instructions."""

    def __init__(
        self,
        knobs: KnobSettings,
        query: ContinuousQuery,
        costs_us: Mapping[str, float] | None = None,
        seed: int = 1,
    ) -> None:
        self.knobs = knobs
        self.core = FiltersReOptimizer(query, knobs)
        self.costs_us = dict(costs_us or {})
        self.rng = np.random.default_rng(seed)
        self.instructions: list[FilterInstruction] = list(self.core.start())
        self.batch_id = 0
        self.n_evaluated: list[int] = []
        self.emitted: list[int] = []
        self.n_probed = 0

    def feed(self, drops: Drops, names: Sequence[str] | None = None) -> list[FilterInstruction]:
        """One batch; columns of drops: the core's filters, or ``names``."""
        names = [f.name for f in self.core.filters] if names is None else list(names)
        plan, probing = self.core.plan, self.core.probing
        p, draws = self.core.profile_prob, self.rng.random(len(drops))
        profiled, whole = draws < p, draws < p / WHOLE_EVERY
        done = run_counted(drops, names, plan.order, probing, profiled, whole)
        costs = {
            name: [CostSample(1, self.costs_us.get(name, 1.0))]
            for name in plan.order
            if done.evaluated[name]
        }
        event = BatchFiltered(
            batch_id=self.batch_id,
            plan_version=plan.version,
            n_tuples=len(drops),
            n_matched=done.n_matched,
            evaluated=done.evaluated,
            dropped=done.dropped,
            filters=plan.order,
            outcomes=done.outcomes,
            n_passed=done.n_passed,
            profile_prob=p,
            probing=probing,
            costs=costs,
            time_s=float(self.batch_id),
            spent=Shares(tuples_us=float(sum(done.evaluated.values()))),
            whole=done.whole,
        )
        found = self.core.handle(event)
        self.instructions += found
        self.n_evaluated.append(sum(done.evaluated.values()))
        self.n_probed += sum(done.probed.values())
        self.emitted.append(done.n_matched)
        self.batch_id += 1
        return found

    def run(self, drops: Drops, size: int = 100) -> None:
        """All tuples, in batches of ``size``."""
        for start in range(0, len(drops), size):
            self.feed(drops[start : start + size])

    def turn(self, knob: str, value: object) -> list[FilterInstruction]:
        """A knob is turned at a boundary."""
        self.knobs = self.knobs.changed(knob, value)
        found = self.core.handle(KnobsChanged(self.knobs, self.batch_id))
        self.instructions += found
        return found

    def register(self, query: ContinuousQuery | None, reason: str) -> list[FilterInstruction]:
        """Another query, or none."""
        queries = () if query is None else (query,)
        found = self.core.handle(QueriesChanged(queries, self.batch_id, reason))
        self.instructions += found
        return found

    @property
    def order(self) -> str:
        """``F1 F3 F2``."""
        return " ".join(self.core.plan.order)

    def decisions(self, verdict: str | None = None) -> list[Decision]:
        """The recorded checks, of one verdict or all."""
        found = [i for i in self.instructions if isinstance(i, Decision)]
        return [d for d in found if verdict in (None, d.verdict)]

    def adopted(self) -> list[AdoptFilters]:
        """The plans put into force."""
        return [i for i in self.instructions if isinstance(i, AdoptFilters)]


def independent_drops(rng: np.random.Generator, n: int, shares: Sequence[float]) -> Drops:
    """n tuples; filter i drops a share of them, independently."""
    found: Drops = rng.random((n, len(shares))) < np.array(shares)[None, :]
    return found
