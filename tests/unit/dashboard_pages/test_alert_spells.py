"""Spells of a series beyond a threshold, forecasts of what grows, and alerts every run has."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.alert_defaults import (
    MISFITS_S,
    dead_engine,
    misfit_spells,
    misfits,
    state_forecast,
)
from dashboard.views.alert_spells import RELATIONS, forecast_s, spells
from storage.tables.rows import SeriesData
from tests.contract.store_builders import batch, new_run


def series(values: list[float], step_s: float = 2.0) -> SeriesData:
    value = np.array(values, dtype=np.float64)
    n = np.arange(len(values))
    return SeriesData(
        "e",
        "p",
        "ms",
        n,
        np.array(100 + step_s * n, dtype=np.float64),
        value,
        value,
        value,
        n * 0 + 1,
        False,
    )


@given(
    st.lists(st.one_of(st.integers(0, 9).map(float), st.just(math.nan)), max_size=40),
    st.sampled_from(sorted(RELATIONS)),
    st.integers(0, 9),
)
def test_spells_are_the_runs_of_points_that_are_beyond(
    values: list[float], relation: str, threshold: int
) -> None:
    """Beside a look at each point alone."""
    found = spells(series(values), relation, threshold)
    is_in = [not math.isnan(v) and RELATIONS[relation](v, threshold) for v in values]
    covered: set[int] = set()
    for spell in found:
        places = range(spell.batch, round((spell.until - 100) / 2) + 1)
        assert all(is_in[place] for place in places)
        assert not covered & set(places)
        before, after = spell.batch - 1, places[-1] + 1
        assert before < 0 or not is_in[before]
        assert after == len(values) or not is_in[after]
        assert spell.lasts == (after == len(values))
        farthest = max if relation[0] == ">" else min
        assert spell.worst == farthest(values[place] for place in places)
        covered |= set(places)
    assert covered == {place for place, own in enumerate(is_in) if own}


@given(st.floats(0.1, 50), st.floats(1, 1000), st.integers(3, 30))
def test_a_line_comes_to_its_limit_when_it_does(slope: float, limit: float, n: int) -> None:
    line = series([slope * 2 * k for k in range(n)])
    left = forecast_s(line, limit, 1e9)
    last = slope * 2 * (n - 1)
    assert left == pytest.approx(max(0.0, (limit - last) / slope), rel=1e-6, abs=1e-6)


def test_what_does_not_grow_has_no_forecast() -> None:
    assert forecast_s(series([5.0, 5, 5, 5]), 9, 60) is None
    assert forecast_s(series([5.0, 4, 3, 2]), 9, 60) is None
    assert forecast_s(series([1.0, 2]), 9, 60) is None
    assert forecast_s(series([1.0, math.nan, 2, 9]), 9, 60) == 0.0


def test_a_dead_engine_and_misfits_lately_are_alerts() -> None:
    assert not dead_engine(new_run()).fires
    assert dead_engine(replace(new_run(), state="failed")).fires
    quiet = [batch(n) for n in range(9)]
    assert not misfits(quiet).fires
    assert misfit_spells(quiet) == []
    bad = [replace(one, n_misfits=7) if one.id == 2 else one for one in quiet]
    assert (misfits(bad).value, misfits(bad).fires) == (7.0, True)
    late = replace(batch(99), time=bad[2].time + 2 * MISFITS_S)
    assert not misfits([*bad, late]).fires
    (spell,) = misfit_spells([*bad, late])
    assert (spell.batch, spell.worst, spell.lasts) == (2, 7.0, False)


def test_the_state_that_is_full_first_is_told() -> None:
    assert state_forecast({}) is None
    slow, fast = series([1.0, 2, 3, 4]), series([1.0, 20, 40, 60])
    state = state_forecast({"a": ("A", slow, 1e6), "b": ("B", fast, 70.0)})
    assert state is not None
    assert (state.whose, state.fires) == ("B", True)
    still = state_forecast({"a": ("A", series([4.0, 4, 4]), 9.0)})
    assert still is not None
    assert (still.value, still.fires) == (None, False)
