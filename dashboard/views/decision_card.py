"""One evaluation as a card: inequalities, orders, predicted and measured cost, steps, knobs.

Keys of ``Decision.detail`` with a place of their own: ``visits`` and ``dropping_ratio`` {now, init,
change, unbounded} with ``mu`` and ``trigger``; ``plans`` [{kind, order, cost, incumbent, chosen}]
and ``saving``, costs being {mean, low, high, n}; ``cost_unit``; ``steps`` [{phase, chosen,
candidates [{attribute, score}]}] and ``cover_prefix``; ``counted`` [{about, columns, rows}]. Other
numbers and words are listed as is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashboard.components.formats import Format, show, with_mu
from dashboard.components.kinds import verdict
from dashboard.components.names import named
from dashboard.views.decision_costs import (
    interval_of,
    measured_costs,
    number_of,
    predicted_costs,
    saved_words,
)
from dashboard.views.decisions import (
    RELATIONS,
    CountedTable,
    DecisionCard,
    Inequality,
    MacroStepLine,
    OrderView,
    cost_unit,
    counted_words,
    followed,
    found_words,
    metric_words,
    own_samples,
    sampled,
    saved_per_1000,
    side_form,
    sign_of,
)
from dashboard.views.orders import compare_orders
from dashboard.views.planlog import terms_words
from storage.tables.rows import DecisionEntry
from storage.vocabulary.records import Decision, Knob, PlanVersion
from storage.writing.thinning import ROLLED_UP

#: detail key -> (what it is, value of the trigger knob that watches it)
WATCHED: Final = {
    "visits": ("visits per tuple", "visits"),
    "dropping_ratio": ("dropping ratio d", "dropping ratio"),
}
TESTED_CHANGE: Final = "Relative change since the last arrangement, against μ"
_PLACED: Final = frozenset({*WATCHED, "mu", "cost_unit", "steps", "plans"})
_METRICS: Final = {
    "selectivity": "s, least wins",
    "dropping ratio": "d, greatest wins",
    "last": "the last one left",
}


def build_card(
    entry: DecisionEntry, knobs: Sequence[Knob], plans: Sequence[PlanVersion]
) -> DecisionCard:
    """The card of an evaluation. knobs: as in force at its batch. plans: of the run, any order."""
    decision, detail = entry.decision, _mapping(entry.decision.detail)
    words = verdict(decision.verdict)
    old, new = _orders(decision, plans)
    is_measured = decision.verdict == "switched" or entry.outcome is not None
    measured = measured_costs(decision, entry.outcome) if is_measured else []
    saved = saved_per_1000(entry)
    return DecisionCard(
        seq=decision.seq,
        unit_id=decision.unit_id,
        batch=decision.batch,
        time=entry.time,
        verdict=decision.verdict,
        sign=words.sign,
        word=words.word,
        meaning=words.meaning,
        sentence=named(decision.explanation),
        inequalities=_inequalities(decision, detail),
        tested=TESTED_CHANGE if _readings(detail) else "Inequality",
        n=decision.n,
        n_sample=decision.n_sample,
        sample_words=_sample_words(decision),
        saving=_saving(decision, detail),
        old=old,
        new=new,
        costs=predicted_costs(decision, detail) + measured,
        unit=with_mu(str(detail.get("cost_unit") or "visits per tuple")),
        saved=saved,
        saved_words=saved_words(saved, entry.outcome, cost_unit(decision), followed(decision)),
        steps=_steps(detail),
        cover_prefix=[str(name) for name in detail.get("cover_prefix") or ()],
        knob_version=decision.knob_version,
        knobs=[(knob.name, knob_text(knob.value), knob.unit) for knob in knobs],
        further=_further(detail),
        algorithm=decision.algorithm,
        pair=_mapping(detail["pair"]) if isinstance(detail.get("pair"), Mapping) else None,
        counted=tuple(CountedTable(**table) for table in detail.get("counted") or ()),
    )


def _sample_words(decision: Decision) -> str:
    """What was counted for a decision; samples that are no part of its tuples say what they are."""
    is_part = not own_samples(decision) and decision.n_sample <= decision.n
    what = "of them sampled" if is_part else sampled(decision)
    n, n_sample = (show(each, "int") for each in (decision.n, decision.n_sample))
    return f"n = {n} {counted_words(decision)} · {n_sample} {what}"


def knob_text(value: Any) -> str:
    """A knob's value as one writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def order_names(plan: Any) -> list[str]:
    """Names of a recorded order: a list, or a mapping with 'order'."""
    names = plan.get("order", ()) if isinstance(plan, Mapping) else plan
    if not isinstance(names, list | tuple):
        return []
    return [str(name) for name in names]


