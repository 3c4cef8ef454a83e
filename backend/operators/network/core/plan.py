"""The plan of an operator network as plain data: operators, their inputs, what they answer.

The operators are those of the thesis (table 2.1) and what reads streams and stored relations.
Expressions are those of backend.cql.nodes; they name columns of an operator's input by place (At).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from backend.model.sending import SentOnce
from backend.operators.network.core.layouts import StorePlan
from backend.operators.network.core.work import PlannedOperator, Work

#: A clock: the streams that some queries read, each of them all, whose time goes on together.
Streams: TypeAlias = frozenset[str]


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    """What a query answers: the elements of an operator. is_stream: with sign + only; since: the
    batch from which on it runs."""

    operator: str
    is_stream: bool
    since: int = 0


@dataclass(frozen=True, slots=True)
class ShardGroup:
    """Operators that run in the same shards. keys: the id of an input (stream or relation) -> the
    place of the column whose value says the shard; a relation without one is read whole by every
    shard; empty: one shard. why: in a sentence."""

    operators: tuple[str, ...]
    keys: Mapping[str, int]
    why: str


@dataclass(frozen=True, slots=True)
class NetworkPlan(SentOnce):
    """All operators of some queries, each behind its inputs. answers: by query. groups: every
    operator is in one. sharing: windows and joins over the same tuples keep them in one store."""

    operators: tuple[PlannedOperator, ...] = ()
    answers: Mapping[str, PlannedAnswer] = field(default_factory=dict)
    groups: tuple[ShardGroup, ...] = ()
    sharing: bool = True
    _by_id: Mapping[str, PlannedOperator] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_id", {operator.id: operator for operator in self.operators})

    @property
    def clocks(self) -> dict[Streams, tuple[str, ...]]:
        """The streams that are read together -> the operators that go by their time: operators that
        are connected do so by one."""
        clocks: dict[Streams, tuple[str, ...]] = {}
        for group in self.groups:
            works = [self._by_id[id].work for id in group.operators]
            read = frozenset(work.reads for work in works if work.reads and not work.is_stored)
            clocks[read] = (*clocks.get(read, ()), *group.operators)
        return clocks

    def operator(self, id: str) -> PlannedOperator:
        """Raises KeyError."""
        return self._by_id[id]

    def working(self, kind: type[Work]) -> list[tuple[PlannedOperator, Work]]:
        """The operators of one kind, with what they do."""
        every = ((planned, planned.work) for planned in self.operators)
        return [(planned, work) for planned, work in every if isinstance(work, kind)]

    def is_net(self, query: str) -> bool:
        """Whether no two elements of a query's answer at one tick cancel, as they come."""
        answer = self.answers[query]
        return answer.is_stream or self._is_net(self.operator(answer.operator))

    def _is_net(self, planned: PlannedOperator) -> bool:
        inputs = [self.operator(input) for input in planned.inputs]
        n_columns = [len(input.fields) for input in inputs]
        return planned.work.is_net([self._is_net(input) for input in inputs], n_columns)

    def stream_of(self, id: str) -> str:
        """The stream whose tuples an operator hands on, all of them; '' where it does not."""
        planned = self.operator(id)
        return planned.work.stream_of([self.stream_of(input) for input in planned.inputs])

    def store_layout(self) -> tuple[StorePlan, ...]:
        """The stores of its synopses, in its order; depends on the plan alone.

        With sharing, all windows over the same elements and the joins directly above them keep
        their tuples once; so do joins that read the same operator. Without, each synopsis has its
        own store.
        """
        stores: dict[str, StorePlan] = {}
        for planned in self.operators:
            for group, store in planned.work.synopses(planned, self._by_id, self.sharing):
                before = stores.get(group)
                if before is not None:
                    store = StorePlan(before.kind, before.types, before.stubs + store.stubs)
                stores[group] = store
        return tuple(stores.values())

    def consumers(self) -> dict[str, tuple[tuple[str, int], ...]]:
        """Id -> the (operator, input number) its elements go to, in order of the plan."""
        consumers: dict[str, list[tuple[str, int]]] = {
            operator.id: [] for operator in self.operators
        }
        for operator in self.operators:
            for port, input in enumerate(operator.inputs):
                consumers[input].append((operator.id, port))
        return {id: tuple(to) for id, to in consumers.items()}

    def readers(self) -> dict[str, list[str]]:
        """Id -> the queries whose answers its elements go into, sorted."""
        queries: dict[str, set[str]] = {operator.id: set() for operator in self.operators}
        for query, answer in self.answers.items():
            queries[answer.operator].add(query)
        for operator in reversed(self.operators):
            for input in operator.inputs:
                queries[input] |= queries[operator.id]
        return {id: sorted(names) for id, names in queries.items()}
