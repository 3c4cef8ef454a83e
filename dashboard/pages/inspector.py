"""The inspector at the right of the plan: one entity now, why it is where it is, and its knobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dash import html, no_update
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.components.attributes import attrs
from dashboard.components.badges import badge, state_badge
from dashboard.components.drawn import HistoryChart
from dashboard.components.intakes import intake_buttons
from dashboard.components.links import jump
from dashboard.components.names import term, words_of
from dashboard.components.parts import as_of, part, part_tree
from dashboard.components.rows import CellData, RowTable, TableColumn, drawn, jump_to, live
from dashboard.components.tiles import live_value
from dashboard.panels.common.headroom import draw_line
from dashboard.panels.knob_cards import draw_cards, folded, is_locked
from dashboard.serving.services import Services
from dashboard.views import plan as plans
from dashboard.views.book import SYSTEM, Book
from dashboard.views.headroom import RECENT, build_headroom, of_entity
from dashboard.views.inspector import (
    MOST_DECISIONS,
    Inspector,
    PropertyLine,
    Reason,
    SentenceNumber,
    build_inspector,
    grouped,
    properties_of,
    reasons,
    step_word,
)
from dashboard.views.knobs import ranked
from storage.reader import Reader
from storage.vocabulary.records import INTAKE, Knob

_HISTORY_BATCHES: Final = 160
_ACCEPTED: Final = ("switched",)
#: Plan changes among which those are looked for that moved an entity.
_LOOKED_THROUGH: Final = 200


def node_of(context: Context) -> str:
    """The pinned entity, or the system."""
    return context.moment.node or SYSTEM


def inspector_key(services: Services, context: Context) -> str:
    """Changes exactly when the inspector is to be laid out anew; its parts are drawn by themselves,
    and cards follow their knobs."""
    reader = services.reader
    parts = (
        context.run_id,
        node_of(context),
        context.batch is None,
        is_locked(services, context),
        sorted(_knob_key(knob) for knob in _knobs(reader, context)),
        _facts(reader, context),
    )
    return repr(parts)


def _knob_key(knob: Knob) -> str:
    """A card follows its knob by itself; buttons of a stream go by the value."""
    return f"{knob.name} {knob.value}" if knob.name == INTAKE else knob.name


def _facts(reader: Reader, context: Context) -> Any:
    """The static properties of the pinned entity: a capacity that was set, say."""
    entity = Book(reader.entities(context.run_id, context.batch)).get(node_of(context))
    return None if entity is None else entity.properties


def draw_inspector(services: Services, context: Context) -> list[Component]:
    """All of the inspector of the pinned entity: its parts, then its knobs."""
    reader, entity = services.reader, node_of(context)
    book = Book(reader.entities(context.run_id, context.batch))
    inspector: list[Component] = [
        part(name, draw(reader, context), **_stamp(name, context)) for name, draw in _PARTS.items()
    ]
    knobs = _knobs(reader, context)
    locked = is_locked(services, context)
    intake = next((knob for knob in knobs if knob.name == INTAKE), None)
    if intake is not None and book.role(entity) == "source":
        buttons = intake_buttons(book.name(entity), intake.scope, str(intake.value), locked)
        inspector.append(html.Div(buttons, className="pw-intake"))
    if knobs:
        inspector.append(html.H3("Knobs"))
        if locked:
            inspector.append(html.P(locked, className="pw-knob-note"))
        inspector += folded(draw_cards(reader, context, knobs, locked, "inspector", compact=True))
    return inspector


def draw_parts(services: Services, context: Context, *, numbers: bool) -> list[Any]:
    """What is behind :data:`PARTS`, in their order. numbers: of those that say nothing new while
    only numbers are others, no_update."""
    return [
        no_update
        if numbers and name in _STEADY
        else part_tree(name, draw(services.reader, context), **_stamp(name, context))
        for name, draw in _PARTS.items()
    ]


def _stamp(name: str, context: Context) -> dict[str, str]:
    """Of which batch a part is, and what makes it older."""
    return as_of(context.batch, ("plans", "decisions") if name in _STEADY else ())


def _next(reader: Reader, context: Context, entity: str, book: Book) -> list[Component]:
    """What would move the pinned entity, or be overtaken by what would; of all units nothing: the
    page says it below the plan."""
    unit = book[entity].unit_id if entity in book else ""
    if not unit:
        return []
    decisions = reader.decisions(
        context.run_id, until=context.batch, limit=RECENT, unit=unit, brief=True
    )
    lines = of_entity(build_headroom(decisions, {}, context.batch), book.name(entity), unit)
    if not lines:
        return []
    items = [draw_line(line, context) for line in lines]
    return [html.H3("What would change it"), html.Ul(items, className="pw-next")]


def _draw_head(reader: Reader, context: Context) -> list[Component]:
    return [_head(context, _view(reader, context))]


def _draw_history(reader: Reader, context: Context) -> list[Component]:
    view = _view(reader, context)
    return [] if view.history is None else [_history(reader, context, view)]


def _draw_properties(reader: Reader, context: Context) -> list[Component]:
    """The tables of the pinned entity's properties, and what would change its place."""
    run, at, entity = context.run_id, context.batch, node_of(context)
    book, values = Book(reader.entities(run, at)), reader.values(run, at)
    table = _properties(context, properties_of(entity, book, values))
    return [*table, *_next(reader, context, entity, book)]


