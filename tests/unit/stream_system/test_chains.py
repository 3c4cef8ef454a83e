"""Chain and Greedy: the worked tables of the thesis (card A8, erratum D13), and the oracle."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.schema import Attribute
from backend.operators.network.core.job import Policy
from backend.operators.network.core.plan import NetworkPlan, PlannedAnswer
from backend.operators.network.core.scheduling import Ready, choose
from backend.operators.network.core.work import PlannedOperator
from backend.operators.network.kinds.distinct import DistinctOp
from backend.operators.network.kinds.inputs import StreamInput
from backend.operators.network.kinds.joins import JoinOp
from backend.systems.stream.chains.bursts import N_BLOCKS, waiting
from backend.systems.stream.chains.progress import (
    Step,
    partition,
    paths_of,
    progress,
    slopes_of,
    steps_of,
)
from tests.oracles import chains as oracle

FIELDS = (Attribute("a", "bigint"),)
#: Selectivities of the two plans of card A8; each operator takes a unit of time for a block.
FIRST, SECOND = ("0.2", "0"), ("0.9", "1", "0")


def path(selectivities: Sequence[str]) -> list[Step]:
    """The operators of a plan of card A8: O1, O2... A block takes each a unit of time, whatever is
    left of it, so that the cost of an element is 1 / size."""
    sizes = oracle.sizes([Fraction(s) for s in selectivities])
    last = len(selectivities) - 1
    return [
        Step(f"O{n + 1}", 0.0 if n == last else float(Fraction(s)), cost=float(1 / sizes[n]))
        for n, s in enumerate(selectivities)
    ]


def memory(selectivities: Sequence[str], policy: Policy) -> list[float]:
    """Total size at t = 0..6 where the network's scheduler chooses by our slopes."""
    slopes = slopes_of(policy, [path(selectivities)])
    by_place = {n: slopes[f"O{n + 1}"] for n in range(len(selectivities))}

    def pick(blocks: Sequence[tuple[int, int]]) -> int:
        ready = [Ready(place, age) for age, place in blocks]
        return ready.index(choose(policy, ready, by_place, -1))

    found = oracle.memory([Fraction(s) for s in selectivities], pick, 6)
    return [float(size) for size in found]


@pytest.mark.parametrize(
    ("selectivities", "policy", "sizes", "average"),
    [
        (FIRST, "fifo", [1.0, 1.2, 2.0, 2.2, 3.0, 3.2, 4.0], 2.371),
        (FIRST, "greedy", [1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2], 1.6),
        (FIRST, "chain", [1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.2], 1.6),
        (SECOND, "fifo", [1.0, 1.9, 2.9, 3.0, 3.9, 4.9, 5.0], 3.229),
        (SECOND, "chain", [1.0, 1.9, 2.9, 3.0, 3.9, 4.9, 5.0], 3.229),
        (SECOND, "greedy", [1.0, 1.9, 2.8, 3.7, 4.6, 5.5, 6.4], 3.7),
    ],
)
def test_the_worked_tables(
    selectivities: Sequence[str], policy: Policy, sizes: list[float], average: float
) -> None:
    found = memory(selectivities, policy)
    assert found == pytest.approx(sizes)
    assert sum(found) / len(found) == pytest.approx(average, abs=0.0005)


def test_the_clairvoyant_bound_of_the_worked_tables() -> None:
    found = [float(size) for size in oracle.least_memory([Fraction(s) for s in SECOND], 6)]
    assert found == pytest.approx([1.0, 1.9, 2.8, 3.0, 3.9, 4.8, 5.0])


def test_the_chains_of_the_worked_plans() -> None:
    assert [(c.operators, round(c.slope, 9)) for c in partition(path(FIRST))] == [
        (("O1",), 0.8),
        (("O2",), 0.2),
    ]
    (chain,) = partition(path(SECOND))
    assert chain.operators == ("O1", "O2", "O3")
    assert chain.slope == pytest.approx(1 / 3)
    greedy = slopes_of("greedy", [path(SECOND)])
    assert sorted(greedy, key=lambda id: greedy[id][1]) == ["O3", "O1", "O2"]


SELECTIVITIES = st.lists(
    st.fractions(Fraction(1, 20), 2, max_denominator=20), min_size=1, max_size=6
)
TIMES = st.lists(st.fractions(Fraction(1, 10), 5, max_denominator=10), min_size=6, max_size=6)


