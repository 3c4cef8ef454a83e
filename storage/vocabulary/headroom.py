"""What would make a plan change next, as decision cores record it with an evaluation.

Pure, and of plain values only: cores write it into the ``detail`` of their decisions, the dashboard
reads it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

#: Where it stands in the detail of a decision: a list, the nearest first.
DETAIL: Final = "headroom"


class Headroom(NamedTuple):
    """One thing that would have to happen before the plan changes.

    words: a sentence without a full stop. missing: by how much the evaluation fell short, in
    ``unit`` (one of the store's, '' = a plain number); None: no amount is enough. near: [0, 1],
    what there is as a share of what it takes. entity, over: the one that would move and the one it
    would pass, by name; '' where the plan as a whole is meant.
    """

    words: str
    missing: float | None
    unit: str
    near: float
    entity: str = ""
    over: str = ""


def overtaking_words(entity: str, over: str, rise: float | None) -> str:
    """'known overtakes table if its drop probability rises by 0.060'. rise: None = none is
    enough."""
    if rise is None:
        return f"{entity} cannot overtake {over}, whatever it drops"
    if rise <= 0:
        return f"{entity} should run before {over}"
    return f"{entity} overtakes {over} if its drop probability rises by {rise:.3f}"


def read(detail: Any) -> list[Headroom]:
    """Of the detail of a decision; [] where none is recorded."""
    rows = detail.get(DETAIL) if isinstance(detail, Mapping) else None
    return [Headroom(**row) for row in rows or ()]
