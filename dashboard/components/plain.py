"""Figures as the plain data that plotly draws.

plotly's own classes check every property, which takes longer than all else a page with charts does;
here nothing is checked while somebody waits: the tests put every figure through plotly's schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Trace: TypeAlias = dict[str, Any]
Figure: TypeAlias = dict[str, Any]


def figure(traces: Sequence[Trace], **layout: Any) -> Figure:
    """Traces and their layout."""
    return {"data": list(traces), "layout": layout}


def scatter(**properties: Any) -> Trace:
    """Points, lines, areas or texts."""
    return _trace("scatter", properties)


def bar(**properties: Any) -> Trace:
    """Bars."""
    return _trace("bar", properties)


def heatmap(**properties: Any) -> Trace:
    """Cells coloured by their value."""
    return _trace("heatmap", properties)


def _trace(kind: str, properties: dict[str, Any]) -> Trace:
    return {"type": kind, **{name: at for name, at in properties.items() if at is not None}}
