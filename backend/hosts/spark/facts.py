"""Facts about the source of a stream, to show and to tell it from another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from backend.workloads.sources import is_replayed
from backend.workloads.spec import StreamSpec
from backend.workloads.ticks import DEFAULT_TICK_US, usual_leap
from storage.vocabulary.records import Json


def source_facts(stream: StreamSpec) -> dict[str, Json]:
    """What tells the source of a stream from another, to show and to compare."""
    facts: Mapping[str, Json] = {
        "stream": stream.name,
        "format": stream.source.format,
        **{k: v for k, v in stream.source.options.items() if len(v) <= 200},
        "digest": _digest(stream),
        "timestamp": stream.timestamp or "arrival number",
    }
    told = dict(facts)
    if (stream.tick_us, stream.disorder) != (DEFAULT_TICK_US, 0):
        told |= {"tick_us": stream.tick_us, "disorder": stream.disorder}
    if stream.max_leap != usual_leap(stream.schema, stream.timestamp, stream.tick_us):
        told["max_leap"] = stream.max_leap
    return told


def _digest(stream: StreamSpec) -> str:
    """12 hex digits that change with anything the source is told, however long, and with who
    reads it, on whom its positions depend."""
    source = stream.source
    told = json.dumps(
        [source.options, source.rows, is_replayed(stream)], sort_keys=True, default=str
    )
    return hashlib.sha256(told.encode()).hexdigest()[:12]
