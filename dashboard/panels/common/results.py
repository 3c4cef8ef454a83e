"""Results: what each query matched, its last tuples, misfits; register, pause, remove queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from dash import Input, html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.formats import show
from dashboard.panels import records
from dashboard.panels.common.result_parts import (
    FILTER,
    draw_filter,
    draw_misfits,
    draw_queries,
    draw_query,
    draw_register,
    draw_requests,
)
from dashboard.panels.contract import Drawing, Panel, PanelScope, RunFacts, Sheet
from dashboard.serving.services import Services
from dashboard.views.answers import CHANGES, AnswerView, build_answer
from dashboard.views.book import Book
from dashboard.views.results import (
    QueryRow,
    ResultsView,
    TuplesView,
    build_results,
    build_tuples,
    pick,
)
from dashboard.views.ticks import tick_length_us
from storage.reader import Reader
from storage.tables.rows import StoredResult
from storage.vocabulary.relations import relation_name, rows_in

N_TUPLES: Final = 20
N_MISFITS: Final = 200
N_COMMANDS: Final = 100
#: Batches the chart of an answer shows.
N_BATCHES: Final = 240
#: What a query that keeps a relation up to date is said to answer.
RELATION: Final = "a relation"


class ResultsShown(NamedTuple):
    """The queries at a moment, the one shown, its last tuples and its answer. words: of the
    filter; tick_us: where ticks are times."""

    results: ResultsView
    query: str | None
    tuples: TuplesView | None
    words: str = ""
    answer: AnswerView | None = None
    tick_us: float | None = None

    @property
    def chosen(self) -> QueryRow | None:
        """The query shown, among the queries."""
        return next((row for row in self.results.queries if row.name == self.query), None)


def build(reader: Reader, context: Context, scope: PanelScope) -> ResultsShown | None:
    """The queries at the moment, and which of them is shown."""
    run, batch = context.run, context.batch
    if run is None:
        return None
    book = Book(reader.entities(run.id, batch), scope.unit)
    view = build_results(
        book.values(),
        reader.values(run.id, batch),
        reader.commands(run.id, N_COMMANDS),
        reader.misfits(run.id, N_MISFITS, batch),
        run,
        batch,
        scope.title,
    )
    words = str(scope.values[0] or "") if scope.values else ""
    node = context.moment.node or ""
    shown = pick(view, node, node in book or node.replace(".", "").isdigit())
    return ResultsShown(view, shown, None, words)


def build_chosen(reader: Reader, context: Context, scope: PanelScope) -> ResultsShown | None:
    """The same with the last tuples of the query shown, and its answer."""
    view, run = build(reader, context, scope), context.run
    row = None if view is None else view.chosen
    if view is None or run is None or row is None:
        return view
    results = reader.results(run.id, row.name, N_TUPLES, context.batch)
    last = [result for result in results if result.batch >= row.since]
    schemas = {input.name: input.schema for input in run.inputs}
    stream = last[0].input if last else ""
    schema = schemas.get(stream, next(iter(schemas.values()), []))
    tuples = build_tuples(row.name, last, schema)
    tick_us = tick_length_us(Book(reader.entities(run.id, context.batch)), row.unit_id, run.inputs)
    return view._replace(tuples=tuples, answer=_answer(reader, context, row, last), tick_us=tick_us)


def _answer(
    reader: Reader, context: Context, row: QueryRow, results: Sequence[StoredResult]
) -> AnswerView:
    run, batch = context.run_id, context.batch
    keys = [(row.entity, name) for name in CHANGES]
    since = None if batch is None else max(0, batch - N_BATCHES + 1)
    is_relation, stored = row.answers == RELATION, None
    if is_relation:
        stored = reader.matrix(run, relation_name(row.name), batch, row.unit_id)
    if since is not None and stored is not None and rows_in(stored.matrix):
        since = min(since, stored.batch)
    series = reader.many_series(run, keys, since_batch=since, until_batch=batch)
    return build_answer(row.entity, is_relation, results, series, row.size, batch, stored)


_OVER: Final = {"ended": "has ended", "interrupted": "was interrupted", "failed": "has failed"}


def why_not(sheet: Sheet) -> str:
    """Why queries cannot be changed here and now; '' when they can."""
    context = sheet.context
    if sheet.read_only:
        return sheet.read_only
    if not context.running:
        state = context.run.state if context.run else "ended"
        return f"This run {_OVER.get(state, 'is over')}: its queries are history."
    if context.mode == "frozen":
        return "Frozen: resume (space) to change queries."
    return "" if context.mode == "live" else "Showing the past: jump to now (.) to change queries."


def draw_list(shown: ResultsShown, sheet: Sheet) -> Drawing:
    """The queries, most matches first."""
    body = draw_queries(shown.results, sheet.context, shown.query, shown.words)
    marked = html.Div(body, **attrs(data_why_not=why_not(sheet)))
    return Drawing(marked, note=_headline(shown.results))


def draw_chosen(shown: ResultsShown, sheet: Sheet) -> Drawing:
    """The chosen query: text, actions, last tuples."""
    parts = shown.chosen, shown.tuples, shown.answer
    return Drawing(draw_query(*parts, sheet.context, why_not(sheet), shown.tick_us))


def draw_asked(shown: ResultsShown, sheet: Sheet) -> Drawing:
    """The button of the form, and what became of the last requests."""
    note = "it joins the plan at the next batch"
    return Drawing(draw_requests(shown.results, why_not(sheet)), note=note)


def draw_aside(shown: ResultsShown, sheet: Sheet) -> Drawing:
    """Tuples kept aside."""
    note = "tuples kept aside: they do not fit the schema, or no query could take them"
    return Drawing(draw_misfits(shown.results), note=note)


def _headline(view: ResultsView) -> str:
    registered = f"{show(len(view.queries), 'int')} registered"
    return f"{registered} · {show(view.n_tuples, 'int')} tuples taken in so far"


def _filter(context: Context, services: Services) -> list[Component]:
    return [draw_filter()]


def _form(context: Context, services: Services) -> list[Component]:
    return [draw_register(context)]


def _applies(facts: RunFacts) -> bool:
    return facts.running or "query" in facts.roles


def _panel(
    name: str,
    title: str,
    draw: Callable[[ResultsShown, Sheet], Drawing],
    build: Callable[[Reader, Context, PanelScope], ResultsShown | None] = build,
    **more: Any,
) -> Any:
    return Panel(
        name=name,
        page="/results",
        title=title,
        twin=False,
        build=build,
        draw=draw,
        applies=_applies,
        news=("queries", "commands", "misfits", "run"),
        beats=True,
        **more,
    )


PANELS: Final[tuple[Panel[ResultsShown], ...]] = (
    _panel(
        "queries",
        "Queries",
        draw_list,
        sql=records.RESULTS,
        className="pw-results-queries",
        values=True,
        controls=_filter,
        inputs=(Input(FILTER, "value"),),
    ),
    _panel("query", "", draw_chosen, build_chosen, side=True),
    _panel(
        "requests", "Register a query", draw_asked, side=True, controls=_form, sql=records.REQUESTS
    ),
    _panel("misfits", "Misfits", draw_aside, side=True, sql=records.MISFITS),
)
