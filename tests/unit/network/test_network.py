"""The loop over operators: whatever is scheduled, everything that comes in goes through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.schema import Attribute, Schema
from backend.operators.network.core.blocks import Block, Column64, concat
from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.job import NetworkJob, Schedule, StreamTime, queue_id
from backend.operators.network.core.network import LeftInQueues
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.set_operations import SetOp
from tests.unit.network.collecting import CollectingNetwork

FIELDS = (Attribute("a", "bigint"),)


@dataclass
class Odd:
    """Lets odd values through, and checks what it is given."""

    planned: PlannedOperator
    n_tuples: int = 0
    n_bytes: int = 0
    told: int = -1

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        (block,) = inputs
        assert heartbeat >= self.told
        assert not len(block) or self.told <= block.tau[0] <= block.tau[-1] <= heartbeat
        self.told = heartbeat
        return block.take(block.columns[0].values % 2 == 1)

    def counters(self) -> Mapping[str, float]:
        return {}


class Merge(Odd):
    """Puts its inputs together, in order of time."""

    def run(self, inputs: Sequence[Block], heartbeat: int) -> Block:
        both = concat(list(inputs))
        assert heartbeat >= self.told
        assert not len(both) or self.told <= both.tau.min() <= both.tau.max() <= heartbeat
        self.told = heartbeat
        return both.take(np.argsort(both.tau, kind="stable"))


def network(schedule: Schedule) -> CollectingNetwork:
    """S and T, odd values of S merged with all of T, and odd ones of both."""
    operators = (
        PlannedOperator("S", StreamInput("S", (0,)), (), FIELDS),
        PlannedOperator("T", StreamInput("T", (0,)), (), FIELDS),
        PlannedOperator("odd", SetOp("union"), ("S",), FIELDS),
        PlannedOperator("both", SetOp("union"), ("odd", "T"), FIELDS),
        PlannedOperator("last", SetOp("union"), ("both",), FIELDS),
    )
    answers = {"all": PlannedAnswer("both", True), "odd": PlannedAnswer("last", True)}
    plan = NetworkPlan(operators, answers)
    schema = Schema(FIELDS)
    job = NetworkJob(
        plan,
        {"S": schema, "T": schema},
        {"S": StreamTime(None), "T": StreamTime(None)},
        schedule=schedule,
    )
    made = {
        "odd": Odd(operators[2]),
        "both": Merge(operators[3]),
        "last": Odd(operators[4]),
    }
    regions = MemoryRegions()
    surroundings = Surroundings(plan, regions, Strings(regions.scope("strings")), Clock())
    return CollectingNetwork(job, [one.id for one in operators], made, surroundings)


def block(taus: Sequence[int], values: Sequence[int]) -> Block:
    """Elements with sign +."""
    n = len(taus)
    column = Column64(np.array(values, np.int64))
    return Block(np.array(taus, np.int64), np.ones(n, np.int8), (column,), np.arange(n))


def pairs(block: Block) -> list[tuple[int, int]]:
    """(τ, value), sorted."""
    return sorted(zip(block.tau.tolist(), block.columns[0].values.tolist(), strict=True))


ELEMENTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=60).map(sorted)
SCHEDULES = st.builds(
    Schedule,
    policy=st.sampled_from(["fifo", "round_robin", "greedy", "chain"]),
    slopes=st.just({"odd": (0.5, 0), "both": (0.9, 1), "last": (0.1, 2)}),
    costs=st.just({"odd": 2.0}),
    work=st.sampled_from([0.0, 1.0, 4.0]),
    capacity=st.sampled_from([{}, {queue_id("odd", "both", 0): 1, queue_id("both", "last", 0): 2}]),
    load=st.sampled_from([0.5, 2.0]),
    block_tuples=st.sampled_from([1, 3, 4096]),
)


@given(ELEMENTS, ELEMENTS, SCHEDULES)
def test_what_comes_out_does_not_depend_on_the_schedule(
    of_s: list[tuple[int, int]], of_t: list[tuple[int, int]], schedule: Schedule
) -> None:
    arrivals = {"S": block(*_columns(of_s)), "T": block(*_columns(of_t))}
    found, report = network(schedule).played(arrivals, 41)
    wanted = sorted([one for one in of_s if one[1] % 2] + of_t)
    assert pairs(found["all"]) == wanted
    assert pairs(found["odd"]) == [one for one in wanted if one[1] % 2]
    assert (np.diff(found["all"].tau) >= 0).all()
    assert report.operators["both"].n_in == report.operators["both"].n_out == len(wanted)
    assert report.queues[queue_id("both", "last", 0)].n_passed == len(wanted)


def _columns(elements: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    return [tau for tau, _ in elements], [value for _, value in elements]


def test_too_much_work_makes_queues_grow_and_the_end_of_the_batch_empties_them() -> None:
    n = 8192
    arrivals = {"S": block(range(n), [1] * n), "T": block([], [])}
    schedule = Schedule(work=3.0, load=2.0, block_tuples=128)
    found, report = network(schedule).played(arrivals, n)
    assert len(found["odd"]) == n
    held = np.sum([curve.tuples for curve in report.queues.values()], axis=0)
    assert len(held) == 4
    assert held[-1] > held[0] > 0
    idle = network(replace(schedule, load=0.5)).played(arrivals, n)[1]
    assert sum(int(curve.tuples.sum()) for curve in idle.queues.values()) == 0


@pytest.mark.parametrize("cost", [float("inf"), float("nan")])
def test_nobody_schedules_by_what_is_no_number(cost: float) -> None:
    for wrong in ({"costs": {"odd": cost}}, {"slopes": {"odd": (cost, 1)}}, {"work": cost}):
        with pytest.raises(ValueError, match="a schedule needs finite numbers"):
            Schedule(**wrong)


def test_a_batch_that_leaves_elements_in_queues_does_not_count() -> None:
    made = network(Schedule())
    made._running = [running for running in made._running if running.id != "last"]
    with pytest.raises(LeftInQueues, match=r"'both>last\.0': 3"):
        made.played({"S": block(range(3), [1] * 3), "T": block([], [])}, 3)


def test_a_full_queue_holds_up_who_fills_it() -> None:
    n = 4096
    arrivals = {"S": block(range(n), [1] * n), "T": block([], [])}
    queue = queue_id("both", "last", 0)
    schedule = Schedule(
        policy="greedy", slopes={"both": (1.0, 0), "odd": (0.5, 1)}, block_tuples=64
    )
    free = network(schedule).played(arrivals, n)[1]
    held = network(replace(schedule, capacity={queue: 64})).played(arrivals, n)[1]
    assert free.queues[queue].high > 64
    assert held.queues[queue].high == 64
    assert held.operators["last"].n_out == free.operators["last"].n_out == n


def test_work_beyond_the_time_of_an_instant_is_owed() -> None:
    """Blocks larger than what comes in at an instant do not make the processor faster."""
    n = 65_536
    arrivals = {"S": block(range(n), [1] * n), "T": block([], [])}
    schedule = Schedule(work=3.0, load=2.0)
    report = network(schedule).played(arrivals, n)[1]
    held = np.sum([curve.tuples for curve in report.queues.values()], axis=0)
    assert len(held) == 32
    assert held[-1] >= n // 2


@pytest.mark.parametrize("first", [2**53, 1_700_000_000_000_000_001, 2**61 - 2_000_000])
def test_instants_are_exact_for_large_times(first: int) -> None:
    """Every integer counts, also where no float64 holds it."""
    n = 12_000
    taus = [first + 300 * k for k in range(n)]
    arrivals = {"S": block(taus, [1] * n), "T": block([], [])}
    found, report = network(Schedule()).played(arrivals, taus[-1] + 1)
    assert found["all"].tau.tolist() == taus
    (times,) = {tuple(curve.times.tolist()) for curve in report.queues.values()}
    assert len(times) == 5
    assert times[-1] == taus[-1] + 1


@pytest.mark.parametrize("first", [2**53, 1_700_000_000_000_000_001])
def test_the_last_tick_of_a_large_time_is_taken(first: int) -> None:
    arrivals = {"S": block([first], [1]), "T": block([], [])}
    assert network(Schedule()).played(arrivals, first + 1)[0]["all"].tau.tolist() == [first]


def test_round_robin_goes_on_from_instant_to_instant() -> None:
    """Who ran last at an instant is not the first at the next one."""
    n = 4096
    arrivals = {"S": block(range(n), [1] * n), "T": block(range(n), [1] * n)}
    schedule = Schedule(policy="round_robin", work=1.0, load=4.0, block_tuples=64)
    ran = list((one := network(schedule)).decisions(arrivals, one.ticks(n)))
    assert ran[:60] == ["odd", "both", "last"] * 20


def test_one_decision_at_a_time() -> None:
    arrivals = {"S": block([1, 2], [1, 2]), "T": block([1], [3])}
    one = network(Schedule())
    ran = list(one.decisions(arrivals, one.ticks(5)))
    assert set(ran) == {"odd", "both", "last"}
    assert pairs(one.answers()["all"]) == [(1, 1), (1, 3)]


@pytest.mark.parametrize("policy", ["fifo", "chain"])
def test_time_goes_on_without_tuples(policy: str) -> None:
    none = {"S": block([], []), "T": block([], [])}
    found, report = network(Schedule(policy=policy)).played(none, 7)  # type: ignore[arg-type]
    assert not len(found["all"])
    assert report.operators["last"].n_runs == 1
