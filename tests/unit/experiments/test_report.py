"""Reports say by which rules their claims are judged, and judge by them."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

import pytest

from bench.experiments.record import keep
from bench.experiments.report import html
from bench.experiments.results import (
    JUDGED,
    FigureResult,
    PaperClaim,
    Verdict,
    rising,
    verdict,
)


def test_a_report_says_how_it_judges() -> None:
    assert escape(JUDGED) in html("Figures", [])


@pytest.mark.parametrize(
    ("values", "judged"),
    [
        ((1, 2, 3, 2.5, 4), "reproduced"),  # one step of four
        ((1, 2, 1.5, 2.5, 2), "partly"),
        ((3, 4, 5, 6, 3), "not reproduced"),
    ],
)
def test_a_series_grows(values: tuple[float, ...], judged: Verdict) -> None:
    assert rising(values) == judged


def test_all_cases_some_none() -> None:
    assert verdict([True, True]) == "reproduced"
    assert verdict([True, False]) == "partly"
    assert verdict([False]) == "not reproduced"


def test_a_record_keeps_the_newest_word_on_each_figure(tmp_path: Path) -> None:
    def figure(key: str, judged: Verdict) -> FigureResult:
        claims = (PaperClaim("Macro < Ticket", judged, "ω = 1.003"),)
        return FigureResult(key, "A figure", (("scale", "1"),), (), claims)

    path = tmp_path / "asc.json"
    keep(path, [figure("2012-6", "partly"), figure("2007-8", "partly")])
    keep(path, [figure("2012-6", "reproduced")])
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert {key: one["claims"][0]["verdict"] for key, one in kept.items()} == {
        "2007-8": "partly",
        "2012-6": "reproduced",
    }
    claim = {"claim": "Macro < Ticket", "verdict": "reproduced", "number": "ω = 1.003"}
    shown = {"title": "A figure", "conditions": {"scale": "1"}, "claims": [claim]}
    assert kept["2012-6"] == shown
