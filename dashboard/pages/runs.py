"""Runs: what is running, what needs somebody; every run opens into its pages."""

from __future__ import annotations

import time
from typing import Any, Final

from dash import Dash, Input, State, dcc, html
from dash.development.base_component import Component

from dashboard import context as contexts
from dashboard import ids
from dashboard.components.formats import age, clock, stamp
from dashboard.components.panels import panel
from dashboard.components.states import empty
from dashboard.components.tables import Column
from dashboard.context import Context
from dashboard.pages.contract import Page
from dashboard.pages.keys import follow
from dashboard.pages.parts import part, part_output, part_tree
from dashboard.pages.rows import CellData, RowTable, jump_to, known
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
_TONES: Final = {
    "starting": "warning",
    "running": "ok",
    "interrupted": "warning",
    "failed": "error",
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


def render(view: RunsView, context: Context) -> Component:
    """The page: headline and table, or how to start a run."""
    if not view.rows:
        return html.Div(_how_to_start(), className="pw-page")
    rows = [_cells(row, context) for row in view.rows]
    marks = [_opens(row, row.id == context.run_id) for row in view.rows]
    keys = [row.id for row in view.rows]
    body = RowTable("All runs in this store, newest first", _COLUMNS, rows, keys, marks)
    return html.Div(
        panel("Runs", body, note=headline(view), className="pw-runs-panel"), className="pw-page"
    )


def body(context: Context, services: Services) -> Component:
    """The page from the store."""
    runs = services.reader.runs()
    numbers = {run.id: _numbers(services, run.id) for run in runs}
    return render(build_runs(runs, numbers, time.time()), context)


def layout(context: Context, services: Services) -> Component:
    """The page at a context."""
    return html.Div([dcc.Store(id=KEY), part(BODY, body(context, services))])


def register(app: Dash, services: Services) -> None:
    """Follow the stream."""
    follow(app, "runsKey", KEY)

    @app.callback(
        part_output(BODY),
        Input(KEY, "data"),
        State(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _refresh(key: Any, moment: dict[str, Any] | None) -> Any:
        return part_tree(BODY, body(contexts.of(services.reader, moment), services))


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


def _cells(row: RunRow, context: Context) -> list[CellData]:
    link = jump_to(context, "/plan", at="now", run=row.id)
    return [
        {"text": row.id, "jump": link, "sub": f"{row.workload} / {row.stream}"},
        _state(row),
        _started(row),
        known(row.tuples, "no batch yet"),
        known(row.tuples_per_s, "no batch yet"),
        known(row.unmatched_prob, "no tuple yet"),
        known(row.visits_per_tuple, "no batch yet"),
        known(row.plan_version, "no plan yet"),
        known(row.n_switches, "not recorded"),
        known(row.misfits, "no batch yet"),
        {"text": age(row.age_s), "sort": row.age_s}
        if row.age_s is not None
        else known(None, f"over: it is {row.state}"),
        _need(row),
    ]


def _state(row: RunRow) -> CellData:
    sign = _SIGNS.get(row.state, "●")
    badges = [[f"{sign} {row.state}", _TONES.get(row.state, "quiet")]]
    return {"badges": badges, "sort": row.state}


def _started(row: RunRow) -> CellData:
    lasted = f"lasted {age(row.duration_s)}" if row.mean_rate else f"{age(row.duration_s)} ago"
    return {
        "text": clock(row.started_at),
        "sub": lasted if row.duration_s is not None else "",
        "sort": row.started_at,
        "title": stamp(row.started_at) + " UTC",
    }


def _need(row: RunRow) -> CellData:
    if not row.need:
        return ""
    sign = {"error": "✖ ", "warning": "⚠ "}.get(row.severity, "")
    words = [sign + row.need, f"pw-runs-need pw-ink-{row.severity}"]
    return {"parts": [words], "sort": row.severity}


def _opens(row: RunRow, here: bool) -> dict[str, Any]:
    current = {"aria-current": "true"} if here else {}
    target = {"data-pw-path": "/plan", "data-pw-run": row.id, "data-pw-at": "now"}
    return {"className": "pw-opens", "data-run": row.id, **target, **current}


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
