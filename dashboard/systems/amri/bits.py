"""The bit budget on the Index page: cells of bits, strips of partitions, and what is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.badges import badge
from dashboard.components.formats import show
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to, known
from dashboard.components.static import static
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.panels.facts import knobs_of, newest_matrices
from dashboard.systems.amri.bits_view import (
    PARTITIONS,
    PATTERNS,
    PartitionBits,
    PatternLine,
    StateBits,
    build_states,
)
from dashboard.views.book import Book
from storage.reader import Reader

PAGE: Final = "/index-bits"
NOTE: Final = "a cell for each bit of an index; below, a strip for each partition, oldest left"
#: Colours of cells; they come again.
N_COLOURS: Final = 6
#: Cells of a strip that have room for the name of their attribute.
MOST_NAMED: Final = 24
#: Partitions of a state that are drawn, the newest; all are in the table.
MOST_STRIPS: Final = 32


def build(reader: Reader, context: Context, scope: PanelScope) -> list[StateBits] | None:
    """The states of the unit as of the moment."""
    run, at = context.run_id, context.batch
    states = build_states(
        Book(reader.entities(run, at), scope.unit),
        reader.values(run, at),
        newest_matrices(reader, run, PARTITIONS, at, scope),
        newest_matrices(reader, run, PATTERNS, at, scope),
        knobs_of(reader, run, at, scope),
    )
    return states or None


def draw(states: list[StateBits], sheet: Sheet) -> Drawing:
    """A section for each state; the table twin: one row for a partition."""
    several = len({state.eddy for state in states}) > 1
    body = html.Div(
        [_state(state, several, sheet.context) for state in states], className="pw-bits"
    )
    return Drawing(static(body), table=_table(states, sheet.context), note=NOTE)


def _state(bits: StateBits, several: bool, context: Context) -> Component:
    of = [html.Span(f" in {bits.eddy}", className="pw-dim")] if several else []
    title = jump(context, bits.name, path="/plan", node=bits.id, className="pw-link")
    head = html.Header([html.H3([title, *of]), html.P([*_facts(bits)])], className="pw-bits-head")
    left = html.Div([_legend(bits), _in_force(bits), *_strips(bits)], className="pw-bits-drawn")
    right = html.Div(_asked(bits, context), className="pw-bits-asked")
    columns = html.Div([left, right], className="pw-bits-columns")
    return html.Section(
        [head, columns], **attrs(data_state=bits.id, aria_label=f"State {bits.name}")
    )


def _facts(bits: StateBits) -> list[Component | str]:
    """What the state holds, in a line; what is still to migrate."""
    own, of = bits.values, f" of {bits.budget}" if bits.budget is not None else ""
    parts = [f"{bits.spent}{of} bits"]
    for name, form, words in (
        ("state_tuples", "int", "tuples"),
        ("index_bytes", "bytes", "of index"),
        ("buckets_per_request", "f2", "buckets visited"),
        ("compared_per_request", "f2", "tuples compared a request"),
    ):
        if own.get(name) is not None:
            parts.append(f"{show(own[name], form)} {words}")  # type: ignore[arg-type]  # forms above
    words_shown: list[Component | str] = [" · ".join(parts)]
    if bits.migrating:
        n = len(bits.partitions)
        words_shown += [
            " ",
            badge(f"{bits.migrating} of {n} partitions still to migrate", "switch"),
        ]
    return words_shown


def _legend(bits: StateBits) -> Component:
    items = [
        html.Li([html.I(className=_colour(place)), html.B(name), f" {bits_words(n)}"])
        for place, (name, n) in enumerate(zip(bits.attributes, bits.bits, strict=True))
    ]
    free = (bits.budget or 0) - bits.spent
    if free > 0:
        items.append(html.Li([html.I(className="pw-bit-free"), f"{bits_words(free)} not spent"]))
    return html.Ul(items, className="pw-bits-legend")


def bits_words(n: int) -> str:
    """'1 bit', '3 bits'."""
    return f"{n} bit" if n == 1 else f"{n} bits"


def _colour(place: int) -> str:
    return f"pw-bit pw-cell-{place % N_COLOURS}"


def _in_force(bits: StateBits) -> Component:
    """A cell for each bit of the budget, lettered while there is room."""
    named = max(bits.budget or 0, bits.spent) <= MOST_NAMED
    cells = [
        html.I(bits.attributes[place] if named else None, className=_colour(place))
        for place, n in enumerate(bits.bits)
        for _ in range(n)
    ]
    cells += [html.I(className="pw-bit-free")] * max(0, (bits.budget or 0) - bits.spent)
    label = f"Bits in force: {_spread(bits.attributes, bits.bits)}"
    return html.Div(
        cells, className="pw-bits-strip", role="img", title=label, **attrs(aria_label=label)
    )


def _spread(attributes: Sequence[str], bits: Sequence[int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in zip(attributes, bits, strict=True)) or "none"


def _strips(bits: StateBits) -> list[Component]:
    shown = bits.partitions[-MOST_STRIPS:]
    if not shown:
        return []
    left_out = len(bits.partitions) - len(shown)
    words = f"The newest {len(shown)} of {len(bits.partitions)} partitions; all are in the table."
    strips = html.Ul(
        [_strip(bits, partition) for partition in shown],
        className="pw-bits-partitions",
        **attrs(aria_label=f"Partitions of {bits.name}, oldest first"),
    )
    return [strips, *([html.P(words, className="pw-dim")] if left_out else [])]


def _strip(bits: StateBits, partition: PartitionBits) -> Component:
    cells = [
        html.I(className=_colour(place)) for place, n in enumerate(partition.bits) for _ in range(n)
    ]
    label = (
        f"Partition {partition.number}: {_spread(bits.attributes, partition.bits)};"
        f" {show(partition.tuples, 'int')} tuples{', still to migrate' * partition.migrating}"
    )
    column = html.Div(cells, role="img", title=label, **attrs(aria_label=label))
    number = html.Span(partition.number, className="pw-bits-number")
    moves = [html.Span("migrates", className="pw-bits-moves")] if partition.migrating else []
    data = attrs(data_partition=partition.number, data_migrating=int(partition.migrating))
    return html.Li([column, number, *moves], **data)


_ASKED: Final = (
    TableColumn("Pattern", None, "", "the attributes a request has values of; * = any"),
    TableColumn("Requests", "si"),
    TableColumn("Share", "pct"),
    TableColumn("Reported", "pct", "", "share that the last assessment reported"),
    TableColumn("Expected", "pct", "", "share that the routes in force lead to"),
    TableColumn("Compared", "f2", "a request", "tuples"),
    TableColumn("Matched", "f2", "a request", "tuples"),
    TableColumn("Buckets", "f2", "a request"),
)
_UNREPORTED: Final = "not reported: too rare, or not assessed yet"


def _asked(bits: StateBits, context: Context) -> Component:
    if not bits.patterns:
        words = "Nothing was asked of this state since its last assessment."
        return html.P(words, className="pw-dim")
    rows = [_pattern(line) for line in bits.patterns]
    since = "" if bits.asked in (None, context.batch) else f", as of batch {bits.asked}"
    return RowTable(f"What {bits.name} is asked{since}", _ASKED, rows)


def _pattern(line: PatternLine) -> list[CellData]:
    return [
        {"text": line.pattern, "code": True},
        line.requests,
        {"text": line.share, "bar": line.share},
        known(line.reported, _UNREPORTED),
        line.predicted,
        line.compared,
        line.matched,
        line.buckets,
    ]


def _table(states: list[StateBits], context: Context) -> Component:
    columns = (
        TableColumn("State"),
        TableColumn("Partition", "int"),
        TableColumn("Tuples", "int"),
        TableColumn("Bits by attribute"),
        TableColumn("Bits", "int"),
        TableColumn("Bits in force"),
        TableColumn("Migrates"),
    )
    rows: list[list[CellData]] = [
        [
            {
                "text": state.name,
                "sub": state.eddy,
                "jump": jump_to(context, "/plan", node=state.id),
            },
            int(partition.number),
            partition.tuples,
            _spread(state.attributes, partition.bits),
            sum(partition.bits),
            "the same" if partition.bits == state.bits else _spread(state.attributes, state.bits),
            {"badges": [["still to migrate", "switch"]], "sort": 1} if partition.migrating else "",
        ]
        for state in states
        for partition in state.partitions
    ]
    return RowTable("Partitions, oldest first", columns, rows)


PANEL: Final = Panel(
    name="bit-budget",
    page=PAGE,
    title="Bit budget",
    sql=records.matrices(PARTITIONS, PATTERNS),
    build=build,
    draw=draw,
    applies=has_matrix(PARTITIONS),
    values=True,
    news=("run", "plans", "matrices", "decisions", "knobs"),
    beats=True,
    unit=True,
)
