"""Two stretches: parsed from the address, laid over each other, plans and decisions told apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from dashboard.figures.compare import draw_compared
from dashboard.views.compare import (
    BY_BATCH,
    BY_TIME,
    ComparedPair,
    ComparedStretch,
    address,
    aligned,
    by_batch,
    by_time,
    common_by_batch,
    common_by_time,
    decision_difference,
    ends_of,
    parse,
    plan_difference,
)
from dashboard.views.numbers import pooled_interval
from storage.tables.rows import DecisionEntry, SeriesData
from storage.vocabulary.records import PlanVersion
from tests.contract.store_builders import batch, decision
from tests.unit.dashboard_pages.figures import checked


def series(first: int, values: list[float]) -> SeriesData:
    n = np.arange(first, first + len(values))
    found: NDArray[np.float64] = np.array(values, dtype=np.float64)
    times, ones = n.astype(np.float64), np.ones_like(n)
    return SeriesData("system", "visits_per_tuple", "", n, times, found, found, found, ones, False)


def switched(seq: int, at: int, *order: str) -> DecisionEntry:
    made = replace(decision(seq, at, "switched", "u"), new={"order": list(order)})
    return DecisionEntry(made, 0.0, None)


def test_an_address_names_two_stretches_and_comes_back() -> None:
    asked = ComparedPair(ComparedStretch("a", 3, 9), ComparedStretch("b", 0, None), BY_TIME)
    assert parse(address(asked), "b", "", 99) == asked
    assert parse(None, "r", "", 99) == ComparedPair(
        ComparedStretch("r", 0, 49), ComparedStretch("r", 50)
    )
    assert parse("", "r", "other", 99).a == ComparedStretch("other")
    assert parse("x,1e9,~,-3,4", "r", "", 9).b == ComparedStretch("r", 0, 4)


def test_stretches_lie_over_each_other_by_batch_from_their_begins() -> None:
    places = by_batch(10), by_batch(40)
    both = (series(10, [4.0, 5.0, 6.0]), series(40, [2.0, 2.5]))
    line = aligned("visits_per_tuple", both, places, (series(10, [4.0, 5.0]), both[1]))
    assert line is not None
    assert (line.x, line.a, line.b) == ([0, 1, 2], [4.0, 5.0, 6.0], [2.0, 2.5, None])
    assert (line.mean_a, line.mean_b) == (4.5, 2.25), "the third batch of A has no counterpart"
    assert line.change.share is None, "two batches say nothing"
    assert aligned("batch_ms", (None, None), places, (None, None)) is None
    nan = float("nan")
    dropped = series(0, [nan, nan]), series(0, [nan])
    assert aligned("dropping_ratio", dropped, places, (None, None)) is None
    drawn = checked(draw_compared([line, line], BY_BATCH, "dark"))
    assert [trace.name for trace in drawn.data] == ["A", "B", None, "A", "B", None]


def test_by_time_what_the_stream_said_is_the_place() -> None:
    left = [replace(batch(n), stream_time=f"12:0{n}") for n in range(3)]
    places = by_time([*left, batch(3)])
    assert [places(n) for n in range(4)] == ["12:00", "12:01", "12:02", None]


@pytest.mark.parametrize(
    ("ends", "places", "a", "b", "unlike"),
    [
        (((10, 19), (40, 49)), (0, 9), (10, 19), (40, 49), False),
        (((10, 19), (40, 44)), (0, 4), (10, 14), (40, 44), True),
        (((13, 19), (40, 44)), (3, 4), (13, 14), (43, 44), True),
    ],
)
def test_what_both_have_is_known_before_anything_is_read(
    ends: tuple[tuple[int, int], tuple[int, int]],
    places: tuple[int, int],
    a: tuple[int, int],
    b: tuple[int, int],
    unlike: bool,
) -> None:
    asked = ComparedPair(ComparedStretch("a", 10), ComparedStretch("b", 40))
    found = common_by_batch(asked, ends)
    assert found is not None
    assert (found.first, found.last, found.unlike) == (*places, unlike)
    assert (found.a, found.b) == (ComparedStretch("a", *a), ComparedStretch("b", *b))


def test_stretches_that_never_meet_have_nothing_in_common() -> None:
    asked = ComparedPair(ComparedStretch("a"), ComparedStretch("b"))
    assert common_by_batch(asked, ((0, 4), (9, 12))) is None
    assert common_by_batch(asked, ((0, 4), None)) is None
    morning = [replace(batch(n), stream_time=f"08:0{n}") for n in range(3)]
    evening = [replace(batch(n), stream_time=f"20:0{n}") for n in range(3)]
    assert common_by_time(asked, (morning, evening)) is None
    found = common_by_time(asked, (morning, morning[1:]))
    assert found is not None
    assert (found.first, found.last, found.unlike) == ("08:01", "08:02", True)
    assert (found.a.first, found.b.first) == (1, 1)


def test_a_stretch_ends_with_its_run() -> None:
    assert ends_of(ComparedStretch("r", 0, 99), 3, 40) == (3, 40)
    assert ends_of(ComparedStretch("r", 10), 3, 40) == (10, 40)
    assert ends_of(ComparedStretch("r", 41), 3, 40) is None
    assert ends_of(ComparedStretch("r"), None, None) is None


def test_points_of_many_batches_count_as_many() -> None:
    plain = series(0, [1.0, *[2.0] * 39])
    heavy = plain._replace(n=np.array([41, *[1] * 39]), thinned=True)
    both, places = (plain, heavy), (by_batch(0), by_batch(0))
    line = aligned("visits_per_tuple", both, places, both)
    assert line is not None
    assert line.mean_b == (41 + 2 * 39) / 80
    assert line.change.share is not None
    assert (line.change.n, line.change.share.mean) == (40, line.mean_b / (79 / 40) - 1)


def test_few_points_of_many_batches_have_the_interval_their_extremes_allow() -> None:
    values = np.array([1.0, 3.0] * 20)
    raw = series(0, values.tolist())
    two = series(0, [2.0, 2.0])._replace(
        n=np.array([20, 20]), low=np.ones(2), high=np.full(2, 3.0), thinned=True
    )
    apart, pooled = pooled_interval(raw), pooled_interval(two)
    assert apart is not None
    assert pooled is not None
    assert pooled == pytest.approx(apart)
    assert pooled_interval(two._replace(n=np.array([2, 2]))) is None, "four batches say nothing"


@pytest.mark.parametrize(
    ("right", "moved", "only_b"),
    [("a b c", "", ""), ("b a c", "a b", ""), ("b c x", "", "x"), ("c b", "b c", "")],
)
def test_plans_are_told_apart_by_name_and_place(right: str, moved: str, only_b: str) -> None:
    def plan(order: str) -> PlanVersion:
        return PlanVersion(1, 0, "early drop", tuple(order.split()), {}, order, "")

    found = plan_difference("u", plan("a b c"), plan(right), {})
    assert found.moved == frozenset(moved.split())
    assert found.only_b == frozenset(only_b.split())


def test_each_switch_is_in_one_or_in_both() -> None:
    a = [switched(5, 30, "y"), switched(1, 10, "x"), switched(7, 40, "x")]
    b = [switched(2, 110, "x"), switched(3, 120, "z")]
    found = decision_difference(a, b, (0, 100))
    assert [(one.side, one.words, one.seq) for one in found] == [
        ("both", "x", 1),
        ("B", "z", 3),
        ("A", "y", 5),
        ("A", "x", 7),
    ]


def test_the_area_between_ends_where_the_shorter_line_does() -> None:
    both = (series(10, [4.0, 5.0]), series(40, [2.0, 2.5, 3.0, 3.5]))
    line = aligned("visits_per_tuple", both, (by_batch(10), by_batch(40)), both)
    assert line is not None
    area = checked(draw_compared([line], BY_BATCH)).data[2]
    assert (area.x, area.y) == ((0, 1, 1, 0), (4.0, 5.0, 2.5, 2.0))
    lone = (None, both[1])
    alone = aligned("visits_per_tuple", lone, (by_batch(0), by_batch(40)), (None, None))
    assert alone is not None
    assert checked(draw_compared([alone], BY_BATCH)).data[2].x == ()
    assert (alone.mean_b, alone.change.share) == (None, None), "there is nothing to compare"