def _inequalities(decision: Decision, detail: Mapping[str, Any]) -> list[Inequality]:
    """Both watched changes against mu, else the one inequality of the record itself."""
    readings = {
        key: _mapping(detail[key]) for key in WATCHED if isinstance(detail.get(key), Mapping)
    }
    if not readings:
        return [_recorded(decision)]
    deciding = _deciding(readings, str(detail.get("trigger", "")))
    mu = number_of(detail.get("mu"))
    return [_watched(key, reading, mu, key == deciding) for key, reading in readings.items()]


def _readings(detail: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {key: _mapping(detail[key]) for key in WATCHED if isinstance(detail.get(key), Mapping)}


def _deciding(readings: Mapping[str, Mapping[str, Any]], trigger: str) -> str | None:
    """The key of the reading that decides: the trigger's, or with 'either' the larger change."""
    if trigger == "either":
        return max(readings, key=lambda key: _size(readings[key]))
    return next((key for key in readings if WATCHED[key][1] == trigger), None)


def _size(reading: Mapping[str, Any]) -> float:
    change = number_of(reading.get("change"))
    return float("inf") if reading.get("unbounded") else (change or 0.0)


def _watched(key: str, reading: Mapping[str, Any], mu: float | None, decides: bool) -> Inequality:
    change, unbounded = number_of(reading.get("change")), bool(reading.get("unbounded"))
    now, init = number_of(reading.get("now")), number_of(reading.get("init"))
    known = mu is not None and (unbounded or change is not None)
    return Inequality(
        name=WATCHED[key][0],
        lhs=change,
        relation="≥",
        rhs=mu,
        holds=(unbounded or (change or 0.0) >= (mu or 0.0)) if known else None,
        decides=decides,
        words=found_words(change, ">=", mu) if not unbounded else f"∞ > {show(mu, 'f3')}",
        note=f"{show(now, 'f3')} now, {show(init, 'f3')} at the last arrangement",
        unbounded=unbounded,
    )


def _recorded(decision: Decision) -> Inequality:
    lhs, relation, rhs = decision.lhs, decision.relation, decision.rhs
    holds: bool | None = None
    if lhs is not None and rhs is not None and relation in RELATIONS:
        holds = bool(RELATIONS[relation](float(lhs), float(rhs)))
    form = side_form(decision.metric)
    words = found_words(lhs, relation, rhs, form)
    return Inequality(
        metric_words(decision.metric),
        lhs,
        sign_of(relation),
        rhs,
        holds,
        True,
        words,
        terms_words(decision.detail) or _scaled(decision, form),
        interval=_of_challenger(decision),
        form=form,
    )


def _scaled(decision: Decision, form: Format) -> str:
    """'7.904 = 0.9 × 8.782, …': of a right side that is the challenger's rank so many times; ''."""
    rank = number_of(_mapping(_mapping(decision.detail).get("pair")).get("challenger_rank"))
    if not rank or not decision.rhs or not 0 < decision.rhs / rank < 1:
        return ""
    share = f"{round(decision.rhs / rank, 4):g}"
    return f"{show(decision.rhs, form)} = {share} × {show(rank, form)}, the challenger's rank"


def _of_challenger(decision: Decision) -> tuple[float, float] | None:
    """The interval of the right side of a check of filters, which the pair tells as that of the
    difference of ranks: as it is where its lower end is tested against 0, else of the challenger's
    rank as tested, alpha times the filter's own plus the difference."""
    pair = _mapping(_mapping(decision.detail).get("pair"))
    ends = _mapping(pair.get("interval"))
    low, high = number_of(ends.get("low")), number_of(ends.get("high"))
    own, other = number_of(pair.get("rank")), number_of(pair.get("challenger_rank"))
    if low is None or high is None or own is None or not other or decision.rhs is None:
        return None
    if decision.lhs == 0.0 and decision.rhs == low:
        return low, high
    alpha = decision.rhs / other
    return alpha * (own + low), alpha * (own + high)


def _orders(
    decision: Decision, plans: Sequence[PlanVersion]
) -> tuple[OrderView | None, OrderView | None]:
    old_names, new_names = order_names(decision.old), order_names(decision.new)
    challenger = _mapping(_mapping(decision.detail).get("pair")).get("challenger")
    movers = (str(challenger),) if challenger and new_names else ()
    old_items, new_items = compare_orders(old_names, new_names or old_names, movers)
    adopted = next((plan for plan in plans if plan.decision == decision.seq), None)
    before = _version(decision.old) or _before(decision, adopted, plans)
    after = _version(decision.new) or (adopted.version if adopted else None)
    old = OrderView(_kind(decision.old), old_items, before) if old_names else None
    return old, OrderView(_kind(decision.new), new_items, after) if new_names else None


def _before(
    decision: Decision, adopted: PlanVersion | None, plans: Sequence[PlanVersion]
) -> int | None:
    """Version of the plan that was in force when the decision was taken."""
    if adopted is not None:
        return adopted.version - 1 if adopted.version > 1 else None
    running = [plan.version for plan in plans if plan.batch <= decision.batch]
    return max(running, default=None)


def _saving(decision: Decision, detail: Mapping[str, Any]) -> str:
    """Of a kept plan what the other would have saved: less than nothing if it is dearer."""
    saving = _mapping(detail.get("saving"))
    mean, interval = number_of(saving.get("mean")), interval_of(saving)
    if mean is None:
        return ""
    if decision.verdict == "kept" and mean == 0.0:
        old, new = decision.predicted_old, decision.predicted_new
        if old is None or new is None:
            return ""
        return f"predicted saving of the other plan {show(old - new, 'f3')} per tuple"
    low, high = interval or (None, None)
    between = f", 95 % interval {show(low, 'f3')} to {show(high, 'f3')}" if interval else ""
    n = show(number_of(saving.get("n")), "int")
    return f"predicted saving {show(mean, 'f3')} per tuple{between}, n = {n} sampled tuples"


def _steps(detail: Mapping[str, Any]) -> list[MacroStepLine]:
    steps = detail.get("steps")
    if not isinstance(steps, list):
        return []
    return [
        _step(number, step)
        for number, step in enumerate(steps, start=1)
        if isinstance(step, Mapping)
    ]


def _step(number: int, step: Mapping[str, Any]) -> MacroStepLine:
    phase = str(step.get("phase", ""))
    rows = [row for row in step.get("candidates") or () if isinstance(row, Mapping)]
    return MacroStepLine(
        number=number,
        phase=phase,
        metric=_METRICS.get(phase, phase),
        winner=str(step.get("chosen") or ""),
        candidates=[(str(row.get("attribute", "")), number_of(row.get("score"))) for row in rows],
    )


def _kind(plan: Any) -> str:
    return str(plan.get("kind", "")) if isinstance(plan, Mapping) else ""


def _version(plan: Any) -> int | None:
    version = plan.get("version") if isinstance(plan, Mapping) else None
    return version if isinstance(version, int) else None


def _lists(key: str, value: Any) -> bool:
    return key not in _PLACED and isinstance(value, str | int | float)


def _further(detail: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Numbers and words without a place of their own, and what an old decision that changed nothing
    had more."""
    facts = [(metric_words(key), _plain(fact)) for key, fact in detail.items() if _lists(key, fact)]
    gone = ", ".join(metric_words(str(name)) for name in detail.get(ROLLED_UP) or ())
    return facts + (
        [(metric_words(ROLLED_UP), f"{gone}: kept only where a plan changed")] * bool(gone)
    )


def _plain(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