@given(SELECTIVITIES, TIMES)
def test_chains_are_those_of_the_oracle(
    selectivities: list[Fraction], times: list[Fraction]
) -> None:
    sizes = oracle.sizes(selectivities)
    last = len(selectivities) - 1
    steps = [
        Step(str(n), 0.0 if n == last else float(s), cost=float(times[n] / sizes[n]))
        for n, s in enumerate(selectivities)
    ]
    wanted = oracle.chains(selectivities, times[: last + 1])
    found = partition(steps)
    assert [c.operators for c in found] == [tuple(map(str, own)) for own, _ in wanted]
    assert [c.slope for c in found] == pytest.approx([float(slope) for _, slope in wanted])
    slopes = [float(slope) for _, slope in wanted]
    assert slopes == sorted(slopes, reverse=True)


@given(SELECTIVITIES)
def test_chain_is_at_most_a_block_above_the_clairvoyant_bound(
    selectivities: list[Fraction],
) -> None:
    shrinking = [min(s, Fraction(1)) for s in selectivities[:4]]
    texts = [str(s) for s in shrinking]
    bound = [float(size) for size in oracle.least_memory(shrinking, 6)]
    found = memory(texts, "chain")
    assert all(size <= least + 1 + 1e-9 for size, least in zip(found, bound, strict=True))
    assert sum(found) <= sum(memory(texts, "fifo")) + 1e-9


def test_a_progress_chart_counts_what_goes_to_other_queues() -> None:
    chart = progress([Step("a", 0.5, 0.25, 2.0), Step("b", 0.0, 0.0, 4.0)])
    assert chart == ((0.0, 1.0), (2.0, 0.75), (4.0, 0.25))


def operator(id: str, *inputs: str) -> PlannedOperator:
    work = JoinOp() if len(inputs) > 1 else DistinctOp() if inputs else StreamInput("S", (0,))
    return PlannedOperator(id, work, inputs, FIELDS)


def test_a_join_is_on_the_path_of_its_first_input_and_shared_elements_are_beside() -> None:
    plan = NetworkPlan(
        (
            operator("S"),
            operator("T"),
            operator("a", "S"),
            operator("b", "T"),
            operator("join", "a", "b"),
            operator("own", "a"),
        ),
        {"q": PlannedAnswer("join", False)},
    )
    assert paths_of(plan) == (("a", "join"), ("b",), ("own",))
    selectivities = {"a": 0.5, "b": 0.25, "join": 3.0, "own": 0.1}
    steps = steps_of(plan, selectivities, {"join": 8.0})
    assert steps == (
        (Step("a", 0.5, 0.5), Step("join", 0.0, 0.0, 8.0)),
        (Step("b", 0.0, 0.25),),
        (Step("own", 0.0, 0.0),),
    )
    slopes = slopes_of("chain", steps)
    assert slopes["own"] == (1.0, 0)
    assert slopes["b"] == (0.75, 1)
    assert slopes["a"][1] == slopes["join"][1] == 2


def test_what_waits_in_a_burst_is_least_under_chain() -> None:
    paths = [path(SECOND), [Step("P1", 0.1, cost=1.0), Step("P2", 0.0, cost=5.0)]]
    arrivals = {"O1": 0.5, "P1": 0.5}
    found = {
        policy: waiting(policy, paths, arrivals, slopes_of(policy, paths))
        for policy in ("fifo", "greedy", "chain")
    }
    assert found["chain"] < found["fifo"]
    assert found["chain"] <= found["greedy"] + 1e-9
    assert 0 < found["chain"] < 1
    assert waiting("chain", paths, {}, {}) == 0


PATHS = st.lists(
    st.lists(
        st.tuples(st.sampled_from([0.1, 0.5, 1.0, 1.5]), st.sampled_from([0.5, 1.0, 3.0])),
        min_size=1,
        max_size=4,
    ),
    min_size=1,
    max_size=4,
)


@given(PATHS, st.sampled_from(["fifo", "greedy", "chain"]))
def test_what_waits_in_a_burst_is_what_the_oracle_counts(
    paths: list[list[tuple[float, float]]], policy: Policy
) -> None:
    steps = [
        [
            Step(f"{p}.{n}", passed if n + 1 < len(path) else 0.0, 0.25, cost)
            for n, (passed, cost) in enumerate(path)
        ]
        for p, path in enumerate(paths)
    ]
    slopes = slopes_of("chain" if policy == "fifo" else policy, steps)
    flat = [step for path in steps for step in path]
    by_place = {place: slopes[step.id] for place, step in enumerate(flat)}

    def pick(blocks: Sequence[tuple[int, int]]) -> int:
        ready = [Ready(place, age) for age, place in blocks]
        return ready.index(choose(policy, ready, by_place, -1))

    arrivals = {path[0].id: 1 / len(steps) for path in steps}
    told = [[(step.passed, step.cost) for step in path] for path in steps]
    found = waiting(policy, steps, arrivals, slopes)
    assert found == pytest.approx(oracle.burst(told, N_BLOCKS, pick))
