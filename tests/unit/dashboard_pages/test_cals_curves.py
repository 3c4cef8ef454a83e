"""Accuracy over memory and the race of the algorithms, as the Shedding page has them."""

from __future__ import annotations

from dashboard.panels.contract import Sheet
from dashboard.systems.cals.curve_view import build_curves
from dashboard.systems.cals.race import build_races
from dashboard.systems.cals.race import draw as draw_races
from storage.tables.rows import StoredMatrix
from storage.vocabulary.cals import CURVE_COLUMNS, RACE_COLUMNS
from storage.vocabulary.records import Knob
from tests.unit.dashboard_pages.test_cals_views import BOOK, NAN, OWN, context_of, stored, windows


def curve_matrix() -> StoredMatrix:
    """Of 8 tuples in two shards, of which 4 are in memory."""
    rows = [[0, 0, 0, 0, 0], [2, 1, 48, 0.5, 0.25], [4, 2, 96, 0.75, 0.5], [8, 4, 192, 1, NAN]]
    going = [[["70", 1], ["71", 3]], [["71", 2]], [], []]
    names = map(str, range(len(rows)))
    return stored("accuracy by memory", names, CURVE_COLUMNS, rows, going=going, looked=[8] * 4)


class TestCurves:
    def test_a_curve_has_its_points_and_the_one_in_force(self) -> None:
        knob = Knob("memory_tuples", "int", 300, 0, "tuples", "")
        view = build_curves(windows(OWN, []), {"w": curve_matrix()}, knob)
        assert view is not None
        (own,) = view.windows
        assert (own.title, own.batch, own.looked) == ("damp", 7, 8)
        assert (own.limit, own.resident, own.accuracy, own.is_measured) == (600, 300, 0.61, True)
        assert own.pooled, "600 are in force, 300 were asked for"
        assert [point.at_once for point in own.points] == [0, 0.25, 0.5, None]
        assert own.points[0].going == (("71", 3), ("70", 1))

    def test_without_a_measured_accuracy_it_is_the_expected_one(self) -> None:
        own = {name: OWN[name] for name in ("resident_tuples", "expected_accuracy")}
        view = build_curves(windows(own, [], 0), {"w": curve_matrix()}, None)
        assert view is not None
        (curve,) = view.windows
        assert (curve.accuracy, curve.is_measured, curve.pooled) == (0.7, False, False)

    def test_no_window_with_a_curve_is_no_view(self) -> None:
        assert build_curves(windows(OWN, []), {}, None) is None

    def test_the_limit_that_is_shown_is_the_one_in_force(self) -> None:
        (window,) = windows({**OWN, "limit_tuples": 170}, [])
        assert window.limit == 170


def test_a_race_says_who_leads_and_by_how_much() -> None:
    rows = [[0.8, 0.05, 0.2, 0.03], [0.6, 0.04, 0, 0]]
    matrix = stored("race of the algorithms", ["reach", "cals"], RACE_COLUMNS, rows,
                    in_force=[False, True], n=[40, 40])  # fmt: skip
    (race,) = build_races(BOOK, {"w": matrix})
    assert (race.title, race.batch, race.n) == ("damp", 7, 40)
    assert [(line.algorithm, line.in_force) for line in race.lines] == [
        ("reach", False), ("cals", True),
    ]  # fmt: skip
    texts = str(draw_races([race], Sheet(context_of(8))).body.to_plotly_json())
    assert "+0.20 ± 0.03" in texts
    assert "in force" in texts
