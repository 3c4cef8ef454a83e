"""The run shown, in its parts: the streams it reads with their state, the units that work in it."""

from __future__ import annotations

from typing import Final, NamedTuple

from dash import html

from dashboard.base.context import Context
from dashboard.components.intakes import intake_buttons
from dashboard.components.kinds import tone_of
from dashboard.components.names import term
from dashboard.components.rows import CellData, RowTable, TableColumn, drawn, jump_to, known
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, RunFacts, Sheet
from dashboard.views.inputs import InputLine, UnitLine, input_rows, unit_rows
from storage.reader import Reader
from storage.vocabulary.records import InputBatch

_INPUTS: Final = (
    TableColumn("Input"),
    TableColumn("State"),
    TableColumn("Tuples", "int", "", "in the batch shown"),
    TableColumn("Misfits", "int", "", "kept aside in the batch shown"),
    TableColumn("Backlog", "int", "tuples", "arrived and waiting for a batch"),
    TableColumn("Stream time"),
    TableColumn("Attributes", "int"),
    TableColumn("Note"),
    TableColumn("Turn"),
)
_UNITS: Final = (
    TableColumn("Unit"),
    TableColumn("System"),
    TableColumn("Reads"),
    TableColumn("Queries", "int"),
)


class InputsShown(NamedTuple):
    """Inputs and units of the run shown."""

    inputs: list[InputLine]
    units: list[UnitLine]


def build(reader: Reader, context: Context, scope: PanelScope) -> InputsShown | None:
    """The parts of the run of the moment."""
    run, at = context.run_id, context.batch
    if context.run is None:
        return None
    inputs = reader.inputs(run)
    counts: dict[str, InputBatch] = {}
    for input in inputs:
        input_batches = reader.input_batches(run, input.input.name, until=at, limit=1)
        counts |= {stored.counts.input: stored.counts for stored in input_batches}
    entities = reader.entities(run, at)
    sources = {entity.name: entity.id for entity in entities if entity.role == "source"}
    rows = input_rows(inputs, counts, sources, reader.knobs(run, at), context.batch == context.now)
    return InputsShown(rows, unit_rows(scope.units))


def draw(parts: InputsShown, sheet: Sheet) -> Drawing:
    """Two tables."""
    rows = [_input(row, sheet) for row in parts.inputs]
    tables = [
        RowTable(
            "Inputs, as of the batch shown", _INPUTS, rows, keys=[row.name for row in parts.inputs]
        )
    ]
    if parts.units:
        units = [_unit(row, sheet.context) for row in parts.units]
        tables.append(RowTable("Units", _UNITS, units, keys=[row.id for row in parts.units]))
    return Drawing(html.Div(tables, className="pw-twin-tables"), note=sheet.context.run_id)


def _input(row: InputLine, sheet: Sheet) -> list[CellData]:
    context = sheet.context
    missing = "no batch yet"
    title = "On the plan, with its knobs"
    link = {"text": row.name, "title": title, "jump": jump_to(context, "/plan", node=row.source)}
    return [
        link if row.source else row.name,
        {"badges": [[row.state, tone_of(row.state)]], "sort": row.state},
        known(row.tuples, missing),
        known(row.misfits, missing),
        known(row.backlog, "not known for this source"),
        row.stream_time,
        row.n_attributes,
        row.note,
        drawn(_turns(row, sheet), row.intake),
    ]


def _turns(row: InputLine, sheet: Sheet) -> html.Span:
    """Its buttons, where it can be changed at all."""
    buttons = intake_buttons(row.name, row.source, row.intake, sheet.locked) if row.intake else []
    return html.Span(buttons, className="pw-intake")


def _unit(row: UnitLine, context: Context) -> list[CellData]:
    link = jump_to(context, "/decisions", unit=row.id)
    return [
        {"text": row.title, "jump": link},
        drawn(term(row.system), row.system),
        row.inputs,
        row.n_queries,
    ]


def _applies(facts: RunFacts) -> bool:
    return bool(facts.roles)


PANEL: Final = Panel(
    name="inputs",
    page="/",
    title="Inputs and units",
    sql=records.INPUT_BATCHES,
    twin=False,
    build=build,
    draw=draw,
    applies=_applies,
    news=("run", "plans", "knobs", "commands"),
    beats=True,
)
