"""What other values of a knob would have planned, as evaluations recorded it on their own samples.

The plan of the other value is planned anew and costed at each evaluation, beside the plan in force
there (docs/introspection.md, ``choices``): paired, but without what came of it later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from storage.tables.rows import DecisionEntry


class RecordedChoices(NamedTuple):
    """One evaluation. now: cost of the plan in force on its sample of n; costs: by value."""

    batch: int
    now: float
    costs: Mapping[str, float]
    n: int


def read_choices(entries: Iterable[DecisionEntry], knob: str) -> list[RecordedChoices]:
    """Those of a knob, oldest first."""
    choices = []
    for entry in sorted(entries, key=lambda entry: entry.decision.seq):
        decision, detail = entry.decision, entry.decision.detail
        raw = detail.get("choices") if isinstance(detail, Mapping) else None
        if raw and raw["knob"] == knob:
            choices.append(
                RecordedChoices(decision.batch, raw["now"], raw["costs"], decision.n_sample or 1)
            )
    return choices
