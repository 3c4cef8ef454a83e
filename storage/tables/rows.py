"""What the reader returns beside the records themselves: small frozen rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from storage.vocabulary.kinds import InputState
from storage.vocabulary.planlog import SUBJECT
from storage.vocabulary.records import (
    Decision,
    DecisionOutcome,
    Event,
    Input,
    InputBatch,
    Json,
    LogLine,
    Matrix,
)
from storage.vocabulary.taps import TapSample

Changed: TypeAlias = Literal[
    "runs",
    "inputs",
    "units",
    "batches",
    "entities",
    "samples",
    "plans",
    "decisions",
    "outcomes",
    "matrices",
    "events",
    "knobs",
    "commands",
    "results",
    "taps",
    "misfits",
]


class Cursor(NamedTuple):
    """A place in the store's history; it grows with every commit and every command."""

    commit: int = 0
    command: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """One transaction after a cursor.

    kind: batch | boundary | run | state | command. id: of the commit, or of the command.
    batch_id: None unless kind is batch. time: Unix seconds.
    """

    id: int
    run_id: str
    batch_id: int | None
    kind: str
    changed: tuple[str, ...]
    time: float


@dataclass(frozen=True, slots=True)
class DecisionEntry:
    """A decision, when it was recorded (Unix s), and its outcome once measured."""

    decision: Decision
    time: float
    outcome: DecisionOutcome | None


@dataclass(frozen=True, slots=True)
class DecisionCounts:
    """Decisions so far, of all units or of one. by_verdict and stored count stored ones;
    evaluated counts all."""

    by_verdict: dict[str, int]
    stored: int
    evaluated: int


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """An event with its place: id grows with time; batch -1 = before the first batch."""

    id: int
    batch: int
    time: float
    event: Event


class MatrixKey(NamedTuple):
    """A matrix of a run: its unit, its name there, and its kind."""

    unit_id: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class StoredInput:
    """An input of a run with its latest state; note: why it is in that state, or ''."""

    input: Input
    state: InputState
    note: str


@dataclass(frozen=True, slots=True)
class StoredInputBatch:
    """What batch ``batch`` took from one input."""

    batch: int
    counts: InputBatch


@dataclass(frozen=True, slots=True)
class StoredLook:
    """A look of a unit's autopilot, or an evaluation of a core: number of its decision, and what it
    wrote down. forms: the plans it names, by digest, as far as they are known."""

    unit_id: str
    seq: int
    batch: int
    time: float
    record: Json
    forms: Mapping[str, Json] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """What was decided; '' by the only autopilot of its unit."""
        schema = self.record.get("schema")
        return str(schema.get(SUBJECT, "")) if isinstance(schema, Mapping) else ""


@dataclass(frozen=True, slots=True)
class StoredMatrix:
    """A matrix with the batch it is as of (-1 = before the first) and when it was recorded."""

    batch: int
    time: float
    matrix: Matrix


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A recently matched tuple: its number, batch, columns by name, query names (sorted), and
    the stream it is of."""

    id: int
    batch: int
    values: dict[str, object]
    query_ids: tuple[str, ...]
    input: str = ""


@dataclass(frozen=True, slots=True)
class StoredTap:
    """What went through a tapped operator in a batch."""

    batch_id: int
    sample: TapSample


@dataclass(frozen=True, slots=True)
class StoredMisfit:
    """A tuple kept aside: its number, batch, raw text, what is wrong with it, its stream, and its
    place: file and number there, or ''."""

    id: int
    batch: int
    raw: str
    error: str
    input: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class StoredLine:
    """A line of the engine's log with the batch it was in: the next one to be recorded then."""

    batch: int
    line: LogLine


class RollupSpan(NamedTuple):
    """What was rolled up together: ``length_s`` seconds from ``since`` (Unix s), with ``n_batches``
    batches of which ``last_batch`` is the last."""

    since: float
    length_s: int
    n_batches: int
    last_batch: int


class SeriesData(NamedTuple):
    """One property of one entity over time; all arrays have one length, oldest first.

    batch, time: last batch of the point and when it was recorded (Unix s). value: the value, or
    the mean of the point's values; low, high: their extremes (equal to value when the point is
    one sample). NaN = unknown. n: values behind each point. thinned: some points are many samples.
    """

    entity: str
    property: str
    unit: str
    batch: NDArray[np.int64]
    time: NDArray[np.float64]
    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    n: NDArray[np.int64]
    thinned: bool
