"""Buttons that pause, resume and remove a stream; modules/streams.js turns its knob ``intake``."""

from __future__ import annotations

from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs

#: Value of the knob -> what the button that sets it says.
_WORDS: Final = {"on": "Resume", "paused": "Pause", "removed": "Remove"}
#: Value in force -> values offered.
_OFFERED: Final = {"on": ("paused", "removed"), "paused": ("on", "removed"), "removed": ("on",)}


def intake_buttons(stream: str, scope: str, intake: str, locked: str) -> list[Component]:
    """What can be done with a stream. scope: of its knob. intake: the knob's value, one of on,
    paused, removed. locked: why nothing can be changed now, or ''."""
    return [
        html.Button(
            _WORDS[value],
            type="button",
            className="pw-button",
            disabled=bool(locked),
            title=locked or f"Asks the engine to {_WORDS[value].lower()} {stream}",
            **attrs(data_intake=value, data_intake_was=intake),
            **attrs(data_intake_of=scope, data_stream=stream),
        )
        for value in _OFFERED[intake]
    ]
