"""Receipts, runs and accuracy over time of windows that shed, and what shedding came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dashboard.base.context import Context, Moment
from dashboard.components.static import tree_of
from dashboard.systems.cals.gain import shed_gain, shed_verdict
from dashboard.systems.cals.lanes_figure import draw_lanes, lanes_height
from dashboard.systems.cals.lanes_view import MOST_LANES, NUMBERS, build_lanes
from dashboard.systems.cals.receipts import _caption, _row
from dashboard.systems.cals.receipts_view import ReceiptLine, build_receipts, receipts_of
from dashboard.systems.cals.runs import _window as drawn_window
from dashboard.systems.cals.runs import chosen_words
from dashboard.systems.cals.runs_view import ShedRunsView, build_runs
from dashboard.systems.cals.shed import interval_text, shed_words
from dashboard.systems.cals.shed_view import WindowShed, build_windows
from dashboard.systems.cals.times import length_text, span_text, time_text
from dashboard.systems.cals.words import GROUPS, MARKS, UNREPLAYED, WORDS
from dashboard.views.book import Book
from dashboard.views.plan_parts import marks_of
from dashboard.views.ticks import tick_length_us
from storage.tables.rows import DecisionEntry, SeriesData, StoredMatrix
from storage.vocabulary.cals import CALS
from storage.vocabulary.records import Decision, Entity, Input, Knob, Matrix
from tests.unit.dashboard_pages.figures import checked
from tests.web.recorded_cals import RECEIPT

NAN = float("nan")


def context_of(batch: int) -> Context:
    return Context(Moment(run="r", at=batch), None, batch, 9)


BOOK = Book(
    [
        Entity("w", "operator", "[Rows 5]", {"queries": ["damp"]}, unit_id="u", role="shed"),
        Entity("v", "operator", "[Rows 9]", {"queries": ["cold"]}, unit_id="u", role="shed"),
    ]
)
OWN: dict[str, float | None] = {
    "resident_tuples": 600, "memory_ratio": 0.6, "shed_share": 0.4, "shed_tuples": 8,
    "shed_total": 90, "expected_accuracy": 0.7, "measured_accuracy": 0.61, "accuracy_low": 0.6,
    "accuracy_high": 0.64, "audited_groups": 34, "unchanged_coalesced": 5, "lost_coalesced": 2,
    "shortened_coalesced": 3, "split_coalesced": 0, "stray_coalesced": NAN,
    "accuracy_remainder": 0.09, "remainder_low": 0.06, "remainder_high": 0.1,
}  # fmt: skip


def stored(kind: str, rows: Any, columns: Any, values: Any, **facts: Any) -> StoredMatrix:
    matrix = Matrix(kind, kind, tuple(rows), tuple(columns), values, "", 0, row_stats=facts)
    return StoredMatrix(7, 0.0, matrix)


def receipts(reasons: list[str]) -> StoredMatrix:
    """Of a run of 70 from 0 to 10 the end goes, then of 71 the middle of 20 to 40."""
    rows = [[8, 10, 0, 10, 8, 1, 0, 0.2, 0.01], [25, 30, 20, 40, 15, 2, 1, 0.25, 0.3]]
    return stored("shed receipts", ["4", "9"], RECEIPT, rows, reason=reasons, value=["70", "71"])


def windows(
    own: Mapping[str, float | None], reasons: list[str], limit: int = 600, form: str = "tuples"
) -> list[WindowShed]:
    knobs = {
        "state_form": Knob("state_form", "choice", form, "runs", "", ""),
        "memory_tuples": Knob("memory_tuples", "int", limit, 0, "", ""),
        "shed_algorithm": Knob("shed_algorithm", "choice", "cals-v", "cals", "", ""),
    }
    told = {"w": receipts(reasons)} if reasons else {}
    return build_windows(BOOK, {"w": own}, told, knobs)


class TestWindows:
    def test_all_that_is_known_of_a_window_is_told(self) -> None:
        (window,) = windows(OWN, ["limit", "turned"])
        assert (window.title, window.algorithm, window.limit) == ("damp", "cals-v", 600)
        assert (window.whole, window.resident, window.stray) == (1000, 600, 0)
        assert window.fates == {"unchanged": 5, "shortened": 3, "split": 0, "lost": 2}
        assert shed_words(window) == (
            "It keeps at most 600 tuples in a shard; 8 tuples were shed in this batch by cals-v: "
            "more came than there is room for and the limit was lowered."
        )
        assert interval_text(window) == "0.60 to 0.64 of 34 values"
        assert window.apart == pytest.approx(0.06)
        (below,) = windows({**OWN, "remainder_low": -0.2, "remainder_high": -0.1}, [])
        (within,) = windows({**OWN, "remainder_low": -0.2, "remainder_high": 0.1}, [])
        assert below.apart == pytest.approx(0.1)
        assert within.apart == 0
        assert not window.is_exact

    def test_what_is_not_known_is_not_guessed(self) -> None:
        own = {name: OWN[name] for name in ("resident_tuples", "expected_accuracy")}
        (window,) = windows({**own, "shed_tuples": 1, "memory_ratio": NAN}, [], 0)
        assert (window.whole, window.kept, window.fates, window.apart) == (None, None, {}, 0)
        assert interval_text(window) == "nothing was compared"
        assert shed_words(window) == ("It has no limit; 1 tuple was shed in this batch by cals-v.")
        assert not window.is_exact

    def test_a_window_that_lacks_nothing_is_exact(self) -> None:
        (window,) = windows({**OWN, "shed_tuples": 0, "shed_share": 0, "memory_ratio": 1}, [])
        assert window.is_exact
        assert shed_words(window).endswith("nothing was shed in this batch.")

    def test_a_limit_that_runs_do_not_meet_is_said(self) -> None:
        own = {**OWN, "shed_tuples": 0, "shed_share": 0, "shed_total": 0, "kept_runs": 412}
        own |= {"resident_tuples": 31_000, "limit_tuples": 600}
        (whole,) = windows(own, [], form="runs")
        assert shed_words(whole) == (
            "It keeps runs in the bytes of at most 600 tuples in a shard. Nothing had to be shed: "
            "31\u2009000 tuples are 412 runs."
        )
        for other in ({"shed_total": 1}, {"limit_tuples": 0}, {"kept_runs": 31_000}):
            (window,) = windows({**own, **other}, [], form="runs")
            assert "Nothing had" not in shed_words(window)
        (window,) = windows(own, [], form="tuples")
        assert shed_words(window).startswith("It keeps at most 600 tuples in a shard; nothing was")

    def test_it_is_said_from_when_on_answers_are_whole(self) -> None:
        quiet = {**OWN, "shed_tuples": 0, "shed_share": 0.2}
        (ranges,) = windows({**quiet, "whole_from_tick": 1234}, [], 0)
        assert shed_words(ranges).endswith(
            "in this batch. Answers are whole again from tick 1\u2009234 on."
        )
        timed = build_windows(BOOK, {"w": {**quiet, "whole_from_tick": 1234}}, {}, {}, 60e6)
        assert "from 1970-01-01 20:34:00 on." in shed_words(timed[0])
        (rows,) = windows({**quiet, "whole_from_tuples": 900}, [])
        assert shed_words(rows).endswith(
            " Answers are whole again once 900 tuples have come, if nothing more is shed."
        )

    def test_ticks_are_times_where_all_streams_have_them(self) -> None:
        book = Book([Entity("u", "system", "network", {"tick_us": 60_000_000}, unit_id="u")])
        dated = Input("S", [["t", "timestamp"], ["n", "int"]], timestamp="t")
        assert tick_length_us(book, "u", [dated]) == 60e6
        assert tick_length_us(book, "v", [dated]) is None
        for timestamp in ("n", ""):
            assert tick_length_us(book, "u", [dated, replace(dated, timestamp=timestamp)]) is None

    def test_all_values_are_said_to_be_compared(self) -> None:
        (window,) = windows({**OWN, "accuracy_low": 0.61, "accuracy_high": 0.61}, [])
        assert interval_text(window) == "of all 34 values"


class TestReceipts:
    LINES = receipts_of(BOOK, {"w": receipts(["limit", "turned"])})

    def test_those_that_cost_most_come_first_and_can_be_addressed(self) -> None:
        assert [(line.number, line.loss, line.title) for line in self.LINES] == [
            ("9", 0.3, "damp"), ("4", 0.01, "damp"),
        ]  # fmt: skip
        assert self.LINES[0].address == "9 w"

    def test_they_are_filtered_by_value_query_and_reason(self) -> None:
        def numbers(text: str, reason: str) -> list[str]:
            view = build_receipts(self.LINES, 5, text, reason, "")
            assert view.n == 2
            return [line.number for line in view.lines]

        assert numbers("", "") == ["9", "4"]
        assert numbers(" 70", "") == ["4"]
        assert numbers("DAMP", "turned") == ["9"]
        assert numbers("x", "") == []

    def test_a_row_says_what_was_left_and_where_it_is_from(self) -> None:
        context = context_of(8)
        first, second = (_row(line, context) for line in self.LINES)
        assert first[5] == {"text": "15 in 2 pieces", "sort": 15}
        assert second[5] == {"text": "8", "sort": 8}
        view = build_receipts(self.LINES, 5, "70", "", "")
        assert _caption(view, context) == (
            "2 receipts of 5 tuples shed, as of batch 7, those that cost most first; 1 pass the "
            "filter"
        )

    def test_a_record_without_values_is_read(self) -> None:
        matrix = replace(receipts([]).matrix, row_stats={"reason": ["limit", "limit"]})
        lines = receipts_of(BOOK, {"w": StoredMatrix(1, 0.0, matrix)})
        assert {line.value for line in lines} == {""}


#: (start, end, kept from, kept to)
RUNS: dict[str, list[list[float | None]]] = {
    "70": [[0, 10, 0, 8], [12, 14, 12, 14]],
    "71": [[20, 40, 20, 25], [20, 40, 30, 40], [50, 60, None, None]],
    "72": [[None, None, 55, 56]],
}


def runs(chosen: ReceiptLine | None = None, zoom: int = 1) -> ShedRunsView:
    values = [value for value, rows in RUNS.items() for _ in rows]
    rows = [row for own in RUNS.values() for row in own]
    columns = ("start", "end", "kept_start", "kept_end")
    pieces = stored("shed runs", map(str, range(len(rows))), columns, rows, value=values)
    groups = stored("shed groups", RUNS, ("shed", "loss", "pieces"),
                    [[3, 0.1, 2], [2, 0.05, 9], [1, 0.0, 1]])  # fmt: skip
    view = build_runs(BOOK, {"w": groups}, {"w": pieces}, chosen, zoom)
    assert view is not None
    return view


class TestRuns:
    def test_what_became_of_each_run_is_told(self) -> None:
        (window,) = runs().windows
        assert (window.start, window.end, window.title) == (0, 60, "damp")
        fates = {lane.value: [run.fate for run in lane.runs] for lane in window.lanes}
        assert fates == {
            "70": ["shortened", "unchanged"], "71": ["split", "lost"], "72": ["memory"],
        }  # fmt: skip
        assert [lane.is_cut for lane in window.lanes] == [False, True, False]
        assert window.lanes[1].runs[0].left == 15

    def test_the_run_of_a_receipt_is_marked(self) -> None:
        first, second = TestReceipts.LINES
        for line, value in ((first, "71"), (second, "70")):
            view = runs(line)
            marked = [(lane.value, run.start) for lane in view.windows[0].lanes
                      for run in lane.runs if run.chosen]  # fmt: skip
            assert marked == [(value, 20 if value == "71" else 0)]
            assert view.is_drawn
        assert chosen_words(runs(second), second) == (
            "Tuple 4, 70, valid 8 – 10, was shed because more came than there is room for; 8 of "
            "10 of its run in memory were left."
        )

    def test_a_run_that_is_not_on_record_is_as_its_receipt_has_it(self) -> None:
        line = TestReceipts.LINES[1]._replace(start=90, end=92, run_start=80, run_end=92, left=10)
        view = runs(line)
        added = view.windows[0].lanes[0].runs[0]
        assert (added.start, added.end, added.pieces) == (80, 92, ((80, 90),))
        assert added.chosen
        assert (view.windows[0].end, view.is_drawn) == (92, True)
        assert not runs(line._replace(left=11)).is_drawn, "another tuple covers part of it"
        elsewhere = line._replace(value="99")
        assert "not among those on record" in chosen_words(runs(elsewhere), elsewhere)

    def test_a_part_of_the_window_is_the_newest_or_around_the_receipt(self) -> None:
        (window,) = runs(zoom=4).windows
        assert (window.start, window.end) == (45, 60)
        (around,) = runs(TestReceipts.LINES[0], zoom=4).windows
        assert (around.start, around.end) == (22.5, 37.5)
        drawn = str(tree_of(drawn_window(window, context_of(7))))
        assert "1 other values have no run here." in drawn

    def test_nothing_is_drawn_of_nothing(self) -> None:
        assert build_runs(BOOK, {}, {}, None) is None


def series(name: str, values: list[float], entity: str = "w") -> SeriesData:
    numbers = np.array(values, np.float64)
    batches, n = np.arange(len(values)), np.ones(len(values), np.int64)
    times = 1000.0 + batches.astype(np.float64)
    return SeriesData(entity, name, "", batches, times, numbers, numbers, numbers, n, False)


def turn(seq: int, batch: int, relation: Any) -> DecisionEntry:
    decision = Decision(
        seq, batch, "cals", "shedding", "acted", "resident_tuples", 7, relation, 5, 9, 9, 0, "sheds"
    )
    return DecisionEntry(decision, 1000.0 + batch, None)


#: In the order of NUMBERS.
COURSES: list[list[float]] = [
    [1, 0.8, 0.7],
    [NAN, 0.75, 0.6],
    [NAN, 0.7, 0.5],
    [NAN, 0.8, 0.7],
    [5, 6, 6],
    [1, 0.5, NAN],
    [0, 3, 4],
]


class TestLanes:
    SERIES = {  # noqa: RUF012 — plain data of this test
        ("w", name): series(name, values) for name, values in zip(NUMBERS, COURSES, strict=True)
    }

    def test_points_have_what_was_measured_and_what_is_lacking(self) -> None:
        view = build_lanes(BOOK, self.SERIES, [turn(1, 1, ">"), turn(2, 2, "<=")])
        assert view is not None
        (lane,) = view.lanes
        assert [point.lacking for point in lane.points] == [0, 6, None]
        assert [point.accuracy for point in lane.points] == [1, 0.75, 0.6]
        assert (lane.title, lane.lowest) == ("damp", 0.6)
        assert [(one.batch, one.begins) for one in view.turns] == [(1, True), (2, False)]

    @pytest.mark.parametrize("theme", ["light", "dark"])
    def test_the_figure_has_bands_turns_and_tuples(self, theme: str) -> None:
        view = build_lanes(BOOK, self.SERIES, [turn(1, 1, ">"), turn(2, 2, "<=")])
        assert view is not None
        checked(draw_lanes(view, theme))
        whole = checked(draw_lanes(view, theme, tupled=True))
        named = {trace.name: list(trace.y) for trace in whole.data if trace.y is not None}
        assert named["measured"] == [0.75, 0.6]
        assert named["95 % interval"] == [0.8, 0.7]
        assert named["shed of the window"] == [0, 6]
        assert [trace.customdata[0][0] for trace in whole.data if trace.mode == "markers"] == [1, 2]
        assert lanes_height(view, True) > lanes_height(view, False)

    def test_of_many_windows_those_of_lowest_accuracy_are_drawn(self) -> None:
        names = [f"w{n}" for n in range(MOST_LANES + 3)]
        book = Book([Entity(name, "operator", name, {}, role="shed") for name in names])
        own = {(name, NUMBERS[0]): series(NUMBERS[0], [1 - n / 50], name)
               for n, name in enumerate(names)}  # fmt: skip
        view = build_lanes(book, own, [])
        assert view is not None
        assert {lane.window for lane in view.lanes} == set(names[3:])
        assert build_lanes(book, {}, []) is None


class TestGain:
    def test_the_headline_says_the_share_shed_and_the_accuracy(self) -> None:
        columns: dict[str, dict[int, float]] = {
            "expected_accuracy": {1: 1.0, 2: 0.83}, "measured_accuracy": {2: 0.84},
            "accuracy_low": {2: 0.8}, "accuracy_high": {2: 0.88}, "memory_ratio": {1: 1, 2: 0.69},
            "shed_tuples": {1: 0, 2: 9},
        }  # fmt: skip
        gain = shed_gain(columns)
        assert gain is not None
        assert (gain.lead, gain.figure) == ("Sheds", "31\u2009%")
        assert gain.basis == "of the window; accuracy 0.84 [0.80, 0.88]"
        assert gain.curve == [(1, 1.0, None, None), (2, 0.84, 0.8, 0.88)]

    def test_without_an_interval_it_says_what_the_accuracy_is(self) -> None:
        columns: dict[str, dict[int, float]] = {
            "expected_accuracy": {2: 0.8},
            "shed_tuples": {2: 9},
        }
        gain = shed_gain(columns)
        assert gain is not None
        assert (gain.figure, gain.basis) == (
            "9 tuples", "in this batch; accuracy 0.80 expected",
        )  # fmt: skip
        exact = {"accuracy_low": {2: 0.5}, "accuracy_high": {2: 0.5}, "measured_accuracy": {2: 0.5}}
        gain = shed_gain({**columns, **exact})
        assert gain is not None
        assert gain.basis == "in this batch; accuracy 0.50 measured"

    def test_a_window_that_is_whole_boasts_of_nothing(self) -> None:
        gain = shed_gain({"expected_accuracy": {1: 1.0}, "memory_ratio": {1: 1.0}})
        assert gain is not None
        assert (gain.lead, gain.figure, gain.tone) == ("Nothing is shed now", "", "quiet")
        assert shed_gain({}) is None

    def test_the_story_adds_up(self) -> None:
        told = {"shed_total": series("shed_total", [3, 9]), "resident_tuples": series("r", [4, 6])}
        words = "shed 9 tuples of windows that were to keep 5 tuples in memory on average"
        assert shed_verdict(told) == words
        none = {**told, "shed_total": series("shed_total", [0, 0])}
        assert shed_verdict(none) == "shed nothing, with 5 tuples in memory on average"
        assert shed_verdict({}) == ""


def test_times_are_written_in_their_unit() -> None:
    us = 1_600_000_000_000_000
    assert time_text(us, "us") == "12:26:40"
    assert span_text(us, us + 5e6, "us") == "2020-09-13 12:26:40 – 12:26:45"
    assert span_text(us, us + 86_400e6, "us").endswith("2020-09-14 12:26:40")
    assert (time_text(1, "days"), span_text(3, 4, ""), span_text(None, 4, "")) == (
        "1970-01-02", "3 – 4", "—",
    )  # fmt: skip
    assert [length_text(n, unit) for n, unit in ((90e6, "us"), (3, "days"), (0, "us"))] == [
        "1 min 30 s", "3 days", "0\u2009s",
    ]  # fmt: skip
    assert (length_text(1200, ""), length_text(None, "us")) == ("1\u2009200", "—")


def test_all_words_are_named_and_the_share_is_on_the_card() -> None:
    assert set(CALS.properties) <= set(WORDS)
    assert set(UNREPLAYED) <= set(WORDS)
    assert set(GROUPS) == set(CALS.properties)
    assert MARKS["shed"].form == "pct"
    marked = marks_of(dict(BOOK))
    assert marked["w"] == [("w", "[Rows 5]", "shed_share", "✂", "—", "pct", "")]
