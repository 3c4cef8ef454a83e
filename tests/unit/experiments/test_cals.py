"""Experiments on shedding: streams as they should be, sweeps, and the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import run
from backend.operators.network.shedding.temporal import coalesced
from bench.experiments import cals
from bench.experiments.cals_data import mean_run, repeating
from bench.experiments.cals_running import (
    CALS,
    CALS_V,
    OLDEST,
    RAND,
    REACH,
    ShedCell,
    ShedSizes,
    accuracy,
)

SMALL = ShedSizes(scale=0.08, repeats=2)


def test_values_repeat_with_the_probability() -> None:
    stream = repeating(4000, 0.75, np.random.default_rng(3))
    ends = [one.end for one in stream]
    assert [one.start for one in stream] == [0, *ends[:-1]]
    runs = coalesced(stream)
    assert len(runs) == pytest.approx(1000, rel=0.1)
    assert np.mean([run.length for run in runs]) == pytest.approx(mean_run(0.75), rel=0.1)
    assert len(coalesced(repeating(300, 0.0, np.random.default_rng(3)))) == 300


def test_the_card_s_order_of_the_algorithms() -> None:
    cell = ShedCell(0.9, 0.5)
    of = {variant: accuracy(SMALL, variant, cell).R1 for variant in (CALS, CALS_V, OLDEST, RAND)}
    assert of[CALS] > of[CALS_V] > of[RAND]
    assert of[CALS_V] == of[OLDEST]
    high = ShedCell(0.75, 0.5, 1.5)
    assert accuracy(SMALL, REACH, high).R1 > 2 * accuracy(SMALL, CALS, high).R1


def test_where_nothing_differs_all_keep_the_ratio() -> None:
    for variant in (CALS, RAND, REACH):
        assert pytest.approx(0.5) == accuracy(SMALL, variant, ShedCell(0.0, 0.5)).R1


def test_what_drops_were_expected_to_cost_is_near_what_they_cost() -> None:
    sliding = accuracy(SMALL, CALS, ShedCell(0.75, 0.5, is_sliding=True))
    assert sliding.gap < 0.1
    assert pytest.approx(0.77, abs=0.1) == sliding.R1


def test_the_command_writes_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "STATE", tmp_path)
    words = ["experiment", "cals", "--scale", "0.03", "--repeats", "1"]
    assert run.main([*words, "--figure", "s8"]) == 0
    assert "s8  " in capsys.readouterr().out
    html = (tmp_path / "experiment-cals.html").read_text(encoding="utf-8")
    assert "<h1>CALS" in html
    assert run.main([*words, "--figure", "s9"]) == 2
    assert "there are: s1" in capsys.readouterr().err
    assert list(cals.FIGURES) == [f"s{k}" for k in range(1, 9)]
