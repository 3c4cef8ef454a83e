"""Turns what happened in a batch into introspection records, and writes them in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, TypeVar

from backend.engine.deciding import Recorded
from backend.engine.describe import (
    PROFILE,
    SOURCE,
    SYSTEM,
    asc_id,
    plan_graph,
    plan_hash,
    queue_id,
)
from backend.engine.execution import BatchResult, Match
from backend.model.events import (
    AdoptPlan,
    SelectionPlan,
)
from backend.model.filters import AdoptFilters
from backend.model.knobs import KnobSettings
from storage.vocabulary.records import (
    Batch,
    Decision,
    DecisionOutcome,
    Entity,
    Event,
    Json,
    Knob,
    Misfit,
    PlanVersion,
    ResultTuple,
    Sample,
)

#: Role of an entity -> its id.
_SHOWN_WITH: Final = {"profile": PROFILE, "source": SOURCE}
#: The last matched tuples kept per batch and query.
RECENT_PER_QUERY = 5
Adopted = TypeVar("Adopted", AdoptPlan, AdoptFilters)


def knob_rows(settings: KnobSettings, batch: int, names: Iterable[str]) -> tuple[Knob, ...]:
    """The named knobs with the values in force from ``batch`` on."""
    rows = []
    for name in names:
        spec = settings.specs[name]
        rows.append(
            Knob(
                name=name,
                kind=spec.kind,
                value=settings.values[name],
                default=spec.default,
                unit=spec.unit,
                help=spec.help,
                low=spec.low,
                high=spec.high,
                scale=spec.scale,
                choices=spec.choices,
                entity=_SHOWN_WITH.get(spec.entity, spec.entity),
                version=settings.versions.get(name, 0),
                batch=batch,
            )
        )
    return tuple(rows)


def plan_row(adopted: AdoptPlan, stream: str) -> PlanVersion:
    plan = adopted.plan
    return PlanVersion(
        version=plan.version,
        batch=adopted.batch_id,
        kind=plan.kind,
        order=tuple(asc_id(a) for a in plan.order),
        graph=plan_graph(plan, stream),
        hash=plan_hash(plan),
        reason=adopted.reason,
        decision=adopted.decision,
        evidence={"predicted_visits_per_tuple": adopted.predicted},
    )


def decision_event(d: Decision) -> Event | None:
    """The event lane's mark for an evaluation that came to something, or was held back."""
    if d.verdict == "switched":
        return Event("rearrangement", "plan changed", d.explanation, ref={"decision": d.seq})
    if d.verdict in ("kept", "cooldown"):
        return Event("held back", d.verdict, d.explanation, ref={"decision": d.seq})
    return None


def asc_samples(result: BatchResult, plan: SelectionPlan) -> list[Sample]:
    """Per construct: tuples that visited it, share dropped of them, share alive after it."""
    samples: list[Sample] = []
    alive = result.n_tuples
    for attribute in plan.order:
        reached = result.reached.get(attribute, 0)
        samples.append(Sample(asc_id(attribute), "reached_tuples", reached, "tuples"))
        samples.append(Sample(queue_id(attribute), "size_tuples", alive, "tuples"))
        if result.dropped:
            dropped = result.dropped[attribute]
            alive -= dropped
            share = dropped / reached if reached else None
            samples.append(Sample(asc_id(attribute), "drop_prob", share, "prob"))
            if result.n_tuples:
                survive = alive / result.n_tuples
                samples.append(Sample(asc_id(attribute), "survival_prob", survive, "prob"))
    if not result.dropped:
        alive = result.n_matched
    samples.append(Sample("queue:output", "size_tuples", alive, "tuples"))
    return samples


def profile_samples(n_sampled: int, window: int, core_us: float) -> list[Sample]:
    found = [
        Sample(PROFILE, "n_sampled", n_sampled, "tuples"),
        Sample(PROFILE, "window_tuples", window, "tuples"),
    ]
    if n_sampled:
        found.append(Sample(PROFILE, "sample_us_per_tuple", core_us / n_sampled, "us/tuple"))
    return found


def system_samples(values: Mapping[str, tuple[float | None, str]]) -> list[Sample]:
    return [Sample(SYSTEM, name, value, unit) for name, (value, unit) in values.items()]


def batch_row(result: BatchResult, plan_version: int) -> Batch:
    return Batch(
        id=result.batch_id,
        time=time.time(),
        duration_ms=result.duration_ms,
        n_tuples=result.n_tuples,
        n_matched=result.n_matched,
        n_misfits=result.n_misfits,
        plan_version=plan_version,
        stream_time=result.stream_time,
        timings_ms=result.timings_ms,
    )


def result_rows(recent: Sequence[Match]) -> tuple[ResultTuple, ...]:
    """The last few matched tuples of each query, in arrival order."""
    left: dict[str, int] = {}
    kept: list[ResultTuple] = []
    for match in reversed(recent):
        wanted = [q for q in match.query_ids if left.setdefault(q, RECENT_PER_QUERY) > 0]
        for query in wanted:
            left[query] -= 1
        if wanted:
            values = {name: _plain(value) for name, value in match.values.items()}
            kept.append(ResultTuple(values, match.query_ids))
    return tuple(reversed(kept))


def misfit_rows(result: BatchResult) -> tuple[Misfit, ...]:
    return tuple(Misfit(m.raw, m.error) for m in result.misfits)


def instructed(
    instructions: Iterable[Adopted | Decision | DecisionOutcome | Event],
    plan_row: Callable[[Adopted], PlanVersion],
) -> Recorded:
    """Plans, decisions, outcomes and events of a core's instructions."""
    plans, decisions, outcomes, events = [], [], [], []
    for instruction in instructions:
        if isinstance(instruction, Decision):
            decisions.append(instruction)
            event = decision_event(instruction)
            if event is not None:
                events.append(event)
        elif isinstance(instruction, DecisionOutcome):
            outcomes.append(instruction)
        elif isinstance(instruction, Event):
            events.append(instruction)
        else:
            plans.append(plan_row(instruction))
    return Recorded(tuple(plans), tuple(decisions), tuple(outcomes), tuple(events))


class EntityLedger:
    """Which entities were published; tells what is new, changed or gone."""

    def __init__(self) -> None:
        self._known: dict[str, Entity] = {}
        self._last: Sequence[Entity] = ()

    def changes(self, now: Sequence[Entity], batch: int) -> tuple[Entity, ...]:
        """Entities to publish at ``batch``: changed ones as new versions, missing ones removed.

        Objects that were there before, not only equal ones, take no time.
        """
        if now is self._last:
            return ()
        self._last = now
        current = {entity.id: entity for entity in now}
        changed = [
            _dated(entity, batch)
            for entity in current.values()
            if (old := self._known.get(entity.id)) is not entity and _facts(old) != _facts(entity)
        ]
        gone = [
            Entity(e.id, e.kind, e.name, e.properties, e.query, e.since_batch, batch)
            for e in self._known.values()
            if e.id not in current
        ]
        self._known = current
        return (*changed, *gone)


def _facts(entity: Entity | None) -> Json:
    return None if entity is None else (entity.kind, entity.name, entity.properties, entity.query)


def _dated(entity: Entity, batch: int) -> Entity:
    return Entity(entity.id, entity.kind, entity.name, entity.properties, entity.query, batch)


def _plain(value: Any) -> Json:
    """A value JSON can hold: dates as ISO text, NaN as text."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, float) and not -1e308 <= value <= 1e308:
        return str(value)
    return value
