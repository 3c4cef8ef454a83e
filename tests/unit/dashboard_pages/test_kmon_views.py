"""The k ledger, what if k, synopses in parts, k over time, what constraints came to."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.base.context import Context, Moment
from dashboard.components.static import tree_of
from dashboard.systems.kmon.gain import held_gain, held_verdict
from dashboard.systems.kmon.history import counted, upper_end
from dashboard.systems.kmon.lanes_figure import draw_lanes
from dashboard.systems.kmon.lanes_view import MOST_LANES, build_lanes
from dashboard.systems.kmon.ledger_view import (
    MOST_DOTS,
    LedgerView,
    build_ledger,
    constraint_words,
    dots_of,
    state_of,
    total_of,
)
from dashboard.systems.kmon.synopses import _endless, _waiting
from dashboard.systems.kmon.synopses_view import build_synopses
from dashboard.systems.kmon.whatif_view import build_whatif, tried_ks
from dashboard.systems.kmon.words import UNREPLAYED, WORDS
from dashboard.views.book import Book, added
from dashboard.views.numbers import share_interval
from dashboard.views.plan import graph_values, sizes_of
from dashboard.views.plan_parts import marks_of, sent_edge
from storage.tables.rows import SeriesData, StoredMatrix
from storage.vocabulary.kmon import KMON
from storage.vocabulary.records import Entity, Knob, Matrix
from tests.unit.dashboard_pages.figures import checked
from tests.web.recorded_kmon import ENDS

UNIT = "u"
NAN = float("nan")


def constraint(name: str, **facts: Any) -> Entity:
    told = {"type": name.split()[0], "node": "join", **facts}
    return Entity(f"k:{name}", "monitor", name, told, unit_id=UNIT, role="constraint")


def synopsis(name: str) -> Entity:
    facts = {"node": "join", "input": name}
    return Entity(f"s:{name}", "synopsis", f"Of {name}", facts, unit_id=UNIT, role="components")


BOOK = Book(
    [
        Entity("join", "operator", "B ⋈ C", {}, unit_id=UNIT, role="join"),
        constraint("RIDS B → C", parent="B", child="C"),
        constraint("CA B.flow", parent="B", attribute="flow"),
        constraint("OAC C.seq", child="C", attribute="seq"),
        synopsis("B"),
        synopsis("C"),
    ]
)
VALUES: dict[str, dict[str, float | None]] = {
    "join": {"held_tuples": 312, "plain_tuples": 41_000, "lost_results_total": 2},
    "k:RIDS B → C": {
        "k_state": 1,
        "k_used_tuples": 180,
        "k_kept_tuples": 216,
        "k_estimate_tuples": 164,
        "k_low_tuples": 150,
        "k_high_tuples": 182,
        "k_window_observations": 1000,
        "k_saved_bytes": 4096,
        "k_violations": 0,
    },
    "k:CA B.flow": {"k_state": 0, "k_used_tuples": NAN, "k_estimate_tuples": None},
    "s:B": {"yes_tuples": 10, "unknown_tuples": 60, "no_tuples": 5, "spilled_tuples": 25,
            "plain_tuples": 1000},
}  # fmt: skip
LEDGER = StoredMatrix(
    7,
    0.0,
    Matrix(
        "k ledger",
        "k ledger",
        ("k:RIDS B → C", "k:CA B.flow"),
        ("safe", "cost_ns"),
        [[201, 4000], [None, 10]],
    ),
)


def seen(batch: int, values: list[Any]) -> StoredMatrix:
    columns = tuple(map(str, range(len(values))))
    return StoredMatrix(
        batch, 0.0, Matrix("k seen", "k seen", ("k:RIDS B → C",), columns, [values])
    )


def series(entity: str, name: str, values: list[float], first: int = 0) -> SeriesData:
    numbers = np.array(values, np.float64)
    batches = np.arange(first, first + len(values))
    n = np.ones(len(values), np.int64)
    times = 1000.0 + batches.astype(np.float64)
    return SeriesData(entity, name, "", batches, times, numbers, numbers, numbers, n, False)


def knob(name: str, value: Any) -> Knob:
    return Knob(name, "text", value, "", "", "", scope=UNIT)


def ledger(**knobs: Any) -> LedgerView:
    used = {"k:RIDS B → C": series("k:RIDS B → C", "k_used_tuples", [100.0, 180.0], 6)}
    given = {name: knob(name, value) for name, value in knobs.items()}
    seen_ = [seen(6, [120, 90, NAN, None]), seen(7, [120])]
    totals = {("k:RIDS B → C", "k_lost_tuples"): 2.0}
    found = build_ledger(BOOK, VALUES, [LEDGER], seen_, used, totals, given)
    assert found is not None
    return found


class TestLedger:
    def test_constraints_stand_by_what_they_save_with_all_that_is_known(self) -> None:
        view = ledger()
        assert [line.name for line in view.lines] == ["RIDS B → C", "CA B.flow", "OAC C.seq"]
        first, second, third = view.lines
        assert (first.state, first.used, first.kept, first.safe) == ("used", 180, 216, 201)
        assert (first.estimate, first.low, first.high, first.n) == (164, 150, 182, 1000)
        assert (first.lost, first.returned, first.cost) == (2, 0, 4000)
        assert (second.state, second.used, second.estimate) == ("watched", None, None)
        assert (third.state, third.dots, third.saved_bytes) == ("", (), None)

    def test_a_distance_is_above_the_k_of_its_own_time(self) -> None:
        dots = ledger().lines[0].dots
        told = [(dot.distance, dot.above, dot.batch) for dot in dots]
        assert told == [(90, False, 6), (120, True, 6), (120, False, 7)]

    def test_no_distance_is_above_a_k_that_is_none(self) -> None:
        used = series("k:RIDS B → C", "k_used_tuples", [NAN])
        assert not any(dot.above for dot in dots_of("k:RIDS B → C", [seen(0, [10**6])], used))
        assert not any(dot.above for dot in dots_of("k:RIDS B → C", [seen(0, [10**6])], None))

    def test_of_many_distances_those_above_are_kept(self) -> None:
        used = series("k:RIDS B → C", "k_used_tuples", [50.0] * 8)
        many = [seen(batch, [1.0] * 127 + [60.0]) for batch in range(8)]
        dots = dots_of("k:RIDS B → C", many, used)
        assert len(dots) <= MOST_DOTS
        assert sum(dot.above for dot in dots) == 8

    def test_pinned_and_forbidden_ones_are_named_by_knobs(self) -> None:
        view = ledger(pinned_constraints="RIDS B → C; X", forbidden_constraints="CA B.flow")
        assert [line.choice for line in view.lines] == ["pinned", "forbidden", ""]
        assert set(view.knobs) == {"pinned_constraints", "forbidden_constraints"}

    def test_what_the_join_holds_is_told_once(self) -> None:
        (join,) = ledger().joins
        assert (join.held, join.plain, join.lost, join.results) == (312, 41_000, 2, None)

    def test_a_join_with_a_shortened_name_is_told_in_full(self) -> None:
        text = "F → W: hour = seen and F → P: tailnum = tailnum"
        join = Entity("join", "operator", "F → W: hour…", {"text": text}, role="join")
        book = Book([join])
        assert (book.name("join"), book.whole_name("join")) == ("F → W: hour…", text)
        assert BOOK.whole_name("join") == "B ⋈ C"

    def test_losses_are_those_of_all_batches_also_where_points_are_means(self) -> None:
        data = series("c", "k_lost_tuples", [3.0, NAN, 1.5])
        assert total_of(data._replace(n=np.array([1, 1, 4]))) == 9

    def test_a_unit_without_constraints_has_no_ledger(self) -> None:
        assert build_ledger(Book(), {}, [], [], {}, {}, {}) is None

    def test_states_and_sentences(self) -> None:
        assert [state_of(n) for n in (0, 1.0, 2, 3, 9, NAN, None)] == [
            *("watched", "used", "unused", "unknown"), *("", "", ""),
        ]  # fmt: skip
        rids = constraint_words({"type": "RIDS", "parent": "B", "child": "C"})
        assert rids == "each B meets its C within k arrivals of C"
        assert constraint_words({}) == ""


def distances(batch: int, values: list[int]) -> StoredMatrix:
    row = [0] * len(ENDS)
    for value in values:
        row[next(place for place, end in enumerate(ENDS) if value <= end)] += 1
    matrix = Matrix("k distances", "k distances", ("c",), tuple(map(str, ENDS)), [row])
    return StoredMatrix(batch, 0.0, matrix)


class TestWhatIf:
    def test_bins_of_all_batches_are_added_up(self) -> None:
        found = counted([distances(0, [3, 3, 17]), distances(1, [3, 40])], "c")
        assert {end: n for end, n in found.items() if n} == {3: 3, 17: 1, 43: 1}
        assert not counted([distances(0, [3])], "another")
        assert upper_end("∞") == math.inf

    @given(st.lists(st.integers(0, 5000), min_size=1, max_size=60), st.integers(0, 5000))
    def test_what_is_above_is_never_told_as_less_and_exact_at_the_ends_of_bins(
        self, values: list[int], k: int
    ) -> None:
        counts = counted([distances(0, values)], "c")
        rows = tried_ks(counts, (float(k),), 10.0)
        for row in rows[:-1]:
            assert row.k is not None
            assert row.share is not None
            really = sum(value > row.k for value in values)
            assert row.above >= really
            if row.k in counts:
                assert row.above == really
            assert row.share == pytest.approx(row.above / len(values))
            assert row.low <= row.share <= row.high
            assert row.waits == pytest.approx((row.k + 1) / 11)
        assert rows[-1] == (None, 0, 0.0, 0.0, 0.0, None)
        assert [row.above for row in rows] == sorted((row.above for row in rows), reverse=True)

    def test_the_constraint_and_the_k_of_the_address_are_shown(self) -> None:
        lines = ledger().lines
        counts = {"k:RIDS B → C": {10.0: 5, 200.0: 1}, "k:CA B.flow": {3.0: 2}}
        first = build_whatif(lines, counts, (1, 4), "", None)
        assert first is not None
        assert (first.line.name, first.n, first.base, first.tried) == ("RIDS B → C", 6, 180, "")
        assert first.bins == ((-1.0, 10.0, 5), (10.0, 200.0, 1))
        assert first.names == ("CA B.flow", "RIDS B → C")
        other = build_whatif(lines, counts, (1, 4), "CA B.flow@7", None)
        assert other is not None
        assert (other.line.name, other.base, other.tried) == ("CA B.flow", None, "7")
        assert {row.waits for row in other.rows} == {None}
        gone = build_whatif(lines, counts, (1, 4), "gone@7", None)
        assert gone is not None
        assert (gone.line.name, gone.tried) == ("RIDS B → C", "")
        assert build_whatif(lines, {}, (1, 4), "", None) is None

    def test_a_share_has_the_interval_of_wilson(self) -> None:
        assert share_interval(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
        assert share_interval(10, 100) == pytest.approx((0.0552, 0.1744), abs=1e-4)
        assert share_interval(0, 0) == (0.0, 1.0)


class TestSynopses:
    def test_inputs_and_constraints_stand_by_their_join(self) -> None:
        (join,) = build_synopses(BOOK, VALUES)
        first, second = join.inputs
        assert (first.name, first.kept, first.share) == ("B", 100, 0.075)
        assert (second.name, second.kept, second.share) == ("C", 0, None)
        assert [(one.name, one.k) for one in join.waits] == [
            ("CA B.flow", None),
            ("OAC C.seq", None),
            ("RIDS B → C", 180),
        ]

    def test_a_k_that_is_none_is_open_at_its_end(self) -> None:
        (join,) = build_synopses(BOOK, VALUES)
        now = Context(Moment(), None, None, None)
        *endless, bounded = join.waits
        drawn = json.dumps(tree_of(_waiting(bounded, 180, now)))
        assert "pw-ks-open" not in drawn
        assert '"84.00%"' in drawn
        others = json.dumps(tree_of(_endless(endless, now)), ensure_ascii=False)
        assert others.count("pw-ks-open") == 1
        assert "2 others" in others

    def test_a_constraint_is_on_the_edge_of_the_input_whose_tuples_it_lets_go(self) -> None:
        marks = {"join": [("k:a", "a", "k_used_tuples", "k", "∞", "si", "0")]}
        edge = {"source": "in:B", "target": "join", "queue": "q:B"}  # port 0 is not written
        assert sent_edge(edge, {"q:B": 9}, marks) == {**edge, "capacity": 9, "marks": marks["join"]}
        assert "marks" not in sent_edge({**edge, "port": 1}, {}, marks)
        assert "marks" not in sent_edge({**edge, "queue": None}, {}, marks)

    def test_constraints_are_on_the_card_of_their_join(self) -> None:
        marked = marks_of(dict(BOOK))
        assert list(marked) == ["join"]
        mark = ("k_used_tuples", "k", "∞", "si")
        assert marked["join"][2] == ("k:RIDS B → C", "RIDS B → C", *mark, "")
        told = graph_values(VALUES, dict(BOOK))
        assert told["k:RIDS B → C"] == {"k_used_tuples": 180}
        assert told["k:CA B.flow"] == {"k_used_tuples": None}

    def test_parts_are_told_by_name_beside_what_is_in_memory(self) -> None:
        told = sizes_of(VALUES["s:B"])
        assert isinstance(told, dict)
        assert told.pop("size_tuples") == 75
        assert told == VALUES["s:B"]
        assert sizes_of({"size_tuples": 4.0}) == {"size_tuples": 4}


class TestLanes:
    RIDS = ("k:RIDS B → C", "k_used_tuples")

    def test_a_k_that_is_none_is_at_the_top(self) -> None:
        found = {
            self.RIDS: series(*self.RIDS, [100.0, NAN, 400.0]),
            ("k:RIDS B → C", "k_violations"): series("k:RIDS B → C", "k_violations", [0, 3, 0]),
            ("k:RIDS B → C", "k_largest_tuples"): series("x", "k_largest_tuples", [50, 380, 10]),
        }
        (lane,) = build_lanes(BOOK, found)
        assert [one.used for one in lane.points] == [100, None, 400]
        assert lane.n_changes == 2
        figure = draw_lanes([lane], "dark")
        checked(figure)
        named = {trace["name"]: trace for trace in figure["data"]}
        heights = named["k in use"]["y"]
        assert heights[1] == 1.0
        assert heights[0] < heights[2] < 1.0
        assert named["distance above k"]["customdata"] == ["batch 1: 3 above k, largest 380"]
        assert figure["layout"]["yaxis"]["ticktext"][-1] == "∞"

    def test_marks_of_the_axis_stand_apart(self) -> None:
        found = {self.RIDS: series(*self.RIDS, [4.0, 90_000.0])}
        figure = draw_lanes(build_lanes(BOOK, found))
        at = figure["layout"]["yaxis"]["tickvals"]
        assert all(b - a > 0.27 for a, b in pairwise(at))

    def test_of_many_those_whose_k_changed_most_have_lanes(self) -> None:
        many = Book([constraint(f"RIDS {n}") for n in range(20)])
        ids = [f"k:RIDS {n}" for n in range(20)]
        courses = [[float(n % 7 and batch % (n + 1)) for batch in range(30)] for n in range(20)]
        found = {
            (id, "k_used_tuples"): series(id, "k_used_tuples", course)
            for id, course in zip(ids, courses, strict=True)
        }
        lanes = build_lanes(many, found)
        assert len(lanes) == MOST_LANES
        least = min(lane.n_changes for lane in lanes)
        left_out = set(ids) - {lane.constraint for lane in lanes}
        assert all(
            sum(a != b for a, b in pairwise(courses[n])) <= least
            for n in range(20)
            if ids[n] in left_out
        )


class TestGain:
    def test_what_several_joins_hold_is_added_batch_by_batch(self) -> None:
        long, short = series("a", "held_tuples", [1, 2, 3, 4]), series("b", "held_tuples", [10], 2)
        total = added({("a", "held_tuples"): long, ("b", "held_tuples"): short})["held_tuples"]
        assert total.value.tolist() == [1, 2, 13, 14]

    def test_the_headline_is_what_is_held_beside_what_would_be(self) -> None:
        columns: dict[str, dict[int, float]] = {
            "held_tuples": {3: 400.0, 4: 312.0},
            "plain_tuples": {3: 800.0, 4: 41_000.0},
            "held_bytes": {4: 2048.0},
            "plain_bytes": {4: 1 << 20},
        }
        gain = held_gain(columns)
        assert gain is not None
        assert (gain.lead, gain.figure, gain.tone) == ("k-constraints hold", "312 tuples", "gain")
        assert gain.basis.startswith("where joins without them would hold 41\u2009000: 2")
        assert [point[1] for point in gain.curve] == [0.5, pytest.approx(1 - 312 / 41_000)]

    def test_nothing_is_boasted_of_where_nothing_is_saved(self) -> None:
        gain = held_gain({"held_tuples": {1: 10.0}, "plain_tuples": {1: 10.0}})
        assert gain is not None
        assert (gain.lead, gain.figure) == ("No k-constraint pays for itself here", "")
        assert held_gain({"held_tuples": {1: 0.0}, "plain_tuples": {1: 0.0}}) is None

    def test_the_post_mortem_tells_means_and_losses(self) -> None:
        told = {
            "held_tuples": series("join", "held_tuples", [100, 200]),
            "plain_tuples": series("join", "plain_tuples", [1000, 3000]),
        }
        assert held_verdict(told) == (
            "held 150 tuples on average where joins without k-constraints would hold"
            " 2\u2009000; no result was lost"
        )
        told["lost_results_total"] = series("join", "lost_results_total", [0, 3])
        assert held_verdict(told).endswith("; at most 3 results were lost")
        assert held_verdict({}) == ""


def test_every_property_has_a_name_and_every_knob_a_reason() -> None:
    assert set(KMON.properties) <= set(WORDS)
    assert set(UNREPLAYED) <= set(WORDS)
