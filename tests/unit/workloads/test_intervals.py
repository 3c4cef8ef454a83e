"""Streams of tuples that are valid one behind the other: any slice is a part of the same stream."""

from __future__ import annotations

from itertools import pairwise

import pytest

from backend.workloads.intervals import IntervalsError, IntervalSource, intervals_from_json

PHASES = "[[300, 0.9, 5], [200, 0.1, 50]]"
SOURCE = IntervalSource.of(7, {"phases": PHASES, "seconds": "20", "n_tuples": "9000"})


def test_each_tuple_begins_where_the_one_before_ends() -> None:
    rows = SOURCE.slice(0, 9000).to_pylist()
    assert len(rows) == 9000
    assert all(row["t"] == row["since"] < row["until"] for row in rows)
    assert all(one["until"] == other["since"] for one, other in pairwise(rows))
    mean_s = (rows[-1]["until"] - rows[0]["since"]).total_seconds() / len(rows)
    assert mean_s == pytest.approx(20, rel=0.01)


@pytest.mark.parametrize(
    ("start", "count"), [(0, 1), (4095, 3), (4500, 700), (8990, 50), (9000, 5)]
)
def test_a_slice_is_that_part_of_the_stream(start: int, count: int) -> None:
    assert SOURCE.slice(start, count).equals(SOURCE.slice(0, 9000).slice(start, count))


def test_values_repeat_by_phase() -> None:
    values = SOURCE.slice(0, 4000).column("value").to_pylist()
    for low, high, least, most in [(0, 300, 0.85, 0.97), (300, 500, 0.05, 0.2)]:
        places = [n for n in range(1, 4000) if low < n % 500 < high]
        share = sum(values[n] == values[n - 1] for n in places) / len(places)
        assert least < share < most


@pytest.mark.parametrize("text", ["[]", "x", "[[5, 1.0, 3]]", "[[0, 0.5, 3]]", "[[5, 0.5]]"])
def test_phases_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(IntervalsError, match="coalescing probability below 1"):
        intervals_from_json(text)
