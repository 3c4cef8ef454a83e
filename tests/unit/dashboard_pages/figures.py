"""Figures put through plotly's schema, which refuses properties and values it does not know."""

from __future__ import annotations

import json
from typing import Any

import plotly
import plotly.graph_objects as go


def checked(figure: dict[str, Any]) -> go.Figure:
    """The figure as plotly's own. Raises ValueError for what plotly does not draw."""
    return go.Figure(figure)


def figures_in(component: Any) -> list[dict[str, Any]]:
    """All figures of charts in a laid-out page."""
    found: list[dict[str, Any]] = []
    plain = json.loads(json.dumps(component, cls=plotly.utils.PlotlyJSONEncoder))
    _collect(plain, found)
    return found


def _collect(node: Any, found: list[dict[str, Any]]) -> None:
    if isinstance(node, dict):
        if node.get("type") == "Chart" and node["props"]["figure"] is not None:
            found.append(node["props"]["figure"])
        for child in node.values():
            _collect(child, found)
    elif isinstance(node, list):
        for child in node:
            _collect(child, found)
