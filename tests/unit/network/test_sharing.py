"""Synopses that share stores: the same results, however and whenever sharing is switched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Token

from backend.cql.nodes import At
from backend.model.schema import Schema
from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.job import NetworkJob, Schedule, StreamTime
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer
from backend.operators.network.core.regions import MemoryRegions, Regions
from backend.operators.network.core.reports import StubReport
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.select_project import ProjectOp
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.shards.arena import Arena
from backend.operators.network.shards.making import make
from backend.operators.network.stores import stores
from backend.operators.network.stores.store_reports import store_reports
from tests.oracles.network_joins import join_at
from tests.oracles.network_windows import Arrival, Row, Signed, bag_at, window_at
from tests.unit.network.collecting import CollectingNetwork
from tests.unit.network.elements import GAPS, block_of, elements_of, fields, window

HERE = Token("NAME", "here")
FIELDS = fields("bigint", "double")
S = PlannedOperator("s", StreamInput("S", (0, 1)), (), FIELDS, fifo=True)
T = PlannedOperator("t", StreamInput("T", (0, 1)), (), FIELDS, fifo=True)
WINDOWS = (
    window(WindowOp("rows", 3), S, "w1"),
    window(WindowOp("rows", 10), S, "w2"),
    window(WindowOp("range", 4), T, "w3"),
    window(WindowOp("range", 2, 3), T, "w4"),
    window(WindowOp("range", 0, 3), T, "w5"),
    window(WindowOp("unbounded"), S, "w6"),
    window(WindowOp("partition", 2, 1, (0,)), S, "w7"),
)
#: The second column of w2 alone.
PART = PlannedOperator("p", ProjectOp((At(HERE, 1, "double"),)), ("w2",), FIELDS[1:], fifo=True)
ON_FIRST = JoinOp((((0, 0), (1, 0)),))
JOINS = (
    PlannedOperator("j1", ON_FIRST, ("w1", "w3"), FIELDS * 2),
    PlannedOperator("j2", JoinOp((((0, 0), (1, 1)),)), ("p", "w3"), FIELDS[1:] + FIELDS),
    PlannedOperator("j3", JoinOp((((0, 0), (1, 0), (2, 0)),)), ("w2", "w2", "w4"), FIELDS * 3),
    PlannedOperator("j4", ON_FIRST, ("w6", "w1"), FIELDS * 2),
    PlannedOperator("j5", ON_FIRST, ("w5", "w6"), FIELDS * 2),
    PlannedOperator("j6", ON_FIRST, ("w7", "w1"), FIELDS * 2),
)
PLAN = NetworkPlan(
    (S, T, *WINDOWS, PART, *JOINS), {one.id: PlannedAnswer(one.id, False) for one in JOINS}
)


@pytest.fixture(autouse=True, scope="module")
def _tiny_stores() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "FIRST_CAPACITY", 2)
        yield


class Shard:
    """A network whose operators are made anew for every batch."""

    def __init__(self) -> None:
        self.regions: Regions = MemoryRegions()
        self.out: dict[str, list[Signed]] = {one.id: [] for one in JOINS}
        self._n_before = {"S": 0, "T": 0}

    def around(self, plan: NetworkPlan, clock: Clock) -> Surroundings:
        return Surroundings(plan, self.regions, Strings(self.regions.scope("strings")), clock)

    def batch(
        self, plan: NetworkPlan, arrivals: dict[str, list[Arrival]], until: int, schedule: Schedule
    ) -> None:
        """Tuples before ``until``."""
        clock, blocks = Clock(), {}
        for source in (S, T):
            name = source.work.reads
            first, part = self._n_before[name], arrivals[name]
            elements = [(row, tau, 1) for row, tau, _ in part]
            block = block_of(elements, FIELDS, list(range(first, first + len(part))))
            clock.arrived[name] = (first, block.tau)
            blocks[source.id] = block
            self._n_before[name] += len(part)
        around = self.around(plan, clock)
        operators = {one.id: make(one, around) for one in plan.operators if one.inputs}
        streams = {name: StreamTime(None) for name in ("S", "T")}
        job = NetworkJob(plan, dict.fromkeys(streams, Schema(FIELDS)), streams, schedule=schedule)
        network = CollectingNetwork(job, [one.id for one in plan.operators], operators, around)
        found, _ = network.played(blocks, until)
        for query, block in found.items():
            self.out[query] += elements_of(block)


ROWS = st.tuples(st.sampled_from([0, 1, 2, None]), st.sampled_from([0.0, 1.0, 2.0]))
ARRIVALS = st.lists(st.tuples(GAPS, ROWS), max_size=40)
SCHEDULES = st.builds(
    Schedule,
    policy=st.sampled_from(["fifo", "round_robin"]),
    work=st.sampled_from([0.0, 4.0]),
    load=st.sampled_from([0.5, 3.0]),
    block_tuples=st.sampled_from([1, 3, 4096]),
)


def arrivals_of(steps: list[tuple[int, Row]]) -> list[Arrival]:
    taus = np.cumsum([gap for gap, _ in steps], dtype=np.int64).tolist()
    return [(row, tau, True) for (_, row), tau in zip(steps, taus, strict=True)]


@settings(max_examples=40)
@given(
    of_s=ARRIVALS.map(arrivals_of),
    of_t=ARRIVALS.map(arrivals_of),
    batches=st.lists(st.tuples(st.integers(1, 60), st.booleans()), max_size=5),
    schedule=SCHEDULES,
)
def test_results_are_the_same_however_sharing_is_switched(
    of_s: list[Arrival], of_t: list[Arrival], batches: list[tuple[int, bool]], schedule: Schedule
) -> None:
    shard, before = Shard(), 0
    last = max([tau for _, tau, _ in of_s + of_t], default=0) + 1
    ends = sorted({until for until, _ in batches if until < last} | {last})
    flags = [sharing for _, sharing in batches] + [True] * len(ends)
    for until, sharing in zip(ends, flags, strict=False):
        part = {
            name: [one for one in whole if before <= one[1] < until]
            for name, whole in (("S", of_s), ("T", of_t))
        }
        shard.batch(replace(PLAN, sharing=sharing), part, until, schedule)
        for tick in range(before, min(until, before + 12)):
            for join in JOINS:
                assert bag_at(shard.out[join.id], tick) == _wanted(join, of_s, of_t, tick), (
                    join.id,
                    tick,
                )
        before = until


def _wanted(
    join: PlannedOperator, of_s: list[Arrival], of_t: list[Arrival], tick: int
) -> Counter[Row]:
    bags = []
    for input in join.inputs:
        planned = PLAN.operator("w2" if input == "p" else input)
        assert isinstance(planned.work, WindowOp)
        whole = of_s if planned.inputs == ("s",) else of_t
        bag = window_at(planned.work, whole, tick)
        if input == "p":
            bag = Counter(row[1:] for row in bag.elements())
        bags.append(bag)
    assert isinstance(join.work, JoinOp)
    return join_at(join.work, bags)


def many(n: int) -> dict[str, list[Arrival]]:
    return {"S": [((k % 5, 0.0), k, True) for k in range(n)], "T": []}


def test_stores_in_a_file_are_as_those_in_memory(tmp_path: Path) -> None:
    """Regions that grow move within the file, and others take their places."""
    random = np.random.default_rng(7)
    inside, outside = Shard(), Shard()
    for n in range(8):
        part = {
            name: [
                ((int(a), float(b)), int(tau), True)
                for a, b, tau in zip(
                    random.integers(0, 4, 30),
                    random.integers(0, 3, 30),
                    np.sort(random.integers(20 * n, 20 * n + 20, 30)),
                    strict=True,
                )
            ]
            for name in ("S", "T")
        }
        plan = replace(PLAN, sharing=n % 4 < 2)
        outside.batch(plan, part, 20 * n + 20, Schedule())
        with Arena(tmp_path) as arena:
            arena.begin()
            inside.regions = arena.regions
            inside.batch(plan, part, 20 * n + 20, Schedule())
            arena.commit(n, {})
    assert inside.out == outside.out
    assert all(inside.out.values())


def test_a_shared_store_keeps_what_any_of_its_stubs_holds() -> None:
    """[Rows 3] and [Rows 10] on one stream, and the joins over them (figure 2.3)."""
    shard = Shard()
    shard.batch(PLAN, many(50), 50, Schedule())
    of_s = store_reports(PLAN, shard.regions)[0]
    assert of_s.n_tuples == 10
    assert of_s.stubs == (
        StubReport("w1", 0, 3, 0),
        StubReport("w2", 0, 10, 0),
        StubReport("j1", 0, 3, 0),
        StubReport("j2", 0, 10, 0),
        StubReport("j3", 0, 10, 0),
        StubReport("j3", 1, 10, 0),
        StubReport("j4", 1, 3, 0),
        StubReport("j6", 1, 3, 0),
    )
    alone = store_reports(replace(PLAN, sharing=False), shard.regions)
    assert of_s.n_bytes_saved > of_s.n_bytes
    assert alone == store_reports(PLAN, shard.regions), "the report is of what is there"


def test_without_sharing_nothing_is_saved() -> None:
    shard, plan = Shard(), replace(PLAN, sharing=False)
    shard.batch(plan, many(50), 50, Schedule())
    found = store_reports(plan, shard.regions)
    assert all(len(store.stubs) == 1 for store in found)
    assert {store.n_bytes_saved for store in found} == {0}
    shared = Shard()
    shared.batch(PLAN, many(50), 50, Schedule())
    together = store_reports(PLAN, shared.regions)
    saved = sum(store.n_bytes_saved for store in together)
    assert sum(store.n_bytes for store in together) + saved == sum(s.n_bytes for s in found)


def test_bytes_of_operators_are_those_of_stores() -> None:
    shard = Shard()
    shard.batch(PLAN, many(50), 50, Schedule())
    around = shard.around(PLAN, Clock())
    operators = [make(one, around) for one in (*WINDOWS, *JOINS)]
    stored = sum(store.n_bytes for store in store_reports(PLAN, shard.regions))
    assert sum(one.n_bytes for one in operators) == stored


def windowed() -> NetworkPlan:
    join = PlannedOperator("j", ON_FIRST, ("w", "w"), FIELDS * 2)
    return NetworkPlan((S, window(WindowOp("rows", 2), S), join))


@pytest.mark.parametrize("flags", [(True, False), (False, True), (False, False), (True, True)])
@pytest.mark.parametrize("n_waiting", [1, 2, 5])
def test_sharing_is_switched_while_elements_wait_between(
    flags: tuple[bool, bool], n_waiting: int
) -> None:
    shard = Shard()
    out: list[Signed] = []
    waiting: list[Signed] = []
    until = 0
    for n, sharing in enumerate(flags * 2):
        plan, clock = replace(windowed(), sharing=sharing), Clock()
        around = shard.around(plan, clock)
        own, join = make(plan.operators[1], around), make(plan.operators[2], around)
        block = block_of(
            [((k % 2, 0.0), k, 1) for k in range(until, until + n_waiting)],
            FIELDS,
            list(range(until, until + n_waiting)),
        )
        clock.arrived["S"] = (until, block.tau)
        until += n_waiting
        inputs = [block_of(waiting, FIELDS)] * 2
        waiting = elements_of(own.run([block], until))
        out += elements_of(join.run(inputs, until - n_waiting))
        found = [stub for store in store_reports(plan, shard.regions) for stub in store.stubs]
        behind = {stub.operator: stub.behind for stub in found}
        assert n == 0 or flags != (True, True) or behind == {"w": 0, "j": n_waiting}
    plan = windowed()
    join = make(plan.operators[2], shard.around(plan, Clock()))
    out += elements_of(join.run([block_of(waiting, FIELDS)] * 2, until))
    rows = [((k % 2, 0.0), k, True) for k in range(until)]
    for tick in range(until):
        bag = window_at(WindowOp("rows", 2), rows, tick)
        assert bag_at(out, tick) == join_at(ON_FIRST, [bag, bag])


def test_a_window_that_comes_later_begins_empty_in_the_shared_store() -> None:
    shard, more = Shard(), window(WindowOp("rows", 5), S, "w8")
    shard.batch(PLAN, many(20), 20, Schedule())
    plan = replace(PLAN, operators=(*PLAN.operators, more))
    shard.batch(plan, {"S": [((1, 1.0), 20 + k, True) for k in range(3)], "T": []}, 23, Schedule())
    assert make(more, shard.around(plan, Clock())).n_tuples == 3
    assert StubReport("w8", 0, 3, 0) in store_reports(plan, shard.regions)[0].stubs
    less = replace(plan, operators=(S, more), answers={})
    assert make(more, shard.around(less, Clock())).n_tuples == 3
    assert [store.n_tuples for store in store_reports(less, shard.regions)] == [3]


@pytest.mark.parametrize("sharing", [True, False])
def test_what_a_sliding_window_does_not_show_yet_moves_with_it(sharing: bool) -> None:
    sliding = window(WindowOp("range", 9, 5), S, "w")
    join = PlannedOperator("j1", ON_FIRST, ("w", "w"), FIELDS * 2)
    plan = NetworkPlan((S, T, sliding, join), {"j1": PlannedAnswer("j1", False)}, sharing=sharing)
    shard, row = Shard(), (1, 1.0)
    shard.batch(plan, {"S": [(row, 1, True)], "T": []}, 4, Schedule())
    shard.batch(replace(plan, sharing=not sharing), {"S": [], "T": []}, 20, Schedule())
    assert shard.out["j1"] == [(row + row, 5, 1), (row + row, 15, -1)]


def test_layouts_depend_on_the_plan_alone() -> None:
    assert PLAN.store_layout() == PLAN.store_layout()
    shared = [[stub.owner for stub in store.stubs] for store in PLAN.store_layout()]
    assert [("w3", 0), ("w4", 0), ("j1", 1), ("j2", 1), ("j3", 2)] in shared
    assert [("w5", 0), ("j5", 0)] in shared  # drops tuples, so it cannot share with w3
    assert [("j4", 0), ("j5", 1)] in shared  # both over [Rows Unbounded]
    assert [("w7", 0)] in shared
    assert [("j6", 0)] in shared
