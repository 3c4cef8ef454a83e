"""Recorded checks decided again with another α, beside a run that had it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dashboard.systems.agreedy.rechecks import read_checks, recheck
from storage.tables.rows import DecisionEntry
from tests.unit.agreedy.stream import Stream, independent_drops, query_of, settings

ALPHAS = (0.2, 0.5, 0.8, 0.95)


@cache
def checked(alpha: float) -> Stream:
    """A run that keeps its order whatever it finds, so that all α see the same windows."""
    knobs = settings(filter_algorithm="static", alpha=alpha, window_tuples=60)
    stream = Stream(knobs, query_of(3))
    stream.run(independent_drops(np.random.default_rng(11), 6000, (0.42, 0.5, 0.46)))
    return stream


@pytest.mark.parametrize("before", ALPHAS)
@pytest.mark.parametrize("after", ALPHAS)
def test_another_alpha_finds_the_violations_of_a_run_that_had_it(
    before: float, after: float
) -> None:
    recorded, other = checked(before).decisions(), checked(after).decisions()
    found = recheck(read_checks(DecisionEntry(one, 0.0, None) for one in recorded), after)
    assert found.n == len(other) > 20
    was, would = (sum(one.verdict == "pinned" for one in run) for run in (recorded, other))
    assert found.violations[0] == was
    assert found.violations[1] <= would
    assert found.at_least or found.violations[1] == would
    assert not (found.at_least and after >= before)


def test_the_alphas_of_the_test_differ_in_what_they_find() -> None:
    found = {len(checked(alpha).decisions("pinned")) for alpha in ALPHAS}
    assert len(found) > 2
