"""The plan before a switch, by what later looks priced it at."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.planlog_kept import kept_plan, kept_words
from tests.unit.dashboard_pages.test_planlog_views import look, there_and_back

STRETCHES = st.lists(
    st.tuples(*[st.floats(0.5, 9)] * 3, st.integers(1, 5_000)), min_size=1, max_size=9
)


def test_a_switch_is_told_up_to_the_next_one_and_to_the_last_look() -> None:
    """West comes back before look 8: there the plan before was the better one again."""
    kept = kept_plan(there_and_back(), 5)
    assert kept is not None
    assert (kept.since, kept.batches, kept.is_next, kept.n_looks) == (5, (6, 7, 8), True, 3)
    assert kept.recorded == (1000, 1000, 4000)
    assert kept.kept == (4000, 4000, 1000)
    assert kept_words(kept)[0] == (
        "This switch saved 3.0k ± 0 visits in batches 6 to 8, up to the next switch: 9.0k visits "
        "without it, 6.0k with it."
    )
    last = kept_plan(there_and_back(), 11)
    assert last is not None
    assert " in batch 12, up to the last look: 4.0k visits" in kept_words(last)[0]
    assert kept_plan(there_and_back(), 99) is kept_plan(there_and_back()[:-1], 11) is None


def test_stretches_that_nobody_priced_both_plans_for_are_left_out() -> None:
    looks = [
        replace(e, record={**e.record, "offers": []}) if e.seq == 7 else e for e in there_and_back()
    ]
    kept = kept_plan(looks, 5)
    assert kept is not None
    assert (kept.batches, kept.n_looks) == ((6, 8), 3)
    assert kept.by_batch() == ([(6, 1000), (8, 2000)], [(6, 4000), (8, 500)])
    assert kept_words(kept)[1].startswith("Estimated: 2 of 3 looks priced both plans")


def test_a_plan_that_was_put_in_force_otherwise_ends_it() -> None:
    looks = there_and_back()
    turned = replace(looks[6], record={**looks[6].record, "replaced": True})
    kept = kept_plan([*looks[:6], turned, *looks[7:]], 5)
    assert kept is not None
    assert (kept.batches, kept.is_next) == ((6,), False)


@given(STRETCHES)
def test_it_is_what_was_measured_and_what_the_other_costs_more(
    stretches: list[tuple[float, float, float, int]],
) -> None:
    """Conditions stay; plans are priced on samples, and what was measured differs."""
    looks, spent, without, off = [look(1, "east", "ab", "ba")], 0.0, 0.0, 0.0
    for place, (own, other, measured, n) in enumerate(stretches):
        offers = [["ab", other, 9, 0, 0, 0]]
        ran = [n, n * measured]
        looks.append(look(2 + place, "east", "ba", "ba", cost=own, offers=offers, ran=ran))
        spent += n * measured
        without += max(0.0, n * (measured + other - own))
        off += (n * (measured - own)) ** 2
    kept = kept_plan(looks, 1)
    assert kept is not None
    assert sum(kept.recorded) == pytest.approx(spent)
    assert sum(kept.kept) == pytest.approx(without)
    assert kept.error == pytest.approx(1.96 * off**0.5, rel=1e-3, abs=1e-6)
