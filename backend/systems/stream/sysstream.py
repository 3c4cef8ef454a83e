"""What a run records of itself as tuples of streams, stamped with the time of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import pyarrow as pa

from backend.adaptive.planlog.logged import unit_of
from backend.model.schema import Attribute, Schema
from backend.operators.network.core.job import StreamTime
from backend.workloads.sysstream import SYS_STREAMS, SYSSTREAM
from backend.workloads.text_values import ARROW_TYPES
from storage.vocabulary.planlog import RECORD, SUBJECT
from storage.vocabulary.records import BatchRecord, Entity, Json

#: Beside what queries may name, the time at which something was recorded.
RECORDED: Final = "_recorded"
#: Stream -> its tuples as they arrive, and how they are put in time.
SYS_ARRIVING: Final[Mapping[str, Schema]] = {
    name: Schema((*schema.attributes, Attribute(RECORDED, "timestamp")))
    for name, schema in SYS_STREAMS.items()
}
SYS_TIMES: Final = dict.fromkeys(SYS_STREAMS, StreamTime(RECORDED, tick_us=1_000_000))
_Row = tuple[Any, ...]


class RecordedBatch(NamedTuple):
    """What a batch recorded. record: decisions with the records of looks; entities: by id;
    started_at: when the run began, Unix seconds."""

    record: BatchRecord
    entities: Mapping[str, Entity]
    started_at: float

    @property
    def run_s(self) -> float:
        """Seconds since the run began."""
        return self.record.batch.time - self.started_at


def sys_tuples(stream: str, batch: RecordedBatch, without: str, seconds: int) -> pa.Table:
    """What a batch recorded, as SYS_ARRIVING has it. without: a unit; what belongs to it is left
    out: it would feed on itself. seconds: since 1970, for all of it."""
    rows = list((_samples if stream == SYSSTREAM else _evaluations)(batch, without))
    schema = SYS_ARRIVING[stream]
    columns: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * (len(schema.names) - 1)
    columns.append([seconds * SYS_TIMES[stream].tick_us] * len(rows))
    types = [ARROW_TYPES[a.type] for a in schema.attributes]
    arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(schema.names))


def _samples(batch: RecordedBatch, without: str) -> Iterator[_Row]:
    """The known values of known entities."""
    for sample in batch.record.samples:
        entity = batch.entities.get(sample.entity)
        if entity is not None and entity.unit_id != without and sample.value is not None:
            yield entity.query, sample.entity, entity.kind, sample.property, float(sample.value)


def _evaluations(batch: RecordedBatch, without: str) -> Iterator[_Row]:
    """Looks of autopilots, then evaluations of other cores."""
    for look in batch.record.decisions:
        if RECORD in look.detail and look.unit_id != without:
            subject = look.detail.get(SUBJECT, "")
            yield _row(look.unit_id, subject, look.detail[RECORD], unit_of(look), batch.run_s)
    for each in batch.record.logged:
        if each.unit_id != without:
            yield _row(each.unit_id, each.subject, each.record, each.cost_unit, batch.run_s)


def _row(unit_id: str, subject: str, record: Json, cost_unit: str, run_s: float) -> _Row:
    prices = {plan: cost for plan, cost, *_ in record["offers"]}
    (n, cost), chosen, rival = record["ran"], record["chosen"], record["rival"]
    is_other = chosen != record["plan"]
    return (
        *(run_s, unit_id, subject, record["t"], chosen, prices.get(chosen, record["cost"])),
        *(cost / n if n else None, record["deciding"]),
        *((record["plan"], record["cost"]) if is_other else (rival, prices.get(rival))),
        *(int(is_other), cost_unit),
    )
