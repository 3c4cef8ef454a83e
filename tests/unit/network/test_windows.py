"""seq-window against the definition of windows, at every tick."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.operators.network.core.contract import Clock, Surroundings
from backend.operators.network.core.regions import MemoryRegions
from backend.operators.network.core.strings import Strings
from backend.operators.network.kinds.select_project import ProjectOp
from backend.operators.network.kinds.windows import WindowOp
from backend.operators.network.stores import stores
from backend.operators.network.stores.windows import SeqWindow
from tests.oracles.network_windows import Arrival, Signed, bag_at, window_at
from tests.unit.network.elements import (
    GAPS,
    block_of,
    elements_of,
    fields,
    plan_of,
    stream,
    window,
)

FIELDS = fields("int", "double", "string")
ROWS = st.tuples(
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from([None, 0.0, 0.5]),
    st.sampled_from([0, 1]),
)
WORKS = st.one_of(
    st.builds(
        WindowOp, st.just("range"), st.sampled_from([0, 1, 3, 7, 50]), st.sampled_from([1, 1, 3, 5])
    ),
    st.builds(WindowOp, st.just("rows"), st.sampled_from([1, 2, 5, 90])),
    st.builds(
        WindowOp,
        st.just("partition"),
        st.sampled_from([1, 2, 4]),
        st.just(1),
        st.sampled_from([(0,), (1, 0), (2, 1, 0)]),
    ),
    st.just(WindowOp("unbounded")),
)


@pytest.fixture(autouse=True, scope="module")
def _tiny_stores() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "FIRST_CAPACITY", 2)
        yield


@dataclass
class Feed:
    """A window fed batch by batch. direct: it reads a stream, else one that is derived."""

    work: WindowOp
    direct: bool = True
    out: list[Signed] = field(default_factory=list)

    def __post_init__(self) -> None:
        source = stream(of=FIELDS)
        middle = [] if self.direct else [window(WindowOp("unbounded"), source, "other")]
        self._planned = window(self.work, (middle or [source])[-1])
        self._clock = Clock()
        plan = plan_of(source, *middle, self._planned)
        regions = MemoryRegions()
        strings = Strings(regions.scope("strings"))
        self._around = Surroundings(plan, regions, strings, self._clock)
        self.operator = SeqWindow(self._planned, self._around)

    def batch(self, arrivals: list[Arrival], first: int, until: int, cuts: list[int]) -> None:
        """Arrivals before ``until``, cut into blocks."""
        taus = np.array([tau for _, tau, _ in arrivals], np.int64)
        self._clock.arrived = {"S": (first, taus)} if len(arrivals) else {}
        own = [(row, tau, first + n) for n, (row, tau, here) in enumerate(arrivals) if here]
        edges = [0, *sorted(cut % (len(own) + 1) for cut in cuts), len(own)]
        for begin, end in pairwise(edges):
            part = own[begin:end]
            heartbeat = own[end][1] if end < len(own) else until
            block = block_of(
                [(row, tau, 1) for row, tau, _ in part],
                FIELDS,
                [number for _, _, number in part] if self.direct else None,
            )
            self._run(block, heartbeat)

    def remake(self) -> None:
        """As when another process takes the shard over."""
        self.operator = SeqWindow(self._planned, self._around)

    def _run(self, block: object, heartbeat: int) -> None:
        found = elements_of(self.operator.run([block], heartbeat))  # type: ignore[list-item]
        assert not self.out or not found or found[0][1] >= self.out[-1][1]
        self.out += found


@settings(max_examples=150)
@given(
    work=WORKS,
    steps=st.lists(st.tuples(GAPS, ROWS, st.booleans()), max_size=120),
    batches=st.lists(st.integers(0, 200), max_size=4),
    cuts=st.lists(st.integers(0, 100), max_size=5),
    direct=st.booleans(),
)
def test_a_window_is_what_its_definition_says_at_every_tick(
    work: WindowOp,
    steps: list[tuple[int, tuple[object, ...], bool]],
    batches: list[int],
    cuts: list[int],
    direct: bool,
) -> None:
    arrivals: list[Arrival] = []
    now = 0
    for gap, row, here in steps:
        now += gap
        arrivals.append((row, now, here or not direct))
    feed, before = Feed(work, direct), 0
    for until in [*sorted(batches), max(now, *batches, 0) + 1]:
        part = [one for one in arrivals if before <= one[1] < until]
        first = sum(one[1] < before for one in arrivals)
        feed.batch(part, first, until, cuts)
        for tick in range(before, until):
            assert bag_at(feed.out, tick) == window_at(work, arrivals, tick), tick
        assert not feed.out or feed.out[-1][1] < until
        if work.kind != "unbounded":
            held = work.slide > 1 or bag_at(feed.out, until - 1).total() == feed.operator.n_tuples
            assert held
        before = until
        feed.remake()


def one_batch(work: WindowOp, taus: list[int], until: int) -> list[tuple[int, int, int]]:
    """Elements (value, τ, sign) of a window over the values 0, 1... at these times."""
    feed = Feed(work)
    feed.batch([((n, None, 0), tau, True) for n, tau in enumerate(taus)], 0, until, [])
    return [(row[0], tau, sign) for row, tau, sign in feed.out]


def test_rows_tell_what_comes_before_what_it_pushes_out() -> None:
    assert one_batch(WindowOp("rows", 2), [1, 4, 4], 9) == [
        (0, 1, 1),
        (1, 4, 1),
        (2, 4, 1),
        (0, 4, -1),
    ]


def test_a_closed_range_is_left_a_tick_after_its_size_though_time_jumps() -> None:
    assert one_batch(WindowOp("range", 120), [1, 2, 500], 501) == [
        (0, 1, 1),
        (1, 2, 1),
        (0, 122, -1),
        (1, 123, -1),
        (2, 500, 1),
    ]
    assert one_batch(WindowOp("range", 120), [1], 122) == [(0, 1, 1)]


def test_now_is_a_range_of_one_tick() -> None:
    assert one_batch(WindowOp("range", 0), [3, 3], 5) == [
        (0, 3, 1),
        (1, 3, 1),
        (0, 4, -1),
        (1, 4, -1),
    ]


def test_a_sliding_window_never_shows_what_falls_between_its_moves() -> None:
    assert one_batch(WindowOp("range", 1, 5), [1, 4, 5], 20) == [
        (1, 5, 1),
        (2, 5, 1),
        (1, 10, -1),
        (2, 10, -1),
    ]


def test_a_partition_window_gives_up_the_room_of_what_has_left() -> None:
    feed = Feed(WindowOp("partition", 2, 1, (2,)))
    for n in range(40):
        feed.batch([((n, None, n % 2), n, True)] * 21, 21 * n, n + 1, [])
        assert set(bag_at(feed.out, n)) == {(k, None, k % 2) for k in (n - 1, n) if k >= 0}
    assert feed.operator.n_tuples == 4
    assert feed.operator.n_bytes < 2000
    assert feed._around.regions.scope("stores").n_bytes < 20_000


@pytest.mark.parametrize(
    "work", [WindowOp("rows", 0), WindowOp("range", -1), WindowOp("rows", 5, 2)]
)
def test_a_window_without_a_size_is_refused(work: WindowOp) -> None:
    with pytest.raises(ValueError, match=r"size is at least"):
        Feed(work)


def test_only_windows_are_made_windows() -> None:
    source = stream(of=FIELDS)
    planned = window(WindowOp("rows", 1), source)
    feed = Feed(WindowOp("rows", 1))
    with pytest.raises(ValueError, match="ProjectOp of 1 inputs, not WindowOp"):
        SeqWindow(type(planned)("p", ProjectOp(()), ("s",), ()), feed._around)
