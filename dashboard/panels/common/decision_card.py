"""The card of one evaluation, drawn from its view: plain elements, bars to scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.badges import badge
from dashboard.components.formats import Format, show, stamp
from dashboard.components.kinds import tone_of
from dashboard.components.links import if_not_button, jump
from dashboard.components.names import is_listed, term
from dashboard.components.rows import CellData, RowTable, TableColumn
from dashboard.views.decision_costs import digits, number_of
from dashboard.views.decisions import (
    LEVELS,
    CostBar,
    CountedTable,
    DecisionCard,
    Inequality,
    MacroStepLine,
    Measured,
    OrderView,
    apart,
)
from dashboard.views.orders import OrderItem

HEADROOM: Final = 1.18


def draw_card(card: DecisionCard, context: Context) -> Component:
    """The whole card."""
    parts = [
        _head(card, context),
        html.P(card.sentence, className="pw-dcard-sentence"),
        _section(card.tested, [*map(_inequality, card.inequalities), _evidence(card)]),
        _section("Pair", [pair_table(card.pair)]) if card.pair else None,
        _section("In use" if card.unit in LEVELS else "Order", _orders(card, context)),
        _section(f"Cost ({card.unit})", _costs(card)),
        _section("Counted", [*map(counted_table, card.counted)]) if card.counted else None,
        _section("Saved", _saved(card)) if card.verdict == "switched" else None,
        _details(card),
    ]
    return html.Article(
        [part for part in parts if part is not None],
        className="pw-dcard",
        **attrs(data_decision=card.seq, aria_label=f"Decision {card.seq}"),
    )


def _head(card: DecisionCard, context: Context) -> Component:
    moment = f"after batch {card.batch}"
    if card.verdict == "switched":
        moment += f", in force from batch {card.batch + 1}"
    at = jump(context, moment, at=card.batch, title="show this moment everywhere")
    words = [
        html.H2(f"Decision {card.seq}", className="pw-dcard-title"),
        html.Span(
            [html.Span(card.sign + " ", **attrs(aria_hidden=True)), card.word],
            className=f"pw-badge pw-tone-{tone_of(card.verdict)}",
            title=card.meaning,
        ),
        html.Span([at, f" · {stamp(card.time)} UTC"], className="pw-dcard-when"),
        html.Span(_algorithm(card.algorithm), className="pw-dcard-when"),
    ]
    return html.Header(words, className="pw-dcard-head")


def _algorithm(name: str) -> Component | str:
    """Who decided: a system in words, an algorithm by the name it has in its paper."""
    return term(name) if is_listed(name.partition(".")[0]) else name


def _section(title: str, children: Any) -> Component:
    return html.Section([html.H3(title), *children], className="pw-dcard-section")


#: Relations whose right side has to be the larger one.
_RIGHT: Final = ("<", "≤")


def _inequality(inequality: Inequality) -> Component:
    """The side that has to be the larger one as a bar with its interval, the other as a mark on
    it, both on one scale from 0."""
    outcome = _outcome(inequality)
    note = html.Span(
        " · ".join(filter(None, (inequality.note, _drawn(inequality)))), className="pw-test-note"
    )
    words = html.Span([html.B(inequality.words), outcome, note], className="pw-test-words")
    label = f"{inequality.name}: {inequality.words}{outcome}"
    return html.Div(
        [
            html.Span([inequality.name, _decides(inequality)], className="pw-test-name"),
            html.Div(
                scale_of(inequality), className="pw-test-bar", role="img", **attrs(aria_label=label)
            ),
            words,
        ],
        className="pw-test",
        **attrs(data_holds=inequality.holds if inequality.holds is not None else "unknown"),
    )


def _drawn(inequality: Inequality) -> str:
    """Which side is the bar, which the mark."""
    if inequality.lhs is None or inequality.rhs is None:
        return ""
    lhs, rhs = apart(inequality.lhs, inequality.rhs, inequality.form)
    bar, mark = (rhs, lhs) if inequality.relation in _RIGHT else (lhs, rhs)
    return f"bar {bar}, mark {mark}"


def _outcome(inequality: Inequality) -> str:
    """What follows for the relation that was tested."""
    if inequality.holds is None:
        return ": cannot be told"
    return f", so {inequality.relation} {'holds' if inequality.holds else 'does not hold'}"


def _decides(inequality: Inequality) -> Component | str:
    return (
        badge("decides", "info")
        if inequality.decides
        else html.Span("watched only", className="pw-dim")
    )


def scale_of(inequality: Inequality) -> list[Component]:
    """The parts of the bar: the larger side, its interval, the other side's mark."""
    larger, other = (
        (inequality.rhs, inequality.lhs)
        if inequality.relation in _RIGHT
        else (inequality.lhs, inequality.rhs)
    )
    ends = inequality.interval or ()
    top = max(abs(side or 0.0) for side in (inequality.lhs, inequality.rhs, *ends)) * HEADROOM
    if top <= 0:
        return []
    parts: list[Component] = []
    if inequality.unbounded or larger is not None:
        width = "100%" if inequality.unbounded else _percent(larger or 0.0, top)
        parts.append(html.I(className="pw-test-fill", style={"width": width}))
    if inequality.interval is not None:
        parts.append(_range(inequality.interval, top))
    if other is not None:
        parts.append(html.I(className="pw-test-mark", style={"left": _percent(other, top)}))
    return parts


