"""SQL: one SELECT on the store, its answer as a table and as files; queries people saved."""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.base.prefix import below
from dashboard.components.attributes import attrs
from dashboard.components.formats import show
from dashboard.components.links import saved_link
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.components.states import empty
from dashboard.panels.common.sql_chart import draw_chart
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.serving.services import Services
from storage.reader import Reader
from storage.reading.sql import MOST_ROWS, TIME_S, SqlAnswer, SqlRefused
from storage.tables.schema import METADATA

#: Rows on the page; files have all.
SHOWN: Final = 500
LONGEST_CELL: Final = 300
FORM: Final = "pw-sql-form"
EXAMPLES: Final = {
    "Newest values": "SELECT s.entity_id, s.property, l.value, s.unit\n"
    "FROM latest l JOIN series s ON s.id = l.series_id\n"
    "WHERE s.run_id = :run ORDER BY s.entity_id, s.property",
    "Switches and what they brought": "SELECT d.unit_id, d.seq, d.batch, d.lhs, d.relation, d.rhs,"
    " d.n,\n       d.predicted_old, d.predicted_new, o.actual_new, o.counterfactual_old\n"
    "FROM decisions d LEFT JOIN decision_outcomes o\n"
    "  ON o.run_id = d.run_id AND o.unit_id = d.unit_id AND o.decision = d.seq\n"
    "WHERE d.run_id = :run AND d.verdict = 'switched' AND d.batch <= :at ORDER BY d.batch",
    "Who turned what": "SELECT c.id, c.actor, c.reason, c.payload, a.state, a.applied_batch,"
    " a.answer\nFROM commands c LEFT JOIN command_answers a ON a.command = c.id\n"
    "WHERE c.run_id = :run ORDER BY c.id",
    "Slowest batches": "SELECT id, duration_ms, n_tuples, n_matched, timings_ms\n"
    "FROM batches WHERE run_id = :run AND id <= :at ORDER BY duration_ms DESC LIMIT 20",
}


class SavedQuery(NamedTuple):
    """A query with a name. id: of the command that saved it, None = an example."""

    name: str
    text: str
    id: int | None = None


class SqlView(NamedTuple):
    """What was asked, and the answer or why there is none. at: the batch :at stands for."""

    text: str
    run: str
    at: int | None
    saved: list[SavedQuery]
    answer: SqlAnswer | None
    refusal: str


def build(reader: Reader, context: Context, scope: PanelScope) -> SqlView:
    """The answer of the query in the address."""
    text = (context.moment.show or "").strip()
    run, at = context.run_id, context.batch
    noted = reader.noted("sql")
    saved = [
        SavedQuery(str(note.payload["name"]), str(note.payload["body"].get("text", "")), note.id)
        for note in noted
    ]
    if not text:
        return SqlView("", run, at, saved, None, "")
    try:
        answer = reader.ask(text, {"run": run, "at": at})
    except SqlRefused as error:
        return SqlView(text, run, at, saved, None, str(error))
    return SqlView(text, run, at, saved, answer._replace(took_s=0.0), "")


def draw(view: SqlView, sheet: Sheet) -> Drawing:
    """The form, the saved queries, the answer."""
    body = [_shelf(view, sheet.context, sheet.read_only), _meaning(view), *_answer(view)]
    note = f"reads only, for {TIME_S:g} s and {show(MOST_ROWS, 'int')} rows at most"
    return Drawing(html.Div(body, className="pw-sql"), note=note)


def _controls(context: Context, services: Services) -> list[Component]:
    locked = services.why_no_control
    box = html.Textarea(
        context.moment.show or "",
        id="pw-sql-text",
        name="text",
        className="pw-input pw-cql-box",
        placeholder="SELECT … FROM … WHERE run_id = :run AND batch_id <= :at",
        spellCheck="false",
        rows=6,
    )
    buttons = [
        html.Button("Run", type="submit", className="pw-button pw-primary", title="Ctrl Enter"),
        html.Button(
            "Save as …",
            type="button",
            className="pw-button",
            disabled=bool(locked),
            title=locked or "Keep this query under a name",
            **attrs(data_pw_sql_save="1"),
        ),
        html.Span("", id="pw-sql-said", className="pw-dim", role="status"),
    ]
    label = html.Label("One SELECT on the store", htmlFor="pw-sql-text")
    send = html.Div(buttons, className="pw-query-send")
    hints = html.Div(id="pw-sql-hints", className="pw-chips", hidden=True)
    form = html.Form([label, box, hints, send], id=FORM, className="pw-sql-form")
    return [html.Div([form, _tables()], className="pw-sql-top")]


