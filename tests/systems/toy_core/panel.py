"""How often each wheel turned: records to a view, the view to a figure and to the wheels below."""

from __future__ import annotations

from typing import Final, NamedTuple

from dash import html

from dashboard.base.context import Context
from dashboard.components.drawn import NAMESPACE, Drawn
from dashboard.components.plain import Figure, figure
from dashboard.components.rows import RowTable, TableColumn
from dashboard.figures.theme import ink, palette, safe, template
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.views.book import Book
from storage.reader import Reader
from storage.vocabulary.records import Matrix

PAGE: Final = "/turning"
HEIGHT: Final = 180


class TurnsView(NamedTuple):
    """names: of the wheels. turns: of each, since the run began."""

    names: list[str]
    turns: list[float]


class TurningWheel(Drawn):
    """A wheel as it stands after so many turns (wheel.js)."""

    _namespace = NAMESPACE
    _type = "TurningWheel"
    _names = ("name", "turns")

    def __init__(self, name: str, turns: float) -> None:
        super().__init__(name=name, turns=turns)


def view_of(matrix: Matrix, book: Book) -> TurnsView:
    """The wheels by name."""
    return TurnsView([book.name(id) for id in matrix.rows], [row[0] for row in matrix.values])


def draw_turns(view: TurnsView, theme: str | None = None) -> Figure:
    """A bar each."""
    colours = palette(theme)
    bars = {"type": "bar", "x": [safe(name) for name in view.names], "y": view.turns}
    return figure(
        [{**bars, "marker": {"color": ink(colours, 0)}}],
        template=template(theme),
        height=HEIGHT,
        uirevision="turns",
    )


def build(reader: Reader, context: Context, scope: PanelScope) -> TurnsView | None:
    """The wheels at the moment."""
    found = reader.matrix(context.run_id, "turns", context.batch, scope.only)
    if found is None:
        return None
    return view_of(found.matrix, Book(reader.entities(context.run_id, context.batch)))


def draw(view: TurnsView, sheet: Sheet) -> Drawing:
    """Wheels, bars, and their numbers."""
    pairs = list(zip(view.names, view.turns, strict=True))
    columns = (TableColumn("wheel"), TableColumn("turns", "int"))
    return Drawing(
        html.Div([TurningWheel(name, n) for name, n in pairs], className="pw-wheels"),
        figure=draw_turns(view, sheet.theme),
        height=HEIGHT,
        table=RowTable("Turns of each wheel", columns, [[name, n] for name, n in pairs]),
    )


PANEL: Final = Panel(
    name="turns",
    page=PAGE,
    title="Turns of the orders",
    build=build,
    draw=draw,
    applies=has_role("wheel"),
    news=("run", "plans", "matrices"),
    beats=True,
    unit=True,
    chart="Turns of each wheel",
    knobs=("turn_every",),
    knobs_title="Turn more often",
)
