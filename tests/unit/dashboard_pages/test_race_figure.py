"""The race as a figure: its axis of tuples."""

from __future__ import annotations

from dashboard.systems.agreedy.race_figure import draw_race
from dashboard.systems.agreedy.race_view import RaceLane, RaceReading, RaceView


def race(*tuples: float) -> RaceView:
    """One algorithm, with a reading at each of these."""
    readings = [RaceReading(n, at, 5.0 + n, 40.0, False) for n, at in enumerate(tuples)]
    return RaceView([RaceLane("sweep", True, readings, 5.0, 0, [])])


def test_the_axis_of_a_single_reading_tells_its_tuples_exactly() -> None:
    axis = draw_race(race(6402.0), "light")["layout"]["xaxis"]
    assert (axis["tickvals"], axis["ticktext"]) == ([6402.0], ["6\u2009402"])


def test_more_readings_have_an_axis_in_thousands() -> None:
    axis = draw_race(race(6402.0, 9000.0), "light")["layout"]["xaxis"]
    assert axis["tickformat"] == "~s"
    assert "tickvals" not in axis
