"""Joins under k-constraints over three small streams, and the same with the slow twin."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from backend.cql.nodes import NOWHERE, At, Compare, Literal
from backend.model.schema import Attribute
from backend.operators.network.core.blocks import Block, Column64
from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import RelationInput, StreamInput
from backend.operators.network.kinds.kmon import JoinEdge, JoinedInput, KMonOp
from backend.operators.network.kmon.operator import KMonJoin
from backend.operators.network.kmon.tuning import (
    ConstraintId,
    ConstraintTuning,
    KMonTuning,
    constraint_ids,
)
from tests.oracles.k_mon import Constraint, JoinedStream, KMon
from tests.oracles.k_mon import JoinEdge as TwinEdge

#: (stream, values, τ), in the order of Σ.
Arrival = tuple[int, tuple[int, int], int]
#: Results of the last column below it pass the filter of the third stream.
LIMIT: Final = 8


class Graph(NamedTuple):
    """names: attributes of each stream. edges: (parent, child, places of both). keys: place of the
    key of a stream."""

    names: tuple[str, str, str]
    edges: tuple[tuple[int, int, tuple[int, int]], ...]
    keys: dict[int, int]
    one_one: bool = False


#: The graphs (a) and (b) of the examples, two roots over one child, and packets on three links.
GRAPHS: Final = {
    "a": Graph(("AB", "AC", "BD"), ((0, 1, (0, 0)), (0, 2, (1, 0))), {1: 0, 2: 0}),
    "b": Graph(("AB", "BC", "CD"), ((0, 1, (1, 0)), (1, 2, (1, 0))), {1: 0, 2: 0}),
    "two roots": Graph(("AB", "CB", "BD"), ((0, 2, (1, 0)), (1, 2, (1, 0))), {2: 0}),
    "links": Graph(("AX", "AY", "AZ"), ((1, 0, (0, 0)), (2, 1, (0, 0))), {0: 0, 1: 0, 2: 0}, True),
}
Window = tuple[str, int]
UNBOUNDED: Final[Window] = ("unbounded", 0)


@dataclass
class Joining:
    """A join in regions: made anew for each batch, as in a shard. over: streams that give no more
    tuples; stored: numbers of inputs that are stored relations."""

    graph: Graph
    windows: Sequence[Window]
    tuning: KMonTuning
    regions: MemoryRegions = field(default_factory=MemoryRegions)
    told: list[tuple[int, int, tuple[Any, ...]]] = field(default_factory=list)
    over: frozenset[str] = frozenset()
    stored: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        one_one = self.graph.one_one
        self._inputs = tuple(
            PlannedOperator(
                f"i{k}",
                (RelationInput if k in self.stored else StreamInput)(f"S{k + 1}", (0, 1)),
                (),
                tuple(Attribute(name, "bigint") for name in names),
            )
            for k, names in enumerate(self.graph.names)
        )
        self.work = KMonOp(
            tuple(
                JoinedInput(f"S{k + 1}", kind, size, filter=_filter() if k == 2 else None)  # type: ignore[arg-type]
                for k, (kind, size) in enumerate(self.windows)
            ),
            tuple(JoinEdge(p, c, (on,), one_one) for p, c, on in self.graph.edges),
            tuple((k, place) for k in range(3) for place in range(2)),
        )
        fields = tuple(Attribute(f"c{k}", "bigint") for k in range(6))
        self._planned = PlannedOperator("join", self.work, ("i0", "i1", "i2"), fields)
        self.made()

    def made(self) -> KMonJoin:
        """The join, as its regions have it."""
        plan = NetworkPlan((*self._inputs, self._planned), {}, (), True)
        strings = Strings(self.regions.scope("strings"), "test")
        clock = Clock(over=self.over)
        around = Surroundings(plan, self.regions, strings, clock, tunings={"join": self.tuning})
        self.join = KMonJoin(self._planned, around)
        return self.join

    def run(self, arrivals: Sequence[Arrival], heartbeat: int) -> None:
        """A batch."""
        block = self.made().run([_block(arrivals, k) for k in range(3)], heartbeat)
        columns = [column.values.tolist() for column in block.columns]
        rows = zip(*columns, strict=True)
        self.told += zip(block.tau.tolist(), block.sign.tolist(), rows, strict=True)

    @property
    def emitted(self) -> Counter[tuple[Any, ...]]:
        """Results that came."""
        return Counter(row for _, sign, row in self.told if sign > 0)

    def relation(self, tau: int) -> Counter[tuple[Any, ...]]:
        """Results that are there at a time."""
        found: Counter[tuple[Any, ...]] = Counter()
        for at, sign, row in self.told:
            if at <= tau:
                found[row] += sign
        return +found

    def components(self) -> list[tuple[int, int, int]]:
        """Tuples in Yes, No and Unknown of each stream."""
        profile = self.join.profile()
        assert profile is not None
        return [(one.yes, one.no, one.unknown) for one in profile.components]


def _filter() -> Compare:
    return Compare(NOWHERE, "<", At(NOWHERE, 1, "bigint"), Literal(NOWHERE, LIMIT))


def _block(arrivals: Sequence[Arrival], stream: int) -> Block:
    rows = np.array([row for k, row, _ in arrivals if k == stream], np.int64).reshape(-1, 2)
    taus = np.array([tau for k, _, tau in arrivals if k == stream], np.int64)
    columns = tuple(Column64(np.ascontiguousarray(rows[:, k])) for k in range(2))
    return Block(taus, np.ones(len(taus), np.int8), columns)


def twin(graph: Graph, windows: Sequence[Window], constraints: Iterable[Constraint] = ()) -> KMon:
    """The same join, tuple by tuple."""

    def passes(k: int) -> Callable[[Any], bool]:
        return (lambda v: bool(v[graph.names[2][1]] < LIMIT)) if k == 2 else (lambda v: True)

    streams = [
        JoinedStream(
            f"S{k + 1}",
            passes(k),
            range=size if kind == "range" else None,
            rows=size if kind == "rows" else None,
        )
        for k, (kind, size) in enumerate(windows)
    ]
    edges = [
        TwinEdge(f"S{p + 1}", f"S{c + 1}", ((graph.names[p][a], graph.names[c][b]),))
        for p, c, (a, b) in graph.edges
    ]
    return KMon(streams, edges, constraints)


def feed(mon: KMon, graph: Graph, arrival: Arrival) -> None:
    """An arrival for the twin."""
    stream, row, tau = arrival
    mon.arrive(f"S{stream + 1}", dict(zip(graph.names[stream], row, strict=True)), tau)


def rows_of(results: Iterable[Any]) -> Counter[tuple[int, ...]]:
    """The twin's results as rows."""
    return Counter(tuple(v for kept in one for v in kept.values.values()) for one in results)


