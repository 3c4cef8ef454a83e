"""Beside the matrix view: the last check with both ratios, and the pairs nearest to a violation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from dashboard.components.attributes import attrs
from dashboard.components.badges import state_badge
from dashboard.components.formats import show
from dashboard.components.links import jump
from dashboard.components.panels import panel
from dashboard.context import Context
from dashboard.views.decision_costs import number_of
from dashboard.views.filters import Check, FiltersView, Near, digits, near_words

_NEVER: Final = "{n} of the pairs looked at cannot turn over, whatever the challenger drops."


def draw(view: FiltersView | None, context: Context) -> list[Component]:
    """Both panels."""
    check = None if view is None else view.check
    near = [] if view is None else view.near
    return [
        panel("Last check", _check(check, context)),
        panel("Near violations", _near(near), note="by the rise it takes"),
    ]


def _check(check: Check | None, context: Context) -> list[Component]:
    if check is None:
        return [html.P("No check is recorded for this moment.", className="pw-dim")]
    link = jump(
        context, f"decision {check.seq}", "/decisions", at=check.batch, node=f"decision:{check.seq}"
    )
    head = html.P([state_badge(check.verdict), " ", link], className="pw-check-words")
    if not check.pair:
        return [head, html.P(check.explanation)]
    tested = html.P(check.tested, className="pw-check-tested")
    return [head, pair_table(check.pair), tested, *_predicted(check)]


def _predicted(check: Check) -> list[Component]:
    old, new = check.predicted
    if new is None:
        return []
    words = f"Predicted: {digits(new)} µs per tuple in the new order, {digits(old)} in the old one."
    return [html.P(words, className="pw-dim")]


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
    return f"; difference of ranks {low} to {high} ({sure} interval)"


def _near(near: list[Near]) -> list[Component]:
    if not near:
        words = "No pair is recorded: nothing was compared at this moment."
        return [html.P(words, className="pw-dim")]
    able = [one for one in near if one.rise is not None]
    items = [html.Li([near_words(one), _bar(one)]) for one in able]
    listed: list[Component] = [html.Ol(items, className="pw-near")] if items else []
    never = len(near) - len(able)
    return [*listed, html.P(_NEVER.format(n=never), className="pw-dim")] if never else listed


def _bar(near: Near) -> Component:
    """The longer, the nearer."""
    width = max(0.0, 1.0 - (near.rise or 0.0))
    fill = html.I(style={"width": f"{100 * width:.0f}%"})
    return html.Div(fill, className="pw-bar", **attrs(aria_hidden=True))
