"""What shedding came to: the share of a window that is shed, and how accurate its answers are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboard.base.face import VerdictSource
from dashboard.components.formats import show
from dashboard.systems.cals.lanes_view import EXPECTED, HIGH, KEPT, LOW, MEASURED, RESIDENT, SHED
from dashboard.views.gain import Columns, CurvePoint, Gain, GainSource, percent
from dashboard.views.numbers import mean_of
from storage.tables.rows import SeriesData

TOTAL: Final = "shed_total"
_WHAT: Final = "accuracy"


def shed_gain(columns: Columns) -> Gain | None:
    """Of one window; None before it has an accuracy."""
    expected, measured = columns.get(EXPECTED, {}), columns.get(MEASURED, {})
    lows, highs = columns.get(LOW, {}), columns.get(HIGH, {})
    curve: list[CurvePoint] = [
        (batch, measured.get(batch, value), lows.get(batch), highs.get(batch))
        for batch, value in sorted(expected.items())
    ]
    if not curve:
        return None
    batch, accuracy, low, high = curve[-1]
    kept, n = columns.get(KEPT, {}).get(batch), columns.get(SHED, {}).get(batch, 0.0)
    if not n and kept == 1:
        basis = "answers are exact"
        return Gain("Nothing is shed now", "", basis, "quiet", _WHAT, "pct", curve)
    figure = f"{show(n, 'int')} tuples" if kept is None else percent(1 - kept)
    of = "in this batch" if kept is None else "of the window"
    how = "measured" if batch in measured else "expected"
    if low is not None and high is not None and low < high:
        how = f"[{show(low, 'f2')}, {show(high, 'f2')}]"
    basis = f"{of}; accuracy {show(accuracy, 'f2')} {how}"
    return Gain("Sheds", figure, basis, "loss", _WHAT, "pct", curve)


SOURCE: Final = GainSource(
    (KEPT, SHED, MEASURED, LOW, HIGH, EXPECTED), shed_gain, (KEPT, SHED, MEASURED, EXPECTED)
)


def shed_verdict(series: Mapping[str, SeriesData]) -> str:
    """Of all windows over the run, '' where nothing is known."""
    if TOTAL not in series or RESIDENT not in series:
        return ""
    totals = series[TOTAL].value
    total = float(totals[-1]) if len(totals) else 0.0
    kept = f"{show(mean_of(series[RESIDENT].value), 'int')} tuples in memory on average"
    if not total:
        return f"shed nothing, with {kept}"
    return f"shed {show(total, 'int')} tuples of windows that were to keep {kept}"


#: In the headline of a post-mortem.
VERDICT: Final = VerdictSource((TOTAL, RESIDENT), shed_verdict, "shed", "counted batch by batch")
#: Beside another run.
COMPARED: Final = {
    RESIDENT: ("Tuples that windows under a limit keep", "tuples", True),
    SHED: ("Tuples shed in a batch", "tuples", True),
}
