"""Plan log: looks on two statistics, and which statistics drive the plans."""

from __future__ import annotations

from typing import Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.formats import show, with_mu
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to, known
from dashboard.components.states import empty
from dashboard.components.static import static
from dashboard.figures.planlog import HEIGHT_PX, draw_space
from dashboard.panels.brushed import within
from dashboard.panels.common.planlog_parts import (
    AxisPair,
    LogBar,
    batch_cell,
    log_bars,
    log_panel,
    plan_cell,
    read_looks,
    read_plans,
    time_cell,
)
from dashboard.panels.contract import Drawing, PanelScope, Sheet
from dashboard.views.numbers import form_of, shown_unit
from dashboard.views.planlog import plan_log
from dashboard.views.planlog_importance import PlanDrivers, StatisticWeight, plan_drivers
from dashboard.views.planlog_plans import LoggedPlan
from dashboard.views.planlog_space import SpacePoint, SpaceView, build_space
from storage.reader import Reader
from storage.reading.plan_log import subjects
from storage.vocabulary.planlog import SAMPLING, counted

#: Bars of the most important statistics.
_MOST_BARS: Final = 8
_FEWEST_BARS: Final = 3
_NO_SHARE: Final = "its sampling is not divided"
_FOOT: Final = (
    "Shaded: what the nearest look chose. Larger marks: switches. Faint path: long ago. The table "
    "of plans has the signs of all."
)


def build(reader: Reader, context: Context, scope: PanelScope) -> SpaceView | None:
    """Up to the moment; None before the first look."""
    read = read_looks(reader, context, scope)
    if not read.looks:
        return None
    entries = plan_log(read.looks)
    names = [row.name for row in plan_drivers(within(entries, read.shown) or entries).statistics]
    plans = read_plans(reader, context, scope, read.looks)
    logs = subjects(reader, context.run_id, scope.only)
    space = build_space(entries, plans, names, context.moment.show, logs)
    return space._replace(since=len(entries) - len(read.own), range=read.range)


def draw(view: SpaceView, sheet: Sheet) -> Drawing:
    """The looks on two statistics; the table twin: a row for each look, newest first."""
    return Drawing(
        body=[AxisPair(view), _range(view)],
        figure=draw_space(view, sheet.theme),
        height=HEIGHT_PX,
        table=_table(view, sheet.context),
        foot=static(html.P(_FOOT, className="pw-dim")),
        note=f"{show(len(view.points), 'int')} looks; click one to go there",
    )


def _range(view: SpaceView) -> Component | str:
    """The range of batches that the page is of, and a click for the whole run."""
    if not view.range:
        return ""
    n = len(view.points) - view.since
    words = f"Of {view.range}: {show(n, 'int')} look{'s' * (n != 1)}; those before are faint. "
    if not n:
        words = f"No look was taken in {view.range}. "
    clear = attrs(data_pw_span="")
    whole = html.Button("Show the whole run", type="button", className="pw-button", **clear)
    return static(html.P([words, whole], className="pw-log-range"))


def _table(view: SpaceView, context: Context) -> Component:
    per = with_mu(view.cost_unit)
    columns = (
        TableColumn("Batch", "int"),
        TableColumn("Time", "text", "UTC"),
        TableColumn("Look"),
        TableColumn("Plan"),
        TableColumn("Came to"),
        TableColumn(view.x, form_of(view.units[0]), shown_unit(view.units[0])),
        TableColumn(view.y, form_of(view.units[1]), shown_unit(view.units[1])),
        TableColumn("Predicted", form_of(view.cost_unit), per),
        TableColumn("Measured", form_of(view.cost_unit), per, "until the next look"),
    )
    plans = {plan.place: plan for plan in view.plans}
    of = counted(view.cost_unit)
    rows = [_row(point, plans[point.place], context, of) for point in view.points[::-1]]
    return RowTable(
        "Looks, newest first", columns, rows, keys=[p.decision for p in view.points[::-1]]
    )


