"""Reports say by which rules their claims are judged, and judge by them."""

from __future__ import annotations

from html import escape

import pytest

from bench.experiments.report import html
from bench.experiments.results import JUDGED, Verdict, rising, verdict


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
