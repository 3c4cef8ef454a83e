"""Plain accessible tables, sorted in the browser by clicking a heading (modules/tables.js)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs
from dashboard.components.formats import Format, show
from dashboard.components.static import static_if_possible


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column. form: how numbers are written (None = text, left-aligned). unit: in the heading."""

    title: str
    form: Format | None = None
    unit: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell whose sort key differs from what is shown. attributes go on the td."""

    content: Any
    sort: float | str | None = None
    attributes: dict[str, Any] | None = None


def table(
    caption: str,
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[Any]],
    row_attributes: Sequence[dict[str, Any]] | None = None,
    total: int | None = None,
    className: str = "",
    **attributes: Any,
) -> Component:
    """A sortable table. Cells: numbers (written in the column's form), text, components or Cell.

    The first column heads its row. total: when more rows exist than are given, says so.
    """
    marks = row_attributes or [{} for _ in rows]
    head = html.Thead(html.Tr([_heading(column) for column in columns]))
    body = html.Tbody(
        [
            html.Tr([_cell(c, columns[i], i == 0) for i, c in enumerate(row)], **mark)
            for row, mark in zip(rows, marks, strict=True)
        ]
    )
    words = (
        caption if total is None or total <= len(rows) else f"{caption} · {len(rows)} of {total}"
    )
    parts = [html.Caption(words, className="pw-caption"), head, body]
    element = html.Table(parts, className=f"pw-table {className}".strip(), **attributes)
    scroll = html.Div(
        element,
        className="pw-table-scroll",
        tabIndex=0,
        role="region",
        **attrs(aria_label=caption),
    )
    return static_if_possible(scroll)


def _heading(column: TableColumn) -> Component:
    title = f"{column.title} ({column.unit})" if column.unit else column.title
    button = html.Button(title, className="pw-sort", type="button", title=column.hint)
    numeric = "pw-num" if column.form else ""
    return html.Th(button, scope="col", className=numeric, **attrs(aria_sort="none"))


def _cell(value: Any, column: TableColumn, heads: bool) -> Component:
    cell = value if isinstance(value, Cell) else Cell(value)
    key = cell.sort
    if key is None and isinstance(cell.content, int | float):
        key = cell.content
    shown = cell.content
    if shown is None or isinstance(shown, int | float):
        shown = show(shown, column.form or "text")
    extra = dict(cell.attributes or {})
    if key is not None:
        extra["data-sort"] = str(key)
    numeric = "pw-num" if column.form else ""
    classes = f"{numeric} {extra.pop('className', '')}".strip()
    if heads:
        return html.Th(shown, scope="row", className=classes, **extra)
    return html.Td(shown, className=classes, **extra)
