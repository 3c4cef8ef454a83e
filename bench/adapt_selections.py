"""Selections over data that drift, counted: thresholds, the autopilot, and the best orders."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.cql import parse_query
from backend.model.events import BatchExecuted, SelectionPlan
from backend.model.knobs import KnobSettings
from backend.operators.selection.matcher import Matcher
from backend.systems.asc.constructs import ConstructSet, build_constructs
from backend.systems.asc.cost import CostModel, PlanShape, sample_costs
from backend.systems.asc.knobs import AscKnobs
from backend.systems.asc.lattice import extreme_order
from backend.systems.asc.layouts import layout_of
from backend.systems.asc.matching import Regions, sample_regions
from backend.systems.asc.reoptimizer import SelectionReOptimizer
from backend.workloads.drift import DRIFT_SCHEMA, Phase, drift_table, q1_queries
from bench.adapt_run import AdaptRun, is_evaluation, phase_at

SEED: Final = 7
BATCH: Final = 500
#: As in the paper, a visit is a visit.
KNOBS: Final[Mapping[str, Any]] = {"profile_prob": 0.25, "no_drop_visit_cost": 1.0}
#: Enough for the exact best order on all tuples.
_EFFORT: Final = 1e3


@dataclass(frozen=True)
class DriftStream:
    """phases: lengths, in tuples; queries: as Table 1's Q1."""

    phases: tuple[int, ...]
    table: pa.Table
    queries: tuple[Any, ...]
    constructs: ConstructSet
    regions: Regions

    @classmethod
    def of(cls, schedule: Sequence[Phase], seed: int = SEED, k: int = 50) -> DriftStream:
        """With tuples and k queries of their seeds."""
        lengths = tuple(phase.n_tuples for phase in schedule)
        table = drift_table(seed, schedule, 0, sum(lengths))
        streams = {"Drift": DRIFT_SCHEMA}
        texts = q1_queries(seed=2, k=k)
        queries = tuple(parse_query(name, text, streams) for name, text in texts.items())
        constructs = build_constructs(queries, DRIFT_SCHEMA)
        values = {name: table.column(name).to_pylist() for name in constructs.attributes}
        regions = sample_regions(constructs, values)
        return cls(lengths, table, queries, constructs, regions)

    def bests(self) -> list[float]:
        """Visits of the best order of each phase."""
        cuts = np.cumsum(self.phases)[:-1]
        return [self._best(part) for part in np.split(self.regions, cuts)]

    def best(self) -> float:
        """Visits of the best order for everything."""
        return self._best(self.regions)

    def _best(self, regions: Regions) -> float:
        least = extreme_order(self.constructs, regions, "resolved", effort=_EFFORT)
        if not least.exact or least.n != len(regions):
            raise AssertionError("the best order is to be the exact one")
        return least.cost * least.n


def followed(stream: DriftStream, knobs: Mapping[str, Any]) -> AdaptRun:
    """The decision core over the stream, batch by batch."""
    settings = KnobSettings.defaults(AscKnobs.specs(), {**KNOBS, **knobs})
    core = SelectionReOptimizer(stream.queries, DRIFT_SCHEMA, settings, None)
    core.start()
    rng, costs, moved = np.random.default_rng(SEED), [], []
    n_looks, deciding_s = 0, 0.0
    for batch in range(len(stream.regions) // BATCH):
        plan, rows = core.plan, slice(batch * BATCH, (batch + 1) * BATCH)
        sampled = np.flatnonzero(rng.random(BATCH) < core.knobs.profile_prob)
        event = _executed(stream, plan, batch, stream.regions[rows], sampled)
        started = time.perf_counter()
        answers = core.handle(event)
        deciding_s += time.perf_counter() - started
        costs.append(event.visits)
        n_looks += sum(map(is_evaluation, answers))
        if core.plan.version != plan.version:
            moved.append((batch * BATCH, plan, core.plan))
    return AdaptRun(
        n_batch=BATCH,
        costs=np.array(costs, dtype=np.float64),
        switched=[_switched(stream, *move) for move in moved],
        n_looks=n_looks,
        deciding_s=deciding_s,
    )


def _executed(
    stream: DriftStream,
    plan: SelectionPlan,
    batch: int,
    regions: Regions,
    sampled: NDArray[np.intp],
) -> BatchExecuted:
    """A batch in the kernels."""
    constructs = stream.constructs
    places = [list(constructs.attributes).index(name) for name in plan.order]
    matcher = Matcher(layout_of(constructs, plan.order, plan.arrows), plan.kind, True, 100, SEED)
    matches = matcher.match(np.ascontiguousarray(regions[:, places].T.astype(np.int32)))
    reached = matcher.counts.reached.tolist()
    values = stream.table.take(pa.array(sampled + batch * BATCH))
    return BatchExecuted(
        batch_id=batch,
        n_tuples=len(regions),
        n_matched=int(np.count_nonzero(np.diff(matches.tuples, prepend=-1))),
        visits=sum(reached),
        plan_version=plan.version,
        reached=dict(zip(plan.order, reached, strict=True)),
        sample={name: values.column(name).to_pylist() for name in constructs.attributes},
    )


def _switched(
    stream: DriftStream, position: int, old: SelectionPlan, new: SelectionPlan
) -> tuple[float, float]:
    """Visits a tuple of both plans on tuples of the phase."""
    regions = stream.regions[phase_at(position, stream.phases)][:20_000]
    model = CostModel("resolved", 1.0)
    before, after = (
        float(sample_costs(stream.constructs, model, PlanShape.of(plan), regions).mean())
        for plan in (old, new)
    )
    return before, after
