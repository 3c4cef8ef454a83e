"""What windows keep by partners, life and age, beside the same tuple by tuple."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.core import Evaluations
from backend.operators.network.core.blocks import FOREVER
from backend.operators.network.core.key_groups import N_GROUPS
from backend.operators.network.kinds.retention import Keyed, RetainedKey
from backend.operators.network.stores.retaining import RetainProfile, RetainTuning
from backend.systems.retention.join import SeenJoin, SeenWindow, seen_join
from backend.systems.retention.planning import RetainedJoin
from backend.systems.retention.ranked import (
    RankedRetention,
    WindowState,
    adapted_join,
    by_age,
    by_life,
    by_partners,
    partners,
)
from tests.oracles.ranked_retention import kept_by_life, kept_by_partners, partners_of

SPAN, LAST, N = 100, 1000, 12


def state_of(data: st.DataObject, room: float) -> WindowState:
    """A window of which a dozen groups hold tuples, some of them cut before."""
    few = st.lists(st.integers(0, 60), min_size=N, max_size=N)
    sizes, whole, worth, before = np.zeros((4, N_GROUPS), np.int64)
    whole[:N], worth[:N] = data.draw(few), data.draw(few)
    cuts = st.sampled_from([0, LAST - 30, LAST - 3, FOREVER])
    before[:N] = data.draw(st.lists(cuts, min_size=N, max_size=N))
    sizes[:N] = np.where(before[:N] == FOREVER, 0, data.draw(few))
    profile = RetainProfile(last=LAST, sizes=sizes, whole=whole)
    return WindowState(profile, SPAN, before, worth.astype(float), room)


@given(st.data(), st.integers(1, 400))
def test_keys_with_most_partners_are_kept_first(data: st.DataObject, room: int) -> None:
    state = state_of(data, room)
    kept = kept_by_partners(state.worth.tolist(), state.profile.whole.tolist(), room)
    ages = [share * SPAN for share in kept]
    expected = [0 if a >= SPAN else FOREVER if a < 1 else LAST + 1 - int(a + 1e-9) for a in ages]
    cuts = by_partners(state)
    assert (np.abs(cuts - expected) <= 1).all()
    stay = np.where(cuts == 0, state.profile.whole, 0).sum()
    assert stay <= room


@given(st.data(), st.integers(1, 400))
def test_no_tuple_that_goes_is_worth_more_than_one_that_stays(
    data: st.DataObject, room: int
) -> None:
    """By its partners times the ticks it has left; as many stay as find room."""
    state = state_of(data, room)
    cuts, sizes, ages = by_life(state), state.profile.sizes, state.ages
    if sizes.sum() <= room:
        assert not cuts.any()
        return
    first = np.where(cuts == 0, LAST + 1 - SPAN, np.minimum(cuts, LAST + 1))
    oldest = LAST + 1 - first  # how old tuples may be
    stays = state.worth * (SPAN - oldest + 1)
    goes = state.worth * (SPAN - oldest - 1)
    alive, gone = (oldest > 0) & (sizes > 0), (oldest < ages) & (sizes > 0)
    if alive.any() and gone.any():
        assert goes[gone].max() <= stays[alive].min()
    n = (sizes * np.minimum(oldest, ages) / np.maximum(ages, 1)).sum()
    expected = kept_by_life(
        state.worth[:N].tolist(), sizes[:N].tolist(), ages[:N].tolist(), SPAN, room
    )
    worthy = int(sizes[state.worth > 0].sum())
    steps = (sizes / np.maximum(ages, 1)).sum()  # a tick of each group
    assert min(expected, worthy) - 2 * steps - N <= n <= room + 1e-6


@given(st.data(), st.integers(1, 400))
def test_the_oldest_go_whatever_their_key(data: st.DataObject, room: int) -> None:
    state = state_of(data, room)
    cuts = by_age(state)
    assert len(set(cuts.tolist())) == 1
    if state.profile.sizes.sum() <= room and (state.before == 0).any():
        assert not cuts.any()


@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=20))
def test_partners_are_those_of_all_others(groups: list[tuple[int, ...]]) -> None:
    whole = {name: np.zeros(N_GROUPS, np.int64) for name in "abc"}
    for group, counts in enumerate(groups):
        for name, n in zip("abc", counts, strict=True):
            whole[name][group] = n
    lists = {name: own.tolist() for name, own in whole.items()}
    worth = partners(whole)
    for name in "abc":
        expected = [partners_of(lists, name, g) for g in range(len(groups))]
        assert worth[name][: len(groups)].tolist() == expected


def ranked(rule: str) -> RankedRetention:
    windows = (Keyed("w0", 0), Keyed("w1", 0))
    join = adapted_join(RetainedJoin("j", RetainedKey(0, windows), windows), rule)
    assert isinstance(join, RankedRetention)
    join.name, join.key, join.spans = "J", "k", {"w0": SPAN, "w1": SPAN}
    return join


def told(n: int, whole: int, last: int = LAST) -> SeenJoin:
    """Both windows with n tuples of 10 bytes, half of them of one group."""
    sizes, every = np.zeros((2, N_GROUPS), np.int64)
    sizes[[3, 7]], every[[3, 7]] = n // 2, whole // 2
    profile = RetainProfile(last=last, sizes=sizes, whole=every)
    windows = {id: SeenWindow(10 * n, n, profile) for id in ("w0", "w1")}
    return seen_join(SeenJoin(), windows, windows, {})


def test_it_chooses_where_windows_have_more_than_there_is_and_again_by_time() -> None:
    join, evaluations = ranked("prob"), Evaluations()
    join.turn(1.0, 1200)
    assert join.observe(0, told(60, 60), evaluations, 1) == []
    assert not join.lacks
    (decision,) = join.observe(1, told(80, 80), evaluations, 1)
    assert (decision.lhs, decision.relation, decision.rhs) == (1600, ">", 1200)
    assert join.lacks
    assert join.inexact == "J has some of its results, nobody knows of how many: kept by prob"
    assert join.observe(2, told(54, 80, LAST + SPAN - 1), evaluations, 1) == []
    assert len(join.observe(3, told(54, 80, LAST + SPAN), evaluations, 1)) == 1
    join.turn(0.5, 0)
    (turned,) = join.observe(4, told(30, 80, LAST + SPAN), evaluations, 1)
    assert (turned.lhs, turned.relation, turned.rhs) == (600, "<=", 800)
    assert join.expected_share == (30 * 30) / (80 * 80)


def test_what_it_chose_is_taken_up_by_a_run_that_is_resumed() -> None:
    for rule in ("prob", "life", "oldest"):
        join, other = ranked(rule), ranked(rule)
        for own in (join, other):
            own.turn(0.5, 0)
        join.observe(0, told(80, 80), Evaluations(), 1)
        other.restore(join.state())
        for keyed in join.join.windows:
            tuned = join.tuned(RetainTuning(0), keyed)
            assert tuned.cuts
            assert tuned == other.tuned(RetainTuning(0), keyed)
        later: list[Any] = [own.observe(1, told(60, 80), Evaluations(), 1) for own in (join, other)]
        assert later[0] == later[1]
