"""What the Matrix page of pipelined filters shows, from records a real engine loop has written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from backend.model.ids import profile_id
from dashboard.serving.deltas import MAX_BYTES, encoded, snapshot
from dashboard.systems.agreedy.filters_view import (
    FiltersView,
    NearPair,
    build_view,
    cells,
    component_data,
    near_words,
    shades,
    view_name,
    window_batches,
)
from dashboard.systems.agreedy.overhead_view import build_overhead, place, verdict
from dashboard.systems.agreedy.race_view import PROPERTIES, RaceView, build_race
from dashboard.views.book import Book
from dashboard.views.decision_card import build_card
from dashboard.views.decisions import build_list
from dashboard.views.plan import graph_plan, plan_nodes, steps
from dashboard.views.thrash import find_loops
from storage.store import Reader, open_reader
from storage.tables.rows import SeriesData
from storage.vocabulary.records import Knob, Matrix
from tests.web.recorded_filters import (
    INDEPENDENT,
    QUERY,
    RACE,
    STATIC,
    SWAPS,
    SWEEP,
    UNIT,
    filter_id,
    record_filters,
)

RUN = "f1"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    path = tmp_path_factory.mktemp("filters") / "planwatch.db"
    record_filters(path, RUN)
    with open_reader(str(path)) as found:
        yield found


def view_at(reader: Reader, batch: int) -> FiltersView:
    stored = reader.matrix(RUN, f"view:{QUERY}", batch)
    assert stored is not None
    (entry,) = reader.decisions(RUN, until=stored.batch, limit=1)
    book = Book(reader.entities(RUN, batch))
    return build_view(stored.matrix, stored.batch, book, entry.decision)


def test_a_switch_shows_the_view_that_was_violated_and_the_move_it_implies(reader: Reader) -> None:
    switched = reader.decisions(RUN, until=RACE, verdicts=("switched",))
    for entry in switched:
        view = view_at(reader, entry.decision.batch)
        plan = reader.plan_at(RUN, entry.decision.batch)
        assert plan is not None
        assert [filter_id(name) for name in view.order] == list(plan.order)
        assert view.check is not None
        assert view.check.move is not None
        challenger, incumbent = view.check.move
        assert (incumbent, incumbent, challenger) in view.violated
        own, other = view.cards[incumbent], view.cards[challenger]
        count = view.rows[incumbent][challenger - incumbent] or 0.0
        share = count / (view.reached[incumbent] or 1.0)
        assert own.rank is not None
        assert other.cost is not None
        assert own.rank < 0.9 * share / other.cost


def test_cells_show_counts_probabilities_and_ratios_to_cost(reader: Reader) -> None:
    view = view_at(reader, RACE - 2)
    stored = {
        name: reader.matrix(RUN, f"{name}:{QUERY}", RACE - 2)
        for name in ("view", "view_drop_prob", "view_rank")
    }
    for shown, name in (("counts", "view"), ("drop", "view_drop_prob"), ("rank", "view_rank")):
        matrix = stored[name]
        assert matrix is not None
        for row, values in enumerate(cells(view, shown)):  # type: ignore[arg-type]  # the three words
            assert values == pytest.approx(list(matrix.matrix.values[row][row:]))
    for shown in ("counts", "drop", "rank"):
        for shade_row in shades(view, shown):  # type: ignore[arg-type]  # likewise
            assert all(shade is None or 0 <= shade <= 1 for shade in shade_row)


@pytest.mark.parametrize(
    ("batch", "kept"),
    [
        (SWEEP + 3, lambda i, j, n: i == j or j in range(1, n)),
        (SWAPS + 2, lambda i, j, n: j in (i, i + 1)),
        (INDEPENDENT + 2, lambda i, j, n: i == 0),
    ],
    ids=["sweep", "local swaps", "independent"],
)
def test_entries_an_algorithm_does_not_keep_are_absent(
    batch: int, kept: Any, reader: Reader
) -> None:
    view = view_at(reader, batch)
    n = len(view.cards)
    absent = 0
    for i, row in enumerate(view.rows):
        for k, count in enumerate(row):
            if count is None:
                absent += 1
            else:
                assert kept(i, i + k, n)
    assert absent > 0


def test_a_fixed_order_shows_what_it_misses(reader: Reader) -> None:
    pinned = reader.decisions(RUN, verdicts=("pinned",))
    view = view_at(reader, pinned[0].decision.batch)
    assert view.check is not None
    assert view.check.verdict == "pinned"
    assert view.violated
    assert view.check.tested.endswith(": violated")
    data = component_data(view, "rank")
    assert data["moved"] is False
    assert data["move"] == list(view.check.move or ())


def test_a_removed_filter_is_gone_from_the_next_view(reader: Reader) -> None:
    last = reader.last_batch(RUN)
    assert last is not None
    assert "slow" in view_at(reader, STATIC + 2).order
    assert "slow" not in view_at(reader, last).order


def test_near_violations_are_told_in_words() -> None:
    assert near_words(NearPair("F3", "F1", 1, 0.06)) == (
        "F3 overtakes F1 if its drop probability rises by 0.060"
    )
    assert near_words(NearPair("F3", "F1", 1, 0.0)) == "F3 should run before F1"
    assert "whatever" in near_words(NearPair("F3", "F1", 1, None))


def test_a_hundred_filters_and_records_with_gaps() -> None:
    names = tuple(f"F{i}" for i in range(100))
    values = [[1.0 if j >= i else None for j in range(100)] for i in range(100)]
    matrix = Matrix("view:q", "view", names, names, values, "tuples", 100)
    view = build_view(matrix, 3, Book(), None)
    assert len(view.rows[0]) == 100
    assert cells(view, "drop")[0][0] is None  # reached was not recorded
    assert view.check is None
    assert component_data(view, "counts")["move"] is None
    cut = replace(
        matrix, row_stats={"reached": [100.0] * 100}, column_stats={"cost_us": [0.0] * 100}
    )
    assert (
        cells(build_view(cut, 3, Book(), None), "rank")[0][0] is None
    )  # a free filter has no ratio
    assert view_name(("view:a", "view:b"), "b") == "view:b"
    assert view_name(("view:a",), "b") == "view:a"
    assert view_name((), "b") is None


def test_the_window_reaches_back_over_batches() -> None:
    sampled = _series([10, 40, float("nan"), 0, 25])
    assert window_batches(sampled, 25) == (4, 4)
    assert window_batches(sampled, 60) == (1, 4)
    assert window_batches(sampled, 900) == (0, 4)
    assert window_batches(None, 9) is None


def _series(values: list[float]) -> SeriesData:
    n = len(values)
    column = np.array(values, dtype=np.float64)
    times, ones = np.arange(n, dtype=np.float64), np.ones(n, dtype=np.int64)
    return SeriesData("m", "p", "tuples", np.arange(n), times, column, column, column, ones, False)


def race_at(reader: Reader, batch: int) -> RaceView:
    racers = Book(reader.entities(RUN, batch)).of("race")
    keys = [(one.id, name) for one in racers for name in PROPERTIES]
    series = reader.many_series(RUN, [*keys, ("system", "tuples_total")], until_batch=batch)
    matrix = reader.matrix(RUN, "race", batch)
    assert matrix is not None
    return build_race(racers, series, series[("system", "tuples_total")], matrix.matrix)


def test_the_race_has_a_line_for_each_algorithm(reader: Reader) -> None:
    view = race_at(reader, SWEEP - 1)
    assert [lane.algorithm for lane in view.lanes][:2] == ["a-greedy", "sweep"]
    greedy = view.lanes[0]
    assert greedy.in_force
    plan = reader.plan_at(RUN, SWEEP)
    assert plan is not None
    assert [filter_id(name) for name in greedy.order] == list(plan.order)
    assert greedy.changes == sum(reading.changed for reading in greedy.readings)
    assert all(
        b.tuples > a.tuples for a, b in zip(greedy.readings, greedy.readings[1:], strict=False)
    )
    begun_anew = race_at(reader, SWEEP + 2)
    assert min(r.batch for lane in begun_anew.lanes for r in lane.readings) >= SWEEP
    assert [lane.algorithm for lane in begun_anew.lanes if lane.in_force] == ["sweep"]


def test_overhead_says_whether_adapting_pays(reader: Reader) -> None:
    values = reader.values(RUN, RACE)[profile_id(UNIT)]
    knob = Knob("profile_prob", "float", 0.01, 0.01, "prob", "")
    found = build_overhead(values, knob)
    assert sum(share or 0 for _, _, share in found.shares) == pytest.approx(1)
    assert found.boosted
    assert "not known" in verdict(None, 0.3)
    assert "nothing" in verdict(0.1, 0.0)
    assert "any p" in verdict(0.1, 1.0)
    assert "3.00 times" in verdict(0.1, 0.3)
    assert "above the break-even" in verdict(0.1, 0.05)
    assert [place(p) for p in (1e-4, 1.0, None)] == [pytest.approx(0), pytest.approx(1), None]


def test_the_plan_page_weighs_filters_with_their_cost(reader: Reader) -> None:
    plan = reader.plan_at(RUN, RACE)
    assert plan is not None
    entities = {entity.id: entity for entity in reader.entities(RUN, RACE)}
    rows = steps(plan, plan_nodes(plan), reader.values(RUN, RACE), entities)
    assert [row.native for row in rows] == [True, False, False, False, False, False]
    assert sum(row.visits or 0 for row in rows) == pytest.approx(1)
    slow = next(row for row in rows if row.attribute == "slow")
    reached = sum(row.reached or 0 for row in rows)
    assert slow.visits is not None
    assert slow.visits > (slow.reached or 0) / reached
    kinds = [node["kind"] for node in graph_plan(RUN, plan, plan_nodes(plan))["nodes"]]
    assert kinds[:3] == ["source", "native filter", "filter"]


def test_a_decision_card_has_the_pair_and_counts_in_microseconds(reader: Reader) -> None:
    switched = reader.decisions(RUN, until=RACE, verdicts=("switched",))
    entry = next(e for e in switched if e.outcome is not None and e.outcome.n_sample >= 30)
    card = build_card(entry, (), reader.plans(RUN))
    assert card.pair is not None
    assert card.pair["interval"]["n"] == card.pair["n_reached"]
    assert "µs per 1 000 tuples" in card.saved_words
    assert build_list([entry], reader.decision_counts(RUN)).rows[0].unit == "µs"


def test_loops_of_filters_are_named_by_what_moved(reader: Reader) -> None:
    plans = [plan for plan in reader.plans(RUN) if plan.batch <= RACE]
    entries = {e.decision.seq: e for e in reader.decisions(RUN, limit=500)}
    loops = find_loops(plans, lambda batch: 2000 * batch, entries, 1_000_000)
    assert loops
    assert {loop.unit for loop in loops} == {"µs"}
    assert all("n_bytes" not in loop.route for loop in loops)


def test_deltas_carry_the_filters(reader: Reader) -> None:
    run = reader.run(RUN)
    assert run is not None
    delta, _ = snapshot(reader, run, 1)
    assert {"drop_prob", "cost_us"} <= set(delta["v"][filter_id("table")])
    assert len(encoded(delta).encode()) <= MAX_BYTES
