"""The estimators of k do what thesis and slow twin say, and keep the loss budget. [B05]"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backend.operators.network.kmon.estimates import (
    ARRIVALS,
    ESTIMATE,
    HIGH,
    KEPT,
    LOW,
    PATIENCE,
    Estimates,
    K,
    N,
    carry,
    fresh,
)
from backend.operators.network.kmon.estimating import (
    arrived,
    begin_anew,
    look,
    observed,
    released,
    waits,
    wants_look,
)
from backend.operators.network.kmon.survival import bin_end, distance_bin
from backend.operators.network.kmon.tuning import DISTANCE_BINS, KMonTuning
from bench.kmon_estimators import PER_BLOCK, Replay, ReplayedTrace, changing_k, lost_shares
from tests.oracles.k_estimates import CensoredTwin, Exposed, bin_of, survival
from tests.oracles.k_mon import clustering_distances, estimates, scrambling_distances

BUDGET = KMonTuning(loss="budget", window=400)
LITERAL = KMonTuning(estimator="literal")


def literal(distances: Iterable[int], window: int, factor: float = 1.0) -> list[int | None]:
    e = fresh(2, replace(LITERAL, window=window, factor=factor))
    found: list[int | None] = []
    for distance in distances:
        arrived(e, 1, distance)
        k = int(e.rows[1, K])
        found.append(None if k < 0 else k)
        assert e.rows[1, KEPT] == (-1 if k < 0 else int(factor * k))
    assert e.rows[0, K] == -1
    return found


def watched(
    distances: Iterable[int], tuning: KMonTuning = BUDGET, pending: Sequence[int] = ()
) -> Estimates:
    """One pair an arrival; at every look the same tuples wait."""
    e = fresh(1, tuning)
    for distance in distances:
        arrived(e, 0, 0)
        observed(e, 0, distance, 1.0)
        if wants_look(e, 0):
            for age in pending:
                waits(e, 0, age, 1.0)
            look(e, 0)
    return e


# ---------------------------------------------------------------------- literal


@given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 8), st.sampled_from([1.0, 1.2, 2]))
def test_literal_k_is_that_of_the_thesis(distances: list[int], window: int, factor: float) -> None:
    assert literal(distances, window, factor) == estimates(distances, window)


def test_literal_k_on_the_traces_of_the_card() -> None:
    ordered = (1, 2, 5, 3, 4, 6, 7, 9, 8, 10, 11, 12, 10, 13, 14, 15, 16)
    off, on = [None] * 4, [1] * 4
    assert literal(scrambling_distances(ordered), 4) == [None, None, None, 1, *off, *on, *off, 0]
    clustered = clustering_distances((5, 5, 6, 5, 6, 7, 7, 8, 8, 9, 7, 7, 9, 9))
    assert literal(clustered, 4)[3:10] == [1, 1, 1, 1, 1, 0, 0]
    assert literal([1, 1, 1, 0, 2], 3) == [None, None, 1, 1, None]
    assert literal([1, 1, 1, 0, 0], 3) == [None, None, 1, 1, 1]


# ---------------------------------------------------------------------- survival


def test_bins_of_distances() -> None:
    for distance in [*range(3000), 2**21, 2**22 - 1, 2**22, 2**40]:
        bin = distance_bin(distance)
        assert bin == bin_of(distance)
        assert distance <= bin_end(bin) or bin == DISTANCE_BINS - 1
        assert bin == 0 or bin_end(bin - 1) < distance


def test_kaplan_meier_on_a_known_sample() -> None:
    """Remission times of 6-MP [Freireich et al. 1963], those up to 13 weeks."""
    events = [(t, 1.0) for t in (6, 6, 6, 7, 10, 13)]
    ends = (6, 9, 10, 11, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35)
    left = survival(events, [Exposed(-1, end, 1.0) for end in ends], (6, 7, 10, 13))
    assert left == pytest.approx([0.857, 0.807, 0.753, 0.690], abs=5e-4)
    e = fresh(1, BUDGET)
    for t, _ in events:
        observed(e, 0, t, 1.0)
    e.rows[0, ARRIVALS] = 100
    for end in ends:
        waits(e, 0, end, 1.0)
    look(e, 0)
    assert np.cumsum(e.bins[0])[[6, 7, 10, 13]] * 0.310 == pytest.approx(
        [0.143, 0.193, 0.247, 0.310], abs=1e-3
    )


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pair"), st.integers(0, 40), st.sampled_from([1.0, 1.0, 1.0, 20.0])),
        st.tuples(st.just("pair"), st.integers(0, 3), st.just(1.0)),
        st.tuples(st.just("gone"), st.integers(0, 60), st.just(1.0)),
        st.tuples(st.just("arrival"), st.integers(0, 60), st.just(1.0)),
    ),
    max_size=250,
)


@settings(max_examples=60)
@given(
    STEPS,
    st.sampled_from([8, 20, 60]),
    st.sampled_from([0.0, 0.001, 0.05, 0.3]),
    st.sampled_from(["never", "budget"]),
    st.integers(0, 8),
)
def test_the_estimator_is_its_twin(
    steps: list[tuple[str, int, float]], window: int, budget: float, loss: str, slack: int
) -> None:
    tuning = KMonTuning(
        loss="never" if loss == "never" else "budget",
        window=window,
        loss_budget=budget,
        slack=slack,
    )
    e, twin = fresh(1, tuning), CensoredTwin(tuning)
    for kind, distance, weight in steps:
        if kind == "pair":
            observed(e, 0, distance, weight)
            twin.observed(distance, weight)
        elif kind == "gone":
            released(e, 0, distance)
            twin.released(distance)
        arrived(e, 0, 0)
        twin.arrived()
        assert bool(wants_look(e, 0)) == twin.wants_look()
        if twin.wants_look():
            for age in (distance, distance // 3, 50):
                waits(e, 0, age, 1.0)
                twin.waits(age, 1.0)
            look(e, 0)
            twin.look()
        told = (twin.k, twin.kept, twin.estimate, twin.low, twin.high)
        found = e.rows[0, [K, KEPT, ESTIMATE, LOW, HIGH]].tolist()
        assert found == [-1 if one is None else one for one in told]
        assert e.rows[0, PATIENCE] == twin.patience


# ---------------------------------------------------------------------- k


def test_k_is_enough_on_stationary_data() -> None:
    """Of bounded distances none is beyond k_e, of unbounded ones no more than the budget."""
    beyond = []
    for seed in range(20):
        rng, tuning = np.random.default_rng(seed), replace(BUDGET, window=1000)
        row = watched(rng.integers(0, 101, 1500).tolist(), tuning).rows[0]
        assert row[K] <= 100 <= row[KEPT]
        beyond.append(0.95 ** watched(rng.geometric(0.05, 1500).tolist(), tuning).rows[0, KEPT])
    assert np.mean(beyond) <= BUDGET.loss_budget


@pytest.mark.parametrize(("window", "budget"), [(1000, 0.001), (1000, 0.02), (300, 0.01)])
def test_the_interval_holds_the_quantile(window: int, budget: float) -> None:
    quantile = np.ceil(np.log(budget) / np.log(0.95))
    held = 0
    for seed in range(60):
        distances = np.random.default_rng(seed).geometric(0.05, window)
        row = watched(distances.tolist(), replace(BUDGET, window=window, loss_budget=budget)).rows
        held += bool(row[0, LOW] <= quantile <= row[0, HIGH])
    assert held >= 54, "95 % of 60, less twice what chance makes of it"


def test_who_never_joins_does_not_raise_k() -> None:
    distances = np.random.default_rng(1).integers(0, 31, 2000).tolist()
    alone = watched(distances).rows[0]
    crowded = watched(distances, pending=[*range(2000)] * 2).rows[0]
    assert alone[K] <= crowded[K] <= 30
    generous = replace(BUDGET, loss_budget=0.2)
    alone, crowded = (watched(distances, generous, p).rows[0] for p in ((), [*range(2000)] * 2))
    assert 23 <= alone[ESTIMATE] == crowded[ESTIMATE] <= 27


def test_tuples_that_wait_tell_that_distances_grow() -> None:
    distances = np.random.default_rng(1).integers(0, 31, 399).tolist()
    tuning = replace(BUDGET, loss_budget=0.1)
    assert watched(distances, tuning, [25] * 200).rows[0, K] > watched(distances, tuning).rows[0, K]


def test_quiet_phases_change_nothing() -> None:
    e = watched([30] * 400)
    for _ in range(10_000):
        arrived(e, 0, 0)
        assert not wants_look(e, 0)
    assert e.rows[0, K] == 30


def test_no_k_before_twice_of_it_has_passed() -> None:
    e = fresh(1, BUDGET)
    ks = []
    for at in range(1000):
        arrived(e, 0, 0)
        for _ in range(4):
            observed(e, 0, min(at, 100), 1.0)
        if wants_look(e, 0):
            look(e, 0)
        ks.append(int(e.rows[0, K]))
    assert 200 <= ks.index(100) <= 220
    assert set(ks[: ks.index(100)]) == {-1}


def test_what_is_within_k_e_raises_k_and_loses_nothing() -> None:
    e = watched([30] * 400)
    observed(e, 0, 37, 1.0)
    assert e.rows[0, K] == 37
    assert e.rows[0, KEPT] == 45


def test_a_spike_within_the_budget_is_none_of_its_business() -> None:
    e = watched([30] * 400, replace(BUDGET, loss_budget=0.01))
    observed(e, 0, 9000, 1.0)
    assert e.rows[0, K] == 30
    for _ in range(4):
        observed(e, 0, 9000, 1.0)
    assert e.rows[0, K] == 9000, "all of that distance are seen: they come back"


def test_what_is_lost_beyond_the_budget_ends_k_and_k_begins_anew() -> None:
    e = watched([30] * 400)
    observed(e, 0, 90, 100.0)
    assert e.rows[0, K] == -1
    for _ in range(200):
        arrived(e, 0, 0)
        observed(e, 0, 90, 1.0)
        if wants_look(e, 0):
            look(e, 0)
    assert e.rows[0, K] == 90


def told(e: Estimates, outcomes: Iterable[int | None]) -> int:
    """Outcomes until k is given up: a distance, or None for a tuple that is let go."""
    for n, outcome in enumerate(outcomes):
        before = e.rows[0, K]
        arrived(e, 0, 0)
        if outcome is None:
            released(e, 0, int(e.rows[0, KEPT]))
        else:
            observed(e, 0, outcome, 1.0)
        if e.rows[0, K] < 0 <= before:
            return n
        if wants_look(e, 0):
            look(e, 0)
    return -1


def test_more_let_go_than_ever_ends_k_before_any_is_seen_to_be_lost() -> None:
    assert 6 < told(watched([30] * 400), [None] * 50) < 12
    assert told(watched([30] * 400, replace(BUDGET, loss="never")), [None] * 400) == -1


@pytest.mark.parametrize("gc", [1, 64])
def test_however_many_are_let_go_at_once_is_no_evidence(gc: int) -> None:
    """A quarter never joins; garbage is collected at each arrival, or once in 64."""
    run = Replay(ReplayedTrace.of(np.full(4000, 50), 0.25, seed=2), BUDGET, gc=gc).run()
    assert min(run.ks[200:]) > 40
    assert not run.lost.any()


def test_a_false_alarm_makes_the_next_one_slower() -> None:
    e = watched([30] * 400)
    first = told(e, [None] * 400)
    assert told(e, [30] * 300) == -1
    assert e.rows[0, PATIENCE] == 2
    assert told(e, [None] * 400) > first


def test_k_falls_by_more_than_the_slack_only() -> None:
    assert watched([*[30] * 400, *[25] * 400]).rows[0, K] == 30
    assert watched([*[30] * 400, *[22] * 400]).rows[0, K] == 22


@pytest.mark.parametrize("tuning", [BUDGET, LITERAL], ids=["censored", "literal"])
def test_all_that_is_known_is_in_the_arrays(tuning: KMonTuning) -> None:
    """Wherever batches are cut."""
    rng = random.Random(9)
    whole, parts = fresh(1, tuning), fresh(1, tuning)
    for _ in range(3000):
        distance = int(rng.expovariate(1 / 20))
        if rng.random() < 0.01:
            parts = Estimates._make(array.copy() for array in parts)
        for e in (whole, parts):
            arrived(e, 0, distance)
            observed(e, 0, distance, 1.0)
            if wants_look(e, 0):
                waits(e, 0, distance, 1.0)
                look(e, 0)
    assert whole.rows[0, N] > 0
    assert all(np.array_equal(a, b) for a, b in zip(whole, parts, strict=True))


def test_larger_arrays_know_the_same() -> None:
    rng = random.Random(4)
    distances = [rng.randrange(50) for _ in range(1500)]
    old, tuning = watched(distances[:1000]), replace(BUDGET, window=700)
    new = fresh(1, tuning)
    carry(old, new)
    assert new.rows[0, : ARRIVALS + 1].tolist() == old.rows[0, : ARRIVALS + 1].tolist()
    for distance in distances[1000:]:
        observed(new, 0, distance, 1.0)
    assert sorted(new.ring[0]) == sorted(distances[1500 - 700 :])


def test_begun_anew_it_is_fresh() -> None:
    e, begun = watched([30] * 400), fresh(1, BUDGET)
    begin_anew(e, 0)
    assert e.rows.tolist() == begun.rows.tolist()
    assert e.sums.tolist() == begun.sums.tolist()


# ---------------------------------------------------------------------- Fig. 6.11


@pytest.mark.parametrize("dangling", [0.0, 0.25])
def test_a_jump_of_k_costs_less_than_the_literal_estimator(dangling: float) -> None:
    trace = ReplayedTrace.of(changing_k(17 * PER_BLOCK), dangling, seed=1)
    tuning = replace(BUDGET, window=500)
    ours = Replay(trace, tuning).run()
    thesis = Replay(trace, replace(tuning, estimator="literal", factor=1.0)).run()
    assert ours.lost.sum() <= tuning.loss_budget * ours.pairs.sum()
    assert max(lost_shares(ours)) < 2 < max(lost_shares(thesis))
    off = [sum(k < 0 for k in run.ks) / trace.n for run in (ours, thesis)]
    assert off[0] < off[1] / 2
