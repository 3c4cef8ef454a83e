"""The command: which figures, same seed same numbers, a report that needs no network."""

from __future__ import annotations

import argparse
import io
import re
from pathlib import Path

import pytest

import run
from bench.experiments import asc
from bench.experiments.command import chosen, run_figures
from bench.experiments.conditions import Conditions
from bench.experiments.progress import ProgressBar
from bench.experiments.report import html
from bench.experiments.results import FigureResult, PaperClaim, Plot, Series, rising, verdict
from bench.experiments.streams import CensusUnreadable, recorded


def command_line(*words: str) -> argparse.Namespace:
    """As 'run.py experiment asc' has it."""
    return run.read_command_line(["experiment", "asc", *words])[0]


@pytest.mark.parametrize(
    ("name", "keys"), [("2012-6", ["2012-6"]), ("6", ["2007-6", "2012-6"]), (None, [*asc.FIGURES])]
)
def test_figures_by_name(name: str | None, keys: list[str]) -> None:
    assert chosen(asc.FIGURES, name) == keys


def test_an_unknown_figure_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asc.main(command_line("--figure", "3"), tmp_path) == 2
    assert "no figure is called '3'; there are: 2007-4" in capsys.readouterr().err


@pytest.mark.parametrize("scale", ["0", "1.5", "all"])
def test_a_scale_out_of_range_is_refused(scale: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_line("--scale", scale)
    assert "allowed: above 0, 1 at most" in capsys.readouterr().err


def test_same_seed_same_numbers(tmp_path: Path) -> None:
    first, again, other = (
        run_figures(asc.FIGURES, ["2007-8"], Conditions(0.0004, seed, 1, None, tmp_path))
        for seed in (1, 1, 2)
    )
    assert first == again != other


def test_the_command_writes_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = command_line("--figure", "2007-8", "--scale", "0.0004", "--repeats", "1")
    assert asc.main(options, tmp_path) == 0
    captured = capsys.readouterr()
    assert "2007-8       reproduced  Immediate pruning is cheaper" in captured.out
    assert "100%" in captured.err
    text = (tmp_path / "experiment-asc.html").read_text(encoding="utf-8")
    assert "Immediate pruning is cheaper" in text


def test_indexes_are_measured_at_every_number_of_predicates(tmp_path: Path) -> None:
    conditions = Conditions(0.0004, 1, 1, None, tmp_path)
    for result in run_figures(asc.FIGURES, ["2007-4", "2007-5"], conditions):
        assert {len(series.y) for series in result.plots[0].series} == {5}
        assert all(ns > 0 for series in result.plots[0].series for ns in series.y)


def test_the_report_needs_no_network() -> None:
    lines = Plot(
        "Cost", "tuples", "visits", "lines", (Series("a<b", (1.0, 2.0), (3.0, 4.5)),), (1,)
    )
    bars = Plot("Bars", "data", "visits", "bars", (Series("macro", ("D1",), (3.25,)),))
    claim = PaperClaim("Macro < Ticket", "partly", "1.003")
    result = FigureResult("2012-6", "A figure", (("scale", "0.1"),), (lines, bars), (claim,))
    text = html("Report", [result], ["Elsewhere."])
    assert not re.search(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=", text)
    for part in ("Macro &lt; Ticket", "◐ partly", "1.003", "a&lt;b", "3.250", "Elsewhere."):
        assert part in text
    assert text.count('class="plotly-graph-div"') == 2


def test_a_census_file_takes_the_place_of_the_flights(tmp_path: Path) -> None:
    names = [f"d{i}" for i in range(16)]
    rows = [[(line * (place + 1)) % (place + 2) for place in range(16)] for line in range(40)]
    text = "\n".join([",".join(["caseid", *names]), *(",".join(map(str, [7, *r])) for r in rows)])
    (tmp_path / "census.csv").write_text(text + "\n", encoding="utf-8")
    stream = recorded(tmp_path / "census.csv", tmp_path, 30)
    assert (stream.label, stream.n_tuples) == ("census file census.csv", 30)
    assert len(stream.schema.names) == 15
    ((values, nulls),) = stream.columns(["c1"], 10, 5)
    assert (values.tolist(), nulls) == ([row[1] for row in rows[10:15]], None)
    (tmp_path / "narrow.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(CensusUnreadable, match="has 2 integer columns; needed: 15"):
        recorded(tmp_path / "narrow.csv", tmp_path, 30)
    with pytest.raises(CensusUnreadable, match="allowed: a CSV file"):
        recorded(tmp_path / "absent.csv", tmp_path, 30)


def test_the_bar_tells_each_quarter_on_a_pipe() -> None:
    stream = io.StringIO()
    bar = ProgressBar("Fig.", 10, stream)
    bar.begin("D1")
    for _ in range(9):
        bar.advance(1)
    bar.end()
    told = re.findall(r"\d+%", stream.getvalue())
    assert told == ["30%", "50%", "80%", "100%"]
    assert "D1" in stream.getvalue()


def test_verdicts() -> None:
    assert [verdict(c) for c in ([True, True], [True, False], [False])] == [
        "reproduced",
        "partly",
        "not reproduced",
    ]
    assert [rising(v) for v in ([1, 2, 3], [1, 0, 2], [2, 1])] == [
        "reproduced",
        "partly",
        "not reproduced",
    ]
