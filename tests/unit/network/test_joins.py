"""binary-join and mjoin against all combinations of the tuples that are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Token

from backend.cql.nodes import At, Compare
from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.plan import NetworkPlan
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.joins.joins import WindowJoin
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.stores import stores
from backend.operators.network.stores.windows import SeqWindow
from tests.oracles.network_joins import join_at
from tests.oracles.network_windows import Signed, bag_at
from tests.unit.network.elements import (
    block_of,
    elements_of,
    fields,
    plan_of,
    stream,
    window,
)
from tests.unit.network.join_cases import Case, joins

HERE = Token("NAME", "here")


@pytest.fixture(autouse=True, scope="module")
def _tiny_stores() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "FIRST_CAPACITY", 2)
        yield


@dataclass
class Joined:
    """A join at work in regions of its own."""

    plan: NetworkPlan
    out: list[Signed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.regions = MemoryRegions()
        self.remake()

    def remake(self) -> None:
        strings = Strings(self.regions.scope("strings"))
        self._around = Surroundings(self.plan, self.regions, strings, Clock())
        self.operator = WindowJoin(self.plan.operators[-1], self._around)

    def run(self, inputs: list[list[Signed]], heartbeat: int) -> list[Signed]:
        """The new elements."""
        of = [self.plan.operator(id).fields for id in self.operator.planned.inputs]
        blocks = [block_of(part, one) for part, one in zip(inputs, of, strict=True)]
        found = elements_of(self.operator.run(blocks, heartbeat))
        self.out += found
        return found


@settings(max_examples=150)
@given(joins(), st.integers(0, 3))
def test_a_join_is_all_combinations_at_every_tick(case: Case, n_early: int) -> None:
    joined, before = Joined(case.plan), 0
    taken = [0] * len(case.elements)
    for until in case.cuts:
        parts = []
        for port, history in enumerate(case.elements):
            end = sum(tau < until for _, tau, _ in history)
            at_once = sum(tau == until for _, tau, _ in history)
            end = max(taken[port], end + min(n_early, at_once))
            parts.append(list(history[taken[port] : end]))
            taken[port] = end
        found = joined.run(parts, until)
        assert all(before <= tau <= until for _, tau, _ in found)
        for tick in range(before, until):
            bags = [bag_at(history, tick) for history in case.elements]
            assert bag_at(joined.out, tick) == join_at(case.work, bags), tick
        joined.remake()
        before = until
    held = [bag_at(history, before) for history in case.elements]
    assert joined.operator.n_tuples == sum(bag.total() for bag in held)


TWO = fields("bigint", "bigint")


def two_sources(work: JoinOp, *ids: str) -> NetworkPlan:
    """A join of inputs of two columns whose tuples leave in order."""
    sources = [stream(id, TWO) for id in dict.fromkeys(ids)]
    whole = TWO * len(ids)
    return NetworkPlan((*sources, PlannedOperator("j", work, ids, whole)))


def test_the_residual_condition_holds_of_what_comes_out() -> None:
    less = Compare(HERE, "<", At(HERE, 1, "bigint"), At(HERE, 3, "bigint"))
    joined = Joined(two_sources(JoinOp((((0, 0), (1, 0)),), less), "s", "t"))
    left = [((7, 1), 0, 1), ((7, 5), 0, 1), ((7, None), 0, 1)]
    joined.run([left, [((7, 3), 1, 1)]], 9)
    assert joined.out == [((7, 1, 7, 3), 1, 1)]


def test_integers_and_floating_point_numbers_are_compared_as_these() -> None:
    one, two = stream("s", fields("bigint")), stream("t", fields("double"))
    join = PlannedOperator("j", JoinOp((((0, 0), (1, 0)),)), ("s", "t"), one.fields + two.fields)
    joined = Joined(NetworkPlan((one, two, join)))
    numbers: list[Signed] = [((1,), 0, 1), ((2**53 + 1,), 0, 1), ((None,), 0, 1)]
    joined.run([numbers, [((x,), 0, 1) for x in (1.0, 1.5, 2.0**53, None)]], 9)
    assert joined.out == [((1, 1.0), 0, 1), ((2**53 + 1, 2.0**53), 0, 1)]


def test_a_self_join_meets_each_pair_once() -> None:
    plan = two_sources(JoinOp((((0, 0), (1, 0)),)), "s", "s")
    joined = Joined(plan)
    elements = [((1, n), n, 1) for n in range(4)]
    joined.run([elements, elements], 9)
    assert bag_at(joined.out, 9) == Counter((1, a, 1, b) for a in range(4) for b in range(4))
    assert joined.operator.n_tuples == 8
    assert joined.regions.scope("stores").scope("j.1").n_bytes == 0  # both in the store j.0


def test_a_combination_of_many_results_is_told_though_room_was_for_few() -> None:
    joined = Joined(two_sources(JoinOp(), "s", "t"))
    joined.run([[((n, n), 0, 1) for n in range(300)], []], 1)
    joined.run([[], [((n, 0), 1, 1) for n in range(3)]], 2)
    assert bag_at(joined.out, 2).total() == 900
    assert joined.operator.counters()["matches_0"] == 900
    assert joined.operator.counters()["probes_0"] == 3


def test_counters_say_which_share_of_pairs_matches() -> None:
    joined = Joined(two_sources(JoinOp((((0, 0), (1, 0)),)), "s", "t"))
    joined.run([[((n % 5, n), 0, 1) for n in range(10)], []], 1)
    joined.run([[], [((2, 0), 1, 1), ((9, 0), 1, 1)]], 2)
    found = joined.operator.counters()
    assert (found["probes_0"], found["matches_0"]) == (2, 2)
    assert found["pairs_0"] == 20
    assert (found["probes"], found["matches"], found["pairs"]) == (12, 2, 20)
    assert joined.operator.selectivities == (2 / 20, None)


def test_an_element_that_was_never_there_cannot_be_taken_away() -> None:
    source = PlannedOperator("s", StreamInput("S", ()), (), TWO, fifo=False)
    join = PlannedOperator("j", JoinOp(), ("s", "s"), TWO * 2)
    joined = Joined(NetworkPlan((source, join)))
    with pytest.raises(ValueError, match="j, input 0: an element takes away what is not there"):
        joined.run([[((1, 2), 0, -1)], []], 1)


@pytest.mark.parametrize(
    ("orders", "message"),
    [(((1,), (1,)), "input 1 of a join of 2"), (((1,),), "1 probe orders for a join of 2")],
)
def test_orders_name_every_other_input(orders: tuple[tuple[int, ...], ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Joined(two_sources(JoinOp(orders=orders), "s", "t"))


def test_a_join_has_two_inputs() -> None:
    with pytest.raises(ValueError, match="a join of 1 inputs"):
        Joined(two_sources(JoinOp(), "s"))


def test_a_bag_gives_up_the_room_of_what_has_left() -> None:
    source = PlannedOperator("s", StreamInput("S", ()), (), TWO, fifo=False)
    join = PlannedOperator("j", JoinOp((((0, 0), (1, 0)),)), ("s", "s"), TWO * 2)
    joined = Joined(NetworkPlan((source, join)))
    joined.run([[((0, -1), 0, 1)], []], 1)
    for n in range(200):
        part: list[Signed] = [((n, n), n, 1), ((n, n), n, -1)]
        joined.run([part, part], n)
    assert joined.operator.n_tuples == 1
    assert joined.regions.scope("stores").n_bytes < 4000


def test_a_windowed_join_of_the_card() -> None:
    """Card A4.2 with Rows 3 and Range 2 minutes."""
    s1 = [(11, 5), (12, 25), (13, 7), (9, 1), (11, 8)]
    s2 = [(13, 1), (11, 2)]
    one, two = stream("s1", TWO), stream("s2", TWO)
    rows, range_ = window(WindowOp("rows", 3), one, "w1"), window(WindowOp("range", 120), two, "w2")
    work = JoinOp((((0, 0), (1, 0)),))
    join = PlannedOperator("j", work, ("w1", "w2"), TWO * 2)
    plan = plan_of(one, two, rows, range_, join)
    regions = MemoryRegions()
    clock = Clock(0, {})
    around = Surroundings(plan, regions, Strings(regions.scope("strings")), clock)
    windows = [SeqWindow(rows, around), SeqWindow(range_, around)]
    arrivals = [
        block_of([(row, n + 1, 1) for n, row in enumerate(part)], TWO, list(range(len(part))))
        for part in (s1, s2)
    ]
    clock.arrived = {"S": (0, arrivals[0].tau)}
    found = [one.run([part], 200) for one, part in zip(windows, arrivals, strict=True)]
    joined = elements_of(WindowJoin(join, around).run(found, 200))

    assert [one for one in joined if one[0][0] > 10 and one[0][1] < 20] == [
        ((11, 5, 11, 2), 2, 1),
        ((13, 7, 13, 1), 3, 1),
        ((11, 5, 11, 2), 4, -1),
        ((11, 8, 11, 2), 5, 1),
        ((13, 7, 13, 1), 122, -1),
        ((11, 8, 11, 2), 123, -1),
    ]
