"""The SysStream vocabulary: every record the engine publishes, as plain frozen data.

Times are Unix seconds (float, UTC); batches are numbered from 0 by Spark; ``_ms``, ``_us``,
``_tuples``, ``_bytes`` and ``_prob`` name units; ``None`` means unknown, never zero.
JSON-typed fields hold only dict, list, str, int, float, bool and None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from storage.vocabulary.kinds import CommandState, EntityKind, InputState, RunState, Severity
from storage.vocabulary.planlog import LoggedEvaluation
from storage.vocabulary.taps import TapSample

Json: TypeAlias = Any

#: Of an input's source: what its tuples are, where they are drawn in place of real ones.
DATA, SURROGATE = "data", "surrogate"


@dataclass(frozen=True, slots=True)
class Input:
    """A stream a run reads. schema: [[attribute, type], ...]. source: facts to show. timestamp: the
    attribute that carries its time, or '' for the arrival number."""

    name: str
    schema: Json
    source: Json = field(default_factory=dict)
    timestamp: str = ""

    @property
    def is_surrogate(self) -> bool:
        """Whether its tuples are drawn in place of real ones."""
        return bool(self.source.get(DATA) == SURROGATE)


@dataclass(frozen=True, slots=True)
class InputBatch:
    """What a batch took from one input. Counts as in Batch; backlog_tuples None = unknown.

    state 'failed': the input gives no more tuples, and note says why; other inputs go on.
    """

    input: str
    n_tuples: int
    n_misfits: int
    backlog_tuples: int | None = None
    stream_time: str = ""
    state: InputState = "open"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Unit:
    """One adaptive part of a run: an instance of a system, over some inputs, for some queries.

    id: unique in the run, opaque to readers. system: name of the system. title: for people.
    removed_batch: first batch without it, or None while it lives.
    """

    id: str
    system: str
    title: str
    inputs: tuple[str, ...]
    queries: tuple[str, ...] = ()
    since_batch: int = 0
    removed_batch: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a workload: the streams it reads, and its one stretch of batches.

    settings: sink, source, rate and the like, for display. inputs: in the workload's order.
    state 'starting' lasts until the first batch; note: what its engine does, then why it ended.
    """

    id: str
    workload: str
    state: RunState
    started_at: float
    settings: Json
    pid: int
    host: str
    version: str
    ended_at: float | None = None
    heartbeat_at: float | None = None
    note: str = ""
    inputs: tuple[Input, ...] = ()

    @property
    def streams(self) -> str:
        """The names of its inputs, joined by ", "."""
        return ", ".join(input.name for input in self.inputs)


