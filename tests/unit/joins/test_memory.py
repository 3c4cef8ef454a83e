"""Pages of a pool: never more than there are, in the end by priority."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from backend.systems.joins.memory import MissRatioCurve, PagePool, Tier, single_tier
from tests.oracles.cache_choices import served

_tiers = st.builds(Tier, st.integers(1, 9), st.integers(-3, 6).map(float))
#: A page of a later tier of a cache saves no more than one of an earlier tier.
_wants = st.dictionaries(
    st.sampled_from("abcd"),
    st.lists(_tiers, min_size=1, max_size=3).map(lambda t: sorted(t, key=lambda x: -x.priority)),
)


@given(st.integers(0, 30), _wants)
def test_in_the_end_caches_are_served_by_priority(
    n_pages: int, wants: dict[str, list[Tier]]
) -> None:
    pool = PagePool(n_pages)
    pool.want(wants)
    assert pool.settle() == served(n_pages, wants)


@given(st.integers(0, 30), _wants, _wants, st.integers(0, 30))
def test_the_past_of_a_pool_does_not_matter(
    n_pages: int, before: dict[str, list[Tier]], wants: dict[str, list[Tier]], then: int
) -> None:
    pool = PagePool(n_pages)
    pool.want(before)
    pool.settle()
    pool.resize(then)
    assert pool.n_free >= 0
    pool.want(wants)
    assert pool.settle() == served(then, wants)


class Pool(RuleBasedStateMachine):
    """Caches come, ask and go while the pool changes its size."""

    def __init__(self) -> None:
        super().__init__()
        self.pool, self.wants = PagePool(10), dict[str, list[Tier]]()

    @rule(wants=_wants)
    def want(self, wants: dict[str, list[Tier]]) -> None:
        self.pool.want(wants)
        self.wants = wants

    @rule(cache=st.sampled_from("abcd"))
    def ask(self, cache: str) -> None:
        if cache in self.wants:
            before = self.pool.held[cache]
            assert self.pool.ask(cache) >= before

    @rule(n_pages=st.integers(0, 25))
    def resize(self, n_pages: int) -> None:
        self.pool.resize(n_pages)

    @rule(caches=st.sets(st.sampled_from("abcd")))
    def keep(self, caches: set[str]) -> None:
        self.pool.keep(caches)
        self.wants = {cache: tiers for cache, tiers in self.wants.items() if cache in caches}

    @invariant()
    def never_above_the_pool(self) -> None:
        held = self.pool.held
        assert sum(held.values()) + self.pool.n_free == self.pool.n_pages
        assert self.pool.n_free >= 0
        for cache, n in held.items():
            assert 0 <= n <= sum(tier.n_pages for tier in self.wants[cache])


TestPool = Pool.TestCase
TestPool.settings = settings(max_examples=20, stateful_step_count=20)


def test_a_cache_of_higher_priority_takes_pages_from_one_of_lower() -> None:
    pool = PagePool(10)
    pool.want({"low": single_tier(8.0, 8)})
    assert pool.settle() == {"low": 8}
    pool.want({"low": single_tier(8.0, 8), "high": single_tier(12.0, 6)})
    assert pool.ask("high") == 6
    assert pool.held == {"low": 4, "high": 6}
    assert pool.ask("low") == 4
    assert pool.n_reclaimed == 4


def test_a_miss_ratio_curve_gives_tiers_of_falling_use() -> None:
    """Half of the look-ups come back within 2 keys, a quarter within 16, the rest never."""
    reuse = np.zeros(24, np.int64)
    reuse[0], reuse[3], reuse[-1] = 50, 25, 25
    curve = MissRatioCurve.of(reuse)
    assert curve is not None
    assert curve.n_keys == (2, 4, 8, 16)
    assert curve.hit_probs == (0.5, 0.5, 0.5, 0.75)
    tiers = curve.tiers(gain=100.0, key_bytes=100.0, page_bytes=100)
    assert [(tier.n_pages, tier.priority) for tier in tiers] == [(2, 25.0), (14, 25 / 14)]
    assert MissRatioCurve.of(np.zeros(24, np.int64)) is None


@given(st.lists(st.integers(0, 50), min_size=24, max_size=24), st.floats(1, 500))
def test_tiers_of_a_curve_are_concave_and_add_up(counts: list[int], key_bytes: float) -> None:
    curve = MissRatioCurve.of(np.array(counts, np.int64))
    if curve is None:
        assert not any(counts)
        return
    tiers = curve.tiers(1.0, key_bytes, 4096)
    priorities = [tier.priority for tier in tiers]
    assert priorities == sorted(priorities, reverse=True)
    assert all(tier.n_pages > 0 for tier in tiers)
    total = sum(tier.n_pages * tier.priority for tier in tiers)
    assert total <= curve.hit_probs[-1] + 1e-9
    assert np.isclose(total, curve.hit_probs[-1])
