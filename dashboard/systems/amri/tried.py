"""What if this index had been there: another one on the requests on record; taking it live."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.badges import badge
from dashboard.components.drawn import PanelDrawing, knob_row
from dashboard.components.formats import show
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.components.static import static
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_matrix
from dashboard.panels.facts import knobs_of
from dashboard.systems.amri.bits import PAGE, read_states
from dashboard.systems.amri.bits_view import PATTERNS, StateBits
from dashboard.systems.amri.recorded import windows_by_state
from dashboard.systems.amri.tried_figure import HEIGHT_PX, draw_windows
from dashboard.systems.amri.tried_view import (
    AT,
    BITS,
    EVEN,
    HASH,
    METHODS,
    MIN_GAIN,
    MIX,
    N_MODULES,
    RETUNED,
    WORK,
    AskedIndex,
    TriedIndex,
    apart_words,
    bits_by_attribute,
    index_words,
    tried_index,
)
from storage.reader import Reader
from storage.vocabulary.records import Knob

DRAWING: Final = "pw-index-whatif-drawing"
#: Knobs that put an index there.
KNOBS: Final = (
    *("pinned_bits", "index_bits", "access", "hash_indexes", "index_pool_bytes"),
    *("selection", "tuning_schedule", "period_requests"),
)
UNIT: Final = "a request"


class IndexWhatIf(PanelDrawing):
    """The choice of state, index and stretch, and taking it live (index_whatif.js)."""

    _type = "IndexWhatIf"


class TriedState(NamedTuple):
    """A state with an index that is tried. names: of all states that can be; knobs: by name."""

    state: StateBits
    names: tuple[str, ...]
    tried: TriedIndex
    knobs: Mapping[str, Knob]
    is_asked: bool


def build(reader: Reader, context: Context, scope: PanelScope) -> TriedState | None:
    """The state and index of the address, else the first state with the bits it has."""
    asked = AskedIndex.read(context.moment.show)
    windows = windows_by_state(reader, context, scope, asked.stretch)
    states = [state for state in read_states(reader, context, scope) if state.id in windows]
    if not states:
        return None
    state = next((state for state in states if state.name == asked.state), states[0])
    if state.name != asked.state:
        asked = AskedIndex(stretch=asked.stretch)
    knobs = knobs_of(reader, context.run_id, context.batch, scope)
    budget = state.budget if state.budget is not None else state.spent
    min_gain = float(knobs["min_gain"].value) if "min_gain" in knobs else MIN_GAIN
    tried = tried_index(windows[state.id], asked, state.bits, budget, min_gain)
    names = tuple(state.name for state in states)
    turned = {name: knob for name, knob in knobs.items() if name in KNOBS}
    return TriedState(state, names, tried, turned, asked.stretch != (None, None))


def draw(view: TriedState, sheet: Sheet) -> Drawing:
    """A sentence, bars of what each would have cost, and both over the batches; the table twin: a
    row for a window."""
    tried, words = view.tried, index_words(view.tried, view.state.attributes)
    work = html.Span(f" Work: {WORK}.", className="pw-dim")
    sentence = html.P([_sentence(view, words), work], className="pw-tried-words")
    body = html.Div([sentence, _bars(view)], className="pw-tried")
    first, last = tried.windows[0].first, tried.windows[-1].last
    n = show(tried.requests, "si")
    return Drawing(
        body=static(body),
        figure=draw_windows(tried, sheet.theme),
        height=HEIGHT_PX,
        table=_table(view),
        note=[badge("estimated"), f" from {n} requests of batches {first} to {last}"],
        sets=(sheet.context.run_id, _sent(view), sheet.locked),
    )


def _sentence(view: TriedState, words: str) -> str:
    tried = view.tried
    if tried.method == BITS and all(row.bits == tried.bits for row in tried.windows):
        return f"{view.state.name} had {words} all the time; change them above to try others."
    return f"With {words}, {apart_words(tried.tried, tried.spent, tried.requests)}."


def _lines(view: TriedState) -> list[tuple[str, str, str, float]]:
    """Name, words, title and work of all requests, of what is compared."""
    tried, names = view.tried, view.state.attributes
    spread = bits_by_attribute(names, tried.fixed_bits)
    within = f"of at most {tried.budget} bits"
    return [
        ("spent", "spent", "measured, migrations among it", tried.spent),
        ("tried", "this index", index_words(tried, names), tried.tried),
        ("fixed", "best fixed bits", f"{spread}; {within}, in hindsight", tried.fixed),
        ("sequence", "best sequence", f"of bits {within}, migrations paid", tried.sequence),
        ("even", "even split", f"{tried.budget} bits, evenly", tried.even),
        ("hash", "hash indexes", "on the most frequent patterns", tried.hashed),
        ("scan", "scan", "every tuple is compared", tried.scan),
    ]


def _bars(view: TriedState) -> Component:
    """Bars to scale, a scan cut off where the others would not be seen beside it."""
    lines, requests = _lines(view), max(1, view.tried.requests)
    top = max(cost for name, _, _, cost in lines if name in ("spent", "tried", "fixed", "even"))
    rows = []
    for name, words, title, cost in lines:
        part = min(1.0, cost / top) if top else 0.0
        cut = " pw-tried-cut" if top and cost > top * 1.0001 else ""
        rows.append(
            html.Li(
                [
                    html.Span(words, className="pw-regret-name"),
                    html.Span(
                        html.I(
                            className=f"pw-regret-bar pw-tried-{name}{cut}",
                            style={"width": f"{100 * part:.2f}%"},
                        ),
                        className="pw-tried-track",
                    ),
                    html.B(show(cost / requests, "f2")),
                    html.Span(title, className="pw-dim"),
                ],
                **attrs(data_index=name, data_cost=f"{cost / requests:.6g}"),
            )
        )
    return html.Ul(rows, **attrs(aria_label=f"Work {UNIT}"))


def _sent(view: TriedState) -> dict[str, Any]:
    state, tried = view.state, view.tried
    return {
        "state": state.name,
        "input": state.input,
        "states": list(view.names),
        "attributes": list(state.attributes),
        "in_force": list(state.bits),
        "method": tried.method,
        "methods": list(METHODS),
        "bits": list(tried.bits),
        "modules": len(tried.modules) if tried.method == HASH else N_MODULES,
        "kib": tried.made.kib,
        "every": tried.made.every,
        "budget": tried.budget,
        "most_modules": (1 << len(state.attributes)) - 1,
        "stretch": [tried.windows[0].first, tried.windows[-1].last],
        "is_asked": view.is_asked,
        "knobs": {name: knob_row(knob) for name, knob in view.knobs.items()},
        "at": AT,
        "words": {"bits": BITS, "even": EVEN, "hash": HASH, "mix": MIX, "retuned": RETUNED},
    }


_COLUMNS: Final = (
    TableColumn("Batches"),
    TableColumn("Requests", "si"),
    TableColumn("Bits in force"),
    TableColumn("Spent", "f2", UNIT, f"{WORK}; tuples moved, too"),
    TableColumn("This index", "f2", UNIT),
    TableColumn("Apart", "pct", "", "what this index would have cost more; below 0: less"),
)


def _table(view: TriedState) -> Component:
    rows: list[list[CellData]] = [
        [
            {"text": f"{row.first}–{row.last}", "sort": row.first},
            row.requests,
            bits_by_attribute(view.state.attributes, row.bits),
            row.spent / row.requests,
            row.tried / row.requests,
            row.tried / row.spent - 1 if row.spent else None,
        ]
        for row in view.tried.windows[::-1]
    ]
    words = index_words(view.tried, view.state.attributes)
    return RowTable(f"{view.state.name} with {words}, newest first", _COLUMNS, rows)


PANEL: Final = Panel(
    name="index-whatif",
    page=PAGE,
    title="What if this index had been there",
    sql=records.matrices(PATTERNS),
    build=build,
    draw=draw,
    applies=has_matrix(PATTERNS),
    values=True,
    news=("run", "plans", "matrices", "decisions", "knobs"),
    beats=True,
    show=True,
    unit=True,
    chart="Work of a request over batches, as spent and with the index that is tried",
    controls=lambda context, services: [IndexWhatIf(DRAWING)],
    sets=IndexWhatIf.filled(DRAWING),
)
