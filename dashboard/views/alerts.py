"""Alert rules: a property beside a threshold, and which of them hold now.

A rule as CQL is one about the answers of a query, which is addressed by its name.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from dashboard.components.formats import Format
from dashboard.views.alert_spells import RELATIONS, spells
from dashboard.views.book import Book
from dashboard.views.numbers import form_of, shown_unit
from storage.tables.rows import SeriesData
from storage.vocabulary import registry
from storage.vocabulary.records import Command

#: New answers of a query in a batch.
ANSWERS: Final = "answer_tuples"
#: What says the same of queries that only match tuples.
_READ_AS: Final = {ANSWERS: "matched_tuples"}
#: In the body of a note of an alert: the rule that is silent, and for how long (s).
SILENCE, SECONDS = "silence", "seconds"
#: In that of a rule: how long it was true before it holds (s).
FOR: Final = "for_s"
LONGEST_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class AlertRule:
    """``property relation threshold`` of an entity. id: number of the command that wrote it, below
    0 of those that every run has. entity: its id, or ``@name`` of a query.

    webhook: also told to the dashboard's webhook, if it has one. for_s: it holds once it was true
    for so long (s).
    """

    id: int
    name: str
    entity: str
    property: str
    relation: str
    threshold: float
    webhook: bool
    for_s: float = 0.0


@dataclass(frozen=True, slots=True)
class AlertState:
    """A rule at a batch. whose: name of the entity. value: None = unknown. fires: it holds, and is
    not silent. since: when it began to be true (Unix s), None = it is not, or that is unknown.
    silent_until: Unix s, None = it is not silent. what: the number in words, '' = the property's;
    form, unit: how it is written."""

    rule: AlertRule
    whose: str
    value: float | None
    fires: bool
    since: float | None = None
    silent_until: float | None = None
    what: str = ""
    form: Format = "f3"
    unit: str = ""


def why_no_rule(body: Mapping[str, Any]) -> str:
    """Why this is no rule, or ''."""
    if SILENCE in body:
        seconds: Any = body.get(SECONDS)
        is_one = isinstance(body[SILENCE], str) and is_number(seconds) and 0 <= seconds <= LONGEST_S
        return "" if is_one else f"a silence needs a rule's name, and seconds from 0 to {LONGEST_S}"
    for name in ("entity", "property"):
        if not isinstance(body.get(name), str) or not body[name]:
            return f"it needs {name}, as text"
    if body.get("relation") not in RELATIONS:
        return f"relation is one of {', '.join(RELATIONS)}"
    threshold = body.get("threshold")
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        return "threshold is a number"
    if abs(threshold) > sys.float_info.max or math.isnan(threshold):
        return "threshold is a finite number"
    for_s = body.get(FOR, 0)
    if not is_number(for_s) or not 0 <= for_s <= LONGEST_S:
        return f"{FOR} is a number from 0 to {LONGEST_S} seconds"
    return ""


def is_number(value: Any) -> bool:
    """Whether it is a number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def silences_of(noted: Iterable[Command]) -> dict[str, float]:
    """Name of a rule -> until when it is silent (Unix s), as it was asked last."""
    asked = [(note, note.payload.get("body", {})) for note in noted]
    return {
        body[SILENCE]: note.requested_at + body[SECONDS]
        for note, body in asked
        if SILENCE in body and not why_no_rule(body)
    }


def rules_of(noted: Iterable[Command]) -> list[AlertRule]:
    """The rules people wrote down."""
    rules = []
    for note in noted:
        body = note.payload.get("body", {})
        if SILENCE not in body and not why_no_rule(body):
            terms = (body["entity"], body["property"], body["relation"], float(body["threshold"]))
            name = str(note.payload.get("name", ""))
            rules.append(
                AlertRule(note.id, name, *terms, bool(body.get("webhook")), float(body.get(FOR, 0)))
            )
    return rules


def states_of(
    rules: Iterable[AlertRule],
    values: Mapping[str, Mapping[str, float | None]],
    entities: Book,
    series: Mapping[tuple[str, str], SeriesData] | None = None,
    silences: Mapping[str, float] | None = None,
    now: float = 0.0,
) -> list[AlertState]:
    """Each rule at the values of a batch; what is unknown does not fire. series: lately, of rules
    that hold after a while; now: Unix s, for silences."""
    states = []
    for rule in rules:
        entity = entities.addressed(rule.entity)
        own = values.get(entity, {})
        name = property_of(rule, own)
        value, about = own.get(name), registry.KNOWN.properties.get(name)
        unit = "" if about is None else about.unit
        state = AlertState(
            rule=rule,
            whose=entities.name(entity) if entity in entities else rule.entity,
            value=value,
            fires=value is not None and RELATIONS[rule.relation](value, rule.threshold),
            form=form_of(unit) if unit else "f3",
            unit=shown_unit(unit),
        )
        known = (series or {}).get((entity, name))
        states.append(silenced(lasting(state, known), silences or {}, now))
    return states


def property_of(rule: AlertRule, own: Mapping[str, float | None]) -> str:
    """What a rule reads of the values of its entity."""
    return rule.property if rule.property in own else _READ_AS.get(rule.property, rule.property)


def lasting(state: AlertState, series: SeriesData | None) -> AlertState:
    """The state with since when it is true; it fires once that is long enough."""
    rule = state.rule
    when = [] if series is None else spells(series, rule.relation, rule.threshold)
    if not state.fires or not when or not when[-1].lasts:
        return state if not rule.for_s else replace(state, fires=False)
    last = when[-1]
    return replace(state, since=last.since, fires=last.until - last.since >= rule.for_s)


def silenced(state: AlertState, silences: Mapping[str, float], now: float) -> AlertState:
    """The state, which does not fire while its rule is silent."""
    until = silences.get(state.rule.name, 0.0)
    return state if until <= now else replace(state, fires=False, silent_until=until)
