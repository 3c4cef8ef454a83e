"""Looks of an autopilot as a store has them, read with the distrust that they need.

A number that cannot be would sit in sums until the next switch, so all are checked on the way in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple

from backend.adaptive.planlog.autopilot import MOST_CAUTION, PilotLook, PilotOffer
from backend.adaptive.planlog.confidence import recorded_sample
from backend.adaptive.planlog.records import (
    LogJson,
    LogSchema,
    PlanLogRefused,
    real_number,
    whole_number,
)
from storage.vocabulary.planlog import SUBJECT, form_digest

LookRecord = Mapping[str, LogJson]


def newest_log(records: Sequence[LookRecord], schema: LogSchema) -> list[LookRecord]:
    """Those of the log that the last one of the subject is of; none where that is of another
    schema.

    Raises PlanLogRefused where the last one does not say what it is of.
    """
    records = [record for record in records if subject_of(record) == schema.subject]
    if not records:
        return []
    last = records[-1]
    if not isinstance(last, Mapping) or not {"schema", "began"} <= last.keys():
        raise PlanLogRefused("the last look on record does not say which log it is of")
    if _schema_digest(last) != schema.digest:
        return []
    own = [record for record in records if isinstance(record, Mapping)]
    same = [record for record in own if record.get("began") == last["began"]]
    return [record for record in same if _schema_digest(record) == schema.digest]


def subject_of(record: LookRecord) -> str:
    """What is decided; '' of the only autopilot of a unit, and where the schema is not spelt
    out."""
    schema = record.get("schema") if isinstance(record, Mapping) else None
    return str(schema.get(SUBJECT, "")) if isinstance(schema, Mapping) else ""


def since_state(records: Sequence[LookRecord]) -> Sequence[LookRecord]:
    """From the last one on that kept the state; all where none did."""
    kept = [place for place, record in enumerate(records) if "state" in record]
    return records[kept[-1] :] if kept else records


def _schema_digest(record: LookRecord) -> LogJson:
    """The digest that a look gives, or that of the form it spells out."""
    schema = record.get("schema")
    return form_digest(schema) if isinstance(schema, Mapping) else schema


def newest_time(records: Sequence[LookRecord]) -> int:
    """Tuples of input before the newest look that says so, 0 where none does."""
    times = [record.get("t") for record in records if isinstance(record, Mapping)]
    return max((t for t in times if isinstance(t, int) and not isinstance(t, bool)), default=0)


def unused_begin(records: Sequence[LookRecord], t: int) -> int:
    """A begin for a new log at t, or as soon after it as no log on record has begun then, so that
    none is taken for it."""
    begun = [record.get("began") for record in records if isinstance(record, Mapping)]
    while t in begun:
        t += 1
    return t


def recorded_look(record: LookRecord, schema: LogSchema) -> PilotLook:
    """What a look decided on. Raises PlanLogRefused for numbers that cannot be."""
    offers = [
        PilotOffer(
            plan,
            real_number(cost, "the cost of a plan", 0.0),
            recorded_sample(n, mean, squares, worst),
            real_number(own[0], "a cost of switching", 0.0) if own else None,
        )
        for plan, cost, n, mean, squares, worst, *own in record["offers"]
    ]
    return PilotLook(
        whole_number(record["t"], "the time of a look"),
        schema.checked(record["statistics"]),
        record["plan"],
        real_number(record["cost"], "the cost of the plan in force", 0.0),
        tuple(offers),
        real_number(record["switching"], "a cost of switching", 0.0),
        real_number(record["deciding"], "a cost of deciding", 0.0),
    )


def offer_form(offer: PilotOffer) -> list[LogJson]:
    """As a record has it; its own cost of switching last, where it has one."""
    own = [] if offer.switching is None else [offer.switching]
    return [offer.plan, offer.cost, *astuple(offer.saving), *own]


def recorded_run(record: LookRecord) -> tuple[int, float]:
    """Tuples that ran before a look, and what they cost. Raises PlanLogRefused."""
    n_tuples, cost = record["ran"]
    n = whole_number(n_tuples, "the tuples that ran before a look")
    return n, real_number(cost, "the cost of what ran before a look", 0.0)


def recorded_caution(record: LookRecord) -> float:
    """The dial at a look. Raises PlanLogRefused."""
    caution = real_number(record["caution"], "the caution of a look", 0.0)
    if caution >= MOST_CAUTION:
        raise PlanLogRefused(f"the caution of a look is {caution:g}, not below {MOST_CAUTION}")
    return caution
