"""What windows bid for memory, have of it, and make of it."""

from __future__ import annotations

import json
from itertools import accumulate, pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.operators.network.shedding.curve import AccuracyCurve, CurvePoint
from backend.systems.cals.knobs import WORST
from backend.systems.cals.memory import StatePool
from storage.vocabulary.memory import PAGE_BYTES, Bid, Tier, divided, served

#: Tuples on a page.
A_PAGE = 100
ROW = PAGE_BYTES // A_PAGE


def curve(*accuracies: float, step: float = A_PAGE) -> AccuracyCurve:
    """Of as many tuples as points, ``step`` apart."""
    points = [CurvePoint(n * step, each, None) for n, each in enumerate(accuracies)]
    return AccuracyCurve(points[-1].tuples, 9, tuple(points))


def pool(*accuracies: float, **facts: float) -> StatePool:
    found = StatePool(price=1, row_bytes=ROW, n_shards=int(facts.get("n_shards", 1)))
    found.weight = facts.get("weight", 1.0)
    found.observe(curve(*accuracies), 80)
    return found


def test_pages_are_worth_the_accuracy_they_add() -> None:
    """In nanoseconds a tuple, at a microsecond a per cent; last comes room to grow."""
    wants = pool(0, 0.7, 0.9, 1).wants
    assert [tier.n_pages for tier in wants] == [1, 1, 1, 4]
    assert [tier.priority for tier in wants] == pytest.approx([100_000, 19_500, 10_000, 0], abs=50)
    heavy = pool(0, 0.7, 0.9, 1, weight=3).wants[0]
    assert heavy.priority == pytest.approx(300_000)
    halves = pool(0, 0.7, 0.9, 1, n_shards=2).wants
    assert [tier.n_pages for tier in halves[:-1]] == [1, 1]


@given(st.lists(st.floats(0, 1), min_size=2, max_size=25), st.floats(1, 900), st.integers(1, 3))
def test_tiers_fall_and_hold_the_whole_window(
    accuracies: list[float], step: float, n_shards: int
) -> None:
    found = StatePool(price=1, row_bytes=ROW, n_shards=n_shards)
    whole = curve(*accuracies, step=step)
    found.observe(whole, 80)
    priorities = [tier.priority for tier in found.wants]
    assert all(later <= before for before, later in pairwise(priorities))
    known = sum(tier.n_pages for tier in found.tiers)
    if max(accuracies) > accuracies[0]:
        best = whole.envelope[-1][0]
        assert known * PAGE_BYTES * n_shards >= best * ROW > (known - 1) * PAGE_BYTES * n_shards


@st.composite
def shared(draw: st.DrawFn, concave: bool) -> dict[str, StatePool]:
    """Windows with a point of their curve at each page; their tuples count alike."""
    found = {}
    for name in "abc"[: draw(st.integers(2, 3))]:
        steps = draw(st.lists(st.integers(1, 20), min_size=1, max_size=4))
        steps = sorted(steps, reverse=True) if concave else steps
        levels = [each / sum(steps) for each in accumulate(steps, initial=0)]
        found[name] = pool(*levels, weight=draw(st.sampled_from([0.5, 1.0, 4.0])))
    return found


def accuracy(own: StatePool, n_pages: int) -> float:
    assert own.curve is not None
    return own.curve.between(n_pages * A_PAGE).accuracy


def divisions(pools: dict[str, StatePool], n_pages: int) -> list[dict[str, int]]:
    """All ways to give so many pages."""
    ways = product(range(n_pages + 1), repeat=len(pools))
    return [dict(zip(pools, way, strict=True)) for way in ways if sum(way) <= n_pages]


def bought(pools: dict[str, StatePool], n_pages: int) -> dict[str, int]:
    """Pages by the market, which gives no more than there are."""
    pages = divided(n_pages, {name: own.bid(name, "kept") for name, own in pools.items()})
    assert sum(pages.values()) <= n_pages
    return pages


@given(shared(concave=True), st.integers(1, 8))
def test_the_sum_is_the_most_that_pages_can_come_to(
    pools: dict[str, StatePool], n_pages: int
) -> None:
    """Of concave curves, by all divisions; there is no answer without a page, so that the first is
    worth all of one."""

    def worth(pages: dict[str, int]) -> float:
        return sum(
            own.weight * (1 - accuracy(own, 1) + accuracy(own, pages[name]))
            for name, own in pools.items()
            if pages[name]
        )

    best = max(map(worth, divisions(pools, n_pages)))
    assert worth(bought(pools, n_pages)) == pytest.approx(best)


@given(shared(concave=False), st.integers(1, 8))
def test_worst_first_leaves_the_least_lack(pools: dict[str, StatePool], n_pages: int) -> None:
    """Of any curves, and whatever tuples come: the largest lack, by weight, is the least that a
    division comes to."""
    for n, own in enumerate(pools.values()):
        own.objective, own.arrivals = WORST, 10.0 + 90 * n

    def lack(pages: dict[str, int]) -> float:
        return max(own.weight * (1 - accuracy(own, pages[name])) for name, own in pools.items())

    least = min(map(lack, divisions(pools, n_pages)))
    assert lack(bought(pools, n_pages)) == pytest.approx(least)


