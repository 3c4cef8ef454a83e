"""What a host runs in its tasks: one operator for each unit and input, fixed at the batch boundary.

A task takes some of the tuples of a batch, chunk by chunk. Every operator of an input is shown
every chunk of it; what operators emit from one chunk is put together, so that a tuple is written
once, with the names of all queries it satisfies. Reports of tasks add up, in any order; the attempt
of a task that failed leaves none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from backend.workloads.file_counts import FilesRead


@dataclass(frozen=True, slots=True)
class Chunk:
    """T tuples of one input that fit its schema, in order of arrival.

    tuples: its attributes. draws: uint32[T], seeded by batch and place in it: sampling with
    probability p takes the tuples whose draw is below p * 2^32. arrivals: int64[T], their numbers
    in the input; None where the source does not number them.
    """

    tuples: pa.RecordBatch
    draws: NDArray[np.uint32]
    arrivals: NDArray[np.int64] | None = None

    def sampled(self, probability: float) -> NDArray[np.bool_]:
        """bool[T]: drawn with the probability, [0, 1]."""
        sampled: NDArray[np.bool_] = self.draws < np.uint64(round(probability * (1 << 32)))
        return sampled


class Emitted(NamedTuple):
    """What an operator makes of a chunk. rows: int32, places of emitted tuples, ascending.

    query_ids: for each of them the names of the queries it satisfies, list<string>, sorted. flaws:
    place -> error, of tuples to keep aside (never places of ``rows``).
    """

    rows: NDArray[np.int32]
    query_ids: pa.ListArray[Any]
    flaws: Mapping[int, str]


class Work(Protocol):
    """An operator at work on one task's part of a batch."""

    def take(self, chunk: Chunk) -> Emitted:
        """Process the next chunk."""

    def report(self) -> bytes:
        """What was counted and sampled, at the end of the task."""


class Operator(Protocol):
    """What a unit has done to the tuples of an input. Can be pickled; holds no state of a batch."""

    @property
    def selects(self) -> bool:
        """Whether it takes tuples for queries; not while all of its queries rest."""

    def open(self, batch_id: int, partition: int) -> Work:
        """Begin a task. Heavy imports (numba) happen here, not when the operator is unpickled."""

    def merged(self, reports: Sequence[bytes]) -> Any:
        """The reports of all tasks of a batch as one object, which is the unit's to read."""


@dataclass(frozen=True, slots=True)
class Match:
    """A matched tuple: its attributes by name, and the names of the queries, sorted."""

    values: Mapping[str, Any]
    query_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeptAside:
    """A tuple that a query could not take, as it does not fit its schema, is late for windows or
    makes filters raise an exception: its text, and what is wrong."""

    raw: str
    error: str


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What one batch runs: fixed at its boundary, whatever is turned meanwhile.

    operators: input -> unit id -> operator. Inputs without units are read and counted all the same.
    networks: unit id -> a ``NetworkJob``, for units whose operators keep state over their inputs.
    taps: unit id -> operators of its network of whose elements some are told.
    """

    batch_id: int
    operators: Mapping[str, Mapping[str, Operator]]
    networks: Mapping[str, Any] = field(default_factory=dict)
    taps: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InputResult:
    """What a batch took from one input. Counts are exact.

    n_tuples: tuples taken. n_matched: those satisfying at least one query. n_misfits: kept aside,
    so that both together are all that were read. misfits: the first of those. recent: some of the
    matched tuples, in order of arrival. stream_time: latest time seen, as text. backlog_tuples:
    waiting at the source; None = unknown. failure: why it gives no more tuples, or ''. ended: it
    has given its last tuple. rounds: times a replayed one began anew since it was opened.
    n_missed: of the tuples taken, those that some queries could not take, late for windows or with
    a filter that raises (one that is both counts twice); missed: the first of those, with the
    reason. row_groups: of its files, those that were refuted and not read, and all that came, since
    the source was opened; None where every tuple is asked for. files: what became of its files;
    None of a stream without any.
    """

    n_tuples: int = 0
    n_matched: int = 0
    n_misfits: int = 0
    misfits: tuple[KeptAside, ...] = ()
    recent: tuple[Match, ...] = ()
    stream_time: str = ""
    backlog_tuples: int | None = None
    failure: str = ""
    ended: bool = False
    rounds: int = 0
    n_missed: int = 0
    missed: tuple[KeptAside, ...] = ()
    row_groups: tuple[int, int] | None = None
    files: FilesRead | None = None


@dataclass(frozen=True, slots=True)
class UnitResult:
    """What a unit's operator did in a batch. n_tuples: tuples it was given. matched_by_query: name
    -> tuples, absent where none. report: what the operator's ``merged`` gave.
    """

    n_tuples: int
    n_matched: int
    matched_by_query: Mapping[str, int]
    report: Any


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a batch did: by input and by unit. timings_ms: parts of duration_ms. partitions: tuples
    that each of its tasks took, by number; networks not counted."""

    batch_id: int
    inputs: Mapping[str, InputResult]
    units: Mapping[str, UnitResult]
    duration_ms: float = 0.0
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    partitions: tuple[int, ...] = ()

    @property
    def n_tuples(self) -> int:
        """Of all inputs together."""
        return sum(result.n_tuples for result in self.inputs.values())

    @property
    def n_matched(self) -> int:
        """Of all inputs together."""
        return sum(result.n_matched for result in self.inputs.values())

    @property
    def n_misfits(self) -> int:
        """Of all inputs together."""
        return sum(result.n_misfits for result in self.inputs.values())
