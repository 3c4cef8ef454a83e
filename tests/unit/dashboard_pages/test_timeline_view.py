"""The Timeline view and figure: bands, windows, markers, live meta."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.figures.boxes import stamps
from dashboard.figures.timeline import draw_timeline, timeline_height
from dashboard.views.timeline import TimelineView, build_numbers, build_timeline, mu_at, properties
from storage.rows import SeriesData, StoredEvent
from storage.vocabulary.records import Event

NAN = float("nan")


def a_series(name: str, values: list[float], thinned: bool = False) -> SeriesData:
    value = np.array(values, dtype=float)
    n = len(values)
    return SeriesData(
        "system",
        name,
        "",
        np.arange(n),
        100.0 + np.arange(n, dtype=float),
        value,
        value - 1 if thinned else value,
        value + 1 if thinned else value,
        np.ones(n, dtype=int),
        thinned,
    )


def a_view(**more: SeriesData) -> TimelineView:
    series = {
        "visits_per_tuple": a_series("visits_per_tuple", [3.0, 3.1, NAN, 4.0]),
        "visits_window": a_series("visits_window", [3.0, 3.0, 3.1, 3.4]),
        "visits_init": a_series("visits_init", [NAN, 3.0, 3.0, 3.0]),
        "batch_ms": a_series("batch_ms", [100.0, 120.0, 90.0, 110.0], thinned=True),
        **more,
    }
    events = [
        StoredEvent(1, 1, 101.0, Event("rearrangement", "Plan 2", ref={"decision": 5})),
        StoredEvent(2, 2, 102.0, Event("knob", "mu 0.1 to 0.5")),
        StoredEvent(3, -1, 100.0, Event("run", "Run begins")),
        StoredEvent(4, 3, 103.0, Event("run", "x", severity="error")),
    ]
    return build_timeline(series, [(2, 0.5), (0, 0.1)], "visits", 4000, events, 102.0)


def test_only_panels_with_data_are_drawn_and_nan_is_unknown() -> None:
    view = a_view()
    assert [panel.key for panel in view.panels] == ["visits", "batch"]
    assert view.panels[0].spot.values == [3.0, 3.1, None, 4.0]
    assert (view.first, view.last) == (100.0, 103.0)


def test_the_band_follows_the_mu_in_force_at_each_batch() -> None:
    band = a_view().panels[0].band
    assert band is not None
    assert band.low == [None, pytest.approx(2.7), pytest.approx(1.5), pytest.approx(1.5)]
    assert band.high == [None, pytest.approx(3.3), pytest.approx(4.5), pytest.approx(4.5)]
    assert band.mu == 0.5


def test_without_mu_there_is_a_baseline_but_no_band() -> None:
    series = {
        "visits_per_tuple": a_series("visits_per_tuple", [3.0]),
        "visits_init": a_series("visits_init", [3.0]),
    }
    band = build_timeline(series, [], None, None, [], None).panels[0].band
    assert band is not None
    assert (band.values, band.low, band.mu) == ([3.0], [None], None)


def test_windows_and_triggers_are_named() -> None:
    panel = a_view().panels[0]
    assert panel.window is not None
    assert panel.window.name == "last 4\u2009000 tuples"
    assert panel.note == "decides rearrangements"


def test_backlog_is_a_panel_only_when_there_ever_was_one() -> None:
    none = a_view(backlog_tuples=a_series("backlog_tuples", [0.0, 0.0]))
    some = a_view(backlog_tuples=a_series("backlog_tuples", [0.0, 7.0]))
    assert "backlog" not in [panel.key for panel in none.panels]
    assert some.panels[-1].key == "backlog"


def test_markers_have_lanes_links_and_the_error_severity_counts() -> None:
    markers = a_view().markers
    assert [(marker.lane, marker.batch, marker.link) for marker in markers] == [
        ("rearrangement", 1, "/decisions"),
        ("knob", 2, "/knobs"),
        ("error", 3, ""),
    ]
    assert markers[0].decision == 5


def test_mu_before_the_first_known_value_is_unknown() -> None:
    assert mu_at([(2, 0.5)], 1) is None
    assert mu_at([(2, 0.5), (7, 0.6)], 7) == 0.6


def test_the_figure_is_extended_live_and_shares_one_time_axis() -> None:
    figure = draw_timeline(a_view(), "dark")
    live = [trace.meta["live"] for trace in figure.data if trace.meta and "live" in trace.meta]
    assert live == ["system|visits_init", "system|visits_window"]
    by_batch = [trace.meta["pts"] for trace in figure.data if trace.meta and "pts" in trace.meta]
    assert by_batch == ["visits_per_tuple", "batch_ms"]
    assert set(by_batch) < set(properties())
    edges = [trace.meta for trace in figure.data if trace.meta and "band" in trace.meta]
    assert [(meta["edge"], meta["mu"]) for meta in edges] == [(-1, 0.5), (1, 0.5)]
    assert {trace.xaxis for trace in figure.data} == {None}
    assert figure.layout.height == timeline_height(a_view())
    assert figure.layout.uirevision == "timeline"


def test_markers_carry_batch_and_words_for_hover_and_click() -> None:
    figure = draw_timeline(a_view(), "light")
    lane = next(trace for trace in figure.data if (trace.meta or {}).get("lane") == "rearrangement")
    assert [list(point) for point in lane.customdata] == [[1, "batch 1: Plan 2", "/decisions"]]


def test_an_empty_run_has_an_empty_figure() -> None:
    view = build_timeline({}, [], None, None, [], None)
    assert (view.panels, view.first) == ([], None)
    assert draw_timeline(view).layout.height > 0


def test_times_are_iso_text_like_the_live_path_appends() -> None:
    assert stamps([0.0, 1.5]) == ["1970-01-01T00:00:00.000Z", "1970-01-01T00:00:01.500Z"]


def test_the_table_twin_has_every_line_newest_batch_first() -> None:
    table = build_numbers(a_view(), limit=3)
    assert [column[0] for column in table.columns] == [
        "visits_per_tuple",
        "visits_window",
        "visits_init",
        "batch_ms",
    ]
    assert table.batches == [3, 2, 1]
    assert table.rows[0] == [4.0, 3.4, 3.0, 110.0]
    assert table.rows[1][0] is None
    assert table.total == 4
