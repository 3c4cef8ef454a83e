"""The log keeps what it should, knows what is near, and refuses what would poison it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.planlog.log import LogOptions, PlanLog
from backend.adaptive.planlog.records import (
    LogSchema,
    NamedStatistic,
    PlanEvaluation,
    PlanLogRefused,
    evaluation_of,
)
from backend.adaptive.planlog.regions import hash_of_number
from storage.vocabulary.planlog import form_digest
from tests.oracles.planlog_log import SlowLog, mean_cost

SCHEMA = LogSchema((NamedStatistic("drop", "prob"), NamedStatistic("cost", "us")), "us/tuple")
PLANS = ["ab", "ba", "c"]
VALUES = st.integers(-40, 40).map(lambda n: n / 4)
STEPS = st.lists(st.tuples(VALUES, VALUES, st.sampled_from(PLANS)), min_size=1, max_size=40)


def logged(steps: list[tuple[float, float, str]], options: LogOptions | None = None) -> PlanLog:
    """After these evaluations, with 100 tuples under each."""
    log = PlanLog(SCHEMA, options)
    for place, (drop, cost, plan) in enumerate(steps):
        log.evaluated(place * 100, (drop, cost), log.learn(plan), abs(cost), 1.0)
        log.ran(100, 100 * abs(cost) + place)
    return log


def kept(log: PlanLog, schema: LogSchema = SCHEMA) -> list[PlanEvaluation]:
    """The evaluations that a stored log has, in order; the last one as it ran so far."""
    state = log.state()
    rows = {row[0]: (row, region["plan"]) for region in state["regions"] for row in region["kept"]}
    if state["open"] is not None and state["open"][3][0] in rows:
        rows[state["open"][3][0]] = (state["open"][3], state["open"][2])
    return [evaluation_of(*rows[number], schema) for number in sorted(rows)]


@given(STEPS, VALUES, VALUES)
def test_what_is_kept_and_known_is_what_the_twin_keeps_and_knows(
    steps: list[tuple[float, float, str]], drop: float, cost: float
) -> None:
    options = LogOptions(per_region=3, neighbours=5, seed=7)
    log = logged(steps, options)
    slow = SlowLog(options.limit, 3, lambda number: hash_of_number(number, 7))
    for one, other, plan in steps:
        slow.evaluated((one, other), plan)
    expected = {each[0] for _, members in slow.regions for each in slow.kept(members)}
    assert {record.number for record in kept(log)} == expected
    known = slow.known((drop, cost), 10_000)
    wide = logged(steps, LogOptions(per_region=3, neighbours=10_000, seed=7))
    answers = {each.plan: (each.distance, each.votes) for each in wide.reuse((drop, cost))}
    assert answers.keys() == known.keys()
    for plan, (distance, votes) in answers.items():
        assert distance == pytest.approx(known[plan][0], rel=1e-9, abs=1e-9)
        assert votes == known[plan][1]


@given(STEPS, st.integers(0, 40), VALUES)
def test_a_log_that_was_stored_goes_on_as_the_one_that_was_not(
    steps: list[tuple[float, float, str]], cut: int, drop: float
) -> None:
    options = LogOptions(per_region=2, n_regions=4, seed=1)
    whole = logged(steps, options)
    part = PlanLog.restored(
        json.loads(json.dumps(logged(steps[:cut], options).state())), SCHEMA, options
    )
    for place, (one, other, plan) in list(enumerate(steps))[cut:]:
        part.evaluated(place * 100, (one, other), part.learn(plan), abs(other), 1.0)
        part.ran(100, 100 * abs(other) + place)
    assert part.state() == whole.state()
    assert part.reuse((drop, 1.0)) == whole.reuse((drop, 1.0))


def test_measured_costs_are_those_of_batches_until_the_next_evaluation() -> None:
    log = PlanLog(SCHEMA)
    log.ran(10, 99.0)
    batches = [(10, 5.0), (30, 25.0)]
    log.evaluated(0, (1, 1), log.learn("ab"), 0.5, 2.0)
    for n_tuples, cost in batches:
        log.ran(n_tuples, cost)
    log.evaluated(40, (1, 1), log.learn("ba"), 0.25, 2.0)
    first, second = kept(log)
    assert (first.measured, first.n_tuples) == (mean_cost(batches), 40)
    assert (second.measured, second.n_tuples) == (None, 0)


def test_a_log_stays_within_its_bounds_and_200_bytes_an_evaluation() -> None:
    rng = np.random.default_rng(5)
    schema = LogSchema(
        tuple(NamedStatistic(f"drop of filter {i}", "prob") for i in range(10)), "us"
    )
    log = PlanLog(schema, LogOptions(per_region=8, n_regions=6, n_plans=12))
    sizes = []
    for t in range(600):
        statistics = rng.normal(10 * (t // 20), 0.1, 10).tolist()
        digest = log.learn([f"f{i}" for i in rng.permutation(10)][: 1 + t // 20 % 3])
        log.evaluated(t, statistics, digest, rng.random(), rng.random())
        log.ran(1000, 1000 * rng.random())
        sizes.append(len(json.dumps(log.state(), separators=(",", ":"))) / (t + 1))
    assert len(kept(log, schema)) <= 8 * 6
    assert len(log.plans) <= 12 + 6
    assert sizes[-1] <= 200
    roomy = PlanLog(schema, LogOptions(per_region=1000))
    for t in range(500):
        digest = roomy.learn(["f1", "f2", "f3"])
        roomy.evaluated(10_000 * t, rng.random(10).tolist(), digest, rng.random(), rng.random())
        roomy.ran(10_000, 10_000 * rng.random())
    assert len(kept(roomy, schema)) == 500
    assert len(json.dumps(roomy.state(), separators=(",", ":"))) <= 200 * 500


def poisoned(key: str, value: Any) -> Mapping[str, Any]:
    """A good state with something else in it; 'regions.kept' goes into the first region."""
    state: dict[str, Any] = json.loads(json.dumps(logged([(1, 2, "ab"), (1, 2, "ab")]).state()))
    first, _, second = key.partition(".")
    if second:
        state[first][0][second] = value
    else:
        state[first] = value
    return state


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("version", 2, "version is 2, this run's is 1"),
        ("statistics", [["drop", "%"], ["cost", "us"]], "statistics is .*%"),
        ("statistics", [["drop", "prob"]], "this run's is"),
        ("cost_unit", "visits", "cost_unit is 'visits'"),
        ("n", -1, "not a count"),
        ("n", "1", "not a count"),
        ("plans", {"0": "ab"}, "plan 0 of the log is not what it was"),
        ("plans", [], "another form"),
        ("plans", {}, "unknown plan"),
        ("regions", [{}], "another form"),
        ("regions", 3, "another form"),
        ("regions.centre", [1.0, math.nan], "no vector"),
        ("regions.centre", [1.0], "no vector"),
        ("regions.kept", [[1, 0, 2.0, 1.0, None, 0, math.nan, 2.0]], "'drop' is nan"),
        ("regions.kept", [[1, 0, 2.0, 1.0, None, 0, True, 2.0]], "'drop' is True"),
        ("regions.kept", [[1, 0, -2.0, 1.0, None, 0, 1.0, 2.0]], "below 0"),
        ("regions.kept", [[1, 0, 2.0, math.inf, None, 0, 1.0, 2.0]], "cost of deciding is inf"),
        ("regions.kept", [[1, 0]], "a record of the log has another form"),
        ("moves", {}, "scales have another form"),
        ("moves", {"n_moves": 1, "moves": [1], "largest": [1], "last": [1]}, "another number"),
        ("moves", {"n_moves": 1, "moves": [1, math.nan], "largest": [1, 1], "last": None}, "nan"),
        ("open", [1], "another form"),
    ],
)
def test_a_poisoned_log_is_refused_with_a_sentence(key: str, value: Any, sentence: str) -> None:
    with pytest.raises(PlanLogRefused, match=sentence):
        PlanLog.restored(poisoned(key, value), SCHEMA)


def test_an_evaluation_that_is_no_numbers_is_refused_and_leaves_the_log_alone() -> None:
    log = logged([(1, 2, "ab")])
    before = log.state()
    for statistics, predicted in (((1.0,), 1.0), ((1.0, math.nan), 1.0), ((1.0, 2.0), -1.0)):
        with pytest.raises(PlanLogRefused):
            log.evaluated(5, statistics, form_digest("ab"), predicted, 0.0)
    with pytest.raises(KeyError):
        log.evaluated(5, (1.0, 2.0), form_digest("never learnt"), 1.0, 0.0)
    assert log.state() == before


def test_a_statistic_that_never_moved_is_near_within_four_hundredths() -> None:
    log = logged([(1, 100, "ab"), (1, 100, "ab")])
    assert [each.plan for each in log.reuse((1, 103.9))] == ["ab"]
    assert log.reuse((1, 104.1)) == []
    assert log.is_apart((1, 100), (1, 104.1))
    assert PlanLog(SCHEMA).reuse((1, 1)) == []


def test_the_region_not_visited_longest_goes_and_plans_without_one_the_oldest_first() -> None:
    log = logged([(0, 0, "a"), (50, 0, "b"), (0, 0, "a"), (99, 0, "c")], LogOptions(n_regions=2))
    assert [record.plan for record in kept(log)] == [form_digest(p) for p in "aac"]
    roomy = PlanLog(SCHEMA, LogOptions(n_plans=3))
    roomy.evaluated(0, (1, 1), roomy.learn("a"), 1.0, 0.0)
    for plan in "bcde":
        roomy.learn(plan)
    assert list(roomy.plans.values()) == ["a", "d", "e"]
