"""Tables of plans, decisions, matrices, events, knobs, commands, results, taps and misfits."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Double, ForeignKey, Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from storage.tables.columns import Base, BigKey, JsonText, added, batch, run, run_key, unit_key
from storage.tables.shapes import (
    GRAPH,
    OBJECT,
    OBJECT_OR_NULL,
    ROWS,
    SCALAR,
    TAPPED,
    TEXTS,
    VECTORS,
)
from storage.vocabulary.kinds import EventKind, Severity, Verdict, listed
from storage.vocabulary.registry import KNOWN


class PlanRow(Base):
    """A version of the plan of a unit, in force from its batch on."""

    __tablename__ = "plan_versions"
    run_id: Mapped[str] = run_key()
    unit_id: Mapped[str] = unit_key()
    version: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, comment="version of the unit's plan, from 1"
    )
    batch: Mapped[int] = mapped_column(BigInteger, comment="first batch it was in force for")
    time: Mapped[float] = mapped_column(Double, comment="when it was recorded (Unix s)")
    kind: Mapped[str] = mapped_column(
        Text, comment="a word of the system: early drop, no early drop, hybrid, ticket or network"
    )
    order: Mapped[Any] = mapped_column(
        JsonText(TEXTS), comment="JSON list of entity ids, first first"
    )
    graph: Mapped[Any] = mapped_column(
        JsonText(GRAPH),
        comment='JSON {"nodes": [{"id", "role", "name"}], '
        '"edges": [{"source", "target", "queue"}]}',
    )
    hash: Mapped[str] = mapped_column(Text, comment="changes when nodes, order or roles change")
    reason: Mapped[str] = mapped_column(Text, comment="why it was adopted")
    decision: Mapped[int | None] = mapped_column(
        BigInteger, comment="seq of the decision that adopted it; NULL = none"
    )
    evidence: Mapped[Any] = mapped_column(JsonText(OBJECT), comment="JSON: the numbers behind it")
    __table_args__ = (Index("plan_versions_by_batch", "run_id", "batch", "unit_id", "version"),)


class DecisionRow(Base):
    """An evaluation of a trigger or choice, with both sides of its inequality."""

    __tablename__ = "decisions"
    run_id: Mapped[str] = run_key()
    unit_id: Mapped[str] = unit_key()
    seq: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, comment="number among all evaluations of the unit, from 1"
    )
    batch: Mapped[int] = mapped_column(BigInteger, comment="batch after which it was evaluated")
    time: Mapped[float] = mapped_column(Double, comment="when it was recorded (Unix s)")
    algorithm: Mapped[str] = mapped_column(Text, comment="algorithm that evaluated it")
    kind: Mapped[str] = mapped_column(Text, comment="what was decided on")
    verdict: Mapped[str] = mapped_column(Text, comment=listed(Verdict))
    metric: Mapped[str] = mapped_column(Text, comment="what both sides measure")
    lhs: Mapped[float | None] = mapped_column(
        Double, comment="left side (unit of the metric); NULL = unknown"
    )
    relation: Mapped[str] = mapped_column(Text, comment="relation that was tested, such as >=")
    rhs: Mapped[float | None] = mapped_column(
        Double, comment="right side (unit of the metric); NULL = unknown"
    )
    n: Mapped[int] = mapped_column(BigInteger, comment="evidence behind both sides (tuples)")
    n_sample: Mapped[int] = mapped_column(BigInteger, comment="profiled sample used (tuples)")
    knob_version: Mapped[int] = mapped_column(BigInteger, comment="settings version in force")
    explanation: Mapped[str] = mapped_column(Text, comment="the decision in words")
    old: Mapped[Any] = mapped_column(JsonText, comment="JSON: the incumbent; null = none")
    new: Mapped[Any] = mapped_column(JsonText, comment="JSON: the candidate; null = none")
    predicted_old: Mapped[float | None] = mapped_column(
        Double, comment="predicted cost of the incumbent (visits/tuple or detail.cost_unit)"
    )
    predicted_new: Mapped[float | None] = mapped_column(
        Double, comment="predicted cost of the candidate (visits/tuple or detail.cost_unit)"
    )
    plan_version: Mapped[int | None] = mapped_column(
        BigInteger, comment="plan in force when it was evaluated, or adopted by it; NULL = none"
    )
    detail: Mapped[Any] = mapped_column(
        JsonText(OBJECT_OR_NULL),
        comment="JSON: further numbers; rolled_up lists those that are no longer kept",
    )
    __table_args__ = (
        Index("decisions_by_batch", "run_id", "batch", "seq", "unit_id"),
        Index("decisions_of_unit", "run_id", "unit_id", "batch", "seq"),
        Index("decisions_by_verdict", "run_id", "verdict", "batch", "seq", "unit_id"),
    )


class OutcomeRow(Base):
    """What a switch turned out to cost."""

    __tablename__ = "decision_outcomes"
    run_id: Mapped[str] = run_key()
    unit_id: Mapped[str] = unit_key()
    decision: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, comment="seq of the decision that was measured"
    )
    batch: Mapped[int] = mapped_column(BigInteger, comment="batch after which it was measured")
    time: Mapped[float] = mapped_column(Double, comment="when it was recorded (Unix s)")
    actual_new: Mapped[float | None] = mapped_column(
        Double, comment="cost of the plan that ran (visits/tuple); NULL = unknown"
    )
    n: Mapped[int] = mapped_column(BigInteger, comment="tuples behind actual_new (tuples)")
    sample_new: Mapped[float | None] = mapped_column(
        Double, comment="cost of that plan on the profiled sample (visits/tuple)"
    )
    counterfactual_old: Mapped[float | None] = mapped_column(
        Double, comment="cost of the demoted plan on the same sample (visits/tuple)"
    )
    n_sample: Mapped[int] = mapped_column(BigInteger, comment="tuples of that sample (tuples)")


class MatrixRow(Base):
    """A named matrix as of a batch."""

    __tablename__ = "matrices"
    run_id: Mapped[str] = run_key()
    unit_id: Mapped[str] = unit_key()
    name: Mapped[str] = mapped_column(Text, primary_key=True, comment="such as regions:origin")
    batch_id: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, comment="batch it is as of; -1 = before the first"
    )
    time: Mapped[float] = mapped_column(Double, comment="when it was recorded (Unix s)")
    kind: Mapped[str] = mapped_column(Text, comment=listed(KNOWN.matrices))
    rows: Mapped[Any] = mapped_column(JsonText(TEXTS), comment="JSON list of row labels")
    columns: Mapped[Any] = mapped_column(JsonText(TEXTS), comment="JSON list of column labels")
    cells: Mapped[Any] = mapped_column(
        JsonText(ROWS), comment="JSON list of rows of values, in the unit given; null = unknown"
    )
    unit: Mapped[str] = mapped_column(Text, comment="unit of the cells; '' = a plain number")
    n: Mapped[int] = mapped_column(BigInteger, comment="evidence behind the cells (tuples)")
    row_stats: Mapped[Any] = mapped_column(
        JsonText(VECTORS), comment="JSON {name: vector along the rows}"
    )
    column_stats: Mapped[Any] = mapped_column(
        JsonText(VECTORS), comment="JSON {name: vector along the columns}"
    )


class EventRow(Base):
    """Something that happened, for the event lane."""

    __tablename__ = "events"
    id: Mapped[int] = mapped_column(
        BigKey, primary_key=True, autoincrement=True, comment="grows in the order of recording"
    )
    run_id: Mapped[str] = run()
    batch_id: Mapped[int] = batch()
    time: Mapped[float] = mapped_column(Double, comment="when it was recorded (Unix s)")
    kind: Mapped[str] = mapped_column(Text, comment=listed(EventKind))
    title: Mapped[str] = mapped_column(Text, comment="what happened, in a few words")
    detail: Mapped[str] = mapped_column(Text, comment="more words, or ''")
    severity: Mapped[str] = mapped_column(Text, comment=listed(Severity))
    ref: Mapped[Any] = mapped_column(
        JsonText(OBJECT),
        comment='JSON {"decision": seq}, {"command": id} with {"also": {"knob", "scope", "old"}} '
        'of another knob that a turn set, {"plan": version}, {"since": Unix s, "state", "note"} '
        "where a run went on after a gap, and how it had ended, or {}",
    )
    unit_id: Mapped[str] = added("unit it happened in; '' = the run")
    __table_args__ = (
        Index("events_by_batch", "run_id", "batch_id", "id"),
        {"sqlite_autoincrement": True},
    )


class KnobRow(Base):
    """A value a knob had, from a batch on; the history of all its values."""

    __tablename__ = "knobs"
    run_id: Mapped[str] = run_key()
    scope: Mapped[str] = mapped_column(
        Text, primary_key=True, comment="unit or input whose knob it is; '' = the engine"
    )
    name: Mapped[str] = mapped_column(Text, primary_key=True, comment="name of the knob")
    version: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, comment="settings version that set this value"
    )
    batch: Mapped[int] = mapped_column(BigInteger, comment="first batch the value applied to")
    time: Mapped[float] = mapped_column(Double, comment="when it was recorded (Unix s)")
    kind: Mapped[str] = mapped_column(Text, comment="float, int, choice, bool or text")
    value: Mapped[Any] = mapped_column(
        JsonText(SCALAR), comment="JSON: the value, in the unit given"
    )
    default: Mapped[Any] = mapped_column(
        JsonText(SCALAR), comment="JSON: the default, in the unit given"
    )
    unit: Mapped[str] = mapped_column(Text, comment="unit of the value; '' = a plain number")
    help: Mapped[str] = mapped_column(Text, comment="what the knob does")
    low: Mapped[float | None] = mapped_column(
        Double, comment="least allowed value (unit given); NULL = unbounded"
    )
    high: Mapped[float | None] = mapped_column(
        Double, comment="greatest allowed value (unit given); NULL = unbounded"
    )
    scale: Mapped[str] = mapped_column(Text, comment="how a slider maps: linear or log")
    choices: Mapped[Any] = mapped_column(JsonText(TEXTS), comment="JSON list of allowed words")
    entity: Mapped[str] = mapped_column(Text, comment="entity the knob belongs to")


class CommandRow(Base):
    """A request of an operator. Written by the dashboard alone."""

    __tablename__ = "commands"
    id: Mapped[int] = mapped_column(
        BigKey, primary_key=True, autoincrement=True, comment="number of the request"
    )
    run_id: Mapped[str] = run()
    kind: Mapped[str] = mapped_column(
        Text,
        comment="knob, keep, query_add, query_pause, query_resume, query_remove, hold, go_on, "
        "step, branch, tap or stop; of what people wrote down: note, preset, alert, sql, "
        "board or forget",
    )
    payload: Mapped[Any] = mapped_column(
        JsonText(OBJECT),
        comment='JSON {"knob", "value", "scope"} or {"name", "text"} or {"name"} or {"of"} or '
        '{"run", "at", "knob", "value", "scope"} or {"entity", "batches"}; of '
        'what people wrote down {"name", "body"}; of keep and forget {"command"}',
    )
    actor: Mapped[str] = mapped_column(Text, comment="who asked")
    reason: Mapped[str] = mapped_column(Text, comment="why, in the words of the actor")
    requested_at: Mapped[float] = mapped_column(Double, comment="when it was asked (Unix s)")
    expected_version: Mapped[int | None] = mapped_column(
        BigInteger, comment="settings version the actor saw; NULL = not checked"
    )
    __table_args__ = (Index("commands_by_run", "run_id", "id"), {"sqlite_autoincrement": True})


class AnswerRow(Base):
    """The engine's word on a command, or the dashboard's where it refused to ask the engine."""

    __tablename__ = "command_answers"
    command: Mapped[int] = mapped_column(
        BigKey, ForeignKey("commands.id"), primary_key=True, comment="number of the request"
    )
    state: Mapped[str] = mapped_column(Text, comment="applied or refused")
    applied_batch: Mapped[int | None] = mapped_column(
        BigInteger, comment="first batch with it applied; NULL when refused"
    )
    answered_at: Mapped[float] = mapped_column(Double, comment="when it was answered (Unix s)")
    answer: Mapped[str] = mapped_column(Text, comment="the answer in words")
    old_value: Mapped[Any] = mapped_column(JsonText, comment="JSON: the value it replaced")


class ResultRow(Base):
    """A recently matched tuple; each query keeps its last 20."""

    __tablename__ = "results"
    run_id: Mapped[str] = run_key()
    id: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, comment="number among the stored results of the run"
    )
    batch_id: Mapped[int] = batch("batch the tuple was in")
    cells: Mapped[Any] = mapped_column(JsonText(OBJECT), comment="JSON {attribute: value}")
    query_ids: Mapped[Any] = mapped_column(
        JsonText(TEXTS), comment="JSON list of query names, sorted"
    )
    input: Mapped[str] = added("stream the tuple is of; '' = unknown")


class ResultQueryRow(Base):
    """Which query a stored result satisfies, to find the last ones of a query."""

    __tablename__ = "result_queries"
    run_id: Mapped[str] = run_key()
    query: Mapped[str] = mapped_column(Text, primary_key=True, comment="name of the query")
    result_id: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, comment="the result that satisfies it"
    )
    __table_args__ = ({"sqlite_with_rowid": False},)


class TapRow(Base):
    """A sample of what an operator gave out in a batch, where somebody looked; the last batches of
    a run, some 2 000 samples."""

    __tablename__ = "taps"
    run_id: Mapped[str] = run_key()
    batch_id: Mapped[int] = mapped_column(BigInteger, primary_key=True, comment="the batch")
    unit_id: Mapped[str] = mapped_column(Text, primary_key=True, comment="unit that was tapped")
    entity: Mapped[str] = mapped_column(
        Text, primary_key=True, comment="the operator, or the input, that gave the elements out"
    )
    n_passed: Mapped[int | None] = mapped_column(
        BigInteger,
        comment="elements it gave out (tuples); NULL = the rows are those left of a sample",
    )
    columns: Mapped[Any] = mapped_column(JsonText(TEXTS), comment="JSON list of their columns")
    rows: Mapped[Any] = mapped_column(
        JsonText(TAPPED),
        comment="JSON list of some of them: [timestamp (ticks) or number, sign, how often it "
        "came, value...]",
    )


class MisfitRow(Base):
    """A tuple kept aside because it does not fit the schema, or no query could take it; the last
    200 of a run."""

    __tablename__ = "misfits"
    id: Mapped[int] = mapped_column(
        BigKey, primary_key=True, autoincrement=True, comment="grows in the order of recording"
    )
    run_id: Mapped[str] = run()
    batch_id: Mapped[int] = batch()
    raw: Mapped[str] = mapped_column(Text, comment="the tuple as it came")
    error: Mapped[str] = mapped_column(Text, comment="what is wrong with it")
    input: Mapped[str] = added("stream the tuple is of; '' = unknown")
    place: Mapped[str] = added("its file, and its number there from 1; '' = unknown")
    __table_args__ = (Index("misfits_by_run", "run_id", "id"), {"sqlite_autoincrement": True})
