"""Windows that may shed: coalesced in one operator, or aggregated. [AL11], cards B1 and B8"""

from __future__ import annotations

from dataclasses import replace

from backend.operators.network.core.work import OperatorTree
from backend.operators.network.kinds.coalesce import CoalesceOp
from backend.operators.network.kinds.shedding import ShedOp
from backend.systems.cals.sampling import sampled
from backend.systems.cals.windows import BelowWindow, window_below
from backend.systems.contract import Refusal


def planned(tree: OperatorTree) -> OperatorTree | Refusal:
    """A query's tree with windows that may shed; or why there is none."""
    refusals: list[Refusal] = []
    plan = _planned(tree, refusals)
    if any(isinstance(part.work, ShedOp) for part in plan.walk()):
        return plan
    return refusals[0] if refusals else sampled(tree)


def _planned(tree: OperatorTree, refusals: list[Refusal]) -> OperatorTree:
    if isinstance(tree.work, CoalesceOp) and not isinstance(tree.work, ShedOp):
        below = window_below(tree.input, "coalesces")
        if isinstance(below, BelowWindow):
            shed = ShedOp(tree.work.closed, below.window, below.counted, below.has_open)
            return OperatorTree(shed, (below.tree,), tree.fields)
        refusals.append(below)
    return replace(tree, inputs=tuple(_planned(below, refusals) for below in tree.inputs))
