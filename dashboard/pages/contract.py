"""What a page is: a route with panels. Adding one: a module with ``PAGE = Page(...)`` and its line
in ``PAGES``; which panels stand on it, the panels say themselves (dashboard.panels)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from dash import Dash, Output, State, dcc, html
from dash.development.base_component import Component
from dash.exceptions import PreventUpdate

from dashboard.base import context as contexts
from dashboard.base import ids
from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.keys import key_input, watching
from dashboard.components.links import jump
from dashboard.components.states import empty
from dashboard.panels import all_panels, frame
from dashboard.panels.contract import Panel, PanelScope, RunFacts
from dashboard.panels.facts import read_facts, scope_of
from dashboard.serving.services import Services
from storage.reader import Reader

Layout: TypeAlias = Callable[[Context, Services], Component]
Register: TypeAlias = Callable[[Dash, Services], None]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the dashboard.

    path: '/plan'. title: for the browser tab and the heading. label: in the navigation; '' = title.
    icon: SVG path data in a 24 x 24 box, drawn as a 1.75 px line in the text's colour.
    key: second letter of the 'g' shortcut ('p' for g p). missing: what a store without a run lacks,
    in a sentence; '' = the page is about the store, not about a run. nothing: said while no panel
    applies. columns: class of the grid when some panels stand in the narrow column. steady: in the
    navigation whatever the records. own: a layout and callbacks around those of the panels.
    """

    path: str
    title: str
    icon: str
    key: str
    missing: str
    label: str = ""
    nothing: str = ""
    columns: str = ""
    steady: bool = False
    own: tuple[Layout, Register] | None = None

    @property
    def nav_label(self) -> str:
        """What it is called in the navigation."""
        return self.label or self.title

    @property
    def panels(self) -> tuple[Panel[Any], ...]:
        """Those that stand on this page, in their order."""
        return tuple(panel for panel in all_panels() if panel.page == self.path)

    @property
    def has_figures(self) -> bool:
        """Whether plotly draws on it."""
        return any(panel.chart for panel in self.panels)

    def has_records(self, facts: RunFacts | None) -> bool:
        """False hides the navigation entry, so that no tab is ever empty. facts: None = no run."""
        return self.steady or facts is None or any(panel.applies(facts) for panel in self.panels)

    def layout(self, context: Context, services: Services) -> Component:
        """The page at a moment, complete enough to be read before any callback ran."""
        if self.missing and context.run is None:
            return empty("No run yet", self.missing)
        return (self.own[0] if self.own else self.lay_out_panels)(context, services)

    def lay_out_panels(self, context: Context, services: Services) -> Component:
        """The panels that apply to the run, and what others come with."""
        applying = self._applying(context, services.reader)
        shown = self._shown(applying, context, services.reader)
        body = html.Div(self._body(applying, context, services), id=self._id("body"))
        stores = [
            *watching(self._id("body"), {"news": (), "layout": True}),
            dcc.Store(id=self._id("shown"), data=shown),
        ]
        return html.Div([*stores, body])

    def register(self, app: Dash, services: Services) -> None:
        """Callbacks of the page."""
        (self.own[1] if self.own else self.register_panels)(app, services)

    def register_panels(self, app: Dash, services: Services) -> None:
        """Callbacks of the panels, and the one that adds and takes away panels."""
        for panel in self.panels:
            frame.register(app, services, panel)

        @app.callback(
            Output(self._id("body"), "children"),
            Output(self._id("shown"), "data"),
            key_input(self._id("body")),
            State(self._id("shown"), "data"),
            State(ids.MOMENT, "data"),
            State(ids.THEME, "data"),
            prevent_initial_call=True,
        )
        def _follow(
            key: Any, last: Any, moment: dict[str, Any] | None, theme: str | None
        ) -> tuple[Any, Any]:
            with services.at_once() as now:
                context = replace(contexts.of(now.reader, moment), theme=theme)
                applying = self._applying(context, now.reader)
                shown = self._shown(applying, context, now.reader)
                if shown == last or (self.missing and context.run is None):
                    raise PreventUpdate
                return self._body(applying, context, now), shown

    def _shown(self, applying: list[Panel[Any]], context: Context, reader: Reader) -> list[Any]:
        """What the layout depends on: panels that apply, units, knobs that stand below panels."""
        units, knobs = _units_and_knobs(applying, context, reader)
        unit = self._scope(context, reader).unit
        return [[panel.name for panel in applying], units, unit, knobs]

    def _scope(self, context: Context, reader: Reader) -> PanelScope:
        """What is the same of all its panels that are about one unit."""
        about = next((panel for panel in self.panels if panel.unit), None)
        return PanelScope() if about is None else scope_of(about, context, reader)

    def _applying(self, context: Context, reader: Reader) -> list[Panel[Any]]:
        unit = self._scope(context, reader).unit
        asked = {panel.unit: unit if panel.unit else "" for panel in self.panels}
        facts = {which: read_facts(context, reader, of) for which, of in asked.items()}
        return [panel for panel in self.panels if panel.applies(facts[panel.unit])]

    def _body(self, applying: list[Panel[Any]], context: Context, services: Services) -> Component:
        laid_out = [(panel, frame.lay_out(panel, context, services)) for panel in applying]
        main = [component for panel, component in laid_out if not panel.side]
        side = [component for panel, component in laid_out if panel.side]
        if not applying and self.nothing:
            main = [html.Div(empty("Nothing is recorded yet", self.nothing))]
        units = self._units(context, services.reader)
        if not side:
            return html.Div([*units, *main], className="pw-page")
        columns = [
            html.Div(main, className="pw-column pw-column-main"),
            html.Div(side, className="pw-column pw-column-side"),
        ]
        grid = html.Div(columns, className=f"pw-page {self.columns}".strip())
        return html.Div([*units, grid], className="pw-page")

    def _units(self, context: Context, reader: Reader) -> list[Component]:
        """Links to the units of the run, where it has several and the page is about one."""
        scope = self._scope(context, reader)
        if len(scope.units) < 2:
            return []
        links = [
            jump(
                context,
                [unit.title, html.Span(unit.system, className="pw-chip-size")],
                node="",
                unit=unit.id,
                className="pw-chip-link",
                **attrs(aria_current="true" if unit.id == scope.unit else None),
            )
            for unit in scope.units
        ]
        return [html.Nav(links, className="pw-chips pw-units", **attrs(aria_label="Units"))]

    def _id(self, name: str) -> str:
        return f"pw-page-{self.nav_label.lower().replace(' ', '-')}-{name}"


def layout_mark(context: Context, reader: Reader) -> str:
    """Another one when a page of the run may have other panels than before."""
    if context.run is None:
        return ""
    units, knobs = _units_and_knobs(all_panels(), context, reader)
    facts = [read_facts(context, reader, unit) for unit in ["", *units]]
    own = [
        (fact.running, sorted(fact.roles), sorted(fact.matrices), fact.decided, fact.looked)
        for fact in facts
    ]
    return hashlib.blake2b(repr((units, knobs, own)).encode(), digest_size=6).hexdigest()


def _units_and_knobs(
    panels: Sequence[Panel[Any]], context: Context, reader: Reader
) -> tuple[list[str], list[list[str]]]:
    """Ids of the units of the run, and [scope, name] of its knobs that stand below panels."""
    run, at = context.run_id, context.batch
    below = {name for panel in panels for name in panel.knobs}
    knobs = [[knob.scope, knob.name] for knob in reader.knobs(run, at) if knob.name in below]
    return [unit.id for unit in reader.units(run, at)] if run else [], knobs
