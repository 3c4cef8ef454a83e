"""Modules about time, state and sliders, each imported by itself and asked for its cases."""

from __future__ import annotations

from dataclasses import asdict
from itertools import product

import numpy as np
import pytest

from backend.engine.knobs import KNOBS
from backend.model.knobs import KnobSpec
from dashboard.views.shell import pack
from dashboard.views.standing import standing
from storage.tables.rows import SeriesData
from tests.web.conftest import Ask

pytestmark = pytest.mark.web


@pytest.mark.parametrize(
    ("backlog", "batch", "words"),
    [
        ([0, 0, 0, 0], 100, ""),
        ([290, 290, 290, 290], 100, ""),
        ([12_400] * 6, 100, "behind: 12.4k tuples wait"),
        ([9300, 12_400, 15_500, 18_600], 100, "behind: +3.1k/s, 18.6k tuples wait"),
        ([8000, 6000, 4000, 2000], 100, "catching up: 2.0k tuples wait, worked off in 1.0 s"),
        ([12_400, 15_500], 100, "behind: 15.5k tuples wait"),
    ],
)
def test_a_backlog_is_told_while_it_is_one(
    ask: Ask, backlog: list[int], batch: int, words: str
) -> None:
    points = [{"t": 1000.0 + place, "n": n} for place, n in enumerate(backlog)]
    found = ask("behind", "m.behindWords(points, batch)", points=points, batch=batch)
    assert found.replace("\u2009", " ") == words


def test_the_slowest_part_takes_most_of_the_time_of_a_batch(ask: Ask) -> None:
    works = [["j", "⋈ carrier", "processing_us"], ["s", "σ gust", "processing_us"]]
    told = {
        "j": {"reached_tuples": 100, "processing_us": 3.05},
        "s": {"reached_tuples": 390, "processing_us": 0.5},
    }
    found = ask("behind", "m.slowestOf(works, told)", works=works, told=told)
    assert found.replace("\u2009", " ") == "⋈ carrier 61.0 %"
    idle = {"j": {"reached_tuples": 0, "processing_us": 3.05}}
    assert ask("behind", "m.slowestOf(works, told)", works=works, told=idle) == ""


@pytest.mark.parametrize(
    ("full", "words"),
    [
        (240, ", state full in 4 min, slowest a 60 %"),
        (0, ", state full, slowest a 60 %"),
        (7200, ", slowest a 60 %"),
        (None, ", slowest a 60 %"),
    ],
)
def test_a_backlog_says_when_state_is_full_and_what_is_slowest(
    ask: Ask, full: float | None, words: str
) -> None:
    points = [{"t": 1000.0 + place, "n": 9300 + 3100 * place} for place in range(4)]
    said = "m.behindWords(points, 100, 0, 'a 60 %', full)"
    assert ask("behind", said, points=points, full=full) == (
        f"behind: +3.1k/s, 18.6k tuples wait{words}"
    )


def test_how_a_run_stands_is_told_as_the_server_does(ask: Ask) -> None:
    states = ("starting", "running", "ended", "failed")
    ages = (None, 0.5, 4.0, 9.0, 45.0, 700.0)
    names = ("state", "batch", "age_s", "beat_age_s", "backlog", "period_s", "held", "note", "over")
    numbers = ((None, 1234), ages, ages, (None, 0, 90), (0.0, 1.0, 20.0))
    notes = ("", "its job runs", "waits for input")
    cases = list(product(states, *numbers, ("", "by us"), notes, (False, True)))
    runs = [dict(zip(names, case, strict=True)) for case in cases]
    told = ask("standing", "all.map((one) => Object.values(m.standing(one)))", all=runs)
    assert told == [list(standing(*case)) for case in cases]


def test_ages_go_on_evenly_when_the_clock_is_set(ask: Ask) -> None:
    """An hour forward, and two back: each time before the next sign, and with it."""
    looks = [
        *[(1000.0, 1004.0, 50.0), (1000.0, 1006.0, 52.0), (1000.0, 4608.0, 54.0)],
        *[(4610.0, 4610.5, 56.5), (4610.0, -2588.0, 58.0), (-2587.0, -2586.5, 59.5)],
        (-2587.0, -2576.0, 70.0),
    ]
    ages = ask(
        "signs", "looks.map(([sign, now, at]) => m.ageOf('beat', sign, now, at))", looks=looks
    )
    assert ages == pytest.approx([4.0, 6.0, 8.0, 0.5, 2.0, 0.5, 11.0])
    assert ask("signs", "[m.ageOf('batch', null, 5, 5), m.ageOf('batch', 9, 5, 5)]") == [None, 0]


def test_the_time_told_goes_on_evenly_and_the_quickest_answer_counts(ask: Ask) -> None:
    """Each answer: run, time told, and when it came by a clock that nobody sets."""
    answers = [
        *[("a", 1000.0, 50.0), ("a", 1000.5, 51.5), ("a", None, 52.0), ("a", 1003.0, 52.5)],
        *[("a", -2598.0, 53.0), ("a", 4604.0, 54.0), ("b", 9.5, 54.0)],
    ]
    expression = (
        "answers.map(([run, told, at]) => (m.hearTime(run, told, at), m.engineTime(at + 1)))"
    )
    times = ask("clock", expression, answers=answers)
    assert times == pytest.approx([1001, 1002.5, 1003, 1004, -2597, 4605, 10.5])


