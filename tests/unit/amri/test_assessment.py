"""Assessors against slow twins request by request, and what they promise."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.model.draws import draws
from backend.systems.amri.assessment import (
    ASSESSORS,
    CDIA,
    CSRIA,
    AssessmentSettings,
    ExactCounters,
    FoldScope,
)
from tests.oracles import amri_assessment as twin
from tests.unit.amri.cases import SHARES_2, TABLE_2, request_runs

N = 4
THRESHOLDS = st.sampled_from([(0.1, 0.2), (0.3, 0.4), (0.05, 0.1), (0.07, 0.15), (0.5, 0.6)])
Runs = list[tuple[int, int]]


def drawn(seed: int) -> Any:
    """The choice of 'random', fold by fold."""
    n_folds = 0

    def choose(among: list[twin.Attributes]) -> twin.Attributes:
        nonlocal n_folds
        n_folds += 1
        return among[int(draws(seed, np.array([n_folds - 1]))[0]) * len(among) >> 32]

    return choose


def requests(runs: Runs) -> list[int]:
    return [pattern for pattern, n in runs for _ in range(n)]


def run_twin(one: twin.Compact, runs: Runs) -> twin.Compact:
    for pattern in requests(runs):
        one.observe(twin.attributes(pattern, one.n))
    return one


def table(one: twin.Compact) -> dict[int, tuple[int, int]]:
    return {twin.mask(p, one.n): (n, delta) for p, (n, delta) in one.table.items()}


@given(
    request_runs(N),
    THRESHOLDS,
    st.sampled_from(["csria", "cdia"]),
    st.sampled_from(["sound", "literal"]),
    st.sampled_from(["all", "leaf"]),
    st.sampled_from(["highest", "random"]),
)
def test_tables_traces_and_reports_are_those_of_the_slow_twin(
    runs: Runs,
    thresholds: tuple[float, float],
    name: Literal["csria", "cdia"],
    variant: Literal["sound", "literal"],
    scope: Literal["all", "leaf"],
    combine: Literal["highest", "random"],
) -> None:
    settings = AssessmentSettings(*thresholds, combine, scope, variant, seed=7)
    fast = ASSESSORS[name](N, settings)
    choose = drawn(7) if combine == "random" else None
    slow = twin.Compact(
        N, *thresholds, variant == "literal", scope == "leaf", name == "cdia", choose
    )
    trace = [event for pattern, n in runs for event in fast.observe(pattern, n)]
    run_twin(slow, runs)
    assert fast.total == slow.total
    report = fast.report()
    assert {p: (e.n, e.delta) for p, e in report.entries.items()} == table(slow)
    told = [(e.kind, e.pattern, e.into, e.entry.n, e.entry.delta) for e in trace]
    assert told == slow.trace
    if slow.total:
        before = len(slow.trace)
        assert report.frequencies == slow.report()
        final = [(e.kind, e.pattern, e.into, e.entry.n, e.entry.delta) for e in report.events]
        assert final == slow.trace[before:]


@given(request_runs(N), THRESHOLDS, st.sampled_from([*ASSESSORS]), st.integers(0, 200))
def test_an_assessment_goes_on_where_it_was_taken(
    runs: Runs, thresholds: tuple[float, float], name: str, cut: int
) -> None:
    settings = AssessmentSettings(*thresholds, "random")
    whole, before, after = (ASSESSORS[name](N, settings) for _ in range(3))
    for pattern, n in runs[:cut]:
        before.observe(pattern, n)
    after.restore(before.state())
    for pattern, n in runs[cut:]:
        after.observe(pattern, n)
    for pattern, n in runs:
        whole.observe(pattern, n)
    assert after.report() == whole.report()
    assert after.state() == whole.state()


@given(request_runs(N))
def test_exact_counters_report_every_pattern(runs: Runs) -> None:
    one = ExactCounters(N)
    for pattern, n in runs:
        one.observe(pattern, n)
    report, asked = one.report(), requests(runs)
    if asked:
        assert report.frequencies == pytest.approx(twin.exact(asked))
    assert report.dropped == report.moved == 0
    assert report.total == len(asked)


def test_sria_and_dia_are_one_table() -> None:
    assert ASSESSORS["sria"] is ASSESSORS["dia"] is ASSESSORS["exact"]


@given(request_runs(N), THRESHOLDS)
def test_csria_keeps_its_promises(runs: Runs, thresholds: tuple[float, float]) -> None:
    """No pattern with F >= θ is missed, N undercounts by at most ε·total, and nothing below θ - 2ε
    is reported."""
    epsilon, theta = thresholds
    one, asked = CSRIA(N, AssessmentSettings(epsilon, theta)), requests(runs)
    for pattern, n in runs:
        one.observe(pattern, n)
    report, truth = one.report(), twin.exact(asked) if asked else {}
    assert report.guarantees == (theta, epsilon, theta - 2 * epsilon)
    for pattern, f in truth.items():
        if f >= theta:
            assert pattern in report.frequencies
        held = report.entries[pattern].n if pattern in report.entries else 0
        assert f * len(asked) - epsilon * len(asked) - 1e-9 <= held <= f * len(asked) + 1e-9
    assert all(truth[p] >= theta - 2 * epsilon - 1e-9 for p in report.frequencies)
    hidden = sum(truth[p] - report.frequencies.get(p, 0) for p in truth)
    in_root = report.root + report.dropped
    assert sum(truth.values()) - hidden == pytest.approx(sum(report.frequencies.values()))
    assert sum(report.frequencies.values()) + in_root == pytest.approx(1 if asked else 0)


@pytest.mark.parametrize("place", range(9))
def test_segments_counted_from_0_lose_a_pattern_of_exactly_theta(place: int) -> None:
    """Erratum of card A4: ε = .1, 2 of every 10 requests, θ = .2."""
    order = [1] * 10
    order[place] = order[place + 1] = 2
    sound = CSRIA(2, AssessmentSettings(0.1, 0.2))
    literal = CSRIA(2, AssessmentSettings(0.1, 0.2, variant="literal"))
    for pattern in order * 20:
        sound.observe(pattern)
        literal.observe(pattern)
    assert 2 in sound.report().frequencies
    assert 2 not in literal.report().frequencies
    assert literal.report().guarantees.none_missed_from is None


@given(request_runs(N), THRESHOLDS, st.sampled_from(["highest", "random"]), st.booleans())
def test_cdia_keeps_its_promises(
    runs: Runs, thresholds: tuple[float, float], combine: Literal["highest", "random"], leaf: bool
) -> None:
    """All counts with the root's are the requests, every fold goes to a direct parent, and no
    pattern whose own F >= θ is missed."""
    scope: Literal["leaf", "all"] = "leaf" if leaf else "all"
    one = CDIA(N, AssessmentSettings(*thresholds, combine, scope))
    events = [event for pattern, n in runs for event in one.observe(pattern, n)]
    report, asked = one.report(), requests(runs)
    assert sum(entry.n for entry in report.entries.values()) == len(asked)
    for event in (*events, *report.events):
        assert event.into is not None
        assert event.into & event.pattern == event.into
        assert (event.into ^ event.pattern).bit_count() == 1
    if asked:
        assert sum(report.frequencies.values()) + report.root == pytest.approx(1)
        truth = twin.exact(asked)
        assert {p for p, f in truth.items() if f >= thresholds[1]} <= report.frequencies.keys()
        missing = sum(max(0.0, f - report.frequencies.get(p, 0.0)) for p, f in truth.items())
        assert missing <= report.moved + 1e-9
    assert report.dropped == 0
    assert 0 not in report.frequencies


def assess(name: str, **more: Any) -> dict[int, float]:
    one = ASSESSORS[name](3, AssessmentSettings(0.001, 0.05, **more))
    for pattern, n in TABLE_2.items():
        one.observe(pattern, n)
    return dict(one.report().frequencies)


def test_table_2_of_the_paper() -> None:
    """Card A11.5: nothing is removed by compression here; the final step folds."""
    assert assess("sria") == SHARES_2
    kept = {7: 0.46, 5: 0.16, 3: 0.10, 2: 0.10, 1: 0.10}
    assert assess("csria") == kept
    assert assess("cdia") == kept | {2: 0.14}
    by_chance = [assess("cdia", combine="random", seed=seed) for seed in range(12)]
    assert kept | {4: 0.08} in by_chance
    assert any(one[2] == 0.14 for one in by_chance)


def test_a_report_changes_nothing_of_what_is_counted_on() -> None:
    settings = AssessmentSettings(0.01, 0.3, "random", seed=5)
    asked, quiet = CDIA(4, settings), CDIA(4, settings)
    for k in range(2000):
        for one in (asked, quiet):
            one.observe(int(draws(2, np.array([k]))[0]) % 16)
        if k % 50 == 0:
            assert asked.report() == asked.report()
    assert asked.state() == quiet.state()
    assert asked.report().events


def test_leaves_alone_hardly_compress() -> None:
    """Erratum of card A4: while the full pattern is there no other one is a leaf."""
    sizes = {}
    for scope in get_args(FoldScope):
        one = CDIA(8, AssessmentSettings(0.01, 0.02, fold_scope=scope))
        for k in range(4000):
            one.observe(255 if k % 2 else draws(1, np.array([k]))[0].item() % 255)
        sizes[scope] = len(one.report().entries)
    assert sizes["leaf"] > 250
    assert sizes["all"] < 100


@pytest.mark.parametrize(("epsilon", "theta"), [(0.1, 0.1), (0.2, 0.1), (0.0, 0.1), (-0.1, 0.1)])
def test_thresholds_that_make_no_sense_are_refused(epsilon: float, theta: float) -> None:
    with pytest.raises(ValueError, match="allowed 0 < epsilon < theta"):
        AssessmentSettings(epsilon, theta)


@pytest.mark.parametrize("name", ["csria", "cdia"])
def test_nothing_reaches_a_threshold_above_1(name: str) -> None:
    one = ASSESSORS[name](2, AssessmentSettings(0.01, 1.5))
    one.observe(3, 50)
    one.observe(1, 50)
    assert one.report().frequencies == {}
    assert one.report().is_thin
    assert ASSESSORS[name](2).report().frequencies == {}
