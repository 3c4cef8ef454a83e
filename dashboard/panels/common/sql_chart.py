"""A chart of an answer of the SQL page: numbers over batches, else bars of the first number."""

from __future__ import annotations

from typing import Final, TypeAlias

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs
from dashboard.components.drawn import HistoryChart
from dashboard.components.formats import show
from storage.reading.sql import SqlAnswer

#: Columns that are batches.
BATCHES: Final = ("batch", "batch_id")
MOST_CHARTS: Final = 4
MOST_BARS: Final = 24
LONGEST_LABEL: Final = 60
Points: TypeAlias = list[tuple[int, float | None]]


def draw_chart(answer: SqlAnswer) -> Component | None:
    """None where there is nothing to compare: no number, or fewer than two rows."""
    numbers = [i for i in range(len(answer.columns)) if _is_number(answer, i)]
    batch = next((i for i in numbers if answer.columns[i].lower() in BATCHES), None)
    if batch is not None and (lines := _lines(answer, batch, numbers)):
        return html.Div(lines, className="pw-histories")
    labels = [i for i in range(len(answer.columns)) if i not in numbers]
    if not numbers or len(answer.rows) < 2:
        return None
    return _bars(answer, labels[0] if labels else 0, numbers[-1 if not labels else 0])


def _is_number(answer: SqlAnswer, place: int) -> bool:
    values = [row[place] for row in answer.rows if row[place] is not None]
    return bool(values) and all(isinstance(value, int | float) for value in values)


def _lines(answer: SqlAnswer, batch: int, numbers: list[int]) -> list[Component]:
    """A chart for each number; none where a batch has several rows."""
    rows = sorted(answer.rows, key=lambda row: _number(row[batch]) or 0.0)
    at = [int(_number(row[batch]) or 0) for row in rows]
    if len(rows) < 2 or len(set(at)) < len(at):
        return []
    charts: list[Component] = []
    for place in [i for i in numbers if i != batch][:MOST_CHARTS]:
        points: Points = [(b, _number(row[place])) for b, row in zip(at, rows, strict=True)]
        name = answer.columns[place]
        charts.append(HistoryChart(f"pw-sql-chart-{place}", name, "", "", points, form="si"))
    return charts


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _bars(answer: SqlAnswer, label: int, place: int) -> Component:
    shown = answer.rows[:MOST_BARS]
    values = [_number(row[place]) or 0.0 for row in shown]
    widest = max(map(abs, values)) or 1.0
    lines = [
        html.Li(
            [
                html.Span(str(row[label])[:LONGEST_LABEL]),
                html.I(style={"width": f"{100 * abs(value) / widest:.1f}%"}),
                html.B(show(value, "si")),
            ]
        )
        for row, value in zip(shown, values, strict=True)
    ]
    n = len(answer.rows)
    which = f", the first {MOST_BARS} of {show(n, 'int')} rows" if n > MOST_BARS else ""
    words = f"{answer.columns[place]} by {answer.columns[label]}{which}"
    heading = html.P(words, className="pw-dim")
    return html.Div([heading, html.Ul(lines, **attrs(aria_label=words))], className="pw-sql-bars")
