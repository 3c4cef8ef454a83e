"""Caches with their bids, pipelines, lanes of states, and what takes memory: records to views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dashboard.panels.contract import Sheet
from dashboard.systems.joins.caches_view import build_caches, state_of
from dashboard.systems.joins.lanes_figure import draw_lanes
from dashboard.systems.joins.lanes_view import build_lanes
from dashboard.systems.joins.ledger import draw
from dashboard.systems.joins.ledger_figure import draw_caching
from dashboard.systems.joins.ledger_view import BEST, ELEMENTS, PLAIN, SPENT, build_caching
from dashboard.systems.joins.matrices_view import build_candidates, build_join_view
from dashboard.systems.joins.pipelines_view import build_pipelines
from dashboard.views.book import Book
from dashboard.views.knobs import named_in
from dashboard.views.takes import build_takes
from storage.tables.rows import SeriesData, StoredMatrix
from storage.vocabulary.records import Entity, Knob, Matrix
from tests.unit.dashboard_pages.figures import checked
from tests.unit.dashboard_shell.samples import context

UNIT = "u"


def cache(id: str, name: str, **facts: Any) -> Entity:
    readers = [{"pipeline": "p:T", "name": "T", "first": 0, "last": 1}]
    told = {
        "join": "j",
        "pool": "pool",
        "short_name": name,
        "key": ["b"],
        "readers": readers,
        **facts,
    }
    return Entity(id, "cache", name, told, unit_id=UNIT, role="cache")


BOOK = Book(
    [
        Entity("j", "operator", "a and b", {"queries": ["q1", "q2"]}, unit_id=UNIT, role="join"),
        Entity("pool", "pool", "Pool", {"join": "j"}, unit_id=UNIT, role="pool"),
        Entity(
            "p:T",
            "operator",
            "Pipeline of T",
            {"join": "j", "input": "T", "order": ["S", "R", "U"]},
            unit_id=UNIT,
            role="pipeline",
        ),
        cache("c1", "R ⋈ S"),
        cache("c2", "S ⋈ T"),
        cache("c3", "T ⋈ U"),
        Entity("s", "store", "tuples of R", unit_id=UNIT, role="store"),
        Entity("w", "monitor", "Profile window", unit_id=UNIT, role="profile"),
        Entity(
            "asc", "operator", "dest", {"bitmap_bytes": 1 << 20}, unit_id=UNIT, role="selection"
        ),
    ]
)
VALUES: dict[str, dict[str, float | None]] = {
    "pool": {"pool_bytes": 8192, "used_bytes": 5000, "plain_cost": 3.0, "cached_cost": 2.0},
    "c1": {"cache_state": 1, "cache_bid": 0.5, "used_bytes": 5000, "granted_bytes": 8192},
    "c2": {"cache_state": 0, "cache_bid": 2.0, "used_bytes": 0},
    "c3": {"cache_state": 1, "cache_bid": 0.9},
    "p:T": {"arrival_share": 0.5, "pipeline_cost": 1.5},
    "s": {"state_bytes": 70_000},
    "w": {"window_tuples": 250},
}


def knob(name: str, value: Any, batch: int = 0, version: int = 0) -> Knob:
    return Knob(name, "int", value, value, "", "", scope=UNIT, batch=batch, version=version)


def series(entity: str, values: list[float], first: int = 0) -> SeriesData:
    numbers = np.array(values, np.float64)
    batches = np.arange(first, first + len(values))
    times = batches.astype(np.float64)
    n = np.ones(len(values), np.int64)
    return SeriesData(entity, "x", "", batches, times, numbers, numbers, numbers, n, False)


def test_caches_in_use_come_first_and_each_as_it_bids() -> None:
    (join,) = build_caches(BOOK, VALUES, [knob("pinned_caches", "")], {})
    assert [one.id for one in join.bids] == ["c3", "c1", "c2"]
    assert join.name == "q1, q2"
    assert (join.plain, join.cached, join.cost) == (3.0, 2.0, "µs")
    assert set(join.knobs) == {"pinned_caches"}
    assert join.bids[2].places == ("in T",)


def test_costs_are_probes_where_they_are_counted_and_choices_are_read_from_knobs() -> None:
    knobs = [
        knob("join_costs", "counted"),
        knob("pinned_caches", "R ⋈ S;  S ⋈ T"),
        knob("forbidden_caches", "T ⋈ U"),
    ]
    (join,) = build_caches(BOOK, VALUES, knobs, {})
    assert join.cost == "probes"
    assert {one.id: one.choice for one in join.bids} == {
        "c1": "pinned",
        "c2": "pinned",
        "c3": "forbidden",
    }
    assert named_in(None) == ()


def test_costs_and_bids_are_means_of_the_last_batches_and_a_saving_has_its_interval() -> None:
    courses = {
        ("pool", "plain_cost"): [8.0, 16.0, 8.0, 16.0],
        ("pool", "cached_cost"): [4.0, 8.0, 2.0, 4.0],
        ("c1", "cache_bid"): [0.1, 0.5],
        ("c1", "granted_bytes"): [4096.0, 8192.0],
    }
    (join,) = build_caches(BOOK, VALUES, [], courses)
    assert (join.plain, join.cached) == (12.0, 4.5)
    found = join.saving
    assert found is not None
    assert (found.n, found.stretch) == (4, "last 4 batches")
    assert found.share == pytest.approx(1 - 4.5 / 12)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.share < found.high
    c1 = next(one for one in join.bids if one.id == "c1")
    assert c1.bid == 0.5
    assert c1.smooth == pytest.approx(0.3)
    assert (c1.granted, c1.under) == (8192, 4096)
    assert join.verdict == "Nothing is cached yet"
    assert join._replace(entries=7.0).verdict == "Caches save 62\u2009%"
    (one,) = build_caches(BOOK, VALUES, [], {key: value[:1] for key, value in courses.items()})
    assert (one.saving, one.verdict) == (None, "Not measured yet")


def test_what_caching_saved_and_lost_since_the_run_began() -> None:
    totals = {
        ELEMENTS: [10.0, 20.0],
        PLAIN: [100.0, 200.0],
        SPENT: [90.0, 150.0],
        BEST: [90.0, 140.0],
    }
    told = {("pool", name): series("pool", values) for name, values in totals.items()}
    (join,) = build_caching(BOOK, {"pool": ("four", "probes")}, told)
    assert [(row.saved, row.regret) for row in join.rows] == [(10, 0), (50, 10)]
    words, tone = join.verdict
    assert tone == "ok"
    assert words.startswith("saved 25")
    assert len(checked(draw_caching([join])).data) == 2
    assert "25\u2009% of the cost without caches since the run began; 5.0" in words
    assert build_caching(BOOK, {"pool": ("four", "probes")}, {}) == []


@pytest.mark.parametrize("best", [101.0, 100.0 + 4e-13, 100.0])
def test_what_ran_is_never_above_the_best_in_hindsight_by_less_than_nothing(best: float) -> None:
    totals = {ELEMENTS: [10.0], PLAIN: [100.0 + 4e-13], SPENT: [100.0], BEST: [best]}
    told = {("pool", name): series("pool", values) for name, values in totals.items()}
    (join,) = build_caching(BOOK, {"pool": ("four", "probes")}, told)
    assert (join.rows[0].saved, join.rows[0].regret) == (0, 0)
    assert join.is_blank
    regret = "no dearer than the best caches in hindsight"
    assert join.verdict == (f"neither saved nor lost since the run began; {regret}", "quiet")
    sheet = Sheet(context())
    assert "neither saved nor lost anything" in str(draw([join], sheet).body)
    assert draw([join], sheet).figure is None


@pytest.mark.parametrize(
    ("value", "word"), [(0, "profiled"), (1, "used"), (2, "unused"), (9, ""), (None, "")]
)
def test_states_are_words(value: float | None, word: str) -> None:
    assert state_of(value) == word


def test_a_pipeline_has_its_steps_and_the_caches_over_them() -> None:
    (join,) = build_pipelines(BOOK, VALUES, [])
    (row,) = join.rows
    assert (row.input, row.order, row.arrival, row.cost) == ("T", ("S", "R", "U"), 0.5, 1.5)
    assert [(one.name, one.state, one.first, one.last) for one in row.spans][-1] == (
        "S ⋈ T",
        "profiled",
        0,
        1,
    )


def test_lanes_join_batches_in_one_state() -> None:
    used = series("c1", [0, 0, 1, 1, 1, 2])
    never, strange = series("c2", [0, 0]), series("nobody", [1])
    lanes = build_lanes(BOOK, [never, used, strange])
    assert [lane.cache for lane in lanes] == ["c1", "c2"]  # longest in use on top
    told = [(one.state, one.first, one.last, one.until) for one in lanes[0].stretches]
    assert told == [("profiled", 0, 1, 2.0), ("used", 2, 4, 5.0), ("unused", 5, 5, 5.0)]
    bars = checked(draw_lanes(lanes, "dark")).data
    assert {one.name: len(one.y) for one in bars} == {"used": 1, "profiled": 2, "unused": 1}


def test_matrices_of_a_join() -> None:
    view = Matrix(
        "join view of T: a and b", "join view", ("S", "R"), ("S", "R"), [[1, 2], [None, 3]], n=9
    )
    shown = build_join_view(StoredMatrix(7, 0.0, view))
    assert (shown.title, shown.values, shown.n, shown.batch) == (
        "T: a and b",
        ((1, 2), (None, 3)),
        9,
        7,
    )
    columns = (
        "cache_benefit",
        "cache_upkeep",
        "cache_bid",
        "wanted_bytes",
        "granted_bytes",
        "chosen",
    )
    values = [[3.0, 1.0, 0.5, 4096, 4096, 1], [None, 1.0, None, None, 0, 0]]
    bids = Matrix(
        "cache bids of a",
        "cache bids",
        ("c1", "c2"),
        columns,
        values,
        row_stats={"conflicts": [[1], [0]]},
    )
    first, second = build_candidates(StoredMatrix(7, 0.0, bids), BOOK).rows
    assert (first.name, first.net, first.chosen, first.conflicts) == ("R ⋈ S", 2.0, True, (2,))
    assert (second.net, second.chosen, second.conflicts) == (None, False, (1,))


def test_parts_stand_against_their_limits_and_the_largest_come_first() -> None:
    knobs = [knob("bitmap_memory", 4), knob("tau_tuples", 1000), knob("state_limit_bytes", 0)]
    view = build_takes(BOOK, VALUES, knobs)
    limits = {one.name: (one.value, one.limit, one.unit) for one in view.kinds}
    assert limits["Bitmaps of constructs"] == (1 << 20, 4 << 20, "bytes")
    assert limits["Profile window"] == (250, 1000, "tuples")
    assert limits["Pool of caches · a and b"] == (5000, 8192, "bytes")
    assert [one.name for one in view.holders] == ["tuples of R", "R ⋈ S"]
    assert build_takes(Book(), {}, []).kinds == ()
