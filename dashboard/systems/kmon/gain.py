"""What k-constraints came to: tuples held beside those that a join without them would hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from dashboard.base.face import VerdictSource
from dashboard.components.formats import show
from dashboard.views.gain import Columns, CurvePoint, Gain, GainSource
from dashboard.views.numbers import mean_of
from storage.tables.rows import SeriesData

HELD: Final = "held_tuples"
PLAIN: Final = "plain_tuples"
HELD_BYTES: Final = "held_bytes"
PLAIN_BYTES: Final = "plain_bytes"
LOST: Final = "lost_results_total"


def held_gain(columns: Columns) -> Gain | None:
    """Of all joins together; None before they would hold anything."""
    held, plain = columns.get(HELD, {}), columns.get(PLAIN, {})
    curve: list[CurvePoint] = [
        (batch, 1 - n / plain[batch], None, None) for batch, n in held.items() if plain.get(batch)
    ]
    if not curve:
        return None
    batch, share, *_ = curve[-1]
    n, whole = (show(column[batch], "int") for column in (held, plain))
    if share <= 0:
        basis = f"joins hold {n} tuples, without them they would hold {whole}"
        return Gain("No k-constraint pays for itself here", "", basis, "quiet", _WHAT, "pct", curve)
    basis = f"where joins without them would hold {whole}{_bytes(columns, batch)}"
    return Gain("k-constraints hold", f"{n} tuples", basis, "gain", _WHAT, "pct", curve)


_WHAT: Final = "share of tuples saved"


def _bytes(columns: Columns, batch: int) -> str:
    held, plain = (columns.get(name, {}).get(batch) for name in (HELD_BYTES, PLAIN_BYTES))
    if held is None or plain is None:
        return ""
    return f": {show(held, 'bytes')} in place of {show(plain, 'bytes')}"


SOURCE: Final = GainSource((HELD, PLAIN, HELD_BYTES, PLAIN_BYTES), held_gain, (HELD,), summed=True)


def held_verdict(series: Mapping[str, SeriesData]) -> str:
    """Of all joins over the run, '' where nothing is known."""
    if HELD not in series or PLAIN not in series:
        return ""
    held, plain = (mean_of(series[name].value) for name in (HELD, PLAIN))
    if not plain:
        return ""
    lost = series.get(LOST)
    n_lost = 0.0 if lost is None or not len(lost.value) else float(np.nanmax(lost.value))
    losses = f"at most {show(n_lost, 'int')} results were lost" if n_lost else "no result was lost"
    words = f"held {show(held, 'int')} tuples on average where joins without k-constraints"
    return f"{words} would hold {show(plain, 'int')}; {losses}"


#: In the headline of a post-mortem.
VERDICT: Final = VerdictSource((HELD, PLAIN, LOST), held_verdict, "join", "measured batch by batch")
#: Beside another run.
COMPARED: Final = {
    HELD: ("Tuples held by joins under k-constraints", "tuples", True),
    HELD_BYTES: ("Bytes of these", "bytes", True),
}
