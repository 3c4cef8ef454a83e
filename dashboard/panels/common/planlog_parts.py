"""What the panels of the plan log share: their page, the looks they are of, bars, cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.drawn import NAMESPACE, Drawn
from dashboard.components.formats import clock
from dashboard.components.rows import CellData, jump_to
from dashboard.figures.theme import N_INKS, SIGNS
from dashboard.panels import records
from dashboard.panels.brushed import BatchRange, range_shown, within
from dashboard.panels.contract import Panel, PanelScope, RunFacts
from dashboard.views.book import Book
from dashboard.views.planlog import newest_log
from dashboard.views.planlog_plans import LoggedPlan, name_plans
from dashboard.views.planlog_space import SpaceView, subject_shown
from storage.reader import Reader
from storage.reading.plan_log import looks_of, subjects
from storage.tables.rows import StoredLook
from storage.vocabulary.planlog import AUTOPILOT

#: Newest looks that the page is of.
MOST_LOOKS: Final = 512


def log_panel(**fields: Any) -> Panel[Any]:
    """A panel of the page, of one unit with looks. fields: what differs, as ``Panel`` has it."""
    return Panel(
        page="/planlog",
        sql=records.LOOKS,
        applies=looked,
        news=("decisions", "plans", "run"),
        unit=True,
        span=True,
        **fields,
    )


def looked(facts: RunFacts) -> bool:
    """A panel of runs with a plan log."""
    return facts.looked


class AxisPair(Drawn):
    """Two choices of a statistic, and one of what is decided where there are several logs, that go
    into the address (modules/page_planlog.js). before: of what is asked for there, in front."""

    _namespace = NAMESPACE
    _type = "AxisPair"
    _names = ("names", "x", "y", "subject", "subjects", "before")

    def __init__(self, view: SpaceView, before: str = "") -> None:
        logs = [{"value": subject, "label": subject or AUTOPILOT} for subject in view.subjects]
        names = list(view.names)
        axes = {"x": view.x, "y": view.y, "subject": view.subject, "subjects": logs}
        super().__init__(names=names, before=before, **axes)


class ReadLooks(NamedTuple):
    """Looks of a log, oldest first. looks: up to the moment, or to the end of the range of batches
    on screen; own: those in this range, all of them where it is the whole run."""

    looks: list[StoredLook]
    own: list[StoredLook]
    shown: BatchRange | None

    @property
    def range(self) -> str:
        """'batches 120 to 260'; '' = the whole run."""
        return self.shown.words if self.shown else ""


def read_looks(reader: Reader, context: Context, scope: PanelScope) -> ReadLooks:
    """Those of the newest log of the unit, MOST_LOOKS at most; of several by what is decided those
    of the address. Before the first look of all, the range of batches tells nothing."""
    shown = range_shown(reader, context)
    subject = subject_shown(context.moment.show, subjects(reader, context.run_id, scope.only))
    asked = scope.only, MOST_LOOKS, subject
    looks: Sequence[StoredLook] = ()
    if shown is not None and context.batch is not None:
        looks = looks_of(reader, context.run_id, min(context.batch, shown.last), *asked)
    all = newest_log(looks or looks_of(reader, context.run_id, context.batch, *asked))
    return ReadLooks(all, within(all, shown), shown)


def read_plans(
    reader: Reader, context: Context, scope: PanelScope, looks: Sequence[StoredLook]
) -> dict[str, LoggedPlan]:
    """The plans of these looks. One decided by the last look has no batch of its own yet, so all
    versions are asked for."""
    versions = reader.plans(context.run_id, None, scope.only)
    return name_plans(looks, versions, Book(reader.entities(context.run_id), scope.unit))


def plan_cell(plan: LoggedPlan, name: str = "") -> dict[str, Any]:
    """A plan in a table: its sign and colour of the figure, and its name, or another one; its order
    and digest on hover."""
    ink = f"pw-glyph pw-plan-ink-{plan.place % N_INKS}"
    sign = SIGNS[plan.place % len(SIGNS)][1]
    title = " · ".join(filter(None, (plan.text, plan.digest)))
    return {"parts": [[sign, ink], [name or plan.name, ""]], "sort": plan.place, "title": title}


def batch_cell(context: Context, batch: int) -> CellData:
    """A batch in a table, which the page goes to."""
    return {"text": batch, "jump": jump_to(context, at=batch)}


def time_cell(time: float) -> dict[str, Any]:
    """A moment in a table. time: Unix s."""
    return {"text": clock(time), "sort": time}


class LogBar(NamedTuple):
    """A bar with its name in front and its value behind it. length: above 0, beside the others;
    own: another class of its fill."""

    name: str
    length: float
    value: str
    own: str = ""


def log_bars(label: str, bars: Sequence[LogBar]) -> Component:
    """Bars below each other, at least one, the longest as wide as there is room."""
    most = max(bar.length for bar in bars) or 1.0
    parts: list[Component] = []
    for bar in bars:
        fill = html.I(style={"width": f"{100 * bar.length / most:.1f}%"})
        drawn = html.Div(fill, className=f"pw-takes-bar {bar.own}".strip())
        value = html.Dd(bar.value, className="pw-log-value")
        parts += [html.Dt(bar.name), html.Dd(drawn, **attrs(aria_hidden=True)), value]
    return html.Dl(parts, className="pw-log-bars", **attrs(aria_label=label))
