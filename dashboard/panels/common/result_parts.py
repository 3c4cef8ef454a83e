"""The parts of the Results page, drawn from its views.

Buttons carry ``data-query-action`` and ``data-query``; modules/page_results.js sends the requests
to ``/api/v1``. A request is shown as pending until the engine answered it.
"""

from __future__ import annotations

from typing import Any, Final

from dash import dcc, html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.badges import badge, state_badge
from dashboard.components.formats import clock, show
from dashboard.components.kinds import tone_of
from dashboard.components.links import jump
from dashboard.components.panels import panel, zoom_reset
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to, known
from dashboard.components.states import empty
from dashboard.panels.common.answer_parts import draw_answer, draw_tuples
from dashboard.views.answers import AnswerView
from dashboard.views.files import MisfitGroup, grouped
from dashboard.views.results import QueryRow, RequestRow, ResultsView, TuplesView, listed

FORM: Final = "pw-query-form"
FILTER: Final = "pw-query-filter"
SHOWN_REQUESTS: Final = 6
_NO_BATCH: Final = "no batch yet"
_OF_ANSWERS: Final = "elements of an answer are no share of the tuples"
_NOT_TOLD: Final = "not among the queries recorded with this batch"
_MISFIT_COLUMNS: Final = (TableColumn("Raw text"), TableColumn("What is wrong"))
_COLUMNS: Final = (
    TableColumn("Query"),
    TableColumn("State"),
    TableColumn("Matches", "int", "", "tuples that satisfied the query since the run began"),
    TableColumn("Share", "pct", "", "of all tuples so far"),
    TableColumn("Last batch", "int", "", "matches in the batch shown"),
)
#: Where only answers are asked for, no query has one.
_SHARE: Final = 3


def draw_queries(
    view: ResultsView, context: Context, shown: str | None, words: str = ""
) -> Component:
    """The list: a bar for the total, its share, the last batch, and the state. words: of the
    filter."""
    if not view.queries:
        return empty("No query", "Register one at the right; it joins the plan at the next batch.")
    queries, n = listed(view, words, shown)
    if not queries:
        return empty("No such query", f"None of {len(view.queries)} has {words.strip()!r} in it.")
    cells = [_query_cells(row, view, context) for row in queries]
    is_answered = all(row.answers for row in queries)
    shown_columns = [n for n in range(len(_COLUMNS)) if n != _SHARE or not is_answered]
    columns = [_COLUMNS[n] for n in shown_columns]
    rows = [[row[n] for n in shown_columns] for row in cells]
    marks = [_mark(row, row.name == shown) for row in queries]
    keys = [row.name for row in queries]
    title = "Queries, most matches first"
    if len(queries) < n:
        title = f"The {len(queries)} with most matches of {show(n, 'int')} queries"
    body = RowTable(title, columns, rows, keys, marks, className="pw-query-table")
    if not view.sink:
        return body
    sink = html.P(["Matched tuples are written to ", html.Code(view.sink)], className="pw-sink")
    return html.Div([body, sink])


def draw_query(
    row: QueryRow | None,
    tuples: TuplesView | None,
    answer: AnswerView | None,
    context: Context,
    reason: str,
    tick_us: float | None,
) -> Component:
    """The chosen query: its text, what can be done with it, its answer and its last tuples.
    tick_us: where ticks are times."""
    if row is None or tuples is None or answer is None:
        hint = "No such query at this moment. See the list."
        return panel("Last tuples", empty("No query", hint))
    body = [
        html.Pre(
            row.text, className="pw-cql", tabIndex=0, role="region", **attrs(aria_label="Its text")
        ),
        _facts(row, context),
        *draw_answer(answer, row.intervals),
        draw_tuples(tuples, row.intervals, tick_us),
    ]
    return panel(row.name, body, actions=[zoom_reset(), *_actions(row, reason)], note=_states(row))


def draw_filter() -> Component:
    """The box that narrows the list down; not drawn again, so that no text is lost."""
    box = dcc.Input(
        id=FILTER,
        className="pw-input",
        type="search",
        placeholder="words of its name or text",
        autoComplete="off",
        debounce=0.3,
    )
    label = html.Label("Find a query", htmlFor=FILTER)
    return html.Div([label, box], className="pw-query-filter")


def draw_register(context: Context) -> Component:
    """The form; its button is drawn with the requests, as it follows the moment."""
    inputs = context.run.inputs if context.run else ()
    stream = inputs[0].name if inputs else "Stream"
    return html.Form(
        [
            html.Label("Name", htmlFor="pw-query-name"),
            dcc.Input(
                id="pw-query-name",
                name="name",
                className="pw-input",
                placeholder="late_evening",
                autoComplete="off",
            ),
            html.Label("CQL", htmlFor="pw-query-text"),
            html.Textarea(
                id="pw-query-text",
                name="text",
                className="pw-input pw-cql-box",
                placeholder=f"Select * From {stream} Where …",
                spellCheck="false",
                rows=3,
            ),
            html.Label("System", htmlFor="pw-query-system"),
            _systems(context),
        ],
        id=FORM,
        className="pw-query-form",
    )


def _systems(context: Context) -> Component:
    """Which system runs it: those the engine of the run has, by name."""
    known = context.run.settings.get("systems", {}) if context.run else {}
    options = [html.Option("The first that can", value="")]
    options += [html.Option(title, value=name) for name, title in known.items()]
    return html.Select(options, id="pw-query-system", name="system", className="pw-input pw-select")