@given(
    st.integers(1, 60),
    st.integers(0, 6000),
    st.integers(0, 400),
    st.sampled_from([16, 0.25, 0]),
    st.integers(1, 3),
)
def test_what_is_kept_beside_has_its_part_of_the_pages(
    n_pages: int, n_window: int, n_arrived: int, beside: float, n_shards: int
) -> None:
    """After the next batch, whatever was in memory before, tuples and what is beside of all others
    fit; else a tuple is kept and it is said why."""
    found = StatePool(row_bytes=ROW, n_shards=n_shards, beside=beside)
    found.observe(None, n_arrived, 0, n_window // 3, int(beside * (n_window - n_window // 3)))
    found.grant(n_pages)
    kept = n_shards * found.limited(0)
    most = n_window + n_arrived
    used = min(kept, most) * ROW + max(0, most - kept) * beside
    assert found.is_full_of_audit or used <= n_pages * n_shards * PAGE_BYTES
    assert not found.is_full_of_audit or kept == n_shards
    if not found.is_full_of_audit and kept < most and beside:
        assert (kept + 2 * n_shards) * (ROW - beside) + 1.2 * most * beside > (
            n_pages * n_shards * PAGE_BYTES
        ), "not much less than there is room for"


def test_bids_ask_for_what_is_kept_beside() -> None:
    plain, exact = pool(0, 0.5, 0.8, 0.9, 1), pool(0, 0.5, 0.8, 0.9, 1)
    exact.beside = ROW / 2
    assert [tier.n_pages for tier in plain.tiers] == [1, 1, 2]
    assert [tier.n_pages for tier in exact.tiers] == [3, 1], "half of a tuple once it went"
    assert sum(tier.n_pages for tier in exact.tiers) == 4
    assert exact.use(150).used_bytes == 150


def test_before_a_curve_is_known_room_is_asked_for() -> None:
    assert [tier.priority for tier in StatePool().wants] == [0]


@given(st.integers(0, 40), st.integers(0, 12), st.integers(0, 5000), st.integers(1, 3))
def test_a_limit_in_tuples_never_takes_more_than_the_pages(
    granted: int, own: int, memory_tuples: int, n_shards: int
) -> None:
    found = StatePool(own * PAGE_BYTES * n_shards, row_bytes=ROW, n_shards=n_shards)
    found.grant(granted)
    limit = found.limited(memory_tuples)
    pages = min([granted, own] if own else [granted])
    assert limit == 1 or limit * ROW <= pages * PAGE_BYTES
    assert limit <= memory_tuples or not memory_tuples
    assert found.use(limit * n_shards * ROW).granted_bytes <= pages * n_shards * PAGE_BYTES


def test_without_pools_the_limit_is_that_of_the_knob() -> None:
    found = StatePool(row_bytes=ROW)
    found.grant(None)
    assert [found.limited(n) for n in (0, 7)] == [0, 7]


def test_fewer_pages_are_obeyed_at_once_and_more_where_it_is_worth_a_turn() -> None:
    found, told = StatePool(row_bytes=ROW), []
    for n_pages in (20, 19, 21, 22, None, 40):
        found.grant(n_pages)
        told.append(found.n_pages)
    assert told == [20, 19, 19, 22, None, 40]


def test_a_short_pool_goes_to_the_accuracy_that_costs_least_and_to_weights() -> None:
    def bids(weight: float) -> dict[str, Bid]:
        flat, steep = pool(0, 0.3, 0.6, 0.9), pool(0, 0.5, 0.55, 0.6, weight=weight)
        return {"flat": flat.bid("f", "kept"), "steep": steep.bid("s", "kept")}

    assert divided(2, bids(1)) == {"flat": 1, "steep": 1}, "a page each"
    assert divided(4, bids(1)) == {"flat": 3, "steep": 1}
    assert divided(4, bids(20)) == {"flat": 1, "steep": 3}
    assert divided(3, bids(0)) == {"flat": 3, "steep": 0}


def test_accuracy_comes_before_caches_unless_its_price_says_otherwise() -> None:
    cache = Bid({"c": [Tier(2, 5000.0)]}, 2, 1, 10.0, unit="ns")
    window = pool(0, 0.9, 0.92, 0.93)
    assert divided(2, {"c": cache, "w": window.bid("w", "kept")}) == {"c": 1, "w": 1}
    window.price = 1_000_000
    assert divided(2, {"c": cache, "w": window.bid("w", "kept")}) == {"c": 0, "w": 2}


def test_a_resumed_window_bids_as_before() -> None:
    before, after = pool(0, 0.7, 0.9, 1), StatePool(price=1, row_bytes=ROW)
    before.grant(3)
    after.restore(json.loads(json.dumps(before.state())))
    assert (after.bid("w", "kept"), after.n_pages) == (before.bid("w", "kept"), 3)
    assert served(2, {"w": after.wants}) == {"w": 2}


def test_as_runs_pages_are_asked_for_by_what_runs_take_and_limits_stay_in_rows() -> None:
    """1 000 tuples that take 4 bytes each as runs, an eighth more for safety; rows take 32."""
    found = StatePool(as_runs=True, row_bytes=32)
    found.observe(None, 100, n_resident=1000, run_bytes=4000)
    assert (found.kept_bytes, found.rows(1000)) == (4.5, 1000 * 4.5 / 32)
    found.grant(2)
    assert found.limited(0) == 2 * PAGE_BYTES // 32
    found.beside = 16.0  # all that was shed is kept, and takes as much as before
    assert found.limited(0) == 2 * PAGE_BYTES // 32
    found.grant(1)
    assert (found.limited(0), found.is_full_of_audit) == (1, True)
    found.observe(None, 100, n_resident=1000, run_bytes=4300)
    assert found.kept_bytes == 4.5, "not another for as little"
