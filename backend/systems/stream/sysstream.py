"""Samples of a run as tuples of SysStream, stamped with the time of the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from backend.model.schema import Attribute, Schema
from backend.operators.network.core.job import StreamTime
from backend.workloads.sysstream import SYS_SCHEMA
from backend.workloads.text_values import ARROW_TYPES
from storage.vocabulary.records import Entity, Sample

#: Beside what queries may name, the time at which a sample was recorded.
RECORDED: Final = "_recorded"
SYS_ARRIVING: Final = Schema((*SYS_SCHEMA.attributes, Attribute(RECORDED, "timestamp")))
SYS_TIME: Final = StreamTime(RECORDED, tick_us=1_000_000)


def sys_tuples(
    samples: Iterable[Sample], entities: Mapping[str, Entity], without: str, seconds: int
) -> pa.Table:
    """The known values among samples, as SYS_ARRIVING has them.

    entities: by id; what is sampled of others is left out, and so is what belongs to the unit
    ``without``: it would feed on itself. seconds: since 1970, for all of them.
    """
    rows: list[tuple[Any, ...]] = []
    for sample in samples:
        entity = entities.get(sample.entity)
        if entity is not None and entity.unit_id != without and sample.value is not None:
            rows.append(
                (entity.query, sample.entity, entity.kind, sample.property, float(sample.value))
            )
    names = SYS_ARRIVING.names
    columns: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * (len(names) - 1)
    columns.append([seconds * SYS_TIME.tick_us] * len(rows))
    types = [ARROW_TYPES[a.type] for a in SYS_ARRIVING.attributes]
    arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(names))
