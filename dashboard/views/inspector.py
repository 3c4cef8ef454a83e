"""What the inspector says about one entity: a summary, its properties, the decisions behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from dashboard.base.face import told
from dashboard.components.formats import Format, show
from dashboard.components.kinds import node_kind
from dashboard.components.names import named
from dashboard.views.book import SYSTEM, Book
from dashboard.views.decision_card import order_names
from dashboard.views.numbers import form_of, rounded, shown_unit
from dashboard.views.plan import PlanStep, Values
from storage.tables.rows import DecisionEntry
from storage.vocabulary import registry
from storage.vocabulary.records import Decision, Entity

MOST_DECISIONS: Final = 4
#: What an operator asks first; the rest of the system's properties follow.
_FIRST: Final = (
    "tuples_per_s",
    "n_answered",
    "visits_per_tuple",
    "dropping_ratio",
    "batch_ms",
    "backlog_tuples",
)
#: Properties of the whole that are shown with a source or an output that has none of its own.
_ROWS: Final = {
    "source": ("tuples_per_s", "n_tuples", "backlog_tuples", "tuples_total", "misfits_total"),
    "output": ("n_matched", "matched_total"),
}
#: Numbers of a queue: what it handed over in the batch; of one that only waits, what waits.
_QUEUED: Final = ("flow_tuples", "size_tuples")
_HISTORY: Final = {
    "source": "tuples_per_s",
    "output": "n_matched",
    "system": "tuples_per_s",
}
_STATIC_UNITS: Final = {"bitmap_bytes": "bytes"}


#: Groups of properties, in the order they are shown in.
SPEED, COST, QUALITY, STORE, FACTS = "Speed", "Cost", "Quality", "Store", "What it is"
GROUPS: Final = (SPEED, COST, QUALITY, STORE, FACTS)
#: Unit -> group of what is measured in it; the rest is about what comes out.
_BY_UNIT: Final = {
    **dict.fromkeys(("tuples/s", "ms", "ticks", "shards"), SPEED),
    **dict.fromkeys(("visits/tuple", "visits", "us/tuple", "us", "1/us", "tuples/us"), COST),
    **dict.fromkeys(("cost/tuple", "cost/tuple/KB", "probes", "runs"), COST),
    **dict.fromkeys(("bytes", "decisions", "entries", "row groups"), STORE),
}
#: What its unit does not tell, of properties that no one system has.
_BY_NAME: Final = {
    **dict.fromkeys(("n_tuples", "tuples_total", "backlog_tuples", "flow_tuples"), SPEED),
    **dict.fromkeys(("profile_share", "n_sampled"), COST),
    **dict.fromkeys(("commit_ms", "size_tuples"), STORE),
}


def step_word(role: str) -> str:
    """What a step of a plan with this role is called, '' for what is none."""
    kind = node_kind(role)
    return kind.word if kind.card == "step" else ""


class PropertyLine(NamedTuple):
    """One row: name, value, how to write it, unit, meaning; live: 'entity|property' or ''; group:
    one of :data:`GROUPS`."""

    name: str
    value: Any
    form: Format
    unit: str
    meaning: str
    live: str
    group: str


def grouped(properties: Sequence[PropertyLine]) -> list[tuple[str, list[PropertyLine]]]:
    """The properties by group, in the order of :data:`GROUPS`; groups without any are left out."""
    groups = [(group, [line for line in properties if line.group == group]) for group in GROUPS]
    return [(group, lines) for group, lines in groups if lines]


class Reason(NamedTuple):
    """A decision that touched the entity, newest first."""

    seq: int
    batch: int
    verdict: str
    text: str
    unit: str = ""


class SentenceNumber(NamedTuple):
    """A number within a sentence, which follows the batches as those of tables do."""

    entity: str
    property: str
    value: float | None
    form: Format

    def __str__(self) -> str:
        return show(self.value, self.form)


#: A sentence in parts.
Sentence: TypeAlias = tuple[str | SentenceNumber, ...]


class Inspector(NamedTuple):
    """Everything the inspector shows. history: (property, form, unit), or None without one."""

    entity: str
    title: str
    kind: str
    summary: Sentence
    properties: list[PropertyLine]
    history: tuple[str, Format, str] | None


def build_inspector(
    entity: str,
    book: Book,
    values: Values,
    rows: Sequence[PlanStep],
) -> Inspector:
    """The inspector of an entity at a moment; an unknown one says so in its summary."""
    record, role = book.get(entity), book.role(entity)
    step = next((row for row in rows if row.entity == entity), None)
    _, names = _measured(entity, role, values)
    main = _HISTORY.get(role, next((name for name in _QUEUED if name in names), None))
    main = "drop_prob" if step_word(role) else main
    return Inspector(
        entity=entity,
        title=record.name if record else entity,
        kind=step_word(role) or (record.kind if record else "unknown"),
        summary=summarise(entity, role, step, values, len(rows)),
        properties=properties_of(entity, book, values),
        history=None if main is None else (main, *_written(main)),
    )


def properties_of(entity: str, book: Book, values: Values) -> list[PropertyLine]:
    """What is measured of an entity at a moment, then its facts."""
    owner, names = _measured(entity, book.role(entity), values)
    dynamic = [_measured_property(owner, name, values) for name in names]
    return dynamic + _static(book.get(entity), book)


def summarise(
    entity: str, role: str, step: PlanStep | None, values: Values, n_steps: int
) -> Sentence:
    """About the entity now, in numbers that its tables have as well."""
    system, word = values.get(SYSTEM, {}), step_word(role) or "operator"
    if step is not None:
        place = f"{word.capitalize()} {step.position} of {n_steps}"
        if not step.reached:
            return (f"{place}; no tuple reached it in this batch.",)
        reached = SentenceNumber(entity, "reached_tuples", step.reached, "int")
        if step.drop is None:
            return f"{place}: ", reached, " tuples reach it."
        dropped = SentenceNumber(entity, "drop_prob", step.drop, "pct")
        return f"{place}: drops ", dropped, " of the ", reached, " tuples that reach it."
    if role == "source":
        rate = SentenceNumber(SYSTEM, "tuples_per_s", system.get("tuples_per_s"), "si")
        return rate, " tuples/s are filtered.", _refuted(values.get(entity, {}))
    if role == "output":
        matched, n = (
            SentenceNumber(SYSTEM, name, system.get(name), "int")
            for name in ("n_matched", "n_tuples")
        )
        return matched, " of the batch's ", n, " tuples satisfy at least one query."
    if entity == SYSTEM:
        return ("The engine as a whole. Click a card, or press Enter on it, to see that part.",)
    if step_word(role):
        return (f"This {word} is not part of the plan at this moment.",)
    return ("" if role else f"The run has nothing called {entity} at this moment.",)


def _refuted(values: Mapping[str, float | None]) -> str:
    """What of its files a source did not read, '' where it reads all."""
    n_refuted, n_groups = values.get("refuted_groups"), values.get("row_groups")
    if n_refuted is None or not n_groups:
        return ""
    of_all = f"{show(n_refuted, 'int')} of {show(n_groups, 'int')} row groups"
    return f" {of_all} refuted by their statistics, not read."


def reasons(entity: str, book: Book, decisions: Sequence[DecisionEntry]) -> list[Reason]:
    """The newest accepted decisions that moved the entity (any, for the system)."""
    name, unit = book.name(entity), book[entity].unit_id if entity in book else ""
    touching = [
        entry.decision
        for entry in decisions
        if entity == SYSTEM or (entry.decision.unit_id == unit and _moved(name, entry.decision))
    ]
    newest = sorted(touching, key=lambda decision: -decision.seq)[:MOST_DECISIONS]
    return [Reason(d.seq, d.batch, d.verdict, _words(name, d), d.unit_id) for d in newest]


def _words(attribute: str, decision: Decision) -> str:
    old, new = order_names(decision.old), order_names(decision.new)
    if attribute in old and attribute in new:
        return f"place {old.index(attribute) + 1} → {new.index(attribute) + 1}"
    return named(decision.explanation)


def _moved(attribute: str, decision: Decision) -> bool:
    old, new = order_names(decision.old), order_names(decision.new)
    if attribute not in old and attribute not in new:
        return False
    if (attribute in old) != (attribute in new):
        return True
    return old.index(attribute) != new.index(attribute)


def _measured(entity: str, role: str, values: Values) -> tuple[str, list[str]]:
    """Whose properties to show, and which, in the order to show them."""
    names = list(values.get(entity, {}))
    if role in _ROWS and not names:
        return SYSTEM, [name for name in _ROWS[role] if name in values.get(SYSTEM, {})]
    first = _FIRST if role == "system" else ()
    places = {name: place for place, name in enumerate((*first, *registry.KNOWN.properties))}
    places |= {name: place for place, name in enumerate(first)}
    names.sort(key=lambda name: places.get(name, len(places)))
    return entity, names


def _measured_property(owner: str, name: str, values: Values) -> PropertyLine:
    value = values.get(owner, {}).get(name)
    form, unit = _written(name)
    known_as = registry.KNOWN.properties.get(name)
    meaning = known_as.meaning if known_as else ""
    raw = known_as.unit if known_as else ""
    group = _BY_NAME.get(name) or told("groups").get(name) or _BY_UNIT.get(raw, QUALITY)
    return PropertyLine(name, rounded(value), form, unit, meaning, f"{owner}|{name}", group)


def _written(name: str) -> tuple[Format, str]:
    known_as = registry.KNOWN.properties.get(name)
    unit = known_as.unit if known_as else ""
    return form_of(unit), shown_unit(unit)


def _static(entity: Entity | None, book: Book) -> list[PropertyLine]:
    if entity is None:
        return []
    return [
        PropertyLine(name, _plain(value, book), "text", _STATIC_UNITS.get(name, ""), "", "", FACTS)
        for name, value in entity.properties.items()
        if value not in (None, "", [], {})
    ]


def _plain(value: Any, book: Book) -> Any:
    """A fact as words; entities by their names."""
    if isinstance(value, str):
        return book.name(value)
    if isinstance(value, list | tuple):
        return ", ".join(str(_plain(part, book)) for part in value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_plain(part, book)}" for key, part in value.items())
    return value
