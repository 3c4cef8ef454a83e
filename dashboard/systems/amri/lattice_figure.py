"""Lattices of access patterns: circles as large as they are frequent, one below what it lacks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from dashboard.components.formats import show
from dashboard.components.plain import Figure, Trace, figure, scatter
from dashboard.figures.theme import BODY_PX, FINE_PX, Palette, palette, safe, short, template
from dashboard.systems.amri.lattice_view import LatticeNode, LatticeView

#: Of a level, and of the room above and below all of them.
LEVEL_PX: Final = 74
_ROOM_PX: Final = 74
#: Lattices side by side.
_SIDE_BY_SIDE: Final = 2
_LEAST_PX, _MOST_PX = 9.0, 46.0
_FADED: Final = 0.35
_LONGEST: Final = 22


def lattice_height(views: Sequence[LatticeView]) -> int:
    """Pixels for all of them."""
    levels = max(len(view.attributes) for view in views)
    return _rows(views) * (_ROOM_PX + LEVEL_PX * levels)


def _rows(views: Sequence[LatticeView]) -> int:
    return -(-len(views) // min(_SIDE_BY_SIDE, len(views)))


def draw_lattices(views: Sequence[LatticeView], theme: str | None = None) -> Figure:
    """Each with axes of its own; on a narrow screen one below the other."""
    colours = palette(theme)
    traces, notes, axes, narrow = list[Trace](), list[dict[str, Any]](), dict[str, Any](), {}
    for place, view in enumerate(views):
        number = str(place + 1) if place else ""
        x, y = f"x{number}", f"y{number}"
        wide, alone = _domains(place, len(views)), _domains(place, len(views), 1)
        for axis, range_of, k in (("xaxis", [0, 1], 0), ("yaxis", _levels(view), 1)):
            axes[f"{axis}{number}"] = {
                "domain": wide[k], "anchor": y if k == 0 else x, "range": range_of,
                "visible": False, "fixedrange": True,
            }  # fmt: skip
            narrow[f"{axis}{number}"] = {"domain": alone[k]}
        traces += [_covers(view, x, y, colours), *_circles(view, x, y, colours)]
        notes += [_title(view, x, y, colours), *_folds(view, x, y, colours)]
    return figure(
        traces,
        template=template(theme),
        height=lattice_height(views),
        margin={"l": 8, "r": 8, "t": 4, "b": 4},
        showlegend=False,
        annotations=notes,
        uirevision="lattice",
        meta={"batch": 0, "narrow": narrow},
        **axes,
    )


def _domains(place: int, n: int, columns: int = _SIDE_BY_SIDE) -> tuple[list[float], list[float]]:
    columns = min(columns, n)
    rows = -(-n // columns)
    column, row = place % columns, place // columns
    return [column / columns, (column + 0.98) / columns], [1 - (row + 1) / rows, 1 - row / rows]


def _levels(view: LatticeView) -> list[float]:
    return [-0.45, len(view.attributes) + 0.75]


def _covers(view: LatticeView, x: str, y: str, colours: Palette) -> Trace:
    ends: list[LatticeNode | None] = []
    for above, below in view.covers:
        ends += [view.node(above), view.node(below), None]
    return scatter(
        mode="lines",
        x=[end and end.x for end in ends],
        y=[end and end.level for end in ends],
        xaxis=x,
        yaxis=y,
        line={"color": colours.muted, "width": 1},
        opacity=0.4,
        hoverinfo="skip",
    )


def _circles(view: LatticeView, x: str, y: str, colours: Palette) -> list[Trace]:
    """What may have been missed behind, then the frequency with its name."""
    nodes = view.nodes
    place: dict[str, Any] = {
        "x": [node.x for node in nodes],
        "y": [node.level for node in nodes],
        "xaxis": x,
        "yaxis": y,
    }
    missed = scatter(
        mode="markers",
        marker={
            "size": [_size(node.most) if node.most > node.share else 0 for node in nodes],
            "color": colours.blue,
            "opacity": 0.25,
            "line": {"width": 0},
        },
        hoverinfo="skip",
        **place,
    )
    counted = scatter(
        mode="markers+text",
        marker={
            "size": [_size(node.share) for node in nodes],
            "color": [colours.blue if node.most else colours.absent for node in nodes],
            "opacity": [_FADED if node.is_rare else 1.0 for node in nodes],
            "line": {
                "color": [colours.violet if n.reported else colours.muted for n in nodes],
                "width": [3 if node.reported else 0.5 for node in nodes],
            },
        },
        text=[_label(node) for node in nodes],
        textposition="middle right",
        textfont={"size": FINE_PX, "color": [_ink(node, colours) for node in nodes]},
        cliponaxis=False,
        customdata=[_said(node, view) for node in nodes],
        hovertemplate="%{customdata}<extra></extra>",
        meta={"state": view.state},
        **place,
    )
    return [missed, counted]


def _size(share: float) -> float:
    """The area grows with the share."""
    return _LEAST_PX + (_MOST_PX - _LEAST_PX) * math.sqrt(min(1.0, share))


def _ink(node: LatticeNode, colours: Palette) -> str:
    return colours.muted if node.is_rare or not node.most else colours.text


def _label(node: LatticeNode) -> str:
    name = f"  {short(node.text, _LONGEST)}"
    return f"{name} {show(node.share, 'pct')}" if node.most else name


def _title(view: LatticeView, x: str, y: str, colours: Palette) -> dict[str, Any]:
    return {
        "text": f"<b>{short(view.state, _LONGEST)}</b>",
        "font": {"size": BODY_PX, "color": colours.text},
        "x": 0, "xref": f"{x} domain", "xanchor": "left",
        "y": 1, "yref": f"{y} domain", "yanchor": "top", "showarrow": False,
    }  # fmt: skip


def _folds(view: LatticeView, x: str, y: str, colours: Palette) -> list[dict[str, Any]]:
    """An arrow from each pattern to the one it was folded into."""
    pairs = [(node, view.node(node.into)) for node in view.nodes if node.into is not None]
    return [
        {
            "x": into.x, "y": into.level, "ax": node.x, "ay": node.level,
            "xref": x, "yref": y, "axref": x, "ayref": y,
            "standoff": _size(into.share) / 2 + 2, "startstandoff": _size(node.share) / 2,
            "showarrow": True, "arrowhead": 2, "arrowwidth": 2, "arrowcolor": colours.violet,
            "text": "",
        }
        for node, into in pairs
    ]  # fmt: skip


def _said(node: LatticeNode, view: LatticeView) -> str:
    lines = [f"<b>{safe(view.state)}</b> asked by {safe(node.text)}: {frequency_words(node)}"]
    lines += [standing_words(node, view)]
    lines += [f"by {safe(route)}" for route in node.routes]
    if not node.routes and node.most:
        lines.append("by no route in force: by exploration, or by former ones")
    return "<br>".join(lines)


def frequency_words(node: LatticeNode) -> str:
    """'22.0 % to 24.0 % of the requests', with what may have been missed."""
    low, high = show(node.share, "pct"), show(node.most, "pct")
    return f"{low if low == high else f'{low} to {high}'} of the requests"


def standing_words(node: LatticeNode, view: LatticeView) -> str:
    """What became of a pattern in the last assessment."""
    if view.assessed is None:
        return "no assessment has ended yet"
    words = ["reported" if node.reported else "not reported"]
    if node.folded:
        words.append(f"folded into {node.folded}")
    if node.folded == "":
        words.append("dropped")
    return ", ".join(words)
