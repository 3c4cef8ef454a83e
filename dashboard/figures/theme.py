"""Colours and the plotly template of both themes: one place, so that figures read as one product.

Backgrounds are transparent: the card behind a figure decides. Red is reserved for violations and
errors; series colours stay apart for colour-blind readers, and never carry meaning alone.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple, TypeAlias

from dashboard.components.formats import THIN

Theme: TypeAlias = Literal["light", "dark"]

FONT: Final = (
    "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans', "
    "'DejaVu Sans', sans-serif"
)
#: Sizes of text, as in assets/a_tokens.css.
FINE_PX: Final = 11
BODY_PX: Final = 13
TITLE_PX: Final = 16


class Palette(NamedTuple):
    """The colours of a theme, all checked for 4.5:1 (text) or 3:1 (marks) on its card."""

    text: str
    muted: str
    grid: str
    card: str
    blue: str
    teal: str
    violet: str
    orange: str
    cyan: str
    red: str
    band: str
    absent: str
    set_bit: str
    clear_bit: str


#: The same values as in assets/a_tokens.css, which a figure's SVG cannot refer to.
PALETTES: Final[dict[str, Palette]] = {
    "light": Palette(
        text="#212529",
        muted="#5a626b",
        grid="#e9ecef",
        card="#ffffff",
        blue="#1971c2",
        teal="#087f5b",
        violet="#6741d9",
        orange="#a84300",
        cyan="#0b7285",
        red="#c92a2a",
        band="rgba(73, 80, 87, 0.12)",
        absent="#e3e6ea",
        set_bit="#3b5bdb",
        clear_bit="#e9ecef",
    ),
    "dark": Palette(
        text="#e6e8eb",
        muted="#a6abb2",
        grid="#35393f",
        card="#212326",
        blue="#4dabf7",
        teal="#4fd6a5",
        violet="#bba4ff",
        orange="#ffb067",
        cyan="#66d9e8",
        red="#ff8f8f",
        band="rgba(222, 226, 230, 0.10)",
        absent="#33373c",
        set_bit="#748ffc",
        clear_bit="#2e3237",
    ),
}


#: Lines of a figure, one after the other; ``ink`` has them.
_LINES: Final = ("blue", "teal", "violet", "orange", "cyan", "muted")
N_INKS: Final = len(_LINES)
#: Signs of marks beside their colours, of plotly and in a text; as many as no colours, so that 42
#: marks differ in one or the other.
SIGNS: Final = (
    ("circle", "●"),
    ("square", "■"),
    ("diamond", "◆"),
    ("triangle-up", "▲"),
    ("cross", "✚"),
    ("star", "★"),
    ("triangle-down", "▼"),
)


def palette(theme: str | None) -> Palette:
    """The palette of a theme; anything but 'dark' is light."""
    return PALETTES["dark" if theme == "dark" else "light"]


def ink(colours: Palette, place: int) -> str:
    """The colour of a figure's line by its place; they come again."""
    colour: str = getattr(colours, _LINES[place % len(_LINES)])
    return colour


def safe(text: str) -> str:
    """Text for plotly, which reads a little HTML: '<' must not start a tag."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def short(text: str, longest: int) -> str:
    """At most so many characters of a label, safe."""
    return safe(text if len(text) <= longest else f"{text[: longest - 1]}…")


def template(theme: str | None) -> dict[str, Any]:
    """Transparent background, hairline grid, body text, hover labels on a solid card."""
    colours = palette(theme)
    axis = _axis(colours)
    return {
        "layout": {
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "separators": f".{THIN}",
            "font": {"family": FONT, "size": BODY_PX, "color": colours.text},
            "colorway": [colours.blue, colours.teal, colours.violet, colours.orange],
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {
                "bgcolor": colours.card,
                "bordercolor": colours.muted,
                "font": {"family": FONT, "size": BODY_PX, "color": colours.text},
                "align": "left",
            },
            "hovermode": "closest",
            "showlegend": False,
            "margin": {"l": 64, "r": 16, "t": 8, "b": 32},
        }
    }


def _axis(colours: Palette) -> dict[str, Any]:
    return {
        "gridcolor": colours.grid,
        "linecolor": colours.grid,
        "zeroline": False,
        "tickfont": {"size": FINE_PX, "color": colours.muted},
        "title": {"font": {"size": FINE_PX, "color": colours.muted}},
        "automargin": False,
        # plotly measures every label to hide those past the edge: half of the time a figure takes
        "ticklabeloverflow": "allow",
    }
