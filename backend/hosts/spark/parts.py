"""What a workload comes to: one run for the selections of each stream, one for each pipeline."""

from __future__ import annotations

from dataclasses import dataclass

from backend.model.conditions import ContinuousQuery
from backend.workloads.spec import StreamSpec, Workload


@dataclass(frozen=True, slots=True)
class Part:
    """One run. label: what tells it from the others. is_pipeline: its query calls functions or
    looks into windows, and its filters are ordered."""

    stream: StreamSpec
    queries: tuple[ContinuousQuery, ...]
    label: str
    is_pipeline: bool


def parts_of(workload: Workload) -> list[Part]:
    """The runs of a workload, in the order of its streams; one even when it has no query."""
    found: list[Part] = []
    for stream in workload.streams:
        own = [query for query in workload.queries if query.stream == stream.name]
        selections = tuple(query for query in own if not query.filters)
        if selections:
            found.append(Part(stream, selections, stream.name, False))
        found += [Part(stream, (query,), query.name, True) for query in own if query.filters]
    if not found:
        found.append(Part(workload.streams[0], (), workload.streams[0].name, False))
    return found
