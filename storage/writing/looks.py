"""Looks of autopilots as rows of their own, in place of the decisions that can be made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from sqlalchemy import Connection, insert

from storage.tables.columns import dump_json, load_json
from storage.tables.looks import OTHER_BYTES, KeptLog, KeptPlan, PlanLogs, record_in
from storage.tables.packed import PackedFacts, pack_look, pack_plan
from storage.tables.schema import LoggedPlanRow, LookRow, PlanLogRow
from storage.vocabulary.planlog import RECORD, SHORT_OF
from storage.vocabulary.records import Decision, Json
from storage.writing.upsert import add_once


def write_looks(
    connection: Connection, run_id: str, time: float, decisions: Sequence[Decision]
) -> list[Decision]:
    """Write the looks among the decisions. What is left to be written as decisions: what is no
    look, or one of another form, and what says more than its look."""
    left = []
    for decision in decisions:
        is_look = record_in(decision.detail) is not None
        rest = _written(connection, run_id, time, decision) if is_look else decision
        if rest is not None:
            left.append(rest)
    return left


def _written(
    connection: Connection, run_id: str, time: float, decision: Decision
) -> Decision | None:
    """Write a look; what is left of its decision."""
    plain = Decision(**_plain(asdict(decision)))
    record = plain.detail[RECORD]
    try:
        log = _log(connection, run_id, plain)
        known = log.plans
        log = log._replace(plans=(*known, *_new_plans(log, record)))
        facts = PackedFacts(plain.algorithm, plain.old["version"], plain.knob_version)
        packed = pack_look(record, facts, log.head)
        if log.look(packed) != (record, facts):
            return decision
        again = _plain(asdict(log.decision(plain.seq, plain.batch, record, facts)))
    except OTHER_BYTES:
        return decision
    short = SHORT_OF.get(plain.verdict) if again == asdict(plain) else None
    id = _log_id(connection, run_id, log)
    _add_plans(connection, id, log, len(known))
    row = {"log_id": id, "seq": plain.seq, "batch": plain.batch, "time": time}
    add_once(connection, LookRow, [{**row, "short": short, "packed": packed}])
    if short is not None:
        return None
    rest = {name: part for name, part in plain.detail.items() if name != RECORD}
    return replace(decision, detail=rest)


def _plain(fields: Json) -> Json:
    """As JSON comes back."""
    return load_json(dump_json(fields))


def _log(connection: Connection, run_id: str, look: Decision) -> KeptLog:
    """The log of a look: that which is there, or which it begins. Raises LookupError where it does
    not say of which schema."""
    record = look.detail[RECORD]
    log = PlanLogs(connection, run_id, look.unit_id).began(record["began"])
    if log is not None:
        return log
    schema = record["schema"]
    if isinstance(schema, str):
        raise LookupError("the look that spells the schema out is not on record")
    return KeptLog(None, look.unit_id, look.algorithm, record["began"], schema, ())


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