@dataclass(frozen=True, slots=True)
class Entity:
    """Something with properties that change: an operator, a queue, a query, the system…

    id is unique in the run and opaque to readers: name is what people call it. properties: static
    facts. query: the query it belongs to, or '' when shared. unit_id: '' for the engine's.
    removed_batch: first batch without it, or None while it lives.
    """

    id: str
    kind: EntityKind
    name: str
    properties: Json = field(default_factory=dict)
    query: str = ""
    since_batch: int = 0
    removed_batch: int | None = None
    unit_id: str = ""
    role: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one property of one entity, as of the end of the batch that carries it."""

    entity: str
    property: str
    value: float | None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class PlanVersion:
    """A plan of a unit as data, in force from ``batch`` on.

    version counts from 1 in the unit. kind: 'network', or of selections and filters
    'early drop', 'no early drop', 'hybrid', 'ticket'.
    order: entity ids of the ASCs or filters. graph: a PlanGraph as JSON, {"nodes": [{"id", "role",
    "name"}], "edges": [{"source", "target", "queue"}]}.
    hash: changes exactly when nodes, order or roles change. evidence: numbers behind it.
    recorded_at: set by the store when read (Unix s); not compared.
    """

    version: int
    batch: int
    kind: str
    order: tuple[str, ...]
    graph: Json
    hash: str
    reason: str
    decision: int | None = None
    evidence: Json = field(default_factory=dict)
    recorded_at: float | None = field(default=None, compare=False)
    unit_id: str = ""


@dataclass(frozen=True, slots=True)
class KeptState:
    """What a unit knows when a batch is over, for the run to go on from: JSON text."""

    unit_id: str
    state: str


@dataclass(frozen=True, slots=True)
class Decision:
    """One evaluation of a trigger or choice, accepted or rejected, with its inequality.

    ``lhs relation rhs`` was tested (for example 0.31 >= 0.10) on n tuples; verdict is one of
    switched, kept, below_threshold, cooldown, thin, pinned, acted. seq counts ALL evaluations of
    the unit from 1 (stored rejected ones may be a sample; seq shows the gaps). old/new: plans.
    predicted_*: visits per tuple (or the unit in detail["cost_unit"]) on the sample of n_sample.
    """

    seq: int
    batch: int
    algorithm: str
    kind: str
    verdict: str
    metric: str
    lhs: float | None
    relation: str
    rhs: float | None
    n: int
    n_sample: int
    knob_version: int
    explanation: str
    old: Json = None
    new: Json = None
    predicted_old: float | None = None
    predicted_new: float | None = None
    plan_version: int | None = None
    detail: Json = field(default_factory=dict)
    unit_id: str = ""


@dataclass(frozen=True, slots=True)
class DecisionOutcome:
    """What a switch turned out to cost, measured after it took effect.

    actual_new: visits per tuple of the plan that ran, on n tuples; on the profiled sample of
    n_sample of the same tuples: sample_new (same plan) and counterfactual_old (the demoted plan).
    """

    decision: int
    batch: int
    actual_new: float | None
    n: int
    sample_new: float | None
    counterfactual_old: float | None
    n_sample: int
    unit_id: str = ""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A named matrix: rows x columns with labels; values row by row, None = unknown.

    row_stats / column_stats: named vectors along an axis, for example {"hit_prob": [...]}.
    """

    name: str
    kind: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Json
    unit: str = ""
    n: int = 0
    row_stats: Json = field(default_factory=dict)
    column_stats: Json = field(default_factory=dict)
    unit_id: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, for the event lane.

    kind: one of EventKind, or a word of a system's own. unit_id: the unit it happened in, '' for
    the run; ref: {"decision": seq} or {"plan": version} of that unit, {"command": id}, {"since":
    Unix s, "state", "note"} of a gap and what the run was before it, or empty.
    """

    kind: str
    title: str
    detail: str = ""
    severity: Severity = "info"
    ref: Json = field(default_factory=dict)
    unit_id: str = ""


@dataclass(frozen=True, slots=True)
class Knob:
    """A knob and its value in force. kind: float | int | choice | bool | text; scale: linear | log.

    version: the settings version that set this value; batch: first batch it applied to.
    scope: the unit or input whose knob it is, '' for the engine's.
    recorded_at: set by the store when read (Unix s); not compared.
    """

    name: str
    kind: str
    value: Json
    default: Json
    unit: str
    help: str
    low: float | None = None
    high: float | None = None
    scale: str = "linear"
    choices: tuple[str, ...] = ()
    entity: str = "system"
    version: int = 0
    batch: int = 0
    recorded_at: float | None = field(default=None, compare=False)
    scope: str = ""


#: Kinds of commands that ask nothing of the engine: a note at a batch, a set of knob values, an
#: alert rule, a saved SQL query, and that one of them is withdrawn.
NOTED: Final = ("note", "preset", "alert", "sql", "board", "forget")


@dataclass(frozen=True, slots=True)
class Command:
    """A request of an operator.

    kind: knob | keep | query_add | query_pause | query_resume | query_remove | hold | go_on |
    step | branch | tap | stop, or of NOTED.
    payload: {"knob", "value", "scope"} (no scope: the one knob of that name; with "unless_kept_s"
    the engine takes the turn back so many seconds later unless a keep {"command"} comes) or
    {"name", "text"} / {"name"} / {"of": batch | decision} / {"run", "at", "knob", "value",
    "scope"} of the run a branch is asked of / {"entity", "batches"} of a tap; of NOTED: {"name",
    "body"}, of forget {"command"}. Written by the dashboard as 'requested', or as 'refused' with
    its answer; else state, answer and the rest come from the engine's CommandAnswer.
    expected_version: knob version the requester saw, or None (no check).
    """

    id: int
    run_id: str
    kind: str
    payload: Json
    actor: str
    reason: str
    requested_at: float
    expected_version: int | None = None
    state: CommandState = "requested"
    applied_batch: int | None = None
    answered_at: float | None = None
    answer: str = ""
    old_value: Json = None


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The engine's word on a command: applied at a batch, or refused and why."""

    command: int
    state: Literal["applied", "refused"]
    applied_batch: int | None
    answered_at: float
    answer: str
    old_value: Json = None


#: The knob of a source that says whether the stream is read: on, paused or removed.
INTAKE: Final = "intake"
#: In the values of an element of an answer, under names no column can have: its timestamp (ticks)
#: and its sign, +1 or -1.
TAU: Final = "_tau"
SIGN: Final = "_sign"


@dataclass(frozen=True, slots=True)
class ResultTuple:
    """One recently matched tuple of an input, or element of an answer: its columns by name, the
    queries it satisfies (sorted)."""

    values: Json
    query_ids: tuple[str, ...]
    input: str = ""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A tuple kept aside: its raw text and what is wrong. place: its file, and its number there."""

    raw: str
    error: str
    input: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the engine's log, as of ``time`` (Unix s). level: a name of Python's logging."""

    time: float
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class Batch:
    """One executed micro-batch. id None: a boundary without data (knob applied while idle).

    time: when it was recorded. stream_time: the largest timestamp seen, as text, or ''.
    plans: unit -> version of the plan it ran under.
    """

    id: int | None
    time: float
    duration_ms: float
    n_tuples: int
    n_matched: int
    n_misfits: int
    plans: Mapping[str, int] = field(default_factory=dict)
    stream_time: str = ""
    timings_ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """Everything of one batch, written in ONE transaction keyed (run, batch)."""

    run_id: str
    batch: Batch
    entities: tuple[Entity, ...] = ()
    samples: tuple[Sample, ...] = ()
    plans: tuple[PlanVersion, ...] = ()
    decisions: tuple[Decision, ...] = ()
    outcomes: tuple[DecisionOutcome, ...] = ()
    matrices: tuple[Matrix, ...] = ()
    events: tuple[Event, ...] = ()
    knobs: tuple[Knob, ...] = ()
    answers: tuple[CommandAnswer, ...] = ()
    results: tuple[ResultTuple, ...] = ()
    misfits: tuple[Misfit, ...] = ()
    units: tuple[Unit, ...] = ()
    inputs: tuple[InputBatch, ...] = ()
    states: tuple[KeptState, ...] = ()
    taps: tuple[TapSample, ...] = ()
    logged: tuple[LoggedEvaluation, ...] = ()