def _draw_why(reader: Reader, context: Context) -> list[Component]:
    """The plan changes that moved the pinned entity."""
    entity, book = node_of(context), Book(reader.entities(context.run_id, context.batch))
    if entity != SYSTEM and not step_word(book.role(entity)):
        return []
    unit = book[entity].unit_id if entity in book else ""
    most = MOST_DECISIONS if entity == SYSTEM else _LOOKED_THROUGH
    run, at = context.run_id, context.batch
    decisions = reader.decisions(
        run, until=at, verdicts=_ACCEPTED, limit=most, unit=unit or None, brief=True
    )
    return _why(context, reasons(entity, book, decisions))


#: Parts of the inspector by their ids, in their order.
_PARTS: Final[dict[str, Callable[[Reader, Context], list[Component]]]] = {
    "plan-inspector-head": _draw_head,
    "plan-inspector-history": _draw_history,
    "plan-inspector-properties": _draw_properties,
    "plan-inspector-why": _draw_why,
}
PARTS: Final = tuple(_PARTS)
#: The live path extends the chart; reasons come with a change of the plan.
_STEADY: Final = ("plan-inspector-history", "plan-inspector-why")


def _view(reader: Reader, context: Context) -> Inspector:
    run, at, entity = context.run_id, context.batch, node_of(context)
    book, values = Book(reader.entities(run, at)), reader.values(run, at)
    unit = book[entity].unit_id if entity in book else ""
    plan = reader.plan_at(run, at, unit or None)
    rows = [] if plan is None else plans.steps(plan, plans.plan_nodes(plan), values, book)
    return build_inspector(entity, book, values, rows)


def _knobs(reader: Reader, context: Context) -> list[Knob]:
    """Knobs of the entity, or those of its unit where it has none; the system also has those of
    what the graph does not draw, but for those of units where there are several: the Knobs page
    names them."""
    node = node_of(context)
    book = Book(reader.entities(context.run_id, context.batch))
    drawn = {entity.id for entity in book.values() if entity.kind in ("operator", "queue")}
    knobs = reader.knobs(context.run_id, context.batch)
    shared = {""} if len({knob.scope for knob in knobs} - {""}) > 1 else {k.scope for k in knobs}
    if node != SYSTEM:
        own = [knob for knob in knobs if knob.entity == node]
        unit = book[node].unit_id if node in book else ""
        return ranked(own or [knob for knob in knobs if unit and knob.scope == unit])
    return ranked(knob for knob in knobs if knob.entity not in drawn and knob.scope in shared)


def _head(context: Context, view: Inspector) -> Component:
    title: list[Any] = [html.B(view.title), badge(view.kind)]
    if view.entity != SYSTEM:
        title.append(jump(context, "unpin", node="", className="pw-link pw-unpin", title="Esc"))
    return html.Div(
        [
            html.P(title, className="pw-inspected"),
            html.P([_said(part) for part in view.summary], className="pw-summary"),
        ],
        **attrs(data_entity=view.entity, data_pinned=view.entity != SYSTEM or None),
    )


def _said(part: str | SentenceNumber) -> Component | str:
    """Numbers follow the batches, as those of the table below do."""
    return part if isinstance(part, str) else live_value(*part)


def _history(reader: Reader, context: Context, view: Inspector) -> Component:
    assert view.history is not None
    name, form, unit = view.history
    owner = next((p.live.partition("|")[0] for p in view.properties if p.name == name), view.entity)
    at = context.batch
    since = None if at is None else max(0, at - _HISTORY_BATCHES + 1)
    series = reader.series(context.run_id, owner, name, since_batch=since, until_batch=at)
    return HistoryChart(
        "plan-inspector-chart",
        words_of(name),
        owner,
        name,
        plans.points(series),
        unit,
        form,
        height=76,
    )


_COLUMNS: Final = (TableColumn("Property"), TableColumn("Value", "f2"), TableColumn("Unit"))


def _properties(context: Context, properties: list[PropertyLine]) -> list[Component]:
    return [
        RowTable(
            group, _COLUMNS, [_row(context, item) for item in lines], className="pw-properties"
        )
        for group, lines in grouped(properties)
    ]


def _unit(context: Context, item: PropertyLine) -> CellData:
    """The unit, behind a link that draws the property on the Monitor page."""
    return {
        "text": "∿",
        "jump": jump_to(context, "/monitor", show=item.live),
        "parts": [[item.unit, ""]],
        "title": f"Watch {words_of(item.name)} on the Monitor page",
    }


def _row(context: Context, item: PropertyLine) -> list[CellData]:
    """Facts without a unit may take its place: they are words."""
    name = drawn(term(item.name, item.meaning), item.name)
    if item.live:
        entity, _, of_it = item.live.partition("|")
        number = live(entity, of_it, item.value, item.form)
        return [name, number, _unit(context, item)]
    words = {"text": str(item.value), "mark": "pw-static"}
    return [name, words, item.unit] if item.unit else [name, {**words, "span": 2}]


def _why(context: Context, reasons: list[Reason]) -> list[Component]:
    if not reasons:
        words = html.P("No rearrangement touched it so far.", className="pw-summary")
        return [html.H3("Why here"), words]
    items = [
        html.Li(
            [
                state_badge(reason.verdict),
                " ",
                jump(
                    context,
                    f"after batch {reason.batch}",
                    "/decisions",
                    reason.batch,
                    node=str(reason.seq),
                    unit=reason.unit,
                ),
                f", in force from {reason.batch + 1} · {reason.text}",
            ]
        )
        for reason in reasons
    ]
    return [html.H3("Why here"), html.Ul(items)]
