"""From continuous queries to the plan of one operator network."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from backend.cql.answers import Implicit, answer_fields, answers_a_stream
from backend.cql.logical import Logical
from backend.cql.nodes import Call, Table
from backend.cql.types import expressions_in
from backend.model.conditions import ContinuousQuery
from backend.model.functions import Functions
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer, ShardGroup, Streams
from backend.operators.network.core.work import (
    EVERYWHERE,
    JoinTrees,
    OperatorTree,
    PlannedOperator,
)
from backend.operators.network.kinds.select_project import named
from backend.systems.cores import BringsOperators, CoreKind
from backend.systems.stream.sharding import spread, whole
from backend.systems.stream.translation import translated

_DIGITS: Final = 10


def compile_queries(
    queries: Iterable[ContinuousQuery],
    *,
    implicit_istream: Implicit = "unwindowed",
    sharing: bool = True,
    since: Mapping[str, int],
    tick_us: int,
    joins: JoinTrees = "mjoin",
    keyed: bool = True,
    kinds: Sequence[CoreKind] = (),
) -> NetworkPlan:
    """The operators of all queries; what several do alike is one operator.

    queries: with a plan, of different names. since: query -> the batch it was registered at;
    queries share operators with those of the same batch only, whose windows began as empty, and
    with those that read the same streams, whose time goes on as theirs does. sharing is told to the
    plan: it is about what operators keep. tick_us: of all streams, for windows in seconds. joins:
    of more than two inputs. keyed: tuples may go to several shards by the values of an attribute;
    queries then share only what is spread by the same one. kinds: of cores, some of which bring
    operators of their own.

    What a query comes to depends on the query and ``since`` alone, not on the others.
    """
    making = _Making()
    answers: dict[str, PlannedAnswer] = {}
    for query in queries:
        tree, is_stream, why = operator_tree(query.plan, tick_us, implicit_istream, joins, kinds)
        if not keyed:
            tree, why = whole(tree), f"There is one shard. {why}"
        top = making.made(tree, read_by(tree), since[query.name], why)
        answers[query.name] = PlannedAnswer(top, is_stream, since[query.name])
    return NetworkPlan(tuple(making.operators.values()), answers, making.groups(), sharing)


def operator_tree(
    plan: Logical,
    tick_us: int,
    implicit: Implicit = "unwindowed",
    joins: JoinTrees = "mjoin",
    kinds: Sequence[CoreKind] = (),
) -> tuple[OperatorTree, bool, str]:
    """The tree of a query's operators, with keys; whether it answers a stream; why its shards are
    as they are.

    Keys are those of a relation unless the text itself says Istream, so that operators and what
    they keep stay when ``implicit`` is another.
    """
    tree, is_stream = translated(plan, tick_us, implicit)
    kept = named(tree.pushed(joins=joins), answer_fields(plan))
    for kind in kinds:
        own = kind.planned(kept) if isinstance(kind, BringsOperators) else kept
        kept = own if isinstance(own, OperatorTree) else kept
    tree, why = spread(kept, answers_a_stream(plan, "never"))
    return tree, is_stream, why


class _Making:
    """The operators made so far, by id. Those of different batches, those that go by the time of
    other streams, and those whose inputs are spread by other keys, have other ids."""

    def __init__(self) -> None:
        self.operators: dict[str, PlannedOperator] = {}
        self._keys: dict[str, int] = {}
        self._why: dict[str, str] = {}
        self._group: dict[str, str] = {}

    def made(self, tree: OperatorTree, clock: Streams, since: int, why: str) -> str:
        """Make the operators of a tree that are not there yet; the id of the topmost one. clock:
        all streams that its query reads."""
        inputs = tuple(self.made(input, clock, since, why) for input in tree.inputs)
        identity = repr((tree.work, tree.fields, tree.key, inputs))
        if not inputs and clock != read_by(tree):
            identity += f" beside {sorted(clock)}"
        digest = hashlib.sha256(identity.encode()).hexdigest()[:_DIGITS]
        id = f"{tree.work.named(len(inputs))}-{digest}-{since}"
        if id not in self.operators:
            self.operators[id] = PlannedOperator(id, tree.work, inputs, tree.fields, tree.fifo)
            self._group[id], self._why[id] = id, why
            if tree.key not in (None, EVERYWHERE):
                self._keys[id] = tree.key
        for input in inputs:
            self._group[self._first(input)] = self._first(id)
        return id

    def groups(self) -> tuple[ShardGroup, ...]:
        """The operators by what they are connected with."""
        members: dict[str, list[str]] = {}
        for id in self.operators:
            members.setdefault(self._first(id), []).append(id)
        return tuple(
            ShardGroup(
                tuple(ids),
                {id: self._keys[id] for id in ids if id in self._keys},
                " ".join(dict.fromkeys(self._why[id] for id in ids)),
            )
            for ids in members.values()
        )

    def _first(self, id: str) -> str:
        while self._group[id] != id:
            id = self._group[id]
        return id


def read_by(tree: OperatorTree) -> Streams:
    """The streams that a query reads, by the tree of its operators."""
    works = [part.work for part in tree.walk()]
    return frozenset(work.reads for work in works if work.reads and not work.is_stored)


def called_functions(plan: NetworkPlan, known: Functions) -> Functions:
    """Those of ``known`` that a plan's expressions call, and the tables they name."""
    parts = [
        part
        for planned in plan.operators
        for node in planned.work.nodes
        for part in expressions_in(node)
    ]
    calls = {part.name.lower() for part in parts if isinstance(part, Call)}
    tables = {part.name for part in parts if isinstance(part, Table)}
    return Functions(
        {name: known.functions[name] for name in known.functions if name.lower() in calls},
        {name: known.tables[name] for name in known.tables if name in tables},
    )