def _range(interval: tuple[float, float], top: float) -> Component:
    """An interval as a line over the end of a bar."""
    low, high = max(0.0, interval[0]), max(0.0, interval[1])
    place = {"left": _percent(low, top), "width": _percent(high - low, top)}
    return html.I(className="pw-cost-whisker", style=place)


def _percent(value: float, top: float) -> str:
    return f"{max(0.0, min(1.0, abs(value) / top)) * 100:.1f}%"


def _evidence(card: DecisionCard) -> Component:
    words = f"{card.sample_words} · knobs version {card.knob_version}"
    return html.P(words, className="pw-dim")


def _orders(card: DecisionCard, context: Context) -> list[Component]:
    if card.old is None and card.new is None:
        return [html.P("No order was recorded with this evaluation.", className="pw-dim")]
    columns = []
    if card.old is not None:
        title = "Before" if card.new is not None else "In force"
        columns.append(_order(title, card.old, context, card.batch))
    if card.new is not None:
        title = "After" if card.verdict == "switched" else "Candidate"
        columns.append(_order(title, card.new, context, card.batch + 1))
    return [html.Div(columns, className="pw-orders")]


def _order(title: str, order: OrderView, context: Context, at: int) -> Component:
    name = html.B(title)
    link = (
        jump(context, f"plan {order.version}", path="/plan", at=at)
        if order.version is not None
        else None
    )
    kind = html.Span(order.kind, className="pw-dim") if order.kind else None
    head = [part for part in (name, link, kind) if part is not None]
    items = html.Ol([_item(item) for item in order.items], className="pw-order")
    return html.Div([html.Div(head, className="pw-order-head"), items])


def _item(item: OrderItem) -> Component:
    note = ""
    if item.change:
        note = item.change
    elif item.moved:
        note = f"{'↑' if item.moved > 0 else '↓'}{abs(item.moved)}"
    words = f"{abs(item.moved)} places {'up' if item.moved > 0 else 'down'}" if item.moved else ""
    return html.Li(
        [
            html.Span(item.attribute),
            html.Span(note, className="pw-order-move", title=item.change or words),
        ],
        className="pw-order-marked" if item.marked else "",
    )


def _costs(card: DecisionCard) -> list[Component]:
    if not card.costs:
        words = "Nothing was predicted: no other order was built at this evaluation."
        return [html.P(words, className="pw-dim")]
    known = [cost.cost.value for cost in card.costs if cost.cost.value is not None]
    highs = [cost.interval[1] for cost in card.costs if cost.interval is not None]
    top = max(known + highs, default=0.0) * 1.02
    form: Format = "bytes" if card.unit in LEVELS else "f3"
    bars = html.Div([_cost(cost, top, form) for cost in card.costs], className="pw-costs")
    return [bars, html.P(card.saving, className="pw-dim")] if card.saving else [bars]


def _cost(cost: CostBar, top: float, form: Format) -> Component:
    value = cost.cost.value
    kind = "estimated" if cost.estimated else "measured"
    fill = html.I(
        className=f"pw-cost-fill pw-cost-{kind}",
        style={"width": _percent(value, top)} if value is not None and top > 0 else {},
        hidden=value is None,
    )
    return html.Div(
        [
            html.Span([cost.label, " ", badge("won", "switch") if cost.chosen else ""]),
            html.Div(
                [fill, _whisker(cost, top)], className="pw-cost-bar", **attrs(aria_hidden=True)
            ),
            html.B(show(value, form), className="pw-cost-number"),
            html.Span(_basis(cost), className="pw-dim"),
        ],
        className="pw-cost",
    )


def _whisker(cost: CostBar, top: float) -> Component:
    """The 95 % interval over the end of the bar."""
    if cost.interval is None or cost.cost.value is None or top <= 0:
        return html.I(hidden=True)
    return _range(cost.interval, top)


def _basis(cost: CostBar) -> str:
    if cost.cost.value is None:
        return cost.cost.reason
    if cost.interval is None or cost.interval[0] == cost.interval[1]:
        return cost.basis
    low, high = cost.interval
    return f"{cost.basis}, 95 %: {show(low, 'f2')} to {show(high, 'f2')}"


