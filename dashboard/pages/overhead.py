"""The overhead meter beside the p slider, on the Matrix page of pipelined filters."""

from __future__ import annotations

from typing import Any, Final

from dash import Dash, Input, Output, State, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from dashboard import context as contexts
from dashboard import ids
from dashboard.components.attributes import attrs
from dashboard.components.filters import ShareBar
from dashboard.components.formats import show
from dashboard.components.panels import panel
from dashboard.components.tiles import live_value, tile, tiles
from dashboard.context import Context
from dashboard.pages.knob_cards import draw_cards, is_locked
from dashboard.pages.parts import part, part_output, part_tree
from dashboard.services import Services
from dashboard.views.filters import PROFILE
from dashboard.views.overhead import Overhead, build_overhead, place

BAR: Final = "pw-overhead-bar"
WORDS: Final = "pw-overhead-words"
KNOB: Final = "profile_prob"
LABEL: Final = "Shares of the time"


def build(context: Context, services: Services) -> Overhead:
    """The meter at the moment."""
    reader, run, at = services.reader, context.run_id, context.batch
    knob = next((k for k in reader.knobs(run, at) if k.name == KNOB), None)
    return build_overhead(reader.values(run, at).get(PROFILE, {}), knob)


def layout(context: Context, services: Services) -> Component:
    """The panel: bars, what p is and could be, the knob."""
    found = build(context, services)
    reader = services.reader
    knobs = [k for k in reader.knobs(context.run_id, context.batch) if k.name == KNOB]
    locked = is_locked(services, context)
    cards = draw_cards(reader, context, knobs, locked, "overhead", compact=True)
    bars = [
        ShareBar(BAR, LABEL, PROFILE, found.shares, context.batch),
        part(WORDS, _words(found), "pw-overhead-words"),
    ]
    note = "Table 4.2, over the last 50 batches"
    return panel("Overhead", [*bars, html.H3("Turn p"), *cards], note=note, className="pw-overhead")


def register(app: Dash, services: Services, key: str) -> None:
    """Follow the store ``key`` of the page; while LIVE the bar follows the stream by itself."""

    @app.callback(
        Output(BAR, "parts"),
        Output(BAR, "batch"),
        part_output(WORDS),
        Input(key, "data"),
        State(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _follow(news: Any, moment: dict[str, Any] | None) -> tuple[Any, ...]:
        context = contexts.of(services.reader, moment)
        if context.run is None:
            raise PreventUpdate
        found = build(context, services)
        words = part_tree(WORDS, _words(found), "pw-overhead-words")
        return [list(one) for one in found.shares], context.batch, words


def _words(found: Overhead) -> list[Component]:
    boosted = "boosted after a change" if found.boosted else None
    shown = tiles(
        [
            tile(
                "p in force",
                live_value(PROFILE, "profile_prob_used", found.prob, "f3"),
                note=boosted,
                hint="share of tuples that become profile tuples",
            ),
            tile(
                "break-even p",
                live_value(PROFILE, "break_even_prob", found.break_even, "f3"),
                hint="p at which adapting costs what it saves against the first order",
            ),
            tile("adapting", show(found.adapting, "pct"), note="all but the tuples"),
        ]
    )
    return [shown, _scale(found), html.P(found.verdict)]


def _scale(found: Overhead) -> Component:
    """Both p on one logarithmic scale; purely visual, the tiles say the same."""
    marks = []
    for name, value in (("now", found.prob), ("even", found.break_even)):
        left = place(value)
        if left is not None:
            marks.append(html.I(className=f"pw-p-{name}", style={"left": f"{100 * left:.1f}%"}))
    ends = [html.Span("0.0001"), html.Span("p, log scale"), html.Span("1")]
    return html.Div(
        [html.Div(marks, className="pw-p-line"), html.Div(ends, className="pw-p-ends")],
        className="pw-p-scale",
        **attrs(aria_hidden=True),
    )
