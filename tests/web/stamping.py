"""Puts a unit on what is recorded of a run made by hand, which has one unit over one stream."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from storage.vocabulary.records import BatchRecord, Entity, InputBatch, Knob, Unit

#: What belongs to the engine, whatever units there are.
_SHARED_ROLES = ("system", "source", "output")
_SHARED_QUEUE = "queue:source"
_SOURCE = "op:source"
#: Of these kinds are the events that happen in a unit; the others are the run's.
_UNIT_EVENTS = ("rearrangement", "held back", "change", "algorithm")


def stamped_entities(entities: Iterable[Entity], unit_id: str) -> tuple[Entity, ...]:
    """Entities as those of the unit, but for source, output and system."""
    return tuple(
        e if e.role in _SHARED_ROLES or e.id == _SHARED_QUEUE else replace(e, unit_id=unit_id)
        for e in entities
    )


def stamped_knobs(knobs: Iterable[Knob], unit_id: str) -> tuple[Knob, ...]:
    """Knobs as those of the unit, but for those of the source."""
    return tuple(k if k.entity == _SOURCE else replace(k, scope=unit_id) for k in knobs)


def stamped(record: BatchRecord, unit: Unit, backlog_tuples: int | None = None) -> BatchRecord:
    """The record as one of the unit; its one input took all of the batch."""
    batch, id = record.batch, unit.id
    took = InputBatch(
        unit.inputs[0], batch.n_tuples, batch.n_misfits, backlog_tuples, batch.stream_time
    )
    return replace(
        record,
        units=(unit,),
        inputs=() if batch.id is None else (took,),
        entities=stamped_entities(record.entities, id),
        plans=tuple(replace(plan, unit_id=id) for plan in record.plans),
        decisions=tuple(replace(decision, unit_id=id) for decision in record.decisions),
        outcomes=tuple(replace(outcome, unit_id=id) for outcome in record.outcomes),
        matrices=tuple(replace(matrix, unit_id=id) for matrix in record.matrices),
        knobs=stamped_knobs(record.knobs, id),
        events=tuple(
            replace(e, unit_id=id) if e.kind in _UNIT_EVENTS else e for e in record.events
        ),
        results=tuple(replace(one, input=took.input) for one in record.results),
        misfits=tuple(replace(one, input=took.input) for one in record.misfits),
    )