def in_words(id: ConstraintId, k: int, graph: Graph) -> Constraint:
    """A constraint as the twin has it."""
    parent, child = f"S{id.parent + 1}", f"S{id.child + 1}"
    if id.type == "RIDS":
        return Constraint("RIDS", k, parent, child)
    if id.type == "OAC":
        return Constraint("OAC", k, child=child, attribute=graph.names[id.child][id.place])
    return Constraint(id.type, k, parent=parent, attribute=graph.names[id.parent][id.place])


def some_arrivals(rng: random.Random, graph: Graph, n: int, steps: Sequence[int]) -> list[Arrival]:
    """Arrivals in Σ; keys come once. steps: how far time goes on between two."""
    found, tau = list[Arrival](), 0
    used: dict[int, set[int]] = {stream: set() for stream in graph.keys}
    for _ in range(n):
        tau += rng.choice(steps)
        stream = rng.randrange(3)
        row = (rng.randrange(14 if graph.one_one else 8), rng.randrange(12 if stream == 2 else 8))
        if stream in graph.keys:
            key = row[graph.keys[stream]]
            if key in used[stream]:
                continue
            used[stream].add(key)
        found.append((stream, row, tau))
    return sorted(found, key=lambda one: (one[2], one[0]))


def some_windows(rng: random.Random) -> list[Window]:
    """A window for each stream."""
    kinds = (UNBOUNDED, ("range", rng.randrange(12)), ("rows", rng.randrange(1, 8)))
    return [rng.choice(kinds) for _ in range(3)]


def some_constraints(
    rng: random.Random, joining: Joining, largest: int, share: float
) -> tuple[ConstraintTuning, ...]:
    """About a share of the constraints of a join, with a k below ``largest``."""
    return tuple(
        ConstraintTuning(id, declared=rng.randrange(largest))
        for id in constraint_ids(joining.work)
        if rng.random() < share
    )
