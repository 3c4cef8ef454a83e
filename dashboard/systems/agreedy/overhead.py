"""The overhead meter of pipelined filters, beside the p slider."""

from __future__ import annotations

from typing import Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.formats import show
from dashboard.components.tiles import live_value, tile, tiles
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet, has_role
from dashboard.panels.facts import knobs_of
from dashboard.systems.agreedy.drawn import ShareBar
from dashboard.systems.agreedy.overhead_view import OverheadView, build_overhead, place
from dashboard.views.book import Book
from storage.reader import Reader

KNOB: Final = "profile_prob"


class Meter(NamedTuple):
    """The meter at a batch. profile: the entity whose numbers these are."""

    overhead: OverheadView
    profile: str
    batch: int | None


def build(reader: Reader, context: Context, scope: PanelScope) -> Meter:
    """The meter at the moment."""
    run, at = context.run_id, context.batch
    knob = knobs_of(reader, run, at, scope).get(KNOB)
    profile = Book(reader.entities(run, at), scope.unit).first("profile")
    overhead = build_overhead(reader.values(run, at).get(profile, {}), knob)
    return Meter(overhead, profile, at)


def draw(meter: Meter, sheet: Sheet) -> Drawing:
    """Bars and what p is and could be; while LIVE the bar follows the stream by itself."""
    shares = meter.overhead.shares
    bar = ShareBar("pw-overhead-bar", "Shares of the time", meter.profile, shares, meter.batch)
    words = html.Div(_words(meter), className="pw-overhead-words")
    return Drawing([bar, words], note="over the last 50 batches")


def _words(meter: Meter) -> list[Component]:
    overhead = meter.overhead
    boosted = "boosted after a change" if overhead.boosted else None
    shown = tiles(
        [
            tile(
                "p in force",
                live_value(meter.profile, "profile_prob_used", overhead.prob, "f3"),
                note=boosted,
                hint="share of tuples that become profile tuples",
            ),
            tile(
                "break-even p",
                live_value(meter.profile, "break_even_prob", overhead.break_even, "f3"),
                hint="p at which adapting costs what it saves against the first order",
            ),
            tile("adapting", show(overhead.adapting, "pct"), note="all but the tuples"),
        ]
    )
    return [shown, _scale(overhead), html.P(overhead.verdict)]


def _scale(view: OverheadView) -> Component:
    """Both p on one logarithmic scale; purely visual, the tiles say the same."""
    marks = []
    for name, value in (("now", view.prob), ("even", view.break_even)):
        left = place(value)
        if left is not None:
            marks.append(html.I(className=f"pw-p-{name}", style={"left": f"{100 * left:.1f}%"}))
    ends = [html.Span("0.0001"), html.Span("p, log scale"), html.Span("1")]
    return html.Div(
        [html.Div(marks, className="pw-p-line"), html.Div(ends, className="pw-p-ends")],
        className="pw-p-scale",
        **attrs(aria_hidden=True),
    )


PANEL: Final = Panel(
    name="overhead",
    page="/matrix",
    title="Overhead",
    sql=records.samples("filter"),
    twin=False,
    side=True,
    className="pw-overhead",
    build=build,
    draw=draw,
    applies=has_role("filter"),
    values=True,
    news=("run", "plans", "knobs"),
    beats=True,
    unit=True,
    knobs=(KNOB,),
    knobs_title="Turn p",
)
