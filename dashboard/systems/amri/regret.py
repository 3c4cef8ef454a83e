"""What tuning came to, on the Index page: three bars for each state, and a sentence."""

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
from dashboard.systems.amri.bits import PAGE
from dashboard.systems.amri.bits_view import STATE
from dashboard.systems.amri.regret_view import StateRegret, build_regret, in_all, regret_words
from dashboard.views.book import Book
from storage.reader import Reader

NOTE: Final = (
    "counted work of searches and migrations, until the last assessment; the best ones are modelled"
)
#: Of StateRegret -> its words.
BARS: Final = {
    "spent": "spent",
    "fixed": "best fixed bits",
    "sequence": "best sequence of bits",
}


def build(reader: Reader, context: Context, scope: PanelScope) -> list[StateRegret] | None:
    """The states of the unit as of the moment."""
    run, at = context.run_id, context.batch
    return build_regret(Book(reader.entities(run, at), scope.unit), reader.values(run, at)) or None


def draw(states: list[StateRegret], sheet: Sheet) -> Drawing:
    """A sentence and the bars; the table twin: one row for a state."""
    most = max(max(state.spent, state.fixed, state.sequence) for state in states)
    rows = [_state(state, most) for state in states]
    body = [html.P(regret_words(states), className="pw-regret-words"), html.Ul(rows)]
    return Drawing(
        static(html.Div(body, className="pw-bits-regret")), table=_table(states), note=NOTE
    )


def _state(regret: StateRegret, most: float) -> Component:
    texts = {words: show(getattr(regret, name), "si") for name, words in BARS.items()}
    bars = [
        html.Li(
            [
                html.Span(words, className="pw-regret-name"),
                html.I(
                    className=f"pw-regret-bar pw-regret-{name}",
                    style={"width": f"{100 * getattr(regret, name) / most if most else 0:.2f}%"},
                ),
                html.Span(texts[words]),
            ]
        )
        for name, words in BARS.items()
    ]
    label = f"{regret.name}: " + ", ".join(f"{words} {n}" for words, n in texts.items())
    return html.Li([html.B(regret.name), html.Ul(bars, **attrs(aria_label=label))])


_COLUMNS: Final = (
    TableColumn("State"),
    TableColumn("Spent", "si", "cost"),
    TableColumn("Best fixed bits", "si", "cost", "the best that never change, in hindsight"),
    TableColumn("Above it", "pct"),
    TableColumn("Best sequence", "si", "cost", "of bits, migrations paid, in hindsight"),
    TableColumn("Above it", "pct"),
)


def _table(states: list[StateRegret]) -> Component:
    rows: list[list[CellData]] = [
        [row.name, row.spent, row.fixed, row.over_fixed, row.sequence, row.over_sequence]
        for row in (*states, in_all(states)._replace(name="all states"))
    ]
    return RowTable("What tuning came to until the last assessment", _COLUMNS, rows)


PANEL: Final = Panel(
    name="bit-regret",
    page=PAGE,
    title="What tuning came to",
    sql=records.samples(STATE),
    build=build,
    draw=draw,
    applies=has_role(STATE),
    values=True,
    news=("run", "plans", "decisions"),
    beats=True,
    unit=True,
)