def _tables() -> Component:
    """All tables with their columns; a click on a name puts it in, see modules/page_sql.js."""
    tables = [
        html.Details(
            [html.Summary(table.name), html.Div([_name(table.name), *map(_name, table.c.keys())])]
        )
        for table in sorted(METADATA.tables.values(), key=lambda table: table.name)
    ]
    return html.Div(tables, className="pw-sql-tables", role="group", **attrs(aria_label="Tables"))


def _name(name: str) -> Component:
    title = f"Put {name} into the query"
    return html.Button(name, type="button", title=title, **attrs(data_pw_sql_name=name))


def _meaning(view: SqlView) -> Component:
    at = "—" if view.at is None else str(view.at)
    words: list[Any] = [html.Code(":run"), f" is {view.run}, ", html.Code(":at"), f" is batch {at}"]
    return html.P(words, className="pw-dim")


def _shelf(view: SqlView, context: Context, locked: str) -> Component:
    examples = [SavedQuery(name, text) for name, text in EXAMPLES.items()]
    links = [
        saved_link(
            context,
            "the query",
            query.name,
            query.text,
            None if locked else query.id,
            query.text == view.text,
        )
        for query in (*examples, *view.saved)
    ]
    return html.Nav(links, className="pw-chips", **attrs(aria_label="Queries to start from"))


def _answer(view: SqlView) -> list[Component]:
    if view.refusal:
        return [html.P([html.B("Refused: "), view.refusal], className="pw-notice", role="alert")]
    answer = view.answer
    if answer is None:
        words = "Write a query, or take one from above. Tables and columns are beside the field."
        return [empty("Nothing was asked yet", words)]
    columns = tuple(TableColumn(name, _form_of(answer, i)) for i, name in enumerate(answer.columns))
    rows = [[_cell(value) for value in row] for row in answer.rows[:SHOWN]]
    n = len(answer.rows)
    counted = f"{show(n, 'int')} rows"
    more = f"the first {counted}, there are more" if answer.is_cut else counted
    table = RowTable(f"Answer: {more}", columns, rows, total=n)
    which = f"these {show(n, 'int')}" if answer.is_cut else "all"
    files = [_file(view, which, ending) for ending in ("csv", "parquet")]
    drawn = draw_chart(answer)
    return [html.Div(files, className="pw-chips"), *([drawn] if drawn else []), table]


def _form_of(answer: SqlAnswer, place: int) -> Any:
    """Numbers stand right and are written as they are."""
    values = [row[place] for row in answer.rows[:SHOWN] if row[place] is not None]
    return "text" if values and all(isinstance(value, int | float) for value in values) else None


def _cell(value: object) -> CellData:
    if value is None or isinstance(value, int | float):
        return value
    text = value.hex() if isinstance(value, bytes) else str(value)
    cut = f"{text[:LONGEST_CELL]}…" if len(text) > LONGEST_CELL else text
    return {"text": cut, "code": True} if text[:1] in ("{", "[") else cut


def _file(view: SqlView, which: str, ending: str) -> Component:
    given = {"text": view.text, "run": view.run, "format": ending}
    if view.at is not None:
        given["at"] = str(view.at)
    words = {"csv": "CSV", "parquet": "Parquet"}[ending]
    return html.A(
        f"Save {which} rows as {words}",
        href=below(f"/api/v1/sql?{urlencode(given)}"),
        className="pw-button",
        download=f"planwatch.{ending}",
    )


PANEL: Final = Panel(
    name="sql",
    page="/sql",
    title="SQL",
    twin=False,
    build=build,
    draw=draw,
    news=("commands",),
    show=True,
    controls=_controls,
)
