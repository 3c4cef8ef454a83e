"""What tuned joins tell: profiled elements, shadow look-ups, reuse distances; drop probing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import log

import numpy as np
import pytest

from backend.operators.network.core.reports import NetworkReport, OperatorCounts
from backend.operators.network.joins import cache_kernel
from backend.operators.network.joins.join_tuning import (
    MOST_OBSERVATIONS,
    REUSE_BINS,
    CacheSpec,
    JoinProfile,
    JoinTuning,
    PipelineProfile,
    Segment,
    ShadowCounts,
    added_fields,
    added_profiles,
)
from backend.operators.network.kinds.joins import JoinOp
from backend.operators.network.shards.shard_reports import merged_network
from storage.vocabulary.memory import PAGE_BYTES
from tests.oracles.network_windows import Signed
from tests.unit.network.test_join_caches_rules import OF_R1, ONE, PATH, TWO, joined
from tests.unit.network.tuned_joins import TunedRun

ALL = (1.0, 1.0, 1.0)
_WORD = (1 << 64) - 1


def watched(tuning: JoinTuning) -> TunedRun:
    """R1(A), R2(A, B), R3(B)."""
    return TunedRun(joined(PATH, ONE, TWO, ONE), tuning)


def load(run: TunedRun) -> None:
    """R2 has four tuples with A = 1, of which three have partners in R3."""
    run.run([[], [((1, b), 0, 1) for b in (2, 3, 3, 9)], [((b,), 0, 1) for b in (2, 3)]], 0)


def test_profiled_elements_are_counted_step_by_step() -> None:
    run = watched(JoinTuning())
    load(run)
    run.retune(JoinTuning(profile_prob=ALL))
    run.run([[((1,), 1, 1), ((5,), 2, 1), ((1,), 3, -1)], [], []], 4)
    found = run.profile.pipelines[0]
    assert (found.n_plus, found.n_minus) == (2, 1)
    assert found.tau.tolist() == [1, 2, 3]
    assert found.entering.tolist() == [[1, 4, 3], [1, 0, 0], [1, 4, 3]]
    assert found.busy_ns.shape == (3, 2)
    assert (found.busy_ns >= 0).all()
    assert found.busy_ns[0].sum() > 0
    assert (found.scanned[:, 0] >= found.entering[:, 1]).all()
    assert run.profile.pipelines[1].entering.shape == (0, 3)


def test_who_has_no_partner_is_said_along_the_path() -> None:
    """R3 is reached through R2: an element without partners in R2 has none there either."""
    run = watched(JoinTuning(profile_prob=ALL))
    load(run)
    run.run(
        [[((1,), 1, 1), ((5,), 2, 1)], [((8, 3), 3, 1), ((1, 7), 4, 1), ((None, 3), 5, 1)], []], 5
    )
    one, two, _ = run.profile.pipelines
    assert one.dropped_by.tolist() == [0, 0b110]
    assert two.dropped_by[-3:].tolist() == [0b001, 0b100, 0b101]


def test_elements_are_chosen_by_their_numbers_however_they_are_cut() -> None:
    tuning = JoinTuning(profile_prob=(0.25, 0.0, 0.0), seed=5)
    whole: list[Signed] = [((k % 3,), k, 1) for k in range(400)]
    chosen = []
    for cut in (400, 7):
        run, found = watched(tuning), list[int]()
        for at in range(0, 400, cut):
            run.retune(tuning)
            run.run([whole[at : at + cut], [], []], at + cut)
            found += run.profile.pipelines[0].tau.tolist()
        chosen.append(found)
    assert chosen[0] == chosen[1]
    assert 60 < len(chosen[0]) < 140
    other = watched(replace(tuning, seed=6))
    other.run([whole, [], []], 400)
    assert other.profile.pipelines[0].tau.tolist() != chosen[0]


@pytest.mark.parametrize("share", [0.125, 0.3, 0.7])
def test_of_each_stretch_of_elements_one_is_profiled(share: float) -> None:
    """A stretch is 1 / share elements long, or the whole numbers around that."""
    run = watched(JoinTuning(profile_prob=(share, 0.0, 0.0), seed=3))
    run.run([[((0,), k, 1) for k in range(240)], [], []], 240)
    begins = np.ceil(np.arange(int(240 * share) + 1) / share)
    n_profiled, _ = np.histogram(run.profile.pipelines[0].tau, begins)
    assert n_profiled[:-1].tolist() == [1] * (len(n_profiled) - 1)


def test_no_more_elements_are_watched_than_are_told() -> None:
    run = watched(JoinTuning(profile_prob=ALL))
    run.run([[((k,), k, 1) for k in range(MOST_OBSERVATIONS + 50)], [], []], 900)
    assert run.profile.pipelines[0].tau.tolist() == list(range(MOST_OBSERVATIONS))


def test_probabilities_are_those_of_all_pipelines() -> None:
    with pytest.raises(ValueError, match="2 profile probabilities for a join of 3 inputs"):
        watched(JoinTuning(profile_prob=(0.5, 0.5)))


def test_operations_are_counted_with_and_without_caches() -> None:
    """Two elements of R1: probes 1 + 4 each, tuples built 4 + 3; a hit builds what it forwards."""
    plain, cached = watched(JoinTuning()), watched(JoinTuning(caches=(OF_R1,)))
    for run in (plain, cached):
        load(run)
        run.run([[((1,), 1, 1), ((1,), 1, 1)], [], []], 2)
    one, two = (run.profile.pipelines[0] for run in (plain, cached))
    assert (one.n_probes, one.n_built) == (10, 14)
    assert (two.n_probes, two.n_built) == (5, 7 + 3)
    assert two.n_scanned < one.n_scanned


def test_look_ups_and_updates_are_timed_for_some_elements() -> None:
    run = watched(JoinTuning(caches=(OF_R1,), profile_prob=(0.5, 0.5, 0.5)))
    load(run)
    for k in range(40):
        run.one(0, (1,), k + 1)
        run.one(1, (1, 3), k + 1)
        run.one(1, (1, 3), k + 1, -1)
    found = run.profile.caches[OF_R1.id]
    assert found.n_lookups_timed > 0
    assert found.lookup_ns > 0
    assert found.n_updates_timed > 0
    assert found.update_ns > 0


# ------------------------------------------------------------------ shadow look-ups, reuse


def shadowed(keys: Sequence[int], cut: int, tuning: JoinTuning) -> ShadowCounts:
    """Elements of R1 with these keys; added up over runs of the operator."""
    run, parts = watched(tuning), []
    for at in range(0, len(keys), cut):
        run.retune(tuning)
        some: list[Signed] = [((k,), at, 1) for k in keys[at : at + cut]]
        run.run([some, [], []], at)
        parts.append(run.profile)
    (found,) = added_profiles(parts).shadows[OF_R1.id].values()
    return found


def test_shadow_look_ups_count_the_keys_that_are_new_in_blocks() -> None:
    """Two blocks only fill the bitmap; after twelve it is cleared."""
    keys = [k * k % 97 + k // 300 for k in range(1500)]
    tuning = JoinTuning(shadows=(OF_R1,), block_probes=100, bitmap_alpha=16)
    found = shadowed(keys, 1500, tuning)
    assert (found.n_probes, found.n_blocks) == (1100, 11)
    exact = len(set(keys[:1200])) - len(set(keys[:200]))
    exact += len(set(keys[1200:1500])) - len(set(keys[1200:1400]))
    assert found.misses == pytest.approx(exact, abs=1.5)
    assert found.n_keys == pytest.approx(len(set(keys[:1200])), abs=1.5)
    assert found.n_runs == 1
    assert shadowed(keys, 30, tuning) == found


@pytest.mark.parametrize("n_blocks", [3, 10, 14])
def test_a_reader_that_is_looked_up_again_begins_with_an_empty_bitmap(n_blocks: int) -> None:
    """The keys that came while it was closed are not in the old one."""
    keys = [k * k % 997 + k // 300 for k in range(6000)]
    open = JoinTuning(shadows=(OF_R1,), block_probes=100, bitmap_alpha=16)
    closing = replace(open, shadow_blocks=n_blocks)
    parts = [shadowed(keys[at : at + 2000], 2000, closing) for at in range(0, 6000, 2000)]
    assert [one.n_blocks for one in parts] == [n_blocks] * 3
    assert shadowed(keys, 2000, closing) == added_fields(parts)


def test_shadow_look_ups_end_after_enough_blocks() -> None:
    """Of a batch; the next one goes on."""
    keys = [k * k % 97 + k // 300 for k in range(1500)]
    open = JoinTuning(shadows=(OF_R1,), block_probes=100, bitmap_alpha=16)
    closing = replace(open, shadow_blocks=3)
    assert shadowed(keys, 1500, closing) == shadowed(keys[:500], 500, open)
    assert shadowed(keys, 750, closing).n_blocks == 6


def test_keys_that_come_again_are_hits_once_the_bitmap_is_filled() -> None:
    """100 keys in turn: a block that begins with nothing would miss them all."""
    tuning = JoinTuning(shadows=(OF_R1,), block_probes=100, bitmap_alpha=16)
    found = shadowed([k % 100 for k in range(900)], 300, tuning)
    assert (found.n_probes, found.misses, found.n_blocks) == (700, 0.0, 7)


def test_linear_counting_makes_up_for_collisions() -> None:
    """As many distinct keys as bits: 63 in a hundred are set (card 10.2), and all are counted."""
    tuning = JoinTuning(shadows=(OF_R1,), block_probes=1000, bitmap_alpha=1)
    found = shadowed(list(range(24_000)), 8000, tuning)
    assert found.n_blocks == 20
    assert found.misses == pytest.approx(20_000, rel=0.05)
    naive = 100 * (1 - (1 - 1 / 100) ** 100)
    assert -100 * log(1 - naive / 100) == pytest.approx(100, abs=1)


def _mixed(hash: int, word: int) -> int:
    x = hash ^ (word & _WORD)
    x ^= x >> 32
    x = x * 0x9E3779B97F4A7C15 & _WORD
    return x ^ (x >> 29)


def test_reuse_distances_are_those_of_sampled_keys() -> None:
    rng = np.random.default_rng(4)
    keys = rng.zipf(1.3, 9000) % 700
    run = watched(JoinTuning(caches=(OF_R1,)))
    run.run([[((int(k),), 0, 1) for k in keys], [], []], 1)
    seen: list[int] = []
    expected = [0] * REUSE_BINS
    for key in keys.tolist():
        hash = _mixed(0, key)
        if (hash >> 52) % cache_kernel.SAMPLE_EVERY:
            continue
        bin = REUSE_BINS - 1
        if hash in seen:
            distance = seen.index(hash) * cache_kernel.SAMPLE_EVERY
            bin = max(0, distance.bit_length() - 1)
            seen.remove(hash)
        seen.insert(0, hash)
        expected[bin] += 1
    assert sum(expected) > 30
    assert run.profile.caches[OF_R1.id].reuse.tolist() == expected


# ------------------------------------------------------------------ drop probing (card 7)

STAR = JoinOp((((0, 0), (1, 0)), ((0, 1), (2, 0))), None, ((1, 2), (0, 2), (0, 1)))


def test_drop_probing_makes_nothing_for_elements_without_partners() -> None:
    """R1(A, B) joins R2(A) five times and R3(B) never: one probe of each, nothing built."""
    found = []
    for two_phase in (False, True):
        plan = joined(STAR, TWO, ONE, ONE)
        run = TunedRun(plan, JoinTuning(two_phase=two_phase))
        run.run([[], [((1,), 0, 1)] * 5, [((3,), 0, 1)]], 0)
        run.run([[((1, 2), 1, 1), ((1, 3), 1, 1)], [], []], 2)
        found.append((Counter(run.out), run.profile.pipelines[0]))
    (out, plain), (same, dropping) = found
    assert out == same
    assert sum(out.values()) == 5
    assert (plain.n_probes, plain.n_built) == (12, 15)
    assert dropping.n_built == 10
    assert dropping.n_probes == 2 + 2 + 6


def test_drop_probing_hides_nothing_from_caches() -> None:
    """R2 has no partner in R4 yet; the cache of R2, R3 must be told of it all the same."""
    work = JoinOp(
        (((0, 0), (1, 0), (2, 0), (3, 0)),), None, ((1, 2, 3), (2, 3, 0), (1, 3, 0), (1, 2, 0))
    )
    spec = CacheSpec("c", (1, 2), (0,), (Segment(0, 0, 1),), PAGE_BYTES)
    run = TunedRun(joined(work, ONE, ONE, ONE, ONE), JoinTuning(caches=(spec,), two_phase=True))
    run.one(2, (1,))
    run.one(3, (1,))
    run.one(1, (1,))
    run.one(0, (1,))
    run.one(3, (1,), sign=-1)
    run.one(1, (1,))
    run.check()
    run.one(3, (1,))
    assert len(run.one(0, (1,))) == 2


# ------------------------------------------------------------------ reports


def _profile(tau: Sequence[int], n: int) -> JoinProfile:
    k = len(tau)
    one = PipelineProfile(
        n, 1, 2, 3, 4, np.array(tau), np.full((k, 2), n), np.ones((k, 1), np.int64),
        np.ones((k, 1), np.int64), np.zeros(k, np.uint64),
    )  # fmt: skip
    shadows = {"c": {Segment(0, 0, 1): ShadowCounts(10, 2.5, 1)}}
    return JoinProfile((one,), {}, shadows)


def test_profiles_of_shards_add_up_by_time() -> None:
    parts = [
        NetworkReport(operators={"j": OperatorCounts(profile=_profile(tau, n))})
        for tau, n in (((1, 5), 7), ((2, 9), 8))
    ]
    merged = merged_network([*parts, NetworkReport(operators={"j": OperatorCounts()})])
    found = merged.operators["j"].profile
    assert isinstance(found, JoinProfile)
    (one,) = found.pipelines
    assert (one.n_plus, one.n_minus, one.n_scanned) == (15, 2, 8)
    assert one.tau.tolist() == [1, 2, 5, 9]
    assert one.entering[:, 0].tolist() == [7, 8, 7, 8]
    assert found.shadows["c"][Segment(0, 0, 1)] == ShadowCounts(20, 5.0, 2)


def test_the_newest_observations_are_kept() -> None:
    parts = [_profile(range(k, 600, 2), 1) for k in (0, 1)]
    (one,) = added_profiles(parts).pipelines
    assert one.tau.tolist() == list(range(600 - MOST_OBSERVATIONS, 600))
