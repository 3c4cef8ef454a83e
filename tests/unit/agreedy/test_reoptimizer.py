"""The decision core on streams of known drops."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from backend.model.filters import ProbeRule, Probing
from backend.systems.agreedy.knobs import ALGORITHMS
from bench.counted import run_counted
from storage.vocabulary.records import DecisionOutcome, Event
from tests.oracles import filter_executor
from tests.oracles import filters as oracle
from tests.unit.agreedy.cases import Case, cases
from tests.unit.agreedy.stream import Drops, Stream, independent_drops, query_of, settings

SHARES = (0.1, 0.3, 0.5, 0.7)
BEST = "F4 F3 F2 F1"


def stationary(n: int, seed: int = 5, shares: Sequence[float] = SHARES) -> Drops:
    return independent_drops(np.random.default_rng(seed), n, shares)


@given(cases(free=False), st.data())
def test_counting_is_executing(case: Case, data: st.DataObject) -> None:
    names = [f"F{i}" for i in range(case.n)]
    order = [names[x] for x in case.order]
    rule: ProbeRule = data.draw(st.sampled_from(["all", "one", "next", "none"]))
    pairs = st.tuples(st.sampled_from(names), st.sampled_from(names))
    spared = data.draw(st.frozensets(pairs))
    probing = Probing(rule, data.draw(st.sampled_from(names)) if rule == "one" else None, spared)
    rows = [*case.drops, [False] * case.n]
    profiled = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    drops = np.array(rows, dtype=np.bool_)
    whole = [each and data.draw(st.booleans()) for each in profiled]
    found = run_counted(drops, names, order, probing, np.array(profiled), np.array(whole))
    slow = filter_executor.execute(rows, names, order, probing, profiled, whole)
    assert found.outcomes.tolist() == slow.outcomes.tolist()
    assert (found.whole is None) == (slow.whole is None)
    if found.whole is not None and slow.whole is not None:
        assert found.whole.rows.tolist() == slow.whole.rows.tolist()
        assert found.whole.n_passed == slow.whole.n_passed
    for field in ("n_matched", "evaluated", "dropped", "n_passed", "probed"):
        assert getattr(found, field) == getattr(slow, field), field


@pytest.mark.parametrize(
    "algorithm", ["a-greedy", "sweep", "independent", "local swaps", "optimal"]
)
def test_every_algorithm_finds_the_order_of_independent_filters(algorithm: str) -> None:
    stream = Stream(
        settings(filter_algorithm=algorithm, stage_tuples=300, min_samples=150), query_of(4)
    )
    stream.run(stationary(20_000))
    assert stream.order == BEST


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_results_do_not_depend_on_the_algorithm(algorithm: str) -> None:
    drops = stationary(3000)
    stream = Stream(settings(filter_algorithm=algorithm, profile_prob=0.3), query_of(4))
    stream.run(drops)
    matched = (~drops.any(axis=1)).reshape(-1, 100).sum(axis=1)
    assert stream.emitted == matched.tolist()


def test_costs_count_as_much_as_drops() -> None:
    stream = Stream(settings(), query_of(4), {"F4": 30.0, "F1": 0.01})
    stream.run(stationary(4000))
    assert stream.order == "F1 F3 F2 F4"


def test_native_filters_stay_in_front() -> None:
    stream = Stream(settings(), query_of(4, n_native=2))
    names = [f.name for f in stream.core.filters]
    assert names == ["a1", "a2", "F3", "F4"]
    stream.run(stationary(4000))
    assert stream.order == "a2 a1 F4 F3"
    assert stream.core.plan.native == ("a2", "a1")


def test_nothing_happens_below_the_least_sample() -> None:
    stream = Stream(settings(min_samples=500, window_tuples=1000), query_of(4))
    stream.run(stationary(500))
    assert {d.verdict for d in stream.decisions()} == {"thin"}
    assert "of the 500 needed" in stream.decisions()[-1].explanation
    stream.run(stationary(500))
    assert stream.decisions("switched")


def test_alpha_keeps_small_differences_and_says_so() -> None:
    drops = stationary(8000, shares=(0.50, 0.53))
    eager, calm = (Stream(settings(alpha=a), query_of(2)) for a in (1.0, 0.9))
    for stream in (eager, calm):
        stream.feed(drops)
    assert eager.order == "F2 F1"
    assert calm.order == "F1 F2"
    (kept,) = calm.decisions()
    assert (kept.verdict, kept.relation, kept.kind) == ("below_threshold", "<", "greedy invariant")
    assert kept.lhs is not None
    assert kept.rhs is not None
    assert kept.lhs >= kept.rhs
    assert "ranks at least 0.9 times" in kept.explanation


def test_evidence_waits_for_samples_not_for_a_ratio() -> None:
    few, many = (
        Stream(settings(violation_rule="evidence", window_tuples=50_000), query_of(2))
        for _ in range(2)
    )
    few.feed(stationary(100, shares=(0.50, 0.60)))
    many.feed(stationary(20_000, shares=(0.50, 0.53)))
    assert few.order == "F1 F2"
    assert many.order == "F2 F1"
    (switched,) = many.decisions("switched")
    assert switched.rhs is not None
    assert switched.rhs > 0
    interval = switched.detail["pair"]["interval"]
    assert 0 < interval["low"] < interval["difference"] < interval["high"]


def test_a_switch_carries_both_costs_and_is_measured_afterwards() -> None:
    stream = Stream(settings(min_samples=200), query_of(4))
    stream.run(stationary(2000))
    (switched,) = stream.decisions("switched")
    assert switched.predicted_old is not None
    assert switched.predicted_new is not None
    assert switched.predicted_new < switched.predicted_old
    saving = switched.detail["saving"]
    assert saving["low"] > 0
    assert saving["mean"] == pytest.approx(switched.predicted_old - switched.predicted_new)
    (outcome,) = [i for i in stream.instructions if isinstance(i, DecisionOutcome)]
    assert outcome.decision == switched.seq
    assert outcome.actual_new == pytest.approx(switched.predicted_new, rel=0.15)
    assert outcome.sample_new == pytest.approx(outcome.actual_new)
    assert outcome.counterfactual_old == pytest.approx(switched.predicted_old, rel=0.15)


@pytest.mark.parametrize("algorithm", ["a-greedy", "independent", "optimal", "static"])
def test_a_check_tells_what_the_order_in_force_cost_on_all_tuples_of_the_window(
    algorithm: str,
) -> None:
    knobs = settings(
        filter_algorithm=algorithm, window_tuples=50_000, alpha=0.8, reject_sample_every=1
    )
    costs = {"F1": 1.0, "F2": 3.0, "F3": 0.5, "F4": 2.0}
    stream, drops = Stream(knobs, query_of(4), costs), stationary(3000)
    stream.run(drops)
    checks = stream.decisions()
    assert len(checks) > 20
    for one in checks:
        assert one.old is not None
        places = [int(name[1:]) - 1 for name in one.old["order"]]
        seen = drops[: 100 * (one.batch + 1)]
        us = Fraction(oracle.cost(seen.tolist(), places, [2, 6, 1, 4]), 2 * len(seen))
        assert one.predicted_old == pytest.approx(float(us))


@pytest.mark.parametrize("algorithm", ["sweep", "local swaps"])
def test_partial_bits_price_their_moves_exactly(algorithm: str) -> None:
    knobs = settings(filter_algorithm=algorithm, min_samples=300, stage_tuples=1000)
    stream = Stream(knobs, query_of(4))
    drops = stationary(30_000)
    stream.run(drops, 500)
    for switched in stream.decisions("switched"):
        assert switched.old is not None
        assert switched.new is not None
        for order, predicted in (
            (switched.old["order"], switched.predicted_old),
            (switched.new["order"], switched.predicted_new),
        ):
            places = [int(name[1:]) - 1 for name in order]
            cost = oracle.cost(drops[:2000].tolist(), places, [1] * 4) / 2000
            assert predicted == pytest.approx(cost, rel=0.15)


def test_decisions_can_be_written_as_json() -> None:
    stream = Stream(settings(), query_of(3), {"F1": 0.0})
    stream.run(stationary(1000, shares=(0.2, 0.0, 0.4)))
    for decision in stream.decisions():
        json.dumps([decision.detail, decision.old, decision.new], allow_nan=False)
        assert len(decision.detail["near"]) == 3


def test_sweep_reaches_the_invariant_within_its_bound() -> None:
    """(n-1)^2 + n-1 stages on stationary data (card §4)."""
    n = 5
    rng = np.random.default_rng(11)
    for _ in range(20):
        distinct = rng.random((60, n)) < rng.random(n)
        distinct = distinct[distinct.any(axis=1)]
        order = list(rng.permutation(n))
        stream = Stream(settings(filter_algorithm="sweep", stage_tuples=1), query_of(n))
        stream.core._profiler.adopt(order)
        for _ in range((n - 1) ** 2 + n - 1):
            stream.feed(distinct)
        places = [int(name[1:]) - 1 for name in stream.core.plan.order]
        assert oracle.satisfies_invariant(distinct.tolist(), places, [1] * n)


def test_adapts_to_a_permutation_within_one_profile_window() -> None:
    window = 1000
    stream = Stream(settings(alpha=0.9, window_tuples=window, min_samples=100), query_of(4))
    stream.run(stationary(5000))
    assert stream.order == BEST
    n_profiled = 0
    for _ in range(100):
        changed = stationary(50, seed=9 + n_profiled, shares=SHARES[::-1])
        stream.feed(changed)
        n_profiled += int(changed.any(axis=1).sum())
        if stream.order == "F1 F2 F3 F4":
            break
    assert n_profiled <= window


def _kept_and_flushed(event: Event) -> tuple[int, int]:
    found = re.search(r"(\d+) profile tuples kept, (\d+) flushed", event.detail)
    assert found
    return int(found[1]), int(found[2])


def test_switching_the_algorithm_says_what_it_keeps() -> None:
    stream = Stream(settings(min_samples=50), query_of(4))
    stream.run(stationary(2000))
    (remark,) = stream.turn("filter_algorithm", "sweep")
    assert isinstance(remark, Event)
    assert _kept_and_flushed(remark) == (1000, 0)
    stream.run(stationary(500))
    assert stream.core.probing.rule == "one"
    (remark,) = stream.turn("filter_algorithm", "a-greedy")
    assert isinstance(remark, Event)
    kept, flushed = _kept_and_flushed(remark)
    assert kept + flushed == 1000
    assert 400 < flushed < 500
    assert "flushed because not every filter was asked" in remark.detail
    stream.run(stationary(1000))
    assert stream.order == BEST


def test_static_keeps_its_order_and_shows_what_it_costs() -> None:
    stream = Stream(settings(filter_algorithm="static"), query_of(4))
    stream.run(stationary(2000))
    assert stream.order == "F1 F2 F3 F4"
    assert stream.decisions("pinned")
    gap = stream.core.monitor.order_gap
    assert gap is not None
    assert gap > 0.3


def test_a_removed_filter_keeps_the_window_and_an_added_one_flushes_it() -> None:
    stream = Stream(settings(), query_of(4))
    stream.run(stationary(2000))
    fewer = query_of(4)
    fewer = type(fewer)("q", "S", "", fewer.condition, (*fewer.filters[:2], fewer.filters[3]))
    (adopted,) = stream.register(fewer, "query q changed")[-1:]
    assert "profile tuples kept" in getattr(adopted, "reason", "")
    assert stream.order == "F4 F2 F1"
    held = stream.core.monitor.window_tuples
    assert 0 < held < 1000
    stream.feed(stationary(200)[:, [0, 1, 3]], ["F1", "F2", "F4"])
    stream.register(query_of(4), "query q changed back")
    assert stream.order == "F4 F2 F1 F3"
    assert stream.core.monitor.window_tuples == 0
    stream.run(stationary(2000))
    assert stream.order == BEST
    stream.register(None, "query q removed")
    assert stream.core.plan.order == ()
    assert stream.core.matrices() == ()


def test_a_time_bound_window_forgets_by_age_and_checks_on_expiry() -> None:
    knobs = settings(window_by="seconds", window_s=3.0, min_samples=10, alpha=0.9)
    stream = Stream(knobs, query_of(2))
    drops = np.array([[True, False]] * 80 + [[False, True]] * 20, dtype=np.bool_)
    stream.feed(drops)
    assert stream.order == "F1 F2"
    for _ in range(3):
        stream.feed(np.array([[False, True]] * 20, dtype=np.bool_))
    assert stream.order == "F1 F2"
    stream.feed(np.array([[False, False]], dtype=np.bool_))  # only the first batch expires
    assert stream.order == "F2 F1"


def test_a_detected_change_raises_p_until_the_window_is_new() -> None:
    calm, alert = (
        Stream(
            settings(
                profile_prob=0.02,
                boost_prob=0.5,
                profile_policy=policy,
                window_tuples=400,
                min_samples=40,
            ),
            query_of(4),
        )
        for policy in ("fixed", "boost and flush")
    )
    settled = []
    for stream in (calm, alert):
        stream.run(stationary(20_000), 500)
        assert stream.order == BEST
        stream.instructions.clear()
        changed = stationary(40_000, seed=8, shares=SHARES[::-1])
        for start in range(0, len(changed), 500):
            stream.feed(changed[start : start + 500])
        last = stream.adopted()[-1].batch_id
        settled.append(last)
        assert stream.order == "F1 F2 F3 F4"
        assert any(isinstance(i, Event) and i.kind == "change" for i in stream.instructions)
    assert settled[1] - 40 < (settled[0] - 40) / 3
    assert alert.core.profile_prob == 0.02


def test_cooldown_and_sampled_rejections() -> None:
    stream = Stream(settings(cooldown_tuples=100_000, reject_sample_every=10), query_of(4))
    stream.run(stationary(1000))
    stream.run(stationary(3000, seed=4, shares=SHARES[::-1]))
    assert len(stream.decisions("switched")) == 1
    assert stream.decisions("cooldown")
    seqs = [d.seq for d in stream.decisions()]
    assert seqs == sorted(set(seqs))


def test_the_matrices_show_what_is_kept() -> None:
    stream = Stream(settings(), query_of(3))
    stream.run(stationary(1000, shares=(0.1, 0.5, 0.3)))
    counts, probs, ranks = stream.core.matrices()
    assert (counts.name, probs.name, ranks.name) == ("view:q", "view_drop_prob:q", "view_rank:q")
    assert {m.kind for m in (counts, probs, ranks)} == {"view"}
    assert counts.rows == counts.columns == ("F2", "F3", "F1")
    assert counts.values[1][0] is None
    assert probs.values[0][0] == pytest.approx(0.5, abs=0.05)
    assert probs.values[1][2] == pytest.approx(0.1, abs=0.05)
    stream.turn("filter_algorithm", "local swaps")
    kept = [[v is not None for v in row] for row in stream.core.matrices()[0].values]
    assert kept == [[True, True, False], [False, True, True], [False, False, True]]
    stream.turn("filter_algorithm", "independent")
    kept = [[v is not None for v in row] for row in stream.core.matrices()[0].values]
    assert kept == [[True] * 3, [False] * 3, [False] * 3]


def test_no_filters_one_filter_and_no_profile() -> None:
    empty = Stream(settings(), query_of(0))
    empty.feed(np.zeros((10, 0), dtype=np.bool_))
    assert empty.emitted == [10]
    assert empty.core.monitor.expected_us is None
    one = Stream(settings(), query_of(1))
    one.run(stationary(500, shares=(0.5,)))
    assert not one.decisions()
    assert one.core.monitor.drop_prob["F1"] == pytest.approx(0.5, abs=0.07)
    unseen = Stream(settings(profile_prob=0.0), query_of(4))
    unseen.run(stationary(1000))
    assert unseen.order == "F1 F2 F3 F4"
    assert not unseen.decisions()


@given(cases(most=4, free=False), st.integers(1, 40))
@hypothesis_settings(max_examples=40)
def test_a_greedy_holds_the_invariant_after_every_batch(case: Case, window: int) -> None:
    if not case.drops:
        return
    costs = {f"F{i + 1}": float(c) for i, c in enumerate(case.costs)}
    stream = Stream(settings(window_tuples=window), query_of(case.n), costs)
    seen: list[list[bool]] = []
    for _ in range(3):
        for start in range(0, len(case.drops), 5):
            rows = case.drops[start : start + 5]
            stream.feed(np.array(rows, dtype=np.bool_))
            seen += rows
            places = [int(name[1:]) - 1 for name in stream.core.plan.order]
            timed = [round(stream.core.monitor.cost_us[f"F{i + 1}"]) for i in range(case.n)]
            assert oracle.satisfies_invariant(seen[-window:], places, timed)
