"""A run made by the real engine, without Spark: what its pages show is what the engine writes."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from typing import Any

from backend.engine.execution import BatchResult, PlanSnapshot

from backend.engine.knobs import KNOBS
from backend.engine.loop import Engine, StreamJob
from backend.model.knobs import KnobSettings
from backend.systems.asc.cost import PlanShape, route
from backend.systems.asc.matching import sample_regions
from backend.systems.asc.walk import Routed
from storage.vocabulary.records import Input, Run
from storage.writer import EngineWriter
from tests.unit.asc.stream import QUERIES, SCHEMA, Columns, a_filters, b_filters, tuples

SMALL = {
    "lambda_tuples": 500,
    "tau_tuples": 500,
    "min_samples": 100,
    "cooldown_tuples": 0,
    "profile_prob": 0.5,
    "no_drop_visit_cost": 1.0,
    "mu": 0.05,
    "ordering": "hybrid",
    "stop_rule": "drop",
}


class EngineRun:
    """A running run of four attributes; ``run`` feeds it tuples, and it answers commands."""

    def __init__(self, writer: EngineWriter, run_id: str, **knobs: object) -> None:
        place = {"pid": 1, "host": "here", "version": "0"}
        schema = [[a.name, a.type] for a in SCHEMA.attributes]
        inputs = (Input("S", schema),)
        run = Run(run_id, "test", "starting", time.time() - 60, {}, inputs=inputs, **place)  # type: ignore[arg-type]  # str and int
        settings = KnobSettings.defaults(KNOBS, {**SMALL, **knobs})
        job = StreamJob("S", SCHEMA, QUERIES, {"format": "memory"}, {"path": "out"})
        self.engine = Engine(run, job, settings, writer)
        self.engine.start()
        self._batch = 0

    def run(self, columns: Columns, batch_tuples: int = 250) -> EngineRun:
        """Run the tuples in batches."""
        for start in range(0, len(columns["a"]), batch_tuples):
            part = {a: v[start : start + batch_tuples] for a, v in columns.items()}
            self.engine.end_batch(_execute(part, self.engine.begin_batch(self._batch)))
            self._batch += 1
        return self

    def drift(self) -> EngineRun:
        """The filtering attribute moves twice."""
        self.run(a_filters(2000)).run(b_filters(2500))
        return self.run(a_filters(2000, 9)).run(tuples(1000, 5))


def _execute(part: Columns, snapshot: PlanSnapshot) -> BatchResult:
    constructs, plan = snapshot.constructs, snapshot.plan
    regions = sample_regions(constructs, part)
    found = route(constructs, regions, PlanShape.of(plan), snapshot.stop_rule)  # type: ignore[arg-type]  # a StopRule by its knob
    rng = random.Random(snapshot.batch_id)
    chosen = [t for t in range(len(regions)) if rng.random() < snapshot.profile_prob]
    dropped: Sequence[Any] = found.dropped.tolist() if isinstance(found, Routed) else []
    return BatchResult(
        batch_id=snapshot.batch_id,
        n_tuples=len(regions),
        n_matched=len(regions) - found.n_unmatched,
        n_misfits=0,
        visits=int(found.visits.sum()),
        reached=dict(zip(plan.order, found.reached.tolist(), strict=True)),
        dropped=dict(zip(plan.order, dropped, strict=True)) if dropped else {},
        sample={a: [v[t] for t in chosen] for a, v in part.items()},
        matched_by_query={},
        duration_ms=20.0,
    )
