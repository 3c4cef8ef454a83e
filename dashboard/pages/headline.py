"""The headline of the Plan page: what adapting came to, and the last change of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from dash import html
from dash.development.base_component import Component

from dashboard.base.context import Context
from dashboard.base.face import faces
from dashboard.components.attributes import attrs
from dashboard.components.drawn import GainCurve, Rolling
from dashboard.components.formats import show, with_mu
from dashboard.components.links import if_not_button, jump
from dashboard.components.names import named
from dashboard.views.book import Book, added, by_property
from dashboard.views.decisions import LEVELS, MIN_SAMPLES
from dashboard.views.events import difference
from dashboard.views.gain import Gain, GainSource, column, turning_points
from dashboard.views.plan import Values
from dashboard.views.plan_parts import leading_to
from dashboard.views.saved import changed
from dashboard.views.sharing import sharing_of
from storage.reader import Reader
from storage.tables.rows import DecisionEntry
from storage.vocabulary.records import PlanVersion

#: (title, plan) of the units shown
Units: TypeAlias = Sequence[tuple[str, PlanVersion]]

_MAX_READ: Final = 400
_MAX_DRAWN: Final = 120


class LastChange(NamedTuple):
    """The newest plan that followed another one. words: what moved; entry: the decision behind it,
    when it is stored; title: of its unit, where there are several."""

    plan: PlanVersion
    words: str
    entry: DecisionEntry | None
    title: str


def find_gain(reader: Reader, context: Context, units: Units, values: Values) -> Gain | None:
    """What adapting came to until the moment, in the first of the units that has a figure."""
    entities, all_gains = reader.entities(context.run_id, context.batch), list[Gain]()
    for title, plan in units:
        book = Book(entities, plan.unit_id)
        read = partial(_columns, reader, context, values)
        gains = list[Gain | None]()
        for source in _sources():
            having = [entity for entity in book if source.changes[-1] in values.get(entity, {})]
            owners = [having] if source.summed else [[entity] for entity in having]
            owners = [book.systems()] if source.together else owners
            own_gains = [source.gain(read(own, source)) for own in owners]
            gains += _titled(book, owners, own_gains)
        of = f" · {title}" if len(units) > 1 else ""
        all_gains += [gain._replace(basis=gain.basis + of) for gain in gains if gain is not None]
    return max(all_gains, key=lambda gain: gain.figure != "", default=None)


def _titled(
    book: Book, owners: Sequence[Sequence[str]], gains: Sequence[Gain | None]
) -> list[Gain | None]:
    """Gains of several joins, say, each with what it is of."""
    if len(owners) < 2:
        return list(gains)
    return [
        gain and gain._replace(basis=f"{gain.basis} · {book.title(own[0])}")
        for own, gain in zip(owners, gains, strict=True)
    ]


def _sources() -> list[GainSource]:
    return [source for face in faces() for source in face.gains]


def _columns(
    reader: Reader, context: Context, values: Values, owners: Sequence[str], source: GainSource
) -> dict[str, dict[int, float]]:
    """The properties of the owners that have them, over the run until the moment."""
    names = source.properties
    at = context.batch
    keys = [(owner, name) for owner in owners for name in names if name in values.get(owner, {})]
    if not keys:
        return {}
    series = reader.many_series(
        context.run_id, keys, until_batch=at, max_points=_MAX_READ, sampled=True
    )
    if source.summed:
        now = {name: sum(values[owner].get(name) or 0.0 for owner in owners) for name in names}
        return {name: column(data, at, now[name]) for name, data in added(series).items()}
    columns = {
        name: column(data, at, values[data.entity].get(name))
        for name, data in by_property(series).items()
    }
    return _exact(reader, context, keys, columns, source.recent)


def _exact(
    reader: Reader,
    context: Context,
    keys: Sequence[tuple[str, str]],
    columns: dict[str, dict[int, float]],
    n: int,
) -> dict[str, dict[int, float]]:
    """The columns with each of the last n batches, also where points are means of several."""
    at = context.batch
    if at is None or n < 2:
        return columns
    since = at - n + 1
    series = reader.many_series(context.run_id, keys, since_batch=since, until_batch=at)
    newest = {name: column(data, None, None) for name, data in by_property(series).items()}
    return {
        name: {batch: value for batch, value in own.items() if batch < since} | newest.get(name, {})
        for name, own in columns.items()
    }


def last_change(reader: Reader, context: Context, units: Units) -> LastChange | None:
    """The last change of the plan until the moment; None while the first plans are in force."""
    changed = [(title, plan) for title, plan in units if plan.version > 1]
    if not changed:
        return None
    title, plan = max(changed, key=lambda pair: (pair[1].batch, pair[1].version))
    run, unit = context.run_id, plan.unit_id
    before = reader.plan_at(run, plan.batch - 1, unit)
    if before is not None and context.moment.show:
        before = leading_to(before, context.moment.show)
    seq, at = plan.decision, context.batch
    entry = None if seq is None else reader.decision(run, seq, unit, at)
    same = before is not None and (before.order, before.kind) == (plan.order, plan.kind)
    began = before is not None and before.hash.count(">") != plan.hash.count(">")
    words = f"plan {plan.version}" if same or began else difference(before, plan)
    return LastChange(plan, words, entry, title if len(units) > 1 else "")


def headline_key(context: Context, units: Units, values: Values) -> str:
    """Changes exactly when the headline is to be drawn anew."""
    sources = [name for source in _sources() for name in source.changes]
    numbers = [own[name] for own in values.values() for name in sources if name in own]
    plans = [(plan.unit_id, plan.version) for _, plan in units]
    return repr((context.run_id, context.mode, context.batch, plans, numbers))


def draw_headline(
    reader: Reader, context: Context, units: Units, values: Values
) -> list[Component]:
    """The band's words, and the curve behind them."""
    n = sum(plan.version - 1 for _, plan in units)
    gain = find_gain(reader, context, units, values)
    lead, figure, basis, tone = _said(gain, n, units)
    title: list[Any] = [html.Span(lead), *([" ", Rolling(figure)] if figure else [])]
    words = [
        html.P(title, className="pw-gain", **attrs(data_tone=tone)),
        html.P(basis, className="pw-gain-basis"),
        *_changed(context, last_change(reader, context, units)),
    ]
    drawn: list[Component] = [html.Div(words, className="pw-gain-words")]
    if gain is not None and len(gain.curve) > 1 and any(value for _, value, *_ in gain.curve):
        drawn.append(
            GainCurve(turning_points(gain.curve, _MAX_DRAWN), gain.what, gain.form, gain.tone)
        )
    return drawn


