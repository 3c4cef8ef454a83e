"""Looks of the plan log between their rows and what they are: records, and decisions."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from operator import eq
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, select

from storage.tables.allowed import RowCheck
from storage.tables.narrowed import narrowed
from storage.tables.packed import LogHead, PackedFacts, unpack_look, unpack_plan
from storage.tables.rows import DecisionEntry, StoredLook
from storage.tables.schema import LoggedPlanRow, LookRow, PlanLogRow
from storage.vocabulary.looks import LookFacts, look_decision, look_terms
from storage.vocabulary.planlog import RECORD, SUBJECT, form_digest
from storage.vocabulary.records import Decision, Json

_LOGS = PlanLogRow.__table__
_PLANS = LoggedPlanRow.__table__
_LOG_CHECK: Final = RowCheck(_LOGS)
_PLAN_CHECK: Final = RowCheck(_PLANS)
_LOOK_CHECK: Final = RowCheck(LookRow.__table__)
#: What unpacking other bytes comes to.
OTHER_BYTES: Final = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
    *(struct.error, zlib.error),
)


class KeptPlan(NamedTuple):
    """A plan as look ``number`` of its log wrote it down."""

    number: int
    digest: str
    form: Json


class KeptLog(NamedTuple):
    """A plan log of a run. id: of its row, None before it has one; plans: by place."""

    id: int | None
    unit_id: str
    algorithm: str
    began: int
    schema: Json
    plans: tuple[KeptPlan, ...]

    @property
    def head(self) -> LogHead:
        """What its looks share."""
        digests = [plan.digest for plan in self.plans]
        return LogHead(self.algorithm, self.began, form_digest(self.schema), self.schema, digests)

    def look(self, packed: bytes) -> tuple[Json, PackedFacts]:
        """The record of a look, and its facts. Raises ``OTHER_BYTES``."""
        record, facts = unpack_look(packed, self.head)
        new = {plan.digest: plan.form for plan in self.plans if plan.number == record["number"]}
        return ({**record, "plans": new} if new else record), facts

    def decision(self, seq: int, batch: int, record: Json, facts: PackedFacts) -> Decision:
        """The decision that a look is."""
        forms = {plan.digest: plan.form for plan in self.plans}
        made = look_decision(
            record,
            look_terms(record, self.schema["cost_unit"], forms),
            LookFacts(
                algorithm=facts.algorithm,
                seq=seq,
                batch=batch,
                version=facts.version,
                knob_version=facts.knob_version,
                subject=self.schema.get(SUBJECT, ""),
            ),
        )
        return replace(made, unit_id=self.unit_id)


class KeptLook(NamedTuple):
    """A look in its row of plan_log_looks. is_whole: its decision has no row of its own."""

    log: KeptLog
    seq: int
    batch: int
    time: float
    is_whole: bool
    record: Json
    facts: PackedFacts

    @property
    def stored(self) -> StoredLook:
        """As pages and a run that goes on read it, its schema spelt out."""
        record = {**self.record, "schema": self.log.schema}
        named = {record["plan"], record["chosen"], *(plan for plan, *_ in record["offers"])}
        forms = {plan.digest: plan.form for plan in self.log.plans if plan.digest in named}
        return StoredLook(self.log.unit_id, self.seq, self.batch, self.time, record, forms)

    @property
    def entry(self) -> DecisionEntry:
        """As a decision."""
        decision = self.log.decision(self.seq, self.batch, self.record, self.facts)
        return DecisionEntry(decision, self.time, None)

    def put_back(self, entry: DecisionEntry) -> DecisionEntry:
        """Its decision, which has a row of its own, with its record."""
        detail = {**entry.decision.detail, RECORD: self.record}
        return replace(entry, decision=replace(entry.decision, detail=detail))


class PlanLogs:
    """The logs of a run, or of a unit of it; each is read when it is asked for."""

    def __init__(self, connection: Connection, run_id: str, unit: str | None) -> None:
        self._connection = connection
        of_run = select(_LOGS).where(_LOGS.c.run_id == run_id)
        statement = narrowed(of_run, (_LOGS.c.unit_id, eq, unit))
        self._rows: dict[int, Row[Any]] = {}
        self._read: dict[int, KeptLog] = {}
        for row in connection.execute(statement.order_by(_LOGS.c.unit_id, _LOGS.c.began)):
            _LOG_CHECK.check(row)
            self._rows[row.id] = row

    def ids(self, unit: str | None = None, subject: str | None = None) -> list[int]:
        """Keys of the logs, or of those of a unit, of a subject."""
        return [
            id
            for id, row in self._rows.items()
            if unit in (None, row.unit_id) and subject in (None, row.schema.get(SUBJECT, ""))
        ]

    @property
    def subjects(self) -> list[str]:
        """What is decided in them, each once, of most plans first; '' of the only autopilot of a
        unit."""
        plans = select(_PLANS.c.log_id).where(_PLANS.c.log_id.in_(self._rows))
        n_plans = Counter(self._connection.scalars(plans))
        of_subject = Counter[str]()
        for id, row in self._rows.items():
            of_subject[row.schema.get(SUBJECT, "")] += n_plans[id]
        return sorted(of_subject, key=lambda subject: (-of_subject[subject], subject))

    @property
    def units(self) -> set[str]:
        """Those that have logs."""
        return {row.unit_id for row in self._rows.values()}

    def unit_of(self, id: int) -> str:
        """The unit of a log."""
        return str(self._rows[id].unit_id)

    def began(self, t: int) -> KeptLog | None:
        """The log that began then."""
        return next((self.log(id) for id, row in self._rows.items() if row.began == t), None)

    def log(self, id: int) -> KeptLog:
        """The log of a key, with its plans."""
        if id not in self._read:
            row = self._rows[id]
            statement = select(_PLANS).where(_PLANS.c.log_id == id).order_by(_PLANS.c.place)
            plans: list[KeptPlan] = []
            for each in self._connection.execute(statement):
                plans.append(_plan(each, plans[0].form if plans else None))
            self._read[id] = KeptLog(
                id, row.unit_id, row.algorithm, row.began, row.schema, tuple(plans)
            )
        return self._read[id]


def _plan(row: Row[Any], first: Json) -> KeptPlan:
    _PLAN_CHECK.check(row)
    try:
        form = unpack_plan(row.form, first)
    except OTHER_BYTES as error:
        raise _PLAN_CHECK.wrong(row, "form", allowed="a plan as it is packed") from error
    return KeptPlan(row.number, form_digest(form), form)


def kept_look(row: Row[Any], log: KeptLog) -> KeptLook:
    """The look of a row of plan_log_looks. Raises WrongValue."""
    _LOOK_CHECK.check(row)
    try:
        read = log.look(row.packed)
    except OTHER_BYTES as error:
        raise _LOOK_CHECK.wrong(row, "packed", allowed="a look as it is packed") from error
    return KeptLook(log, row.seq, row.batch, row.time, row.short is not None, *read)


def record_in(detail: Json) -> Json:
    """The record in the detail of a decision, None where there is none."""
    return detail.get(RECORD) if isinstance(detail, Mapping) else None
