"""Schedules against the twin request by request, and what each method does."""

from __future__ import annotations

import json
from typing import Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.systems.amri.schedule import (
    PORTIONS,
    Method,
    ScheduleEvent,
    ScheduleSettings,
    TuningSchedule,
    after,
    after_batch,
    begin,
    turned,
)
from tests.oracles.amri_time import Scheduler
from tests.unit.amri.cases import long_lists

METHODS = st.sampled_from(get_args(Method))
Runs = list[tuple[int, int]]


def run(
    settings: ScheduleSettings, n: int, runs: Runs
) -> tuple[TuningSchedule, list[ScheduleEvent]]:
    known, happened = begin(settings, n)
    events = [*happened]
    for state, n_requests in runs:
        known = TuningSchedule.restored(json.loads(json.dumps(known)))
        known, happened = after(settings, known, state, n_requests)
        events += happened
    return known, events


def short(events: list[ScheduleEvent]) -> list[tuple[str, str, int, int]]:
    return [(one.kind, one.slot, one.state, one.request) for one in events]


@given(
    METHODS,
    st.integers(1, 5),
    st.integers(1, 12),
    st.integers(1, 15),
    long_lists(st.tuples(st.integers(0, 4), st.integers(0, 9))),
    st.sampled_from([0.0, 0.5, 2.0]),
)
def test_events_and_the_list_are_those_of_the_twin(
    method: Method, n: int, period: int, trigger: int, runs: Runs, least: float
) -> None:
    runs = [(state % n, n_requests) for state, n_requests in runs]
    known, events = run(ScheduleSettings(method, period, trigger, least), n, runs)
    slow = Scheduler(method, n, period, trigger, least)
    for state, n_requests in runs:
        for _ in range(n_requests):
            slow.request(state)
    assert short(events) == slow.trace
    assert known.order == tuple(slow.list)
    assert (known.turn, known.triggered) == (slow.slots["periodic"], slow.slots["triggered"])
    assert known.total == sum(n_requests for _, n_requests in runs)


@given(METHODS, long_lists(st.tuples(st.integers(0, 2), st.integers(0, 9))))
def test_each_selection_ends_an_assessment_and_never_two_at_once(
    method: Method, runs: Runs
) -> None:
    _, events = run(ScheduleSettings(method, 7, 10), 3, runs)
    under: set[int] = set()
    for one in events:
        if one.kind == "select":
            under.remove(one.state)
        elif one.kind == "assess":
            assert one.state not in under
            under.add(one.state)
    assert method != "off" or not events


@given(
    METHODS,
    st.integers(1, 400),
    st.integers(1, 900),
    st.lists(st.tuples(*[st.integers(0, 500)] * 3), min_size=1, max_size=5),
)
def test_requests_of_a_batch_come_to_all_states_side_by_side(
    method: Method, period: int, trigger: int, batches: list[tuple[int, int, int]]
) -> None:
    """As portion by portion, whatever window ends in the midst of them."""
    settings = ScheduleSettings(method, period, trigger)
    known, happened = begin(settings, 3)
    events, portions = [*happened], Runs()
    for requests in batches:
        known, happened = after_batch(settings, known, requests)
        events += happened
        portions += [
            (state, n * (portion + 1) // PORTIONS - n * portion // PORTIONS)
            for portion in range(PORTIONS)
            for state, n in enumerate(requests)
        ]
    slow, all_events = run(settings, 3, portions)
    assert (known, events) == (slow, all_events)
    assert known.total == sum(map(sum, batches))


def test_states_take_turns() -> None:
    _, events = run(ScheduleSettings("periodic", 10), 3, [(0, 40)])
    selected = [(one.state, one.request) for one in events if one.kind == "select"]
    assert selected == [(0, 10), (1, 20), (2, 30), (0, 40)]
    assert events[-1].order == (1, 2, 0)


def test_the_state_that_changed_most_is_assessed_and_both_sides_are_told() -> None:
    runs = [(0, 6), (1, 4), (0, 5), (1, 5), (0, 10)]
    _, events = run(ScheduleSettings("triggered", trigger=10), 2, runs)
    assert short(events) == [
        ("assess", "triggered", 1, 20), ("select", "triggered", 1, 30),
        ("assess", "triggered", 0, 30),
    ]  # fmt: skip
    first = events[0].sides
    assert first is not None
    assert (first.lhs, first.relation, first.rhs, first.n) == (0.25, ">", 0.0, 5)
    assert events[0].requests == (4, 5)
    _, events = run(ScheduleSettings("triggered", trigger=10, min_change=0.25), 2, runs[:4])
    assert short(events) == [("pass", "triggered", 1, 20)]


def test_turns_come_before_triggers_at_the_same_request() -> None:
    settings = ScheduleSettings("hybrid", 10, 20)
    _, events = run(settings, 3, [(0, 20), (2, 20)])
    assert short(events)[-3:] == [
        ("select", "periodic", 0, 40), ("assess", "periodic", 1, 40),
        ("assess", "triggered", 2, 40),
    ]  # fmt: skip


def test_a_state_that_is_assessed_in_its_turn_is_not_taken_twice() -> None:
    _, events = run(ScheduleSettings("hybrid", 1000, 10), 2, [(0, 10), (1, 10)])
    told = events[-1]
    assert told.kind == "assess"
    _, events = run(ScheduleSettings("hybrid", 1000, 10), 2, [(1, 10), (0, 10)])
    assert events[-1].kind == "pass"
    assert events[-1].sides is not None
    assert events[-1].sides.verdict == "kept"


@pytest.mark.parametrize(("method", "assessed"), [("continuous", {0, 1}), ("off", set())])
def test_all_or_none_are_under_assessment(method: Method, assessed: set[int]) -> None:
    known, _ = begin(ScheduleSettings(method), 2)
    assert known.assessed(method) == assessed


@pytest.mark.parametrize(
    ("method", "slots"),
    [("periodic", (0, None)), ("triggered", (None, 1)), ("hybrid", (0, 1)), ("off", (None, None))],
)
def test_another_method_leaves_the_slots_that_it_has_not(
    method: Literal["periodic", "triggered", "hybrid", "off"], slots: tuple[int | None, int | None]
) -> None:
    known = TuningSchedule(30, (0, 1, 2), (0, 0, 0), (1, 2, 3), 0, 1)
    then, events = turned(ScheduleSettings(method), known)
    assert (then.turn, then.triggered) == slots
    assert events == ()
    begun, events = turned(ScheduleSettings("periodic"), known._replace(turn=None))
    assert (begun.turn, short(list(events))) == (0, [("assess", "periodic", 0, 30)])
