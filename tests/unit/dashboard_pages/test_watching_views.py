"""Steps of a plan over time, and ways past others, from the records."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.systems.asc.hybrid_view import skips_of
from dashboard.views.plan import limits_of, plan_nodes
from dashboard.views.spreads import EWMA_WEIGHT, WINDOW, build_spreads, keys_of, since_of
from storage.tables.rows import SeriesData
from storage.vocabulary.records import Entity, PlanVersion

NODES = [
    {"id": "s", "role": "source", "name": "S"},
    {"id": "x1", "role": "selection", "name": "a"},
    {"id": "x2", "role": "selection", "name": "b"},
    {"id": "o", "role": "output", "name": "Output"},
]
EDGES = [
    {"source": "s", "target": "x1", "queue": "q0"},
    {"source": "x1", "target": "x2", "queue": "q1"},
    {"source": "x2", "target": "o", "queue": "q2"},
]
ARROWS = [
    ["a", 1, "b", 30, 0.2],
    ["a", 4, "b", 10, 0.1],
    ["b", 0, "a", 60, 0.5],
    ["z", 0, "a", 9, 1.0],
]
PLAN = PlanVersion(
    3, 5, "hybrid", ("x1", "x2"), {"nodes": NODES, "edges": EDGES}, "h", "", None,
    {"arrows": ARROWS},
)  # fmt: skip


def series(*values: float) -> SeriesData:
    batches, numbers = np.arange(5, 5 + len(values)), np.array(values, dtype=float)
    once, times = np.ones(len(values), dtype=np.int64), batches.astype(float)
    return SeriesData("e", "p", "", batches, times, numbers, numbers, numbers, once, False)


def test_all_arrows_between_two_are_one_way() -> None:
    first, second = skips_of(PLAN)
    assert (first.source, first.target, first.share) == ("x1", "x2", 0.4)
    assert first.words == "2 regions of a lead straight to b, decided on 40 sampled tuples"
    assert (second.source, second.target, second.share) == ("x2", "x1", 0.6)


def test_numbers_are_smoothed_and_kept_at_their_largest_and_gaps_left_out() -> None:
    nodes = plan_nodes(PLAN)
    assert ("x1", "drop_prob") in keys_of(nodes)
    assert ("s", "drop_prob") not in keys_of(nodes)
    told = {
        ("x1", "drop_prob"): series(0.5, float("nan"), 0.3),
        ("x1", "survival_prob"): series(0.5, 0.5, 0.7),
        ("x1", "reached_tuples"): series(100, 100, 100),
        ("x2", "reached_tuples"): series(50, 50, 300),
        ("x2", "survival_prob"): series(0.1, 0.5, 0.7),
    }
    found = build_spreads(PLAN, nodes, told, {})
    smoothed, largest = found["x1"]["drop"]
    assert smoothed == pytest.approx(0.5 - EWMA_WEIGHT * 0.2)
    assert largest == 0.5
    assert found["x2"]["drops"][1] == pytest.approx(0.4)
    assert found["x2"]["visits"][1] == pytest.approx(0.75)
    assert "drop" not in found["x2"]


def test_a_window_does_not_reach_back_to_another_plan() -> None:
    assert since_of(PLAN, 9) == 5
    assert since_of(PLAN, 100) == 100 - WINDOW + 1


def test_queues_with_a_limit() -> None:
    queues = [
        Entity("q1", "queue", "q1", {"capacity_tuples": 40}),
        Entity("q2", "queue", "q2", {"capacity_tuples": None}),
    ]
    assert limits_of({one.id: one for one in queues}) == {"q1": 40.0}


def test_an_operator_is_weighed_by_its_share_of_the_time_of_all() -> None:
    nodes = [
        {"id": "s", "role": "source", "name": "S"},
        {"id": "w", "role": "window", "name": "[Now]"},
        {"id": "j", "role": "join", "name": "a"},
        {"id": "o", "role": "output", "name": "Output"},
    ]
    plan = PlanVersion(1, 5, "network", (), {"nodes": nodes, "edges": []}, "h", "", None, {})
    drawn = plan_nodes(plan)
    assert {key for key in keys_of(drawn) if key[0] == "w"} == {
        ("w", "reached_tuples"),
        ("w", "processing_us"),
    }
    told = {
        ("w", "reached_tuples"): series(100, 100, 0),
        ("w", "processing_us"): series(1, 3, float("nan")),
        ("j", "reached_tuples"): series(300, 100, 50),
        ("j", "processing_us"): series(1, 1, 2),
    }
    found = build_spreads(plan, drawn, told, {})
    smoothed = 0.25 + EWMA_WEIGHT * (0.75 - 0.25)
    assert found["w"]["visits"] == [pytest.approx(smoothed, abs=1e-3), 0.75]
    assert found["j"]["visits"][1] == 1
