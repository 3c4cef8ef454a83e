"""Where batches take their time."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.figures.phases import draw_phases
from dashboard.views.book import Book
from dashboard.views.phases import WORDS, build_phases, operator_work
from storage.tables.rows import SeriesData
from storage.vocabulary.records import Batch, Entity


def a_batch(id: int, duration: float, **timings: float) -> Batch:
    return Batch(id, 1.7e9 + id, duration, 100 * id, 1, 0, {}, "", timings)


def commits(*values: float) -> SeriesData:
    numbers = np.arange(1, len(values) + 1)
    took, ones = np.array(values), np.ones(len(values), np.int64)
    when = np.array(1.7e9 + numbers, np.float64)
    return SeriesData("system", "commit_ms", "ms", numbers, when, took, took, took, ones, False)


BATCHES = [
    a_batch(0, 50.0, plan_ms=10.0, job_ms=20.0, publish_ms=5.0),
    a_batch(1, 1100.0, plan_ms=10.0, job_ms=20.0, publish_ms=1060.0),
    a_batch(2, 30.0),
]


def test_phases_add_up_to_the_batch_and_its_record() -> None:
    view = build_phases(BATCHES, commits(4.0, 30.0), ())
    first, second, third = view.batches
    assert first.ms == (10.0, 20.0, 5.0, 15.0, 4.0)
    assert first.total == 54.0
    assert second.ms == (10.0, 20.0, 1060.0, 10.0, 30.0)
    assert third.ms == (0.0, 0.0, 0.0, 30.0, 0.0)
    assert [one.batch for one in view.slowest] == [1, 0, 2]


def test_the_largest_parts_are_said() -> None:
    first, second, third = build_phases(BATCHES, None, ()).batches
    assert second.words == "batch 1 took 1.10\u2009s: publish 96.4\u2009%"
    assert first.words == "batch 0 took 50\u2009ms: run 40.0\u2009%, decide 30.0\u2009%"
    assert third.words == "batch 2 took 30\u2009ms: decide 100\u2009%"


def test_a_bar_a_batch_stacked_by_phase() -> None:
    figure = draw_phases(build_phases(BATCHES, None, ()), "light")
    assert [trace["name"] for trace in figure["data"]] == list(WORDS)
    assert figure["layout"]["barmode"] == "stack"
    tops = [sum(trace["y"][place] for trace in figure["data"]) for place in range(3)]
    assert tops == pytest.approx([50.0, 1100.0, 30.0])
    assert [mark[0] for mark in figure["data"][0]["customdata"]] == [0, 1, 2]


def test_the_operators_of_the_last_batch_by_their_time() -> None:
    book = Book([Entity("o1", "operator", "⋈ carrier"), Entity("s", "operator", "S")])
    values: dict[str, dict[str, float | None]] = {
        "o1": {"processing_us": 20.0, "reached_tuples": 900.0},
        "o2": {"processing_us": 1.0, "reached_tuples": 2000.0},
        "o3": {"processing_us": None, "reached_tuples": 10.0},
        "o4": {"processing_us": 5.0, "reached_tuples": 0.0},
        "s": {"reached_tuples": 900.0},
    }
    work = operator_work(book, values)
    assert [(one.entity, one.name, one.ms, one.share) for one in work] == [
        ("o1", "⋈ carrier", 18.0, 0.9),
        ("o2", "o2", 2.0, 0.1),
    ]
    words = build_phases(BATCHES[:2], None, work).work_words
    assert words == "Operators of batch 1 worked 20\u2009ms; it took 1.10\u2009s"
    assert operator_work(book, {}) == []
