"""Parts of the detail of decisions that all algorithms have, as JSON-typed data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from backend.adaptive.stats import Mean


def plan_detail(
    version: int | None, kind: str, order: Sequence[str], **more: Any
) -> dict[str, Any]:
    """A plan: its version (None: only proposed), kind, order by name."""
    return {"version": version, "kind": kind, "order": list(order), **more}


def compared_detail(
    kind: str, order: Sequence[str], visits: float, cost: Mean, incumbent: bool, chosen: bool
) -> dict[str, Any]:
    """One of the plans that were compared on a sample. visits: operators visited per tuple."""
    return {
        "kind": kind,
        "order": list(order),
        "visits": visits,
        "cost": cost.detail(),
        "incumbent": incumbent,
        "chosen": chosen,
    }


def choices_detail(knob: str, now: float, costs: Mapping[str, float]) -> dict[str, Any]:
    """What other values of a knob would have planned on the same sample, by value, and ``now``,
    what the plan in force costs there; all in one unit."""
    return {"choices": {"knob": knob, "now": now, "costs": dict(costs)}}


def finite(value: float) -> float | None:
    """The value, or None when it is infinite, which JSON cannot say."""
    return None if math.isinf(value) else value
