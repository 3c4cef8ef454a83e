"""The plan of an operator network as plain data: operators, their inputs, what they answer.

The operators are those of the thesis (table 2.1) and what reads streams and stored relations.
Expressions are those of backend.cql.nodes; they name columns of an operator's input by place (At).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from backend.cql.nodes import At as At
from backend.cql.nodes import Node
from backend.model.schema import Attribute


@dataclass(frozen=True, slots=True)
class StreamInput:
    """Reads a stream: its tuples, with sign +. columns: which of its attributes, by place."""

    stream: str
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RelationInput:
    """Reads a stored relation: all its tuples at the beginning of time. columns: by place."""

    relation: str
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SelectOp:
    """select: the elements for which the condition is true."""

    condition: Node


@dataclass(frozen=True, slots=True)
class ProjectOp:
    """project: one column for each expression; duplicates stay."""

    expressions: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class WindowOp:
    """seq-window. kind 'range': ticks τ-size .. τ (closed; Now is size 0), moved every ``slide``
    ticks (1: with time); 'rows': the newest ``size`` tuples; 'partition': the same of each group of
    equal values in ``by`` (places); 'unbounded': all."""

    kind: Literal["range", "rows", "partition", "unbounded"]
    size: int = 0
    slide: int = 1
    by: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class JoinOp:
    """binary-join (two inputs) or mjoin: the combinations of all inputs, columns in their order.

    equal: classes of columns (input, place) with equal values; NULL equals nothing. residual: over
    all columns, or None. orders: for each input in which order the others are probed; (): as they
    stand.
    """

    equal: tuple[tuple[tuple[int, int], ...], ...] = ()
    residual: Node | None = None
    orders: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class SetOp:
    """union, except, intersect of two bags."""

    word: Literal["union", "except", "intersect"]


@dataclass(frozen=True, slots=True)
class AntiJoinOp:
    """antijoin: tuples of the left input with no match in the right one. equal: pairs of places.
    null_aware: NOT IN of SQL, where a NULL on the right matches everything and a NULL on the left
    anything there is."""

    equal: tuple[tuple[int, int], ...]
    null_aware: bool = False


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate: of the column at a place, None for count(*). type: of its result."""

    function: Literal["count", "sum", "avg", "min", "max"]
    column: int | None
    distinct: bool
    type: str


@dataclass(frozen=True, slots=True)
class AggregateOp:
    """aggregate: one tuple for each group of equal values in ``groups`` (NULL is a value), then its
    calls; without groups one tuple always (thesis' silence, SQL's reading)."""

    groups: tuple[int, ...]
    calls: tuple[AggregateCall, ...]


@dataclass(frozen=True, slots=True)
class DistinctOp:
    """duplicate-eliminate: every tuple that is there, once."""


@dataclass(frozen=True, slots=True)
class ToStreamOp:
    """i-stream, d-stream, r-stream: what comes, goes, is there at each tick; all with sign +."""

    word: Literal["istream", "dstream", "rstream"]


OperatorWork: TypeAlias = (
    StreamInput
    | RelationInput
    | SelectOp
    | ProjectOp
    | WindowOp
    | JoinOp
    | SetOp
    | AntiJoinOp
    | AggregateOp
    | DistinctOp
    | ToStreamOp
)


def name_read(work: OperatorWork) -> str:
    """The stream or stored relation that an input reads; '' for other operators."""
    if isinstance(work, StreamInput):
        return work.stream
    return work.relation if isinstance(work, RelationInput) else ""


@dataclass(frozen=True, slots=True)
class PlannedOperator:
    """An operator of a network. id: says what it does and to what, so that it is the same operator
    in another version of the plan when the id is. fields: names and types of its columns. fifo: its
    elements are taken away in the order they came (windows but 'partition', and what only selects
    or projects from those)."""

    id: str
    work: OperatorWork
    inputs: tuple[str, ...]
    fields: tuple[Attribute, ...]
    fifo: bool = False


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    """What a query answers: the elements of an operator. is_stream: with sign + only."""

    operator: str
    is_stream: bool


@dataclass(frozen=True, slots=True)
class ShardGroup:
    """Operators that run in the same shards. keys: the id of an input (stream or relation) -> the
    place of the column whose value says the shard; a relation without one is read whole by every
    shard; empty: one shard. why: in a sentence."""

    operators: tuple[str, ...]
    keys: Mapping[str, int]
    why: str


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    """All operators of some queries, each behind its inputs. answers: by query. groups: every
    operator is in one. sharing: windows and joins over the same tuples keep them in one store."""

    operators: tuple[PlannedOperator, ...] = ()
    answers: Mapping[str, PlannedAnswer] = field(default_factory=dict)
    groups: tuple[ShardGroup, ...] = ()
    sharing: bool = True
    _by_id: Mapping[str, PlannedOperator] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", {one.id: one for one in self.operators})

    def operator(self, id: str) -> PlannedOperator:
        """Raises KeyError."""
        return self._by_id[id]

    def is_net(self, query: str) -> bool:
        """Whether no two elements of a query's answer at one tick cancel, as they come."""
        answer = self.answers[query]
        return answer.is_stream or self._is_net(self.operator(answer.operator))

    def _is_net(self, one: PlannedOperator) -> bool:
        """Aggregates tell a tick once; selections, and projections that keep all, leave it so."""
        work = one.work
        if isinstance(work, ProjectOp):
            kept = {column.index for column in work.expressions if isinstance(column, At)}
            if len(kept) < len(self.operator(one.inputs[0]).fields):
                return False
        if isinstance(work, ProjectOp | SelectOp):
            return self._is_net(self.operator(one.inputs[0]))
        return isinstance(work, AggregateOp)

    def consumers(self) -> dict[str, tuple[tuple[str, int], ...]]:
        """Id -> the (operator, input number) its elements go to, in order of the plan."""
        found: dict[str, list[tuple[str, int]]] = {one.id: [] for one in self.operators}
        for one in self.operators:
            for port, input in enumerate(one.inputs):
                found[input].append((one.id, port))
        return {id: tuple(to) for id, to in found.items()}

    def readers(self) -> dict[str, list[str]]:
        """Id -> the queries whose answers its elements go into, sorted."""
        queries: dict[str, set[str]] = {one.id: set() for one in self.operators}
        for query, answer in self.answers.items():
            queries[answer.operator].add(query)
        for one in reversed(self.operators):
            for input in one.inputs:
                queries[input] |= queries[one.id]
        return {id: sorted(names) for id, names in queries.items()}
