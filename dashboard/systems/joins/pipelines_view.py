"""The pipelines of a join, each with the spans of the caches that stand in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from dashboard.systems.joins.caches_view import CACHE, Values, cost_unit, state_of
from dashboard.views.book import Book
from storage.vocabulary.records import Knob

PIPELINE: Final = "pipeline"
#: Spans are drawn in this order below the steps.
_RANK: Final = {"used": 0, "profiled": 1, "unused": 2, "": 3}


class CacheSpan(NamedTuple):
    """A cache over steps ``first`` to ``last`` of a pipeline, from 0. facts: 'hits 82.0 %' and the
    like are for the drawing; numbers as of CacheBid."""

    cache: str
    name: str
    state: str
    first: int
    last: int
    hit: float | None
    miss: float | None
    entries: float | None
    used: float | None
    benefit: float | None
    upkeep: float | None


class PipelineRow(NamedTuple):
    """A pipeline. order: names of the inputs it is joined with. arrival: share of the join's
    elements; cost: of one without caches."""

    id: str
    input: str
    order: tuple[str, ...]
    arrival: float | None
    profiled: float | None
    cost: float | None
    spans: tuple[CacheSpan, ...]


class JoinPipelines(NamedTuple):
    """All pipelines of a join. cost: the unit of costs."""

    join: str
    name: str
    unit: str
    cost: str
    rows: tuple[PipelineRow, ...]


def build_pipelines(book: Book, values: Values, knobs: Sequence[Knob]) -> list[JoinPipelines]:
    """Of every join that has some, by name."""
    spans = _spans(book, values)
    joins: dict[str, list[PipelineRow]] = {}
    for pipeline in book.of(PIPELINE):
        own = values.get(pipeline.id, {})
        row = PipelineRow(
            pipeline.id,
            str(pipeline.properties["input"]),
            tuple(map(str, pipeline.properties["order"])),
            own.get("arrival_share"),
            own.get("profiled_tuples"),
            own.get("pipeline_cost"),
            tuple(spans.get(pipeline.id, ())),
        )
        joins.setdefault(str(pipeline.properties["join"]), []).append(row)
    pipelines = []
    for join, rows in joins.items():
        unit = book[join].unit_id if join in book else ""
        cost = cost_unit({knob.name: knob for knob in knobs if knob.scope == unit})
        pipelines.append(JoinPipelines(join, book.name(join), unit, cost, tuple(rows)))
    return sorted(pipelines, key=lambda join: join.name)


def _spans(book: Book, values: Values) -> Mapping[str, list[CacheSpan]]:
    """Pipeline -> the caches in it, those in use first."""
    by_pipeline: dict[str, list[CacheSpan]] = {}
    for cache in book.of(CACHE):
        own = values.get(cache.id, {})
        for reader in cache.properties["readers"]:
            by_pipeline.setdefault(str(reader["pipeline"]), []).append(
                CacheSpan(
                    cache.id,
                    cache.name,
                    state_of(own.get("cache_state")),
                    int(reader["first"]),
                    int(reader["last"]),
                    own.get("hit_prob"),
                    own.get("miss_prob"),
                    own.get("cache_entries"),
                    own.get("used_bytes"),
                    own.get("cache_benefit"),
                    own.get("cache_upkeep"),
                )
            )
    for spans in by_pipeline.values():
        spans.sort(key=lambda span: (_RANK[span.state], span.first, span.last))
    return by_pipeline