def draw_requests(view: ResultsView, reason: str) -> Component:
    """The register button, and what became of the last requests."""
    button = html.Button(
        "Register query",
        type="submit",
        form=FORM,
        className="pw-button pw-primary",
        disabled=bool(reason),
        title=reason or "Asks the engine to register it",
    )
    answer = html.Span(reason, id="pw-query-said", className="pw-dim", role="status")
    head = html.Div([button, answer], className="pw-query-send")
    items = [html.Li(_request(request)) for request in view.requests[:SHOWN_REQUESTS]]
    more = html.Ul(items, className="pw-requests", **attrs(aria_label="Last requests"))
    return html.Div([head, more if items else html.Div()])


def draw_misfits(view: ResultsView) -> Component:
    """Tuples kept aside, with their raw text and what is wrong with them."""
    count = show(view.n_misfits, "int")
    if not view.misfits:
        words = f"{count}; none of them is stored at this moment."
        words = "None so far." if not view.n_misfits else words
        return html.P(words, className="pw-dim")
    groups = grouped(view.misfits)
    rows: list[list[CellData]] = [
        [row.batch, row.stream, _where(row), row.n, {"text": row.raw, "code": True}, row.error]
        for row in groups
    ]
    columns = [
        TableColumn("Batch", "int", "", "the newest"),
        TableColumn("Stream"),
        TableColumn("File"),
        TableColumn("Misfits", "int", "", "of those on record"),
        *_MISFIT_COLUMNS,
    ]
    hidden = {1} if len(view.streams) < 2 else set()
    hidden |= set() if any(row.file for row in groups) else {2}
    shown = [place for place in range(len(columns)) if place not in hidden]
    words = f"The last {len(view.misfits)} of {count}, by file and reason"
    return RowTable(words, [columns[n] for n in shown], [[row[n] for n in shown] for row in rows])


def _where(group: MisfitGroup) -> CellData:
    return {"text": group.where, "title": group.file}


def _query_cells(row: QueryRow, view: ResultsView, context: Context) -> list[CellData]:
    link = jump_to(context, node=row.entity)
    share = (row.total or 0) / view.most if view.most else 0
    total = {"text": row.total, "bar": share} if row.total is not None else known(None, _NO_BATCH)
    return [
        {"text": row.name, "jump": link, "title": row.text or row.name, "sub": row.unit},
        {"badges": _badges(row), "sort": row.state},
        total,
        known(row.share, _OF_ANSWERS if row.answers else _NO_BATCH),
        known(row.in_batch, _NO_BATCH if row.total is None else _NOT_TOLD),
    ]


def _mark(row: QueryRow, here: bool) -> dict[str, Any]:
    current = {"aria-current": "true"} if here else {}
    return {"className": "pw-opens", "data-pw-node": row.entity, "data-query": row.name, **current}


def _badges(row: QueryRow) -> list[list[str]]:
    """[text, tone] of the state, of what it waits for, of approximate answers, of a duplicate, of a
    request under way."""
    marks = [[row.state, tone_of(row.state)]]
    if row.waits:
        marks.append([row.waits, "warning"])
    if row.is_inexact:
        marks.append(["approximate", "warning"])
    if row.duplicate_of:
        marks.append([f"same as {row.duplicate_of}", "quiet"])
    if row.pending:
        marks.append([f"{row.pending} pending", "warning"])
    return marks


def _states(row: QueryRow) -> Component:
    marks = [badge(text, tone) for text, tone in _badges(row)]
    return html.Span(marks, className="pw-query-states")


def _facts(row: QueryRow, context: Context) -> Component:
    links: list[Any] = []
    for entity, name in row.filters:
        links += [jump(context, name, path="/plan", node=entity), " "]
    for entity, name in () if row.filters else row.attributes:
        links += [jump(context, name, path="/matrix", node=entity), " "]
    words: list[Any] = [f"{show(row.total, 'int')} matches ({show(row.share, 'pct')})"]
    if row.answers:
        words = [f"{show(row.total, 'int')} elements so far · answers {row.answers}"]
        if row.since:
            words.append(f" from batch {show(row.since, 'int')}, its windows empty then")
    if row.output:
        to = {"path": "/plan", "unit": row.unit_id, "show": row.output, "node": ""}
        words += [" · ", jump(context, "its plan", **to)]
    if links:
        words += [" · visits ", *links]
    if row.state == "contradictory":
        words.append(" · its conditions contradict each other: it can never match")
    if row.duplicate_of:
        words.append(f" · shares the slot of {row.duplicate_of}")
    return html.P(words, className="pw-dim")


def _actions(row: QueryRow, reason: str) -> list[Component]:
    turn = ("resume", "Resume") if row.state == "paused" else ("pause", "Pause")
    blocked = reason or (f"A request to {row.pending} it is under way." if row.pending else "")
    return [
        html.Button(
            words,
            type="button",
            className="pw-button",
            disabled=bool(blocked),
            title=blocked or f"Asks the engine to {action} this query",
            **attrs(data_query_action=action, data_query=row.name),
        )
        for action, words in (turn, ("remove", "Remove"))
    ]


def _request(row: RequestRow) -> list[Any]:
    head = [
        html.Span(
            [state_badge(row.state), f" {row.verb} ", html.B(row.name)],
            className="pw-request-head",
        ),
        html.Span(f"#{row.id} · asked {clock(row.requested_at)}", className="pw-dim"),
    ]
    if row.state == "applied":
        head.append(html.Span(f"at batch {show(row.applied_batch, 'int')}", className="pw-dim"))
    parts: list[Any] = [html.Div(head, className="pw-request")]
    if row.state == "refused":
        if row.line is not None:
            place = f"line {row.line}, column {row.column}"
            parts.append(html.Div(["Error at ", html.B(place)], className="pw-ink-error"))
        parts.append(html.Pre(row.answer, className="pw-cql pw-refusal", tabIndex=0))
    return parts
