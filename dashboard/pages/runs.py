"""Runs: what is running, what needs somebody; every run opens into its pages."""

from __future__ import annotations

import time
from typing import Any, Final

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from dashboard import context as contexts
from dashboard import ids
from dashboard.components.attributes import attrs
from dashboard.components.badges import state_badge
from dashboard.components.formats import UNKNOWN, age, clock, stamp
from dashboard.components.panels import panel
from dashboard.components.states import empty
from dashboard.components.tables import Cell, Column, table
from dashboard.context import Context, Moment
from dashboard.pages.contract import Page
from dashboard.pages.keys import follow
from dashboard.services import Services
from dashboard.views.runs import RunNumbers, RunRow, RunsView, build_runs, headline, numbers_of

BODY: Final = "pw-runs"
KEY: Final = "pw-runs-key"
_SIGNS: Final = {
    "starting": "◌",
    "running": "▶",
    "ended": "■",
    "interrupted": "‖",
    "failed": "✖",
}
_COLUMNS: Final = (
    Column("Run"),
    Column("State"),
    Column("Started", "text", "UTC"),
    Column("Tuples", "int"),
    Column("Rate", "si", "tuples/s", "last batch while running, mean of the run after it"),
    Column("Unmatched", "pct", "", "share of all tuples that satisfied no query"),
    Column("Visits", "f2", "per tuple", "constructs visited per tuple, running window"),
    Column("Plan", "int", "", "version in force"),
    Column("Switches", "int", "", "rearrangements so far"),
    Column("Misfits", "int", "", "tuples kept aside because they do not fit the schema"),
    Column("Last record", "text", "", "age of the newest record while the run lasts"),
    Column("Needs"),
)


def render(view: RunsView, shown: str) -> Component:
    """The page: headline and table, or how to start a run. shown: id of the run on screen."""
    if not view.rows:
        return html.Div(_how_to_start(), className="pw-page")
    rows = [_cells(row) for row in view.rows]
    marks = [_opens(row, row.id == shown) for row in view.rows]
    body = table("All runs in this store, newest first", _COLUMNS, rows, marks)
    return html.Div(
        panel("Runs", body, note=headline(view), className="pw-runs-panel"), className="pw-page"
    )


def body(context: Context, services: Services) -> Component:
    """The page from the store."""
    runs = services.reader.runs()
    numbers = {run.id: _numbers(services, run.id) for run in runs}
    return render(build_runs(runs, numbers, time.time()), context.run_id)


def layout(context: Context, services: Services) -> Component:
    """The page at a context."""
    return html.Div([dcc.Store(id=KEY), html.Div(body(context, services), id=BODY)])


def register(app: Dash, services: Services) -> None:
    """Follow the stream."""
    follow(app, "runsKey", KEY)

    @app.callback(
        Output(BODY, "children"),
        Input(KEY, "data"),
        State(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _refresh(key: Any, moment: dict[str, Any] | None) -> Component:
        return body(contexts.of(services.reader, moment), services)


PAGE: Final = Page(
    path="/",
    title="Runs",
    label="Runs",
    icon="M4 6h16M4 12h16M4 18h10",
    key="r",
    layout=layout,
    register=register,
)


def _numbers(services: Services, run_id: str) -> RunNumbers:
    reader = services.reader
    latest = reader.values(run_id).get("system", {})
    plans = reader.plans(run_id)
    batch = reader.last_batch(run_id)
    newest = reader.batch(run_id, batch) if batch is not None else None
    last = (batch, newest.time) if batch is not None and newest is not None else None
    counts = reader.decision_counts(run_id)
    version = plans[-1].version if plans else None
    return numbers_of(latest, version, counts.by_verdict.get("switched", 0), last)


def _cells(row: RunRow) -> list[Any]:
    href = "/plan" + Moment(run=row.id).search()
    name = html.A(row.id, href=href, className="pw-link pw-run-name", **_target(row))
    below = html.Div(f"{row.workload} / {row.stream}", className="pw-runs-sub")
    over = f"Over: it is {row.state}."
    return [
        Cell([name, below], row.id),
        Cell(_state(row), row.state),
        Cell(_started(row), row.started_at),
        _number(row.tuples, "no batch yet"),
        _number(row.tuples_per_s, "no batch yet"),
        _number(row.unmatched_prob, "no tuple yet"),
        _number(row.visits_per_tuple, "no batch yet"),
        _number(row.plan_version, "no plan yet"),
        _number(row.n_switches, "not recorded"),
        _number(row.misfits, "no batch yet"),
        Cell(age(row.age_s), row.age_s) if row.age_s is not None else _number(None, over),
        Cell(_need(row), row.need),
    ]


def _state(row: RunRow) -> Component:
    sign = html.Span(
        _SIGNS.get(row.state, "●"), className="pw-runs-sign", **attrs(aria_hidden=True)
    )
    return html.Span([sign, state_badge(row.state)], className="pw-runs-state")


def _started(row: RunRow) -> Component:
    lasted = f"lasted {age(row.duration_s)}" if row.mean_rate else f"{age(row.duration_s)} ago"
    parts = [
        html.Span(clock(row.started_at)),
        html.Div(lasted if row.duration_s is not None else "", className="pw-runs-sub"),
    ]
    return html.Span(parts, title=stamp(row.started_at) + " UTC")


def _number(value: float | None, reason: str) -> Any:
    """A number for the column's form; unknown is a dash with its reason."""
    if value is None:
        return Cell(html.Span(UNKNOWN, title=reason))
    return value


def _need(row: RunRow) -> Component | str:
    if not row.need:
        return ""
    sign = {"error": "✖ ", "warning": "⚠ "}.get(row.severity, "")
    return html.Span(sign + row.need, className=f"pw-runs-need pw-ink-{row.severity}")


def _target(row: RunRow) -> dict[str, Any]:
    return attrs(data_pw_path="/plan", data_pw_run=row.id, data_pw_at="now")


def _opens(row: RunRow, here: bool) -> dict[str, Any]:
    current = attrs(aria_current="true" if here else None)
    return {"className": "pw-opens", **_target(row), **attrs(data_run=row.id), **current}


def _how_to_start() -> Component:
    lines = html.Pre(
        "python3 run.py                     # the flights demo, on real data\n"
        "python3 run.py backend my.toml     # your own streams and queries\n"
        "python3 run.py replay recorded.db  # a recorded run, without Spark",
        className="pw-runs-commands",
        tabIndex=0,
    )
    return empty(
        "No run yet",
        "This store holds no run. Start one in a terminal; it shows up here by itself.",
        lines,
    )
