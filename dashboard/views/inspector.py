"""What the inspector says about one entity: a summary, its properties, the decisions behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashboard.components.formats import Format, show
from dashboard.views.numbers import form_of, known, shown_unit
from dashboard.views.plan import (
    OUTPUT,
    SOURCE,
    SOURCE_QUEUE,
    SYSTEM,
    Step,
    Values,
    is_step,
    step_word,
)
from storage.rows import DecisionEntry
from storage.vocabulary.properties import PROPERTIES
from storage.vocabulary.records import Decision, Entity

MOST_DECISIONS: Final = 4
#: What an operator asks first; the rest of the system's properties follow.
_FIRST: Final = ("tuples_per_s", "visits_per_tuple", "dropping_ratio", "batch_ms", "backlog_tuples")
_SOURCE_ROWS: Final = (
    "tuples_per_s",
    "n_tuples",
    "backlog_tuples",
    "tuples_total",
    "misfits_total",
)
_OUTPUT_ROWS: Final = ("n_matched", "matched_total")
_STATIC_UNITS: Final = {"bitmap_bytes": "bytes"}


class Property(NamedTuple):
    """One row: name, value, how to write it, unit, meaning; live: 'entity|property' or ''."""

    name: str
    value: Any
    form: Format
    unit: str
    meaning: str
    live: str


class Reason(NamedTuple):
    """A decision that touched the entity, newest first."""

    seq: int
    batch: int
    verdict: str
    text: str


class Inspector(NamedTuple):
    """Everything the inspector shows. history: (property, form, unit), or None without one."""

    entity: str
    title: str
    kind: str
    summary: str
    properties: list[Property]
    reasons: list[Reason]
    history: tuple[str, Format, str] | None


def build_inspector(
    entity: str,
    known_entities: Mapping[str, Entity],
    values: Values,
    rows: Sequence[Step],
    decisions: Sequence[DecisionEntry],
) -> Inspector:
    """The inspector of an entity at a moment; an unknown one says so in its summary."""
    found = known_entities.get(entity)
    step = next((row for row in rows if row.entity == entity), None)
    owner, names = _measured(entity, values)
    dynamic = [_measured_property(owner, name, values) for name in names]
    static = _static(found)
    main = _history_property(entity)
    return Inspector(
        entity=entity,
        title=found.name if found else entity,
        kind=_kind(entity, found),
        summary=summarise(entity, found, step, values, len(rows)),
        properties=dynamic + static,
        reasons=reasons(entity, decisions),
        history=None if main is None else (main, *_written(main)),
    )


def summarise(
    entity: str, found: Entity | None, step: Step | None, values: Values, n_steps: int
) -> str:
    """One sentence about the entity now."""
    system, word = values.get(SYSTEM, {}), step_word(entity).capitalize()
    if step is not None:
        if step.drop is None or step.reached is None:
            return f"{word} {step.position} of {n_steps}; no tuple reached it in this batch."
        return (
            f"{word} {step.position} of {n_steps}: drops {show(step.drop, 'pct')} of the "
            f"{show(step.reached, 'int')} tuples that reach it, {show(step.visits, 'pct')} of "
            f"{'the cost' if word == 'Filter' else 'all visits'}."
        )
    if entity == SOURCE:
        return f"{show(system.get('tuples_per_s'), 'si')} tuples/s are filtered."
    if entity == OUTPUT:
        n, matched = system.get("n_tuples"), system.get("n_matched")
        share = None if not n or matched is None else matched / n
        return f"{show(share, 'pct')} of the batch satisfies at least one query."
    if entity == SYSTEM:
        return "The engine as a whole. Click a card, or press Enter on it, to see that part."
    if is_step(entity):
        return f"This {step_word(entity)} is not part of the plan at this moment."
    return "" if found else f"The run has nothing called {entity}."


def reasons(entity: str, decisions: Sequence[DecisionEntry]) -> list[Reason]:
    """The newest accepted decisions that moved the entity (any, for the system)."""
    attribute = entity.partition(":")[2] if is_step(entity) else entity
    touching = [
        entry.decision
        for entry in decisions
        if entity == SYSTEM or _moved(attribute, entry.decision)
    ]
    newest = sorted(touching, key=lambda decision: -decision.seq)[:MOST_DECISIONS]
    return [Reason(d.seq, d.batch, d.verdict, _words(attribute, d)) for d in newest]


def _words(attribute: str, decision: Decision) -> str:
    old, new = order_of(decision.old), order_of(decision.new)
    if attribute in old and attribute in new:
        return f"place {old.index(attribute) + 1} → {new.index(attribute) + 1}"
    return decision.explanation


def _moved(attribute: str, decision: Decision) -> bool:
    old, new = order_of(decision.old), order_of(decision.new)
    if attribute not in old and attribute not in new:
        return False
    if (attribute in old) != (attribute in new):
        return True
    return old.index(attribute) != new.index(attribute)


def order_of(plan: Any) -> list[str]:
    """The attribute names of a decision's old or new plan: a list, or {"order": list}."""
    order = plan.get("order", []) if isinstance(plan, Mapping) else plan or []
    return [str(name).removeprefix("asc:") for name in order]


def _measured(entity: str, values: Values) -> tuple[str, list[str]]:
    """Whose properties to show, and which, in the order to show them."""
    if entity == SOURCE:
        return SYSTEM, [name for name in _SOURCE_ROWS if name in values.get(SYSTEM, {})]
    if entity == OUTPUT:
        return SYSTEM, [name for name in _OUTPUT_ROWS if name in values.get(SYSTEM, {})]
    names = list(values.get(entity, {}))
    if entity == SYSTEM:
        first = [name for name in _FIRST if name in names]
        names = first + [name for name in PROPERTIES if name in names and name not in first]
    return entity, names


def _measured_property(owner: str, name: str, values: Values) -> Property:
    value = values.get(owner, {}).get(name)
    form, unit = _written(name)
    meaning = PROPERTIES[name].meaning if name in PROPERTIES else ""
    return Property(name, value if known(value) else None, form, unit, meaning, f"{owner}|{name}")


def _written(name: str) -> tuple[Format, str]:
    unit = PROPERTIES[name].unit if name in PROPERTIES else ""
    return form_of(unit), shown_unit(unit)


def _static(found: Entity | None) -> list[Property]:
    if found is None:
        return []
    return [
        Property(name, _plain(value), "text", _STATIC_UNITS.get(name, ""), "", "")
        for name, value in found.properties.items()
        if value not in (None, "", [], {})
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return ", ".join(str(part) for part in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={part}" for key, part in value.items())
    return value


def _kind(entity: str, found: Entity | None) -> str:
    if is_step(entity):
        return step_word(entity)
    return found.kind if found else "unknown"


def _history_property(entity: str) -> str | None:
    if is_step(entity):
        return "drop_prob"
    known = {
        SOURCE: "tuples_per_s",
        OUTPUT: "n_matched",
        SYSTEM: "tuples_per_s",
        SOURCE_QUEUE: "size_tuples",
    }
    return known.get(entity, "flow_tuples" if entity.startswith("queue:") else None)
