"""Every knob of the run as a card, and the audit log of all requests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.badges import state_badge
from dashboard.components.formats import clock, stamp
from dashboard.components.links import jump
from dashboard.components.names import term
from dashboard.components.rows import CellData, RowTable, TableColumn, drawn
from dashboard.components.states import empty
from dashboard.panels import knob_cards, records
from dashboard.panels.common.market import read_market
from dashboard.panels.contract import Drawing, Panel, PanelScope, Sheet
from dashboard.panels.turns import effects
from dashboard.serving.services import Services
from dashboard.views.book import SYSTEM, Book
from dashboard.views.effects import KnobEffect
from dashboard.views.idle import idle_knobs
from dashboard.views.knobs import AuditRow, KnobGroup, audit, group_knobs, on_page, ranked
from dashboard.views.market import RUN_KNOB
from storage.reader import Reader

_MOST_COMMANDS: Final = 500


def groups(context: Context, services: Services) -> list[Component]:
    """A heading and the cards of every group of knobs."""
    reader = services.reader
    run, at = context.run_id, context.batch
    book = Book(reader.entities(run, at))
    units = {unit.id: unit.title for unit in reader.units(run, at)}
    knobs = on_page(reader.knobs(run, at), units, book)
    titles = {**{source.id: f"Input {source.name}" for source in book.of("source")}, **units}
    locked = knob_cards.is_locked(services, context)
    several = len({knob.scope for knob in knobs}) > 1
    idle = idle_knobs(knobs, _published(reader, context, units, book), _unbid(reader, context))
    draw = partial(knob_cards.draw_cards, reader, context, locked=locked, place="page")
    sections: list[Component] = [
        html.Section(
            [
                html.H2(_title(group, several), className="pw-group-title"),
                *knob_cards.folded(draw(group.knobs), "pw-knobs"),
            ]
        )
        for group in group_knobs(
            [knob for knob in knobs if (knob.scope, knob.name) not in idle], book, titles
        )
    ]
    resting = [knob for knob in ranked(knobs) if (knob.scope, knob.name) in idle]
    sections += _resting(draw(resting), [idle[knob.scope, knob.name] for knob in resting])
    return sections or [empty("No knobs", "This run published no knobs.")]


def _resting(cards: Sequence[Component], whys: Sequence[str]) -> list[Component]:
    """Knobs without effect behind a line, each under the reason it has none."""
    if not cards:
        return []
    by_why: dict[str, list[Component]] = {}
    for card, why in zip(cards, whys, strict=True):
        by_why.setdefault(why, []).append(card)
    n = len(cards)
    words = f"{n} knob{'' if n == 1 else 's'} without effect on this run"
    parts: list[Component] = [html.Summary(words)]
    for why, own in by_why.items():
        parts += [html.P(f"As {why}:"), html.Div(own, className="pw-knobs")]
    return [html.Details(parts, className="pw-resting")]


def _published(
    reader: Reader, context: Context, units: Mapping[str, str], book: Book
) -> dict[str, frozenset[str]]:
    """Unit -> the properties its parts have."""
    names: dict[str, set[str]] = {unit: set() for unit in units}
    for id, own in reader.values(context.run_id, context.batch).items():
        if id in book and book[id].unit_id in names:
            names[book[id].unit_id].update(own)
    return {unit: frozenset(own) for unit, own in names.items()}


def _unbid(reader: Reader, context: Context) -> frozenset[str]:
    """The run's pool, where nobody bids for its memory."""
    market = read_market(reader, context.run_id, context.batch)
    return frozenset() if market is not None and market.view.bids else frozenset({RUN_KNOB})


def _title(group: KnobGroup, several: bool) -> list[Component | str]:
    """Whose knobs these are; in a run with several scopes also of which unit or input."""
    if not several or not group.scope:
        return [group.title]
    whole = (SYSTEM, group.knobs[0].scope)
    own = [] if group.entity in whole or group.title == group.scope else [f" · {group.title}"]
    return [html.Span(group.scope, className="pw-group-scope"), *own]


def build_notice(reader: Reader, context: Context, scope: PanelScope) -> str:
    """Nothing but that there is a run."""
    return context.run_id


def draw_notice(run: str, sheet: Sheet) -> Drawing:
    """Why knobs cannot be turned, if so."""
    words = html.Div(["Read only. ", sheet.locked], className="pw-notice") if sheet.locked else ""
    return Drawing(words)


def build_audit(reader: Reader, context: Context, scope: PanelScope) -> list[AuditRow]:
    """All requests up to the moment, newest first, with what the newest turns did."""
    run, batch = context.run_id, context.batch
    commands = reader.commands(run, limit=_MOST_COMMANDS)
    until = None
    if context.moment.at is not None and batch is not None:
        shown = reader.batch(run, batch)
        until = shown.time if shown else None
    events = reader.events(run, until=batch, kinds=("knob",))
    taken_back = {
        int(event.event.ref["command"]): max(0, event.batch + 1)
        for event in events
        if (event.event.ref or {}).get("taken_back")
    }
    also = {
        int(event.event.ref["command"]): event.event.ref["also"]
        for event in events
        if "also" in (event.event.ref or {})
    }
    did = effects(reader, run, commands, batch)
    return audit(run, commands, reader.knobs(run, batch), until, did, taken_back, also)


