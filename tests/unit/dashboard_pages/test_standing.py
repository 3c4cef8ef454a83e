"""How a run stands: one word, from its record, its signs of life and what waits."""

from __future__ import annotations

import pytest

from dashboard.views.standing import Level, standing
from storage.vocabulary.kinds import Phase


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


@pytest.mark.parametrize(
    ("backlog", "note", "words"),
    [
        (90.0, "its job runs", "batch 8 running 8.0 s · its job runs"),
        (None, "Spark plans the batch", "no batch for 8.0 s · Spark plans the batch"),
        (90.0, "waits for input", "batch 8 running 8.0 s"),
        (0.0, "waits for input", "waits for input, data 8.0 s old"),
        (
            0.0,
            "the source is asked for tuples",
            "the source is asked for tuples, data 8.0 s old",
        ),
    ],
)
def test_a_wait_says_what_for(backlog: float | None, note: Phase, words: str) -> None:
    assert standing("running", 7, 8.0, 1.0, backlog, 1.0, note=note).words == words


@pytest.mark.parametrize("note", ["its job runs", "waits for input", ""])
def test_who_has_read_it_all_neither_works_nor_waits(note: Phase) -> None:
    found = standing("running", 7, 12.0, 1.0, 0.0, 1.0, note=note, is_over=True)
    assert found == ("idle", "no more input, data 12 s old", "ok")


def test_a_dead_engine_leaves_what_it_did_last() -> None:
    words = standing("running", 7, 90.0, 80.0, 5.0, 1.0, note="its job runs").words
    assert words == "ENGINE STOPPED · no sign of life for 80 s, the last was: its job runs"


def test_a_slow_run_is_given_its_time() -> None:
    assert standing("running", 7, 250.0, None, 5.0, 30.0).word == "working"
    assert standing("running", 7, 80.0, None, 5.0, 30.0).word == "running"


def test_a_held_run_says_who_holds_it_while_its_engine_lives() -> None:
    found = standing("running", 7, 90.0, 1.0, 5.0, 1.0, "by ana: lunch")
    assert (found.word, found.words, found.level) == ("paused", "paused by ana: lunch", "amber")
    assert standing("running", 7, 90.0, 80.0, 5.0, 1.0, "by ana").word == "stopped"
    assert standing("ended", 7, 90.0, 80.0, 5.0, 1.0, "by ana").word == "ended"
