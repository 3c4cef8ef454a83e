"""The Runs view: rows, ages, means and what needs attention."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.views.runs import RunNumbers, build_runs, headline, numbers_of
from storage.vocabulary.records import Run

NOW = 1_000.0


def now_of(_: Run) -> float:
    return NOW


def a_run(run_id: str = "r1", state: Any = "running", started: float = 900.0, **more: Any) -> Run:
    return Run(run_id, "flights", state, started, {}, 1, "here", "0.1", **more)


def test_the_newest_run_comes_first() -> None:
    runs = [a_run("old", started=1.0), a_run("new", started=9.0), a_run("mid", started=5.0)]
    assert [row.id for row in build_runs(runs, {}, now_of).rows] == ["new", "mid", "old"]


def test_numbers_come_from_the_newest_values_and_the_window_is_preferred() -> None:
    latest = {"tuples_total": 10.0, "visits_window": 3.0, "visits_per_tuple": 4.0}
    numbers = numbers_of(latest, 2, 1, (7, 990.0))
    assert numbers == RunNumbers(10.0, None, None, None, 3.0, 2, 1, 7, 990.0)
    assert numbers_of({"visits_per_tuple": 4.0}, None, None, None).visits_per_tuple == 4.0


def test_an_active_run_shows_its_last_rate_and_the_age_of_its_record() -> None:
    numbers = RunNumbers(tuples_total=100.0, matched_total=20.0, tuples_per_s=7.0, last_time=999.0)
    row = build_runs([a_run()], {"r1": numbers}, now_of).rows[0]
    assert (row.tuples_per_s, row.mean_rate, row.age_s) == (7.0, False, 1.0)
    assert row.unmatched_prob == pytest.approx(0.8)
    assert row.need == ""


def test_a_run_that_is_over_shows_its_mean_rate_and_no_age() -> None:
    numbers = RunNumbers(tuples_total=500.0, tuples_per_s=7.0, last_time=949.0)
    row = build_runs([a_run(state="ended", ended_at=950.0)], {"r1": numbers}, now_of).rows[0]
    assert (row.tuples_per_s, row.mean_rate, row.duration_s, row.age_s) == (10.0, True, 50.0, None)


def test_a_run_that_ended_before_it_began_has_no_length() -> None:
    """The machine's clock was set back meanwhile."""
    numbers = RunNumbers(tuples_total=500.0, last_time=949.0)
    row = build_runs([a_run(state="ended", ended_at=850.0)], {"r1": numbers}, now_of).rows[0]
    assert (row.tuples_per_s, row.duration_s) == (None, None)


def test_unknown_numbers_stay_unknown() -> None:
    row = build_runs([a_run()], {}, now_of).rows[0]
    assert row.tuples is None
    assert row.unmatched_prob is None
    assert row.tuples_per_s is None


@pytest.mark.parametrize(
    ("run", "numbers", "need", "severity"),
    [
        (a_run(state="failed", note="disk full"), RunNumbers(), "disk full", "error"),
        (a_run(state="failed"), RunNumbers(), "no message", "error"),
        (a_run(state="interrupted"), RunNumbers(), "without saying goodbye", "warning"),
        (
            a_run(state="starting", started=980.0, note="Spark starts"),
            RunNumbers(),
            "Spark starts",
            "info",
        ),
        (a_run(), RunNumbers(last_time=980.0), "no sign of life", "error"),
        (a_run(), RunNumbers(last_time=999.0, misfits_total=3.0), "3 tuples kept aside", "warning"),
        (
            a_run(),
            RunNumbers(last_time=999.0, misfits_total=1.0),
            "1 tuple kept aside as a misfit.",
            "warning",
        ),
        (a_run(state="ended"), RunNumbers(), "", ""),
        (a_run(state="ended"), RunNumbers(misfits_total=3.0), "3 tuples kept aside", "info"),
    ],
)
def test_what_a_run_needs(run: Run, numbers: RunNumbers, need: str, severity: str) -> None:
    row = build_runs([run], {"r1": numbers}, now_of).rows[0]
    assert need in row.need
    assert bool(row.need) == bool(need)
    assert row.severity == severity


def test_the_headline_counts() -> None:
    assert headline(build_runs([], {}, now_of)) == "No run yet"
    quiet = build_runs([a_run(state="ended")], {}, now_of)
    assert headline(quiet) == "Nothing is running; nothing needs you"
    noted = build_runs([a_run(state="ended")], {"r1": RunNumbers(misfits_total=3.0)}, now_of)
    assert headline(noted) == "Nothing is running; misfits in 1 run"
    ended = [a_run("a", state="ended"), a_run("b", state="ended"), a_run("c", "failed")]
    both = build_runs(ended, dict.fromkeys("abc", RunNumbers(misfits_total=3.0)), now_of)
    assert headline(both) == "Nothing is running; 1 needs attention, misfits in 2 runs"
    busy = build_runs(
        [a_run("a", started=995.0), a_run("b", started=996.0), a_run("c", "failed")], {}, now_of
    )
    assert headline(busy) == "2 runs are running; 1 needs attention"
