"""The chains of the scheduler: progress charts, the partition now and the one before it."""

from __future__ import annotations

from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.badges import badge
from dashboard.components.formats import show
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.systems.stream.chains_figure import HEIGHT, draw_chains
from dashboard.systems.stream.chains_view import KIND, ChainOf, ChainsView, build_chains
from storage.reader import Reader

_LOOKED_AT: Final = 20


def build(reader: Reader, context: Context, scope: PanelScope) -> ChainsView | None:
    """What the newest evaluation up to the moment compared."""
    run, at = context.run_id, context.batch
    decisions = reader.decisions(run, until=at, limit=_LOOKED_AT, unit=scope.only)
    decision = next(
        (decision.decision for decision in decisions if decision.decision.kind == KIND), None
    )
    return None if decision is None else build_chains(decision)


def draw(view: ChainsView, sheet: Sheet) -> Drawing:
    """The charts above both partitions, side by side."""
    n_left = sum(not path.is_sound for path in view.paths)
    figure = draw_chains(view, sheet.theme) if len(view.paths) > n_left else None
    link = jump(
        sheet.context, "decision", "/decisions", view.batch, node=str(view.seq), unit=view.unit
    )
    note = html.Span([f"batch {view.batch}: {view.explanation}{_left_out(n_left)} · ", link])
    foot = _partitions(view, sheet.context)
    return Drawing("", figure, HEIGHT, foot, _table(view), note)


def _left_out(n: int) -> str:
    """Of paths that are not drawn, or ''."""
    if not n:
        return ""
    paths = "1 path has" if n == 1 else f"{n} paths have"
    return f" · {paths} estimates beyond a day of work for an element: not drawn, see the table"


def _partitions(view: ChainsView, context: Context) -> Component:
    now, before = "Measured now", "In force"
    if view.adopted:
        now, before = "In force from now on", "Before"
    return html.Div([_list(before, view.before), _list(now, view.fresh)], className="pw-chain-pair")


def _list(title: str, chains: list[ChainOf]) -> Component:
    items = [html.Li(_chain(chain)) for chain in chains]
    body = html.Ol(items) if items else html.P("No chains yet.", className="pw-dim")
    return html.Section([html.H3(title), body], **attrs(aria_label=title))


def _chain(chain_of: ChainOf) -> list[Component]:
    parts: list[Component] = [
        html.Span(" → ".join(chain_of.operators)),
        html.Span(f"{show(chain_of.slope, 'f3')} elements/µs", className="pw-dim"),
    ]
    return [*parts, badge("other")] if chain_of.moved else parts


_COLUMNS: Final = (
    TableColumn("Path"),
    TableColumn("Behind"),
    TableColumn("work so far", "f3", "us", "for each element that came"),
    TableColumn("left", "f3", "", "elements left of each that came"),
    TableColumn("a chain ends"),
    TableColumn("one ended before"),
)


def _table(view: ChainsView) -> Component:
    rows: list[list[CellData]] = []
    for number, path in enumerate(view.paths, start=1):
        for place, (time, size) in enumerate(path.points):
            behind = path.operators[place - 1] if place else "(arrives)"
            ends = ["yes" if place in edges else "" for edges in (path.edges, path.edges_before)]
            rows.append([str(number), behind, time, size, *ends])
    return RowTable("Progress charts", _COLUMNS, rows)


PANEL: Final = Panel(
    name="chains",
    page="/matrix",
    title="Chains",
    sql=records.matrices("progress chart"),
    build=build,
    draw=draw,
    applies=has_matrix("progress chart"),
    news=("run", "plans", "decisions"),
    beats=True,
    unit=True,
    chart="Progress charts of the paths and the chains over them",
)
