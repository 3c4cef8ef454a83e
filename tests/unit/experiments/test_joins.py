"""Experiments on joins: the tuples are those asked for, all plans find the same results."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import run
from backend.operators.network.joins.join_tuning import JoinTuning
from bench.experiments import joins
from bench.experiments.join_caching import (
    CACHE,
    WITH,
    WITHOUT,
    JoinSizes,
    adaptive,
    nested_orders,
)
from bench.experiments.join_changing import AFTER, BEFORE
from bench.experiments.join_data import (
    POINTS,
    THREE_WAY,
    R,
    S,
    T,
    burst,
    four_way,
    on_one_attribute,
    rounds,
)
from bench.experiments.join_running import Arrivals, elements, forced
from bench.experiments.join_trees import run_tree, trees
from bench.experiments.join_tuning import settled


def test_elements_are_arrivals_and_the_tuples_they_push_out() -> None:
    streams = np.array([0, 1, 0, 0, 1, 0])
    values = np.arange(6)[:, None]
    first, second = elements(Arrivals(streams, values, (2, 5), (1, 1)))
    assert first.places.tolist() == [0, 2, 3, 3, 5, 5]
    assert first.signs.tolist() == [1, 1, 1, -1, 1, -1]
    assert first.values[:, 0].tolist() == [0, 2, 3, 0, 5, 2]
    assert second.signs.tolist() == [1, 1]


def test_rounds_have_their_multiplicities() -> None:
    found = rounds(40, 10, (1, 2, 0.5), np.random.default_rng(1))
    counts = [np.bincount(found.values[found.streams == i, 0], minlength=40) for i in range(3)]
    assert counts[0].tolist() == [1] * 40
    assert counts[1].tolist() == [2] * 40
    assert counts[2][:11].tolist() == [5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5]
    assert found.sizes == (10, 20, 5)


@pytest.mark.parametrize("name", POINTS)
def test_streams_agree_as_often_as_table_5_2_says(name: str) -> None:
    point = POINTS[name]
    found = four_way(point, 60_000, 250, np.random.default_rng(2))
    keys = [found.values[found.streams == i, 0] for i in range(4)]
    rates = np.array([len(one) for one in keys]) / 60_000
    assert rates == pytest.approx(np.array(point.rates) / sum(point.rates), abs=0.01)
    for wanted, (a, b) in zip(point.selectivities, combinations(keys, 2), strict=True):
        size = int(max(a.max(), b.max())) + 1
        agree = np.bincount(a, minlength=size) @ np.bincount(b, minlength=size)
        assert agree / len(a) / len(b) == pytest.approx(wanted, rel=0.15)


def test_there_are_1_3_15_trees() -> None:
    assert [len(list(trees(tuple(range(n))))) for n in (2, 3, 4)] == [1, 3, 15]


def test_all_plans_find_the_same_results() -> None:
    arrivals = four_way(POINTS["D2"], 4000, 150, np.random.default_rng(3))
    work = on_one_attribute(4)
    expected = forced(work, arrivals, JoinTuning()).results
    assert expected > 100
    assert {run_tree(tree, work, arrivals).operations.results for tree in trees((0, 1, 2, 3))} == {
        expected
    }
    tuning = settled(work, arrivals, adaptive(0.0, nested_orders(4), block_probes=50))
    assert tuning.caches
    assert forced(work, arrivals, tuning).results == expected


def test_plans_of_the_burst_find_the_same_results() -> None:
    arrivals = burst(6000, 3000, 20, np.random.default_rng(4))
    found = [forced(THREE_WAY, arrivals, one) for one in (WITHOUT, BEFORE, AFTER)]
    assert len({one.results for one in found}) == 1
    assert all(one.hits for one in found[1:])


def test_costs_are_of_counted_operations() -> None:
    """One value, windows of one tuple: every element of T finds S, then R."""
    streams, n = np.tile([R, S, T], 50), 150
    arrivals = Arrivals(streams, np.zeros((n, 2), np.int64), (1, 1, 1), (2, 2, 2))
    found = forced(THREE_WAY, arrivals, WITHOUT)
    # each arrival and each expiry: two probes, two tuples built, two looked at
    assert found.n_arrivals == 105
    assert (found.probes, found.built, found.scans) == (420, 420, 420)
    assert found.cost(w=5.0) == pytest.approx((420 + 420 + 0.2 * 420) / 105)
    without = found.without_index(T, 0)
    assert without.scans == found.scans, "windows of one tuple: nothing else to compare"
    cached = forced(THREE_WAY, arrivals, WITH)
    assert cached.results == found.results
    assert cached.lookups == cached.hits == 70
    assert cached.cost(1.0) - cached.cost(0.0) == pytest.approx(
        (cached.kept + cached.lookups) / 105
    )
    assert CACHE.id == WITH.caches[0].id


def test_the_command_writes_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "STATE", tmp_path)
    words = ["experiment", "joins", "--figure", "5.19", "--scale", "0.01"]
    assert run.main(words) == 0
    assert "5.19  " in capsys.readouterr().out
    html = (tmp_path / "experiment-joins.html").read_text(encoding="utf-8")
    assert "<h1>Adaptive joins" in html
    assert run.main([*words[:2], "--figure", "9.9"]) == 2
    assert "there are: 5.11" in capsys.readouterr().err


def test_every_figure_has_its_name() -> None:
    assert all(key.startswith("5.") for key in joins.FIGURES)
    assert JoinSizes(0.5).tuples(100_000) == 50_000
    assert JoinSizes(0.001).tuples(100_000) == 4000
