"""The eddy as a hub on the Plan page: its states around it, the routes in force as ribbons."""

from __future__ import annotations

from typing import Final, NamedTuple

from dash import html

from dashboard.base.context import Context
from dashboard.components.drawn import PanelDrawing
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.panels.facts import newest_matrices
from dashboard.systems.amri.hub_view import HubView, build_hub, sent
from dashboard.systems.amri.routes import route_table
from dashboard.systems.amri.routes_view import ROUTES, RoutesView, build_routes
from storage.reader import Reader

DRAWING: Final = "pw-eddy-hub-drawing"
NOTE: Final = "a ribbon for each origin's route in force, as wide as what goes that step"


class EddyHub(PanelDrawing):
    """Eddies with their states around them (eddy_hub.js); drawing: a list of hub_view.sent."""

    _type = "EddyHub"


class Hubs(NamedTuple):
    """The eddies of a unit, and their routes as the table has them."""

    hubs: list[HubView]
    routes: list[RoutesView]


def build(reader: Reader, context: Context, scope: PanelScope) -> Hubs | None:
    """The eddies of the unit as of the moment."""
    matrices = newest_matrices(reader, context.run_id, ROUTES, context.batch, scope)
    return Hubs([*map(build_hub, matrices)], [*map(build_routes, matrices)]) if matrices else None


def draw(eddies: Hubs, sheet: Sheet) -> Drawing:
    """The hubs; the table twin: the routes with price, share and alternatives."""
    return Drawing(
        table=html.Div([route_table(eddy) for eddy in eddies.routes]),
        note=NOTE,
        sets=(sheet.context.run_id, [sent(hub) for hub in eddies.hubs], sheet.locked),
    )


PANEL: Final = Panel(
    name="eddy-hub",
    page="/plan",
    title="Eddy",
    sql=records.matrices(ROUTES),
    build=build,
    draw=draw,
    applies=has_matrix(ROUTES),
    news=("run", "plans", "matrices", "decisions"),
    beats=True,
    unit=True,
    draws=True,
    controls=lambda context, services: [EddyHub(DRAWING)],
    sets=EddyHub.filled(DRAWING),
)
