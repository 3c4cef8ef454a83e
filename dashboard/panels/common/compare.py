"""Compare: two runs, or two stretches of one, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from dash import html

from dashboard.base.context import Context
from dashboard.base.face import told
from dashboard.components.charts import scale_choice
from dashboard.components.formats import show
from dashboard.figures.compare import ROW, draw_compared
from dashboard.panels import records
from dashboard.panels.common.compare_parts import (
    ComparedView,
    CompareForm,
    draw_alignment,
    draw_decisions,
    draw_numbers,
    draw_plans,
    draw_points,
)
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.views.book import SYSTEM, Book, added, by_property
from dashboard.views.branches import with_branch
from dashboard.views.compare import (
    BY_TIME,
    NUMBERS,
    CommonPart,
    ComparedLine,
    ComparedPair,
    ComparedPlan,
    ComparedStretch,
    Places,
    aligned,
    by_batch,
    by_time,
    common_by_batch,
    common_by_time,
    decision_difference,
    ends_of,
    parse,
    plan_difference,
    run_words,
)
from dashboard.views.numbers import FEWEST
from storage.reader import Reader
from storage.tables.rows import DecisionEntry, SeriesData
from storage.vocabulary.branches import branch_of
from storage.vocabulary.records import Batch, Run

MOST_BATCHES: Final = 5000
MOST_POINTS: Final = 1000
MOST_DECISIONS: Final = 1000
#: What is compared where one side is a branch, which runs without Spark and gives way to others.
WITHOUT_TIMES: Final = tuple(name for name in NUMBERS if name not in ("tuples_per_s", "batch_ms"))


def build(reader: Reader, context: Context, scope: PanelScope) -> ComparedView:
    """The stretches the address names."""
    runs = {run.id: run for run in reader.runs()}
    asked = asked_for(reader, context)
    words = (run_words(runs.get(asked.a.run), asked.a), run_words(runs.get(asked.b.run), asked.b))
    names = {run.id: f"{run.workload} · {run.id}" for run in runs.values()}
    sides = {side: runs[side] for side in (asked.a.run, asked.b.run) if side in runs}
    one_is_branch = len({branch_of(run) is None for run in sides.values()}) == 2
    batches = _timed(reader, asked) if asked.align == BY_TIME else None
    common = _common(reader, asked, batches)
    laid = (by_time(batches[0]), by_time(batches[1])) if batches else _laid(asked)
    names_of = WITHOUT_TIMES if one_is_branch else tuple(NUMBERS)
    a, b = (asked.a, asked.b) if common is None else (common.a, common.b)
    return ComparedView(
        asked,
        words,
        names,
        common,
        _lines(reader, asked, laid, common, names_of),
        _plans(reader, a, b),
        decision_difference(_switches(reader, a), _switches(reader, b), (a.first, b.first)),
        one_is_branch,
        _flags(reader, [run for run in sides.values() if branch_of(run) is not None]),
    )


def _timed(reader: Reader, asked: ComparedPair) -> tuple[tuple[Batch, ...], tuple[Batch, ...]]:
    """The batches of both stretches, which know the time of the stream."""
    a, b = (
        reader.batches(side.run, side.first, side.last, MOST_BATCHES) for side in (asked.a, asked.b)
    )
    return a, b


def _laid(asked: ComparedPair) -> tuple[Places, Places]:
    return by_batch(asked.a.first), by_batch(asked.b.first)


def _common(
    reader: Reader,
    asked: ComparedPair,
    batches: tuple[Sequence[Batch], Sequence[Batch]] | None,
) -> CommonPart | None:
    """What both stretches have. batches: of both, where they are laid by time."""
    if batches is not None:
        return common_by_time(asked, batches)
    a, b = (
        ends_of(side, reader.find_batch(side.run, 0.0), reader.last_batch(side.run))
        for side in (asked.a, asked.b)
    )
    return common_by_batch(asked, (a, b))


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
    return parse(context.moment.show, context.run_id, _other(reader, here, runs), context.now)


def _other(reader: Reader, here: Run | None, runs: list[Run]) -> str:
    """The newest other run of the same workload, a branch of none, that has enough batches to be
    compared with; '' where there is none, or where this one has too few itself."""
    if here is None or not _is_long(reader, here):
        return ""
    own = [run for run in runs if branch_of(run) is None]
    same = [run for run in own if run.id != here.id and run.workload == here.workload]
    newest = sorted(same, key=lambda run: run.started_at, reverse=True)
    return next((run.id for run in newest if _is_long(reader, run)), "")


def _is_long(reader: Reader, run: Run) -> bool:
    first, last = reader.find_batch(run.id, 0.0), reader.last_batch(run.id)
    return first is not None and last is not None and last - first + 1 >= FEWEST


def _lines(
    reader: Reader,
    asked: ComparedPair,
    places: tuple[Places, Places],
    common: CommonPart | None,
    names: Sequence[str],
) -> list[ComparedLine]:
    shown = [_series(reader, side, names) for side in (asked.a, asked.b)]
    counted: list[dict[str, SeriesData]] = [{}, {}] if common is None else shown
    if common is not None and common.unlike:
        counted = [_series(reader, side, names) for side in (common.a, common.b)]
    lines = [
        aligned(
            name,
            (shown[0].get(name), shown[1].get(name)),
            places,
            (counted[0].get(name), counted[1].get(name)),
        )
        for name in (*names, *told("compared"))
    ]
    return [line for line in lines if line is not None]


def _series(reader: Reader, side: ComparedStretch, names: Sequence[str]) -> dict[str, SeriesData]:
    """Properties of the engine in a stretch, and those of parts added up."""
    added_up = told("compared")
    owners = Book(reader.entities(side.run, side.last)) if added_up else ()
    read = partial(
        reader.many_series,
        side.run,
        since_batch=side.first,
        until_batch=side.last,
        max_points=MOST_POINTS,
    )
    keys = [(owner, name) for owner in owners for name in added_up]
    return {**by_property(read([(SYSTEM, name) for name in names])), **added(read(keys))}


def _unlike(view: ComparedView) -> str:
    """Where numbers are taken, if one stretch goes on where the other does not; ''."""
    common = view.common
    if common is None:
        return _nothing_common(view)
    if not common.unlike:
        return ""
    if view.asked.align == BY_TIME:
        words = f"{common.first} to {common.last}"
        return f"Unlike stretches: all numbers are from {words}, which both have."
    n = int(common.last) - int(common.first) + 1
    return f"Unlike stretches: all numbers are of the {show(n, 'int')} batches that both have."


def _nothing_common(view: ComparedView) -> str:
    sides = [[getattr(line, side) for line in view.lines] for side in "ab"]
    if all(any(value is not None for values in side for value in values) for side in sides):
        return "The stretches have no place in common: align them the other way."
    return "One of the stretches has no batch yet: there is nothing to compare."


def _plans(reader: Reader, a: ComparedStretch, b: ComparedStretch) -> list[ComparedPlan]:
    plans = [reader.plans_at(side.run, side.last) for side in (a, b)]
    names: dict[str, str] = {}
    titles: dict[str, str] = {}
    for side in (a, b):
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
                draw_alignment(view, sheet.context),
                draw_numbers(view),
                *([scale_choice()] if view.lines else []),
            ]
        ),
        figure=figure,
        height=ROW * len(view.lines) + 46,
        foot=html.Div([draw_plans(view), draw_decisions(view, sheet.context)]),
        table=draw_points(view),
        note="means differ by chance, too: the interval says how much"
        + ("; a branch is replayed in another way, times are left out" * view.without_times),
    )


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
