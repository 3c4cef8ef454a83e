"""The one way panels are laid out, drawn again and hidden; see dashboard.panels.contract.

Every panel has a store that the browser keeps at what its drawing depends on (key), and the
fingerprint of what is on screen (seen): a view that came out the same is not sent again.
"""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import replace
from typing import Any, Final

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from dashboard.base import context as contexts
from dashboard.base import ids
from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.charts import chart
from dashboard.components.keys import key_input, watching
from dashboard.components.links import sql_link
from dashboard.components.panels import drawing_savers, twinned, zoom_reset
from dashboard.components.panels import panel as card
from dashboard.components.parts import as_of, part, part_output, part_tree
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.panels.facts import knobs_of, scope_of
from dashboard.panels.knob_cards import draw_cards
from dashboard.serving.services import Services
from dashboard.views.stretch import stretch_words
from storage.reader import Reader

#: So often at most a panel follows plain batches.
BEAT_MS: Final = 2000
_TREES = ("body", "note", "foot", "table")


def lay_out(panel: Panel[Any], context: Context, services: Services) -> Component:
    """The panel at a moment, its figure too when the context knows the theme."""
    scope = scope_of(panel, context, services.reader)
    view = panel.build(services.reader, context, scope)
    sheet = sheet_of(context, services, context.theme if panel.chart else None)
    drawn = _drawing(panel, view, sheet, services.reader)
    watch = {
        "news": panel.news,
        "beat_ms": BEAT_MS if panel.beats else 0,
        "whole": panel.whole,
        "show": panel.show,
        "span": panel.span,
    }
    drawable = not panel.chart or context.theme is not None
    seen = fingerprint(panel, view, sheet) if drawable else None
    stores = [*watching(f"pw-{panel.name}", watch), dcc.Store(id=panel.part("seen"), data=seen)]
    section = _section(panel, drawn, context, services, scope)
    stamp = as_of(context.batch, () if panel.beats else panel.news)
    hidden, whole = view is None, attrs(data_whole=panel.whole or None)
    box = html.Div(
        section, id=panel.part("box"), hidden=hidden, className="pw-box", **stamp, **whole
    )
    return html.Div([*stores, box], className="pw-frame")


def _drawing(panel: Panel[Any], view: Any, sheet: Sheet, reader: Reader) -> Drawing:
    if view is None:
        return Drawing()
    drawn, context = panel.draw(view, sheet), sheet.context
    if not _is_tabled(panel, context):
        drawn = drawn._replace(table="")
    words = stretch_words(reader.stretch(context.run_id, context.batch)) if panel.values else ""
    if not words:
        return drawn
    note = drawn.note if isinstance(drawn.note, list) else [drawn.note] if drawn.note else []
    return drawn._replace(note=[*note, *([" · "] if note else []), words])


def _is_tabled(panel: Panel[Any], context: Context) -> bool:
    """Whether the panel is looked at as a table."""
    return f"pw-{panel.name}" in context.moment.tables


def _section(
    panel: Panel[Any], drawn: Drawing, context: Context, services: Services, scope: PanelScope
) -> Component:
    trees = {name: part(panel.part(name), getattr(drawn, name)) for name in _TREES}
    controls = _controls(panel, drawn, context, services)
    if not panel.title:
        return html.Div([trees["body"], *controls])
    figure = [*controls, trees["body"]]
    if panel.chart:
        shown = drawn.figure if context.theme is not None else None
        graph = chart(panel.part("graph"), panel.chart, shown, height=drawn.height or 180)
        figure.append(html.Div(graph, id=panel.part("chart"), hidden=drawn.figure is None))
    figure += [trees["foot"], *_knobs(panel, context, services, scope)]
    frame: dict[str, Any] = {"id": f"pw-{panel.name}", "className": panel.className}
    more = [zoom_reset()] if panel.chart or panel.histories else []
    more += [sql_link(context, panel.sql)] if panel.sql else []
    more += drawing_savers(panel.title) if panel.chart or panel.draws else []
    if not panel.twin:
        return card(panel.title, figure, actions=more or None, note=trees["note"], **frame)
    return twinned(panel.title, figure, trees["table"], note=trees["note"], more=more, **frame)


