"""The Matrix page's figures: region bitmap with hit shares, and conditional selectivities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dashboard.components.formats import show
from dashboard.components.plain import Figure, Trace, bar, figure, heatmap, scatter
from dashboard.figures.theme import BODY_PX, FINE_PX, Palette, palette, safe, short, template
from dashboard.systems.asc.matrix_view import QueryColumn, RegionsView, SelectivityView

ROW_PX: Final = 20
ROW_PX_DENSE: Final = 14
DENSE_ROWS: Final = 30
NUMBERS_UP_TO: Final = 36
SMALL_NUMBERS_FROM: Final = 26
WHITE_BELOW: Final = 0.47
CELLS_END: Final = 0.86
LEGEND_PX: Final = 44
MAX_LABEL: Final = 24
HOVER_TEXT: Final = 110


#: On a phone a finger scrolls a matrix instead of zooming it (modules/chart.js).
_SCROLLED: Final = {
    "narrow": {"dragmode": False, "xaxis": {"fixedrange": True}, "yaxis": {"fixedrange": True}}
}


def draw_regions(view: RegionsView, theme: str | None = None) -> Figure:
    """Bitmap (regions down, queries across) with the regions' hit shares as an aligned bar column.

    A filled cell: values of the region do not refute the query. Hover: region, query, bit, share.
    """
    colours = palette(theme)
    rows = list(range(len(view.regions)))
    columns = list(range(len(view.queries)))
    cells = heatmap(
        x=columns,
        y=rows,
        z=view.bits,
        zmin=0,
        zmax=1,
        colorscale=[[0, colours.clear_bit], [1, colours.set_bit]],
        showscale=False,
        xgap=1,
        ygap=1,
        customdata=_bit_hovers(view),
        hovertemplate="%{customdata}<extra></extra>",
    )
    hovers = [_region_hover(view, row) for row in rows]
    traces = [cells, _bars(view.hit_prob, hovers, colours)]
    return figure(
        traces,
        template=template(theme),
        height=regions_height(view),
        margin={"l": _left(view.regions), "r": 12, "t": _top(view.queries), "b": 12},
        xaxis={**_query_axis(view.queries), "domain": [0, CELLS_END]},
        xaxis2=_bar_axis(view.hit_prob, f"hit share (n = {show(view.n, 'int')})"),
        yaxis=_row_axis(view.regions),
        uirevision=f"regions:{view.attribute}",
        meta=_SCROLLED,
        bargap=0.25,
    )


def draw_selectivity(
    view: SelectivityView, theme: str | None = None, chosen: str | None = None
) -> Figure:
    """Conditional selectivity, constructs in plan order; grey where a query has no such attribute.

    chosen: the construct whose bitmap is shown beside it; outlined.
    """
    colours = palette(theme)
    rows = list(range(len(view.attributes)))
    columns = list(range(len(view.queries)))
    axes: dict[str, Any] = {"x": columns, "y": rows, "xgap": 1, "ygap": 1}
    absent = heatmap(
        z=[[0 if value is None else None for value in row] for row in view.values],
        colorscale=[[0, colours.absent], [1, colours.absent]],
        showscale=False,
        customdata=_absent_hovers(view),
        hovertemplate="%{customdata}<extra></extra>",
        hoverongaps=False,
        **axes,
    )
    traces = [absent, _selectivity_cells(view, colours, axes), _numbers(view)]
    bars = any(share is not None for share in view.drop_prob)
    if bars:
        traces.append(_bars(view.drop_prob, _drop_hovers(view), colours))
    return figure(
        traces,
        template=template(theme),
        height=selectivity_height(view),
        margin={"l": _left(_numbered(view)), "r": 12, "t": _top(view.queries), "b": LEGEND_PX},
        xaxis={**_query_axis(view.queries), "domain": [0, CELLS_END if bars else 1]},
        xaxis2=_bar_axis(view.drop_prob, "drop probability"),
        bargap=0.3,
        yaxis=_row_axis(_numbered(view)),
        shapes=_outline(view, chosen, colours),
        uirevision="selectivity",
        meta=_SCROLLED,
    )


def regions_height(view: RegionsView) -> int:
    """Pixels the bitmap needs so that every region keeps its label."""
    return _height(len(view.regions), _top(view.queries))


def selectivity_height(view: SelectivityView) -> int:
    """Pixels the selectivity matrix needs."""
    return _height(len(view.attributes), _top(view.queries), 23) + LEGEND_PX - 12


def _selectivity_cells(view: SelectivityView, colours: Palette, axes: dict[str, Any]) -> Trace:
    return heatmap(
        z=view.values,
        zmin=0,
        zmax=1,
        colorscale="Cividis",
        customdata=_selectivity_hovers(view),
        hovertemplate="%{customdata}<extra></extra>",
        hoverongaps=False,
        colorbar=_legend(colours),
        **axes,
    )


def _numbers(view: SelectivityView) -> Trace:
    """The numbers in the cells, black or white by what reads best; none when cells are narrow."""
    tight = len(view.queries) >= SMALL_NUMBERS_FROM
    cells = [
        (column, row, value)
        for row, values in enumerate(view.values)
        for column, value in enumerate(values)
        if value is not None and len(view.queries) <= NUMBERS_UP_TO
    ]
    return scatter(
        x=[cell[0] for cell in cells],
        y=[cell[1] for cell in cells],
        mode="text",
        text=[_short_number(cell[2], tight) for cell in cells],
        textfont={
            "size": FINE_PX if tight else BODY_PX,
            "color": ["#ffffff" if cell[2] < WHITE_BELOW else "#101113" for cell in cells],
        },
        hoverinfo="skip",
    )


def _legend(colours: Palette) -> dict[str, Any]:
    """The colour scale, lying under the cells."""
    return {
        "orientation": "h",
        "thickness": 8,
        "lenmode": "pixels",
        "len": 170,
        "x": 0,
        "xanchor": "left",
        "y": 0,
        "yanchor": "top",
        "ypad": 10,
        "outlinewidth": 0,
        "tickvals": [0, 0.5, 1],
        "ticktext": ["0: refutes all", "0.5", "1: refutes none"],
        "tickfont": {"size": FINE_PX, "color": colours.muted},
    }


def _bars(shares: Sequence[float | None], hovers: list[str], colours: Palette) -> Trace:
    return bar(
        x=list(shares),
        y=list(range(len(shares))),
        orientation="h",
        xaxis="x2",
        marker={"color": colours.teal},
        text=[show(share, "pct") for share in shares],
        textposition="outside",
        textfont={"size": FINE_PX, "color": colours.text},
        cliponaxis=False,
        customdata=hovers,
        hovertemplate="%{customdata}<extra></extra>",
    )


def _query_axis(queries: Sequence[QueryColumn]) -> dict[str, Any]:
    return {
        "side": "top",
        "tickmode": "array",
        "tickvals": list(range(len(queries))),
        "ticktext": [short(query.name, MAX_LABEL) for query in queries],
        "tickangle": _angle(queries),
        "showgrid": False,
        "range": [-0.5, len(queries) - 0.5],
        "ticks": "",
        "ticklabelstandoff": 5,
    }


def _row_axis(labels: Sequence[str]) -> dict[str, Any]:
    dense = len(labels) > DENSE_ROWS
    return {
        "tickmode": "array",
        "tickvals": list(range(len(labels))),
        "ticktext": [short(label, 34) for label in labels],
        "tickfont": {"size": FINE_PX if dense else BODY_PX},
        "showgrid": False,
        "range": [len(labels) - 0.5, -0.5],
        "ticks": "",
        "ticklabelstandoff": 5,
    }


def _bar_axis(shares: Sequence[float | None], title: str) -> dict[str, Any]:
    top = max((share for share in shares if share is not None), default=0.0) or 1.0
    return {
        "domain": [CELLS_END + 0.015, 1],
        "anchor": "y",
        "range": [0, top * 1.55],
        "side": "top",
        "showgrid": False,
        "showticklabels": False,
        "fixedrange": True,
        "title": {"text": title, "standoff": 4},
    }


def _bit_hovers(view: RegionsView) -> list[list[str]]:
    return [
        [
            f"<b>{_region_hover(view, row)}</b><br>{_query_hover(query)}<br>{_bit_word(bit)}"
            for query, bit in zip(view.queries, bits, strict=True)
        ]
        for row, bits in enumerate(view.bits)
    ]


def _region_hover(view: RegionsView, row: int) -> str:
    share = show(view.hit_prob[row], "pct")
    region = f"{safe(view.attribute)} {safe(view.regions[row])}"
    return f"{region} · hit by {share} of n = {show(view.n, 'int')} sampled tuples"


def _bit_word(bit: int | None) -> str:
    if bit is None:
        return "bit unknown"
    return "bit 1: still possible here" if bit else "bit 0: refuted here"


def _selectivity_hovers(view: SelectivityView) -> list[list[str]]:
    return [
        [
            f"<b>{safe(name)} for {safe(query.name)}: {show(value, 'f3')}</b><br>"
            f"{_query_hover(query)}<br>P(not refuted here | not refuted by the constructs before)"
            f" · n = {show(view.n, 'int')} sampled tuples"
            for query, value in zip(view.queries, values, strict=True)
        ]
        for name, values in zip(view.attributes, view.values, strict=True)
    ]


def _absent_hovers(view: SelectivityView) -> list[list[str]]:
    return [
        [f"{_why_absent(name, query)}<br>{_query_hover(query)}" for query in view.queries]
        for name in view.attributes
    ]


def _why_absent(attribute: str, query: QueryColumn) -> str:
    if attribute in query.attributes:
        return f"{safe(query.name)} at {safe(attribute)}: no sampled tuple got that far"
    return f"{safe(query.name)} does not use {safe(attribute)}"


def _drop_hovers(view: SelectivityView) -> list[str]:
    return [
        f"{safe(name)} drops {show(share, 'pct')} of the sampled tuples that reach it"
        f" · n = {show(view.n, 'int')}"
        for name, share in zip(view.attributes, view.drop_prob, strict=True)
    ]


def _query_hover(query: QueryColumn) -> str:
    text = query.text or query.name
    text = text if len(text) <= HOVER_TEXT else text[: HOVER_TEXT - 1] + "…"
    return f"{safe(query.name)}: {safe(text)}" if query.text else safe(query.name)


def _short_number(value: float, tight: bool) -> str:
    if not tight:
        return f"{value:.2f}"
    text = f"{value:.2f}"
    return "1" if text == "1.00" else "0" if text == "0.00" else text[1:]


def _outline(view: SelectivityView, chosen: str | None, colours: Palette) -> list[dict[str, Any]]:
    if chosen not in view.attributes:
        return []
    row = view.attributes.index(chosen)
    corners = {"x0": -0.5, "x1": len(view.queries) - 0.5, "y0": row - 0.5, "y1": row + 0.5}
    return [{"type": "rect", **corners, "line": {"color": colours.blue, "width": 2}}]


def _numbered(view: SelectivityView) -> list[str]:
    return [f"{place}. {name}" for place, name in enumerate(view.attributes, start=1)]


def _angle(queries: Sequence[QueryColumn]) -> int:
    longest = max((len(query.name) for query in queries), default=0)
    return 0 if longest * len(queries) <= 110 else -60 if len(queries) <= 24 else -90


def _top(queries: Sequence[QueryColumn]) -> int:
    longest = min(max((len(query.name) for query in queries), default=0), MAX_LABEL)
    return {0: 30, -60: 24 + int(longest * 5.6), -90: 18 + int(longest * 6.0)}[_angle(queries)]


def _left(labels: Sequence[str]) -> int:
    longest = max((len(label) for label in labels), default=0)
    return 20 + int(min(longest, 34) * 6.6)


def _height(n_rows: int, top: int, row_px: int = ROW_PX) -> int:
    pitch = row_px if n_rows <= DENSE_ROWS else ROW_PX_DENSE
    return max(120, top + 12 + n_rows * pitch)
