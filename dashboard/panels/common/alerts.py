"""Alert rules: a property beside a threshold, or a query in CQL that answers something.

Those that hold stand in the header of every page.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.asking import asking
from dashboard.components.attributes import attrs
from dashboard.components.badges import badge
from dashboard.components.drawn import NAMESPACE, Drawn
from dashboard.components.formats import clock, duration, show
from dashboard.components.kinds import Tone
from dashboard.components.names import words_of
from dashboard.components.rows import CellData, RowTable, TableColumn, drawn, jump_to
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.serving.alerts import alert_history, alert_states
from dashboard.serving.services import Services
from dashboard.views.alert_defaults import DEAD
from dashboard.views.alert_spells import Spell
from dashboard.views.alerts import AlertState
from dashboard.views.book import SYSTEM, Book
from dashboard.views.numbers import known
from storage.reader import Reader

ASK: Final = "pw-alert-query"
EXAMPLE: Final = (
    "Select eid, val From SysStream [Now] Where prop = 'queue_peak_tuples' and val > 30"
)
#: A silence lasts so long; times that rules held are listed, at most so many.
SILENT_S: Final = 3600
MOST_HELD: Final = 100
AlertHistory: TypeAlias = list[tuple[AlertState, Spell]]
#: Properties to choose from.
MOST_CHOICES: Final = 2000


class AlertsView(NamedTuple):
    """The rules at the moment. choices: [words, entity, property] to make one of."""

    states: list[AlertState]
    choices: list[list[str]]


class AlertForm(Drawn):
    """A new rule (modules/page_alerts.js). disabled: why none can be made, or ''."""

    _namespace = NAMESPACE
    _type = "AlertForm"
    _names = ("choices", "disabled")

    def __init__(self, choices: list[list[str]], disabled: str) -> None:
        super().__init__(choices=choices, disabled=disabled)


def build(reader: Reader, context: Context, scope: PanelScope) -> AlertsView:
    """The rules of the run and what they could be about."""
    run, at = context.run_id, context.batch
    entities = Book(reader.entities(run, at))
    choices = [
        [f"{entities.name(entity)} · {words_of(name)} ({name})", entity, name]
        for entity, own in reader.values(run, at).items()
        if entity in entities
        for name, value in own.items()
        if value is not None and known(value)
    ]
    choices.sort(key=lambda choice: (choice[1] != SYSTEM, choice[0]))
    return AlertsView(alert_states(reader, run, at), choices[:MOST_CHOICES])


def draw(view: AlertsView, sheet: Sheet) -> Drawing:
    """A line a rule, and the form."""
    columns = (
        TableColumn("Rule"),
        TableColumn("What"),
        TableColumn("Now"),
        TableColumn("When"),
        TableColumn("State"),
        TableColumn("Told"),
        TableColumn("Turn"),
    )
    rows = [_row(state, sheet.read_only) for state in view.states]
    form = AlertForm(view.choices, sheet.read_only)
    note = "active ones appear in the header of every page"
    return Drawing([RowTable("Alert rules", columns, rows), form], note=note)


def _row(alert_state: AlertState, locked: str) -> list[CellData]:
    rule = alert_state.rule
    word, tone, more = _state(alert_state)
    state = html.Div([badge(word, tone), html.Div(more, className="pw-sub") if more else ""])
    value = number_words(alert_state.value, alert_state)
    return [
        rule.name,
        f"{alert_state.whose} · {alert_state.what or words_of(rule.property)}",
        {"text": value, "sort": alert_state.value},
        _when(alert_state),
        drawn(state, word),
        "webhook" if rule.webhook else "pages",
        drawn(html.Span(_turns(alert_state, locked), className="pw-intake")),
    ]


def number_words(value: float | None, state: AlertState) -> str:
    """A number of the rule with its unit."""
    if state.rule == DEAD:
        return "dead" if value else "alive"
    if state.form == "f3":  # a number nobody listed
        return "—" if value is None else f"{value:.6g}"
    return f"{show(value, state.form)} {state.unit if value is not None else ''}".strip()


def _when(state: AlertState) -> str:
    rule = state.rule
    if rule == DEAD:
        return "it is dead"
    lasting = f" for {duration(rule.for_s)}" if rule.for_s else ""
    return f"{rule.relation} {number_words(rule.threshold, state)}{lasting}"


def _state(state: AlertState) -> tuple[str, Tone, str]:
    """Word, tone, and since or until when."""
    if state.silent_until is not None:
        return "silent", "quiet", f"until {clock(state.silent_until)} UTC"
    since = "" if state.since is None else f"since {clock(state.since)} UTC"
    if state.fires:
        return "holds", "warning", since
    return ("waits", "info", since) if since and state.rule.for_s else ("quiet", "quiet", "")


def _turns(state: AlertState, locked: str) -> list[Component]:
    """Silence it or wake it; forget one that somebody wrote."""
    rule, is_silent = state.rule, state.silent_until is not None
    turn = "Wake" if is_silent else "Silence 1 h"
    buttons: list[Component] = [
        html.Button(
            turn,
            type="button",
            className="pw-button",
            disabled=bool(locked),
            title=locked or None,
            **attrs(
                data_pw_silence=rule.name,
                data_seconds=0 if is_silent else SILENT_S,
                aria_label=f"{turn}: {rule.name}",
            ),
        )
    ]
    if rule.id > 0:
        forget = attrs(data_pw_forget=rule.id, aria_label=f"Forget the rule {rule.name}")
        buttons.append(
            html.Button("×", type="button", className="pw-link", disabled=bool(locked), **forget)
        )
    return buttons


def build_history(reader: Reader, context: Context, scope: PanelScope) -> AlertHistory | None:
    """When rules held, up to the moment."""
    if context.batch is None:
        return None
    states = alert_states(reader, context.run_id, context.batch)
    by_id = {state.rule.id: state for state in states}
    held = alert_history(reader, context.run_id, context.batch)
    return [(by_id[rule.id], spell) for rule, spell in held if rule.id in by_id]


def draw_history(held: AlertHistory, sheet: Sheet) -> Drawing:
    """A row a time, newest first."""
    columns = (
        TableColumn("Rule"),
        TableColumn("From", "text", "UTC"),
        TableColumn("To", "text", "UTC"),
        TableColumn("Lasted"),
        TableColumn("Farthest"),
    )
    rows: list[list[CellData]] = [
        [
            state.rule.name,
            {
                "text": clock(spell.since),
                "sort": spell.since,
                "jump": jump_to(sheet.context, "/alerts", at=max(0, spell.batch)),
            },
            "lasts" if spell.lasts else clock(spell.until),
            {"text": duration(spell.until - spell.since), "sort": spell.until - spell.since},
            {"text": number_words(spell.worst, state), "sort": spell.worst},
        ]
        for state, spell in held[:MOST_HELD]
    ]
    note = f"the newest {MOST_HELD} of {len(held)}" if len(held) > MOST_HELD else ""
    words = "No rule held so far, by what is on record."
    body = RowTable("Times rules held, newest first", columns, rows) if rows else html.P(words)
    return Drawing(body, note=note)


def _controls(context: Context, services: Services) -> list[Component]:
    about = (
        "SysStream(qid, eid, etype, prop, val) has all numbers of the run. The rule holds in every "
        "batch in which the query has new answers; the query runs with the run and is in its list."
    )
    words = ("Alert when a CQL query answers", about, "Register and alert")
    example, locked = ("full_queue", EXAMPLE), services.why_no_control
    return [asking(ASK, words, example, locked=locked, choice=("webhook", "webhook, too"))]


PANEL: Final = Panel(
    name="alerts",
    page="/alerts",
    title="Alert rules",
    sql=records.requests("alert"),
    twin=False,
    build=build,
    draw=draw,
    news=("run", "commands", "queries"),
    beats=True,
    controls=_controls,
)
HISTORY: Final = Panel(
    name="alert-history",
    page="/alerts",
    title="When they held",
    sql=records.samples(),
    twin=False,
    build=build_history,
    draw=draw_history,
    news=("run", "commands"),
    beats=True,
)
