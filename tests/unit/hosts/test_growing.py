"""Sizes of batches while a backlog is worked off."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from backend.hosts.growing import (
    FACTOR,
    MOST_BYTES,
    MOST_TUPLES,
    SETTLED,
    TRIES,
    GrowingBatches,
    most_tuples,
)
from backend.model.schema import Schema


class Run:
    """Batches that take what ``ms`` says of their size."""

    def __init__(self, ms: Callable[[int], float], least: int = 100, most: int = 100_000) -> None:
        self.now, self.ms, self.whys = 0.0, ms, list[str]()
        self.growing = GrowingBatches(least, most, lambda: self.now)

    def batches(self, n: int, is_behind: bool = True) -> list[int]:
        """Sizes of so many more."""
        sizes = []
        for _ in range(n):
            size = self.growing.size
            sizes.append(size)
            self.now += self.ms(size) / 1e3
            resized = self.growing.after(size if is_behind else 1, is_behind)
            if resized is not None:
                assert (resized.before, resized.after) == (size, self.growing.size)
                self.whys.append(resized.why)
        return sizes


def test_batches_grow_while_the_time_per_tuple_falls() -> None:
    run = Run(lambda size: 10 + size / 1000)  # 10 ms each, and a microsecond a tuple
    sizes = run.batches(40)
    assert sizes[0] == sizes[1] == 100  # the first one began when it liked: nothing is known of it
    assert sizes[2:5] == [400, 1600, 6400]
    # 25 600: 1.39 us for 2.56; 100 000: 1.10 us, a fifth less; there it ends
    assert sizes[5] == 25_600
    assert set(sizes[6:]) == {100_000}
    assert run.whys[0] == "tuples wait; 101.00 µs a tuple with 100 each"


def test_a_size_that_saves_nothing_is_given_up_and_tried_again_later() -> None:
    run = Run(lambda size: 0.1 + size / 1000 + (size == 6400))
    sizes = run.batches(3 + 2 * SETTLED)
    assert sizes[2:4] == [400, 1600]
    larger = [place for place, size in enumerate(sizes) if size == 6400]
    assert larger[:TRIES] == list(range(4, 4 + TRIES))
    assert set(sizes[4 + TRIES : 4 + TRIES + SETTLED - 1]) == {1600}
    assert len(larger) == 2 * TRIES
    expected = "1.17 µs a tuple with 6 400 each > 1.01, 95% of 1.06 with 1 600"
    assert expected in run.whys


def test_with_nothing_left_to_take_they_are_small_again() -> None:
    run = Run(lambda size: 10.0)
    assert run.batches(4)[-1] == 1600
    run.batches(1, is_behind=False)
    assert run.growing.size == 100
    assert not run.growing.has_grown
    assert run.whys[-1] == "no tuples wait"
    n_told = len(run.whys)
    run.batches(5, is_behind=False)
    assert len(run.whys) == n_told


def test_a_batch_that_takes_long_does_not_grow() -> None:
    assert set(Run(lambda size: 1100.0).batches(10)) == {100}


def test_time_without_a_backlog_is_no_batchs() -> None:
    run = Run(lambda size: 10.0)
    run.batches(1, is_behind=False)
    run.now += 1e6
    run.batches(1)
    assert run.growing.size == 100
    run.batches(1)
    assert run.growing.size == 100 * FACTOR


@given(st.lists(st.tuples(st.floats(0.01, 5000), st.booleans())))
def test_sizes_keep_their_bounds(batches: list[tuple[float, bool]]) -> None:
    now = 0.0
    growing = GrowingBatches(10, 1000, lambda: now)
    for ms, is_behind in batches:
        now += ms / 1e3
        growing.after(growing.size, is_behind)
        assert 10 <= growing.size <= 1000
        assert is_behind or growing.size == 10


def test_wide_tuples_make_smaller_batches() -> None:
    narrow = Schema.parse("a int")
    wide = Schema.parse(", ".join(f"a{n} bigint" for n in range(100)))
    assert most_tuples([narrow]) == MOST_TUPLES
    assert most_tuples([narrow, wide]) == MOST_BYTES // 800
