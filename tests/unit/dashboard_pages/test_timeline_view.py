"""The Timeline view and figure: bands, windows, markers, live meta."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.figures.boxes import stamp, stamps
from dashboard.figures.timeline import draw_timeline, timeline_height
from dashboard.panels.common.timeline import WholeRun, draw
from dashboard.panels.contract import Sheet
from dashboard.views.gaps import parted
from dashboard.views.timeline import (
    TimelineView,
    build_numbers,
    build_timeline,
    mu_at,
    mu_in_force,
    properties,
)
from storage.tables.rows import SeriesData, StoredEvent
from storage.vocabulary.records import Event, Knob
from tests.unit.dashboard_pages.figures import checked
from tests.unit.dashboard_shell.samples import context

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


def test_a_property_that_was_never_known_has_no_empty_panel() -> None:
    view = a_view(dropping_ratio=a_series("dropping_ratio", [NAN, NAN, NAN, NAN]))
    assert [panel.key for panel in view.panels] == ["visits", "batch"]


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
    figure = checked(draw_timeline(a_view(), "dark"))
    grown = [trace.meta for trace in figure.data if trace.meta and "live" in trace.meta]
    names = ("visits_init", "visits_window", "visits_per_tuple", "batch_ms")
    assert sorted(one["live"] for one in grown) == sorted(f"system|{name}" for name in names)
    assert {one["x"] for one in grown} == {"time"}
    assert set(names) < set(properties())
    edges = [trace.meta for trace in figure.data if trace.meta and "band" in trace.meta]
    assert [(meta["edge"], meta["mu"]) for meta in edges] == [(-1, 0.5), (1, 0.5)]
    assert {trace.xaxis for trace in figure.data} == {None}
    assert figure.layout.height == timeline_height(a_view())
    assert figure.layout.uirevision == "timeline"


def test_a_gap_is_hatched_over_all_panels_says_how_long_and_is_in_the_table() -> None:
    resumed = Event("run", "resumed at batch 4", "plans are kept", ref={"since": 103.0})
    knob = StoredEvent(1, 1, 101.0, Event("knob", "mu 0.1 to 0.5"))
    events = [knob, StoredEvent(2, 3, 353.0, resumed)]
    view = a_view()._replace(gaps=build_timeline({}, [], None, None, events, None).gaps)
    (gap,) = view.gaps
    assert (gap.words, gap.batch) == ("no engine for 4 min 10 s", 4)
    figure = checked(draw_timeline(view))
    area, hatching = [shape for shape in figure.layout.shapes if shape.name == "gap"]
    assert (area.x0, area.x1) == (stamp(103.0), stamp(353.0))
    assert (area.y0, area.y1, area.yref) == (0, 1, "paper")
    assert "M 1970-01-01_00:01:43.000,0.0000 L 1970-01-01_00:05:53.000,0.2000" in hatching.path
    assert "no engine for 4 min 10 s" in [note.text for note in figure.layout.annotations]
    view = build_timeline({}, [], None, None, events, None)
    (table, *_) = draw(WholeRun(view, []), Sheet(context())).table.children
    newest, oldest = table.rows
    assert newest["cells"][3:5] == [
        "no engine for 4 min 10 s, from 00:01:43 on; resumed at batch 4",
        "plans are kept",
    ]
    assert oldest["cells"][3] == "mu 0.1 to 0.5"


def test_no_line_is_drawn_across_a_gap() -> None:
    resumed = Event("run", "resumed at batch 2", ref={"since": 101.2})
    stored = StoredEvent(2, 1, 101.8, resumed)
    view = a_view()._replace(gaps=build_timeline({}, [], None, None, [stored], None).gaps)
    lines = {trace.name: trace for trace in checked(draw_timeline(view)).data if trace.name}
    batch = lines["batch time, this batch"]
    assert list(batch.y) == [100.0, 120.0, None, 90.0, 110.0]
    assert batch.x[2] == stamp(101.2)
    assert parted(view.gaps, [102.0, 103.0], [1.0, 2.0], []) == ([102.0, 103.0], [[1.0, 2.0], []])


def test_an_event_without_an_earlier_time_is_no_gap() -> None:
    events = [
        StoredEvent(1, 3, 353.0, Event("run", "resumed at batch 4", ref=ref))
        for ref in ({}, {"since": 353.0}, {"since": None})
    ]
    assert build_timeline({}, [], None, None, events, None).gaps == []


def test_markers_carry_batch_and_words_for_hover_and_click() -> None:
    figure = checked(draw_timeline(a_view(), "light"))
    lane = next(trace for trace in figure.data if (trace.meta or {}).get("lane") == "rearrangement")
    assert [list(point) for point in lane.customdata] == [[1, "batch 1: Plan 2", "/decisions"]]


def test_an_empty_run_has_an_empty_figure() -> None:
    view = build_timeline({}, [], None, None, [], None)
    assert (view.panels, view.first) == ([], None)
    assert checked(draw_timeline(view)).layout.height > 0


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


def test_the_autopilot_asks_no_threshold() -> None:
    def turned(name: str, *values: tuple[int, object]) -> list[Knob]:
        return [Knob(name, "x", value, value, "", "", batch=batch) for batch, value in values]

    mus = turned("mu", (0, 0.1), (7, 0.3))
    assert mu_in_force(mus, []) == [(0, 0.1), (7, 0.3)]
    who = turned("policy", (0, "autopilot"), (7, "thresholds"), (9, "autopilot"))
    assert mu_in_force(mus, who) == [(0, None), (7, 0.3), (9, None)]
