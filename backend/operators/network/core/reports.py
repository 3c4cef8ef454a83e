"""What shards tell of a batch; reports of shards add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from backend.operators.contract import KeptAside
from backend.operators.network.core.blocks import Ints
from backend.operators.network.core.plan import Streams
from backend.operators.network.core.tuning import Profile
from storage.vocabulary.records import Json
from storage.vocabulary.relations import MOST_ROWS


@dataclass(frozen=True, slots=True)
class OperatorCounts:
    """What an operator did in a batch. n_runs: scheduling decisions for it; n_tuples, n_bytes: in
    its synopses at the end; counters: its own, by property."""

    n_in: int = 0
    n_out: int = 0
    busy_ns: int = 0
    n_runs: int = 0
    n_tuples: int = 0
    n_bytes: int = 0
    counters: Mapping[str, float] = field(default_factory=dict)
    profile: Profile | None = None


@dataclass(frozen=True, slots=True)
class QueueCurve:
    """How many elements a queue held in a batch. times: int64[k], ticks, ascending; tuples:
    int64[k]; high: the most at any instant; n_passed: elements that went through; n_bytes: of an
    element."""

    times: Ints
    tuples: Ints
    high: int = 0
    n_passed: int = 0
    n_bytes: int = 0


@dataclass(frozen=True, slots=True)
class AnswerElement:
    """An element of an answer: its columns by name, its timestamp and sign."""

    values: Mapping[str, Any]
    tau: int
    sign: int


class TappedElement(NamedTuple):
    """An element that an operator gave out, of those that are kept for who looks at them. rank: by
    its timestamp, then by what it is; the least are kept. n: how often it was given out. values: of
    its columns, some of which may have the same name."""

    rank: tuple[int, int]
    n: int
    tau: int
    sign: int
    values: tuple[Any, ...]


class Tapped(NamedTuple):
    """Some of what an operator gave out, by rank. columns: of its elements."""

    columns: tuple[str, ...]
    elements: tuple[TappedElement, ...] = ()


@dataclass(frozen=True, slots=True)
class StubReport:
    """A synopsis in a store. port: of a join, the input it holds. behind: tuples of the store that
    its view has not come to."""

    operator: str
    port: int
    n_tuples: int
    behind: int


@dataclass(frozen=True, slots=True)
class StoreReport:
    """A store. n_bytes_saved: what its stubs would take in stores of their own, less n_bytes."""

    id: str
    stubs: tuple[StubReport, ...]
    n_tuples: int
    n_bytes: int
    n_bytes_saved: int


class ClockReport(NamedTuple):
    """Where the time of some streams that are read together is. newest: the largest timestamp of
    any of them; slowest: those that it waits for; has_begun: it has had a first tick."""

    heartbeat: int
    newest: int
    slowest: frozenset[str]
    has_begun: bool = True


class ShardLoad(NamedTuple):
    """What a shard had to do in a batch, and keeps. n_in: elements its operators took."""

    n_in: int
    busy_ns: int
    state_bytes: int


#: Rows that a batch changes in a relation, told at most: all of the largest can be others.
MOST_CHANGED: Final = 2 * MOST_ROWS
#: (row, how much more often it is there), each row once.
Changed: TypeAlias = tuple[tuple[tuple[Json, ...], int], ...] | None


@dataclass(frozen=True, slots=True)
class NetworkReport:
    """What a unit's network did in a batch, all shards together.

    heartbeat: the first tick that is not over for all queries. clocks: by the streams that queries
    read. operators: by id. queues: by ``queue_id``. answers:
    query -> elements of its answer; net: query -> those with sign + less those with sign -. recent:
    query -> its last elements; changed: of relations, the rows of which more came than went in the
    batch, or fewer; None where they are more than MOST_CHANGED. late: of inputs, tuples kept aside,
    and the first of them; missed: those that only some queries take. pending:
    input -> tuples that wait for time to go on. state_bytes: of all arenas; attached: how shards
    came to their state ('arena', 'caught up', 'rebuilt', 'new') -> how often. log_bytes: written.
    stores: by id, as they are at the end. shards: by number,
    where several were put together. tapped: of operators that were asked for.
    """

    heartbeat: int = 0
    clocks: Mapping[Streams, ClockReport] = field(default_factory=dict)
    operators: Mapping[str, OperatorCounts] = field(default_factory=dict)
    queues: Mapping[str, QueueCurve] = field(default_factory=dict)
    answers: Mapping[str, int] = field(default_factory=dict)
    net: Mapping[str, int] = field(default_factory=dict)
    recent: Mapping[str, tuple[AnswerElement, ...]] = field(default_factory=dict)
    changed: Mapping[str, Changed] = field(default_factory=dict)
    n_late: Mapping[str, int] = field(default_factory=dict)
    late: Mapping[str, tuple[KeptAside, ...]] = field(default_factory=dict)
    n_missed: Mapping[str, int] = field(default_factory=dict)
    missed: Mapping[str, tuple[KeptAside, ...]] = field(default_factory=dict)
    pending: Mapping[str, int] = field(default_factory=dict)
    state_bytes: int = 0
    log_bytes: int = 0
    attached: Mapping[str, int] = field(default_factory=dict)
    stores: Mapping[str, StoreReport] = field(default_factory=dict)
    shards: tuple[ShardLoad, ...] = ()
    tapped: Mapping[str, Tapped] = field(default_factory=dict)

    @property
    def n_made(self) -> int:
        """Elements that operators gave out."""
        return sum(counts.n_out for counts in self.operators.values())
