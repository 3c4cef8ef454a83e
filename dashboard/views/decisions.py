"""What the Decisions page shows: the list of evaluations, and one of them as a card.

Estimates are called estimates, with n; a number built on fewer than ``MIN_SAMPLES`` tuples is
not shown at all: its reason is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashboard.components.formats import Format, decimals, show, with_mu
from dashboard.components.kinds import VERDICTS, verdict
from dashboard.components.names import named
from dashboard.views.orders import OrderItem
from storage.tables.rows import DecisionCounts, DecisionEntry
from storage.vocabulary.planlog import LOOK, counted
from storage.vocabulary.records import Decision

MIN_SAMPLES: Final = 30
FILTERS: Final = {
    "all": (),
    "switched": ("switched",),
    "kept": ("kept",),
    "not acted on": tuple(name for name in VERDICTS if name not in ("switched", "acted")),
}


class Measured(NamedTuple):
    """A number, or the reason why there is none."""

    value: float | None
    reason: str = ""


class DecisionLine(NamedTuple):
    """One line of the list. saved: cost saved (lost if negative) per 1 000 tuples, estimated, in
    ``unit``: visits or µs."""

    seq: int
    batch: int
    time: float
    verdict: str
    sign: str
    word: str
    summary: str
    saved: Measured
    unit: str = "visits"


class DecisionList(NamedTuple):
    """Rows newest first. evaluated counts all evaluations of the run, stored or not."""

    rows: list[DecisionLine]
    shown: int
    stored: int
    evaluated: int
    by_filter: dict[str, int]
    chosen_filter: str


class Inequality(NamedTuple):
    """``lhs relation rhs``, to be drawn to scale; holds None when it cannot be told.

    words: what was found of the two sides, as in the list. decides: the trigger in force looks at
    this one. note: the values behind the left side.
    unbounded: the left side is larger than any number (a change from zero), lhs is None then.
    interval: of the side that has to be the larger one, None = not given. form: of both sides.
    """

    name: str
    lhs: float | None
    relation: str
    rhs: float | None
    holds: bool | None
    decides: bool
    words: str
    note: str = ""
    unbounded: bool = False
    interval: tuple[float, float] | None = None
    form: Format = "f3"


class OrderView(NamedTuple):
    """A plan as the card draws it; kind '' = not recorded."""

    kind: str
    items: list[OrderItem]
    version: int | None


class CostBar(NamedTuple):
    """One bar of the cost comparison, in the card's unit. basis: what it was obtained from.

    interval: 95 % confidence interval, None = not given. chosen: the plan that won.
    """

    label: str
    cost: Measured
    basis: str
    estimated: bool
    interval: tuple[float, float] | None = None
    chosen: bool = False


class MacroStepLine(NamedTuple):
    """One step of the macro-sequence: candidates with their s or d (None = unknown), the winner."""

    number: int
    phase: str
    metric: str
    winner: str
    candidates: list[tuple[str, float | None]]


class CountedTable(NamedTuple):
    """Rows of words and numbers."""

    about: str
    columns: list[str]
    rows: list[list[str | float | None]]


class DecisionCard(NamedTuple):
    """Everything known of one evaluation; dashboard.views.decision_card builds it.

    tested: what the inequalities are about. saving: the predicted saving in words, '' = not
    predicted. pair: of a check of filters, the deciding pair as recorded. knobs: (name, value,
    unit) in force. counted: tables of what the costs follow from. further: numbers without a place
    of their own.
    """

    seq: int
    batch: int
    time: float
    verdict: str
    sign: str
    word: str
    meaning: str
    sentence: str
    tested: str
    inequalities: list[Inequality]
    n: int
    n_sample: int
    sample_words: str
    saving: str
    old: OrderView | None
    new: OrderView | None
    costs: list[CostBar]
    unit: str
    saved: Measured
    saved_words: str
    steps: list[MacroStepLine]
    cover_prefix: list[str]
    knob_version: int
    knobs: list[tuple[str, str, str]]
    further: list[tuple[str, str]]
    algorithm: str
    pair: Mapping[str, Any] | None = None
    counted: tuple[CountedTable, ...] = ()
    unit_id: str = ""


def build_list(
    entries: Sequence[DecisionEntry], counts: DecisionCounts, chosen_filter: str = "all"
) -> DecisionList:
    """The list. entries: newest first, those the filter lets through; counts: of the whole run."""
    return DecisionList(
        rows=[_row(entry) for entry in entries],
        shown=len(entries),
        stored=counts.stored,
        evaluated=counts.evaluated,
        by_filter={name: _stored(counts, name) for name in FILTERS},
        chosen_filter=chosen_filter if chosen_filter in FILTERS else "all",
    )


def count_words(view: DecisionList) -> str:
    """'300 of 1 204, newest first; 8 431 evaluated': sampled rejects are counted, not hidden."""
    of_stored = view.by_filter[view.chosen_filter]
    part = "" if view.shown == of_stored else f"{show(view.shown, 'int')} of "
    kept = f"{part}{show(of_stored, 'int')}, newest first"
    if view.evaluated == view.stored:
        return kept
    return f"{kept}; {show(view.evaluated, 'int')} evaluated, of those not taken a sample is stored"


#: First word of a unit of costs -> what is saved.
_UNITS: Final = {
    "us": "µs",
    "ns": "ns",
    "probes": "probes",
    "elements": "elements in queues",
    "bytes": "bytes",
    "work": "units of work",
}
#: What is held at a time, and no cost of a tuple.
LEVELS: Final = frozenset({"bytes"})


def cost_unit(decision: Decision) -> str:
    """What costs are counted in: 'visits' where nothing else is said."""
    detail = decision.detail if isinstance(decision.detail, Mapping) else {}
    unit = str(detail.get("cost_unit") or "").partition(" ")[0]
    return _UNITS.get(unit, "visits")


def saved_per_1000(entry: DecisionEntry) -> Measured:
    """Cost saved per 1 000 tuples by a switch: old minus new order on the same sampled tuples; of
    what is held at a time, the difference."""
    outcome = entry.outcome
    if outcome is None and entry.decision.verdict != "switched":
        return Measured(None, "nothing was switched")
    if outcome is None:
        return Measured(None, "not measured yet")
    if outcome.n_sample < MIN_SAMPLES:
        return Measured(None, f"not enough samples (n={outcome.n_sample} < {MIN_SAMPLES})")
    if outcome.counterfactual_old is None or outcome.sample_new is None:
        return Measured(None, "the two orders were not compared")
    saved = outcome.counterfactual_old - outcome.sample_new
    return Measured(saved if cost_unit(entry.decision) in LEVELS else 1000 * saved)


def pick(entries: Sequence[DecisionEntry], wanted: int | None, at_plan: int | None) -> int | None:
    """The seq to show: the wanted one, else the one behind the plan shown, else the newest."""
    known = [entry.decision.seq for entry in entries]
    for seq in (wanted, at_plan):
        if seq is not None and (seq == wanted or seq in known):
            return seq
    return known[0] if known else None


def _row(entry: DecisionEntry) -> DecisionLine:
    decision = entry.decision
    words = verdict(decision.verdict)
    return DecisionLine(
        seq=decision.seq,
        batch=decision.batch,
        time=entry.time,
        verdict=decision.verdict,
        sign=words.sign,
        word=words.word,
        summary=_summary(decision),
        saved=saved_per_1000(entry),
        unit=cost_unit(decision),
    )


RELATIONS: Final = {
    ">=": float.__ge__,
    ">": float.__gt__,
    "<=": float.__le__,
    "<": float.__lt__,
}
#: Kinds of decisions on joins, which count elements of the join.
OF_JOINS: Final = ("probe order", "cache selection", "cache monitor", "join tree")


#: What the samples of a decision are, where they are no part of its tuples.
SAMPLES: Final = {
    **dict.fromkeys(OF_JOINS, "profiled elements"),
    "chains": "operator steps",
    "constraint choice": "arrivals",
    "k of a constraint": "distances",
    "declared k": "distance",
    "k lost repeatedly": "losses of k",
    "loss budget": "results",
}


def sampled(decision: Decision) -> str:
    """What the samples of a decision are: 'sampled tuples', unless they are no tuples."""
    return own_samples(decision) or f"sampled {counted_words(decision)}"


def own_samples(decision: Decision) -> str:
    """What its samples are, where they are no part of its tuples; '' where they are."""
    samples = decision.detail.get("samples") if isinstance(decision.detail, Mapping) else None
    return str(samples or SAMPLES.get(decision.kind, ""))


def counted_words(decision: Decision) -> str:
    """What a decision counts: 'tuples', or 'elements' of a join."""
    if decision.kind in OF_JOINS:
        return "elements"
    detail = decision.detail if isinstance(decision.detail, Mapping) else {}
    return f"{counted(str(detail.get('cost_unit')))}s" if decision.kind == LOOK else "tuples"


class OutcomeWords(NamedTuple):
    """How what became of a decision is measured. what: has changed; on: what its samples are;
    alike: what it is compared on with what was before; per: what costs are of."""

    what: str = "order"
    on: str = "sampled tuples"
    alike: str = "same tuples"
    per: str = "tuples"


#: Of plans that tuples take.
TUPLES: Final = OutcomeWords()


def followed(decision: Decision) -> OutcomeWords:
    """As the decision has it, of plans of tuples where it says nothing."""
    detail = decision.detail if isinstance(decision.detail, Mapping) else {}
    own = detail.get("followed")
    if isinstance(own, Mapping):
        per = str(detail.get("cost_unit", "")).partition(" per ")[2]
        words = {name: str(own.get(name, "")) for name in ("what", "on", "alike")}
        return OutcomeWords(**words, per=f"{per}s")
    if cost_unit(decision) in LEVELS:
        return TUPLES._replace(on="arrivals")
    per = counted_words(decision)
    return TUPLES._replace(on=sampled(decision), alike=f"same {per}", per=per)


#: Begins the metric of a relative change since the last arrangement.
CHANGE_OF: Final = "change of "


#: Begins the metric of a test whose sides are bytes.
BYTES_OF: Final = "bytes "


def metric_words(metric: str) -> str:
    """A metric's name as words: 'visits per tuple' of visits_per_tuple, 'chains' of n_chains."""
    return with_mu(metric.removeprefix("n_").removeprefix(BYTES_OF).replace("_", " "))


