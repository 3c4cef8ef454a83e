"""The k ledger: of each constraint what k is, what it saves and what it loses; records to lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dashboard.systems.kmon.history import COMPONENTS, CONSTRAINT
from dashboard.views.book import Book
from dashboard.views.knobs import named_in
from dashboard.views.numbers import known, thinned
from storage.tables.rows import SeriesData, StoredMatrix
from storage.vocabulary.kmon import K_STATES
from storage.vocabulary.records import Entity, Knob

#: Constraints that are always to be used, or never.
PIN_KNOB: Final = "pinned_constraints"
FORBID_KNOB: Final = "forbidden_constraints"
USED: Final = "k_used_tuples"
#: Numbers of batches that are told as totals.
LOST: Final = "k_lost_tuples"
RETURNED: Final = "k_returned_tuples"
TOTALLED: Final = (LOST, RETURNED)
#: Of constraints that save the same, those of the first state come first.
_ORDER: Final = {state: place for place, state in enumerate(("used", "watched", "unused"))}
#: Distances of a constraint that are drawn.
MOST_DOTS: Final = 160

Values = Mapping[str, Mapping[str, float | None]]


class SeenDot(NamedTuple):
    """A distance that was observed. above: it was larger than the k in use then."""

    distance: float
    above: bool
    batch: int


class ConstraintLine(NamedTuple):
    """A constraint. short: its name beside its join; words: what it says; state: of K_STATES, '' =
    not known; choice: pinned, forbidden or ''; declared: its k, None = it was not. estimate, low,
    high: what the last n distances say k is, with its 95 % interval; used: k in use, None = ∞;
    kept: largest distance surely noticed, None = any; safe: the least k that none of the distances
    on record lies above; ticks: k as a time. violations: distances of the batch above k. lost,
    returned: tuples since the run began; cost: ns for watching in the batch. dots: the last
    distances, oldest first."""

    id: str
    name: str
    short: str
    type: str
    words: str
    join: str
    state: str
    choice: str
    declared: float | None
    estimate: float | None
    low: float | None
    high: float | None
    n: float | None
    used: float | None
    kept: float | None
    safe: float | None
    ticks: float | None
    violations: float | None
    saved_bytes: float | None
    saved_tuples: float | None
    lost: float | None
    returned: float | None
    cost: float | None
    dots: tuple[SeenDot, ...]


class JoinHeld(NamedTuple):
    """What a join holds beside what one without constraints would: tuples and bytes; aside: tuples
    on disk, with their keys in memory; results since the run began, and how many of them were lost
    at most; watching: its share of processor time. title: its queries, '' in a unit with one
    join."""

    id: str
    name: str
    title: str
    aside: float
    held: float | None
    plain: float | None
    held_bytes: float | None
    plain_bytes: float | None
    results: float | None
    lost: float | None
    watching: float | None


class LedgerView(NamedTuple):
    """joins: what each holds; lines: constraints, those that save most first; knobs: those that
    pin and forbid, by name."""

    joins: tuple[JoinHeld, ...]
    lines: tuple[ConstraintLine, ...]
    knobs: Mapping[str, Knob]


def build_ledger(
    book: Book,
    values: Values,
    ledgers: Sequence[StoredMatrix],
    seen: Sequence[StoredMatrix],
    used: Mapping[str, SeriesData],
    totals: Mapping[tuple[str, str], float],
    knobs: Mapping[str, Knob],
) -> LedgerView | None:
    """None for a unit without constraints. seen: of the last batches, oldest first; used:
    constraint -> k in use in these; totals: (constraint, of TOTALLED) -> since the run began."""
    entities = book.of(CONSTRAINT)
    if not entities:
        return None
    pinned, forbidden = (named_in(knobs.get(name)) for name in (PIN_KNOB, FORBID_KNOB))
    lines = []
    for entity in entities:
        names = {entity.name, entity.properties.get("short_name")}
        choice = "pinned" if names & set(pinned) else ""
        choice = "forbidden" if names & set(forbidden) else choice
        dots = dots_of(entity.id, seen, used.get(entity.id))
        ledger = _row(ledgers, entity.id)
        own = {
            **values.get(entity.id, {}),
            **{n: totals.get((entity.id, n), 0.0) for n in TOTALLED},
        }
        lines.append(_line(entity, book, own, ledger, choice, dots))
    lines.sort(key=lambda line: (-(line.saved_bytes or 0.0), _ORDER.get(line.state, 9), line.name))
    turned = {name: knobs[name] for name in (PIN_KNOB, FORBID_KNOB) if name in knobs}
    return LedgerView(_held(book, values, entities), tuple(lines), turned)


def _line(
    entity: Entity,
    book: Book,
    own: Mapping[str, float | None],
    ledger: Mapping[str, float | None],
    choice: str,
    dots: tuple[SeenDot, ...],
) -> ConstraintLine:
    facts = entity.properties
    return ConstraintLine(
        id=entity.id,
        name=entity.name,
        short=str(facts.get("short_name", entity.name)),
        type=str(facts.get("type", "")),
        words=constraint_words(facts),
        join=book.name(str(facts.get("node", ""))),
        state=state_of(own.get("k_state")),
        choice=choice,
        declared=facts.get("declared_k"),
        estimate=_number(own.get("k_estimate_tuples")),
        low=_number(own.get("k_low_tuples")),
        high=_number(own.get("k_high_tuples")),
        n=_number(own.get("k_window_observations")),
        used=_number(own.get(USED)),
        kept=_number(own.get("k_kept_tuples")),
        safe=ledger.get("safe"),
        ticks=_number(own.get("k_time_ticks")),
        violations=_number(own.get("k_violations")),
        saved_bytes=_number(own.get("k_saved_bytes")),
        saved_tuples=_number(own.get("k_saved_tuples")),
        lost=own.get(LOST),
        returned=own.get(RETURNED),
        cost=ledger.get("cost_ns"),
        dots=dots,
    )


def _number(value: float | None) -> float | None:
    """None for what is unknown, also where the record has it as no number."""
    return value if known(value) else None


def _row(ledgers: Sequence[StoredMatrix], constraint: str) -> dict[str, float | None]:
    """What the newest ledger says of a constraint, by column."""
    for stored in ledgers:
        matrix = stored.matrix
        if constraint in matrix.rows:
            row = matrix.values[matrix.rows.index(constraint)]
            return dict(zip(matrix.columns, map(_number, row), strict=True))
    return {}


def _held(book: Book, values: Values, constraints: Sequence[Entity]) -> tuple[JoinHeld, ...]:
    joins = dict.fromkeys(str(entity.properties.get("node", "")) for entity in constraints)
    return tuple(_join_held(book, values, join, len(joins) > 1) for join in joins if join in values)


def _join_held(book: Book, values: Values, join: str, is_one_of_many: bool) -> JoinHeld:
    names = (
        *("held_tuples", "plain_tuples", "held_bytes", "plain_bytes"),
        *("joined_results_total", "lost_results_total", "monitor_share"),
    )
    synopses = [part.id for part in book.of(COMPONENTS) if part.properties.get("node") == join]
    aside = sum(values.get(id, {}).get("spilled_tuples") or 0.0 for id in synopses)
    title = book.title(join) if is_one_of_many else ""
    numbers = [_number(values[join].get(name)) for name in names]
    return JoinHeld(join, book.whole_name(join), title, aside, *numbers)


def dots_of(
    constraint: str, seen: Sequence[StoredMatrix], used: SeriesData | None
) -> tuple[SeenDot, ...]:
    """The last distances, thinned to MOST_DOTS, but none of those above the k in use then left
    out as long as there is room."""
    k_of = {} if used is None else dict(zip(used.batch.tolist(), used.value.tolist(), strict=True))
    dots = []
    for stored in seen:
        if constraint in stored.matrix.rows:
            k = _number(k_of.get(stored.batch))
            for value in stored.matrix.values[stored.matrix.rows.index(constraint)]:
                if known(value):
                    dots.append(SeenDot(value, k is not None and value > k, stored.batch))
    above = thinned([dot for dot in dots if dot.above], MOST_DOTS // 2)
    below = thinned([dot for dot in dots if not dot.above], MOST_DOTS - len(above))
    return tuple(sorted([*below, *above], key=lambda dot: dot.batch))


def state_of(value: float | None) -> str:
    """The word of a ``k_state``; '' for what is none."""
    place = -1 if value is None or not known(value) else round(value)
    return K_STATES[place] if 0 <= place < len(K_STATES) else ""


def constraint_words(facts: Mapping[str, Any]) -> str:
    """What a constraint says, for people who have not read the paper."""
    parent, child, attribute = (facts.get(name, "") for name in ("parent", "child", "attribute"))
    sentences = {
        "RIDS": f"each {parent} meets its {child} within k arrivals of {child}",
        "CA": f"equal {attribute} of {parent} come with at most k others between",
        "OAP": f"{parent} is at most k arrivals out of order by {attribute}",
        "OAC": f"{child} is at most k arrivals out of order by {attribute}",
    }
    return sentences.get(str(facts.get("type", "")), "")


def total_of(data: SeriesData) -> float:
    """What the numbers of all batches come to; unknown ones count as 0."""
    return float(np.nansum(data.value * data.n))


def used_keys(book: Book) -> list[tuple[str, str]]:
    """Series of k in use."""
    return [(entity.id, USED) for entity in book.of(CONSTRAINT)]
