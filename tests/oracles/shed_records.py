"""Both sides of recorded decisions on windows that shed, worked out again from the record.

Written from docs/introspection.md; no decision core is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from storage.vocabulary.records import Decision

#: lhs, rhs; None = infinite.
Sides = tuple[float | None, float | None]


def _shedding(d: Decision) -> Sides:
    detail = d.detail
    assert (d.relation == ">") == (
        detail["dropped_tuples"] > 0 or d.explanation.startswith("sheds")
    )
    if "runs_bytes" in detail:
        return detail["runs_bytes"], detail["limit_bytes"]
    return detail["resident_tuples"] + detail["dropped_tuples"], detail["memory_tuples"] or None


def _algorithm(d: Decision) -> Sides:
    detail = d.detail
    assert (d.verdict == "acted") == (d.relation == ">")
    return detail["gain"] - detail["gain_half"], detail["least_gain"]


def _floor(d: Decision) -> Sides:
    detail = d.detail
    tuples, accuracy = np.array(detail["points"], float).T
    assert d.new == [str(detail["tuples"])]
    return float(np.interp(detail["tuples"], tuples, accuracy)), detail["target"]


RULES: Final[Mapping[str, Callable[[Decision], Sides]]] = {
    "shedding": _shedding,
    "shed algorithm": _algorithm,
    "accuracy floor": _floor,
}
