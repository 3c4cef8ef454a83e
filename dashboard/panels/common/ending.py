"""How a run ended that was killed or failed: the engine's last words, and how it goes on."""

from __future__ import annotations

from typing import Any, Final

from dash import html

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.formats import clock, show
from dashboard.components.links import jump
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.report.ending import ending_of
from dashboard.views.ends import Ending
from storage.reader import Reader


def build(reader: Reader, context: Context, scope: PanelScope) -> Ending | None:
    """The end, where it was not asked for and is on screen."""
    if context.run is None or context.batch != context.now:
        return None
    return ending_of(reader, context.run)


def draw(end: Ending, sheet: Sheet) -> Drawing:
    """What happened, the last lines, what is kept, the command."""
    context = sheet.context
    last = end.checkpoint.batch
    at = "before its first batch" if last is None else f"after batch {show(last, 'int')}"
    body: list[Any] = [
        html.P([html.B(f"✖ {clock(end.time)} UTC, {at}. "), end.title], className="pw-end-title")
    ]
    if end.lines:
        words = "\n".join(
            f"{clock(stored.line.time)}  batch {stored.batch}  {stored.line.text}"
            for stored in end.lines
        )
        link = jump(context, "all lines", "/monitor", className="pw-link")
        body += [html.H3(["The engine's last lines ", link]), _code(words)]
    body += [html.H3("To go on"), html.P(" ".join(end.checkpoint.words))]
    if end.command:
        host = context.run.host if context.run is not None else ""
        copy = html.Button(
            "Copy", type="button", className="pw-button", **attrs(data_pw_copy=end.command)
        )
        body += [_code(end.command), html.P([copy, f" Run it on {host}, in Planwatch's folder."])]
    if end.warning:
        body.append(html.P(f"⚠ {end.warning}", className="pw-ink-warning"))
    return Drawing(body)


def _code(words: str) -> html.Pre:
    return html.Pre(words, className="pw-runs-commands pw-end-words", tabIndex=0)


PANEL: Final = Panel(
    name="ending",
    page="/postmortem",
    title="How it ended",
    sql=records.LOG,
    twin=False,
    build=build,
    draw=draw,
    news=("run",),
)