def _controls(
    panel: Panel[Any], drawn: Drawing, context: Context, services: Services
) -> list[Component]:
    """The controls of the panel with what drawing it sets."""
    controls = [] if panel.controls is None else list(panel.controls(context, services))
    named = {getattr(control, "id", None): control for control in controls}
    for (id, name), value in zip(panel.sets, drawn.sets, strict=False):
        setattr(named[id], name, value)
    return controls


def _knobs(
    panel: Panel[Any], context: Context, services: Services, scope: PanelScope
) -> list[Component]:
    """The cards of the panel's knobs; of a panel about the run, under the unit that has them."""
    reader, locked = services.reader, sheet_of(context, services).locked
    sections: list[Component] = []
    units = [scope.unit] if scope.unit else [unit.id for unit in scope.units]
    for unit in units or [""]:
        own = knobs_of(reader, context.run_id, context.batch, scope._replace(unit=unit))
        knobs = [own[name] for name in panel.knobs if name in own]
        if knobs:
            words = " · ".join(filter(None, (panel.knobs_title, scope.title(unit))))
            place = f"{panel.name}-{unit}" if len(units) > 1 else panel.name
            cards = draw_cards(reader, context, knobs, locked, place, compact=True)
            sections += [html.H3(words), html.Div(cards, className="pw-panel-knobs")]
    return sections


def register(app: Dash, services: Services, panel: Panel[Any]) -> None:
    """The callback of a panel: what it says of the moment, unless that is on screen already."""
    if panel.register is not None:
        panel.register(app, services)

    @app.callback(
        *_outputs(panel),
        key_input(f"pw-{panel.name}"),
        *panel.inputs,
        (Input if panel.chart else State)(ids.THEME, "data"),
        State(panel.part("seen"), "data"),
        State(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _draw(key: Any, *rest: Any) -> tuple[Any, ...]:
        *values, theme, seen, moment = rest
        with services.at_once() as now:
            context = contexts.of(now.reader, moment)
            if context.run is None and context.moment.run is not None:
                raise PreventUpdate
            scope = scope_of(panel, context, now.reader, tuple(values))
            view = panel.build(now.reader, context, scope)
            sheet = sheet_of(context, now, theme if panel.chart else None)
            mark = fingerprint(panel, view, sheet)
            at = "" if context.batch is None else str(context.batch)
            if mark == seen:
                return (at, *(no_update for _ in _outputs(panel)[1:]))
            drawn = _drawing(panel, view, sheet, now.reader)
            return (at, view is None, mark, *_drawn(panel, drawn))


def _outputs(panel: Panel[Any]) -> list[Output]:
    outputs = [Output(panel.part("box"), name) for name in ("data-as-of", "hidden")]
    outputs += [Output(panel.part("seen"), "data")]
    outputs += [part_output(panel.part(name)) for name in _trees(panel)]
    if panel.chart:
        outputs += [Output(panel.part("chart"), "hidden")]
        outputs += [Output(panel.part("graph"), name) for name in ("figure", "height")]
    return outputs + [Output(*pair) for pair in panel.sets]


def _drawn(panel: Panel[Any], drawn: Drawing) -> list[Any]:
    """Values of the outputs, but for the first three."""
    values = [part_tree(panel.part(name), getattr(drawn, name)) for name in _trees(panel)]
    if panel.chart:
        values += [drawn.figure is None, drawn.figure, drawn.height]
    return values + list(drawn.sets or (None,) * len(panel.sets))


def _trees(panel: Panel[Any]) -> tuple[str, ...]:
    if not panel.title:
        return ("body",)
    return _TREES if panel.twin else _TREES[:3]


def sheet_of(context: Context, services: Services, theme: str | None = None) -> Sheet:
    """What the views of a moment are drawn on."""
    return Sheet(context, theme, services.why_no_control)


def fingerprint(panel: Panel[Any], view: Any, sheet: Sheet) -> str:
    """The fingerprint of what is on screen; a panel of the whole run does not see the cursor."""
    context = sheet.context
    moment = replace(context.moment, tables=(), span="")
    at = None if panel.whole and context.mode != "frozen" else moment
    tabled = _is_tabled(panel, context)
    shown = (view, sheet.theme, sheet.locked, context.run_id, at, context.mode, tabled)
    return hashlib.blake2b(pickle.dumps(shown), digest_size=12).hexdigest()