def _saved(card: DecisionCard) -> list[Component]:
    tone = _saved_tone(card.saved)
    words = html.P(card.saved_words, className=f"pw-saved pw-ink-{tone}")
    return [words, html.P(if_not_button(card.unit_id, card.seq))]


def _saved_tone(saved: Measured) -> str:
    if saved.value is None:
        return "quiet"
    return "ok" if saved.value >= 0 else "warning"


def _details(card: DecisionCard) -> Component:
    folds = [
        _fold(f"How the order was built ({len(card.steps)} steps)", _steps(card))
        if card.steps
        else None,
        _fold(f"Knobs in force (version {card.knob_version})", _knobs(card))
        if card.knobs
        else None,
        _fold("Further numbers of the record", _further(card)) if card.further else None,
    ]
    return html.Div([fold for fold in folds if fold is not None], className="pw-folds")


def _fold(title: str, body: Component) -> Component:
    return html.Details([html.Summary(title), body], className="pw-fold")


def _steps(card: DecisionCard) -> Component:
    columns = (
        TableColumn("Step", "int"),
        TableColumn("Phase"),
        TableColumn("Measured"),
        TableColumn("Winner"),
        TableColumn(
            "Candidates", None, "", "each with its conditional selectivity s or dropping ratio d"
        ),
    )
    rows = [
        [step.number, step.phase, step.metric, step.winner, _scores(step)] for step in card.steps
    ]
    cover = ", ".join(card.cover_prefix)
    words = "One row per step, as the macro-sequence was built"
    return RowTable(
        f"{words}; cover prefix: {cover}" if cover else words,
        columns,
        rows,
        className="pw-steps",
    )


def _scores(step: MacroStepLine) -> CellData:
    """All candidates with their scores, the winner first."""
    ranked = sorted(step.candidates, key=lambda pair: pair[0] != step.winner)
    parts = [
        [f"{name} {show(value, 'f3')}", "pw-candidate" + (" pw-won" if name == step.winner else "")]
        for name, value in ranked
    ]
    return {"parts": parts, "sort": len(parts)}


def _knobs(card: DecisionCard) -> Component:
    columns = (TableColumn("Knob"), TableColumn("Value"), TableColumn("Unit"))
    return RowTable(
        "Knob values in force at this batch", columns, [list(knob) for knob in card.knobs]
    )


def counted_table(table: CountedTable) -> Component:
    """Words first, then numbers, whole ones as such."""
    columns = [TableColumn(name) for name in table.columns[:1]]
    for place, name in enumerate(table.columns[1:], start=1):
        is_whole = all(isinstance(row[place], int) for row in table.rows)
        columns.append(TableColumn(name, "int" if is_whole else "f3"))
    return RowTable(table.about, columns, [list(row) for row in table.rows])


def _further(card: DecisionCard) -> Component:
    return RowTable(
        "As recorded", (TableColumn("Name"), TableColumn("Value")), [list(p) for p in card.further]
    )


def pair_table(pair: Mapping[str, Any]) -> Component:
    """The deciding pair: both sides of the inequality, n, interval."""
    own, other = str(pair.get("filter", "")), str(pair.get("challenger", ""))
    rows = [
        ("", own, other),
        ("position", show(pair.get("position")), show(pair.get("challenger_position"))),
        ("dropped", show(pair.get("dropped"), "int"), show(pair.get("challenger_dropped"), "int")),
        ("cost, µs", digits(pair.get("cost_us")), digits(pair.get("challenger_cost_us"))),
        ("drops per µs", digits(pair.get("rank"), "∞"), digits(pair.get("challenger_rank"), "∞")),
    ]
    lines = [
        html.Tr([html.Th(name, scope="row"), html.Td(left), html.Td(right)])
        for name, left, right in rows[1:]
    ]
    head = html.Tr([html.Td(""), html.Th(own, scope="col"), html.Th(other, scope="col")])
    n = html.P(f"n = {show(pair.get('n_reached'), 'int')} profile tuples{_interval(pair)}")
    table = html.Table([html.Thead(head), html.Tbody(lines)], className="pw-check-pair")
    return html.Div([table, n], **attrs(data_pair=f"{own},{other}"))


def _interval(pair: Mapping[str, Any]) -> str:
    interval = pair.get("interval")
    if not isinstance(interval, Mapping):
        return ""
    low, high = digits(interval.get("low")), digits(interval.get("high"))
    sure = show(number_of(interval.get("confidence")), "pct")
    ranks = f"{low} to {high}".replace("-", "−")
    return f"; difference of ranks {ranks} ({sure} interval)"
