"""From a window and what coalesces it to one operator that may shed. [AL11], card B1"""

from __future__ import annotations

from dataclasses import replace

from backend.operators.network.core.work import OperatorTree
from backend.operators.network.kinds.coalesce import CoalesceOp, ReadingsOp
from backend.operators.network.kinds.select_project import ProjectOp, SelectOp
from backend.operators.network.kinds.shedding import ShedOp
from backend.operators.network.kinds.windows import WindowOp
from backend.systems.contract import Refusal

_READINGS = (
    "its tuples are readings of a key, whose ends are not known when they come: each tick would "
    "move runs, and what was shed of them would be accounted by ends that were never true; give "
    "valid times by two attributes"
)
_COUNTED = (
    "its condition on values takes tuples out before [Rows {size}], which counts them, as the "
    "query it reads gives them no numbers; give a window [Range …], or put the condition into that "
    "query"
)


def planned(tree: OperatorTree) -> OperatorTree | Refusal:
    """A query's tree with windows that may shed; or why there is none."""
    refusals: list[Refusal] = []
    plan = _planned(tree, refusals)
    if any(isinstance(part.work, ShedOp) for part in plan.walk()):
        return plan
    return refusals[0] if refusals else Refusal("it coalesces no window, so nothing can be shed")


def _planned(tree: OperatorTree, refusals: list[Refusal]) -> OperatorTree:
    if isinstance(tree.work, CoalesceOp) and not isinstance(tree.work, ShedOp):
        plan = _shedding(tree, tree.work)
        if isinstance(plan, OperatorTree):
            return plan
        refusals.append(plan)
    return replace(tree, inputs=tuple(_planned(below, refusals) for below in tree.inputs))


def _shedding(tree: OperatorTree, work: CoalesceOp) -> OperatorTree | Refusal:
    """Coalescing with its window below it. What is between the two takes tuples one by one, and
    goes below both."""
    between: list[OperatorTree] = []
    below = tree.input
    while isinstance(below.work, SelectOp | ProjectOp):
        between.append(below)
        below = below.input
    if isinstance(below.work, ReadingsOp):
        return Refusal(_READINGS)
    window = below.work
    if not isinstance(window, WindowOp) or window.kind not in ("range", "rows"):
        return Refusal("it coalesces no window [Range …] or [Rows n], so nothing can be shed")
    if not below.input.grows:
        return Refusal("its window is not of a stream's tuples")
    kept = below.input
    is_filtered = any(isinstance(operator.work, SelectOp) for operator in between)
    if window.kind == "rows" and is_filtered and not kept.stream:
        return Refusal(_COUNTED.format(size=window.size))
    shed = ShedOp(work.closed, window, kept.stream)
    for operator in reversed(between):
        kept = operator.over([kept])
    return OperatorTree(shed, (kept,), tree.fields)
