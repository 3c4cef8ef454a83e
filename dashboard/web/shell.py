"""The frame around every page: header, timeline strip, navigation, main area, help.

The server lays out the frame once and then answers two questions: what the strip and the header
know of the run (``ids.SNAPSHOT``) and which page to lay out. Everything that moves in the frame is
moved by modules/{moment,header,strip,live}.js. Where the moment lives: see dashboard.base.context.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, Final

from dash import Dash, Input, Output, State, dcc, html
from dash.development.base_component import Component

from dashboard.base import context as contexts
from dashboard.base import ids
from dashboard.base.context import Context
from dashboard.base.face import prices
from dashboard.base.opening import build_opening
from dashboard.base.prefix import below
from dashboard.components import keys
from dashboard.components.attributes import attrs
from dashboard.components.drawn import Icon
from dashboard.components.states import empty
from dashboard.components.static import static
from dashboard.pages import all_pages
from dashboard.pages.contract import Page, layout_mark
from dashboard.panels import knob_cards
from dashboard.panels.facts import read_facts
from dashboard.serving.services import Services
from dashboard.views.book import SYSTEM, Book
from dashboard.views.ends import harm_commands, with_ends
from dashboard.views.events import titled
from dashboard.views.pace import build_pace
from dashboard.views.shell import Snapshot, build_snapshot
from storage.reader import Reader

HEADER_PX: Final = 130
NAV_PX: Final = {"base": 60, "xl": 156}
STRIP_POINTS: Final = 600
_EVENTS_READ: Final = 5000
MOST_WORKS: Final = 500

LOGO: Final = "M3 17 L8 17 L8 7 L13 7 L13 13 L21 13 M17 9 L21 13 L17 17"
_SUN: Final = (
    "M12 4V2M12 22v-2M4 12H2M22 12h-2M6.3 6.3 4.9 4.9M19.1 19.1l-1.4-1.4M6.3 17.7l-1.4 1.4"
    "M19.1 4.9l-1.4 1.4M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8"
)
_MOON: Final = "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5Z"
_SYSTEM: Final = "M3 5h18v11H3zM8 21h8M12 16v5"
_SEARCH: Final = "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13M15.5 15.5 20 20"
_PAUSE: Final = "M8 5v14M16 5v14"
_PLAY: Final = "M7 5l12 7-12 7z"
_STEP: Final = "M5 5l9 7-9 7zM18 5v14"
_DECIDE: Final = "M4 12h9M9 8l4 4-4 4M18 9v6"
_SHARE: Final = (
    "M10 14a4.5 4.5 0 0 0 6.4.4l3-3A4.5 4.5 0 0 0 13 5l-1.6 1.6"
    "M14 10a4.5 4.5 0 0 0-6.4-.4l-3 3A4.5 4.5 0 0 0 11 19l1.6-1.6"
)

HELP_KEYS: Final = (
    (("space",), "freeze and resume; in a replay: play and pause"),
    (("←", "→"), "previous, next adaptation"),
    (("shift ←", "shift →"), "one batch back, forward"),
    ((".",), "jump to now"),
    (("/",), "search pages, runs, parts of the plan, queries, knobs and plans"),
    (("h",), "pause or resume the run"),
    (("n", "d"), "of a paused run: one batch; one scheduling decision, where it is in one process"),
    (("<", ">"), "replay streams slower, faster"),
    (("t",), "switch between charts and tables"),
    (("w",), "what the words on the page mean"),
    (("s",), "the stage: large type, nothing else; Esc leaves it"),
    (("[", "]"), "what the cards of the plan show"),
    (("f",), "see all of the plan; wheel, pinch and drag zoom and move it"),
    (("-", "+"), "on a card: collapse or expand its inputs; on the frame of a plan: zoom"),
    (("Esc",), "unpin the node, discard a draft, close"),
    (("y",), "copy a permalink to this very moment"),
    (("?",), "this help"),
)


def build_shell(services: Services) -> Component:
    """The layout of the application, before anything is known of the run or the page."""
    return html.Div(
        [
            dcc.Location(id=ids.LOCATION, refresh=False),
            *(dcc.Store(id=store) for store in _STORES),
            *knob_cards.stores(),
            html.A("Skip to the page", href=f"#{ids.MAIN}", className="pw-skip"),
            html.Div(_frame(), id=ids.SHELL, **attrs(data_mode="replay", data_link="off")),
            html.Div(
                id=ids.ANNOUNCE, className="pw-sr", role="status", **attrs(aria_live="polite")
            ),
            html.Div(
                id=ids.TOASTS, className="pw-toasts", role="log", **attrs(aria_label="Notices")
            ),
            static(_help()),
            static(_glossary()),
        ]
    )


_STORES: Final = (ids.MOMENT, ids.NEWS, ids.PAGE_KEY, ids.SNAPSHOT, ids.SHELL_RUN, ids.THEME)


def _frame() -> list[Component]:
    page = html.Div(id=ids.PAGE, className="pw-main")
    return [
        html.Header(
            [static(_header()), html.Div(id=ids.STRIP, className="pw-strip")], className="pw-top"
        ),
        html.Div(static(_navigation(all_pages())), className="pw-side"),
        html.Main(page, id=ids.MAIN, className="pw-stage", tabIndex=-1),
    ]


def _header() -> Component:
    return html.Div(
        [
            html.A(
                [Icon(LOGO, 20), "Planwatch"],
                href=below("/"),
                className="pw-brand",
                **attrs(data_pw_path="/"),
            ),
            html.Button(
                html.Span("…", id="pw-mode-word"),
                id="pw-mode",
                className="pw-mode",
                type="button",
                title="Freeze, resume (space)",
            ),
            *_run_items(),
            _facts(),
            _pace_buttons(),
            html.Span(className="pw-spacer"),
            _present(),
            _alert_badge(),
            html.Span(
                [
                    html.Span(id="pw-since-text"),
                    html.Button("Resume", id="pw-resume", className="pw-button", type="button"),
                ],
                id="pw-since",
                className="pw-since",
                hidden=True,
            ),
            *_buttons(),
        ],
        className="pw-header",
    )


def _present() -> Component:
    """Who else looks on, see modules/present.js; in short where the header is narrow."""
    texts = [html.Span(id="pw-present-names"), html.Span(id="pw-present-short")]
    return html.Span(texts, id="pw-present", className="pw-head-item", hidden=True)


def _alert_badge() -> Component:
    """How many alert rules hold, see modules/page_alerts.js."""
    link = {"href": below("/alerts"), **attrs(data_pw_path="/alerts")}
    return html.A("", id="pw-alert-count", className="pw-alert-badge", hidden=True, **link)


def _run_items() -> list[Component]:
    return [
        html.Span(id="pw-run-slot", className="pw-run-picker"),
        html.Span(id="pw-run-state", className="pw-badge", **attrs(data_state="")),
        html.Span(id="pw-opening", className="pw-opening", hidden=True),
    ]


def _facts() -> Component:
    """Streams, plan and how old both are; on a second line what is behind."""
    plan: list[Any] = [html.B("—", id="pw-plan"), " ", html.Span(id="pw-plan-age")]
    stands = [
        html.Span(id="pw-stream", className="pw-head-item"),
        html.Span(className="pw-divider"),
        html.Span(plan, className="pw-head-item"),
        html.Span(className="pw-divider"),
        html.Span(id="pw-age", className="pw-head-item pw-age", **attrs(data_level="quiet")),
    ]
    behind = [
        html.Span(id="pw-behind", className="pw-head-item pw-age", hidden=True),
        html.Span(id="pw-older", className="pw-head-item", hidden=True),
    ]
    lines = [html.Span(line, className="pw-facts-line") for line in (stands, behind)]
    return html.Span(lines, className="pw-facts")


def _pace_buttons() -> Component:
    """Hold, step and speed: drawn by modules/pace.js, hidden where a run cannot be asked."""
    holding = [
        html.Span(Icon(path), className=f"pw-hold-{name}")
        for name, path in (("on", _PAUSE), ("off", _PLAY))
    ]
    return html.Span(
        [
            _icon_button("pw-hold", "Pause the run (h)", holding, data_held="no"),
            _icon_button("pw-step", "One batch (n)", Icon(_STEP)),
            _icon_button("pw-decide", "One scheduling decision (d)", Icon(_DECIDE)),
            html.Span(id="pw-speed-slot"),
        ],
        id="pw-pace",
        className="pw-pace",
        role="group",
        hidden=True,
        **attrs(aria_label="Pace of the run"),
    )


def _buttons() -> list[Component]:
    faces = (("light", _SUN), ("dark", _MOON), ("system", _SYSTEM))
    icons = [html.Span(Icon(path), className=f"pw-theme-{name}") for name, path in faces]
    return [
        _icon_button("pw-search-open", "Search everything (/)", Icon(_SEARCH)),
        _icon_button("pw-theme-toggle", "Theme", icons, data_choice="system"),
        _icon_button("pw-share", "Copy a permalink (y)", Icon(_SHARE)),
        _icon_button("pw-help-open", "Help and keys (?)", "?"),
    ]


def _icon_button(component_id: str, label: str, children: Any, **data: str) -> Component:
    return html.Button(
        children,
        id=component_id,
        className="pw-icon-button",
        type="button",
        title=label,
        **attrs(aria_label=label, **data),
    )


def _navigation(pages: tuple[Page, ...]) -> Component:
    links = [
        html.A(
            [Icon(page.icon), html.Span(page.nav_label, className="pw-nav-label")],
            href=below(page.path),
            className="pw-nav-link",
            title=f"{page.nav_label} (g {page.key})",
            **attrs(data_pw_path=page.path, data_key=page.key),
        )
        for page in pages
    ]
    return html.Nav(links, className="pw-nav", **attrs(aria_label="Pages"))


def _help() -> Component:
    jumps = tuple(((f"g {page.key}",), f"go to {page.nav_label}") for page in all_pages())
    entries: list[Component] = []
    for typed, words in HELP_KEYS + jumps:
        marks: list[Any] = [mark for key in typed for mark in (html.Kbd(key), " ")]
        entries += [html.Dt(marks), html.Dd(words)]
    body: list[Any] = [
        html.H2("Keys", tabIndex="-1"),
        html.Dl(entries),
        html.P(_ABOUT, className="pw-panel-note"),
        html.Button("Guided tour", id="pw-tour-open", className="pw-button", type="button"),
        " ",
        html.Button("Stage", id="pw-stage-open", className="pw-button", type="button"),
        " ",
        html.Button("Glossary", id="pw-words-open", className="pw-button", type="button"),
        " ",
        html.Button("Close", id="pw-help-close", className="pw-button", type="button"),
    ]
    return html.Dialog(
        html.Div(body, className="pw-help-body"),
        id=ids.HELP,
        className="pw-help",
        **attrs(aria_label="Help"),
    )


def _glossary() -> Component:
    """Filled by modules/glossary.js."""
    body = [
        html.H2("Glossary", tabIndex="-1"),
        html.Div(id="pw-words-list"),
        html.Button("Close", id="pw-words-close", className="pw-button", type="button"),
    ]
    return html.Dialog(
        html.Div(body, className="pw-help-body"),
        id="pw-words",
        className="pw-help pw-words",
        **attrs(aria_label="Glossary"),
    )


_ABOUT: Final = (
    "Everything on screen is in the address: page, run, batch, node. LIVE follows the stream, "
    "FROZEN stops the display of a running stream, REPLAY shows the past or a finished run."
)


def register_shell(app: Dash, services: Services) -> None:
    """Callbacks of the frame and of all pages."""
    app.config.suppress_callback_exceptions = True
    outputs = [Output(name, "data") for name in (ids.MOMENT, ids.PAGE_KEY, ids.NEWS, ids.THEME)]
    place = [Input(ids.LOCATION, name) for name in ("pathname", "search")]
    keys.clientside(app, "fromLocation", *outputs, *place)
    snapshot = Input(ids.SNAPSHOT, "data")
    keys.clientside(app, "receive", Output(ids.SHELL_RUN, "data"), snapshot)
    keys.register(app)

    @app.callback(Output(ids.SNAPSHOT, "data"), Input(ids.NEWS, "data"), prevent_initial_call=True)
    def _snapshot(news: dict[str, Any] | None) -> dict[str, Any]:
        with services.at_once() as now:
            context = contexts.of(now.reader, news)
            facts = read_facts(context, now.reader) if context.run is not None else None
            pages = [page.path for page in all_pages() if page.has_records(facts)]
            snapshot = read_snapshot(now, context, pages)
            told_at = now.reader.now_of(context.run) if context.run is not None else None
            mark = layout_mark(context, now.reader)
            return asdict(replace(snapshot, told_at=told_at, layout=mark))

    @app.callback(
        Output(ids.PAGE, "children"),
        Input(ids.PAGE_KEY, "data"),
        State(ids.MOMENT, "data"),
        prevent_initial_call=True,
    )
    def _page(key: dict[str, Any] | None, moment: dict[str, Any] | None) -> Component:
        asked = key or {}
        with services.at_once() as now:
            context = replace(contexts.of(now.reader, moment), theme=asked.get("theme"))
            return lay_out(asked.get("path", "/"), context, now)

    for page in all_pages():
        page.register(app, services)


def read_snapshot(services: Services, context: Context, pages: list[str]) -> Snapshot:
    """The snapshot of the run of a context; pages: paths worth showing."""
    reader = services.reader
    runs, since = reader.runs(), services.settings.awaits_since
    opening = build_opening(runs, lambda run_id: reader.last_batch(run_id) is not None, since)
    if context.run is None:
        return build_snapshot(context, runs, (), (), None, pages, opening=opening)
    run = context.run.id
    cost = reader.series(run, SYSTEM, "visits_per_tuple", max_points=STRIP_POINTS)
    plans = reader.plans(run)
    events = titled(reader.events(run, limit=_EVENTS_READ), plans)
    events = with_ends(context.run, events, context.now)
    inputs = reader.inputs(run)
    units = reader.units(run)
    titles = {unit.id: unit.title for unit in units} if len(units) > 1 else {}
    backlog = reader.values(run).get(SYSTEM, {}).get("backlog_tuples")
    pace = build_pace(reader.entities(run), reader.knobs(run), services.why_no_control)
    snapshot = build_snapshot(
        context, runs, plans, events, cost, pages, inputs, titles, backlog, pace, opening
    )
    is_demo = services.settings.awaits_since is not None and not services.why_no_control
    harm = harm_commands(context.run, reader.where) if is_demo else {}
    return replace(snapshot, works=_works(reader, run), harm=harm)


def _works(reader: Reader, run: str) -> list[tuple[str, str, str]]:
    """Parts that tell the time of one of their tuples: (id, name, property)."""
    book, values = Book(reader.entities(run)), reader.values(run)
    works = [
        (id, book.name(id), name) for id, own in values.items() for name in prices() if name in own
    ]
    return works[:MOST_WORKS]


def lay_out(path: str, context: Context, services: Services) -> Component:
    """The page of a path at a context; a path without a page says which there are."""
    page = next((page for page in all_pages() if page.path == path), None)
    if page is None:
        return empty("There is no such page", f"Nothing is at {path}. The pages are at the left.")
    if context.run is None and context.moment.run:
        home = {"href": below("/"), **attrs(data_pw_path="/")}
        known = html.A("All runs", className="pw-link", **home)
        return empty("There is no such run", f"The store has no run {context.moment.run!r}.", known)
    return html.Div([html.H1(page.title, className="pw-sr"), page.layout(context, services)])