def test_a_sign_that_lies_ahead_is_none_any_more(ask: Ask) -> None:
    cases = [(None, None), (None, 9.0), (9.0, None), (9.0, 10.0), (10.0, 9.0), (3700.0, 100.0)]
    newest = ask("signs", "all.map(([a, b]) => m.newerOf(a, b, 101))", all=cases)
    assert newest == [None, 9.0, 9.0, 10.0, 10.0, 100.0]


@pytest.mark.parametrize("spec", KNOBS, ids=lambda spec: spec.name)
def test_a_slider_moves_where_people_turn_it(ask: Ask, spec: KnobSpec) -> None:
    low, high, default = spec.low, spec.high, spec.default
    if low is None or high is None or not isinstance(default, int | float):
        return
    knob = asdict(spec)
    start = default if default > low else (high - low) / (1e4 if spec.scale == "log" else 4)
    values = [low, start / 2, start, 2 * start, high]
    expression = "all.map((v) => m.knobPosition(knob, v))"
    places = ask("knob_scale", expression, all=values, knob=knob)
    assert (places[0], places[-1]) == (0, pytest.approx(1000))
    assert places == sorted(places)
    assert places[3] - places[1] > 30, "a hand cannot tell half the value from twice"
    back = ask("knob_scale", "all.map((p) => m.knobValue(knob, p))", all=places, knob=knob)
    inside = [min(high, max(low, value)) for value in values]
    assert back == pytest.approx(inside, rel=0.01, abs=0.51 if spec.kind == "int" else 1e-9)
    stepped = ask("knob_scale", "m.knobStep(knob, m.knobStep(knob, low, 1), 1)", knob=knob, low=low)
    assert stepped > low


@pytest.mark.parametrize(
    ("span", "first", "last"),
    [
        (None, 0, 100),
        ("5m", 70, 100),
        ("1h", 0, 100),
        ("20-60", 20, 60),
        ("90-900", 90, 100),
        ("900-950", 99, 100),
        ("60-20", 60, 61),
        ("nonsense", 0, 100),
    ],
)
def test_a_span_is_a_range_of_batches(ask: Ask, span: str | None, first: int, last: int) -> None:
    times = [[batch, 1000 + 10 * batch] for batch in range(0, 101, 5)]
    whole = {"first": 0, "last": 100}
    found = ask("times", "m.spanOf(span, whole, times)", span=span, whole=whole, times=times)
    assert found == {"first": first, "last": last}


def test_spans_and_replays_take_no_time_back_where_the_clock_was_set_back(ask: Ask) -> None:
    """By an hour, after the third batch; 'the last minutes' are those since then and before."""
    times = [[0, 5000], [1, 5200], [2, 5400], [3, 1900], [4, 2100], [5, 2300]]
    evened = [[0, 5000], [1, 5200], [2, 5400], [3, 5400], [4, 5600], [5, 5800]]
    assert ask("times", "m.evened(times)", times=times) == evened
    assert ask("times", "m.evened(evened)", evened=evened) == evened
    found = ask("times", "m.spanOf('5m', whole, times)", times=times, whole={"first": 0, "last": 5})
    assert found == {"first": 3, "last": 5}


def test_a_history_is_packed_and_unpacked(ask: Ask) -> None:
    steps = np.arange(5)
    values = np.array([3.25, np.nan, 0.0, 160.333333, 4.0])
    unknown = np.full(5, np.nan)
    batches, times = 7 + 3 * steps, 1.7e9 + steps**2 / 7
    cost = SeriesData(
        "e", "p", "", batches, times, values, unknown, unknown, batches, thinned=False
    )
    found = ask("times", "m.unpacked(packed)", packed=pack(cost))
    assert [batch for batch, _ in found["times"]] == batches.tolist()
    assert [time for _, time in found["times"]] == pytest.approx(times.tolist(), abs=0.0006)
    assert found["cost"] == [[7, 3.25], [13, 0], [16, 160.3], [19, 4]]


def test_batches_and_times_go_there_and_back(ask: Ask) -> None:
    times = [[0, 10.0], [4, 12.0], [5, 30.0]]
    told = ask(
        "times", "all.map((b) => m.timeOf(times, b))", times=times, all=[0, 2, 4, 5, 9, None]
    )
    assert told == [10, 11, 12, 30, 30, None]
    found = ask(
        "times", "all.map((t) => m.batchOf(times, t))", times=times, all=[0, 11, 12, 29, 99]
    )
    assert found == [0, 2, 4, 4, 5]
    assert ask("times", "[m.timeOf([], 3), m.batchOf([], 3)]") == [None, None]


def test_a_range_of_one_instant_is_none(ask: Ask) -> None:
    times = [[0, 10.0], [4, 14.0], [8, 14.0]]
    ranges = [{"first": a, "last": b} for a, b in ((1, 3), (4, 8), (0, 8))]
    told = ask("times", "all.map((one) => m.timesOf(times, one))", times=times, all=ranges)
    assert told == [[11, 13], None, [10, 14]]
    assert ask("times", "m.timesOf([], all[0])", all=ranges) is None


@pytest.mark.parametrize(
    ("numbers", "top", "cut"),
    [
        ([28_000, *[120] * 40], 132, 1),
        ([120] * 40, 120, 0),
        ([*[120] * 40, 28_000], 28_000, 0),
        ([*[3] * 20, *[12] * 20], 12, 0),
        ([28_000, 120, 130], 28_000, 0),
        ([0] * 30, 0, 0),
        ([], 0, 0),
    ],
)
def test_a_scale_is_not_flattened_by_a_few(
    ask: Ask, numbers: list[float], top: float, cut: int
) -> None:
    found = ask("times", "m.robustTop(numbers)", numbers=numbers)
    assert found == {"top": pytest.approx(top), "cut": cut}
