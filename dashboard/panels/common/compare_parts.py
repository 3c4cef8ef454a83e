"""The parts of Compare, drawn from what both stretches have: form, numbers, plans, decisions."""

from __future__ import annotations

from typing import Final, NamedTuple

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.drawn import NAMESPACE, Drawn
from dashboard.components.links import jump
from dashboard.components.rows import CellData, RowTable, TableColumn, jump_to
from dashboard.views.compare import (
    BY_BATCH,
    BY_TIME,
    CommonPart,
    ComparedDecision,
    ComparedLine,
    ComparedPair,
    ComparedPlan,
    address,
)
from dashboard.views.numbers import FEWEST

_ORDERS: Final = "pw-compare-orders"


class ComparedView(NamedTuple):
    """Both stretches, by what they are made of. runs: id -> words, for the form. common: over what
    numbers are taken, and at the end of which plans are; None = they share nothing. without_times:
    one of them is a branch, whose times are none of its plans. flags: what is to be known of
    branches before anything is read from them."""

    asked: ComparedPair
    words: tuple[str, str]
    runs: dict[str, str]
    common: CommonPart | None
    lines: list[ComparedLine]
    plans: list[ComparedPlan]
    decisions: list[ComparedDecision]
    without_times: bool = False
    flags: tuple[str, ...] = ()


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
        align = address(view.asked).split("~", 2)[2]
        super().__init__(runs=runs, a=sides[0], b=sides[1], align=align)


def draw_alignment(view: ComparedView, context: Context) -> Component:
    """How both are laid over each other, to choose."""
    links = []
    for align, words in ((BY_BATCH, "by batch"), (BY_TIME, "by time of the stream")):
        show = address(view.asked._replace(align=align))
        current = attrs(aria_current="true" if align == view.asked.align else None)
        links.append(jump(context, words, show=show, className="pw-chip-link", **current))
    return html.Nav(links, className="pw-chips", **attrs(aria_label="How they are aligned"))


def draw_numbers(view: ComparedView) -> Component:
    """The means of both, and how much the second differs."""
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
            f"{switches[1] - switches[0]:+d}".replace("-", "−"),
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
        return _why_no_change(line)
    half = 100 * (share.high - share.low) / 2
    words = f"{100 * share.mean:+.1f} % ± {half:.1f}".replace("-", "−")
    mark = {"ok": "pw-ink-ok", "warning": "pw-ink-warning"}.get(line.tone, "")
    return {"text": words, "sort": share.mean, "mark": mark}


def _why_no_change(line: ComparedLine) -> str:
    if None in (line.mean_a, line.mean_b):
        return "not known of both"
    return "not enough batches" if line.change.n < FEWEST else "A is 0: no share of it"


def draw_plans(view: ComparedView) -> Component:
    """The plans at the end of what both have."""
    columns = (TableColumn("Plan at the end"), TableColumn("A"), TableColumn("B"))
    rows: list[list[CellData]] = [
        [
            plan.unit,
            {"parts": _parts(plan.kinds[0], plan.a, plan.moved | plan.only_a)},
            {"parts": _parts(plan.kinds[1], plan.b, plan.moved | plan.only_b)},
        ]
        for plan in view.plans
    ]
    return RowTable(_plan_words(view), columns, rows, className=_ORDERS)


def _plan_words(view: ComparedView) -> str:
    """What plans at the end and the way to them have in common."""
    if any(plan.a != plan.b or plan.kinds[0] != plan.kinds[1] for plan in view.plans):
        return "Plans at the end (moved steps highlighted)"
    if all(decision.side == "both" for decision in view.decisions):
        return "Plans at the end: the same"
    return "Plans at the end: the same, reached by other rearrangements"


def _parts(kind: str, order: list[str], marked: frozenset[str]) -> list[list[str]]:
    if not kind:
        return [["no plan", "pw-dim"]]
    steps = [[name, "pw-compare-moved" if name in marked else ""] for name in order]
    return [[f"{kind}:", "pw-dim"], *steps]


def draw_decisions(view: ComparedView, context: Context) -> Component:
    """Rearrangements of both, by place."""
    columns = (
        TableColumn("In"),
        TableColumn("After", "int", "batches", "from where its stretch begins"),
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
            decision.batch - side.first,
            decision.batch,
            decision.words,
            {"text": f"#{decision.seq}", "jump": link},
        ]
        rows.append(row)
    n = [sum(decision.side == side for decision in view.decisions) for side in ("A", "B", "both")]
    caption = f"Rearrangements: {n[0]} only in A, {n[1]} only in B, {n[2]} in both"
    return RowTable(caption, columns, rows, className=_ORDERS)


def draw_points(view: ComparedView) -> Component:
    """The lines as numbers."""
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
