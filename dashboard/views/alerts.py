"""Alert rules: a property beside a threshold, and which of them hold now.

A rule as CQL is one about the answers of a query, which is addressed by its name.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import Any, Final

from dashboard.views.book import Book
from storage.vocabulary.records import Command

#: New answers of a query in a batch.
ANSWERS: Final = "answer_tuples"
#: What says the same of queries that only match tuples.
_READ_AS: Final = {ANSWERS: "matched_tuples"}
RELATIONS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">": gt,
    ">=": ge,
    "<": lt,
    "<=": le,
}


@dataclass(frozen=True, slots=True)
class AlertRule:
    """``property relation threshold`` of an entity. id: number of the command that wrote it.
    entity: its id, or ``@name`` of a query.

    webhook: also told to the dashboard's webhook, if it has one.
    """

    id: int
    name: str
    entity: str
    property: str
    relation: str
    threshold: float
    webhook: bool


@dataclass(frozen=True, slots=True)
class AlertState:
    """A rule at a batch. whose: name of the entity. value: None = unknown. fires: it holds."""

    rule: AlertRule
    whose: str
    value: float | None
    fires: bool


def why_no_rule(body: Mapping[str, Any]) -> str:
    """Why this is no rule, or ''."""
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
    return ""


def rules_of(noted: Iterable[Command]) -> list[AlertRule]:
    """The rules people wrote down."""
    rules = []
    for note in noted:
        body = note.payload.get("body", {})
        if not why_no_rule(body):
            terms = (body["entity"], body["property"], body["relation"], float(body["threshold"]))
            name = str(note.payload.get("name", ""))
            rules.append(AlertRule(note.id, name, *terms, bool(body.get("webhook"))))
    return rules


def states_of(
    rules: Iterable[AlertRule], values: Mapping[str, Mapping[str, float | None]], entities: Book
) -> list[AlertState]:
    """Each rule at the values of a batch; what is unknown does not fire."""
    states = []
    for rule in rules:
        entity = entities.addressed(rule.entity)
        own = values.get(entity, {})
        value = own.get(rule.property, own.get(_READ_AS.get(rule.property, "")))
        fires = value is not None and RELATIONS[rule.relation](value, rule.threshold)
        whose = entities.name(entity) if entity in entities else rule.entity
        states.append(AlertState(rule, whose, value, fires))
    return states
