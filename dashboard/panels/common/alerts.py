"""Alert rules: a property beside a threshold, or a query in CQL that answers something.

Those that hold stand in the header of every page.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.asking import asking
from dashboard.components.attributes import attrs
from dashboard.components.badges import badge
from dashboard.components.drawn import NAMESPACE, Drawn
from dashboard.components.names import words_of
from dashboard.components.rows import CellData, RowTable, TableColumn, drawn
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.serving.alerts import alert_states
from dashboard.serving.services import Services
from dashboard.views.alerts import AlertState
from dashboard.views.book import SYSTEM, Book
from dashboard.views.numbers import known
from storage.reader import Reader

ASK: Final = "pw-alert-query"
EXAMPLE: Final = (
    "Select eid, val From SysStream [Now] Where prop = 'queue_peak_tuples' and val > 30"
)
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
        TableColumn("Now", "f3"),
        TableColumn("When"),
        TableColumn("State"),
        TableColumn("Told"),
        TableColumn("Forget"),
    )
    rows = [_row(state, sheet.read_only) for state in view.states]
    table = RowTable("Alert rules", columns, rows) if rows else html.P(_NONE, className="pw-dim")
    form = AlertForm(view.choices, sheet.read_only)
    note = "active ones appear in the header of every page"
    return Drawing([table, form], note=note)


_NONE: Final = "No rule yet: choose a number and a threshold below, or a query above."


def _row(alert_state: AlertState, locked: str) -> list[CellData]:
    rule = alert_state.rule
    state = badge("holds", "warning") if alert_state.fires else badge("quiet", "quiet")
    forget: Component = html.Button(
        "×",
        type="button",
        className="pw-link",
        disabled=bool(locked),
        **attrs(data_pw_forget=rule.id, aria_label=f"Forget the rule {rule.name}"),
    )
    return [
        rule.name,
        f"{alert_state.whose} · {words_of(rule.property)}",
        {"text": alert_state.value, "sort": alert_state.value},
        f"{rule.relation} {rule.threshold:g}",
        drawn(state, "holds" if alert_state.fires else "quiet"),
        "webhook" if rule.webhook else "pages",
        drawn(forget),
    ]


def _controls(context: Context, services: Services) -> list[Component]:
    about = (
        "SysStream(qid, eid, etype, prop, val) has all numbers of the run. The rule holds in every "
        "batch in which the query has new answers; the query runs with the run and is in its list."
    )
    words = ("Alert when a CQL query answers", about, "Register and alert")
    example, locked = ("full_queue", EXAMPLE), services.settings.why_no_control
    return [asking(ASK, words, example, locked=locked, choice=("webhook", "webhook, too"))]


PANEL: Final = Panel(
    name="alerts",
    page="/monitor",
    title="Alert rules",
    sql=records.requests("alert"),
    twin=False,
    build=build,
    draw=draw,
    news=("run", "commands", "queries"),
    beats=True,
    controls=_controls,
)
