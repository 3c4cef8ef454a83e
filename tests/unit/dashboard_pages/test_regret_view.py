"""The regret ledger: rows, the running total with its band, what the figure draws."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.panels.contract import Sheet
from dashboard.systems.asc.regret import draw
from dashboard.systems.asc.regret_figure import draw_regret
from dashboard.systems.asc.regret_view import LINES, RegretView, build_regret
from storage.tables.rows import SeriesData
from tests.unit.dashboard_pages.figures import checked
from tests.unit.dashboard_shell.samples import context

NAN = float("nan")


def a_series(name: str, values: list[float]) -> SeriesData:
    value = np.array(values, dtype=np.float64)
    n = len(values)
    places, ones = np.arange(n), np.ones(n, dtype=int)
    times = np.arange(100, 100 + n, dtype=np.float64)
    return SeriesData("system", name, "", places, times, value, value, value, ones, False)


def a_view(saved: list[float], error: list[float]) -> RegretView:
    costs = {"regret_running": [NAN, 3.3, 3.3], "regret_best": [NAN, 3.0, 3.0]}
    totals = {"regret_saved_total": saved, "regret_saved_se": error}
    return build_regret({name: a_series(name, values) for name, values in (costs | totals).items()})


def test_a_run_without_a_ledger_has_no_rows_and_no_verdict() -> None:
    assert build_regret({}) == RegretView([], "", "quiet", None)


def test_batches_before_the_first_entry_are_left_out_and_repeats_are_one_entry() -> None:
    view = a_view([NAN, 500.0, 500.0], [NAN, 100.0, 100.0])
    assert [row.batch for row in view.rows] == [1, 2]
    assert [row.batch for row in view.entries] == [1]
    assert view.rows[0].costs["regret_first"] is None
    assert view.gap == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("saved", "error", "words", "tone"),
    [
        (500.0, 100.0, "saved 500 ± 196 visits", "ok"),
        (-500.0, 100.0, "lost 500 ± 196 visits", "warning"),
        (50.0, 100.0, "neither saved nor lost: 50 ± 196 visits", "quiet"),
    ],
)
def test_a_total_within_its_band_of_zero_is_neither(
    saved: float, error: float, words: str, tone: str
) -> None:
    view = a_view([NAN, NAN, saved], [NAN, NAN, error])
    assert view.verdict.startswith(words)
    assert view.tone == tone
    assert view.rows[-1].low == pytest.approx(saved - 1.96 * error)
    assert view.rows[-1].high == pytest.approx(saved + 1.96 * error)


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        (0.02, "2.0\u2009% above the"),
        (-0.01, "1.0\u2009% below the"),
        (-1e-9, "as dear as the"),
    ],
)
def test_the_running_order_is_above_or_below_the_best_fixed_one(gap: float, words: str) -> None:
    view = a_view([NAN, 1.0, 2.0], [NAN, 1.0, 1.0])._replace(gap=gap)
    note = "".join(map(str, draw(view, Sheet(context())).note))
    assert f"running order {words} best fixed order in hindsight" in note


def test_the_figure_has_all_four_lines_and_the_band() -> None:
    figure = checked(draw_regret(a_view([NAN, 1.0, 2.0], [NAN, 1.0, 1.0])))
    lines = {trace.meta["regret"]: trace for trace in figure.data if trace.meta}
    assert set(lines) == {*LINES, "saved"}
    assert list(lines["regret_running"].y) == [3.3, 3.3]
    assert list(figure.data[-2].y) == [pytest.approx(2.96), pytest.approx(3.96)]
