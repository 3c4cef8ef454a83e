"""How a run stands: one word, from its record, its signs of life and what waits."""

from __future__ import annotations

import pytest

from dashboard.views.standing import Level, standing


@pytest.mark.parametrize(
    ("state", "batch", "age_s", "beat", "backlog", "word", "words", "level"),
    [
        ("starting", None, None, 20.0, None, "starting", "waits for the first batch", "quiet"),
        ("starting", None, None, 70.0, None, "stopped", "no sign of life for 70 s", "red"),
        ("running", None, None, 1.0, None, "running", "waits for the first batch", "quiet"),
        ("running", 7, 0.8, 1.0, 90.0, "running", "data 0.8 s old", "ok"),
        ("running", 7, 8.0, 1.0, 90.0, "working", "batch 8 running 8.0 s", "ok"),
        ("running", 0, 79.0, 1.0, 596_702.0, "working", "batch 1 running 79 s", "amber"),
        ("running", 7, 79.0, 1.0, None, "working", "no batch for 79 s", "amber"),
        ("running", 7, 79.0, 1.0, 0.0, "idle", "waits for input, data 79 s old", "ok"),
        ("running", 7, 79.0, 78.0, 0.0, "stopped", "no sign of life for 78 s", "red"),
        ("running", 7, 79.0, None, 5.0, "stopped", "no sign of life for 79 s", "red"),
        ("ended", 7, 9000.0, None, 0.0, "ended", "ended 2.5 h ago", "quiet"),
        ("interrupted", None, None, None, None, "interrupted", "interrupted", "quiet"),
    ],
)
def test_a_run_stands(
    state: str,
    batch: int | None,
    age_s: float | None,
    beat: float | None,
    backlog: float | None,
    word: str,
    words: str,
    level: Level,
) -> None:
    found = standing(state, batch, age_s, beat, backlog, 1.0)
    assert found.word == word
    assert words in found.words
    assert found.level == level


def test_a_run_that_starts_says_what_it_waits_for() -> None:
    found = standing("starting", None, None, 20.0, None, 0.0, note="starting Spark")
    assert found.words == "starting Spark, waits for the first batch"


def test_a_slow_run_is_given_its_time() -> None:
    assert standing("running", 7, 250.0, None, 5.0, 30.0).word == "working"
    assert standing("running", 7, 80.0, None, 5.0, 30.0).word == "running"


def test_a_held_run_says_who_holds_it_while_its_engine_lives() -> None:
    found = standing("running", 7, 90.0, 1.0, 5.0, 1.0, "by ana: lunch")
    assert (found.word, found.words, found.level) == ("held", "held by ana: lunch", "amber")
    assert standing("running", 7, 90.0, 80.0, 5.0, 1.0, "by ana").word == "stopped"
    assert standing("ended", 7, 90.0, 80.0, 5.0, 1.0, "by ana").word == "ended"
