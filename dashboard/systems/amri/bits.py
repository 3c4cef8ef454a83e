"""The bit budget on the Index page: cells of bits, strips of partitions, and what is asked."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.badges import badge
from dashboard.components.drawn import NAMESPACE, Drawn, knob_row
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
from dashboard.systems.amri.recorded import windows_by_state
from dashboard.systems.amri.tried_view import (
    AT,
    BITS,
    WORK,
    AskedIndex,
    EarnedBits,
    bits_by_attribute,
    earned_bits,
    moved_words,
)
from dashboard.views.book import Book
from storage.reader import Reader
from storage.vocabulary.amri_costs import Bits
from storage.vocabulary.records import Knob

PAGE: Final = "/index-bits"
NOTE: Final = (
    "a cell for each bit of an index: drag it to another attribute; below, partitions, oldest left"
)
#: Colours of cells; they come again.
N_COLOURS: Final = 6
#: Cells of a strip that have room for the name of their attribute.
MOST_NAMED: Final = 24
#: Partitions of a state that are drawn, the newest; all are in the table.
MOST_STRIPS: Final = 32


class BitStrip(Drawn):
    """The bits of a state as cells that can be moved (bit_strip.js). disabled: why they cannot be
    pinned, or ''."""

    _namespace = NAMESPACE
    _type = "BitStrip"
    _names = ("run", "view", "disabled")


class ShownState(NamedTuple):
    """A state. draft: its bits as moved by hand, None = they are not; price: what they would cost.
    earned: what bits earn, of these; stretch: batches it is all known from, as the address has
    them. knob: that pins bits."""

    state: StateBits
    draft: Bits | None
    price: str
    earned: tuple[EarnedBits, ...]
    stretch: str
    knob: Knob | None


def build(reader: Reader, context: Context, scope: PanelScope) -> list[ShownState] | None:
    """The states of the unit as of the moment; bits of the address are of the one it names."""
    asked = AskedIndex.read(context.moment.show)
    windows = windows_by_state(reader, context, scope, asked.stretch)
    knob = knobs_of(reader, context.run_id, context.batch, scope).get("pinned_bits")
    stretch = "-".join("" if end is None else str(end) for end in asked.stretch)
    shown = []
    for state in read_states(reader, context, scope):
        own, n = windows.get(state.id, []), len(state.attributes)
        bits = asked.bits(n) if state.name == asked.state else None
        draft = None if bits == state.bits else bits
        price = "" if draft is None else moved_words(own, state.attributes, draft)
        earned = earned_bits(own, state.attributes, draft or state.bits) if own else ()
        shown.append(ShownState(state, draft, price, tuple(earned), stretch, knob))
    return shown or None


def read_states(reader: Reader, context: Context, scope: PanelScope) -> list[StateBits]:
    """The states of the unit as of the moment."""
    run, at = context.run_id, context.batch
    return build_states(
        Book(reader.entities(run, at), scope.unit),
        reader.values(run, at),
        newest_matrices(reader, run, PARTITIONS, at, scope),
        newest_matrices(reader, run, PATTERNS, at, scope),
        knobs_of(reader, run, at, scope),
    )


def draw(shown: list[ShownState], sheet: Sheet) -> Drawing:
    """A section for each state; the table twin: one row for a partition."""
    several = len({of.state.eddy for of in shown}) > 1
    body = html.Div([_state(of, several, sheet) for of in shown], className="pw-bits")
    table = _table([of.state for of in shown], sheet.context)
    return Drawing(static(body), table=table, note=NOTE)


def _state(shown: ShownState, several: bool, sheet: Sheet) -> Component:
    bits, context = shown.state, sheet.context
    of = [html.Span(f" in {bits.eddy}", className="pw-dim")] if several else []
    title = jump(context, bits.name, path="/plan", node=bits.id, className="pw-link")
    head = html.Header([html.H3([title, *of]), html.P([*_facts(bits)])], className="pw-bits-head")
    strip = BitStrip(run=context.run_id, view=_strip_view(shown), disabled=sheet.locked)
    left = html.Div([strip, *_strips(bits)], className="pw-bits-drawn")
    right = html.Div(_asked(bits, context), className="pw-bits-asked")
    columns = html.Div([left, right], className="pw-bits-columns")
    return html.Section(
        [head, columns, *_earned(shown)],
        **attrs(data_state=bits.id, aria_label=f"State {bits.name}"),
    )


def _strip_view(shown: ShownState) -> dict[str, Any]:
    """Cells are lettered while there is room."""
    bits = shown.state
    budget = max(bits.budget or 0, bits.spent)
    return {
        "state": bits.name,
        "input": bits.input,
        "attributes": list(bits.attributes),
        "bits": list(bits.bits),
        "draft": None if shown.draft is None else list(shown.draft),
        "price": shown.price,
        "budget": budget,
        "named": max(budget, sum(shown.draft or ())) <= MOST_NAMED,
        "stretch": shown.stretch,
        "knob": None if shown.knob is None else knob_row(shown.knob),
        "at": AT,
        "method": BITS,
    }


_EARNED: Final = (
    TableColumn("Attribute"),
    TableColumn("Bits", "int"),
    TableColumn("Asked for", "pct", "", "share of the requests that specify it"),
    TableColumn("Last bit saves", "f2", "a request", WORK),
    TableColumn("Without it", "f2", "a request", "work that a request would cost more"),
    TableColumn("One more saves", "f2", "a request", WORK),
    TableColumn("Verdict"),
)
_WASTED: Final = {"wasted": "warning", "missing": "switch"}


def _earned(shown: ShownState) -> list[Component]:
    rows: list[list[CellData]] = [
        [
            line.attribute,
            line.bits,
            {"text": line.asked, "bar": line.asked},
            known(line.last, "it has no bit"),
            line.loss,
            known(line.next, "there are no more bits"),
            {"badges": [[line.verdict, _WASTED[line.verdict]]], "sort": 1} if line.verdict else "",
        ]
        for line in shown.earned
    ]
    words = "What each attribute's bits earn" + ", as moved" * (shown.draft is not None)
    return [html.Div(RowTable(words, _EARNED, rows), className="pw-bits-asked")] if rows else []


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


def _colour(place: int) -> str:
    return f"pw-bit pw-cell-{place % N_COLOURS}"


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
        f"Partition {partition.number}: {bits_by_attribute(bits.attributes, partition.bits)};"
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
            bits_by_attribute(state.attributes, partition.bits),
            sum(partition.bits),
            "the same"
            if partition.bits == state.bits
            else bits_by_attribute(state.attributes, state.bits),
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
    show=True,
    unit=True,
)
