"""What eddies came to: tuples that a search request compares beside those that there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboard.base.face import VerdictSource
from dashboard.components.formats import show
from dashboard.views.gain import Columns, CurvePoint, Gain, GainSource
from dashboard.views.numbers import mean_of
from storage.tables.rows import SeriesData

COMPARED: Final = "compared_per_request"
STORED: Final = "state_tuples"
_WHAT: Final = "share of comparisons saved"


def compared_gain(columns: Columns) -> Gain | None:
    """Of all states together, each as one; None before anything was asked of them."""
    compared, stored = columns.get(COMPARED, {}), columns.get(STORED, {})
    curve: list[CurvePoint] = [
        (batch, 1 - n / stored[batch], None, None)
        for batch, n in compared.items()
        if stored.get(batch)
    ]
    if not curve:
        return None
    batch, share, *_ = curve[-1]
    n, whole = compared[batch], show(stored[batch], "int")
    if share <= 0:
        basis = f"the states hold {whole} tuples, and a request to each of them compares all"
        return Gain("Indexes save no comparisons now", "", basis, "quiet", _WHAT, "pct", curve)
    basis = f"by a request to each state, where a scan would compare all {whole} in them"
    return Gain("Searches compare", f"{show(n, 'si')} tuples", basis, "gain", _WHAT, "pct", curve)


SOURCE: Final = GainSource((COMPARED, STORED), compared_gain, (COMPARED, STORED), summed=True)


def compared_verdict(series: Mapping[str, SeriesData]) -> str:
    """Of all states over the run, '' where nothing is known."""
    if COMPARED not in series or STORED not in series:
        return ""
    compared, stored = (mean_of(series[name].value) for name in (COMPARED, STORED))
    if not stored:
        return ""
    words = f"compared {show(compared, 'si')} tuples for a search request to each state"
    return f"{words}, on average, where a scan would compare {show(stored, 'int')}"


#: In the headline of a post-mortem.
VERDICT: Final = VerdictSource(
    (COMPARED, STORED), compared_verdict, "stem", "counted batch by batch"
)
