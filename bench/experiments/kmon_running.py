"""Runs of joins under k-constraints: the executor itself, without network or host. [B05] §6.5

Beside it SWJ, the join of windows that its filters have shrunk, and the same many-one join without
any constraint.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from lark import Token

from backend.cql import nodes
from backend.model.schema import Attribute
from backend.operators.network.core.blocks import Block, Column64, empty
from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.joins.join_tuning import JoinTuning
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.kmon import JoinEdge, JoinedInput, KMonOp
from backend.operators.network.kmon.operator import KMonJoin
from backend.operators.network.kmon.tuning import KMonProfile, KMonTuning
from backend.workloads.adhering import N_MARKS, S1, S2, S3, WIDTH, ArrivingTuples
from bench.experiments.join_running import BenchJoin, SignedElements, between

JOIN: Final = "join"
_FIELDS: Final = tuple(Attribute(f"a{k}", "bigint") for k in range(WIDTH))
_HERE: Final = Token("NAME", "")


class JoinGraph(NamedTuple):
    """A join graph of Fig. 6.9. edges: of KMonOp; filtered: inputs with a filter; equal: the same
    for a join of windows."""

    n: int
    edges: tuple[JoinEdge, ...]
    filtered: tuple[int, ...]
    equal: tuple[tuple[tuple[int, int], ...], ...]


GRAPH_A: Final = JoinGraph(
    3,
    (JoinEdge(S1, S2, ((0, 0),)), JoinEdge(S1, S3, ((1, 0),))),
    (S2, S3),
    (((S1, 0), (S2, 0)), ((S1, 1), (S3, 0))),
)
GRAPH_B: Final = JoinGraph(
    3,
    (JoinEdge(S1, S3, ((0, 0),)), JoinEdge(S2, S3, ((0, 0),))),
    (S3,),
    (((S1, 0), (S2, 0), (S3, 0)),),
)
GRAPH_C: Final = JoinGraph(2, (JoinEdge(S1, S2, ((0, 0),)),), (S2,), (((S1, 0), (S2, 0)),))
#: B waits for C, O for B, and the other way round: a packet is once on each link.
LINKS_GRAPH: Final = JoinGraph(
    3,
    (
        JoinEdge(1, 0, ((0, 0),), one_one=True),
        JoinEdge(2, 1, ((0, 0),), one_one=True),
    ),
    (),
    (((0, 0), (1, 0), (2, 0)),),
)


class BenchQuery(NamedTuple):
    """A join over windows. rows: tuples of each window, or range: ticks; passing: share of the
    tuples that pass a filter."""

    graph: JoinGraph
    rows: int = 0
    range: int = 0
    passing: float = 0.5

    @property
    def limit(self) -> int:
        """Of the attribute that filters look at."""
        return round(self.passing * N_MARKS)

    def work(self) -> KMonOp:
        """The operator."""
        mark = nodes.At(_HERE, WIDTH - 1, "bigint")
        filter_ = nodes.Compare(_HERE, "<", mark, nodes.Literal(_HERE, self.limit))
        children = {edge.child for edge in self.graph.edges}
        inputs = tuple(
            JoinedInput(
                f"S{place + 1}",
                "rows" if self.rows else "range",
                self.rows or self.range,
                filter_ if place in self.graph.filtered else None,
                (0,) if place in children else (),
            )
            for place in range(self.graph.n)
        )
        outputs = tuple((place, k) for place in range(self.graph.n) for k in range(WIDTH))
        return KMonOp(inputs, self.graph.edges, outputs)


class StretchOutcome(NamedTuple):
    """A stretch of a run. n_arrivals: tuples that came until its end."""

    n_arrivals: int
    profile: KMonProfile

    @property
    def held(self) -> int:
        """Tuples in memory at the end of it."""
        return sum(component.n_tuples for component in self.profile.components)

    @property
    def plain(self) -> int:
        """Those that SWJ holds then."""
        return sum(component.plain for component in self.profile.components)

    @property
    def n_bytes(self) -> int:
        """In memory, keys of what lies aside included."""
        return sum(component.n_bytes for component in self.profile.components)

    @property
    def plain_bytes(self) -> int:
        """Of SWJ, if a tuple took it as much."""
        return sum(component.plain * component.row_bytes for component in self.profile.components)


class BenchKMon:
    """A join under k-constraints at work."""

    def __init__(self, query: BenchQuery, tuning: KMonTuning) -> None:
        n = query.graph.n
        inputs = [
            PlannedOperator(
                f"s{place}", StreamInput(f"S{place}", tuple(range(WIDTH))), (), _FIELDS, fifo=True
            )
            for place in range(n)
        ]
        join = PlannedOperator(JOIN, query.work(), tuple(input.id for input in inputs), _FIELDS * n)
        self.plan = NetworkPlan((*inputs, join), sharing=False)
        #: The results of the last stretch.
        self.made = empty(self.plan.operator(JOIN).fields)
        self._regions, self.tuning, self._seen = MemoryRegions(), tuning, [0] * n
        self._strings = Strings(self._regions.scope("strings"))

    def stretch(self, inputs: Sequence[Block], n_arrivals: int) -> StretchOutcome:
        """Take some elements."""
        clock = Clock()
        for place, block in enumerate(inputs):
            clock.arrived[f"S{place}"] = (self._seen[place], block.tau)
            self._seen[place] += len(block)
        around = Surroundings(
            self.plan, self._regions, self._strings, clock, tunings={JOIN: self.tuning}
        )
        join = KMonJoin(self.plan.operator(JOIN), around)
        heartbeat = max((int(block.tau[-1]) for block in inputs if len(block)), default=0)
        self.made = join.run(inputs, heartbeat)
        profile = join.profile()
        assert isinstance(profile, KMonProfile)
        return StretchOutcome(n_arrivals, profile)


def kmon_run(
    query: BenchQuery, trace: ArrivingTuples, tuning: KMonTuning, length: int
) -> list[StretchOutcome]:
    """A run under one tuning, in stretches of so many tuples."""
    bench = BenchKMon(query, tuning)
    return [
        bench.stretch(inputs, until) for until, inputs in stretches(trace, query.graph.n, length)
    ]


def stretches(
    trace: ArrivingTuples, n_inputs: int, length: int
) -> Iterator[tuple[int, list[Block]]]:
    """The inputs of a join, so many tuples at a time; and how many came until then."""
    seen = [0] * n_inputs
    for begin in range(0, len(trace.streams), length):
        part = slice(begin, begin + length)
        inputs = []
        for place in range(n_inputs):
            which = trace.streams[part] == place
            columns = trace.values[part][which].T
            tau = trace.times[part][which]
            inputs.append(
                Block(
                    tau,
                    np.ones(len(tau), np.int8),
                    tuple(Column64(np.ascontiguousarray(column)) for column in columns),
                    seen[place] + np.arange(len(tau)),
                )
            )
            seen[place] += len(tau)
        yield min(begin + length, len(trace.streams)), inputs


class BenchSWJ:
    """SWJ at work: an mjoin of row windows, whose tuples have passed the filters."""

    def __init__(self, query: BenchQuery, trace: ArrivingTuples) -> None:
        self._join = BenchJoin(JoinOp(query.graph.equal), (WIDTH,) * query.graph.n)
        self._inputs = _shrunk(query, trace)

    def stretch(self, begin: int, end: int) -> tuple[Block, int]:
        """Take some tuples of the trace; the results, and nanoseconds of processor time."""
        part = between(self._inputs, begin, end)
        self._join.tune(JoinTuning())
        begun = time.thread_time_ns()
        results = self._join.run(part)
        return results, time.thread_time_ns() - begun


def swj_ns(query: BenchQuery, trace: ArrivingTuples, length: int, since: int) -> float:
    """Nanoseconds a tuple of SWJ, from tuple ``since`` on."""
    swj, n = BenchSWJ(query, trace), len(trace.streams)
    took = {begin: swj.stretch(begin, begin + length)[1] for begin in range(0, n, length)}
    return sum(ns for begin, ns in took.items() if begin >= since) / (n - since)


def _shrunk(query: BenchQuery, trace: ArrivingTuples) -> list[SignedElements]:
    """Each tuple that passes with +, and with - when its window of all tuples is over it."""
    by_input = []
    for place in range(query.graph.n):
        at = np.flatnonzero(trace.streams == place)
        values = trace.values[at]
        passing = np.ones(len(at), bool)
        if place in query.graph.filtered:
            passing = values[:, -1] < query.limit
        came = np.flatnonzero(passing)
        gone = came[came + query.rows < len(at)]
        places = np.concatenate([at[came], at[gone + query.rows]])
        signs = np.concatenate([np.ones(len(came), np.int8), -np.ones(len(gone), np.int8)])
        which = np.concatenate([came, gone])
        order = np.lexsort((-signs, places))
        by_input.append(SignedElements(places[order], signs[order], values[which[order]]))
    return by_input
