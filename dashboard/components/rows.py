"""Tables and lists as one component each, drawn by modules/page_table.js.

Every Dash component costs the browser a subscription to the renderer's store, so a table of a
thousand cells built of ``html.Td`` takes seconds to appear; as plain data it takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.drawn import NAMESPACE, Drawn
from dashboard.components.formats import UNKNOWN, Format, clock
from dashboard.components.links import moved
from dashboard.components.static import tree_of

CellData: TypeAlias = float | int | str | Mapping[str, Any] | None
"""A cell. An object has: text (written in the column's form), sort (key, else text), title
(tooltip), mark (class), jump (see :func:`jump_to`), badges [[text, tone]], bar (0..1), sub (second
line), parts [[text, class]], code (True: fixed width), form (instead of the column's), live (see
:func:`live`), tree (see :func:`drawn`), span (columns it takes)."""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column. form: how numbers are written (None = text, left-aligned). unit: in the heading."""

    title: str
    form: Format | None = None
    unit: str = ""
    hint: str = ""


#: The first columns of a table of moments, see :func:`when`.
WHEN: Final = (TableColumn("Batch", "int"), TableColumn("Time", "text", "UTC"))


class RowTable(Drawn):
    """A table of plain data, sorted by a click on a heading. The first column heads its row.

    rows: cells by row. keys: what makes a row the same row after an update (default: its place).
    attributes: of each tr. total: when more rows exist than are given, the caption says so.
    """

    _namespace = NAMESPACE
    _type = "RowTable"
    _names = ("id", "caption", "columns", "rows", "total", "className")

    def __init__(
        self,
        caption: str,
        columns: Sequence[TableColumn],
        rows: Sequence[Sequence[CellData]],
        keys: Sequence[str | int] | None = None,
        attributes: Sequence[Mapping[str, Any]] | None = None,
        total: int | None = None,
        className: str = "",
        id: str | None = None,
    ) -> None:
        places = range(len(rows))
        data = [
            {
                "key": str(keys[i] if keys else i),
                "cells": list(rows[i]),
                "attributes": dict(attributes[i]) if attributes else {},
            }
            for i in places
        ]
        given: dict[str, Any] = {"id": id} if id else {}
        super().__init__(
            caption=caption,
            columns=[asdict(column) for column in columns],
            rows=data,
            total=total if total is not None else len(rows),
            className=className,
            **given,
        )


class DecisionLinks(Drawn):
    """The list of evaluations: one link each, with sign, verdict, test and place."""

    _namespace = NAMESPACE
    _type = "DecisionList"
    _names = ("id", "label", "items")

    def __init__(self, label: str, items: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(label=label, items=[dict(item) for item in items])


def jump_to(
    context: Context,
    path: str | None = None,
    at: int | str | None = None,
    node: str | None = None,
    run: str | None = None,
    unit: str | None = None,
    show: str | None = None,
) -> dict[str, Any]:
    """The ``jump`` of a cell: a link that moves the moment, as dashboard.components.links.jump."""
    changes = moved(at, node, unit)
    if show is not None:
        changes["show"] = show or None
    if run is not None:
        changes |= {"run": run, "at": None, "frozen": False, "node": None, "unit": ""}
    given = {"path": path, "at": at, "node": node, "run": run, "unit": unit, "show": show}
    target = {key: str(value) for key, value in given.items() if value is not None}
    return {"href": context.href(path or "", **changes) or "?", **target}


def when(context: Context, batch: int, time: float | None) -> tuple[CellData, CellData]:
    """The first cells of a moment: its batch, which the page goes to, and its time (Unix s)."""
    return {"text": batch, "jump": jump_to(context, at=batch)}, {"text": clock(time), "sort": time}


def known(value: float | int | None, reason: str) -> CellData:
    """The number, or a dash that says why there is none."""
    return {"text": UNKNOWN, "title": reason, "sort": None} if value is None else value


def live(entity: str, property_name: str, value: float | None, form: Format) -> dict[str, Any]:
    """A cell whose number follows the stream while LIVE."""
    return {"text": value, "form": form, "live": [entity, property_name]}


def drawn(component: Component, sort: float | str | None = None) -> dict[str, Any]:
    """A cell of any html, see dashboard.components.static.tree_of. sort: its key."""
    return {"tree": tree_of(component), "sort": sort}
