"""What the bench of adapting counts: plans that are never left, and best ones."""

from __future__ import annotations

import numpy as np
import pytest

from backend.workloads.drift import Phase
from bench import adapt_filters as filters
from bench import adapt_selections as selections
from bench.adapt_run import BY_THRESHOLDS, PILOTED, AdaptRun


def test_filters_that_stay_as_written_cost_what_they_cost_tuple_by_tuple() -> None:
    stream = filters.correlated(2_000, 2)
    run = filters.followed(stream, {"filter_algorithm": "static"})
    spent = [0.0, 0.0]
    for place, drops in enumerate(stream.drops):
        asked = int(drops.argmax()) + 1 if drops.any() else len(drops)
        spent[place // 2_000] += sum(filters.COSTS[:asked])
    assert run.spent(stream.phases) == spent
    assert run.switched == []
    bests = stream.bests()
    assert all(best < mine for best, mine in zip(bests, spent, strict=True))
    assert sum(bests) <= stream.best() < sum(spent)


def test_selections_that_find_a_better_order_say_so() -> None:
    phases = [Phase("uniform", 4_000, ("a1",)), Phase("uniform", 4_000, ("a4",), ("a1",))]
    stream = selections.DriftStream.of(phases)
    run = selections.followed(stream, {**BY_THRESHOLDS, "lambda_tuples": 1_000, "mu": 0.0})
    assert run.switched
    assert sum(stream.bests()) <= stream.best() <= sum(run.spent(stream.lengths))
    assert run.n_looks >= len(run.switched)


def test_false_switches_are_those_to_dearer_plans() -> None:
    run = AdaptRun(100, np.full(10, 300.0), [(3.0, 2.0), (2.0, 3.0)], 5, 0.0)
    assert run.false_switches == 1
    assert run.priced() == pytest.approx(3_000 * 3)


def test_looks_at_what_stays_as_it_is_switch_seldom() -> None:
    n_switches, n_false = filters.looked(150)
    assert 1 <= n_switches <= 8
    assert n_false <= 1


def test_the_autopilot_is_followed() -> None:
    assert filters.followed(filters.correlated(20_000, 1), PILOTED).n_looks > 5
