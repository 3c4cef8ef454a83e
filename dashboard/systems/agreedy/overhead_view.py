"""The overhead meter: the five shares of Table 4.2, and what profile probability still pays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

from dashboard.components.formats import show
from storage.vocabulary.records import Knob

#: property -> words, in the order of the table.
SHARES: Final = {
    "share_tuples": "tuple processing",
    "share_profile": "profile-tuple creation",
    "share_window": "window upkeep",
    "share_view": "view update",
    "share_violations": "violations",
}
#: Left end of the scale of p, which is logarithmic up to 1.
LEAST_PROB: Final = 1e-4


class OverheadView(NamedTuple):
    """shares: (property, words, share). adapting: all but the tuples. prob: p in force, the knob's
    or the boosted one; break_even: the p at which adapting costs what it saves. None: not known."""

    shares: list[tuple[str, str, float | None]]
    adapting: float | None
    prob: float | None
    break_even: float | None
    boosted: bool
    verdict: str


def build_overhead(values: Mapping[str, float | None], knob: Knob | None) -> OverheadView:
    """values: of the profile monitor at the moment. knob: profile_prob."""
    tuples = values.get("share_tuples")
    prob, even = values.get("profile_prob_used"), values.get("break_even_prob")
    base = float(knob.value) if knob is not None else None
    return OverheadView(
        shares=[(name, words, values.get(name)) for name, words in SHARES.items()],
        adapting=None if tuples is None else 1 - tuples,
        prob=prob,
        break_even=even,
        boosted=prob is not None and base is not None and prob > base,
        verdict=verdict(prob, even),
    )


def verdict(prob: float | None, even: float | None) -> str:
    """Whether adapting pays, in a sentence."""
    if even is None or prob is None:
        return "What adapting saves is not known yet."
    if even <= 0:
        return "The order in force saves nothing against the first one at this moment."
    if even >= 1:
        return "Adapting pays at any p: it saves more than profiling every tuple would cost."
    times = show(even / prob, "f2") if prob else "∞"
    if prob < even:
        return f"Adapting pays: p could be {times} times as high before it costs what it saves."
    return "Adapting costs more than it saves: p is above the break-even."


def place(prob: float | None) -> float | None:
    """Where p stands on the scale, [0, 1]."""
    if prob is None:
        return None
    return 1 - math.log10(max(prob, LEAST_PROB)) / math.log10(LEAST_PROB)
