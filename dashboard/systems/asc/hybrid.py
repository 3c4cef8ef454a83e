"""The hybrid view: micro-arrows of the plan in force, and one tuple followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.badges import badge
from dashboard.components.drawn import NAMESPACE, Drawn
from dashboard.components.formats import show
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.components.tiles import live_value, tile, tiles
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.systems.asc.hybrid_figure import lay_out
from dashboard.systems.asc.hybrid_view import (
    ARROWS,
    HYBRID,
    HybridView,
    Way,
    Ways,
    build_hybrid,
    build_ways,
    named_decision,
)
from dashboard.views.book import Book
from storage.reader import Reader

#: Evaluations looked through for recorded ways.
MOST_DECISIONS: Final = 10
LABEL: Final = "Micro-arrows, from region to construct; arrow keys walk them, the table lists them"
_BY: Final = {"first": "first of the order", "macro": "macro-arrow", "micro": "micro-arrow"}


class HybridGraph(Drawn):
    """The drawing (hybrid_graph.js). drawing: see hybrid_figure.lay_out."""

    _namespace = NAMESPACE
    _type = "HybridGraph"
    _names = ("id", "label", "drawing")

    def __init__(self, label: str, drawing: Mapping[str, Any]) -> None:
        super().__init__(label=label, drawing=dict(drawing))


class HybridPart(NamedTuple):
    """What is shown while a hybrid plan is in force. batch: the matrix is as of. system: whose
    values these are."""

    view: HybridView
    batch: int
    ways: Ways
    values: Mapping[str, float | None]
    plan: int
    system: str


def build(reader: Reader, context: Context, scope: PanelScope) -> HybridPart | None:
    """The hybrid view at the moment; the pinned node may name a sampled tuple to follow."""
    run = context.run_id
    plan = reader.plan_at(run, context.batch, scope.only)
    if plan is None or plan.kind != HYBRID:
        return None
    stored = reader.matrix(run, ARROWS, context.batch, scope.only)
    if stored is None:
        return None
    node = context.moment.node
    seq = named_decision(node)
    named = reader.decision(run, seq, scope.only) if seq is not None else None
    only = scope.only
    newest = reader.decisions(run, until=context.batch, limit=MOST_DECISIONS, unit=only)
    entries = [*([named] if named else []), *newest]
    ways = build_ways(entries, plan.version, node)
    steps = ways.followed.steps if ways.followed else []
    view = build_hybrid(stored.matrix, [(step.attribute, step.row) for step in steps])
    book = Book(reader.entities(run, context.batch), scope.unit)
    values = book.whole(reader.values(run, context.batch))
    system = book.systems()[-1]
    return HybridPart(view, stored.batch, ways, values, plan.version, system)


def draw(shown: HybridPart, sheet: Sheet) -> Drawing:
    """Constructs and micro-arrows, the tuples one can follow, and the steps of one."""
    view = shown.view
    drawing = lay_out(view, shown.ways.followed)
    body = [_tiles(shown, view), HybridGraph(LABEL, drawing), _tuples(shown, sheet.context)]
    return Drawing(body, table=_table(view), note=_note(shown, view))


def _note(shown: HybridPart, view: HybridView) -> str:
    n = show(view.n, "int")
    return (
        f"constructs in macro order, regions bluer the more tuples visit them · n = {n} sampled "
        f"tuples, as of batch {shown.batch}"
    )


def _tiles(shown: HybridPart, view: HybridView) -> Component:
    ratio, cost = shown.values.get("micro_ratio"), shown.values.get("relative_cost")
    regions = show(sum(construct.n_regions for construct in view.constructs), "int")
    targets = len({arrow.target for arrow in view.arrows})
    return tiles(
        [
            tile(
                "Micro ratio ξ",
                live_value(shown.system, "micro_ratio", ratio, "pct"),
                note="micro-arrows of all arrows followed",
            ),
            tile(
                "Relative cost ω",
                live_value(shown.system, "relative_cost", cost, "f3"),
                note="against its macro order alone; below 1 saves",
            ),
            tile(
                "Micro-arrows",
                show(len(view.arrows), "int"),
                note=f"of {regions} regions, to {targets} constructs",
            ),
        ]
    )


def _tuples(shown: HybridPart, context: Context) -> Component:
    """The sampled tuples one can follow, and the steps of the one that is followed."""
    ways = shown.ways
    if not ways.ways:
        return html.P(
            "No way of a sampled tuple is recorded up to this moment.", className="pw-dim"
        )
    links = [_chip(way, ways.followed, context) for way in ways.ways]
    after = f", under plan {ways.plan}" if ways.plan not in (None, shown.plan) else ""
    words = f"Follow a tuple sampled by batch {ways.batch}{after}:"
    parts: list[Component] = [html.P(words, className="pw-hybrid-follow")]
    label = attrs(aria_label="Sampled tuples to follow")
    parts.append(html.Nav(links, className="pw-chips", **label))
    if ways.followed is not None:
        parts.append(_steps(ways.followed))
    return html.Div(parts)


def _chip(way: Way, followed: Way | None, context: Context) -> Component:
    here = followed is not None and way.name == followed.name
    last = way.steps[-1] if way.steps else None
    dropped = way.end == "dropped"
    sign = "✖" if dropped else "✔"
    where = f" at {last.attribute}" if dropped and last else ""
    size = f"{len(way.steps)} visit{'' if len(way.steps) == 1 else 's'}"
    values = ", ".join(f"{name} = {value}" for name, value in way.values.items())
    return jump(
        context,
        [f"{sign} {way.end}{where}", html.Span(size, className="pw-chip-size")],
        node="" if here else way.name,
        className="pw-chip-link",
        title=values,
        **attrs(aria_current="true" if here else None),
    )


def _steps(way: Way) -> Component:
    columns = (
        TableColumn("Step", "int"),
        TableColumn("Construct"),
        TableColumn("Value"),
        TableColumn("Region"),
        TableColumn("Led there by"),
        TableColumn("Queries left", "int", "", "ones in the tuple's GRB after the visit"),
    )
    most = max((step.left for step in way.steps), default=0)
    rows: list[list[CellData]] = [
        [
            number,
            step.attribute,
            step.value,
            step.region,
            _BY.get(step.by, step.by),
            {"text": step.left, "bar": step.left / most if most else 0.0},
        ]
        for number, step in enumerate(way.steps, start=1)
    ]
    return html.Div(
        [html.P(_end(way), className="pw-hybrid-end-words"), RowTable("Its steps", columns, rows)],
        className="pw-hybrid-steps",
    )


def _end(way: Way) -> list[Any]:
    if way.end != "dropped" or not way.steps:
        left = way.steps[-1].left if way.steps else 0
        return [badge("✔ matched", "ok"), f" {show(left, 'int')} queries are left at the end"]
    last = way.steps[-1]
    words = f" at {last.attribute}, {last.region}: no query is left after {len(way.steps)} visits"
    return [badge("✖ dropped", "warning"), words]


def _table(view: HybridView) -> Component:
    columns = (
        TableColumn("From"),
        TableColumn("Region"),
        TableColumn("To"),
        TableColumn("Support", "int", "sampled tuples", "tuples the arrow was decided on"),
        TableColumn("Gain", "f3", "", "by how much it beat the macro-arrow"),
        TableColumn("Visited by", "pct"),
        TableColumn("Taken by", "pct"),
    )
    rows: list[list[CellData]] = [
        [
            arrow.source,
            {"text": arrow.region, "sort": place},
            arrow.target,
            arrow.support,
            arrow.gain,
            arrow.hit_prob,
            arrow.followed_prob,
        ]
        for place, arrow in enumerate(view.arrows)
    ]
    words = f"Micro-arrows, shares of {show(view.n, 'int')} sampled tuples"
    return RowTable(words, columns, rows)


PANEL: Final = Panel(
    name="hybrid",
    page="/matrix",
    title="Hybrid plan",
    sql=records.matrices(ARROWS),
    build=build,
    draw=draw,
    applies=has_matrix(ARROWS),
    values=True,
    news=("run", "plans", "queries", "matrices", "decisions"),
    unit=True,
    draws=True,
)
