"""How many key groups a join drops to keep to its limit, and how many results it says there are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.core import Evaluations
from backend.operators.network.core.key_groups import N_GROUPS
from backend.operators.network.kinds.retention import Keyed, RetainedKey
from backend.operators.network.stores.retaining import RetainProfile
from backend.systems.retention.join import AdaptedRetention, SeenJoin, SeenWindow, seen_join
from backend.systems.retention.planning import RetainedJoin


def join_of(limit_bytes: int, turned: int = 0) -> AdaptedRetention:
    windows = (Keyed("w0", 0), Keyed("w1", 0))
    join = RetainedJoin("j", RetainedKey(0, windows), windows)
    return AdaptedRetention(join, "J", "k", turned=turned, limit_bytes=limit_bytes)


def seen(sizes: np.ndarray, growth: int = 0, n_missing: int = 0) -> SeenJoin:
    return SeenJoin(int(sizes.sum()), growth, n_missing, sizes=sizes)


@given(st.integers(0, 2**31), st.integers(0, 50), st.integers(1, 30_000))
def test_it_drops_the_fewest_groups_without_which_windows_fit(
    seed: int, largest: int, limit: int
) -> None:
    join, own = join_of(limit), np.random.default_rng(seed).integers(0, largest + 1, N_GROUPS)
    (*decided,) = join.observe(3, seen(own), Evaluations(), 1)
    if own.sum() <= limit:
        assert not decided
        assert join.n_dropped == 0
        return
    fits = [n for n in range(N_GROUPS) if own[n:].sum() <= 0.9 * limit]
    assert join.n_dropped == min([*fits, N_GROUPS - 1])
    assert len(decided) == (join.n_dropped > 0)


def test_what_grows_is_expected_to_grow_on() -> None:
    sizes = np.full(N_GROUPS, 10)
    join = join_of(12_000)
    (decision,) = join.observe(0, seen(sizes, growth=5120), Evaluations(), 1)
    assert join.n_dropped == 304, "720 groups are 7 200 bytes now, and 10 800 with half more"
    assert (decision.lhs, decision.relation, decision.rhs) == (15_360, ">", 12_000)
    assert "0.703 of the values of k are kept, 1 before" in decision.explanation


def test_more_is_kept_once_there_is_room_and_nothing_older_is_missing() -> None:
    join, evaluations = join_of(10_000), Evaluations()
    join.held = 512
    few = np.where(np.arange(N_GROUPS) >= 512, 4, 0)
    assert join.observe(1, seen(few, n_missing=600), evaluations, 1) == []
    (decision,) = join.observe(2, seen(few, n_missing=512), evaluations, 1)
    assert join.n_dropped == 0
    assert decision.relation == "<"
    full = np.where(np.arange(N_GROUPS) >= 512, 15, 0)
    join.held = 512
    assert join.observe(3, seen(full, n_missing=512), evaluations, 1) == []


def test_without_a_limit_the_share_decides() -> None:
    join = join_of(0, turned=256)
    join.held = 700
    assert join.observe(0, seen(np.full(N_GROUPS, 99)), Evaluations(), 1) == []
    assert join.n_dropped == 256
    assert join.inexact == "J has the results of 0.75 of the values of k"
    join.turned, join.whole = 0, ("T",)
    join.seen = SeenJoin(n_missing=512)
    assert join.inexact == "J has the results of 0.5 of the values of k; T kept whole"
    join.seen = SeenJoin()
    assert join.inexact == ""


def test_bytes_of_groups_are_those_of_all_windows() -> None:
    one, two = np.zeros((2, N_GROUPS), np.int64)
    one[3], two[3], two[5] = 2, 1, 1
    windows = {
        "w0": SeenWindow(80, 2, RetainProfile(n_missing=7, sizes=one)),
        "w1": SeenWindow(48, 2, RetainProfile(sizes=two)),
        "w2": SeenWindow(99, 3, RetainProfile(n_missing=6)),
    }
    found = seen_join(SeenJoin(100), windows, {"w0", "w1"}, {"kept_results": 1.0})
    assert (found.n_bytes, found.growth, found.n_missing) == (128, 28, 7)
    assert (found.sizes[3], found.sizes[5], found.sizes.sum()) == (104, 24, 128)


def test_the_estimate_is_never_less_than_what_is_there() -> None:
    counters = {"kept_results": 9.0, "estimated_results": 18.0, "results_variance": 400.0}
    value, low, high = SeenJoin(counters=counters).estimate or (0.0, 0.0, 0.0)
    assert (value, low) == (18, 9)
    assert high == pytest.approx(57.2)
    assert SeenJoin().estimate is None
