"""Compare: two runs, or two stretches of one, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.base.face import told
from dashboard.components.attributes import attrs
from dashboard.components.charts import scale_choice
from dashboard.components.drawn import NAMESPACE, Drawn
from dashboard.components.formats import show
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.figures.compare import ROW, draw_compared
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.views.book import SYSTEM, Book, added, by_property
from dashboard.views.branches import with_branch
from dashboard.views.compare import (
    BY_BATCH,
    BY_TIME,
    NUMBERS,
    ComparedDecision,
    ComparedLine,
    ComparedPair,
    ComparedPlan,
    ComparedStretch,
    address,
    aligned,
    by_batch,
    by_time,
    decision_difference,
    parse,
    plan_difference,
    run_words,
)
from storage.reader import Reader
from storage.tables.rows import DecisionEntry, SeriesData
from storage.vocabulary.branches import branch_of
from storage.vocabulary.records import Run

_ORDERS: Final = "pw-compare-orders"
MOST_BATCHES: Final = 5000
MOST_POINTS: Final = 1000
MOST_DECISIONS: Final = 1000
#: What is compared where one side is a branch, which runs without Spark and gives way to others.
WITHOUT_TIMES: Final = tuple(name for name in NUMBERS if name not in ("tuples_per_s", "batch_ms"))


class ComparedView(NamedTuple):
    """Both stretches, by what they are made of. runs: id -> words, for the form. without_times: one
    of them is a branch, whose times are none of its plans. flags: what is to be known of branches
    before anything is read from them."""

    asked: ComparedPair
    words: tuple[str, str]
    runs: dict[str, str]
    lines: list[ComparedLine]
    plans: list[ComparedPlan]
    decisions: list[ComparedDecision]
    without_times: bool = False
    flags: tuple[str, ...] = ()


def build(reader: Reader, context: Context, scope: PanelScope) -> ComparedView:
    """The stretches the address names."""
    runs = {run.id: run for run in reader.runs()}
    asked = asked_for(reader, context)
    words = (run_words(runs.get(asked.a.run), asked.a), run_words(runs.get(asked.b.run), asked.b))
    names = {run.id: f"{run.workload} · {run.id}" for run in runs.values()}
    sides = {side: runs[side] for side in (asked.a.run, asked.b.run) if side in runs}
    one_is_branch = len({branch_of(run) is None for run in sides.values()}) == 2
    lines = _lines(reader, asked, WITHOUT_TIMES if one_is_branch else tuple(NUMBERS))
    a, b = (_cut(side, asked.align, lines) for side in (asked.a, asked.b))
    return ComparedView(
        asked,
        words,
        names,
        lines,
        _plans(reader, asked),
        decision_difference(_switches(reader, a), _switches(reader, b), (a.first, b.first)),
        one_is_branch,
        _flags(reader, [run for run in sides.values() if branch_of(run) is not None]),
    )


def _flags(reader: Reader, branches: Sequence[Run]) -> tuple[str, ...]:
    """What their engines warned of: other data, or decisions that did not come out as recorded."""
    events = [(run, reader.events(run.id, kinds=("run",))) for run in branches]
    flags = [
        (run, stored.event)
        for run, all in events
        for stored in all
        if stored.event.severity != "info"
    ]
    return tuple(f"{run.id}: {event.title} ({event.detail})." for run, event in flags)


def asked_for(reader: Reader, context: Context) -> ComparedPair:
    """What the address asks for, or what stands to reason."""
    runs = [] if context.moment.show else list(reader.runs())
    here = context.run
    if here is not None and (pair := with_branch(here, runs)) is not None:
        return pair
    return parse(context.moment.show, context.run_id, _other(here, runs), context.now)


def _other(here: Run | None, runs: list[Run]) -> str:
    """The newest other run of the same workload, a branch of none."""
    own = [run for run in runs if branch_of(run) is None]
    same = [r for r in own if here and r.id != here.id and r.workload == here.workload]
    return max(same, key=lambda run: run.started_at).id if same else ""


def _lines(reader: Reader, asked: ComparedPair, names: Sequence[str]) -> list[ComparedLine]:
    sides, added_up = (asked.a, asked.b), told("compared")
    places, series = [], list[dict[str, SeriesData]]()
    for side in sides:
        is_timed = asked.align == BY_TIME
        batches = reader.batches(side.run, side.first, side.last, MOST_BATCHES) if is_timed else ()
        places.append(by_time(batches) if is_timed else by_batch(side.first))
        owners = Book(reader.entities(side.run, side.last)) if added_up else ()
        keys = [(owner, name) for owner in owners for name in added_up]
        read = partial(
            reader.many_series,
            side.run,
            since_batch=side.first,
            until_batch=side.last,
            max_points=MOST_POINTS,
        )
        series.append(
            {**by_property(read([(SYSTEM, name) for name in names])), **added(read(keys))}
        )
    lines = [
        aligned(name, (series[0].get(name), series[1].get(name)), (places[0], places[1]))
        for name in (*names, *added_up)
    ]
    return [line for line in lines if line is not None]


def _cut(side: ComparedStretch, align: str, lines: Sequence[ComparedLine]) -> ComparedStretch:
    """The part of a stretch, laid by batch, that the other one reaches, too."""
    shared = next((line.shared for line in lines if line.shared is not None), None)
    if shared is None or align == BY_TIME:
        return side
    return side._replace(first=side.first + int(shared[0]), last=side.first + int(shared[1]))


def _unlike(view: ComparedView) -> str:
    """Where means are taken, if one stretch goes on where the other does not; ''."""
    line = next((line for line in view.lines if line.shared is not None), None)
    if line is None or line.shared is None:
        gone = bool(view.lines) and any(
            None not in (line.mean_a, line.mean_b) for line in view.lines
        )
        return "The stretches have no place in common: align them the other way." if gone else ""
    first, last = line.shared
    if (line.x[0], line.x[-1]) == (first, last):
        return ""
    if view.asked.align == BY_TIME:
        return f"Unlike stretches: all means are from {first} to {last}, which both have."
    n = int(last) - int(first) + 1
    return f"Unlike stretches: all numbers are of the first {show(n, 'int')} batches of each."


def _plans(reader: Reader, asked: ComparedPair) -> list[ComparedPlan]:
    plans = [reader.plans_at(side.run, side.last) for side in (asked.a, asked.b)]
    names: dict[str, str] = {}
    titles: dict[str, str] = {}
    for side in (asked.a, asked.b):
        names |= {entity.id: entity.name for entity in reader.entities(side.run, side.last)}
        titles |= {unit.id: unit.title for unit in reader.units(side.run, side.last)}
    units = dict.fromkeys((*plans[0], *plans[1]))
    return [
        plan_difference(titles.get(unit, unit), plans[0].get(unit), plans[1].get(unit), names)
        for unit in units
    ]


def _switches(reader: Reader, side: ComparedStretch) -> list[DecisionEntry]:
    decisions = reader.decisions(
        side.run, until=side.last, verdicts=("switched",), limit=MOST_DECISIONS, brief=True
    )
    return [decision for decision in decisions if side.holds(decision.decision.batch)]


def draw(view: ComparedView, sheet: Sheet) -> Drawing:
    """Form, numbers, charts, plans and decisions."""
    figure = draw_compared(view.lines, view.asked.align, sheet.theme) if view.lines else None
    return Drawing(
        body=html.Div(
            [
                CompareForm(view),
                *(
                    html.P(flag, className="pw-notice", role="note")
                    for flag in (*view.flags, _unlike(view))
                    if flag
                ),
                _alignment(view, sheet.context),
                _numbers(view),
                *([scale_choice()] if view.lines else []),
            ]
        ),
        figure=figure,
        height=ROW * len(view.lines) + 46,
        foot=html.Div([_plan_table(view), _decision_table(view, sheet.context)]),
        table=_points(view),
        note="means differ by chance, too: the interval says how much"
        + ("; a branch is replayed in another way, times are left out" * view.without_times),
    )


class CompareForm(Drawn):
    """Two choices of a stretch that go into the address (modules/page_compare.js).

    runs: [[id, words], ...]. a, b: [run, first, last], last '' = up to now.
    """

    _namespace = NAMESPACE
    _type = "CompareForm"
    _names = ("runs", "a", "b", "align")

    def __init__(self, view: ComparedView) -> None:
        sides = [
            [side.run, str(side.first), "" if side.last is None else str(side.last)]
            for side in (view.asked.a, view.asked.b)
        ]
        runs = [list(pair) for pair in view.runs.items()]
        align = "~".join(filter(None, [view.asked.align, view.asked.branch]))
        super().__init__(runs=runs, a=sides[0], b=sides[1], align=align)


def _alignment(view: ComparedView, context: Context) -> Component:
    links = []
    for align, words in ((BY_BATCH, "by batch"), (BY_TIME, "by time of the stream")):
        show = address(view.asked._replace(align=align))
        current = attrs(aria_current="true" if align == view.asked.align else None)
        links.append(jump(context, words, show=show, className="pw-chip-link", **current))
    return html.Nav(links, className="pw-chips", **attrs(aria_label="How they are aligned"))


def _numbers(view: ComparedView) -> Component:
    columns = (
        TableColumn("Number"),
        TableColumn("A", "f3"),
        TableColumn("B", "f3"),
        TableColumn("Unit"),
        TableColumn("From A to B", None, "", "means over what both have, with a 95 % interval"),
    )
    rows: list[list[CellData]] = [
        [line.words, *_means(line), line.unit, _change(line)] for line in view.lines
    ]
    switches = [
        sum(decision.side in (side, "both") for decision in view.decisions) for side in "AB"
    ]
    rows.append(
        [
            "Rearrangements",
            {"text": switches[0], "form": "int"},
            {"text": switches[1], "form": "int"},
            "",
            f"{switches[1] - switches[0]:+d}",
        ]
    )
    caption = f"A: {view.words[0]} · B: {view.words[1]}"
    return RowTable(caption, columns, rows, className="pw-compare-numbers")


def _means(line: ComparedLine) -> list[CellData]:
    form = {"tuples/s": "si", "tuples": "int", "bytes": "bytes"}.get(line.unit, "f3")
    return [{"text": mean, "form": form} for mean in (line.mean_a, line.mean_b)]


def _change(line: ComparedLine) -> CellData:
    share = line.change.share
    if share is None:
        return "not enough batches"
    half = 100 * (share.high - share.low) / 2
    words = f"{100 * share.mean:+.1f} % ± {half:.1f}".replace("-", "−")
    mark = {"ok": "pw-ink-ok", "warning": "pw-ink-warning"}.get(line.tone, "")
    return {"text": words, "sort": share.mean, "mark": mark}


def _plan_table(view: ComparedView) -> Component:
    columns = (TableColumn("Plan at the end"), TableColumn("A"), TableColumn("B"))
    rows: list[list[CellData]] = [
        [
            plan.unit,
            {"parts": _parts(plan.kinds[0], plan.a, plan.moved | plan.only_a)},
            {"parts": _parts(plan.kinds[1], plan.b, plan.moved | plan.only_b)},
        ]
        for plan in view.plans
    ]
    same = all(plan.a == plan.b and plan.kinds[0] == plan.kinds[1] for plan in view.plans)
    words = "Plans: the same" if same else "Plans (moved steps highlighted)"
    return RowTable(words, columns, rows, className=_ORDERS)


def _parts(kind: str, order: list[str], marked: frozenset[str]) -> list[list[str]]:
    if not kind:
        return [["no plan", "pw-dim"]]
    steps = [[name, "pw-compare-moved" if name in marked else ""] for name in order]
    return [[f"{kind}:", "pw-dim"], *steps]


def _decision_table(view: ComparedView, context: Context) -> Component:
    columns = (
        TableColumn("In"),
        TableColumn("Batch", "int"),
        TableColumn("New order"),
        TableColumn("Decision"),
    )
    rows = []
    for decision in view.decisions:
        side = view.asked.b if decision.side == "B" else view.asked.a
        link = jump_to(
            context,
            "/decisions",
            at=decision.batch,
            node=str(decision.seq),
            run=side.run,
            unit=decision.unit,
        )
        words = {"A": "only in A", "B": "only in B"}.get(decision.side, "in both")
        row: list[CellData] = [
            words,
            decision.batch,
            decision.words,
            {"text": f"#{decision.seq}", "jump": link},
        ]
        rows.append(row)
    n = [sum(decision.side == side for decision in view.decisions) for side in ("A", "B", "both")]
    caption = f"Rearrangements: {n[0]} only in A, {n[1]} only in B, {n[2]} in both"
    return RowTable(caption, columns, rows, className=_ORDERS)


def _points(view: ComparedView) -> Component:
    columns = (
        TableColumn("Number"),
        TableColumn("Place"),
        TableColumn("A", "f3"),
        TableColumn("B", "f3"),
    )
    rows: list[list[CellData]] = [
        [line.words, x, a, b]
        for line in view.lines
        for x, a, b in list(zip(line.x, line.a, line.b, strict=True))[-100:]
    ]
    total = sum(len(line.x) for line in view.lines)
    return RowTable("Both stretches, the newest hundred of each", columns, rows, total=total)


PANEL: Final = Panel(
    name="compare",
    page="/compare",
    title="Compare",
    sql=records.BATCHES,
    build=build,
    draw=draw,
    news=("run", "plans", "decisions"),
    show=True,
    whole=True,
    chart="Both stretches overlaid",
)
