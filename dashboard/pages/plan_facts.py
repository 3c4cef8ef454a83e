"""What the Plan page reads for one moment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from dashboard.base.context import Context
from dashboard.base.face import Skip, faces
from dashboard.components.formats import Format
from dashboard.panels.common.headroom import read_headroom
from dashboard.views import plan as views
from dashboard.views import plan_parts as parts
from dashboard.views.book import SYSTEM
from dashboard.views.headroom import next_words
from dashboard.views.spreads import Spreads, build_spreads, keys_of, since_of
from dashboard.views.stretch import stretch_words
from storage.reader import Reader
from storage.tables.rows import SeriesData
from storage.vocabulary.records import Batch, Entity, PlanVersion

_RECENT_BATCHES: Final = 240
_TABLE_BATCHES: Final = 40


class Chart(NamedTuple):
    """A chart below the graph: a property of the system."""

    id: str
    property: str
    title: str
    unit: str
    form: Format


CHARTS: Final = (
    Chart("plan-visits", "visits_per_tuple", "Visits per tuple", "", "f2"),
    Chart("plan-rate", "tuples_per_s", "Throughput", "tuples/s", "si"),
    Chart("plan-batch", "batch_ms", "Batch time", "", "ms"),
)


class Facts(NamedTuple):
    """What the page reads for one moment. plan: what is shown, of all units or of one, perhaps only
    what leads to one output; units: (title, plan) of those shown; titles: of all units, by id;
    version: of the plan of all units; outputs: to choose from; shared: node -> outputs. nodes: of
    the plan, in an order of its flow. spreads: of its steps; skips: ways past others;
    next: what would change it next; averaged: over what the values are averages, or ''; refuted: by
    construct, of the queries still open, as the newest sample in the order of the plan says."""

    plan: PlanVersion | None
    nodes: list[views.Node]
    units: list[tuple[str, PlanVersion]]
    titles: dict[str, str]
    version: int
    outputs: list[parts.OutputChoice]
    shared: dict[str, list[str]]
    values: dict[str, dict[str, float | None]]
    series: dict[tuple[str, str], SeriesData]
    entities: dict[str, Entity]
    batches: tuple[Batch, ...]
    spreads: Spreads
    skips: list[Skip]
    next: str
    averaged: str
    refuted: dict[str, float | None]


def read(reader: Reader, context: Context, *, numbers: bool = False) -> Facts:
    """Everything but the inspector, as of the batch of the context. numbers: those alone that the
    live path does not bring, without series of the nodes."""
    run, at = context.run_id, context.batch
    all_units = reader.units(run, at)
    titles = {unit.id: unit.title for unit in all_units}
    plans = reader.plans_at(run, at) or {plan.unit_id: plan for plan in reader.plans(run)[:1]}
    wanted = context.moment.unit
    shown = {wanted: plans[wanted]} if wanted in plans else plans
    units = [(titles.get(unit, ""), plan) for unit, plan in shown.items()]
    plan, version = views.whole(units), sum(plan.version for plan in plans.values())
    outputs = parts.outputs_of(plan, context.moment.show)
    shared = {} if plan is None else parts.shared_by(plan)
    show = context.moment.show
    if plan is not None and show:
        plan = parts.leading_to(plan, show)
        own = [unit for unit in units if parts.has_node(unit[1], show)] or units
        units = [(title, parts.leading_to(plan, show)) for title, plan in own]
    nodes = [] if plan is None else views.plan_nodes(plan)
    keys = [(SYSTEM, chart.property) for chart in CHARTS]
    keys += [] if numbers else [(node.entity, node.spark) for node in nodes]
    since = None if at is None else max(0, at - _RECENT_BATCHES + 1)
    series = reader.many_series(run, keys, since_batch=since, until_batch=at)
    entities = {entity.id: entity for entity in reader.entities(run, at)}
    batches = reader.batches(run, until=at, limit=_TABLE_BATCHES)
    titles = {unit: titles.get(unit, unit) for unit in plans}
    values = reader.values(run, at)
    skips = [
        skip for _, plan in units for face in faces() if face.skips for skip in face.skips(plan)
    ]
    spreads = {} if numbers else _spreads(reader, context, plan, nodes, entities)
    words = next_words(read_headroom(reader, context, all_units))
    averaged = stretch_words(reader.stretch(run, at))
    refuting = {} if at is None else _refuted(reader, run, at, [plan for _, plan in units])
    facts = (values, series, entities, batches, spreads, skips, words, averaged, refuting)
    return Facts(plan, nodes, units, titles, version, outputs, shared, *facts)


def _refuted(
    reader: Reader, run: str, at: int, plans: Sequence[PlanVersion]
) -> dict[str, float | None]:
    """Of the steps of the plans, as far as their systems tell it."""
    shares = (face.refuted(reader, run, at, p) for p in plans for face in faces() if face.refuted)
    return {step: share for own in shares for step, share in own.items()}


def _spreads(
    reader: Reader,
    context: Context,
    plan: PlanVersion | None,
    nodes: list[views.Node],
    entities: dict[str, Entity],
) -> Spreads:
    """The steps over the last batches of their plan."""
    at = context.batch
    if plan is None or at is None:
        return {}
    since, keys = since_of(plan, at), keys_of(nodes)
    series = reader.many_series(context.run_id, keys, since_batch=since, until_batch=at)
    return build_spreads(plan, nodes, series, entities)
