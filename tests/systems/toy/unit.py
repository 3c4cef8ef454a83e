"""Sampling as a unit: the queries of one stream, an operator each, one share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backend.adaptive.words import REFILLED
from backend.model.conditions import ContinuousQuery
from backend.model.events import KnobsChanged, QueriesChanged
from backend.model.ids import entity_id, output_id, output_queue, source_id
from backend.model.knobs import KnobSettings
from backend.operators.contract import UnitResult
from backend.systems.contract import BatchRan, Recorded, UnitJob, UnitState
from backend.systems.publishing import (
    PublishedUnit,
    operator_entities,
    order_of,
    query_entity,
    samples_of,
    unit_entities,
    unit_samples,
)
from storage.vocabulary.graph import PlanEdge, PlanGraph, PlanNode
from storage.vocabulary.records import Entity, Matrix, PlanVersion, Sample
from tests.systems.toy.core import Adopt, Halving
from tests.systems.toy.operator import SampleOperator


class SamplingUnit(PublishedUnit[Adopt]):
    """Tuples that pass are handed to every query."""

    def __init__(self, job: UnitJob, settings: KnobSettings) -> None:
        super().__init__(job)
        self._settings, self._queries = settings, job.queries
        self._core = Halving(settings.number("share"))
        self._operator: SampleOperator | None = None
        self._passed: list[tuple[int, float]] = []

    @property
    def plan_version(self) -> int:
        return self._core.version

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(sorted(query.name for query in self._queries))

    @property
    def inexact(self) -> str:
        share = self._passed[-1][1] if self._passed else 1
        return "" if share == 1 else f"{share:g} of the tuples pass"

    @property
    def inexact_queries(self) -> frozenset[str]:
        return frozenset(self._names if self.inexact else ())

    def start(self, state: UnitState | None) -> Recorded:
        core, batch = self._core, self._job.batch
        if state is None:
            return self._recorded([core.adopt(core.share, batch, "the share the run begins with")])
        core.version, core.evaluations.seq = state.plan.version, state.n_decisions
        core.share = float(state.plan.evidence["share"])
        if order_of(state.plan) == self._names:
            return self._recorded([REFILLED])
        return self._recorded([REFILLED, core.adopt(core.share, batch, "other queries")])

    def operator(self, batch_id: int) -> SampleOperator:
        wanted = SampleOperator(self._names, self._core.share)
        if self._operator != wanted:
            self._operator = wanted
        return self._operator or wanted

    def executed(self, event: BatchRan) -> Recorded:
        result = self._result = event.result
        self._passed.append((event.batch_id, self._core.share))
        told = (event.batch_id, result.n_tuples, result.report, self._settings.version)
        return self._recorded(self._core.ran(*told))

    def changed(self, event: KnobsChanged | QueriesChanged) -> Recorded:
        share, reason = self._core.share, "a knob was turned"
        if isinstance(event, KnobsChanged):
            self._settings, share = event.settings, event.settings.number("share")
        else:
            self._queries, reason = event.queries, event.reason
        return self._recorded([self._core.adopt(share, event.batch_id, reason)])

    def entities(self, paused: Mapping[str, ContinuousQuery]) -> Sequence[Entity]:
        id = self._job.id
        found = unit_entities(id, f"Samples of {self._job.input}")
        for query in self._queries:
            found += operator_entities(id, "sample", query.name, {"text": query.text}, query.name)
            found.append(query_entity(id, query, "active"))
        return [*found, *(query_entity(id, query, "paused") for query in paused.values())]

    def _samples(self, result: UnitResult) -> list[Sample]:
        id, n, passed = self._job.id, result.n_tuples, result.report
        found = unit_samples(id, result, n * len(self._queries), 0, {})
        for name in self._names:
            values: dict[str, tuple[float | None, str]] = {
                "reached_tuples": (n, "tuples"),
                "passed_prob": (passed / n if n else None, "prob"),
            }
            found += samples_of(entity_id(id, "sample", name), values)
        return [*found, Sample(output_queue(id), "flow_tuples", passed, "tuples")]

    def _matrices(self) -> tuple[Matrix, ...]:
        rows = tuple(str(batch) for batch, _ in self._passed[-10:])
        cells = [[share] for _, share in self._passed[-10:]]
        return (Matrix("shares", "shares", rows, ("share",), cells, "prob"),)

    def _plan_record(self, adopted: Adopt) -> PlanVersion:
        graph = self._graph(adopted.share)
        return PlanVersion(
            version=adopted.version,
            batch=adopted.batch_id,
            kind="sample",
            order=graph.order,
            graph=graph.to_json(),
            hash=graph.digest,
            reason=adopted.reason,
            decision=adopted.decision,
            evidence={"share": adopted.share},
        )

    def _graph(self, share: float) -> PlanGraph:
        """From the source to one operator a query, side by side, and from each to the output."""
        id, input = self._job.id, self._job.input
        if not self._queries:
            return PlanGraph()
        source = PlanNode(source_id(input), "source", input)
        output = PlanNode(output_id(input), "output", "Output")
        steps = [
            PlanNode(entity_id(id, "sample", name), "sample", name, {"share": share})
            for name in self._names
        ]
        into = [PlanEdge(source.id, n.id, entity_id(id, "queue", n.name)) for n in steps]
        out = [PlanEdge(n.id, output.id, output_queue(id)) for n in steps]
        return PlanGraph((source, *steps, output), (*into, *out))
