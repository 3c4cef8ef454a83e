"""Reading the plan log: looks as they were taken, and as the decisions that they are.

A look that kept the plan has a row in plan_log_looks alone; its decision is made of it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import le, lt
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from storage.tables.allowed import WHOLE, hold
from storage.tables.looks import KeptLook, PlanLogs, kept_look, record_in
from storage.tables.narrowed import among, narrowed
from storage.tables.rows import DecisionEntry
from storage.tables.schema import LookRow
from storage.vocabulary.planlog import SHORT_OF, SURE_SAVING

_LOOKS = LookRow.__table__


def kept_looks(
    logs: PlanLogs,
    connection: Connection,
    until: int | None,
    limit: int,
    *,
    before_seq: int | None = None,
    shorts: Iterable[int] | None = None,
    subject: str | None = None,
) -> list[KeptLook]:
    """The newest looks of some logs, newest first. shorts: of those whose decision has no row,
    which verdicts; None: all looks. subject: of a log; None: of all."""
    c = _LOOKS.c
    asked = (c.batch, le, until), (c.seq, lt, before_seq), (c.short, among, shorts)
    newest = narrowed(select(_LOOKS), *asked).order_by(c.seq.desc()).limit(limit)
    rows = [
        row
        for id in logs.ids(subject=subject)
        for row in connection.execute(newest.where(_LOOKS.c.log_id == id)).all()
    ]
    rows.sort(key=lambda row: (row.batch, row.seq, logs.unit_of(row.log_id)), reverse=True)
    return [kept_look(row, logs.log(row.log_id)) for row in rows[:limit]]


class DecisionQuery(NamedTuple):
    """Which decisions are asked for, as of Reader.decisions()."""

    run_id: str
    until: int | None
    verdicts: Sequence[str] | None
    before_seq: int | None
    limit: int
    unit: str | None


def with_looks(
    connection: Connection, query: DecisionQuery, entries: Iterable[DecisionEntry]
) -> tuple[DecisionEntry, ...]:
    """Decisions that have rows, with the records of looks put back, and those that are made of
    looks, newest first."""
    run_id, until, verdicts, before_seq, limit, unit = query
    logs = PlanLogs(connection, run_id, unit)
    asked = [n for verdict, n in SHORT_OF.items() if verdicts is None or verdict in verdicts]
    kept = []
    if asked:
        kept = kept_looks(logs, connection, until, limit, before_seq=before_seq, shorts=asked)
    all = [put_back(logs, connection, entry) for entry in entries]
    if kept:
        all += [look.entry for look in kept]
        all.sort(key=lambda e: (e.decision.batch, e.decision.seq, e.decision.unit_id), reverse=True)
    return tuple(all[:limit])


def put_back(logs: PlanLogs, connection: Connection, entry: DecisionEntry) -> DecisionEntry:
    """A decision with the record of the look that it is, if it is one."""
    decision = entry.decision
    if decision.metric != SURE_SAVING or record_in(decision.detail) is not None:
        return entry
    look = look_of(logs, connection, decision.unit_id, decision.seq)
    return entry if look is None else look.put_back(entry)


def look_of(logs: PlanLogs, connection: Connection, unit: str, seq: int) -> KeptLook | None:
    """The look of a number of decisions of a unit."""
    for id in logs.ids(unit):
        of_seq = select(_LOOKS).where(_LOOKS.c.log_id == id, _LOOKS.c.seq == seq)
        row = connection.execute(of_seq).first()
        if row is not None:
            return kept_look(row, logs.log(id))
    return None


def last_seq(connection: Connection, run_id: str, until: int | None, unit: str) -> int:
    """The number of the unit's last look of batches <= until, 0 without one."""
    own = narrowed(select(_LOOKS.c.seq), (_LOOKS.c.batch, le, until))
    own = own.order_by(_LOOKS.c.seq.desc()).limit(1)
    ids = PlanLogs(connection, run_id, unit).ids()
    rows = [row for id in ids for row in connection.execute(own.where(_LOOKS.c.log_id == id))]
    hold(rows, WHOLE)
    return max((row[0] for row in rows), default=0)


def counts(logs: PlanLogs, connection: Connection, until: int | None) -> dict[str, int]:
    """Of looks whose decision has no row, by verdict."""
    by_verdict: dict[str, int] = {}
    for verdict, short in SHORT_OF.items():
        own = select(func.count()).where(_LOOKS.c.short == short)
        own = narrowed(own, (_LOOKS.c.batch, le, until))
        of_logs = [own.where(_LOOKS.c.log_id == id) for id in logs.ids()]
        n = sum(connection.execute(each).scalar_one() for each in of_logs)
        by_verdict |= {verdict: n} if n else {}
    return by_verdict
