"""A plan over constructs as the flat arrays its operator takes."""

from __future__ import annotations

import numpy as np

from backend.model.events import SelectionPlan
from backend.operators.selection.worker import Names, ShippedPlan
from backend.systems.asc.constructs import ConstructSet
from backend.systems.asc.layouts import layout_of, search_of
from backend.systems.asc.matching import StopRule


def shipped_plan(constructs: ConstructSet, plan: SelectionPlan, stop_rule: StopRule) -> ShippedPlan:
    """What workers need to run the plan. Raises as layout_of does."""
    chosen = [constructs.constructs[attribute] for attribute in plan.order]
    return ShippedPlan(
        version=plan.version,
        kind=plan.kind,
        resolved=stop_rule == "resolved",
        order=tuple((c.attribute, c.type) for c in chosen),
        searches=tuple(search_of(c) for c in chosen),
        layout=layout_of(constructs, plan.order, plan.arrows),
        names=_names(constructs),
    )


def _names(constructs: ConstructSet) -> Names:
    ordered = tuple(sorted(constructs.names))
    rank_of = {name: rank for rank, name in enumerate(ordered)}
    counts = [len(names) for names in constructs.slot_names]
    ranks = [rank_of[name] for names in constructs.slot_names for name in names]
    starts = np.cumsum([0, *counts], dtype=np.int64)
    return Names(ordered, starts, np.array(ranks, dtype=np.int32))