def draw_audit(rows: list[AuditRow], sheet: Sheet) -> Drawing:
    """The audit log."""
    note = "accepted and refused requests; applied is confirmed by the engine"
    if not rows:
        words = "Requests appear here as soon as they are made."
        return Drawing(empty("Nothing was changed so far", words), note=note)
    cells = [_audit_cells(sheet.context, row, sheet.locked) for row in rows]
    count = f"{len(rows)} request{'' if len(rows) == 1 else 's'}, newest first"
    return Drawing(RowTable(count, _COLUMNS, cells, [row.id for row in rows]), note=note)


_COLUMNS: Final = (
    TableColumn("#", "int"),
    TableColumn("When", hint="UTC"),
    TableColumn("Who"),
    TableColumn("What"),
    TableColumn("From"),
    TableColumn("To"),
    TableColumn("Why"),
    TableColumn("Outcome"),
    TableColumn(
        "What it did",
        None,
        "",
        "against the value before, on the same sampled tuples (95 %); else before and after",
    ),
    TableColumn("Keep or revert"),
)


def _audit_cells(context: Context, row: AuditRow, locked: str) -> list[CellData]:
    outcome: list[Any] = [state_badge(row.state), " "]
    if row.outcome.startswith("taken back"):
        outcome.append(row.outcome)
    elif row.batch is not None:
        outcome.append(jump(context, f"at batch {row.batch}", at=row.batch))
    elif row.state == "refused":
        outcome.append(row.outcome.removeprefix("refused: "))
    else:
        outcome.append(row.outcome)
    return [
        row.id,
        {"text": stamp(row.requested_at), "sort": row.requested_at},
        row.actor,
        _what(row),
        row.old,
        row.new,
        row.reason,
        drawn(html.Span(outcome), row.state),
        drawn(html.Div([*_did(row), *_expected(row)])) if row.did or row.forecast else "",
        drawn(html.Span([*_keep(row, context, locked), *_revert(row, locked)])),
    ]


def _what(row: AuditRow) -> CellData:
    """What was asked for; a knob in words, with its name in the record on hover and focus."""
    if not row.knob:
        return {"text": row.what, "sub": row.scope}
    scope = html.Div(row.scope, className="pw-sub")
    return drawn(html.Div([term(row.knob), scope] if row.scope else term(row.knob)), row.what)


def _did(row: AuditRow) -> list[Component]:
    """What a turn did over its first batches, and up to its end."""
    if row.did is None:
        return []
    near, is_final, whole = row.did
    so_far = "" if is_final or near.share is None else "so far: "
    lines = [_effect(near, so_far)]
    if whole is not None and whole.share is not None:
        lines.append(_effect(whole, "over all of it: "))
    return lines


def _effect(effect: KnobEffect, stretch: str) -> Component:
    tone = {"ok": "pw-ink-ok", "warning": "pw-ink-warning"}.get(effect.tone, "")
    data = attrs(data_pw_effect=effect.tone)
    return html.Div(f"{stretch}{effect.words}", className=tone, **data)


def _expected(row: AuditRow) -> list[Component]:
    """The forecast it was made with, and whether it came true."""
    if row.forecast is None:
        return []
    verdict = row.forecast.verdict(None if row.did is None else row.did.near)
    tail = f": {verdict}" if verdict else ""
    words = f"forecast {row.forecast.words}{tail}"
    return [html.Div(words, className="pw-sub", **attrs(data_pw_forecast=verdict))]


def _keep(row: AuditRow, context: Context, locked: str) -> list[Component]:
    """The button that lets a turn stand, and when it is taken back otherwise."""
    if row.goes_back_at is None or not context.running:
        return []
    button = html.Button(
        "Keep",
        type="button",
        className="pw-button pw-primary",
        disabled=bool(locked),
        title=locked or "Keep the change",
        **attrs(data_pw_keep=row.id),
    )
    when = html.Span(f" else back at {clock(row.goes_back_at)} ", className="pw-dim")
    return [button, when]


def _revert(row: AuditRow, locked: str) -> list[Component]:
    own = [] if row.revert is None else [_revert_button(row.revert, row.old, locked)]
    if row.also is None:
        return own
    return [*own, _revert_button(row.also, str(row.also["value"]), locked)]


def _revert_button(revert: dict[str, Any], value: str, locked: str) -> Component:
    return html.Button(
        f"Back to {value}",
        type="button",
        className="pw-button",
        disabled=bool(locked),
        title=locked or f"Request {revert['knob']} = {value} again",
        **attrs(data_pw_revert=json.dumps(revert)),
    )


PANELS: Final = (
    Panel(
        name="knobs",
        page="/knobs",
        build=build_notice,
        draw=draw_notice,
        news=("run",),
        controls=groups,
        register=knob_cards.register,
    ),
    Panel(
        name="audit",
        page="/knobs",
        title="Audit log",
        sql=records.REQUESTS,
        twin=False,
        build=build_audit,
        draw=draw_audit,
        news=("run", "knobs", "commands", "decisions"),
    ),
)