def side_form(metric: str) -> Format:
    """The form of the sides of a test."""
    return "bytes" if metric.startswith(BYTES_OF) else "f3"


def sign_of(relation: str) -> str:
    """A relation as one sign."""
    return {">=": "≥", "<=": "≤"}.get(relation, relation)


def apart(first: float, second: float, form: Format = "f3") -> tuple[str, str]:
    """Two numbers with three decimals, from 1 000 on with none, or with as many as it takes until
    they differ, up to nine; whole ones without."""
    if form == "bytes" and show(first, form) != show(second, form):
        return show(first, form), show(second, form)
    if first % 1 == second % 1 == 0 and max(abs(first), abs(second)) > 1:
        return show(first, "int"), show(second, "int")
    fewest = 0 if max(abs(first), abs(second)) >= 1000 else 3
    pairs = ((decimals(first, n), decimals(second, n)) for n in range(fewest, 10))
    differing = next((pair for pair in pairs if pair[0] != pair[1]), None)
    return differing or (show(first, "f3"), show(second, "f3"))


def found_words(lhs: float | None, relation: str, rhs: float | None, form: Format = "f3") -> str:
    """What was found of the two sides, with digits until they differ: '0.310 > 0.100'; what was
    tested where one is unknown."""
    if lhs is None or rhs is None:
        return f"{show(lhs, form)} {sign_of(relation)} {show(rhs, form)}"
    sign = "=" if lhs == rhs else "<" if lhs < rhs else ">"
    return f" {sign} ".join(apart(lhs, rhs, form))


