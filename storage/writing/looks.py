"""Looks of autopilots as rows of their own, in place of the decisions that can be made of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace

from sqlalchemy import Connection, insert

from storage.errors import BadRecord
from storage.tables.columns import dump_json, load_json
from storage.tables.looks import OTHER_BYTES, KeptLog, KeptPlan, PlanLogs, record_in
from storage.tables.packed import PackedFacts, pack_look, pack_plan
from storage.tables.schema import LoggedPlanRow, LookRow, PlanLogRow
from storage.vocabulary.planlog import RECORD, SHORT_OF, LoggedEvaluation
from storage.vocabulary.records import Decision, Json
from storage.writing.upsert import add_once

#: (unit, begin) -> a log as it is in the store, so that an evaluation reads nothing.
KnownLogs = dict[tuple[str, int], KeptLog]


class LookWriter:
    """Writes looks of a run within the caller's transaction. known: the logs that were read or
    written before."""

    def __init__(self, connection: Connection, run_id: str, time: float, known: KnownLogs) -> None:
        self._connection, self._run, self._time, self._known = connection, run_id, time, known

    def looks(self, decisions: Iterable[Decision]) -> list[Decision]:
        """Write the looks among the decisions. What is left to be written as decisions: what is no
        look, or one of another form, and what says more than its look."""
        left = []
        for decision in decisions:
            is_look = record_in(decision.detail) is not None
            rest = self._rest(decision) if is_look else decision
            if rest is not None:
                left.append(rest)
        return left

    def evaluations(self, logged: Iterable[LoggedEvaluation]) -> None:
        """Write evaluations that no autopilot took. Raises BadRecord for one of another form."""
        for each in logged:
            facts = PackedFacts(each.algorithm, each.version, each.knob_version)
            try:
                log, packed = self._packed(each.unit_id, _plain(each.record), facts)
            except OTHER_BYTES as error:
                raise BadRecord(f"an evaluation of {each.unit_id!r} has another form") from error
            self._add(log, each.seq, each.batch, None, packed)

    def _rest(self, decision: Decision) -> Decision | None:
        """Write a look; what is left of its decision."""
        plain = Decision(**_plain(asdict(decision)))
        record = plain.detail[RECORD]
        try:
            facts = PackedFacts(plain.algorithm, plain.old["version"], plain.knob_version)
            log, packed = self._packed(plain.unit_id, record, facts)
            again = _plain(asdict(log.decision(plain.seq, plain.batch, record, facts)))
        except OTHER_BYTES:
            return decision
        short = SHORT_OF.get(plain.verdict) if again == asdict(plain) else None
        self._add(log, plain.seq, plain.batch, short, packed)
        if short is not None:
            return None
        rest = {name: part for name, part in plain.detail.items() if name != RECORD}
        return replace(decision, detail=rest)

    def _packed(self, unit: str, record: Json, facts: PackedFacts) -> tuple[KeptLog, bytes]:
        """The log of a look, with the plans that it names, and its bits. Raises ``OTHER_BYTES``
        where they do not come back as they were."""
        log = self._known.get((unit, record["began"])) or self._read(unit, record, facts)
        log = log._replace(plans=(*log.plans, *_new_plans(log, record)))
        packed = pack_look(record, facts, log.head)
        if log.look(packed) != (record, facts):
            raise ValueError("the look does not come back as it was")
        return log, packed

    def _read(self, unit: str, record: Json, facts: PackedFacts) -> KeptLog:
        """The log of a look: that which is there, or which it begins. Raises LookupError where it
        does not say of which schema."""
        log = PlanLogs(self._connection, self._run, unit).began(record["began"])
        if log is not None:
            return log
        schema = record["schema"]
        if isinstance(schema, str):
            raise LookupError("the look that spells the schema out is not on record")
        return KeptLog(None, unit, facts.algorithm, record["began"], schema, ())

    def _add(self, log: KeptLog, seq: int, batch: int, short: int | None, packed: bytes) -> None:
        """The rows of a look, of its plans that are new, and of its log if that is."""
        id = _log_id(self._connection, self._run, log)
        before = self._known.get((log.unit_id, log.began))
        _add_plans(self._connection, id, log, 0 if before is None else len(before.plans))
        self._known[log.unit_id, log.began] = log._replace(id=id)
        row = {"log_id": id, "seq": seq, "batch": batch, "time": self._time}
        add_once(self._connection, LookRow, [{**row, "short": short, "packed": packed}])


def _plain(fields: Json) -> Json:
    """As JSON comes back."""
    return load_json(dump_json(fields))


def _log_id(connection: Connection, run_id: str, log: KeptLog) -> int:
    """Of its row, which it is given when it has none."""
    if log.id is not None:
        return log.id
    row = {
        **{"run_id": run_id, "unit_id": log.unit_id, "began": log.began},
        **{"algorithm": log.algorithm, "schema": log.schema},
    }
    made = connection.execute(insert(PlanLogRow).values(**row).returning(PlanLogRow.id))
    return int(made.scalar_one())


def _new_plans(log: KeptLog, record: Json) -> list[KeptPlan]:
    """Those that a look writes down, unless it is written once more."""
    number, written = record["number"], {(plan.number, plan.digest) for plan in log.plans}
    new = record.get("plans", {}).items()
    return [
        KeptPlan(number, digest, form) for digest, form in new if (number, digest) not in written
    ]


def _add_plans(connection: Connection, id: int, log: KeptLog, since: int) -> None:
    """The rows of the plans from a place on."""
    rows = [
        {
            **{"log_id": id, "place": place, "number": plan.number},
            "form": pack_plan(plan.form, log.plans[0].form if place else None),
        }
        for place, plan in enumerate(log.plans)
        if place >= since
    ]
    add_once(connection, LoggedPlanRow, rows)
