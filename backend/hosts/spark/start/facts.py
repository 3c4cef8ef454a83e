"""Facts about the source of a stream, to show and to tell it from another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from backend.hosts.spark.start.secrets import without_secrets
from backend.workloads.sensors import is_surrogate
from backend.workloads.sources import is_replayed
from backend.workloads.spec import StreamSpec
from backend.workloads.ticks import DEFAULT_TICK_US, usual_leap
from storage.vocabulary.records import DATA, SURROGATE, Json


def source_facts(stream: StreamSpec) -> dict[str, Json]:
    """What tells the source of a stream from another, to show and to compare, without secrets."""
    facts: Mapping[str, Json] = {
        "stream": stream.name,
        "format": stream.source.format,
        **{k: v for k, v in without_secrets(stream.source.options).items() if len(v) <= 200},
        "digest": _digest(stream),
        "timestamp": stream.timestamp or "arrival number",
    }
    all_facts = dict(facts)
    if is_surrogate(stream.source.format, stream.source.options):
        all_facts[DATA] = SURROGATE
    if (stream.tick_us, stream.disorder) != (DEFAULT_TICK_US, 0):
        all_facts |= {"tick_us": stream.tick_us, "disorder": stream.disorder}
    if stream.max_leap != usual_leap(stream.schema, stream.timestamp, stream.tick_us):
        all_facts["max_leap"] = stream.max_leap
    if stream.schema.key:
        all_facts["key"] = ", ".join(stream.schema.key)
    valid = stream.schema.valid
    if valid is not None:
        ends = f"from {valid.start} to {valid.end}{', included' if valid.is_closed else ''}"
        all_facts["valid"] = f"until the next of {valid.key}" if valid.key else ends
    return all_facts


def _digest(stream: StreamSpec) -> str:
    """12 hex digits that change with anything the source is told but secrets, however long, and
    with who reads it, on whom its positions depend."""
    source = stream.source
    options = without_secrets(source.options)
    text = json.dumps([options, source.rows, is_replayed(stream)], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
