"""Post-mortem: the story of the run, what people pinned to it, and both ways to hand it out."""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from urllib.parse import quote

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.base.prefix import below
from dashboard.components.attributes import attrs
from dashboard.components.formats import clock
from dashboard.components.kinds import event_kind
from dashboard.components.links import jump
from dashboard.components.states import empty
from dashboard.panels import records
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.report.postmortem import story_of
from dashboard.serving.services import Services
from dashboard.views.planlog_story import BACK
from dashboard.views.postmortem import Sentence, Story
from storage.reader import Reader

FORM: Final = "pw-note-form"
#: Sentences on the page, newest ones; the file has all.
SHOWN: Final = 400
#: Of what is no event.
_SIGNS: Final = {"gap": "⧗", "note": "✎", BACK: "↺"}


class ToldRun(NamedTuple):
    """The story up to the moment. at: batch a note is pinned to."""

    run: str
    at: int
    story: Story


def build(reader: Reader, context: Context, scope: PanelScope) -> ToldRun | None:
    """The story of the run up to the moment."""
    if context.run is None:
        return None
    story = story_of(reader, context.run, context.batch)
    return ToldRun(context.run_id, context.batch or 0, story)


def draw(run: ToldRun, sheet: Sheet) -> Drawing:
    """Opening, files, sentences."""
    story = run.story.sentences
    rows = [_line(sentence, sheet.context, sheet.read_only) for sentence in story[-SHOWN:]]
    words = "Plan changes, turns of knobs and what else happens appear here."
    sentences = (
        html.Ol(rows, className="pw-story") if rows else empty("Nothing happened yet", words)
    )
    cut = f"the newest {SHOWN} of {len(story)}; the file has all" if len(story) > SHOWN else ""
    body = [
        html.P(_opening(run.story, sheet.context), className="pw-story-opening"),
        html.Div(_files(run.run), className="pw-chips"),
        html.P(cut, className="pw-dim") if cut else "",
        sentences,
    ]
    return Drawing(body, note="every sentence links to its record; inferences are marked")


def _opening(story: Story, context: Context) -> list[Any]:
    """Each sentence leads to the page with its records."""
    opening: list[Any] = []
    for line in story.opening:
        opening += [jump(context, line.text, line.path, className="pw-story-about"), " "]
    return opening


def _files(run: str) -> list[Component]:
    base = below(f"/api/v1/runs/{quote(run, safe='')}")
    page = html.A(
        "Save as one HTML file",
        href=f"{base}/report.html",
        className="pw-button pw-primary",
        download=f"{run}.html",
        title="Opens anywhere, without Planwatch and without a network",
    )
    store = html.A(
        "Save the records (.planwatch.gz)",
        href=f"{base}/export",
        className="pw-button",
        download=f"{run}.planwatch.gz",
        title="Opens with python3 run.py replay FILE",
    )
    return [page, store]


def _line(sentence: Sentence, context: Context, locked: str) -> Component:
    path, node, unit = sentence.link
    when = jump(
        context, f"batch {sentence.batch}", at=sentence.batch, className="pw-link pw-story-when"
    )
    glyph = _SIGNS.get(sentence.kind) or event_kind(sentence.kind).sign
    sign = html.Span(glyph, className="pw-story-sign", **attrs(aria_hidden=True))
    parts: list[Any] = [
        html.Span(sentence.text),
        html.Small(sentence.aside, className="pw-story-aside") if sentence.aside else "",
    ]
    marks = attrs(data_kind=sentence.kind, data_tone=sentence.tone)
    time = html.Span(clock(sentence.time), className="pw-dim")
    end = (
        _forget(sentence, locked)
        if sentence.kind == "note"
        else _record(context, sentence, path, node, unit)
    )
    return html.Li([sign, when, time, html.Div(parts), end], **marks)


def _record(context: Context, sentence: Sentence, path: str, node: str, unit: str) -> Component:
    return jump(context, "record", path, at=sentence.batch, node=node, unit=unit or None)


def _forget(sentence: Sentence, locked: str) -> Component:
    return html.Button(
        "×",
        type="button",
        className="pw-link",
        disabled=bool(locked),
        title=locked or "Withdraw the note; the audit log keeps it",
        **attrs(data_pw_forget=sentence.link[1], aria_label="Withdraw the note"),
    )


def _controls(context: Context, services: Services) -> list[Component]:
    locked = services.why_no_control
    box = html.Textarea(
        id="pw-note-text",
        name="text",
        className="pw-input",
        placeholder="What should others know about this moment?",
        rows=2,
    )
    pin = html.Button(
        "Pin a note to this moment",
        type="submit",
        className="pw-button",
        disabled=bool(locked),
        title=locked or None,
    )
    label = html.Label("A note", htmlFor="pw-note-text", className="pw-sr")
    return [html.Form([label, box, pin], id=FORM, className="pw-note-form")]


PANEL: Final = Panel(
    name="story",
    page="/postmortem",
    title="What happened",
    sql=records.EVENTS,
    twin=False,
    build=build,
    draw=draw,
    news=("run", "plans", "decisions", "events", "commands"),
    controls=_controls,
)
