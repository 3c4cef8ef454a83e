"""Knob cards for any page, and the one callback that keeps all of them in step with the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dash import ALL, Dash, Output, State, callback_context, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from dashboard.base import context as contexts
from dashboard.base import ids
from dashboard.base.context import Context
from dashboard.components.drawn import KnobCard, knob_row
from dashboard.components.keys import key_input, watching
from dashboard.serving.services import Services
from dashboard.views.knobs import pending, restart_of
from storage.reader import Reader
from storage.vocabulary.records import Knob

TYPE: Final = "pw-knob"
_SECTION: Final = "pw-knob-cards"
_WATCH: Final = {"news": ("run", "knobs", "commands"), "among": ".pw-knob"}


def is_locked(services: Services, context: Context) -> str:
    """Why knobs cannot be turned at this moment, or ''."""
    return services.why_no_control or context.why_no_control


def draw_cards(
    reader: Reader,
    context: Context,
    knobs: Sequence[Knob],
    locked: str,
    place: str,
    compact: bool = False,
) -> list[Component]:
    """Cards of the knobs; place: unique on the page. Requests still open are followed."""
    waiting = pending(reader.commands(context.run_id), reader.knobs(context.run_id, context.batch))
    return [
        KnobCard(
            {"type": TYPE, "place": place, "name": knob.name, "scope": knob.scope},
            context.run_id,
            knob,
            disabled=locked,
            compact=compact,
            pending=waiting.get((knob.scope, knob.name)),
            restart=restart_of(knob, context.run),
        )
        for knob in knobs
    ]


#: Cards in front of the others.
IN_FRONT: Final = 4


def folded(cards: Sequence[Component], className: str = "") -> list[Component]:
    """The first cards, and the others behind a fold."""
    front, others = list(cards[:IN_FRONT]), list(cards[IN_FRONT:])
    shown: list[Component] = [html.Div(front, className=className)] if className else front
    if not others:
        return shown
    words = f"Expert: {len(others)} more"
    fold = [html.Summary(words), html.Div(others, className=className)]
    return [*shown, html.Details(fold, className="pw-expert")]


def stores() -> list[Component]:
    """What the cards of all pages share."""
    return watching(_SECTION, _WATCH)


def register(app: Dash, services: Services) -> None:
    """Values, versions and locks of all cards follow the moment; drafts are not touched."""
    cards = {"type": TYPE, "place": ALL, "name": ALL, "scope": ALL}

    @app.callback(
        Output(cards, "knob"),
        Output(cards, "disabled"),
        key_input(_SECTION),
        State(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _follow(key: Any, moment: dict[str, Any] | None) -> tuple[list[Any], list[str]]:
        outputs = callback_context.outputs_list[0]
        context = contexts.of(services.reader, moment)
        if not outputs or context.run is None:
            raise PreventUpdate
        rows = {
            (knob.scope, knob.name): knob_row(knob)
            for knob in services.reader.knobs(context.run_id, context.batch)
        }
        names = [(output["id"]["scope"], output["id"]["name"]) for output in outputs]
        if any(name not in rows for name in names):
            raise PreventUpdate
        return [rows[name] for name in names], [is_locked(services, context)] * len(names)
