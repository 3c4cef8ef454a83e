"""Partitions are a share of a window, and seldom another one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.systems.amri.partition_size import FIRST, LEAST, MOST, PartitionSize


@given(st.lists(st.integers(0, 10_000_000), min_size=1), st.floats(0.01, 1))
def test_partitions_are_at_most_twice_too_large_or_too_small(held: list[int], share: float) -> None:
    size = PartitionSize(share)
    for n in held:
        before = size.n
        size.observe(n)
        target = min(MOST, max(LEAST, round(share * n)))
        assert size.n in (before, target)
        assert not n or target / 2 <= size.n <= target * 2
    again = PartitionSize(share)
    again.restore(json.loads(json.dumps(size.state())))
    size.observe(held[0])
    again.observe(held[0])
    assert again.n == size.n


@pytest.mark.parametrize("step", [1, 25, 300, 2500, 10_000])
def test_a_window_that_is_full_has_the_share_and_keeps_it(step: int) -> None:
    """It grows, then a few tuples more or less come and go."""
    size, sizes = PartitionSize(0.25), set()
    assert size.n == FIRST
    for n in [*range(step, 10_000, step), 10_000, 10_000]:
        size.observe(n)
        sizes.add(size.n)
    assert len(sizes) < 14
    for n in (9_500, 10_900, 8_000, 11_000):
        size.observe(n)
    assert size.n == 2_500
    size.observe(6_000)
    assert size.n == 2_500


def test_another_share_is_taken_at_once() -> None:
    size = PartitionSize(0.25)
    size.turn(0.5)
    assert size.n == FIRST  # nothing is in the window
    for _ in range(2):
        size.observe(1000)
    assert size.n == 500
    size.turn(0.1)
    assert size.n == 100
    other = PartitionSize(0.2)
    other.restore(size.state())
    assert other.n == 200
