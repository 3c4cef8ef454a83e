"""Results: what each query matched, its last tuples, misfits; register, pause, remove queries."""

from __future__ import annotations

from typing import Any, Final

from dash import Dash, Input, State, dcc, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from dashboard import context as contexts
from dashboard import ids
from dashboard.components.attributes import attrs
from dashboard.components.formats import show
from dashboard.components.panels import panel
from dashboard.components.states import empty
from dashboard.context import Context
from dashboard.pages.contract import Page
from dashboard.pages.keys import follow
from dashboard.pages.parts import part, part_output, part_tree
from dashboard.pages.result_parts import (
    FILTER,
    draw_filter,
    draw_misfits,
    draw_queries,
    draw_query,
    draw_register,
    draw_requests,
)
from dashboard.services import Services
from dashboard.views.results import (
    ResultsView,
    TuplesView,
    build_results,
    build_tuples,
    pick,
)
from storage.vocabulary.records import Run

KEY: Final = "pw-results-key"
QUERIES: Final = "pw-results-queries"
QUERY: Final = "pw-results-query"
REQUESTS: Final = "pw-results-requests"
MISFITS: Final = "pw-results-misfits"
PARTS: Final = (QUERIES, QUERY, REQUESTS, MISFITS)
N_TUPLES: Final = 20
N_MISFITS: Final = 20
N_COMMANDS: Final = 100


def build(
    context: Context, run: Run, services: Services
) -> tuple[ResultsView, str | None, TuplesView | None]:
    """The page at the moment, the query shown, and its last tuples."""
    reader, batch = services.reader, context.batch
    view = build_results(
        reader.entities(run.id, batch),
        reader.values(run.id, batch),
        reader.commands(run.id, N_COMMANDS),
        reader.misfits(run.id, N_MISFITS, batch),
        run,
        batch,
    )
    shown = pick(view, context.moment.node)
    if shown is None:
        return view, None, None
    found = reader.results(run.id, shown, N_TUPLES, batch)
    schemas = {one.name: one.schema for one in run.inputs}
    stream = found[0].input if found else ""
    schema = schemas.get(stream, next(iter(schemas.values()), []))
    return view, shown, build_tuples(shown, found, schema)


def has_records(context: Context, services: Services) -> bool:
    """Hidden in the navigation for runs without queries."""
    if context.run is None:
        return True
    entities = services.reader.entities(context.run_id, context.batch)
    return context.running or any(entity.kind == "query" for entity in entities)


def layout(context: Context, services: Services) -> Component:
    """The page at a context. The form is not rendered again, so that no text is lost."""
    if context.run is None:
        return empty("No run yet", "Start one with python3 run.py; its results appear here.")
    drawn = _render(context, context.run, services)
    side = [
        part(QUERY, drawn[QUERY]),
        panel(
            "Register a query",
            [draw_register(context), part(REQUESTS, drawn[REQUESTS])],
            note="it joins the plan at the next batch",
        ),
        part(MISFITS, drawn[MISFITS]),
    ]
    return html.Div(
        [
            dcc.Store(id=KEY),
            html.Div([draw_filter(), part(QUERIES, drawn[QUERIES])], className="pw-results-left"),
            html.Div(side, className="pw-results-right"),
        ],
        className="pw-page pw-results",
    )


def register(app: Dash, services: Services) -> None:
    """Follow matches, requests and the selection."""
    follow(app, "resultsKey", KEY)

    @app.callback(
        *(part_output(name) for name in PARTS),
        Input(KEY, "data"),
        Input(FILTER, "value"),
        State(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _refresh(key: Any, words: str | None, moment: dict[str, Any] | None) -> list[Any]:
        found = contexts.of(services.reader, moment)
        if found.run is None:
            raise PreventUpdate
        drawn = _render(found, found.run, services, words or "")
        return [part_tree(name, drawn[name]) for name in PARTS]


PAGE: Final = Page(
    path="/results",
    title="Results",
    label="Results",
    icon="M4 5h16v14H4zM4 10h16M9 10v9M13 14h4",
    key="e",
    layout=layout,
    register=register,
    has_records=has_records,
)


_OVER: Final = {"ended": "has ended", "interrupted": "was interrupted", "failed": "has failed"}


def why_not(context: Context, services: Services) -> str:
    """Why queries cannot be changed here and now; '' when they can."""
    if services.settings.why_no_control:
        return services.settings.why_no_control
    if not context.running:
        state = context.run.state if context.run else "ended"
        return f"This run {_OVER.get(state, 'is over')}: its queries are history."
    if context.mode == "frozen":
        return "Frozen: resume (space) to change queries."
    return "" if context.mode == "live" else "Showing the past: jump to now (.) to change queries."


def _render(
    context: Context, run: Run, services: Services, words: str = ""
) -> dict[str, Component]:
    """The parts that follow the moment, by id. words: of the filter."""
    view, shown, tuples = build(context, run, services)
    reason = why_not(context, services)
    row = next((one for one in view.queries if one.name == shown), None)
    queries = panel(
        "Queries",
        draw_queries(view, context, shown, words),
        note=_headline(view),
        className="pw-results-queries",
        **attrs(data_why_not=reason),
    )
    query = draw_query(row, tuples, context, reason)
    return {
        QUERIES: queries,
        QUERY: query,
        REQUESTS: draw_requests(view, reason),
        MISFITS: draw_misfits(view),
    }


def _headline(view: ResultsView) -> str:
    registered = f"{show(len(view.queries), 'int')} registered"
    return f"{registered} · matches of {show(view.n_tuples, 'int')} tuples"
