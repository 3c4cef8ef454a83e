"""The bench of adaptive joins: its tuples, its plans, and that all lanes find the same results."""

from __future__ import annotations

import numpy as np
import pytest

from backend.operators.network.joins.join_tuning import JoinTuning
from backend.systems.joins.decide.shape import JoinShape
from bench import joins
from bench.experiments.join_trees import is_connected, trees
from bench.joins_data import ChainPhase, chained, connected_orders, fixed_plans, join_cases, phased
from bench.joins_lanes import FixedLane, JoinLane, TreeLane, join_turns
from bench.stream_data import DifferentResults

PHASE = ChainPhase("", (1, 1, 4), (8, 5))


def test_phases_have_their_rates_and_values() -> None:
    hot = ChainPhase("", (3, 1, 1), (7, 9), hot=2)
    found = phased([PHASE, hot], 6_000, (50,) * 3, np.random.default_rng(1))
    shares = [np.bincount(found.streams[half : half + 6_000]) / 6_000 for half in (0, 6_000)]
    assert shares[0] == pytest.approx(np.array([1, 1, 4]) / 6, abs=0.03)
    assert shares[1] == pytest.approx(np.array([3, 1, 1]) / 5, abs=0.03)
    first, last = found.values[:6_000], found.values[6_000:]
    assert set(first[found.streams[:6_000] == 1, 0]) == set(range(8))
    assert set(first[found.streams[:6_000] == 1, 1]) == set(range(5))
    assert set(last[found.streams[6_000:] == 2, 0]) == {0, 1}
    assert found.widths == (1, 2, 1)


def test_fixed_plans_are_all_connected_orders_with_all_sets_of_caches() -> None:
    shape = JoinShape.of(chained(3), 3, "RST")
    assert len(list(connected_orders(shape))) == 2
    plans = fixed_plans(shape, 6)
    assert len(plans) == 10
    assert "orders 1, R ⋈ S" in plans
    connected = [one for one in trees((0, 1, 2)) if is_connected(one, chained(3))]
    assert connected == [(0, (1, 2)), ((0, 1), 2)]


def test_all_plans_and_trees_find_the_same_in_every_stretch() -> None:
    work, arrivals = chained(3), phased([PHASE], 3_000, (40,) * 3, np.random.default_rng(2))
    lanes: dict[str, JoinLane] = {
        name: FixedLane(work, arrivals.widths, tuning)
        for name, tuning in fixed_plans(JoinShape.of(work, 3), 6).items()
    }
    lanes["tree"] = TreeLane(work, arrivals.widths, (0, (1, 2)))
    took = join_turns(lanes, arrivals, 1_000)
    assert {len(of) for of in took.values()} == {3}
    assert all(of[-1].answered.n > 1_000 for of in took.values())


def test_a_lane_that_finds_something_else_stops_the_bench() -> None:
    work, arrivals = chained(3), phased([PHASE], 1_000, (40,) * 3, np.random.default_rng(3))
    lanes: dict[str, JoinLane] = {
        "right": FixedLane(work, arrivals.widths, JoinTuning()),
        "wrong": TreeLane(chained(2), (1, 2), (0, 1)),
    }
    with pytest.raises(DifferentResults, match="stretch 0: wrong found"):
        join_turns(lanes, arrivals, 1_000)


def test_the_whole_bench_runs_small(capsys: pytest.CaptureFixture[str]) -> None:
    joins.small()
    said = capsys.readouterr().out
    for phase in joins.PHASES:
        assert f"\n{phase.name}: " in said
    for case in join_cases(400, 100):
        assert f"\n{case.name}: " in said
    assert "watched in vain" in said
    assert "drop probing" in said
