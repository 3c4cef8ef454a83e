"""What if a plan had not been changed: the turn that keeps it, and what both runs come to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.base.face import KeptCost
from dashboard.views.if_not import (
    KeptTotals,
    by_batch,
    by_names,
    came_to,
    points,
    totals_in,
    turned_to,
)
from storage.tables.rows import SeriesData
from storage.vocabulary.records import Decision

VISITS = KeptCost("reached_tuples", "visits")
HELD = KeptCost("held_bytes", "", form="bytes", is_level=True)


def series(entity: str, values: dict[int, float], n: int = 1) -> SeriesData:
    value = np.array(list(values.values()))
    batches = np.array(list(values), dtype=np.int64)
    times, ns = batches.astype(float), np.full(len(values), n)
    return SeriesData(
        entity=entity,
        property="p",
        unit="",
        batch=batches,
        time=times,
        value=value,
        low=value,
        high=value,
        n=ns,
        thinned=n > 1,
    )


def decision(before: list[str], after: list[str], kind: str = "k") -> Decision:
    return Decision(
        seq=1,
        batch=7,
        algorithm="a",
        kind=kind,
        verdict="switched",
        metric="m",
        lhs=None,
        relation="<",
        rhs=None,
        n=1,
        n_sample=1,
        knob_version=0,
        explanation="",
        old={"order": before},
        new={"order": after},
    )


COLUMNS = st.dictionaries(st.integers(0, 40), st.floats(0, 1e6), min_size=1)


@given(st.lists(COLUMNS, min_size=1, max_size=4), st.integers(0, 40), st.integers(0, 40))
def test_a_total_is_every_number_of_every_part(
    parts: list[dict[int, float]], first: int, last: int
) -> None:
    costs = by_batch([series(f"e{i}", own) for i, own in enumerate(parts)], {}, 1.0)
    found = totals_in((costs, {}), first, last, False)
    slow = sum(v for own in parts for b, v in own.items() if first <= b <= last)
    assert found.recorded == pytest.approx(slow)
    assert found.kept == 0


def test_a_point_of_several_batches_counts_as_often_and_a_price_weighs() -> None:
    data = [series("a", {3: 2.0}, n=5), series("b", {3: 1.0}, n=5)]
    assert by_batch(data, {}, 1.0) == {3: 15.0}
    assert by_batch(data, {"a": 3.0}, 0.5) == {3: 15.0}  # what has no price costs nothing


def test_unknown_values_count_as_none() -> None:
    assert by_batch([series("a", {1: float("nan"), 2: 4.0})], {}, 1.0) == {1: 0.0, 2: 4.0}


def test_the_sentences() -> None:
    saved = KeptTotals(64, 90, 1_000.0, 1_250.0, True)
    whole = KeptTotals(64, 120, 2_000.0, 14_400.0)
    assert came_to(VISITS, saved, whole) == [
        "This change saved 250 visits in batches 64 to 90, up to the next change: "
        "20.0\u2009% of 1.2k visits without it.",
        "Kept up to batch 120, the plan before comes to 12.4k visits more.",
    ]
    (cost,) = came_to(VISITS, KeptTotals(64, 90, 1_250.0, 1_000.0), None)
    assert cost.startswith("This change cost 250 visits more in batches 64 to 90, up to the end")
    (nothing,) = came_to(VISITS, KeptTotals(64, 90, 1_000.0, 1_000.2), None)
    assert "saved nothing in batches" in nothing
    assert nothing.endswith("1.0k visits with it and without it.")


def test_a_level_is_a_mean() -> None:
    totals = totals_in(({1: 2048.0, 2: 4096.0}, {1: 6144.0, 2: 6144.0}), 1, 2, True)
    assert (totals.recorded, totals.kept) == (3072.0, 6144.0)
    assert came_to(HELD, totals, None)[0].startswith("This change holds 3\u2009KiB less on average")


@pytest.mark.parametrize(
    ("before", "after", "turn"),
    [
        (["x"], ["x", "y"], ("never", "z; y")),
        (["x", "y"], ["x"], ("always", "y")),
        (["x"], ["y"], None),
        (["x"], ["x"], None),
    ],
)
def test_lists_of_names(before: list[str], after: list[str], turn: tuple[str, str] | None) -> None:
    knobs = {"never": "z", "always": ""}
    assert by_names("always", "never")(decision(before, after), knobs) == turn


def test_one_knob_that_holds_all() -> None:
    assert turned_to("order", "static")(decision([], ["x"]), {}) == ("order", "static")


@given(st.dictionaries(st.integers(0, 3000), st.floats(0, 10), max_size=900), st.integers(1, 50))
def test_few_points_are_drawn_in_their_order(costs: dict[int, float], most: int) -> None:
    drawn = points(costs, 100, most)
    assert len(drawn) <= most
    assert [b for b, _ in drawn] == sorted({b for b, _ in drawn})
    assert all(b >= 100 for b, _ in drawn)