def _row(point: SpacePoint, plan: LoggedPlan, context: Context, of: str) -> list[CellData]:
    there = jump_to(context, "/decisions", at=point.batch, node=str(point.decision))
    return [
        batch_cell(context, point.batch),
        time_cell(point.time),
        {"text": f"#{point.decision}", "sort": point.decision, "jump": there},
        plan_cell(plan),
        "▲ switched" if point.switched else "■ kept",
        point.x,
        point.y,
        point.predicted,
        known(point.measured, f"no {of} ran under it before the next look"),
    ]


class DriversShown(NamedTuple):
    """What drives changes of plan. range: of batches, '' = the whole run."""

    drivers: PlanDrivers
    range: str


def build_drivers(reader: Reader, context: Context, scope: PanelScope) -> DriversShown | None:
    """Of the range on screen, up to the moment; None without a look there."""
    read = read_looks(reader, context, scope)
    entries = within(plan_log(read.looks), read.shown)
    if not entries:
        return None
    stored = reader.matrix(context.run_id, SAMPLING, context.batch, scope.only)
    shares: dict[str, float] = {}
    if stored is not None and not read.looks[-1].subject:
        pairs = zip(stored.matrix.rows, stored.matrix.values, strict=True)
        shares = {name: share for name, (share,) in pairs}
    return DriversShown(plan_drivers(entries, shares), read.range)


def draw_drivers(shown: DriversShown, sheet: Sheet) -> Drawing:
    """A bar for each statistic; the table twin: all of them, with what each says alone."""
    words = "All looks chose one plan, so that nothing drove a change."
    has_changed = shown.drivers.n_plans > 1
    body = _bars(shown.drivers) if has_changed else empty("No change of plan", words)
    return Drawing(body, table=_drivers_table(shown.drivers), note=shown.range)


def _bars(drivers: PlanDrivers) -> Component:
    driving = sum(row.fall > 0 for row in drivers.statistics)
    n = min(_MOST_BARS, max(_FEWEST_BARS, driving))
    shown, rest = drivers.statistics[:n], drivers.statistics[n:]
    bars = [LogBar(row.name, row.fall, _bar_words(row)) for row in shown]
    words = (
        f"Of {show(drivers.n, 'int')} looks that chose {show(drivers.n_plans, 'int')} plans, the "
        "share whose plan can no longer be predicted once the statistic is shuffled"
    )
    more = f"; {len(rest)} more with less effect are in the table" if rest else ""
    drawn = log_bars("What drives changes of plan", bars)
    return static(html.Div([html.P(f"{words}{more}.", className="pw-dim"), drawn]))


def _bar_words(row: StatisticWeight) -> str:
    fall = show(row.fall, "pct")
    return fall if row.share is None else f"{fall} · sampled {show(row.share, 'pct')}"


def _drivers_table(drivers: PlanDrivers) -> Component:
    columns = (
        TableColumn("Statistic"),
        TableColumn("Unit"),
        TableColumn("Drives", "pct", "", "looks whose plan is not predicted once it is shuffled"),
        TableColumn("Alone", "f2", "bits", "mutual information with the plan"),
        TableColumn("Sampling share", "pct", "", "sampled tuples that the statistic is taken of"),
    )
    rows: list[list[CellData]] = [
        [row.name, shown_unit(row.unit), row.fall, row.bits, known(row.share, _NO_SHARE)]
        for row in drivers.statistics
    ]
    return RowTable("Statistics, what drives most first", columns, rows)


SPACE: Final = log_panel(
    name="plan-log",
    title="Statistics space",
    build=build,
    draw=draw,
    show=True,
    chart="Looks on two statistics, coloured by plan, with the path of the run",
)
DRIVERS: Final = log_panel(
    name="plan-drivers",
    title="What drives changes of plan",
    side=True,
    build=build_drivers,
    draw=draw_drivers,
)
PANELS: Final = (SPACE, DRIVERS)
