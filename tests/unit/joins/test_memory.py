"""Pages of a pool: never more than there are, by priority; of one pool for several joins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backend.systems.joins.decide.memory import MissRatioCurve, single_tier
from storage.vocabulary.memory import Bid, Tier, divided, served
from tests.oracles import cache_choices

_tiers = st.builds(Tier, st.integers(1, 9), st.integers(-3, 6).map(float))
#: A page of a later tier of a cache saves no more than one of an earlier tier.
_wants = st.dictionaries(
    st.sampled_from("abcd"),
    st.lists(_tiers, min_size=1, max_size=3).map(lambda t: sorted(t, key=lambda x: -x.priority)),
)
#: Shares that keep products of priorities exact.
_demands = st.dictionaries(
    st.sampled_from("jkl"),
    st.tuples(
        _wants, st.integers(0, 20), st.sampled_from([1, 2, 4]), st.sampled_from([0.25, 0.5])
    ).map(lambda of: Bid(*of)),
)


@given(st.integers(0, 30), _wants)
def test_caches_are_served_by_priority(n_pages: int, wants: dict[str, list[Tier]]) -> None:
    found = served(n_pages, wants)
    assert found == cache_choices.served(n_pages, wants)
    assert sum(found.values()) <= n_pages


@given(st.integers(0, 60), _demands)
def test_joins_share_a_pool_by_what_a_page_saves_in_each(
    n_pages: int, demands: dict[str, Bid]
) -> None:
    """Never above the pool of the run or of a join; each join serves its caches in that order."""
    found = divided(n_pages, demands)
    by_cache = cache_choices.divided(n_pages, demands)
    assert found == {join: sum(pages.values()) for join, pages in by_cache.items()}
    assert sum(demands[join].n_shards * n for join, n in found.items()) <= n_pages
    assert all(n <= demands[join].n_pages for join, n in found.items())
    assert {j: served(n, demands[j].wants) for j, n in found.items()} == by_cache


@given(_demands)
def test_a_pool_that_is_large_enough_changes_nothing(demands: dict[str, Bid]) -> None:
    found = divided(1000, demands)
    assert {join: served(n, demands[join].wants) for join, n in found.items()} == {
        join: served(one.n_pages, one.wants) for join, one in demands.items()
    }


def test_the_join_with_more_elements_makes_more_of_a_page() -> None:
    wants = {"c": single_tier(8.0, 8)}
    often, rarely = Bid(wants, 100, 1, 0.9), Bid(wants, 100, 1, 0.1)
    assert divided(10, {"often": often, "rarely": rarely}) == {"often": 8, "rarely": 2}
    spread = often._replace(n_shards=4)
    assert divided(10, {"often": spread, "rarely": rarely}) == {"often": 2, "rarely": 2}


def test_a_cache_of_higher_priority_is_served_first() -> None:
    assert served(10, {"low": single_tier(8.0, 8)}) == {"low": 8}
    both = {"low": single_tier(8.0, 8), "high": single_tier(12.0, 6)}
    assert served(10, both) == {"low": 4, "high": 6}


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
