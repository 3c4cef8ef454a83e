"""Beside the matrix view: the last check with both ratios, and the pairs nearest to a violation."""

from __future__ import annotations

from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.badges import state_badge
from dashboard.components.links import jump
from dashboard.panels import records
from dashboard.panels.common.decision_card import pair_table
from dashboard.panels.contract import Drawing, Panel, Sheet, has_matrix
from dashboard.systems.agreedy.filters import MatrixShown, build
from dashboard.systems.agreedy.filters_view import VIEW, CheckView, NearPair, near_words
from dashboard.views.decision_costs import digits

_NEVER: Final = "{n} of the pairs can never swap, whatever the challenger drops."


def draw_check(shown: MatrixShown, sheet: Sheet) -> Drawing:
    """The check behind the matrix shown."""
    return Drawing(_check(shown.view.check if shown.view else None, sheet.context))


def draw_near(shown: MatrixShown, sheet: Sheet) -> Drawing:
    """The pairs that are nearest to a violation."""
    return Drawing(_near(shown.view.near if shown.view else []), note="by the rise it takes")


def _check(check: CheckView | None, context: Context) -> list[Component]:
    if check is None:
        return [html.P("No check is recorded for this moment.", className="pw-dim")]
    link = jump(context, f"decision {check.seq}", "/decisions", at=check.batch, node=str(check.seq))
    head = html.P([state_badge(check.verdict), " ", link], className="pw-check-words")
    if not check.pair:
        return [head, html.P(check.explanation)]
    tested = html.P(check.tested, className="pw-check-tested")
    return [head, pair_table(check.pair), tested, *_predicted(check)]


def _predicted(check: CheckView) -> list[Component]:
    old, new = check.predicted
    if new is None:
        return []
    words = f"Predicted: {digits(new)} µs per tuple in the new order, {digits(old)} in the old one."
    return [html.P(words, className="pw-dim")]


def _near(near: list[NearPair]) -> list[Component]:
    if not near:
        words = "No pair is recorded: nothing was compared at this moment."
        return [html.P(words, className="pw-dim")]
    able = [pair for pair in near if pair.rise is not None]
    items = [html.Li([near_words(pair), _bar(pair)]) for pair in able]
    listed: list[Component] = [html.Ol(items, className="pw-near")] if items else []
    never = len(near) - len(able)
    return [*listed, html.P(_NEVER.format(n=never), className="pw-dim")] if never else listed


def _bar(near: NearPair) -> Component:
    """The longer, the nearer."""
    width = max(0.0, 1.0 - (near.rise or 0.0))
    fill = html.I(style={"width": f"{100 * width:.0f}%"})
    return html.Div(fill, className="pw-bar", **attrs(aria_hidden=True))


def _beside(name: str, title: str, draw: Any, sql: str) -> Panel[MatrixShown]:
    return Panel(
        name=name,
        page="/matrix",
        title=title,
        sql=sql,
        twin=False,
        side=True,
        build=build,
        draw=draw,
        applies=has_matrix(VIEW),
        news=("run", "plans", "queries", "matrices", "decisions"),
        beats=True,
        unit=True,
    )


CHECK: Final = _beside("check", "Last check", draw_check, records.DECISIONS)
NEAR: Final = _beside("near", "Near violations", draw_near, records.matrices(VIEW))
