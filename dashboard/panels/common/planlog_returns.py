"""Plan log: what adapting returned, what each plan came to, and which conditions came back."""

from __future__ import annotations

from typing import Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.formats import amount, clock, show, with_mu
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to, known
from dashboard.components.states import empty
from dashboard.components.static import static
from dashboard.panels.brushed import within
from dashboard.panels.common.planlog_parts import (
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
from dashboard.views.numbers import form_of
from dashboard.views.planlog import plan_log
from dashboard.views.planlog_hindsight import (
    Hindsight,
    SumLine,
    look_back_on,
    returned_words,
    sum_lines,
    why_none,
)
from dashboard.views.planlog_plans import LoggedPlan, PlanShare, plan_shares
from dashboard.views.planlog_recurrences import Recurrence, back_words, recurrences
from storage.reader import Reader
from storage.vocabulary.planlog import counted


class ReturnShown(NamedTuple):
    """What adapting returned, and the plans by digest; or why it cannot be told. range: of batches,
    '' = the whole run."""

    hindsight: Hindsight | None
    plans: dict[str, LoggedPlan]
    why_none: str = ""
    range: str = ""


class SharesShown(NamedTuple):
    """The plans of a log. unit: of their costs; n_tuples: that ran between looks; range: of
    batches, '' = the whole run."""

    rows: list[PlanShare]
    unit: str
    n_tuples: int
    range: str


def build(reader: Reader, context: Context, scope: PanelScope) -> ReturnShown | None:
    """Of the range on screen, up to the moment; None without a look there."""
    read = read_looks(reader, context, scope)
    if not read.own:
        return None
    hindsight = look_back_on(read.own)
    if why := why_none(read.own, hindsight):
        return ReturnShown(None, {}, why, read.range)
    return ReturnShown(hindsight, read_plans(reader, context, scope, read.looks), "", read.range)


def draw(shown: ReturnShown, sheet: Sheet) -> Drawing:
    """One sentence and a bar for each sum; the table twin: sums and switches."""
    back = shown.hindsight
    if back is None:
        return Drawing(empty("No return can be told", shown.why_none), note=shown.range)
    lines = sum_lines(back)
    body = html.Div([html.P(returned_words(back), className="pw-log-sentence"), _bars(lines, back)])
    of = f"of {shown.range}" if shown.range else f"since {clock(back.since)}"
    tables = [_sums(lines, back), _switches(back, shown.plans, sheet.context)]
    return Drawing(
        static(body),
        foot=static(html.P(_evidence(back), className="pw-dim")),
        table=html.Div(tables, className="pw-twin-tables"),
        note=f"estimated, against the best single plan, {of}",
    )


def _bars(lines: list[SumLine], back: Hindsight) -> Component:
    spent = next(line.cost for line in lines if line.is_spent) or 1.0
    bars = [
        LogBar(line.words, line.cost, amount(line.cost, back.unit), "pw-log-spent")
        if line.is_spent
        else LogBar(line.words, line.cost, _span(line, spent))
        for line in lines
    ]
    return log_bars("What was spent, and what others would have cost", bars)


def _span(line: SumLine, spent: float) -> str:
    """'−6.3 %', or '−11.6 % … +9.6 %' where it depends on prices that are guessed."""
    low, high = (_against(cost / spent - 1) for cost in (line.low, line.high))
    return low if low == high else f"{low} … {high}"


def _against(share: float) -> str:
    """'−6.3 %', '+9.4 %'."""
    return f"{100 * share:+.1f} %".replace("-", "−")


def _evidence(back: Hindsight) -> str:
    words = (
        f"Over {show(back.n_tuples, 'int')} {back.of}s and {show(back.n_looks, 'int')} looks, "
        f"among the {len(back.plans)} plans that ran; in percent of what was spent. {_prices(back)}"
    )
    if not back.error:
        return words
    error = amount(back.error, back.unit)
    return f"{words} Plans are priced on samples: what adapting saved is known to ±\u00a0{error}."


def _prices(back: Hindsight) -> str:
    """Where the prices come from."""
    if back.known == 1:
        return "All prices are on record."
    near = f"{show(back.near, 'pct')} are from similar conditions"
    if back.guessed < 1e-9:
        return f"Of the prices {show(back.known, 'pct')} are on record, and {near}."
    return (
        f"Of the prices {show(back.known, 'pct')} are on record, {near}, and "
        f"{show(back.guessed, 'pct')} are guessed: the plan's average."
    )


def _sums(lines: list[SumLine], back: Hindsight) -> Component:
    columns = (
        TableColumn("What"),
        TableColumn("Cost", "int", with_mu(back.unit)),
        TableColumn("Against what was spent", "pct", "", "positive = it would have cost more"),
    )
    spent = next(line.cost for line in lines if line.is_spent)
    rows: list[list[CellData]] = [
        [line.words, line.cost, line.cost / spent - 1 if spent else None] for line in lines
    ]
    own = back.back
    parts = (
        (f"of it the {back.of}s", own.running),
        ("of it switching", own.switching),
        ("of it looking", own.deciding),
    )
    rows[1:1] = [[words, cost, None] for words, cost in parts]
    return RowTable("What was spent, and what others would have cost", columns, rows)


def _switches(back: Hindsight, plans: dict[str, LoggedPlan], context: Context) -> Component:
    columns = (
        TableColumn("Batch", "int"),
        TableColumn("From"),
        TableColumn("To"),
        TableColumn(
            "Saved", "int", with_mu(back.unit), "over the best single plan, until the next"
        ),
    )
    rows: list[list[CellData]] = []
    for switch in reversed(back.back.switches):
        batch = back.batches[switch.place - 1]
        old, new = plans[back.plans[switch.old]], plans[back.plans[switch.new]]
        rows.append([batch_cell(context, batch), plan_cell(old), plan_cell(new), switch.saved])
    return RowTable("Switches, newest first", columns, rows)


def build_shares(reader: Reader, context: Context, scope: PanelScope) -> SharesShown | None:
    """Of the range on screen, up to the moment; None without a look there."""
    read = read_looks(reader, context, scope)
    entries = within(plan_log(read.looks), read.shown)
    if not entries:
        return None
    rows = plan_shares(entries, read_plans(reader, context, scope, read.looks))
    n_tuples = sum(row.n_tuples for row in rows)
    return SharesShown(rows, entries[-1].cost_unit, n_tuples, read.range)


def draw_shares(shown: SharesShown, sheet: Sheet) -> Drawing:
    """A row for each plan."""
    form, of = form_of(shown.unit), counted(shown.unit)
    columns = (
        TableColumn("Plan"),
        TableColumn(f"Share of {of}s", "pct"),
        TableColumn("Measured", form, "", "mean, of what ran between looks"),
        TableColumn("Predicted", form, "", f"mean, by the looks that chose it, for the same {of}s"),
        TableColumn("Looks", "int"),
        TableColumn("Switches", "int", "", "to it"),
        TableColumn("Versions", None, "", "of the plan that this one was in force as"),
        TableColumn("Last look", "int", "batch"),
    )
    rows = [_share(row, sheet.context, of) for row in shown.rows]
    words = f"Plans, the most used first; costs in {with_mu(shown.unit)}"
    table = RowTable(words, columns, rows, className="pw-log-plans")
    note = f"of {show(shown.n_tuples, 'int')} {of}s that ran between looks"
    note += f" of {shown.range}" if shown.range else ""
    return Drawing(table, note=note)


def _share(row: PlanShare, context: Context, of: str) -> list[CellData]:
    nothing = f"no {of} ran under it between looks"
    return [
        {**plan_cell(row.plan), "sub": "" if row.plan.words else row.plan.text},
        {"text": row.share, "bar": row.share},
        known(row.measured, nothing),
        known(row.predicted, nothing),
        row.n_looks,
        row.n_switches,
        ", ".join(map(str, row.plan.versions)) or None,
        batch_cell(context, row.batch),
    ]


def build_back(reader: Reader, context: Context, scope: PanelScope) -> list[Recurrence] | None:
    """In the range on screen, up to the moment; None while nothing came back."""
    read = read_looks(reader, context, scope)
    rows = recurrences(plan_log(read.looks), read_plans(reader, context, scope, read.looks))
    return within(rows, read.shown) or None


def draw_back(rows: list[Recurrence], sheet: Sheet) -> Drawing:
    """A sentence each, newest first; the table twin: their numbers."""
    items = [html.Li([back_words(row), " ", _there(row, sheet.context)]) for row in rows]
    return Drawing(
        static(html.Ul(items, className="pw-log-back")), table=_back_table(rows, sheet.context)
    )


def _there(row: Recurrence, context: Context) -> Component:
    node = str(row.decision)
    return jump(context, f"#{row.decision}", "/decisions", at=row.batch, node=node)


def _back_table(rows: list[Recurrence], context: Context) -> Component:
    columns = (
        TableColumn("Batch", "int"),
        TableColumn("Time", "text", "UTC"),
        TableColumn("Plan"),
        TableColumn("Conditions of", "text", "UTC"),
        TableColumn("Looks", "int", "", "until the plan ran, once the conditions had come"),
        TableColumn("The first time", "int", "looks"),
    )
    cells: list[list[CellData]] = [
        [
            batch_cell(context, row.batch),
            time_cell(row.time),
            plan_cell(row.plan),
            time_cell(row.seen) | {"jump": jump_to(context, at=row.seen_batch)},
            row.n_looks,
            known(row.n_first, "the plan was in force when they came first"),
        ]
        for row in rows
    ]
    return RowTable("Conditions that came back, newest first", columns, cells)


RETURN: Final = log_panel(
    name="plan-return",
    title="Return on adaptivity",
    side=True,
    build=build,
    draw=draw,
)
SHARES: Final = log_panel(
    name="plan-shares",
    title="Plans",
    twin=False,
    build=build_shares,
    draw=draw_shares,
)
BACK: Final = log_panel(
    name="plan-recurrences",
    title="Conditions that came back",
    side=True,
    build=build_back,
    draw=draw_back,
)
PANELS: Final = (BACK, RETURN, SHARES)
