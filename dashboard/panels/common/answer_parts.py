"""The answer of a query: its course, the relation at the moment, its last tuples with signs."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from dashboard.components.drawn import HistoryChart
from dashboard.components.formats import instant, show
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.views.answers import AnswerView, RelationView, told_columns
from dashboard.views.results import TuplesView
from storage.vocabulary.relations import MOST_ROWS

CHART: Final = "pw-query-course"
_TITLES: Final = {"answer_tuples": "changes per batch", "matched_tuples": "matches per batch"}
_PLUS: Final[CellData] = {"text": "+", "mark": "pw-sign-plus", "title": "came", "sort": 1}
_MINUS: Final[CellData] = {"text": "−", "mark": "pw-sign-minus", "title": "went", "sort": -1}


def draw_answer(view: AnswerView, intervals: Sequence[str] = ()) -> list[Component]:
    """A chart of the changes, and what is in the relation. intervals: columns that are estimates,
    told with the ends behind them."""
    parts: list[Component] = []
    if view.points:
        title = _TITLES[view.property]
        parts.append(
            HistoryChart(
                CHART, title, view.entity, view.property, view.points, "tuples", "int", height=64
            )
        )
    return [*parts, *([] if view.relation is None else [_relation(view.relation, intervals)])]


def _relation(view: RelationView, intervals: Sequence[str]) -> Component:
    size = "an unknown number of" if view.size is None else show(view.size, "int")
    head = f"The relation at this moment: {size} tuple{'' if view.size == 1 else 's'}"
    missing = "" if view.whole else _what_is_missing(view)
    kept = told_columns(view.columns, intervals)
    numbers = {k for k, _ in kept if all(_is_number(row[k]) for row, _ in view.rows)}
    columns = [*_named(view.columns, kept, numbers), TableColumn("count", "int")]
    rows: list[list[CellData]] = [[*_cells(row, kept, numbers), n] for row, n in view.rows]
    parts: list[Any] = [html.H3(head)]
    if missing:
        parts.append(html.P(missing, className="pw-dim"))
    if rows:
        caption = "All of it" if view.whole else "Rows known to be in it"
        parts.append(RowTable(caption, columns, rows, className="pw-tuples pw-relation"))
    return html.Div(parts)


def _what_is_missing(view: RelationView) -> str:
    why = "The current rows cannot be rebuilt from the stored changes"
    if view.size is not None and view.size > MOST_ROWS:
        why = f"Relations of more than {MOST_ROWS} tuples are not stored whole"
    if not view.rows:
        return f"{why}."
    return f"{why}; {show(view.n_known, 'int')} are known to be in it."


def draw_tuples(
    view: TuplesView, intervals: Sequence[str] = (), tick_us: float | None = None
) -> Component:
    """The last tuples, newest first; elements of an answer with sign and timestamp. intervals: as
    above; tick_us: where ticks are times."""
    if not view.rows:
        reason = "Only the newest changes of a query are stored, and all of them are later."
        return html.P(reason, className="pw-dim")
    kept = told_columns(view.columns, intervals)
    numbers = {k for k, number in enumerate(view.numeric) if number}
    cells = [_cells(row, kept, numbers) for row in view.rows]
    rows: list[list[CellData]]
    if view.signs:
        columns = [
            TableColumn("Batch", "int"),
            TableColumn("±"),
            tau_column(tick_us),
            *_named(view.columns, kept, numbers),
        ]
        signs = [_PLUS if sign > 0 else _MINUS for sign in view.signs]
        heads = zip(view.batches, signs, [tau_cell(tau, tick_us) for tau in view.taus], strict=True)
        rows = [[*head, *own] for head, own in zip(heads, cells, strict=True)]
    else:
        columns = [
            TableColumn("Batch", "int"),
            *_named(view.columns, kept, numbers),
            TableColumn("Also satisfies"),
        ]
        both = zip(view.batches, cells, view.also, strict=True)
        rows = [[batch, *own, ", ".join(also)] for batch, own, also in both]
    what = "changes" if view.signs else "tuples"
    words = f"Its last {len(rows)} {what}, newest first (the last 20 of a query are kept)"
    return RowTable(words, columns, rows, className="pw-tuples")


def _is_number(cell: str | None) -> bool:
    try:
        return cell is None or math.isfinite(float(cell))
    except ValueError:
        return False


def _named(
    names: Sequence[str], kept: Sequence[tuple[int, bool]], numbers: Container[int]
) -> list[TableColumn]:
    """Columns of an answer, numbers below each other."""
    return [TableColumn(names[k], "text" if k in numbers else None) for k, _ in kept]


def tau_column(tick_us: float | None) -> TableColumn:
    """Timestamps of elements. tick_us: where ticks are times."""
    if tick_us is None:
        return TableColumn("τ", "int", "", "timestamp, in ticks")
    return TableColumn("τ", "text", "", "timestamp, UTC")


def tau_cell(tau: int, tick_us: float | None) -> CellData:
    """One of them."""
    return tau if tick_us is None else {"text": instant(tau, tick_us), "sort": tau}


def _cells(
    row: Sequence[str | None], kept: Sequence[tuple[int, bool]], numbers: Container[int]
) -> list[CellData]:
    """Of some columns; whether each is an estimate, whose interval is in the two behind it."""
    return [
        _estimate(row[k], row[k + 1], row[k + 2]) if is_estimate else _value(row[k], k in numbers)
        for k, is_estimate in kept
    ]


def _estimate(value: str | None, low: str | None, high: str | None) -> CellData:
    """'≈ 512 [498, 527]'; where both ends are the value, which is exact, that alone."""
    if value is None:
        return _text(value)
    number = float(value)
    rounded = f"{number:.5g}" if "." in value else value
    if low is None or high is None:
        return {"text": f"≈ {rounded}", "sort": number, "title": "too few tuples for an interval"}
    if float(low) == float(high):
        return {"text": value, "sort": number, "title": "exact"}
    ends = f"[{float(low):.4g}, {float(high):.4g}]"
    return {"text": f"≈ {rounded} {ends}", "sort": number, "title": "with its 95 % interval"}


def _text(cell: str | None) -> CellData:
    return {"text": "NULL", "mark": "pw-null", "sort": None} if cell is None else cell


def _value(cell: str | None, numeric: bool) -> CellData:
    if cell is None or not numeric:
        return _text(cell)
    return {"text": cell, "sort": float(cell)}
