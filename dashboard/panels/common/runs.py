"""Runs: what is running, what needs somebody; every run opens into its pages."""

from __future__ import annotations

from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.badges import badge
from dashboard.components.formats import age, clock, stamp
from dashboard.components.kinds import tone_of
from dashboard.components.links import sql_link
from dashboard.components.panels import panel
from dashboard.components.rows import CellData, RowTable, TableColumn, drawn, jump_to, known
from dashboard.components.states import empty
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.views.book import SYSTEM
from dashboard.views.branches import branch_pair
from dashboard.views.compare import address
from dashboard.views.inputs import is_over
from dashboard.views.pace import held_of
from dashboard.views.runs import RunLine, RunNumbers, RunsView, build_runs, headline, numbers_of
from dashboard.views.shell import period
from storage.exchange.liveness import LIVE_STATES
from storage.reader import Reader
from storage.vocabulary.records import Run

_SIGNS: Final = {
    "starting": "◌",
    "running": "▶",
    "working": "▶",
    "idle": "◇",
    "stopped": "✖",
    "ended": "■",
    "interrupted": "‖",
    "failed": "✖",
}
_COLUMNS: Final = (
    TableColumn("Run"),
    TableColumn("State"),
    TableColumn("Started", "text", "UTC"),
    TableColumn("Tuples", "int"),
    TableColumn("Rate", "si", "tuples/s", "last batch while running, mean of the run after it"),
    TableColumn("Unmatched", "pct", "", "share of all tuples that satisfied no query"),
    TableColumn("Visits", "f2", "per tuple", "constructs visited per tuple, running window"),
    TableColumn("Plan", "int", "", "version in force"),
    TableColumn("Switches", "int", "", "rearrangements so far"),
    TableColumn("Misfits", "int", "", "tuples kept aside: no query could take them"),
    TableColumn("Last record", "text", "", "age of the newest record while the run lasts"),
)
#: The last one where there are branches.
_BRANCH: Final = TableColumn("Branch")


def build(reader: Reader, context: Context, scope: PanelScope) -> RunsView:
    """All runs of the store, now."""
    runs = reader.runs()
    numbers = {run.id: _numbers(reader, run) for run in runs}
    return build_runs(runs, numbers, reader.now_of)


def draw(view: RunsView, sheet: Sheet) -> Drawing:
    """Headline and table, or how to start a run."""
    if not view.rows:
        return Drawing(_how_to_start())
    context = sheet.context
    branched = any(row.branch is not None for row in view.rows)
    rows = [
        [*_cells(row, context), *([_compared(row, context)] if branched else [])]
        for row in view.rows
    ]
    marks = [_opens(row, row.id == context.run_id) for row in view.rows]
    keys = [row.id for row in view.rows]
    words = "All runs in this store, newest first"
    if context.batch != context.now:
        words += "; their newest numbers, whatever moment is shown"
    columns = (*_COLUMNS, _BRANCH) if branched else _COLUMNS
    body = RowTable(words, columns, rows, keys, marks)
    link = sql_link(context, records.RUNS)
    note = headline(view)
    return Drawing(panel("Runs", body, actions=link, note=note, className="pw-runs-panel"))


PANEL: Final = Panel(name="runs", page="/", build=build, draw=draw, beats=True)


def _numbers(reader: Reader, run: Run) -> RunNumbers:
    run_id = run.id
    latest = reader.values(run_id).get(SYSTEM, {})
    plans = reader.plans(run_id)
    batch = reader.last_batch(run_id)
    newest = reader.batch(run_id, batch) if batch is not None else None
    last = (batch, newest.time) if batch is not None and newest is not None else None
    counts = reader.decision_counts(run_id)
    version = plans[-1].version if plans else None
    recent = reader.batches(run_id, limit=21) if run.state in LIVE_STATES else ()
    pace = period([(past.id or 0, past.time) for past in recent])
    held = held_of(reader.entities(run_id)) if run.state in LIVE_STATES else ""
    switches = counts.by_verdict.get("switched", 0)
    over = is_over(reader.inputs(run_id)) if run.state in LIVE_STATES else False
    return numbers_of(latest, version, switches, last, pace, held, over)


def _cells(row: RunLine, context: Context) -> list[CellData]:
    link = jump_to(context, "/plan", at="now", run=row.id)
    what = f"{row.workload} / {row.stream}" if row.branch is None else row.branch.words
    about = f" — {row.about}" if row.about else ""
    return [
        {"text": row.id, "jump": link, "sub": f"{what}{about}"},
        _state(row),
        _started(row),
        known(row.tuples, "no batch yet"),
        known(row.tuples_per_s, "no batch yet"),
        known(row.unmatched_prob, "no tuple yet, or no query that selects tuples"),
        known(row.visits_per_tuple, "no batch yet"),
        known(row.plan_version, "no plan yet"),
        known(row.n_switches, "not recorded"),
        known(row.misfits, "no batch yet"),
        {"text": age(row.age_s), "sort": row.age_s}
        if row.age_s is not None
        else known(None, f"over: it is {row.state.word}"),
    ]


def _state(row: RunLine) -> CellData:
    """How it stands, and below it what it needs, which a phone shows without a scroll."""
    word, words, _ = row.state
    parts: list[Component] = [badge(f"{_SIGNS.get(word, '●')} {word}", tone_of(word), title=words)]
    if word in ("working", "idle"):
        parts.append(html.Div(words, className="pw-sub"))
    if row.need:
        sign = {"error": "✖ ", "warning": "⚠ "}.get(row.severity, "")
        parts.append(html.Div(sign + row.need, className=f"pw-runs-need pw-ink-{row.severity}"))
    return drawn(html.Div(parts), word)


def _started(row: RunLine) -> CellData:
    lasted = f"lasted {age(row.duration_s)}" if row.mean_rate else f"{age(row.duration_s)} ago"
    return {
        "text": clock(row.started_at),
        "sub": lasted if row.duration_s is not None else "",
        "sort": row.started_at,
        "title": stamp(row.started_at) + " UTC",
    }


def _compared(row: RunLine, context: Context) -> CellData:
    if row.branch is None:
        return ""
    pair = address(branch_pair(row.id, row.branch))
    link = jump_to(context, "/compare", at="now", run=row.id, show=pair)
    return {"text": "compare with the record", "jump": link}


def _opens(row: RunLine, here: bool) -> dict[str, Any]:
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
        "This store has no run. Start one in a terminal; it shows up here by itself.",
        lines,
    )
