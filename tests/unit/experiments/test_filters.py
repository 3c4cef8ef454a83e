"""The experiments on pipelined filters: what is counted, same seed same numbers, the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import run
from backend.workloads.correlated import CorrelatedSource
from bench.experiments import filter_counting as kernels
from bench.experiments import filters
from bench.experiments.command import chosen, run_figures
from bench.experiments.filter_changing import roughness, settling
from bench.experiments.filter_running import (
    INTERVAL,
    Ran,
    Setup,
    compare,
    masks_of,
    optimal_cost,
    schemes,
)
from bench.experiments.filter_trials import TrialSizes
from tests.oracles import filters as oracle

SETUP = Setup((0.3, 0.5, 0.6, 0.4), (1, 5, 1, 2), gamma=2, period=1000)
TINY = TrialSizes(0.005, 1, 1)


def test_masks_hold_the_drops_of_the_stream() -> None:
    masks = masks_of(SETUP.selectivities, SETUP.gamma, SETUP.period, 3, 2500)
    source = CorrelatedSource(3, SETUP.selectivities, SETUP.gamma, SETUP.period, 2500)
    bits = (masks[:, None] >> np.arange(4, dtype=np.uint64)) & np.uint64(1)
    assert (bits == ~source.passes(0, 2500)).all()


def test_optimal_is_the_best_order_of_each_period() -> None:
    masks = masks_of(SETUP.selectivities, SETUP.gamma, SETUP.period, 3, 2500)
    rows = [[bool(int(mask) >> x & 1) for x in range(4)] for mask in masks]
    parts = (rows[400:1000], rows[1000:2000], rows[2000:])
    expected = sum(oracle.optimum(part, 4, SETUP.costs) for part in parts)
    assert optimal_cost(SETUP, masks, 400) == pytest.approx(expected / 2100)


def test_compared_schemes_run_over_the_same_tuples() -> None:
    found = compare(Setup.alike(4), list(schemes(0.1).values()), 1, 3 * INTERVAL, INTERVAL)
    for ran in found.runs.values():
        assert ran.total >= ran.processing >= found.optimal
        assert sorted(ran.order) == [0, 1, 2, 3]
        assert len(ran.evaluations) == 3
    greedy, sweep = found.runs["A-Greedy"], found.runs["Sweep"]
    assert greedy.overhead > sweep.overhead > 0
    emitted = {int(ran.counts[:, kernels.EMITTED].sum()) for ran in found.runs.values()}
    assert len(emitted) == 1
    assert found.rate("Optimal") == pytest.approx(1000 / found.optimal)


def test_when_a_run_has_adapted() -> None:
    counts = np.zeros((30, kernels.N_COUNTS), dtype=np.int64)
    counts[:, kernels.EVALUATED] = [100] * 5 + [200] * 5 + [101] * 20
    ran = Ran(counts, 0, 30 * INTERVAL, (0, 1))
    assert settling(ran, 5, 101.0) == 5 * INTERVAL
    assert settling(ran, 5, 50.0) == 25 * INTERVAL
    assert roughness(ran, 5) == pytest.approx(99)


def test_figures_by_name() -> None:
    assert chosen(filters.FIGURES, "4.2") == ["table-4.2"]
    assert chosen(filters.FIGURES, "4.22") == ["4.22"]


def test_same_seed_same_numbers() -> None:
    first, again, other = (
        run_figures(filters.FIGURES, ["4.13"], trials)
        for trials in (TINY, TINY, TINY._replace(seed=2))
    )
    assert first == again != other


def test_every_figure_runs_and_the_report_holds_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["experiment", "filters", "--scale", "0.002", "--repeats", "1"]
    assert filters.main(run.read_command_line(words)[0], tmp_path) == 0
    told = capsys.readouterr().out
    text = (tmp_path / "experiment-filters.html").read_text(encoding="utf-8")
    for key in filters.FIGURES:
        assert f"\n{key}  " in f"\n{told}"
        assert f'id="fig-{key}"' in text
    assert text.count('class="plotly-graph-div"') > len(filters.FIGURES)
