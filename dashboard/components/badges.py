"""Small labelled marks. Colour never stands alone: each carries its word or glyph."""

from __future__ import annotations

from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs

GLYPHS: Final = {
    "rearrangement": ("▲", "Rearrangement", "switch"),
    "held back": ("○", "Held back", "quiet"),
    "knob": ("◆", "Knob change", "knob"),
    "algorithm": ("◆", "Another algorithm", "knob"),
    "query": ("⚑", "Query change", "query"),
    "change": ("≈", "Stream changed", "query"),
    "misfit": ("✖", "Misfits", "warning"),
    "input": ("✖", "Input failed or ended", "error"),
    "run": ("●", "Run", "quiet"),
}
"""Event kind -> (glyph, word, tone)."""

_STATES: Final = {
    "starting": "warning",
    "running": "ok",
    "ended": "quiet",
    "interrupted": "warning",
    "failed": "error",
    "requested": "warning",
    "applied": "ok",
    "refused": "error",
    "active": "ok",
    "paused": "quiet",
    "contradictory": "warning",
    "switched": "switch",
    "kept": "ok",
    "below_threshold": "quiet",
    "cooldown": "quiet",
    "thin": "warning",
    "pinned": "quiet",
}


def badge(text: str, tone: str = "quiet", **attributes: Any) -> Component:
    """A pill. tone: ok | warning | error | quiet | info | switch | knob | query."""
    return html.Span(text, className=f"pw-badge pw-tone-{tone}", **attributes)


def state_badge(state: str) -> Component:
    """The pill of a run state, command state, query state or decision verdict."""
    return badge(state.replace("_", " "), _STATES.get(state, "quiet"), **attrs(data_state=state))


def glyph(kind: str) -> Component:
    """The sign of an event kind, as on the strip, with its word for screen readers."""
    sign, word, tone = GLYPHS.get(kind, ("●", kind, "quiet"))
    return html.Span(
        [html.Span(sign, **attrs(aria_hidden=True)), html.Span(word, className="pw-sr")],
        className=f"pw-glyph pw-ink-{tone}",
        title=word,
    )
