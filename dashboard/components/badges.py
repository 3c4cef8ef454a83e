"""Small labelled marks. Colour never stands alone: each carries its word or glyph."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs
from dashboard.components.kinds import event_kind, tone_of


def badge(text: str, tone: str = "quiet", **attributes: Any) -> Component:
    """A pill. tone: ok | warning | error | quiet | info | switch | knob | query."""
    return html.Span(text, className=f"pw-badge pw-tone-{tone}", **attributes)


def state_badge(state: str) -> Component:
    """The pill of a run state, command state, query state or decision verdict."""
    return badge(state.replace("_", " "), tone_of(state), **attrs(data_state=state))


def glyph(kind: str) -> Component:
    """The sign of an event kind, as on the strip, with its word for screen readers."""
    known_as = event_kind(kind)
    return html.Span(
        [
            html.Span(known_as.sign, **attrs(aria_hidden=True)),
            html.Span(known_as.word, className="pw-sr"),
        ],
        className=f"pw-glyph pw-ink-{known_as.tone}",
        title=known_as.word,
    )
