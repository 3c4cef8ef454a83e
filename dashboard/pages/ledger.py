"""The regret ledger on the Timeline page: what adapting saved or lost."""

from __future__ import annotations

from typing import Any, Final

from dash import Dash, Input, Output, State, html
from dash.development.base_component import Component

from dashboard import context as contexts
from dashboard import ids
from dashboard.components.badges import badge
from dashboard.components.charts import chart
from dashboard.components.formats import clock, show
from dashboard.components.panels import twinned
from dashboard.components.tables import Column
from dashboard.context import Context
from dashboard.figures.regret import HEIGHT, draw_regret
from dashboard.pages.parts import part, part_output, part_tree
from dashboard.pages.rows import CellData, RowTable, jump_to
from dashboard.services import Services
from dashboard.views.regret import LINES, PROPERTIES, RegretView, build_regret

BOX: Final = "pw-ledger-box"
GRAPH: Final = "pw-ledger-graph"
NOTE: Final = "pw-ledger-note"
TABLE: Final = "pw-ledger-table"
MAX_POINTS: Final = 1000
MAX_ROWS: Final = 200
LABEL: Final = "Visits per tuple of four orders over time, and the visits saved since the run began"


def build(context: Context, services: Services) -> RegretView:
    """The ledger; while frozen, only what was known at the frozen moment."""
    until = context.batch if context.mode == "frozen" else None
    keys = [("system", name) for name in PROPERTIES]
    found = services.reader.many_series(
        context.run_id, keys, until_batch=until, max_points=MAX_POINTS
    )
    return build_regret({name: series for (_, name), series in found.items()})


def layout() -> Component:
    """The frame, hidden until a run has a ledger."""
    figure = chart(GRAPH, LABEL, height=HEIGHT)
    panel = twinned("Regret ledger", figure, part(TABLE, ""), note=part(NOTE, ""))
    return html.Div(panel, id=BOX, hidden=True, className="pw-box")


def register(app: Dash, services: Services, key: str) -> None:
    """Redraw with the store ``key`` of the page."""

    @app.callback(
        Output(BOX, "hidden"),
        Output(GRAPH, "figure"),
        part_output(NOTE),
        part_output(TABLE),
        Input(key, "data"),
        Input(ids.THEME, "data"),
        State(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _draw(key: Any, theme: str | None, moment: dict[str, Any] | None) -> tuple[Any, ...]:
        found = contexts.of(services.reader, moment)
        view = build(found, services)
        note, numbers = part_tree(NOTE, _note(view)), part_tree(TABLE, _table(view, found))
        return not view.rows, draw_regret(view, theme), note, numbers


def _note(view: RegretView) -> list[Any]:
    if not view.rows:
        return []
    words: list[Any] = [badge(view.verdict, view.tone)]
    if view.gap is not None:
        words.append(
            f" running order {show(view.gap, 'pct')} above the best fixed order in hindsight"
        )
    return [*words, " · estimated on the sampled tuples"]


def _table(view: RegretView, context: Context) -> Component:
    columns = (
        Column("Batch", "int"),
        Column("Time", "text", "UTC"),
        *(Column(words.capitalize(), "f3", "visits/tuple") for words in LINES.values()),
        Column("Saved", "si", "visits", "against the first order, since the run began"),
        Column("95 % from", "si", "visits"),
        Column("95 % to", "si", "visits"),
    )
    entries = view.entries
    rows: list[list[CellData]] = [
        [
            {"text": row.batch, "jump": jump_to(context, at=row.batch)},
            {"text": clock(row.time), "sort": row.time},
            *(row.costs[name] for name in LINES),
            row.saved,
            row.low,
            row.high,
        ]
        for row in reversed(entries[-MAX_ROWS:])
    ]
    words = "Entries of the ledger, newest first; costs are estimates on the sampled tuples"
    return RowTable(words, columns, rows, total=len(entries))
