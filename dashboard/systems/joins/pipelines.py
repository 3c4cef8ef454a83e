"""The pipelines of a join on the Plan page: steps one behind the other, caches below what a hit
skips: solid in use, hollow profiled, dotted else."""

from __future__ import annotations

from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.formats import show
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.components.static import static
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.systems.joins.pipelines_view import (
    PIPELINE,
    CacheSpan,
    JoinPipelines,
    PipelineRow,
    build_pipelines,
)
from dashboard.views.book import Book
from storage.reader import Reader

NOTE: Final = "an element of an input is joined with the others in this order; caches skip steps"


def build(reader: Reader, context: Context, scope: PanelScope) -> list[JoinPipelines] | None:
    """The pipelines as of the moment; of one unit where the page shows one."""
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at), context.moment.unit)
    return build_pipelines(book, reader.values(run, at), reader.knobs(run, at)) or None


def draw(joins: list[JoinPipelines], sheet: Sheet) -> Drawing:
    """All joins; the table twin: one row for a cache in a pipeline."""
    body = html.Div([_join(join, len(joins) > 1) for join in joins], className="pw-pipes")
    return Drawing(static(body), table=_table(joins), note=NOTE)


def _join(join: JoinPipelines, titled: bool) -> Component:
    rows = [_pipeline(row, join.cost) for row in join.rows]
    title = [html.H3(join.name)] if titled else []
    return html.Section([*title, *rows], **attrs(aria_label=f"Pipelines of {join.name}"))


def _pipeline(row: PipelineRow, cost: str) -> Component:
    steps: list[Component] = [
        html.Div([row.input, html.Span(_facts(row, cost))], className="pw-pipe-input")
    ]
    for place, name in enumerate(row.order):
        style = {"gridColumn": str(place + 2)}
        steps.append(html.Div(f"⋈ {name}", className="pw-pipe-step", style=style))
    for line, span in enumerate(row.spans):
        style = {"gridColumn": f"{span.first + 2} / {span.last + 3}", "gridRow": str(line + 2)}
        looks = f"pw-pipe-cache pw-pipe-{span.state or 'unknown'}"
        data = attrs(data_cache=span.cache, data_state=span.state)
        steps.append(
            html.Div(_words(span), className=looks, style=style, title=_told(span, cost), **data)
        )
    return html.Div(steps, className="pw-pipe", style={"--steps": len(row.order)})


def _facts(row: PipelineRow, cost: str) -> str:
    facts = []
    if row.arrival is not None:
        facts.append(f"{show(row.arrival, 'pct')} of the elements")
    if row.cost is not None:
        facts.append(f"{show(row.cost, 'f2')} {cost} each")
    return " · ".join(facts)


def _words(span: CacheSpan) -> str:
    rate = "" if span.hit is None else f" · {show(span.hit, 'pct')} hits"
    return f"{span.name} · {span.state or 'unknown'}{rate}"


def _told(span: CacheSpan, cost: str) -> str:
    """All of it, on hover."""
    parts = [f"{span.name}: {span.state or 'unknown'}"]
    for words, value, form, unit in (
        ("hits", span.hit, "pct", ""),
        ("expected misses", span.miss, "pct", ""),
        ("entries", span.entries, "int", ""),
        ("in use", span.used, "int", " bytes"),
        ("benefit", span.benefit, "f3", f" {cost} an element"),
        ("upkeep", span.upkeep, "f3", f" {cost} an element"),
    ):
        if value is not None:
            parts.append(f"{words} {show(value, form)}{unit}")  # type: ignore[arg-type]  # forms above
    return ", ".join(parts)


_COLUMNS: Final = (
    TableColumn("Pipeline"),
    TableColumn("Order"),
    TableColumn("Elements", "pct", "", "share of those of the join that come in by it"),
    TableColumn("Cost", "f3", "a tuple", "of an element without caches"),
    TableColumn("Cache"),
    TableColumn("Skips"),
    TableColumn("State"),
    TableColumn("Hits", "pct"),
    TableColumn("Benefit", "f3", "a tuple"),
    TableColumn("Upkeep", "f3", "a tuple"),
)


def _table(joins: list[JoinPipelines]) -> Component:
    rows: list[list[CellData]] = []
    for join in joins:
        for row in join.rows:
            head: list[CellData] = [
                {"text": row.input, "sub": join.name},
                " → ".join(row.order),
                row.arrival,
                row.cost,
            ]
            for span in row.spans:
                skipped = " → ".join(row.order[span.first : span.last + 1])
                own: list[CellData] = [span.name, skipped, span.state, span.hit]
                rows.append([*head, *own, span.benefit, span.upkeep])
            if not row.spans:
                rows.append([*head, "", "", "", None, None, None])
    return RowTable("Pipelines and the caches in them", _COLUMNS, rows)


PANEL: Final = Panel(
    name="pipelines",
    page="/plan",
    title="Pipelines",
    sql=records.samples(PIPELINE, "cache"),
    build=build,
    draw=draw,
    applies=has_role(PIPELINE),
    values=True,
    news=("run", "plans", "decisions"),
    beats=True,
)