def _said(gain: Gain | None, n: int, units: Units) -> tuple[str, str, str, str]:
    """lead, figure, basis, tone: what was gained, else the work that is shared, or how often the
    plan changed, and behind it why nothing was gained."""
    times = {0: "no plan change", 1: "1 plan change"}.get(n, f"{show(n, 'int')} plan changes")
    if gain is not None and gain.figure:
        return gain.lead, gain.figure, f"{gain.basis} · {times}", gain.tone
    none = "" if gain is None else f"{gain.lead[0].lower()}{gain.lead[1:]}"
    shared = sharing_of(plan.graph for _, plan in units if plan.kind == "network")
    if shared.n_alone > shared.n_operators:
        lead, figure = f"{shared.n_operators} operators do", f"the work of {shared.n_alone}"
        common = f"{shared.n_queries} queries share what they have in common"
        return lead, figure, " · ".join(filter(None, (common, none, times))), "quiet"
    why = f"{none}: {gain.basis}" if gain is not None else ""
    if not n:
        plans = "The first plan is" if len(units) < 2 else f"{len(units)} first plans are"
        return f"{plans} in force", "", why or "nothing gave a reason to change it yet", "quiet"
    count = {1: "once", 2: "twice"}.get(n, "")
    figure = count or f"{show(n, 'int')} times"
    basis = "since the run began"
    if why:
        return "The plan changed", figure, f"{basis} · {why}", "quiet"
    return "The plan changed", figure, basis, "gain"


def _changed(context: Context, change: LastChange | None) -> list[Component]:
    """The last change in words, and in full why."""
    if change is None:
        return []
    plan, batch = change.plan, max(0, change.plan.batch)
    of = f"{change.title}: " if change.title else ""
    decided = ""
    if change.entry is not None:
        decided = f"after batch {show(change.entry.decision.batch, 'int')}, in force "
    words: list[Any] = [decided, jump(context, f"from batch {show(batch, 'int')}", at=batch)]
    words += [" · ", of]
    words += [html.B(change.words), _cost(change.entry), " "]
    if plan.decision is not None:
        node = str(plan.decision)
        words.append(jump(context, "why?", "/decisions", batch, node, plan.unit_id))
        words += [" · ", if_not_button(plan.unit_id, plan.decision)]
    return [
        html.P(words, className="pw-gain-last"),
        html.P(named(plan.reason), className="pw-gain-reason"),
    ]


def _cost(entry: DecisionEntry | None) -> str:
    """', 3.46 → 2.91 visits per tuple' of the same sampled tuples, before they are predicted; of a
    change that brought nothing, or harm, that it did."""
    if entry is None:
        return ""
    detail, outcome = entry.decision.detail or {}, entry.outcome
    unit = with_mu(str(detail.get("cost_unit") or "visits per tuple"))
    old, new, is_measured = entry.decision.predicted_old, entry.decision.predicted_new, False
    if outcome is not None and outcome.n_sample >= MIN_SAMPLES:
        old, new, is_measured = outcome.counterfactual_old, outcome.sample_new, True
    if old is None or new is None:
        return ""
    is_level = unit in LEVELS
    effect, before, after = changed(old, new, "bytes" if is_level else "f2")
    unit = "" if is_level else f" {unit}"
    if effect == "saved":
        return f", {before} → {after}{unit}{'' if is_measured else ', predicted'}"
    words = _HARM[is_level] if effect == "cost" else ("brought nothing", "to bring nothing")
    verb = words[0] if is_measured else f"is predicted {words[1]}"
    numbers = f"{before} → {after}" if effect == "cost" else f"{before} with it and without it,"
    return f", which {verb}: {numbers}{unit}".rstrip(",")


#: What a change that made it dearer did, and is predicted to do; of what is held at a time.
_HARM: Final = {
    False: ("cost more", "to cost more"),
    True: ("holds more", "to hold more"),
}
