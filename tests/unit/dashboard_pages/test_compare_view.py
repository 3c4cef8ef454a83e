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
    decision_difference,
    parse,
    plan_difference,
)
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
    line = aligned("visits_per_tuple", both, places)
    assert line is not None
    assert (line.x, line.a, line.b) == ([0, 1, 2], [4.0, 5.0, 6.0], [2.0, 2.5, None])
    assert (line.mean_a, line.mean_b) == (4.5, 2.25), "the third batch of A has no counterpart"
    assert line.shared == (0, 1)
    assert line.change.share is None, "two batches say nothing"
    assert aligned("batch_ms", (None, None), places) is None
    nan = float("nan")
    assert aligned("dropping_ratio", (series(0, [nan, nan]), series(0, [nan])), places) is None
    drawn = checked(draw_compared([line, line], BY_BATCH, "dark"))
    assert [trace.name for trace in drawn.data] == ["A", "B", None, "A", "B", None]


def test_by_time_what_the_stream_said_is_the_place() -> None:
    left = [replace(batch(n), stream_time=f"12:0{n}") for n in range(3)]
    places = by_time([*left, batch(3)])
    assert [places(n) for n in range(4)] == ["12:00", "12:01", "12:02", None]


def test_points_of_many_batches_count_as_many_and_have_no_interval() -> None:
    rolled = series(0, [4.0, *[4.5] * 39])
    plain = series(0, [1.0, *[2.0] * 39])
    line = aligned("visits_per_tuple", (rolled, plain), (by_batch(0), by_batch(0)))
    assert line is not None
    assert line.change.share is not None
    heavy = plain._replace(n=np.array([41, *[1] * 39]), thinned=True)
    line = aligned("visits_per_tuple", (rolled, heavy), (by_batch(0), by_batch(0)))
    assert line is not None
    assert line.mean_b == (41 + 2 * 39) / 80
    assert line.change.share is None


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
    line = aligned("visits_per_tuple", both, (by_batch(10), by_batch(40)))
    assert line is not None
    area = checked(draw_compared([line], BY_BATCH)).data[2]
    assert (area.x, area.y) == ((0, 1, 1, 0), (4.0, 5.0, 2.5, 2.0))
    alone = aligned("visits_per_tuple", (None, both[1]), (by_batch(0), by_batch(40)))
    assert alone is not None
    assert checked(draw_compared([alone], BY_BATCH)).data[2].x == ()
