"""What an order of filters says would change it next, against the invariant itself."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.adaptive.ordering.findings import Situation, near_violations
from backend.adaptive.ordering.headroom import MOST_PAIRS, pair_headroom
from backend.adaptive.ordering.rule import Rule
from backend.adaptive.ordering.view import MatrixView
from storage.vocabulary.headroom import read
from tests.unit.agreedy.cases import Case, cases, packed
from tests.unit.agreedy.stream import Stream, query_of, settings
from tests.unit.agreedy.test_reoptimizer import stationary


@given(cases(), st.sampled_from([Fraction(1), Fraction(9, 10), Fraction(1, 2)]))
def test_the_rise_is_the_least_that_violates(case: Case, alpha: Fraction) -> None:
    """With the count the rise leads to, the challenger reaches the incumbent's rank; with one tuple
    less it does not."""
    view = MatrixView(case.order)
    view.rebuild(packed(case.drops, case.n))
    rule = Rule(False, alpha, 0.95)
    situation = Situation(
        view, packed(case.drops, case.n), tuple(case.costs), len(case.drops), rule
    )
    near = near_violations(situation, np.ones((case.n, case.n), dtype=np.bool_), most=100)
    alive = view.alive(len(case.drops))
    for one in near:
        i, j = one.pair
        own, count = int(view.counts[i, i]), int(view.counts[i, j])
        price, other = case.costs[case.order[i]], case.costs[case.order[j]]
        assert one.drop_prob == pytest.approx(count / alive[i] if alive[i] else 0)
        if one.rise_prob is not None and price:
            reached = count + one.rise_prob * alive[i]
            needed = Fraction(own * other) / (alpha * price)
            assert reached == pytest.approx(max(count, float(needed)))
    words = pair_headroom(near, [f"F{x}" for x in range(case.n)], rule)
    assert len(words) <= MOST_PAIRS
    assert all(0 <= one.near <= 1 for one in words)


def test_checks_that_keep_the_order_record_it() -> None:
    stream = Stream(settings(min_samples=900), query_of(3))
    stream.run(stationary(4000), 500)
    thin, kept = (
        [read(one.detail) for one in stream.decisions(verdict)]
        for verdict in ("thin", "below_threshold")
    )
    assert any("profile tuples have to come first" in one.words for one in thin[0])
    assert any(one.unit == "tuples" and one.missing for one in thin[0])
    last = kept[-1]
    assert last
    order = stream.core.plan.order
    assert all(order.index(one.over) < order.index(one.entity) for one in last)
    assert "overtakes" in last[0].words
    assert not any(read(one.detail) for one in stream.decisions("switched"))


def test_the_cheapest_order_is_told_by_what_it_would_have_to_save() -> None:
    stream = Stream(settings(filter_algorithm="optimal", min_samples=100), query_of(3))
    stream.run(stationary(3000), 500)
    kept = stream.decisions("below_threshold")[-1]
    found = read(kept.detail)
    assert all(not one.entity for one in found)
