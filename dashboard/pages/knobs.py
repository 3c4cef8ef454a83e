"""The Knobs page: every knob of the run as a card, and the audit log of all requests."""

from __future__ import annotations

import json
from typing import Any, Final

from dash import Dash, Input, Output, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from dashboard import context as contexts
from dashboard import ids
from dashboard.components.attributes import attrs
from dashboard.components.badges import state_badge
from dashboard.components.formats import stamp
from dashboard.components.links import jump
from dashboard.components.panels import panel
from dashboard.components.states import empty
from dashboard.components.tables import Cell, Column, table
from dashboard.context import Context
from dashboard.pages import knob_cards
from dashboard.pages.contract import Page
from dashboard.services import Services
from dashboard.views.knobs import AuditRow, audit, group_knobs

AUDIT: Final = "knobs-audit"
NOTICE: Final = "knobs-notice"
_MOST_COMMANDS: Final = 500
_ICON: Final = "M4 6h9M17 6h3M4 12h3M11 12h9M4 18h11M19 18h1M13 4v4M7 10v4M15 16v4"


def layout(context: Context, services: Services) -> Component:
    """The page; without a run it says so."""
    if context.run is None:
        return empty("No run yet", "Knobs belong to a run; there is none in this store.")
    reader = services.reader
    knobs = reader.knobs(context.run_id, context.batch)
    entities = {entity.id: entity for entity in reader.entities(context.run_id, context.batch)}
    locked = knob_cards.is_locked(services, context)
    groups: list[Component] = [
        html.Section(
            [
                html.H2(group.title, className="pw-group-title"),
                html.Div(
                    knob_cards.draw_cards(reader, context, group.knobs, locked, "page"),
                    className="pw-knobs",
                ),
            ]
        )
        for group in group_knobs(knobs, entities)
    ]
    body = groups or [empty("No knobs", "This run published no knobs.")]
    log = panel("Audit log", html.Div(_audit(services, context), id=AUDIT), note=_AUDIT_NOTE)
    return html.Div([html.Div(_notice(locked), id=NOTICE), *body, log], className="pw-page")


_AUDIT_NOTE: Final = "every request, whoever made it; the engine alone says what was applied"


def register(app: Dash, services: Services) -> None:
    """Cards, lock notice and audit log follow the moment."""
    knob_cards.register(app, services)

    @app.callback(
        Output(AUDIT, "children"),
        Output(NOTICE, "children"),
        Input(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _follow(moment: dict[str, Any] | None) -> tuple[Component, Any]:
        context = contexts.of(services.reader, moment)
        if context.run is None:
            raise PreventUpdate
        return _audit(services, context), _notice(knob_cards.is_locked(services, context))


def _notice(locked: str) -> Any:
    return html.Div(["Read only. ", locked], className="pw-notice") if locked else None


_COLUMNS: Final = (
    Column("#", "int"),
    Column("When", hint="UTC"),
    Column("Who"),
    Column("What"),
    Column("From"),
    Column("To"),
    Column("Why"),
    Column("Outcome"),
    Column("Revert"),
)


def _audit(services: Services, context: Context) -> Component:
    reader, run = services.reader, context.run_id
    commands = reader.commands(run, limit=_MOST_COMMANDS)
    until = None
    if context.moment.at is not None and context.batch is not None:
        batch = reader.batch(run, context.batch)
        until = batch.time if batch else None
    rows = audit(run, commands, reader.knobs(run, context.batch), until)
    if not rows:
        return empty("Nothing was changed so far", "Requests appear here as soon as they are made.")
    locked = knob_cards.is_locked(services, context)
    cells = [_audit_cells(context, row, locked) for row in rows]
    count = f"{len(rows)} request{'' if len(rows) == 1 else 's'}, newest first"
    return table(count, _COLUMNS, cells)


def _audit_cells(context: Context, row: AuditRow, locked: str) -> list[Any]:
    outcome: list[Any] = [state_badge(row.state), " "]
    if row.batch is not None:
        outcome.append(jump(context, f"at batch {row.batch}", at=row.batch))
    elif row.state == "refused":
        outcome.append(row.outcome.removeprefix("refused: "))
    else:
        outcome.append(row.outcome)
    return [
        row.id,
        Cell(stamp(row.requested_at), sort=row.requested_at),
        row.actor,
        html.Code(row.what),
        row.old,
        row.new,
        row.reason,
        Cell(outcome, sort=row.state),
        "" if row.revert is None else _revert_button(row.revert, locked),
    ]


def _revert_button(revert: dict[str, Any], locked: str) -> Component:
    return html.Button(
        f"Back to {revert['value']}",
        type="button",
        className="pw-button",
        disabled=bool(locked),
        title=locked or f"Request {revert['knob']} = {revert['value']} again",
        **attrs(data_pw_revert=json.dumps(revert)),
    )


PAGE: Final = Page("/knobs", "Knobs", "Knobs", _ICON, "k", layout, register)
