"""The parts of the Results page, drawn from its views.

Buttons carry ``data-query-action`` and ``data-query``; assets/page_results.js sends the requests to
``/api/v1``. A request is shown as pending until the engine answered it.
"""

from __future__ import annotations

from typing import Any, Final

from dash import dcc, html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs
from dashboard.components.badges import badge, state_badge
from dashboard.components.formats import UNKNOWN, clock, show
from dashboard.components.links import jump
from dashboard.components.panels import panel
from dashboard.components.states import empty
from dashboard.components.tables import Cell, Column, table
from dashboard.context import Context
from dashboard.views.results import QueryRow, RequestRow, ResultsView, TuplesView

FORM: Final = "pw-query-form"
SHOWN_REQUESTS: Final = 6
_NO_BATCH: Final = "no batch yet"
_COLUMNS: Final = (
    Column("Query"),
    Column("State"),
    Column("Matches", "int", "", "tuples that satisfied the query since the run began"),
    Column("Share", "pct", "", "of all tuples so far"),
    Column("Last batch", "int", "", "matches in the batch shown"),
)


def draw_queries(view: ResultsView, context: Context, shown: str | None) -> Component:
    """The list: a bar for the total, its share, the last batch, and the state."""
    if not view.queries:
        return empty("No query", "Register one at the right; it joins the plan at the next batch.")
    rows = [_query_cells(row, view, context) for row in view.queries]
    marks = [_mark(row, row.name == shown) for row in view.queries]
    return table("Queries, most matches first", _COLUMNS, rows, marks, className="pw-query-table")


def draw_query(
    row: QueryRow | None, tuples: TuplesView | None, context: Context, reason: str
) -> Component:
    """The chosen query: its text, what can be done with it, and its last tuples."""
    if row is None or tuples is None:
        return panel("Last tuples", empty("No query", "There is no query at this moment."))
    body = [
        html.Pre(row.text, className="pw-cql", tabIndex=0, **attrs(aria_label="CQL text")),
        _facts(row, context),
        _tuples(tuples),
    ]
    return panel(row.name, body, actions=_actions(row, reason), note=_states(row))


def draw_register(context: Context) -> Component:
    """The form; its button is drawn with the requests, as it follows the moment."""
    stream = context.run.stream if context.run else "Stream"
    return html.Form(
        [
            html.Label("Name", htmlFor="pw-query-name"),
            dcc.Input(
                id="pw-query-name",
                name="name",
                className="pw-input",
                placeholder="late_evening",
                autoComplete="off",
                required=True,
            ),
            html.Label("CQL", htmlFor="pw-query-text"),
            dcc.Textarea(
                id="pw-query-text",
                name="text",
                className="pw-input pw-cql-box",
                placeholder=f"Select * From {stream} Where …",
                spellCheck=False,
                rows=3,
                required=True,
            ),
        ],
        id=FORM,
        className="pw-query-form",
    )


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
    said = html.Span(reason, id="pw-query-said", className="pw-dim", role="status")
    head = html.Div([button, said], className="pw-query-send")
    items = [html.Li(_request(one)) for one in view.requests[:SHOWN_REQUESTS]]
    more = html.Ul(items, className="pw-requests", **attrs(aria_label="Last requests"))
    return html.Div([head, more if items else html.Div()])


def draw_misfits(view: ResultsView) -> Component:
    """Tuples kept aside, with their raw text and what is wrong with them."""
    count = show(view.n_misfits, "int")
    note = f"{count} tuples kept aside because they do not fit the schema"
    if not view.misfits:
        words = "None so far." if not view.n_misfits else "None of them is stored at this moment."
        return panel("Misfits", html.P(words, className="pw-dim"), note=note)
    rows = [[one.batch, html.Code(one.raw, className="pw-raw"), one.error] for one in view.misfits]
    columns = (Column("Batch", "int"), Column("Raw text"), Column("What does not fit"))
    body = table(f"The last {len(rows)} of {count}", columns, rows)
    return panel("Misfits", body, note=note)


def _query_cells(row: QueryRow, view: ResultsView, context: Context) -> list[Any]:
    link = jump(
        context, row.name, node=f"query:{row.name}", className="pw-link", title=row.text or None
    )
    width = f"{100 * (row.total or 0) / view.most:.1f}%" if view.most else "0%"
    bar = html.Div(html.I(style={"width": width}), className="pw-bar", **attrs(aria_hidden=True))
    total = [show(row.total, "int"), bar] if row.total is not None else _unknown()
    return [
        Cell(link, row.name),
        Cell(_states(row), row.state),
        Cell(total, row.total),
        _unknown() if row.share is None else row.share,
        _unknown() if row.in_batch is None else row.in_batch,
    ]


def _unknown() -> Component:
    return html.Span(UNKNOWN, title=_NO_BATCH)


def _mark(row: QueryRow, here: bool) -> dict[str, Any]:
    current = "true" if here else None
    target = f"query:{row.name}"
    return {
        "className": "pw-opens",
        **attrs(aria_current=current, data_pw_node=target, data_query=row.name),
    }


def _states(row: QueryRow) -> Component:
    marks = [state_badge(row.state)]
    if row.duplicate_of:
        marks.append(badge(f"same as {row.duplicate_of}", "quiet"))
    if row.pending:
        marks.append(badge(f"{row.pending} pending", "warning"))
    return html.Span(marks, className="pw-query-states")


def _facts(row: QueryRow, context: Context) -> Component:
    links: list[Any] = []
    for name in row.attributes:
        links += [jump(context, name, path="/matrix", node=f"asc:{name}"), " "]
    words: list[Any] = [f"{show(row.total, 'int')} matches ({show(row.share, 'pct')})"]
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


def _tuples(view: TuplesView) -> Component:
    if not view.rows:
        return html.P("No tuple has matched it up to this moment.", className="pw-dim")
    columns = [
        Column("Batch", "int"),
        *(Column(name) for name in view.columns),
        Column("Also satisfies"),
    ]
    rows: list[list[Any]] = [
        [batch, *(_value(cell) for cell in cells), ", ".join(also)]
        for batch, cells, also in zip(view.batches, view.rows, view.also, strict=True)
    ]
    words = f"Its last {len(rows)} tuples, newest first (the last 20 of a query are kept)"
    return table(words, columns, rows, className="pw-tuples")


def _value(cell: str | None) -> Any:
    return html.Span("NULL", className="pw-null") if cell is None else cell


def _request(one: RequestRow) -> list[Any]:
    head = [
        html.Span(
            [state_badge(one.state), f" {one.verb} ", html.B(one.name)],
            className="pw-request-head",
        ),
        html.Span(f"#{one.id} · asked {clock(one.requested_at)}", className="pw-dim"),
    ]
    if one.state == "applied":
        head.append(html.Span(f"at batch {show(one.applied_batch, 'int')}", className="pw-dim"))
    parts: list[Any] = [html.Div(head, className="pw-request")]
    if one.state == "refused":
        if one.line is not None:
            place = f"line {one.line}, column {one.column}"
            parts.append(html.Div(["Error at ", html.B(place)], className="pw-ink-error"))
        parts.append(html.Pre(one.answer, className="pw-cql pw-refusal", tabIndex=0))
    return parts