def needed_words(decision: Decision) -> str:
    """', < needed': the relation that was needed, where it did not hold; '' where it did."""
    lhs, relation, rhs = decision.lhs, decision.relation, decision.rhs
    if lhs is None or rhs is None or relation not in RELATIONS:
        return ""
    return "" if RELATIONS[relation](float(lhs), float(rhs)) else f", {sign_of(relation)} needed"


def _summary(decision: Decision) -> str:
    """What was found, '0.019 < 0.100 change of visits per tuple, ≥ needed'; the explanation when a
    side is unknown.

    Of a check of filters both ranks, '0.674 : 1.29 per µs, known : table'.
    """
    pair = decision.detail.get("pair") if isinstance(decision.detail, Mapping) else None
    if isinstance(pair, Mapping):
        own, other = _rank(pair.get("rank")), _rank(pair.get("challenger_rank"))
        return f"{other} : {own} per µs, {pair.get('challenger')} : {pair.get('filter')}"
    lhs, rhs = decision.lhs, decision.rhs
    if lhs is None or rhs is None:
        return named(decision.explanation)
    sides = found_words(lhs, decision.relation, rhs, side_form(decision.metric))
    return f"{sides} {metric_words(decision.metric)}{needed_words(decision)}"


def _rank(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, int | float) else "∞"


def _stored(counts: DecisionCounts, name: str) -> int:
    verdicts = FILTERS[name]
    if not verdicts:
        return counts.stored
    return sum(counts.by_verdict.get(verdict, 0) for verdict in verdicts)
